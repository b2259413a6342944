//! Record modes: a recording that is not there yet is made, by an ordinary tap in front of the real server.

use std::path::Path;

use clap::Parser;

use super::super::{run, transfer};
use crate::arguments::{Arguments, Command, Debugging, Global, HttpSide, RecordMode, Replay, Run};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers};
use crate::recording::say;

/// The mode that holds: where `CI` is set nothing is ever recorded.
pub(super) fn mode(replay: &Replay) -> Result<RecordMode, Failure> {
    let asked = replay.record.unwrap_or(RecordMode::None);
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
    if asked == RecordMode::None && !replay.command.is_empty() {
        return Err(Failure::new("there is a command to record, and no --record")
            .hint("--record once records when the file is missing; --record all records anew"));
    }
    if asked == RecordMode::All && replay.command.is_empty() {
        return Err(
            Failure::new("--record all needs the server's command").hint("put it at the end: -- python server.py")
        );
    }
    Ok(if is_ci { RecordMode::None } else { asked })
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
    if mode == RecordMode::Once && file.exists() {
        return Ok(None);
    }
    if replay.command.is_empty() {
        return Err(Failure::new(format!("{} is missing, and there is no command to record", file.display()))
            .hint("put the server's command at the end: -- python server.py"));
    }
    // Whether it can be written is better known now than when the session is over.
    drop(NewFile::create(file, Readers::Usual)?);
    let http = HttpSide::none();
    let debugging = Debugging { no_control: true, ..Debugging::default() };
    let run = Run { name: None, was: None, command: replay.command.clone(), http, debugging };
    let code = run::run_and(global, run, |uuid| {
        if let Err(failure) = export(global, uuid, file) {
            say(&format!("the session was recorded, but {}", failure.message));
            say(&format!("`mcp-tap export {} -o {}` writes it", uuid.get(..8).unwrap_or(uuid), file.display()));
        }
    })?;
    Ok(Some(code))
}

/// Writes the session to its file: a fixture where that ends in `.mcprec`.
fn export(global: &Global, uuid: &str, file: &Path) -> Result<(), Failure> {
    let words = ["mcp-tap", "export", uuid, "-o"].map(std::ffi::OsString::from);
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
