//! `mcp-tap db`: where the database is and what is in it; what of it goes, and what comes to it.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tap_store::{Goes, SCHEMA_VERSION, Session, Store};

use crate::arguments::{Db, DbCommand, Global, Prune};
use crate::failure::Failure;
use crate::keeping::limits;
use crate::new_file::{cannot_write, is_same};
use crate::output::Output;
use crate::reference::database;
use crate::text::{counted, shown, size};

pub(crate) fn db(global: &Global, db: &Db) -> Result<u8, Failure> {
    let path = database(global)?;
    match &db.what {
        DbCommand::Path => {
            let mut out = Output::new(global);
            writeln!(out, "{}", path.display())?;
            out.finish()?;
        }
        DbCommand::Info => info(global, &path)?,
        DbCommand::Prune(wanted) => prune(global, &path, wanted)?,
        DbCommand::Vacuum => {
            let before = on_disk(&path);
            give_back(global, &Store::open(&path)?)?;
            tell_room(global, before, on_disk(&path));
        }
        DbCommand::Backup { file } => backup(global, &path, file)?,
        DbCommand::Merge { files } => merge(global, &path, files)?,
    }
    Ok(0)
}

/// The database with what SQLite keeps beside it, bytes.
fn on_disk(path: &Path) -> u64 {
    let beside = |suffix: &&str| {
        let mut file = path.as_os_str().to_os_string();
        file.push(suffix);
        Some(std::fs::metadata(file).ok()?.len())
    };
    ["", "-wal", "-shm"].iter().filter_map(beside).sum()
}

fn info(global: &Global, path: &Path) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let sessions = store.sessions()?;
    let n_live = sessions.iter().filter(|session| session.live).count();
    let mut out = Output::new(global);
    writeln!(out, "path      {}", path.display())?;
    writeln!(out, "size      {}", size(on_disk(path)))?;
    writeln!(out, "in use    {}", size(store.used_bytes()?))?;
    writeln!(out, "schema    {SCHEMA_VERSION}")?;
    writeln!(out, "sessions  {} ({n_live} live)", sessions.len())?;
    out.finish()
}

fn prune(global: &Global, path: &Path, wanted: &Prune) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let limits = limits(wanted.older_than, wanted.max_size);
    let mut out = Output::new(global);
    if wanted.dry_run {
        let going = store.prunable(&limits)?;
        let mut bytes = 0;
        for (session, why, weight) in &going {
            bytes += weight;
            writeln!(out, "{}  about {}", line(session, *why), size(*weight))?;
        }
        out.finish()?;
        if !global.quiet {
            let n_going = counted(going.len() as u64, "session");
            let _ = writeln!(std::io::stderr(), "{n_going} would go, about {}", size(bytes));
        }
        return Ok(());
    }
    let before = on_disk(path);
    let mut n_gone = 0;
    let mut told = Ok(());
    store.prune(&limits, |session, why| {
        n_gone += 1;
        if told.is_ok() {
            told = writeln!(out, "{}", line(session, why));
        }
    })?;
    told?;
    out.finish()?;
    give_back(global, &store)?;
    if !global.quiet {
        let _ = writeln!(std::io::stderr(), "{} deleted", counted(n_gone, "session"));
        let used = store.used_bytes()?;
        if wanted.max_size.is_some_and(|most| used > most) {
            let _ =
                writeln!(std::io::stderr(), "{} are left: live sessions, and those with a label or a mark", size(used));
        }
    }
    tell_room(global, before, on_disk(path));
    Ok(())
}

fn line(session: &Session, why: Goes) -> String {
    let id = session.start.uuid.get(..8).unwrap_or_default();
    let opened = i64::try_from(session.start.opened_unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    let opened = jiff::Timestamp::from_second(opened)
        .map(|opened| opened.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    let why = match why {
        Goes::TooOld => "too old",
        Goes::TooMuch => "too much",
    };
    format!("{id}  {}  {:<24} {why}", opened.unwrap_or_default(), shown(&session.start.name, false))
}

fn give_back(global: &Global, store: &Store) -> Result<(), Failure> {
    let mut progress = crate::progress::Progress::new(global, "giving room back");
    Ok(store.give_back(|share| progress.tell(share))?)
}

fn tell_room(global: &Global, before: u64, after: u64) {
    if !global.quiet {
        let freed = before.saturating_sub(after);
        let _ = writeln!(std::io::stderr(), "{} on disk, {} less than before", size(after), size(freed));
    }
}

/// A copy is there whole or not at all, and for its owner alone.
fn backup(global: &Global, path: &Path, file: &Path) -> Result<(), Failure> {
    if file.exists() {
        return Err(Failure::new(format!("{} is there already", file.display())).hint("name a new file"));
    }
    let store = Store::open(path)?;
    let mut partial = file.as_os_str().to_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(partial);
    let failed = |error: std::io::Error| cannot_write(file, &error);
    let made = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&partial).map_err(failed)?;
    let copied = store.copy_to(&partial).map_err(Failure::from);
    let placed = copied.and_then(|()| made.sync_all().and_then(|()| std::fs::rename(&partial, file)).map_err(failed));
    if placed.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    for suffix in ["-wal", "-shm", "-alive"] {
        let mut beside = partial.clone().into_os_string();
        beside.push(suffix);
        let _ = std::fs::remove_file(beside);
    }
    placed?;
    if !global.quiet {
        let sessions = Store::open(file)?.sessions()?.len() as u64;
        let _ = writeln!(std::io::stderr(), "{}, {}", counted(sessions, "session"), size(on_disk(file)));
    }
    Ok(())
}

fn merge(global: &Global, path: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let store = Store::open_or_create(path)?;
    for file in files {
        if is_same(path, file) {
            return Err(Failure::new(format!("{} is the database itself", file.display())));
        }
        let mut progress = crate::progress::Progress::new(global, "taking over sessions");
        let share = |n_done: u64, n_all: u64| if n_all == 0 { 1.0 } else { n_done as f64 / n_all as f64 };
        let merged = store.merge(&Store::open(file)?, |n_done, n_all| progress.tell(share(n_done, n_all)))?;
        drop(progress);
        if global.quiet {
            continue;
        }
        let mut stderr = std::io::stderr();
        let name = shown(&file.to_string_lossy(), false);
        let _ = writeln!(stderr, "{name}: {} taken over", counted(merged.n_taken, "session"));
        if merged.n_known > 0 {
            let _ = writeln!(stderr, "  {} here already", merged.n_known);
        }
        if merged.n_live > 0 {
            let _ = writeln!(stderr, "  {} live there, left out", merged.n_live);
        }
        for label in &merged.labels_taken {
            let _ = writeln!(stderr, "  another session has the label {} here", shown(label, false));
        }
    }
    Ok(())
}
