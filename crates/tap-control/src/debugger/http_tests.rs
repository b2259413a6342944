//! The debugger over HTTP: many clients, and what goes out by exchange.

use tap_filter::Context;

use super::tests::http;
use super::*;
use crate::{Action, Release, RuleKind, RuleOptions, read_fault};

struct Script(Debugger, u64);

impl Script {
    fn new(faults: &[&str]) -> Self {
        let mut debugger = Debugger::new(Session::default(), Options::default());
        for fault in faults {
            let rule = read_fault(fault, &Context::default()).unwrap();
            let kind = if rule.action == Action::Hold { RuleKind::Breakpoint } else { RuleKind::Fault };
            let options = RuleOptions { kind, stays: true, whole_stream: false, by: "t".into(), temporary: false };
            debugger.set_rule(rule, options, 0);
        }
        Self(debugger, 0)
    }

    /// A body in an exchange of a session, or an event at a place.
    fn say(&mut self, (exchange, session, event): (u64, u64, Option<(u64, bool)>), message: &str) -> String {
        let (arrow, message) = message.split_at(2);
        let direction = if arrow == "> " { Direction::ToServer } else { Direction::ToClient };
        let (is_stream, in_order) = (event.is_some(), event.is_some_and(|(_, in_order)| in_order));
        let channel = Channel { exchange, session, is_stream, in_order };
        let offset = event.map_or(0, |(offset, _)| offset);
        self.1 += 1;
        self.0.message_in(channel, direction, offset, message.to_owned().into(), self.1);
        self.out()
    }

    fn out(&mut self) -> String {
        let mut out = Vec::new();
        while let Some(order) = self.0.poll_order() {
            out.push(match order {
                Order::Http(exchange, order) => http(exchange, order),
                other => format!("{other:?}"),
            });
        }
        out.join("; ")
    }
}

const CALL: &str = r#"> {"id":1,"method":"tools/call","params":{"name":"a"}}"#;
const ANSWER: &str = r#"< {"id":1,"result":{}}"#;
const NOTE: &str = r#"< {"method":"notifications/message","params":{}}"#;
const BODY: Option<(u64, bool)> = None;

fn sent(exchange: u64, of: u64, message: &str) -> String {
    let (arrow, text) = message.split_at(2);
    let arrow = arrow.trim();
    format!("{exchange}: {of}{arrow} {text}; {exchange}: {of}{arrow} over")
}

#[test]
fn clients_with_the_same_ids_are_told_apart() {
    let mut script = Script::new(&["is:response tool:a -> hold"]);
    for (exchange, session) in [(1, 7), (2, 8)] {
        assert_eq!(script.say((exchange, session, BODY), CALL), sent(exchange, 0, CALL));
    }
    assert_eq!(script.say((2, 8, BODY), ANSWER), "2: [held breakpoint 1]");
    // An answer in another exchange, as over HTTP+SSE, is that to the request of its session.
    assert_eq!(script.say((3, 7, Some((40, false))), ANSWER), "3: [held breakpoint 1]");
    assert_eq!(script.say((4, 7, BODY), ANSWER), sent(4, 0, ANSWER), "it answers nothing any more");
    let held: Vec<_> = script.0.held().iter().map(|info| (info.exchange, info.what.clone())).collect();
    assert_eq!(held, [(Some(2), "answer to tools/call a".into()), (Some(3), "answer to tools/call a".into())]);
}

#[test]
fn only_events_with_ids_wait_for_each_other() {
    for (in_order, expected) in [(false, sent(1, 50, ANSWER)), (true, String::new())] {
        let mut script = Script::new(&["is:notification -> hold"]);
        script.say((1, 0, BODY), CALL);
        assert_eq!(script.say((1, 0, Some((0, in_order))), NOTE), "1: [held breakpoint 1]");
        assert_eq!(script.say((1, 0, Some((50, in_order))), ANSWER), expected);
        assert_eq!(script.say((2, 0, BODY), CALL), sent(2, 0, CALL), "other exchanges go on");
    }
}

#[test]
fn a_client_that_goes_away_takes_what_is_held_with_it_and_a_cancellation_lets_it_go() {
    let mut script = Script::new(&["tool:a -> hold"]);
    script.say((1, 7, BODY), CALL);
    script.0.leave(1, false, 5);
    assert_eq!(script.out(), "1: [dropped the client went away]; 1: 0> gone");
    assert!(script.0.held().is_empty());
    script.say((2, 7, BODY), CALL);
    let cancel = r#"> {"method":"notifications/cancelled","params":{"requestId":1}}"#;
    let gone_on = format!("2: [released its cancellation]; {}; {}", sent(2, 0, CALL), sent(3, 0, cancel));
    assert_eq!(script.say((3, 7, BODY), cancel), gone_on);
}

#[test]
fn faults_of_http_do_nothing_where_they_mean_nothing() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the debugger answers with status 503"}}"#;
    for (fault, event, message, expected) in [
        ("is:c2s -> status:503", BODY, CALL, format!("1: [answered F]; 1: answer Some(503) {error}; 1: 0> gone")),
        ("is:s2c -> status:503", BODY, ANSWER, format!("1: [edited F]; 1: answer Some(503) {error}; 1: 0< over")),
        ("is:s2c -> status:503", Some((9, false)), ANSWER, sent(1, 9, ANSWER)),
        ("is:s2c -> cut", Some((9, false)), NOTE, "1: [closed F]; 1: 9< gone; 1: cut< broken false".into()),
        ("is:s2c -> cut", BODY, ANSWER, sent(1, 0, ANSWER)),
        ("is:s2c -> close", BODY, ANSWER, "1: [closed F]; 1: 0< gone; 1: cut< broken true".into()),
        ("is:s2c -> duplicate", BODY, ANSWER, sent(1, 0, ANSWER)),
        ("is:s2c -> garbage:x", BODY, ANSWER, sent(1, 0, ANSWER)),
        ("is:s2c -> crash", BODY, ANSWER, sent(1, 0, ANSWER)),
        // Only the client could answer what the server asks.
        ("is:s2c -> error:1:x", Some((9, false)), &CALL.replace('>', "<"), sent(1, 9, &CALL.replace('>', "<"))),
    ] {
        let mut script = Script::new(&[fault]);
        let expected = expected.replace(" F]", &format!(" fault {fault}]"));
        assert_eq!(script.say((1, 0, event), message), expected, "{fault} {event:?}");
    }
    let mut script = Script::new(&["is:s2c -> hold"]);
    script.say((1, 0, Some((9, false))), &CALL.replace('>', "<"));
    let refused = script.0.release(1, Release::Error { code: 1, message: "x".into() }, "me", 9);
    assert_eq!(refused, Err(crate::CommandError::NotOverHttp));
    assert_eq!(script.0.held().len(), 1, "it stays held");
}
