//! Dialogues with a client and a real server behind the recording.

use super::super::tests::{OPENED, OPENING, player};
use super::*;
use crate::options::{Options, Order, Unanswered};

const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"other","version":"2"}}}"#;

/// Plays a dialogue with a client and a real server: `->` the client says, `<-` it gets; `>>` the real server gets, `<<`
/// it says; `++ N` what was learned, behind frame N; `!!` a miss. `--` is the end of what the client says, `xx` the end of
/// the server. All that comes must be named, notes left out.
#[track_caller]
fn check(recording: &str, options: Options, dialogue: &str) -> Player {
    let mut player = player(recording, Options { pass_on: true, ..options });
    let mut expected = dialogue.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = expected.next() {
        let (arrow, said) = line.split_at(2);
        let said = said.trim();
        let outputs = match arrow {
            "->" => player.receive(said.as_bytes()),
            "<<" => player.receive_from_server(said.as_bytes()),
            "--" => player.end(),
            "xx" => player.server_ended(said),
            _ => panic!("out of place: {line}"),
        };
        for output in outputs {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let found = match &output {
                Output::Send { bytes, .. } => vec![format!("<- {}", text(bytes))],
                Output::ToServer(bytes) => vec![format!(">> {}", text(bytes))],
                Output::Miss(miss) => vec![format!("!! {}", miss.message())],
                Output::Note(_) => Vec::new(),
                Output::Exit => vec!["exit".into()],
                Output::Learned(learned) => learned
                    .iter()
                    .map(|learned| {
                        let arrow = if learned.direction == Direction::ToServer { "->" } else { "<-" };
                        format!("++ {} {arrow} {}", learned.behind, text(&learned.bytes))
                    })
                    .collect(),
            };
            for found in found {
                let wanted = expected.next().unwrap_or_default();
                let is_same = match wanted.strip_prefix("!! ") {
                    Some(part) => found.starts_with("!!") && found.contains(part),
                    None => wanted == found || (wanted == "<- error" && found.contains("-31001")),
                };
                assert!(is_same, "after {line}\n   found {found}\nexpected {wanted}");
            }
        }
        let is_said = |next: &&str| ["->", "<<", "--", "xx"].iter().any(|arrow| next.starts_with(arrow));
        assert!(expected.peek().is_none_or(is_said), "missing after {line}: {:?}", expected.peek());
    }
    player
}

fn recording() -> String {
    format!(
        "{OPENING}{}",
        r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
           <- {"jsonrpc":"2.0","id":1,"result":{"n":1}}
           -> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
           <- {"jsonrpc":"2.0","id":2,"result":{"n":2}}"#
    )
}

/// The handshake with the real server, behind a call that is missed.
fn opened(rest: &str) -> String {
    format!(
        r#"{OPENED}
           -> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a"}}}}
           <- {{"jsonrpc":"2.0","id":1,"result":{{"n":1}}}}
           -> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"new","_meta":{{"progressToken":2}}}}}}
           >> {HANDSHAKE}
           << {{"jsonrpc":"2.0","id":"i","result":{{"protocolVersion":"2025-11-25"}}}}
           >> {{"jsonrpc":"2.0","method":"notifications/initialized"}}
           >> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"new","_meta":{{"progressToken":2}}}}}}
           {rest}"#
    )
}

#[test]
fn what_is_missed_is_asked_of_the_real_server_and_learned_where_it_came() {
    // Behind the answer to the first call: that is frame 5. The id 2 is in the recording already, and 3 is not.
    let mut player = check(
        &recording(),
        Options::default(),
        &opened(
            r#"<< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
               <- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
               << {"jsonrpc":"2.0","id":2,"result":{"n":9.0}}
               <- {"jsonrpc":"2.0","id":2,"result":{"n":9.0}}
               ++ 5 -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":2}}}
               ++ 5 <- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
               ++ 5 <- {"jsonrpc":"2.0","id":3,"result":{"n":9.0}}
               -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}
               <- {"jsonrpc":"2.0","id":3,"result":{"n":2}}
               -> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"b"}}
               >> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"b"}}
               << {"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"no"}}
               <- {"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"no"}}
               ++ 7 -> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"b"}}
               ++ 7 <- {"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"no"}}"#,
        ),
    );
    let report = player.report(true);
    assert!(report.is_clean());
    assert_eq!(
        (report.n_passed_on, report.passed_on.as_slice()),
        (2, &["tools/call new".into(), "tools/call b".into()][..])
    );
}

#[test]
fn what_the_real_server_asks_is_answered_by_the_client() {
    check(
        &recording(),
        Options::default(),
        &opened(
            r#"<< {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}
               <- {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}
               << {"jsonrpc":"2.0","id":0,"method":"ping"}
               <- {"jsonrpc":"2.0","id":"mcp-tap-1","method":"ping"}
               -> {"jsonrpc":"2.0","id":"mcp-tap-1","result":{}}
               >> {"jsonrpc":"2.0","id":0,"result":{}}
               -> {"jsonrpc":"2.0","id":0,"result":{"text":"yes"}}
               >> {"jsonrpc":"2.0","id":0,"result":{"text":"yes"}}
               << {"jsonrpc":"2.0","id":2,"result":{}}
               <- {"jsonrpc":"2.0","id":2,"result":{}}
               ++ 5 -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":2}}}
               ++ 5 <- {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}
               ++ 5 <- {"jsonrpc":"2.0","id":0,"method":"ping"}
               ++ 5 -> {"jsonrpc":"2.0","id":0,"result":{}}
               ++ 5 -> {"jsonrpc":"2.0","id":0,"result":{"text":"yes"}}
               ++ 5 <- {"jsonrpc":"2.0","id":3,"result":{}}"#,
        ),
    );
}

#[test]
fn what_is_cancelled_is_cancelled_there_and_what_has_no_answer_is_not_learned() {
    check(
        &recording(),
        Options::default(),
        &opened(
            r#"-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"never","_meta":{"progressToken":"p"}}}
               >> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"never","_meta":{"progressToken":"p"}}}
               << {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p"}}
               <- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p"}}
               -> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
               >> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
               --
               ++ 5 -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":2}}}
               ++ 5 -> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        ),
    );
}

#[test]
fn a_real_server_that_ends_or_refuses_makes_misses() {
    check(
        &recording(),
        Options::default(),
        &opened(
            r#"xx the real server exited with 1
               !! no recorded answer for tools/call new: no match: the real server exited with 1
               <- error
               -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other"}}
               !! the real server exited with 1
               <- error"#,
        ),
    );
    check(
        &recording(),
        Options::default(),
        &format!(
            r#"{OPENED}
               -> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"new"}}}}
               >> {HANDSHAKE}
               << {{"jsonrpc":"2.0","id":"i","error":{{"code":-32602,"message":"too old"}}}}
               !! refused the handshake
               <- error"#
        ),
    );
}

#[test]
fn nothing_is_put_between_a_recorded_request_and_its_answer() {
    let recording = format!(
        "{OPENING}{}",
        r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
           -> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
           <- {"jsonrpc":"2.0","id":1,"result":{"n":1}}
           <- {"jsonrpc":"2.0","id":2,"result":{"n":2}}
           -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c"}}
           <- {"jsonrpc":"2.0","id":3,"result":{"n":3}}"#
    );
    check(
        &recording,
        Options { order: Order::Strict, unanswered: Unanswered::Error, ..Options::default() },
        &opened(
            r#"<< {"jsonrpc":"2.0","id":2,"result":{}}
               <- {"jsonrpc":"2.0","id":2,"result":{}}
               ++ 7 -> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":2}}}
               ++ 7 <- {"jsonrpc":"2.0","id":4,"result":{}}"#,
        ),
    );
}

#[test]
fn an_empty_recording_learns_everything() {
    check(
        "",
        Options::default(),
        r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
           >> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
           << {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
           <- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
           ++ 0 -> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
           ++ 0 <- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
           -> {"jsonrpc":"2.0","method":"notifications/initialized"}
           >> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
}
