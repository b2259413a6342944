//! What belongs to a call: nothing of another session of MCP, nothing of the other side's, and no more is read than is of use.

use std::cell::Cell;
use std::fmt::Write;
use std::path::Path;
use std::sync::mpsc::channel;

use tap_store::SessionId;

use super::super::super::asked::{Answers, Opened, Withdrawn};
use super::super::called;
use super::*;
use crate::reference::read_text;

/// The lines of a call that are its own, and how the whole is told to who wants to know for so many looks at that.
fn told(path: &Path, asked: u64, n_looks: usize) -> Option<(Vec<(String, u64)>, About)> {
    let (store, imported) = read_text(path).unwrap();
    store.catch_up(imported.session, |_| {}).unwrap();
    let opened = Opened { store, first_seq: imported.first, zone: jiff::tz::TimeZone::UTC, is_text: true };
    let (to, _answers) = channel();
    let answers = Answers::new(to, Withdrawn::default());
    let around = Around::new(&opened, &answers);
    let left = Cell::new(n_looks);
    let session = opened.store.session(SessionId(1)).unwrap().unwrap();
    let called = called(&opened.store, session, At { seq: asked, member: 0 }).unwrap().unwrap();
    let about = around.call_until(&called, &|| left.replace(left.get().saturating_sub(1)) == 0).unwrap()?;
    N_LOOKS.set(n_looks - left.get());
    let own = about.lines.iter().filter(|line| !line.text.contains("meanwhile"));
    let own = own.filter_map(|line| Some((line.name.clone(), line.goes_to?.at.seq))).collect();
    Some((own, about))
}

thread_local! {
    /// How often it was looked whether anybody wants to know.
    static N_LOOKS: Cell<usize> = const { Cell::new(0) };
}

fn is_own(name: &str, seq: u64) -> (String, u64) {
    (name.to_owned(), seq)
}

const HEAD: &str = r#"{"mcp-tap":"recording/2","profile":"lossless","uuid":"30000000000000000000000000000009","server":"made","command":["server"],"folder":"/","environment":[],"recorded_unix_ns":1764504000000000000,"recorded_by":"mcp-tap 0.1.0","server_pid":null}"#;

fn stdio(folder: &Path, messages: &[(&str, &str)]) -> std::path::PathBuf {
    let mut text = format!("{HEAD}\n");
    for (index, (to, message)) in messages.iter().enumerate() {
        writeln!(text, r#"{{"to":"{to}","at":0.{index:09},"msg":{message}}}"#).unwrap();
    }
    let path = folder.join("made.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn what_the_other_side_cancels_and_tells_of_its_own_is_not_of_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#;
    let ask_back =
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let path = stdio(
        folder.path(),
        &[
            ("server", ask),
            ("client", ask_back),
            ("server", progress),
            ("client", progress),
            ("client", cancel),
            ("server", cancel),
        ],
    );
    let own = |asked| told(&path, asked, usize::MAX).unwrap().0;
    assert_eq!(own(1), [is_own("request", 1), is_own("progress", 4), is_own("cancelled", 6)]);
    assert_eq!(own(2), [is_own("request", 2), is_own("progress", 3), is_own("cancelled", 5)]);
    assert_eq!(own(4), own(1), "progress leads to the call that it is of");
    assert_eq!(own(3), own(2));
}

#[test]
fn each_session_of_mcp_over_http_has_tokens_and_ids_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let head = HEAD.replace(r#""command":["server"]"#, r#""command":["http://127.0.0.1:3000/mcp"],"transport":"http""#);
    let mut text = format!("{head}\n");
    let mut at = 0;
    let mut put = |line: String| {
        at += 1;
        writeln!(text, r#"{{{line},"at":0.{at:09}}}"#).unwrap();
    };
    let request = |number: u64, of: &str| {
        let session = if of.is_empty() { String::new() } else { format!(r#",["mcp-session-id","{of}"]"#) };
        format!(
            r#""http":{number},"connection":{number},"request":"POST /mcp HTTP/1.1","headers":[["host","127.0.0.1:4000"],["content-type","application/json"],["accept","application/json, text/event-stream"]{session}]"#
        )
    };
    let to = |number: u64, to: &str, message: &str| format!(r#""http":{number},"to":"{to}","msg":{message}"#);
    let response = |number: u64, kind: &str, of: &str| {
        format!(
            r#""http":{number},"status":200,"version":"HTTP/1.1","headers":[["content-type","{kind}"],["mcp-session-id","{of}"]]"#
        )
    };
    for (number, of) in [(1, "aaaa"), (2, "bbbb")] {
        put(request(number, ""));
        put(to(
            number,
            "server",
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        ));
        put(format!(r#""http":{number},"request_end":true"#));
        put(response(number, "application/json", of));
        put(to(
            number,
            "client",
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
        ));
        put(format!(r#""http":{number},"http_end":"whole""#));
    }
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#;
    for (number, of) in [(3, "aaaa"), (4, "bbbb")] {
        put(request(number, of));
        put(to(number, "server", ask));
        put(format!(r#""http":{number},"request_end":true"#));
        put(response(number, "text/event-stream", of));
    }
    // What is told goes past the answer's exchange: only the session tells whose it is.
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    for number in [4, 3] {
        put(format!(r#""http":{number},"to":"client","before":"data: ","after":"\n\n","msg":{progress}"#));
    }
    put(request(5, "bbbb"));
    put(to(5, "server", r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#));
    put(r#""http":5,"request_end":true"#.into());
    let path = folder.path().join("http.jsonl");
    std::fs::write(&path, text).unwrap();
    // Numbers 1 to 4 are of the two beginnings.
    let own = |asked| told(&path, asked, usize::MAX).unwrap().0;
    assert_eq!(own(5), [is_own("request", 5), is_own("progress", 8)]);
    assert_eq!(own(6), [is_own("request", 6), is_own("progress", 7), is_own("cancelled", 9)]);
    assert_eq!(own(7), own(6), "progress leads to the call that it is of");
    assert_eq!(own(8), own(5));
}

#[test]
fn nobody_waits_for_rounds_that_are_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let padding = "x".repeat(1024 * 1024);
    let mut messages = vec![
        ("server", r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"x"}}"#.to_owned()),
        (
            "client",
            r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required","requestState":"s"}}"#.to_owned(),
        ),
    ];
    // Longer together than is read to find the one that goes on.
    for id in 1..70 {
        let params = format!(r#"{{"name":"x","arguments":{{"text":"{padding}"}}}}"#);
        messages.push(("server", format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)));
    }
    let goes_on = r#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"x","inputResponses":{},"requestState":"s"}}"#;
    messages.push(("server", goes_on.to_owned()));
    let path = |messages: &[(&str, String)]| {
        let messages: Vec<_> = messages.iter().map(|(to, message)| (*to, message.as_str())).collect();
        stdio(folder.path(), &messages)
    };
    let long = path(&messages);
    let (own, about) = told(&long, 1, usize::MAX).unwrap();
    assert_eq!(own.len(), 2, "{own:?}");
    let last = about.lines.last().unwrap();
    assert!(last.text.contains("looked through for more rounds"), "{last:?}");
    // The last may be found all the same from the other end, where what is too short for the state is not read.
    messages.drain(3..messages.len() - 1);
    let short = path(&messages);
    for asked in [1, 4] {
        let (own, about) = told(&short, asked, usize::MAX).unwrap();
        assert!(own.contains(&is_own("request", 1)) && own.contains(&is_own("request", 4)), "{own:?}");
        assert!(!about.lines.iter().any(|line| line.text.contains("more rounds")), "{asked}");
        let n_looks = N_LOOKS.get();
        assert!(6 < n_looks, "{n_looks}");
        for n_looks in 0..n_looks {
            assert!(told(&short, asked, n_looks).is_none(), "it ends as soon as nobody wants to know");
        }
    }
}
