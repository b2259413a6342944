//! `mcp-tap release`: what becomes of a held message.

use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::breakpoints::{number, say_of};
use super::held::{find, text_of};
use crate::arguments::{Global, Release};
use crate::control::client::{Refusal, Tap, taps_on};
use crate::failure::{Failure, NO};
use crate::filtering::read;
use crate::following::follow;
use crate::reference::Reference;
use crate::text::{counted, pretty, shown};

/// How long a message stays held that is open in an editor.
const EDITING: Duration = Duration::from_secs(30 * 60);

/// How long it stays when it was left there.
const LEFT: Duration = Duration::from_secs(50);

/// Who did it, as recordings tell it.
const BY: &str = "mcp-tap release";

pub(crate) fn release(global: &Global, release: &Release) -> Result<u8, Failure> {
    let words: Vec<&str> = release.which.iter().map(String::as_str).collect();
    let taps = taps_on(release.on.on.as_deref())?;
    match words.as_slice() {
        ["all"] => {
            for mut tap in taps {
                let done = tap.command("continue", json!({"by": BY}))?;
                say_of(global, &tap, &format!("{} released", counted(number(&done, "released"), "message")));
            }
        }
        ["step"] => {
            for mut tap in taps {
                tap.command("step", json!({"by": BY, "stays": true}))?;
            }
        }
        ["to", filter @ ..] if !filter.is_empty() => {
            let filter: Vec<String> = filter.iter().map(|word| (*word).to_owned()).collect();
            read(&filter)?;
            for mut tap in taps {
                tap.command("run_to", json!({"filter": filter.join(" "), "by": BY, "stays": true}))?;
            }
        }
        [one] => match one.parse() {
            Ok(wanted) => return one_message(global, release, taps, wanted),
            Err(_) => {
                return Err(Failure::new(format!("`{}` is no number of a held message", shown(one, false)))
                    .hint("`mcp-tap held` lists them; or all, step, to FILTER"));
            }
        },
        _ => return Err(Failure::new("one message at a time").hint("or all, step, to FILTER")),
    }
    Ok(0)
}

fn one_message(global: &Global, release: &Release, taps: Vec<Tap>, wanted: u64) -> Result<u8, Failure> {
    let (mut tap, held) = find(taps, wanted)?;
    let mut params = Map::new();
    params.insert("number".into(), wanted.into());
    params.insert("by".into(), BY.into());
    params.insert("force".into(), release.force.into());
    let mut how = |how: &str| params.insert("how".into(), how.into());
    if release.original {
        how("original");
    } else if release.drop {
        how("drop");
    } else if let Some(file) = &release.answer {
        how("answer");
        params.insert("message".into(), read_file(file)?.into());
    } else if let Some(error) = &release.error {
        how("error");
        let (code, text) = error.split_once(':').unwrap_or((error, "refused by hand"));
        let code: i64 = code.trim().parse().map_err(|_| {
            Failure::new(format!("`{}` is no code of an error", shown(code, false)))
                .hint("write --error -32000:refused")
        })?;
        params.insert("code".into(), code.into());
        params.insert("text".into(), text.trim().into());
    } else if let Some(time) = &release.delay {
        how("later");
        let ns = tap_control::read_duration(time)
            .ok_or_else(|| Failure::new(format!("`{}` is no time", shown(time, false))).hint("write --delay 2s"))?;
        params.insert("ms".into(), (ns / 1_000_000).into());
    } else if let Some(file) = &release.edited {
        how("edited");
        params.insert("message".into(), read_file(file)?.into());
        add_schema(global, &tap, &held, &mut params);
    } else if release.edit {
        how("edited");
        add_schema(global, &tap, &held, &mut params);
        return edit(global, &mut tap, &held, params);
    }
    let done = done_by(&params);
    match tap.ask("held/release", Value::Object(params)) {
        Ok(Ok(_)) => {
            say_of(global, &tap, &format!("message {wanted} {done}"));
            Ok(0)
        }
        Ok(Err(refusal)) => Err(refused(&refusal)),
        Err(error) => Err(Failure::new(format!("{} does not answer: {error}", shown(tap.name(), false)))),
    }
}

/// What became of a message that was let go this way.
fn done_by(params: &Map<String, Value>) -> &'static str {
    match params.get("how").and_then(Value::as_str) {
        Some("original") => "released as it came",
        Some("drop") => "dropped",
        Some("answer") => "answered in the other side's place",
        Some("error") => "answered with an error",
        Some("later") => "goes on later",
        Some("edited") => "edited and released",
        _ => "released",
    }
}

/// Why a message was not sent.
fn refused(refusal: &Refusal) -> Failure {
    let problems = problems(refusal);
    if problems.is_empty() {
        return Failure::new(refusal.message.clone());
    }
    Failure::new(format!("it was not sent, and is still held:\n  {}", problems.join("\n  ")))
        .hint("--force sends it all the same")
}

fn problems(refusal: &Refusal) -> Vec<String> {
    let problems = refusal.data.get("problems").and_then(Value::as_array).into_iter().flatten();
    problems.filter_map(Value::as_str).map(Into::into).collect()
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let mut text = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut text).map(|_| ()),
        false => std::fs::read(path).map(|bytes| text = bytes),
    };
    read.map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    String::from_utf8(text).map_err(|_| Failure::new(format!("{} is no text", path.display())))
}

/// The schema of the tool's arguments from the recording, for a tap that has judged nothing when tools were listed.
fn add_schema(global: &Global, tap: &Tap, held: &Value, params: &mut Map<String, Value>) {
    if held.get("schema").is_some_and(|schema| !schema.is_null()) {
        return;
    }
    let tool = held.get("held").and_then(|held| held.get("target")).and_then(Value::as_str);
    // Without a recording, or before it is written, there is none: then the arguments are not judged.
    if let Some(schema) = tool.and_then(|tool| recorded_schema(global, tap.session(), tool)) {
        params.insert("schema".into(), schema.into());
    }
}

/// The input schema of a tool, as it was listed last in the recording of a live session with this id.
pub(super) fn recorded_schema(global: &Global, session: &str, tool: &str) -> Option<String> {
    let reference: Reference = session.get(..13)?.parse().ok()?;
    let found = reference.resolve(global).ok()?;
    let followed = follow(global, &found, u64::MAX, |_| Ok(())).ok()?;
    let tool = followed.state_of(None)?.lists.tool(tool)?.clone();
    let schema = tool.text.node().get("inputSchema")?;
    Some(String::from_utf8_lossy(schema.bytes()).into_owned())
}

/// Opens a message in the editor, and sends what comes of it. What is wrong with it is told, and asked about.
fn edit(global: &Global, tap: &mut Tap, held: &Value, mut params: Map<String, Value>) -> Result<u8, Failure> {
    let number = params.get("number").cloned().unwrap_or_default();
    // Whoever edits is not to be hurried; but should he never come back, nobody waits for ever.
    let _ = tap.command("held/keep", json!({"number": number, "ms": EDITING.as_millis()}));
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary folder can be made: {error}")))?;
    let path = folder.path().join("message.json");
    let before = format!("{}\n", pretty(&text_of(held.get("message"))));
    let cannot = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    std::fs::write(&path, &before).map_err(cannot)?;
    loop {
        open_editor(&path)?;
        let text = std::fs::read_to_string(&path).map_err(cannot)?;
        if text == before {
            // An editor that is left without saving is how one goes back.
            let _ = tap.command("held/keep", json!({"number": number, "ms": LEFT.as_millis()}));
            say_of(
                global,
                tap,
                &format!(
                    "nothing was changed: message {number} is still held; `mcp-tap release {number}` lets it go as it is"
                ),
            );
            return Ok(NO);
        }
        params.insert("message".into(), text.into());
        let asked = tap.ask("held/release", Value::Object(params.clone()));
        let refusal = match asked {
            Ok(Ok(_)) => {
                say_of(global, tap, &format!("message {number} {}", done_by(&params)));
                return Ok(0);
            }
            Ok(Err(refusal)) => refusal,
            Err(error) => return Err(Failure::new(format!("{} does not answer: {error}", shown(tap.name(), false)))),
        };
        if problems(&refusal).is_empty() || !std::io::stdin().is_terminal() {
            return Err(refused(&refusal));
        }
        let mut stderr = std::io::stderr();
        for problem in problems(&refusal) {
            let _ = writeln!(stderr, "  {}", shown(&problem, false));
        }
        let _ = write!(stderr, "(e) edit again, (f) send it all the same, (q) leave it held? ");
        let mut answer = String::new();
        let _ = std::io::stdin().read_line(&mut answer);
        match answer.trim() {
            "f" => {
                params.insert("force".into(), true.into());
                let done = done_by(&params);
                return match tap.ask("held/release", Value::Object(params)) {
                    Ok(Ok(_)) => {
                        say_of(global, tap, &format!("message {number} {done}"));
                        Ok(0)
                    }
                    Ok(Err(refusal)) => Err(refused(&refusal)),
                    Err(error) => Err(Failure::new(format!("{} does not answer: {error}", shown(tap.name(), false)))),
                };
            }
            "q" => {
                let _ = tap.command("held/keep", json!({"number": number, "ms": LEFT.as_millis()}));
                say_of(global, tap, "it is still held");
                return Ok(NO);
            }
            _ => {}
        }
    }
}

fn open_editor(path: &Path) -> Result<(), Failure> {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|command| !command.trim().is_empty()));
    let command = named.unwrap_or_else(|| "vi".into());
    let status = Command::new("sh").arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("{command}: {status}; the message is still held"))),
        Err(error) => Err(Failure::new(format!("{command}: {error}; the message is still held"))),
    }
}
