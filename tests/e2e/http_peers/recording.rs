//! What a tap says afterwards of a conversation over HTTP.

use serde_json::Value;

use super::conversation::Outcome;
use super::wire::{Exchange, Message};
use crate::support::{Scratch, talk};

/// What `ls`, `log` and `check` say of the newest session that is not so.
#[track_caller]
pub(super) fn mistakes(
    scratch: &Scratch,
    outcome: &Outcome,
    revision: Option<&str>,
    breaks: &[(&str, &str)],
) -> Vec<String> {
    let session = scratch.session();
    let mut expected = vec![("complete", Value::from(true)), ("end", "stopped".into()), ("lost_bytes", 0.into())];
    // Without an agreement nobody has to have said its name.
    if let Some(revision) = revision {
        expected.extend([("revision", revision.into()), ("client", "tap-test-client 1.0.0".into())]);
    }
    let is_other = |(key, expected): &(&str, Value)| session[key] != *expected;
    let mut found: Vec<String> = expected
        .into_iter()
        .filter(is_other)
        .map(|(key, expected)| format!("{key} is {} and not {expected}", session[key]))
        .collect();
    // A client that asks nobody who they are may learn it or not.
    if let Some(name) = outcome.server_name()
        && !session["server"].as_str().is_some_and(|server| server.starts_with(name))
    {
        found.push(format!("server is {} and not {name}", session["server"]));
    }
    found.extend(calls(scratch, outcome));
    found.extend(frames(scratch, outcome));
    found.extend(findings(scratch, breaks));
    found
}

/// Each step that the client took is a call of the log's, in that order and with that outcome.
#[track_caller]
fn calls(scratch: &Scratch, outcome: &Outcome) -> Option<String> {
    let log: Vec<String> = scratch.json(&["log", "--json"]).iter().filter_map(call).collect();
    let mut left = log.iter();
    let missing = outcome.steps().into_iter().find(|step| !left.any(|call| call == step))?;
    Some(format!("{missing:?} is not in its place in {log:#?}"))
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
fn frames(scratch: &Scratch, outcome: &Outcome) -> Option<String> {
    let rows = scratch.json(&["log", "--frames", "--json"]);
    let recorded: Vec<(String, u64)> = rows
        .iter()
        .filter(|row| row["kind"] != "stderr" && row["member"] == 0)
        .map(|row| (row["direction"].to_string(), row["length_bytes"].as_u64().unwrap_or_default()))
        .collect();
    let [near, far] = outcome.exchanges().map(|exchanges| exchanges.iter().flat_map(messages).collect::<Vec<_>>());
    let (lost, made_up) = (without(&near, &recorded), without(&recorded, &far));
    let is_as_passed = lost.is_empty() && made_up.is_empty();
    (!is_as_passed).then(|| format!("{} frames; no frames are {lost:?}, no messages {made_up:?}", recorded.len()))
}

/// What is left of these without those, each as often as it is there.
fn without(these: &[(String, u64)], those: &[(String, u64)]) -> Vec<(String, u64)> {
    let mut those = those.to_vec();
    let mut left = these.to_vec();
    left.retain(|length| match those.iter().position(|other| other == length) {
        Some(at) => {
            those.swap_remove(at);
            false
        }
        None => true,
    });
    left
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

/// What `check` finds badly broken that is not, or does not find that is.
#[track_caller]
fn findings(scratch: &Scratch, breaks: &[(&str, &str)]) -> Option<String> {
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
    let told = |finding: &Value| format!("{} {} {}", finding["rule"], finding["reference"], finding["detail"]);
    let told: Vec<String> = found.iter().map(told).take(5).collect();
    (broken != expected).then(|| format!("badly broken is {broken:?} and not {expected:?}: {told:?}"))
}
