//! What a recording would be now: the session that was just verified, written as the file is.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tap_compare::Rules;
use tap_redact::Redactor;
use tap_store::{Chosen, ExportOptions, FOLD_COLUMNS, Profile, Store, export};

use super::Checked;
use crate::arguments::{Global, Update};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::progress::catch_up;
use crate::reference::{Reference, database};
use crate::text::shown;

/// What is behind the name of a recording where another waits to be reviewed.
pub(crate) const NEW: &str = "new";

/// Writes a file anew, or what it would be beside it, if something differs.
pub(super) fn update(
    global: &Global,
    how: Update,
    reference: &Reference,
    rules: &Rules,
    checked: &[Checked],
) -> Result<(), Failure> {
    let Some(file) = reference.file() else {
        return Ok(());
    };
    let new = new_of(file);
    let differs = checked.iter().any(|this| !this.verdict.is_same());
    if !differs {
        // What waited there is over.
        if new.is_file() && checked.iter().all(|this| this.is_whole) {
            std::fs::remove_file(&new).map_err(|error| cannot_write(&new, &error))?;
        }
        return Ok(());
    }
    let say = |text: &str| {
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    };
    let [one] = checked else {
        say(&format!("{} holds several sessions, and is not written anew", shown(&file.to_string_lossy(), false)));
        return Ok(());
    };
    if !one.is_whole || !one.refused.is_empty() {
        say("not all of the recording was sent: nothing is written");
        return Ok(());
    }
    let target = if how == Update::All { file.to_path_buf() } else { new };
    write(global, file, &target, rules, one.pid)?;
    let name = shown(&target.to_string_lossy(), false);
    match how {
        Update::All => say(&format!("{name} is written anew")),
        Update::New | Update::Never => {
            say(&format!("{name} is what it would be now; `mcp-tap review` accepts or rejects it"));
        }
    }
    Ok(())
}

/// Where another version of a recording waits to be reviewed.
pub(crate) fn new_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(NEW);
    name.into()
}

fn write(global: &Global, file: &Path, target: &Path, rules: &Rules, pid: u32) -> Result<(), Failure> {
    let path = database(global)?;
    let store = Store::open(&path)?;
    let find = |store: &Store| -> Result<_, Failure> {
        // Numbers of processes come again: the newest session is meant.
        Ok(store.sessions()?.into_iter().find(|session| session.start.tap_pid == Some(pid)))
    };
    let session = find(&store)?.ok_or_else(|| {
        Failure::new(format!("the session was not recorded in {}, so that nothing can be written", path.display()))
    })?;
    // Who talked is in the header.
    catch_up(global, &store, session.id, &session.start.name)?;
    let session = find(&store)?.unwrap_or(session);
    let profile = profile_of(file);
    let is_folded = file.extension().is_some_and(|extension| extension == "mcprec");
    let rules = if *rules == Rules::default() { None } else { serde_json::to_string(rules).ok() };
    let options = ExportOptions {
        profile,
        chosen: Chosen::Range(0..=u64::MAX),
        fold_columns: if is_folded { FOLD_COLUMNS } else { 0 },
        rules,
        ..ExportOptions::default()
    };
    let homes: Vec<String> = std::env::var("HOME").into_iter().collect();
    let mut redactor = (profile == Profile::Fixture).then(|| Redactor::new(Vec::new(), homes));
    let readers = if profile == Profile::Fixture { Readers::Usual } else { Readers::Owner };
    let mut out = BufWriter::new(NewFile::create(target, readers)?);
    export(&store, &session, &options, redactor.as_mut(), &mut out, target)?;
    out.into_inner().map_err(|error| cannot_write(target, error.error()))?.finish()
}

/// How much of its session a file holds.
fn profile_of(file: &Path) -> Profile {
    let header = crate::command::diff::first_value(file).ok();
    let profile = header.as_ref().and_then(|header| header.get("profile")?.as_str());
    if profile == Some(Profile::Fixture.name()) { Profile::Fixture } else { Profile::Lossless }
}
