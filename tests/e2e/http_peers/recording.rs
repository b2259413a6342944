//! What a tap says afterwards of a conversation over HTTP.

use serde_json::Value;

use super::conversation::Outcome;
use super::wire::{Exchange, Message};
use crate::support::{Scratch, talk};

/// Checks what `ls`, `log` and `check` say of the newest session.
#[track_caller]
pub(super) fn check_recording(
    scratch: &Scratch,
    about: &str,
    outcome: &Outcome,
    revision: Option<&str>,
    breaks: &[(&str, &str)],
) {
    let session = scratch.session();
    assert_eq!(session["complete"], true, "{about}: {session}");
    assert_eq!(session["end"], "stopped", "{about}: {session}");
    // Without an agreement nobody has to have said its name.
    if let Some(revision) = revision {
        assert_eq!(session["revision"], revision, "{about}: {session}");
        assert_eq!(session["client"], "tap-test-client 1.0.0", "{about}: {session}");
        assert!(session["server"].is_string(), "{about}: {session}");
    }
    check_calls(scratch, about, outcome);
    check_frames(scratch, about, outcome);
    check_findings(scratch, about, breaks);
}

/// Each step that the client took is a call of the log's, in that order and with that outcome.
#[track_caller]
fn check_calls(scratch: &Scratch, about: &str, outcome: &Outcome) {
    let log: Vec<String> = scratch.json(&["log", "--json"]).iter().filter_map(call).collect();
    let mut left = log.iter();
    for step in outcome.steps() {
        assert!(left.any(|call| *call == step), "{about}: {step} is not in {log:#?}");
    }
}

/// `tools/call add: ok`, of a request to the server.
fn call(row: &Value) -> Option<String> {
    let is_ours = row["direction"] == "to server" && row["kind"] == "request";
    let method = is_ours.then(|| row["method"].as_str())??;
    let target = row["target"].as_str().map(|target| format!(" {target}")).unwrap_or_default();
    let code = row["error_code"].as_str().map(|code| format!(" {code}")).unwrap_or_default();
    Some(format!("{method}{target}: {}{code}", row["status"].as_str().unwrap_or("no answer")))
}

/// Each message that passed is a frame of its length, and nothing else is one.
#[track_caller]
fn check_frames(scratch: &Scratch, about: &str, outcome: &Outcome) {
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let is_first = |row: &&Value| row["kind"] != "stderr" && row["member"] == 0;
    let mut recorded: Vec<(String, u64)> = frames
        .iter()
        .filter(is_first)
        .map(|row| (row["direction"].to_string(), row["length_bytes"].as_u64().unwrap_or_default()))
        .collect();
    let mut passed: Vec<(String, u64)> = outcome.exchanges().iter().flat_map(messages).collect();
    recorded.sort();
    passed.sort();
    assert_eq!(recorded, passed, "{about}: lengths of frames, and of the messages that passed");
}

/// The lengths of an exchange's messages. A request is one even without a body.
fn messages(exchange: &Exchange) -> Vec<(String, u64)> {
    let to = |side: &str, length: usize| (format!("\"to {side}\""), length as u64);
    let response = &exchange.response;
    let is_stream =
        response.headers.iter().any(|(name, value)| name == "content-type" && value.contains("event-stream"));
    let answers = match is_stream {
        true => events(response),
        false if response.body.is_empty() => vec![],
        false => vec![response.body.len()],
    };
    [to("server", exchange.request.body.len())]
        .into_iter()
        .chain(answers.iter().map(|length| to("client", *length)))
        .collect()
}

/// The lengths of the data of each event.
///
/// Source: HTML, 9.2.6 Interpreting an event stream.
fn events(response: &Message) -> Vec<usize> {
    let text = String::from_utf8_lossy(&response.body).replace("\r\n", "\n").replace('\r', "\n");
    let mut lengths = Vec::new();
    let mut data: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some("") => {
                let whole = std::mem::take(&mut data).join("\n");
                lengths.extend((!whole.is_empty()).then_some(whole.len()));
            }
            Some(line) => {
                data.extend(line.strip_prefix("data:").map(|data| data.strip_prefix(' ').unwrap_or(data).to_owned()));
            }
            None => {}
        }
    }
    lengths
}

/// Checks what `check` finds badly broken.
#[track_caller]
fn check_findings(scratch: &Scratch, about: &str, breaks: &[(&str, &str)]) {
    let output = talk(scratch.tap(["check", "--level", "error", "--json"]), b"");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let method = |seq: &Value| {
        let row = frames.iter().find(|row| row["seq"] == *seq);
        row.and_then(|row| row["method"].as_str()).unwrap_or_default()
    };
    let mut broken: Vec<(&str, &str)> =
        found.iter().map(|finding| (finding["rule"].as_str().unwrap_or_default(), method(&finding["seq"]))).collect();
    broken.sort_unstable();
    broken.dedup();
    let mut expected = breaks.to_vec();
    expected.sort_unstable();
    assert_eq!(broken, expected, "{about}: {text}");
}
