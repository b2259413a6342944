//! `mcp-tap wrap` and `mcp-tap unwrap`: the tap put into hosts' configurations, and taken out of them.

mod diff;
mod list;

use std::io::Write;
use std::path::Path;

use serde_json::json;
use tap_hosts::{Edited, Launch, Scope, Server, Tap};

use crate::arguments::{Chosen, Global, Unwrap, Wrap};
use crate::failure::{Failure, NO, nearest};
use crate::hosts::{ConfigurationFile, Placed, Unreadable, back_up, configurations, replace};
use crate::output::Output;
use crate::text::{counted, shown};

pub(crate) use self::diff::without_shapes;

/// How often a file that was changed meanwhile is read again.
const ATTEMPTS: usize = 5;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Wrap,
    Unwrap,
}

pub(crate) fn wrap(global: &Global, wrap: &Wrap) -> Result<u8, Failure> {
    if wrap.list || (wrap.chosen.servers.is_empty() && !wrap.chosen.all) {
        return list::list(global, wrap);
    }
    if wrap.print {
        return print(global, &wrap.chosen);
    }
    change(global, &wrap.chosen, &Work::Wrap)
}

pub(crate) fn unwrap(global: &Global, unwrap: &Unwrap) -> Result<u8, Failure> {
    if unwrap.chosen.servers.is_empty() && !unwrap.chosen.all {
        return Err(Failure::new("which servers? name them, or say --all")
            .hint("`mcp-tap wrap --list` shows which are wrapped"));
    }
    change(global, &unwrap.chosen, &Work::Unwrap)
}

/// The files that are meant, and those that cannot be read.
fn files(chosen: &Chosen, both_scopes: bool) -> Result<(Vec<ConfigurationFile>, Vec<Unreadable>), Failure> {
    if let Some(path) = &chosen.file {
        return Ok((vec![ConfigurationFile::named(path)?], Vec::new()));
    }
    let (mut files, unreadable) = configurations(chosen.host)?;
    if !both_scopes || chosen.project {
        let scope = if chosen.project { Scope::Project } else { Scope::User };
        files.retain(|file| file.scope == scope);
    }
    Ok((files, unreadable))
}

fn is_chosen(chosen: &Chosen, server: &Server) -> bool {
    chosen.all || chosen.servers.contains(&server.name)
}

/// How the tap is written into a file.
fn tap(global: &Global, chosen: &Chosen, scope: Scope) -> Result<Tap, Failure> {
    if scope == Scope::Project || chosen.project {
        // Other people have it elsewhere, and their own database.
        return Ok(Tap { program: "mcp-tap".into(), options: Vec::new() });
    }
    // A host may have another PATH, and starts servers in another folder and without our variables.
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot tell where mcp-tap itself is: {error}")))?;
    let absolute = |path: std::path::PathBuf| std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned();
    let mut options = Vec::new();
    if let Some(path) = global.database() {
        options.push(format!("--db={}", absolute(path)));
    }
    if let Some(path) = global.config.clone() {
        options.push(format!("--config={}", absolute(path)));
    }
    Ok(Tap { program: absolute(program), options })
}

fn edit(global: &Global, chosen: &Chosen, work: &Work, file: &ConfigurationFile) -> Result<Edited, Failure> {
    let mut meant = |server: &Server| is_chosen(chosen, server);
    let ConfigurationFile { text, format, shape, .. } = file;
    let edited = match work {
        Work::Wrap => tap_hosts::wrap(text, *format, *shape, &tap(global, chosen, file.scope)?, &mut meant),
        Work::Unwrap => tap_hosts::unwrap(text, *format, *shape, &mut meant),
    };
    edited.map_err(|error| Failure::new(format!("{}: {error}", file.path.display())))
}

fn change(global: &Global, chosen: &Chosen, work: &Work) -> Result<u8, Failure> {
    let (files, unreadable) = files(chosen, false)?;
    told_unreadable(&unreadable);
    must_be_there(chosen, &files)?;
    let mut out = Output::new(global);
    let (mut n_changed, mut n_refused, mut n_left) = (0, 0, 0);
    for file in &files {
        let edited = if chosen.dry_run {
            let edited = edit(global, chosen, work, file)?;
            diff::write(&mut out, file, &edited.text)?;
            edited
        } else {
            place(global, chosen, work, file)?
        };
        tell(global, chosen, work, file, &edited);
        n_changed += edited.changed.len();
        n_refused += edited.refused.len();
        n_left += edited.left.len();
    }
    out.finish()?;
    if n_changed == 0 && n_refused == 0 && !global.quiet {
        let _ = match work {
            Work::Wrap if n_left > 0 => writeln!(std::io::stderr(), "nothing to do: wrapped already"),
            Work::Wrap => writeln!(std::io::stderr(), "nothing to do: no host has a server here"),
            Work::Unwrap => writeln!(std::io::stderr(), "nothing to do: none of them is wrapped"),
        };
    }
    Ok(if n_refused > 0 || !unreadable.is_empty() { NO } else { 0 })
}

/// Writes the new text, from what the file is by then.
fn place(global: &Global, chosen: &Chosen, work: &Work, file: &ConfigurationFile) -> Result<Edited, Failure> {
    for attempt in 0..ATTEMPTS {
        let file = if attempt == 0 { file.clone() } else { file.again()? };
        let edited = edit(global, chosen, work, &file)?;
        if edited.changed.is_empty() {
            return Ok(edited);
        }
        if *work == Work::Wrap {
            let is_untouched = !file.read.servers.iter().any(|server| server.tapped().is_some());
            let backup = back_up(&file.path, &file.text, is_untouched)?;
            if let Some(backup) = backup.filter(|_| !global.quiet) {
                let _ = writeln!(std::io::stderr(), "as it was: {}", shown(&backup.to_string_lossy(), false));
            }
        }
        if replace(&file.path, &file.text, &edited.text)? == Placed::Yes {
            return Ok(edited);
        }
    }
    Err(Failure::new(format!("{} is changed by somebody all the time; it is left as it is", file.path.display()))
        .hint(format!("quit {}, and try again", file.title())))
}

fn tell(global: &Global, chosen: &Chosen, work: &Work, file: &ConfigurationFile, edited: &Edited) {
    let mut stderr = std::io::stderr().lock();
    let path = shown(&file.path.to_string_lossy(), false);
    if !global.quiet && !edited.changed.is_empty() {
        let names: Vec<String> = edited.changed.iter().map(|server| shown(&server.name, false)).collect();
        let done = match (work, chosen.dry_run) {
            (Work::Wrap, false) => "wrapped",
            (Work::Wrap, true) => "would be wrapped",
            (Work::Unwrap, false) => "unwrapped",
            (Work::Unwrap, true) => "would be unwrapped",
        };
        let _ = writeln!(stderr, "{path}: {done}: {}", names.join(", "));
        for server in &edited.changed {
            let Some(remote) = remote_of(server).filter(|_| *work == Work::Wrap) else {
                continue;
            };
            let signs_in = remote.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("authorization"))
                && remote.bearer_variable.is_none();
            if signs_in {
                let _ = writeln!(
                    stderr,
                    "  {}: the host now starts a bridge to it. If the host signed in to it, that is lost: then unwrap it, and \
                     put `mcp-tap proxy URL` in between",
                    shown(&server.name, false)
                );
            }
        }
        if let Some(host) = file.host.filter(|_| !chosen.dry_run) {
            let _ = writeln!(stderr, "  next: {}", host.takes_up());
        }
    }
    for refused in &edited.refused {
        let name = shown(&refused.server.name, false);
        let _ = writeln!(stderr, "{path}:{}: {name} is left as it is: {}", refused.server.line, refused.why);
        // What it is that is not right.
        for problem in file.read.problems.iter().filter(|problem| problem.key.starts_with(&refused.server.path)) {
            let _ = writeln!(stderr, "{path}:{}: {}: {}", problem.line, shown(&problem.key, false), problem.what);
        }
    }
}

fn remote_of(server: &Server) -> Option<&tap_hosts::Remote> {
    match &server.launch {
        Launch::Http(remote) => Some(remote),
        Launch::Command(_) | Launch::Other(_) => None,
    }
}

fn told_unreadable(unreadable: &[Unreadable]) {
    for Unreadable { path, why } in unreadable {
        let _ = writeln!(std::io::stderr(), "mcp-tap: cannot read {}: {why}", shown(&path.to_string_lossy(), false));
    }
}

/// Each server that was named is somewhere.
fn must_be_there(chosen: &Chosen, files: &[ConfigurationFile]) -> Result<(), Failure> {
    let servers = || files.iter().flat_map(|file| &file.read.servers);
    for name in &chosen.servers {
        if servers().any(|server| server.name == *name) {
            continue;
        }
        let near = nearest(name, servers().map(|server| server.name.as_str()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let place = if chosen.project { "in this folder's files" } else { "in the user's files" };
        let place = chosen.file.as_deref().map_or(place.into(), |path: &Path| format!("in {}", path.display()));
        return Err(Failure::new(format!("there is no server `{name}` {place}{near}")).hint(match chosen.project {
            true => "`mcp-tap wrap --list` shows all that were found",
            false => "`mcp-tap wrap --list` shows all that were found; those of this folder need --project",
        }));
    }
    Ok(())
}

/// The commands as they would be, a JSON object each: for a host that is not known, and for reading.
fn print(global: &Global, chosen: &Chosen) -> Result<u8, Failure> {
    let (files, unreadable) = files(chosen, false)?;
    told_unreadable(&unreadable);
    must_be_there(chosen, &files)?;
    let mut out = Output::new(global);
    let mut n_printed = 0;
    for file in &files {
        let edited = edit(global, chosen, &Work::Wrap, file)?;
        let read = tap_hosts::read(&edited.text, file.format, file.shape)
            .map_err(|error| Failure::new(format!("{}: {error}", file.path.display())))?;
        for server in read.servers.iter().filter(|server| is_chosen(chosen, server)) {
            if let Launch::Command(line) = &server.launch {
                let arguments = list::without_secrets(&line.arguments);
                out.json(&json!({"name": server.name, "command": line.command, "args": arguments}))?;
                n_printed += 1;
            }
        }
    }
    out.finish()?;
    if n_printed == 0 && !global.quiet {
        let _ = writeln!(std::io::stderr(), "{} in {}", counted(0, "server"), counted(files.len() as u64, "file"));
    }
    Ok(if n_printed == 0 { NO } else { 0 })
}
