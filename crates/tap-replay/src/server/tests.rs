//! Dialogues: what is recorded, what a client says, and all that it must get.

use tap_compare::Rules;

use super::*;
use crate::options::{MissingCapability, Order, Repeat, Unanswered, Unmatched};
use crate::recording::InMemory;
use crate::script::tests::units;

pub(crate) mod any;
pub(crate) mod captures;
mod eras;
mod matching;

/// A player of a recording as `units` reads it.
pub(super) fn player(recording: &str, options: Options) -> Player {
    let recording = Box::new(InMemory::new(units(recording)));
    let source = Source { name: "a.mcprec".into(), rules: Rules::default(), is_fixture: true, recording };
    Player::new(vec![source], options)
}

/// Plays a dialogue: lines with `->` are said to the player, lines with `<-` must be all that it says then. A line
/// `<- ~ TEXT` is one that holds the text. `!! TEXT` is a miss whose message holds it, `** TEXT` a note.
#[track_caller]
pub(super) fn check_with(recording: &str, options: Options, dialogue: &str) -> Player {
    let mut player = player(recording, options);
    let lines: Vec<&str> = dialogue.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut expected = lines.iter().peekable();
    while let Some(line) = expected.next() {
        let (arrow, said) = line.split_at(2);
        let outputs = match arrow {
            "->" => player.receive(said.trim().as_bytes()),
            "--" => player.end(),
            "?!" => player.stop_waiting(),
            _ => panic!("expected to say something, not {line}"),
        };
        for output in outputs {
            let found = match output {
                Output::Send { bytes, .. } => format!("<- {}", String::from_utf8(bytes).expect("text")),
                Output::Miss(miss) => format!("!! {}", miss.message()),
                Output::Note(note) => format!("** {}", note.text),
                Output::Exit => "exit".into(),
                Output::ToServer(_) | Output::Learned(_) => "there is no real server here".into(),
            };
            let wanted = expected.next().unwrap_or_else(|| panic!("{found} is too much, after {line}"));
            let (arrow, text) = wanted.split_at(2);
            let holds = text.trim().strip_prefix('~').or((arrow != "<-").then_some(text));
            let is_same = match holds {
                Some(text) => found.starts_with(arrow) && found.contains(text.trim()),
                None => found == **wanted,
            };
            assert!(is_same, "after {line}\n   found {found}\nexpected {wanted}");
        }
        if let Some(next) = expected.peek() {
            assert!(["->", "--", "?!"].iter().any(|arrow| next.starts_with(arrow)), "missing after {line}: {next}");
        }
    }
    player
}

#[track_caller]
pub(super) fn check(recording: &str, dialogue: &str) -> Player {
    check_with(recording, Options::default(), dialogue)
}

pub(super) const OPENING: &str = r#"
-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
<- {"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},"jsonrpc":"2.0","id":0}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// The live side of [`OPENING`], with an id of another type.
pub(super) const OPENED: &str = r#"
-> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"other","version":"2"}}}
<- {"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},"jsonrpc":"2.0","id":"i"}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

fn with_opening(rest: &str) -> String {
    format!("{OPENING}{rest}")
}

fn with_opened(rest: &str) -> String {
    format!("{OPENED}{rest}")
}

#[test]
fn ids_and_tokens_are_the_live_ones_and_all_else_is_as_recorded() {
    check(
        &with_opening(
            r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}
               <- { "jsonrpc":"2.0", "method":"notifications/progress", "params":{"progressToken":1,"progress":1e0} }
               <- {"method":"notifications/progress","params":{"progress":2,"progressToken":1},"jsonrpc":"2.0"}
               <- {"jsonrpc":"2.0","id":1,"result":{"content":[],"x":1.50,"id":1}}"#,
        ),
        &with_opened(
            r#"-> {"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"a"}}
               <- { "jsonrpc":"2.0", "method":"notifications/progress", "params":{"progressToken":"t","progress":1e0} }
               <- {"method":"notifications/progress","params":{"progress":2,"progressToken":"t"},"jsonrpc":"2.0"}
               <- {"jsonrpc":"2.0","id":"x","result":{"content":[],"x":1.50,"id":1}}"#,
        ),
    );
}

#[test]
fn progress_that_was_not_asked_for_is_left_out_and_counted() {
    let mut player = check(
        &with_opening(
            r#"-> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}
               <- {"method":"notifications/progress","params":{"progressToken":1}}
               <- {"id":1,"result":{}}"#,
        ),
        &with_opened(
            r#"-> {"id":7.0,"method":"tools/call","params":{"name":"a"}}
               <- {"id":7.0,"result":{}}"#,
        ),
    );
    assert_eq!(player.report(true).n_progress_left_out, 1);
    assert!(player.report(true).is_clean());
}

#[test]
fn a_request_of_the_servers_waits_for_its_answer_and_others_do_not() {
    let recording = with_opening(
        r#"-> {"id":1,"method":"tools/call","params":{"name":"ask"}}
           <- {"id":5,"method":"sampling/createMessage","params":{"messages":[]}}
           -> {"id":5,"result":{"content":{"type":"text","text":"yes"}}}
           <- {"method":"notifications/message","params":{"data":"said yes"}}
           <- {"id":1,"result":{"content":[]}}
           -> {"id":2,"method":"tools/call","params":{"name":"b"}}
           <- {"id":2,"result":{}}"#,
    );
    check(
        &recording,
        &with_opened(
            r#"-> {"id":10,"method":"tools/call","params":{"name":"ask"}}
               <- {"id":5,"method":"sampling/createMessage","params":{"messages":[]}}
               -> {"id":11,"method":"tools/call","params":{"name":"b"}}
               <- {"id":11,"result":{}}
               -> {"id":5,"result":{"content":{"type":"text","text":"yes"}}}
               <- {"method":"notifications/message","params":{"data":"said yes"}}
               <- {"id":10,"result":{"content":[]}}"#,
        ),
    );
    // Another answer is noted, or a miss.
    let other = r#"-> {"id":10,"method":"tools/call","params":{"name":"ask"}}
               <- {"id":5,"method":"sampling/createMessage","params":{"messages":[]}}
               -> {"id":5,"error":{"code":-1,"message":"no"}}
               ** the client answered sampling/createMessage otherwise than recorded"#;
    check(
        &recording,
        &with_opened(&format!(
            r#"{other}
               <- {{"method":"notifications/message","params":{{"data":"said yes"}}}}
               <- {{"id":10,"result":{{"content":[]}}}}"#
        )),
    );
    check_with(
        &recording,
        Options { strict_replies: true, ..Options::default() },
        &with_opened(&format!("{other}\n!! other reply\n<- ~ \"id\":10,\"error\":{{\"code\":-31001")),
    );
    // Nobody answers it at all.
    check(
        &recording,
        &with_opened(
            r#"-> {"id":10,"method":"tools/call","params":{"name":"ask"}}
               <- {"id":5,"method":"sampling/createMessage","params":{"messages":[]}}
               --
               !! other reply
               <- ~ "id":10,"error":{"code":-31001"#,
        ),
    );
}

#[test]
fn what_the_client_has_not_declared_is_not_asked() {
    let recording = with_opening(
        r#"-> {"id":1,"method":"tools/call","params":{"name":"ask"}}
           <- {"id":5,"method":"sampling/createMessage","params":{}}
           -> {"id":5,"result":{}}
           <- {"id":1,"result":{"content":[]}}"#,
    );
    let opened = r#"-> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}
           ** declared `sampling`
           <- ~ "id":0
           -> {"id":1,"method":"tools/call","params":{"name":"ask"}}"#;
    check(
        &recording,
        &format!("{opened}\n** left out sampling/createMessage\n<- {{\"id\":1,\"result\":{{\"content\":[]}}}}"),
    );
    check_with(
        &recording,
        Options { missing_capability: MissingCapability::Error, ..Options::default() },
        &format!("{opened}\n!! missing capability\n<- ~ -31001"),
    );
}

#[test]
fn what_the_server_says_on_its_own_comes_when_the_client_is_as_far() {
    let recording = with_opening(
        r#"<- {"id":9,"method":"roots/list"}
           -> {"id":9,"result":{"roots":[]}}
           <- {"method":"notifications/message","params":{"data":"thanks"}}
           -> {"id":1,"method":"tools/call","params":{"name":"a"}}
           <- {"method":"notifications/tools/list_changed"}
           <- {"id":1,"result":{}}
           <- {"method":"notifications/resources/updated"}
           <- a banner
           -> {"id":2,"method":"tools/call","params":{"name":"b"}}
           <- {"id":2,"result":{}}"#,
    );
    check(
        &recording,
        r#"-> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}}}}
           <- ~ "id":0
           -> {"method":"notifications/initialized"}
           <- {"id":9,"method":"roots/list"}
           -> {"id":9,"result":{"roots":[]}}
           <- {"method":"notifications/message","params":{"data":"thanks"}}
           -> {"id":1,"method":"tools/call","params":{"name":"a"}}
           <- {"method":"notifications/tools/list_changed"}
           <- {"id":1,"result":{}}
           <- {"method":"notifications/resources/updated"}
           <- a banner"#,
    );
    // A client that skips steps gets all of it.
    check(
        &recording,
        r#"-> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}}}}
           <- ~ "id":0
           -> {"id":1,"method":"tools/call","params":{"name":"b"}}
           <- {"id":9,"method":"roots/list"}
           <- {"method":"notifications/message","params":{"data":"thanks"}}
           <- {"method":"notifications/tools/list_changed"}
           <- {"method":"notifications/resources/updated"}
           <- a banner
           <- {"id":1,"result":{}}
           -> {"id":2,"method":"tools/call","params":{"name":"a"}}
           <- {"id":2,"result":{}}"#,
    );
}

#[test]
fn a_call_that_was_cancelled_waits_for_that_and_no_longer() {
    let recording = with_opening(
        r#"-> {"id":1,"method":"tools/call","params":{"name":"slow"}}
           <- {"method":"notifications/message","params":{"data":"begun"}}
           -> {"method":"notifications/cancelled","params":{"requestId":1}}
           <- {"method":"notifications/message","params":{"data":"gone"}}
           -> {"id":2,"method":"tools/call","params":{"name":"b"}}
           <- {"id":2,"result":{}}"#,
    );
    check(
        &recording,
        &with_opened(
            r#"-> {"id":"s","method":"tools/call","params":{"name":"slow"}}
               <- {"method":"notifications/message","params":{"data":"begun"}}
               -> {"method":"notifications/cancelled","params":{"requestId":"s"}}
               <- {"method":"notifications/message","params":{"data":"gone"}}
               -> {"id":4,"method":"tools/call","params":{"name":"b"}}
               <- {"id":4,"result":{}}"#,
        ),
    );
    check(
        &recording,
        &with_opened(
            r#"-> {"id":"s","method":"tools/call","params":{"name":"slow"}}
               <- {"method":"notifications/message","params":{"data":"begun"}}
               -> {"id":4,"method":"tools/call","params":{"name":"b"}}
               <- {"method":"notifications/message","params":{"data":"gone"}}
               <- {"id":4,"result":{}}
               !! unanswered in the recording: the client cancelled it there
               <- ~ {"jsonrpc":"2.0","id":"s","error":{"code":-31001"#,
        ),
    );
    // A call that this client cancels, and the recorded one did not.
    check(
        &with_opening(
            r#"-> {"id":1,"method":"tools/call","params":{"name":"ask"}}
               <- {"id":5,"method":"sampling/createMessage"}
               -> {"id":5,"result":{}}
               <- {"id":1,"result":{}}"#,
        ),
        &with_opened(
            r#"-> {"id":"s","method":"tools/call","params":{"name":"ask"}}
               <- {"id":5,"method":"sampling/createMessage"}
               -> {"method":"notifications/cancelled","params":{"requestId":"s"}}
               -> {"id":5,"result":{}}
               ** which it was not asked"#,
        ),
    );
}

#[test]
fn what_was_never_answered_is_an_error_at_once_or_hangs() {
    let recording = with_opening(r#"-> {"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let call = r#"-> {"id":1,"method":"tools/call","params":{"name":"a"}}"#;
    check(&recording, &with_opened(&format!("{call}\n!! unanswered in the recording\n<- ~ -31001")));
    let hang = Options { unanswered: Unanswered::Hang, ..Options::default() };
    check_with(&recording, hang, &with_opened(call));
}

#[test]
fn batches_are_answered_as_one() {
    check(
        r#"-> [{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]
           <- [{"id":2,"result":{"b":1}},{"id":1,"result":{"a":1}}]"#,
        r#"-> [{"id":"y","method":"b"},{"id":"x","method":"a"},{"id":"z","method":"ping"}]
           <- [{"id":"y","result":{"b":1}},{"id":"x","result":{"a":1}},{"jsonrpc":"2.0","id":"z","result":{}}]
           -> [{"method":"n"}]
           -> []
           -> {"id":3,"method":"a"}
           !! used up
           <- ~ -31001"#,
    );
}

#[test]
fn placeholders_in_answers_are_fixed_and_in_requests_stand_for_something() {
    check(
        &with_opening(
            r#"-> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"job":"«uuid»","key":"«secret 1»"}}}
               <- {"id":1,"result":{"at":"«time»","job":"«uuid»"}}
               -> {"id":2,"method":"tools/call","params":{"name":"b","arguments":{"key":"«secret 1»"}}}
               <- {"id":2,"result":{"b":1}}"#,
        ),
        &with_opened(
            r#"-> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"key":"k","job":"no uuid"}}}
               !! arg.job
               <- ~ -31001
               -> {"id":2,"method":"tools/call","params":{"name":"a","arguments":{"key":"k","job":"6f9619ff-8b86-d011-b42d-00cf4fc964ff"}}}
               <- {"id":2,"result":{"at":"1970-01-01T00:00:00Z","job":"00000000-0000-4000-8000-000000000005"}}
               -> {"id":3,"method":"tools/call","params":{"name":"b","arguments":{"key":"other"}}}
               !! a marker
               <- ~ -31001
               -> {"id":4,"method":"tools/call","params":{"name":"b","arguments":{"key":"k"}}}
               <- {"id":4,"result":{"b":1}}"#,
        ),
    );
}

#[test]
fn what_was_asked_is_told_and_who_asks_nothing_has_left_out_all() {
    let recording = with_opening(
        r#"-> {"id":1,"method":"tools/call","params":{"name":"a"}}
           <- {"id":1,"result":{}}"#,
    );
    let silent = player(&recording, Options::default()).report(true).clone();
    let unused: Vec<&str> = silent.unused.iter().map(|unused| &*unused.what).collect();
    assert_eq!((silent.is_clean(), unused), (false, vec!["initialize", "tools/call a"]));

    let call = r#"-> {"id":1,"method":"tools/call","params":{"name":"a"}}
                  <- {"id":1,"result":{}}"#;
    let report = check(&recording, &with_opened(call)).report(true).clone();
    assert_eq!((report.is_clean(), report.asked), (true, vec!["initialize".into(), "tools/call a".into()]));
}
