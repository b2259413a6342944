//! What an answer says in words.

use tap_jsonrpc::Node;

/// How much of a text is kept, bytes.
pub(crate) const BEGINNING_BYTES: usize = 200;

/// What an answer says, from its beginning: the message of an error, the first text of a tool, or how its result begins; on
/// one line, cut.
pub(crate) fn said(start: &[u8]) -> String {
    beginning(&said_whole(start))
}

/// The same as it is there.
pub(crate) fn said_whole(start: &[u8]) -> String {
    let node = Node::new(start);
    let message = node.at(&["error", "message"]).and_then(Node::text);
    let text = || node.at(&["result", "content"])?.elements().find_map(|item| item.get("text")?.text());
    match message.or_else(text) {
        Some(text) => text.into(),
        None => match node.get("result") {
            Some(result) => String::from_utf8_lossy(result.bytes()).into_owned(),
            None => String::new(),
        },
    }
}

/// The beginning of a text, on one line.
pub(crate) fn beginning(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(BEGINNING_BYTES)];
    cut.split_whitespace().collect::<Vec<_>>().join(" ")
}
