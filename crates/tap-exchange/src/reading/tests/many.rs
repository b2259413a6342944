//! Tests of more sessions than can be followed at a time.

use super::*;

/// A session, with a stream that stays open where that is wanted, and a call.
fn session(first: u64, id: &str, with_stream: bool) -> Vec<What> {
    let initialize = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c"}}}"#;
    let initialized = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s"}}}"#;
    let id = [("mcp-session-id", id)];
    let answer = [JSON, &id].concat();
    let post = [POST, &id].concat();
    let get = [&[("accept", "text/event-stream")], &id[..]].concat();
    let mut pieces = exchange(first, ("POST /mcp", POST, initialize), (200, &answer, initialized));
    if with_stream {
        let mut stream = exchange(first + 1, ("GET /mcp", &get, b""), (200, STREAM, b""));
        stream.pop();
        pieces.append(&mut stream);
    }
    pieces.extend(exchange(first + 2, ("POST /mcp", &post, CALL), (200, JSON, RESULT)));
    pieces
}

#[test]
fn a_session_in_use_is_followed_however_many_come_after_it() {
    let mut pieces = session(1, "long", true);
    let busy = [POST, &[("mcp-session-id", "busy")][..]].concat();
    pieces.extend(session(4, "busy", false));
    for number in 0..2_500 {
        pieces.extend(session(10 + 4 * number, &format!("s{number}"), false));
        if number % 500 == 0 {
            pieces.extend(exchange(10 + 4 * number + 3, ("POST /mcp", &busy, CALL), (200, JSON, RESULT)));
        }
    }
    let event = [b"data: ", RESULT, b"\n\n"].concat();
    pieces.push(What::Http(2, HttpPart::ResponseBody, event));
    let (reading, reads) = read(&pack(&pieces, &[]));
    assert!(reads.iter().all(|read| read.refused.is_none()));
    let known: Vec<_> = reading.conversations().collect();
    let ids: Vec<_> = known.iter().take(2).map(|this| this.number.0).collect();
    assert_eq!((known.len(), ids, known[1].n_calls), (1_000, vec![1, 2], 7));
    // Those that are not followed any more were handed out, each once.
    let forgotten: Vec<_> = reads.iter().flat_map(|read| &read.forgotten).collect();
    let numbers: BTreeSet<_> = forgotten.iter().map(|this| this.number).collect();
    assert_eq!((forgotten.len(), numbers.len()), (1_502, 1_502));
    assert!(forgotten.iter().all(|this| (this.n_messages, this.n_calls, this.n_errors) == (4, 2, 0)));
}

#[test]
fn a_session_that_had_to_be_forgotten_while_it_was_in_use_is_not_taken_for_refused() {
    let mut pieces = Vec::new();
    for number in 0..1_002 {
        pieces.extend(session(1 + 3 * number, &format!("s{number}"), true));
    }
    let event = [b"data: ", RESULT, b"\n\n"].concat();
    pieces.push(What::Http(2, HttpPart::ResponseBody, event));
    let (_, reads) = read(&pack(&pieces, &[]));
    assert!(reads.iter().all(|read| read.refused.is_none()));
    let of_first: Vec<_> = reads.iter().flat_map(|read| &read.forgotten).filter(|this| this.number.0 == 1).collect();
    let [before, after, ..] = &of_first[..] else { panic!("{of_first:?}") };
    assert!(before.last_seq < after.last_seq);
    let frames = reads.iter().filter_map(|read| read.frame.as_ref());
    assert!(
        frames.filter(|frame| frame.exchange == Some(2)).all(|frame| frame.conversation.map(|this| this.0) == Some(1))
    );
}
