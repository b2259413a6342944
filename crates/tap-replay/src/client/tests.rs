//! Scripts as tables: what was recorded, what the live server does, what is said to it, and the verdict.

use std::fmt::Write;

use super::*;
use crate::script::tests::units;
use crate::verdict::{Outcome, QuestionOutcome, Verdict};

mod any;
mod captures;
mod verdicts;

pub(super) fn script(recording: &str) -> Script {
    let mut script = Script::new();
    units(recording).iter().for_each(|unit| script.push(unit));
    script
}

/// Plays a dialogue: `->` is what the client must say next, `<-` what the server says, `**` a note that holds the text, `@` the
/// time in milliseconds, `!!` the end of the server. What the client says must be all there. At the end it must be done.
#[track_caller]
pub(super) fn played(recording: &str, options: ClientOptions, dialogue: &str) -> Client {
    let mut client = Client::new(script(recording), options);
    for line in dialogue.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (arrow, text) = line.split_at(2);
        let text = text.trim();
        match arrow {
            "->" | "**" => {
                let found = match client.poll() {
                    Some(ClientOutput::Send(bytes)) => format!("-> {}", String::from_utf8(bytes).expect("text")),
                    Some(ClientOutput::Note(note)) => format!("** {note}"),
                    None => "nothing".into(),
                };
                let is_same =
                    if arrow == "->" { found == *line } else { found.starts_with(arrow) && found.contains(text) };
                assert!(is_same, "   found {found}\nexpected {line}");
            }
            _ => {
                assert_eq!(client.poll(), None, "before {line}");
                match arrow {
                    "<-" => client.receive(text.as_bytes()),
                    "!!" => client.server_ended(),
                    _ => client.time(line[1..].trim().parse::<u64>().expect("a time") * 1_000_000),
                }
            }
        }
    }
    assert_eq!(client.poll(), None, "at the end");
    assert!(client.is_done(), "it waits for something still");
    client
}

/// A verdict in a few lines.
pub(super) fn told(verdict: &Verdict) -> String {
    let mut out = String::new();
    for check in &verdict.checks {
        let name = check.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let what = match check.outcome {
            Outcome::Same => "same".into(),
            Outcome::Differs => {
                let paths = check.comparison.differences.iter();
                let paths = paths.map(|this| this.path.dotted(tap_compare::Side::Response)).collect::<Vec<_>>();
                format!("differs: {}", paths.join(" "))
            }
            Outcome::NoAnswer(why) => why.says().into(),
            Outcome::NotSent(why) => format!("not sent: {}", why.says()),
            Outcome::NotCompared => "not compared".into(),
        };
        let _ = writeln!(out, "{}{name}: {what}{}", check.method, if check.is_too_slow { ", slow" } else { "" });
    }
    for question in &verdict.questions {
        let what = match question.outcome {
            QuestionOutcome::Same => "same",
            QuestionOutcome::Differs => "differs",
            QuestionOutcome::NotAsked => "not asked",
            QuestionOutcome::New => "new",
        };
        let _ = writeln!(out, "asked {}: {what}", question.method);
    }
    for list in &verdict.lists {
        for item in &list.drift.items {
            let _ = writeln!(out, "{} {}: {:?} {:?}", list.kind.one(), item.name, item.state, item.class);
        }
    }
    for value in &verdict.correlated {
        let _ = writeln!(out, "{} for {}", value.live, value.recorded);
    }
    out
}

#[track_caller]
pub(super) fn check_with(recording: &str, options: ClientOptions, dialogue: &str, expected: &str) {
    let verdict = played(recording, options, dialogue).verdict();
    let lines =
        |text: &str| text.lines().map(|line| line.trim().to_owned()).filter(|l| !l.is_empty()).collect::<Vec<_>>();
    assert_eq!(lines(&told(&verdict)), lines(expected));
    let fails =
        ["differs", "no answer", "without an answer", "not sent: what", "not sent: the server", "not sent: the tool"];
    let fails = fails.iter().any(|word| expected.contains(word))
        || [": Added", ": Removed", ": Changed", "asked roots: ", ": not asked", ": new", ", slow"]
            .iter()
            .any(|word| expected.contains(word));
    assert_eq!(verdict.is_same(), !fails, "{expected}");
}

#[track_caller]
pub(super) fn check(recording: &str, dialogue: &str, expected: &str) {
    check_with(recording, ClientOptions::default(), dialogue, expected);
}

#[test]
fn what_was_in_flight_together_is_again_and_ids_are_counted() {
    check(
        r#"
        -> {"id":"x","method":"initialize","params":{}}
        <- {"id":"x","result":{}}
        -> {"method":"notifications/initialized"}
        -> {"id":70,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":70}}}
        -> {"id":71,"method":"tools/call","params":{"name":"b"}}
        <- {"id":71,"result":{"b":1}}
        <- {"method":"notifications/progress","params":{"progressToken":70}}
        <- {"id":70,"result":{"a":1}}
        -> {"id":72,"method":"ping"}
        <- {"id":72,"result":{}}
        "#,
        r#"
        -> {"id":"1","method":"initialize","params":{}}
        <- {"id":"1","result":{}}
        -> {"method":"notifications/initialized"}
        -> {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":70}}}
        -> {"id":3,"method":"tools/call","params":{"name":"b"}}
        <- {"id":2,"result":{"a":1}}
        <- {"id":"3","result":{"b":1}}
        -> {"id":4,"method":"ping"}
        <- {"id":4.0,"result":{}}
        "#,
        "initialize: same
        tools/call a: same
        tools/call b: same
        ping: same",
    );
}

#[test]
fn an_answer_that_does_not_come_holds_nothing_up_for_ever() {
    check(
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"tools/call","params":{"name":"b"}}
        <- {"id":2,"result":{}}
        -> {"id":3,"method":"tools/call","params":{"name":"c"}}
        <- {"id":3,"result":{}}
        "#,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        @29999
        @30000
        -> {"id":2,"method":"tools/call","params":{"name":"b"}}
        <- {"id":1,"result":{}}
        <- {"id":2,"result":{"more":1}}
        -> {"id":3,"method":"tools/call","params":{"name":"c"}}
        !!
        "#,
        "tools/call a: no answer in time
        tools/call b: differs: result.more
        tools/call c: the server ended without an answer",
    );
}

#[test]
fn what_the_server_asks_gets_the_recorded_replies() {
    let recording = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":10,"method":"sampling/createMessage","params":{"say":"one"}}
        -> {"id":10,"result":{"text":"first"}}
        <- {"id":11,"method":"sampling/createMessage","params":{"say":"two"}}
        -> {"id":11,"result":{"text":"second"}}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"ping"}
        <- {"id":2,"result":{}}
    "#;
    // In another order, with other ids.
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":"s","method":"sampling/createMessage","params":{"say":"two"}}
        -> {"id":"s","result":{"text":"second"}}
        <- {"id":0,"method":"sampling/createMessage","params":{"say":"one"}}
        -> {"id":0,"result":{"text":"first"}}
        <- {"id":0,"method":"ping"}
        -> {"jsonrpc":"2.0","id":0,"result":{}}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"ping"}
        <- {"id":2,"result":{}}
        "#,
        "tools/call a: same
        ping: same
        asked sampling/createMessage: same
        asked sampling/createMessage: same",
    );
    // Something else, something twice, and what was never asked for.
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"method":"sampling/createMessage","params":{"say":"tow"}}
        ** nearest
        -> {"id":1,"result":{"text":"first"}}
        <- {"id":2,"method":"elicitation/create","params":{}}
        ** no reply was recorded
        -> {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"mcp-tap verify: no reply to this was recorded"}}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"ping"}
        <- {"id":2,"result":{}}
        "#,
        "tools/call a: same
        ping: same
        asked sampling/createMessage: differs
        asked sampling/createMessage: not asked
        asked elicitation/create: new",
    );
}

#[test]
fn what_the_client_said_after_a_reply_waits_for_the_question() {
    let recording = r#"
        -> {"method":"notifications/initialized"}
        <- {"id":1,"method":"roots/list"}
        -> {"id":1,"result":{"roots":[]}}
        -> {"id":5,"method":"tools/call","params":{"name":"roots"}}
        <- {"id":5,"result":{}}
    "#;
    check(
        recording,
        r#"
        -> {"method":"notifications/initialized"}
        <- {"id":9,"method":"roots/list"}
        -> {"id":9,"result":{"roots":[]}}
        -> {"id":1,"method":"tools/call","params":{"name":"roots"}}
        <- {"id":1,"result":{}}
        "#,
        "tools/call roots: same",
    );
    check(
        recording,
        r#"
        -> {"method":"notifications/initialized"}
        @5000
        ** did not ask for roots/list in time
        -> {"id":1,"method":"tools/call","params":{"name":"roots"}}
        <- {"id":1,"result":{}}
        "#,
        "tools/call roots: same",
    );
}

#[test]
fn a_cancelled_call_is_cancelled_again_and_not_judged() {
    check(
        r#"
        -> {"id":7,"method":"tools/call","params":{"name":"slow"}}
        -> {"method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}
        -> {"id":8,"method":"ping"}
        <- {"id":8,"result":{}}
        "#,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"slow"}}
        -> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}
        -> {"id":2,"method":"ping"}
        <- {"id":1,"result":{}}
        <- {"id":2,"result":{}}
        "#,
        "tools/call slow: not compared
        ping: same",
    );
}

#[test]
fn a_question_belongs_to_the_call_that_is_going_on() {
    let recording = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":0,"method":"sampling/createMessage","params":{}}
        -> {"method":"notifications/cancelled","params":{"requestId":1}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"method":"sampling/createMessage","params":{}}
        -> {"id":1,"result":{"text":"x"}}
        <- {"id":2,"result":{}}
    "#;
    // It is cancelled once it has asked, as then.
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":0,"method":"sampling/createMessage","params":{}}
        -> {"method":"notifications/cancelled","params":{"requestId":1}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"method":"sampling/createMessage","params":{}}
        -> {"id":1,"result":{"text":"x"}}
        <- {"id":2,"result":{}}
        "#,
        "tools/call a: not compared
        tools/call a: same
        asked sampling/createMessage: same
        asked sampling/createMessage: same",
    );
    // Or, when it does not ask, after a while; the next question is not taken for that one.
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        @5000
        ** did not ask
        -> {"method":"notifications/cancelled","params":{"requestId":1}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"method":"sampling/createMessage","params":{}}
        -> {"id":1,"result":{"text":"x"}}
        <- {"id":2,"result":{}}
        "#,
        "tools/call a: not compared
        tools/call a: same
        asked sampling/createMessage: same",
    );
}

#[test]
fn what_a_server_makes_up_is_handed_back_as_the_live_one_made_it_up() {
    let recording = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"start","arguments":{"kind":"a long kind"}}}
        <- {"id":1,"result":{"content":[{"type":"text","text":"{\"job\":\"job-11111\",\"kind\":\"a long kind\"}"}],"short":"j-1"}}
        -> {"id":2,"method":"tools/call","params":{"name":"look","arguments":{"jobs":["job-11111"],"kind":"a long kind","short":"j-1"}}}
        <- {"id":2,"result":{"text":"job-11111 runs"}}
    "#;
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"start","arguments":{"kind":"a long kind"}}}
        <- {"id":1,"result":{"content":[{"type":"text","text":"{\"job\":\"job-22222\",\"kind\":\"a long kind\"}"}],"short":"j-1"}}
        -> {"id":2,"method":"tools/call","params":{"name":"look","arguments":{"jobs":["job-22222"],"kind":"a long kind","short":"j-1"}}}
        <- {"id":2,"result":{"text":"job-22222 runs"}}
        "#,
        "tools/call start: same
        tools/call look: same
        job-22222 for job-11111",
    );
    check_with(
        recording,
        ClientOptions { correlate: false, ..ClientOptions::default() },
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"start","arguments":{"kind":"a long kind"}}}
        <- {"id":1,"result":{"content":[{"type":"text","text":"{\"job\":\"job-22222\",\"kind\":\"a long kind\"}"}],"short":"j-1"}}
        -> {"id":2,"method":"tools/call","params":{"name":"look","arguments":{"jobs":["job-11111"],"kind":"a long kind","short":"j-1"}}}
        <- {"id":2,"result":{"text":"job-11111 runs"}}
        "#,
        "tools/call start: differs: result.content[0].text.job
        tools/call look: same",
    );
}

#[test]
fn names_from_lists_are_not_made_up() {
    check(
        r#"
        -> {"id":1,"method":"resources/list"}
        <- {"id":1,"result":{"resources":[{"uri":"file:///aaaa"},{"uri":"file:///bbbb"}]}}
        -> {"id":2,"method":"resources/read","params":{"uri":"file:///bbbb"}}
        <- {"id":2,"result":{}}
        "#,
        r#"
        -> {"id":1,"method":"resources/list"}
        <- {"id":1,"result":{"resources":[{"uri":"file:///bbbb"},{"uri":"file:///aaaa"}]}}
        -> {"id":2,"method":"resources/read","params":{"uri":"file:///bbbb"}}
        <- {"id":2,"result":{}}
        "#,
        "resources/list: same
        resources/read file:///bbbb: same",
    );
}

#[test]
fn rounds_go_on_from_the_live_state() {
    let recording = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"q":{"method":"elicitation/create"}}}}
        -> {"id":2,"method":"tools/call","params":{"name":"a","inputResponses":{"q":{"action":"accept"}},"requestState":"s1"}}
        <- {"id":2,"result":{"resultType":"complete"}}
    "#;
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"result":{"resultType":"input_required","requestState":"live","inputRequests":{"q":{"method":"elicitation/create"}}}}
        -> {"id":2,"method":"tools/call","params":{"name":"a","inputResponses":{"q":{"action":"accept"}},"requestState":"live"}}
        <- {"id":2,"result":{"resultType":"complete"}}
        "#,
        "tools/call a: same
        tools/call a: same",
    );
    check(
        recording,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a"}}
        <- {"id":1,"result":{"resultType":"complete"}}
        "#,
        "tools/call a: differs: result.resultType result.requestState result.inputRequests
        tools/call a: not sent: what it goes on from did not come",
    );
}

#[test]
fn tasks_are_asked_about_by_their_live_ids() {
    check(
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","task":{}}}
        <- {"id":1,"result":{"task":{"taskId":"t","status":"working"}}}
        -> {"id":2,"method":"tasks/get","params":{"taskId":"t"}}
        <- {"id":2,"result":{"taskId":"t","status":"working"}}
        -> {"id":3,"method":"tasks/result","params":{"taskId":"t"}}
        <- {"id":3,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}
        "#,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","task":{}}}
        <- {"id":1,"result":{"task":{"taskId":"T9","status":"working"}}}
        -> {"id":2,"method":"tasks/get","params":{"taskId":"T9"}}
        <- {"id":2,"result":{"taskId":"T9","status":"completed"}}
        -> {"id":3,"method":"tasks/result","params":{"taskId":"T9"}}
        <- {"id":3,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T9"}}}}
        "#,
        "tools/call a: same
        tasks/get: same
        tasks/result: same",
    );
}

#[test]
fn a_subscription_stays_open_and_is_not_waited_for() {
    check(
        r#"
        -> {"id":1,"method":"subscriptions/listen","params":{"notifications":{}}}
        <- {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":2,"result":{}}
        -> {"method":"notifications/cancelled","params":{"requestId":1}}
        <- {"id":1,"result":{}}
        "#,
        r#"
        -> {"id":1,"method":"subscriptions/listen","params":{"notifications":{}}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":2,"result":{}}
        -> {"method":"notifications/cancelled","params":{"requestId":1}}
        "#,
        "subscriptions/listen: not compared
        tools/call a: same",
    );
}

#[test]
fn a_batch_goes_out_as_one() {
    check(
        r#"
        -> [{"id":5,"method":"ping"},{"method":"notifications/x"},{"id":6,"method":"tools/call","params":{"name":"a"}}]
        <- [{"id":5,"result":{}},{"id":6,"result":{}}]
        -> {"id":7,"method":"ping"}
        <- {"id":7,"result":{}}
        "#,
        r#"
        -> [{"id":1,"method":"ping"},{"method":"notifications/x"},{"id":2,"method":"tools/call","params":{"name":"a"}}]
        <- {"id":1,"result":{}}
        <- [{"id":2,"result":{}}]
        -> {"id":3,"method":"ping"}
        <- {"id":3,"result":{}}
        "#,
        "ping: same
        tools/call a: same
        ping: same",
    );
}
