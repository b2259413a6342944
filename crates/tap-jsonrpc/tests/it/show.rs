//! One line of text for what a scan found, so that tests are tables.

use tap_jsonrpc::{Captures, Content, Envelope, Member, NotAMessage, Notes, Path, RawId, Scanned, scan};

/// What tests watch, unless they say otherwise.
pub(crate) static WATCH: &[Path] = &[
    Path(&["params", "name"]),
    Path(&["params", "_meta", "progressToken"]),
    Path(&["result", "isError"]),
    Path(&["error", "code"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/clientInfo", "name"]),
    Path(&["params"]),
];

/// Scans `input` and compares what [`show`] says.
#[track_caller]
pub(crate) fn check(input: impl AsRef<[u8]>, expected: &str) {
    let input = input.as_ref();
    let found = show(&scan(input, WATCH));
    assert_eq!(found, expected, "input: {}", start(input));
}

/// The start of an input, for a message about it.
pub(crate) fn start(input: &[u8]) -> String {
    input[..input.len().min(300)].escape_ascii().to_string()
}

/// `Request 1 tools/call [0]="search" {null id}`: kind, id, method, captures by watch, notes of the unit.
pub(crate) fn show(scanned: &Scanned) -> String {
    let content = match &scanned.content {
        Content::Blank => "Blank".to_owned(),
        Content::Message(message) => show_message(message),
        Content::NotAMessage(other) => show_not_a_message(other),
        Content::NotJson(error) => error.to_string(),
        Content::Batch(batch) => {
            let members: Vec<_> = batch.members.iter().map(show_member).collect();
            format!("Batch of {}: {}", batch.n_members, members.join("; "))
        }
    };
    format!("{content}{}", show_notes(scanned.notes))
}

fn show_member(member: &Member) -> String {
    match member {
        Member::Message(message) => show_message(message) + &show_notes(message.notes),
        Member::NotAMessage(other) => show_not_a_message(other) + &show_notes(other.notes),
    }
}

fn show_message(message: &Envelope) -> String {
    let found = show_found(message.id.as_ref(), message.method.as_deref(), &message.captures);
    format!("{:?}{found}", message.kind)
}

fn show_not_a_message(other: &NotAMessage) -> String {
    let found = show_found(other.id.as_ref(), other.method.as_deref(), &other.captures);
    format!("No message, {}:{found}", other.why)
}

fn show_found(id: Option<&RawId>, method: Option<&str>, captures: &Captures) -> String {
    let id = id.map(|id| format!(" {id}")).unwrap_or_default();
    let method = method.map(|method| format!(" {method}")).unwrap_or_default();
    let captures: String = captures
        .iter()
        .map(|(index, value)| match value.token() {
            Some(token) => format!(" [{index}]={}", String::from_utf8_lossy(token.bytes())),
            None => format!(" [{index}]={value:?}"),
        })
        .collect();
    format!("{id}{method}{captures}")
}

fn show_notes(notes: Notes) -> String {
    if notes.is_empty() { String::new() } else { format!(" {notes:?}") }
}
