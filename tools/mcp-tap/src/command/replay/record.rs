//! Record modes: a recording that is not there yet is made, by an ordinary tap in front of the real server.

use std::ffi::OsString;
use std::path::Path;

use clap::{Parser, ValueEnum};

use super::super::{run, transfer};
use crate::arguments::{Arguments, Command, Debugging, Global, HttpSide, RecordMode, Replay, Run, parse_url};
use crate::failure::Failure;
use crate::name::name_of_host;
use crate::new_file::{NewFile, Readers};
use crate::recording::say;

/// In which mode to record, where the command line does not say.
const VARIABLE: &str = "MCP_TAP_RECORD";

/// The mode that holds: where `CI` is set nothing is ever recorded.
pub(super) fn mode(replay: &Replay) -> Result<RecordMode, Failure> {
    let of_environment = std::env::var(VARIABLE).ok().filter(|mode| !mode.is_empty());
    let of_environment = of_environment.map(|mode| {
        RecordMode::from_str(&mode, true)
            .map_err(|_| Failure::new(format!("{VARIABLE} is `{mode}`, and there are none, once, new and all")))
    });
    let said = replay.record.map_or_else(|| of_environment.transpose(), |mode| Ok(Some(mode)))?;
    let asked = said.unwrap_or(RecordMode::None);
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
    if said.is_none() && !replay.command.is_empty() {
        return Err(Failure::new("there is a command to record, and no --record").hint(
            "--record once records when the file is missing, new adds what is missed, all records anew; none plays",
        ));
    }
    if is_ci {
        return Ok(RecordMode::None);
    }
    if matches!(asked, RecordMode::New | RecordMode::All) && replay.command.is_empty() {
        let mode = if asked == RecordMode::New { "new" } else { "all" };
        return Err(Failure::new(format!("--record {mode} needs the server's command, or its address"))
            .hint("put it at the end: -- python server.py"));
    }
    Ok(asked)
}

/// Records if that is what the mode says: then the exit code is given. Otherwise the recording is to be played.
pub(super) fn record(global: &Global, replay: &Replay, mode: RecordMode) -> Result<Option<u8>, Failure> {
    let [reference] = replay.recordings.as_slice() else {
        return Err(Failure::new("--record needs one file, and there are several"));
    };
    let Some(file) = reference.file() else {
        return Err(Failure::new("--record needs a file, and this is a session")
            .hint("such as weather.mcprec, or ./weather.jsonl"));
    };
    if mode != RecordMode::All && file.exists() {
        if mode == RecordMode::New && !reference.is_whole() {
            return Err(Failure::new("--record new adds to a whole recording, and this is a part of one"));
        }
        return Ok(None);
    }
    if replay.command.is_empty() {
        return Err(Failure::new(format!("{} is missing, and there is no command to record", file.display()))
            .hint("put the server's command at the end: -- python server.py"));
    }
    // Whether it can be written is better known now than when the session is over.
    drop(NewFile::create(file, Readers::Usual)?);
    let http = HttpSide::none();
    let (name, command, shown) = match is_url(&replay.command) {
        true => {
            let (name, command, shown) = behind_bridge(global, &replay.command)?;
            (Some(name), command, Some(shown))
        }
        false => (None, replay.command.clone(), None),
    };
    let debugging = Debugging { no_control: true, ..Debugging::default() };
    let run = Run { name, was: None, command, http, debugging };
    let code = run::run_and(global, run, shown, |uuid| {
        if let Err(failure) = export(global, uuid, file) {
            say(&format!("the session was recorded, but {}", failure.message));
            say(&format!("`mcp-tap export {} -o {}` writes it", uuid.get(..8).unwrap_or(uuid), file.display()));
        }
    })?;
    Ok(Some(code))
}

/// Whether what stands behind `--` is an address, with options of `proxy` perhaps.
pub(super) fn is_url(command: &[OsString]) -> bool {
    let first = command.first().and_then(|first| first.to_str()).unwrap_or_default();
    ["http://", "https://"]
        .iter()
        .any(|scheme| first.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)))
}

/// A server at an address is recorded as its client hears it: on stdio, in front of a bridge. So the recording is one that
/// any mode can go on with. Gives the session's name, the command, and what of it is written down.
fn behind_bridge(global: &Global, command: &[OsString]) -> Result<(String, Vec<OsString>, Vec<String>), Failure> {
    let url = command.first().and_then(|url| url.to_str()).unwrap_or_default();
    let parsed = parse_url(url).map_err(Failure::new)?;
    let own =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot tell where this program is: {error}")))?;
    let mut words: Vec<OsString> = vec![own.into(), "proxy".into()];
    if let Some(path) = global.database() {
        words.extend(["--db".into(), path.into_os_string()]);
    }
    words.push("--stdio".into());
    words.extend(command.iter().cloned());
    // Options may hold what is secret.
    let shown = ["mcp-tap", "proxy", "--stdio", url].map(str::to_owned).to_vec();
    Ok((parsed.authority().map(name_of_host).unwrap_or_default(), words, shown))
}

/// Writes the session to its file: a fixture where that ends in `.mcprec`.
fn export(global: &Global, uuid: &str, file: &Path) -> Result<(), Failure> {
    let words = ["mcp-tap", "export", uuid, "-o"].map(OsString::from);
    let words = words.into_iter().chain([file.as_os_str().to_owned()]);
    let parsed = Arguments::try_parse_from(words).map_err(|error| Failure::new(error.to_string()))?;
    match parsed.command {
        Some(Command::Export(wanted)) => match transfer::export_session(global, &wanted)? {
            0 => Ok(()),
            code => Err(Failure::new(format!("the export ended with {code}"))),
        },
        _ => Err(Failure::new("the export could not be asked for")),
    }
}
