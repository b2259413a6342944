//! The debugger, by what goes in and what comes out.

use std::fmt::Write;

use bytes::Bytes;
use proptest::prelude::*;
use tap_filter::Context;
use tap_frame::{Deed, Direction};

use super::*;
use crate::{Action, HttpOrder, Release, Rule, RuleKind, RuleOptions, When, read_fault};

const MS: u64 = 1_000_000;

/// A debugger with these rules, and what came out of it since it was asked last.
struct Script {
    debugger: Debugger,
    at_ns: u64,
    offsets: [u64; 2],
}

impl Script {
    fn new(faults: &[&str]) -> Self {
        Self::with(faults, Options::default())
    }

    fn with(faults: &[&str], options: Options) -> Self {
        let mut script = Self { debugger: Debugger::new(Session::default(), options), at_ns: 0, offsets: [0; 2] };
        for fault in faults {
            let rule = read_fault(fault, &Context::default()).unwrap();
            let kind = if rule.action == Action::Hold { RuleKind::Breakpoint } else { RuleKind::Fault };
            script.set(rule, kind);
        }
        script
    }

    fn set(&mut self, rule: Rule, kind: RuleKind) -> u32 {
        let options = RuleOptions { kind, stays: true, whole_stream: false, by: "test".into(), temporary: false };
        self.debugger.set_rule(rule, options, self.at_ns)
    }

    /// Feeds `> message` to the server or `< message` to the client, and gives what came out: the same notation, and acts.
    fn say(&mut self, line: &str) -> String {
        let (arrow, message) = line.split_at(2);
        let direction = if arrow == "> " { Direction::ToServer } else { Direction::ToClient };
        let bytes = format!("{message}\n");
        let offset = self.offsets[direction as usize];
        self.debugger.take(direction, offset, bytes.as_bytes(), self.at_ns);
        self.offsets[direction as usize] += bytes.len() as u64;
        self.out()
    }

    fn wait(&mut self, ms: u64) -> String {
        self.at_ns += ms * MS;
        while self.debugger.poll_timeout().is_some_and(|due_ns| due_ns <= self.at_ns) {
            self.debugger.handle_timeout(self.at_ns);
        }
        self.out()
    }

    fn out(&mut self) -> String {
        let mut out = Vec::new();
        while let Some(order) = self.debugger.poll_order() {
            out.push(match order {
                Order::Send { direction, bytes } => {
                    let arrow = if direction == Direction::ToServer { ">" } else { "<" };
                    format!("{arrow} {}", String::from_utf8_lossy(&bytes).trim_end())
                }
                Order::Record(act) => format!("[{} {}]", act.deed.name(), act.by),
                Order::Close(direction) => format!("close {}", direction.arrow()),
                Order::Crash => "crash".into(),
                Order::Tell(text) => format!("tell {text}"),
                Order::Http(exchange, order) => http(exchange, order),
            });
        }
        out.join("; ")
    }

    fn release(&mut self, number: u64, how: Release) -> String {
        match self.debugger.release(number, how, "me", self.at_ns) {
            Ok(()) => self.out(),
            Err(error) => error.to_string(),
        }
    }
}

pub(super) fn http(exchange: u64, order: HttpOrder) -> String {
    let arrow = |direction| if direction == Direction::ToServer { ">" } else { "<" };
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let what = match order {
        HttpOrder::Record(act) => format!("[{} {}]", act.deed.name(), act.by),
        HttpOrder::Send { direction, of, bytes, bytes_per_second } => {
            let of = of.map_or("none".into(), |of| of.to_string());
            let slowly = bytes_per_second.map(|rate| format!(" at {rate}/s")).unwrap_or_default();
            format!("{of}{slowly}{} {}", arrow(direction), text(&bytes))
        }
        HttpOrder::Answer { bytes, status } => format!("answer {status:?} {}", text(&bytes)),
        HttpOrder::Over { direction, of, is_gone } => {
            format!("{of}{} {}", arrow(direction), if is_gone { "gone" } else { "over" })
        }
        HttpOrder::Cut { direction, is_broken } => format!("cut{} broken {is_broken}", arrow(direction)),
    };
    format!("{exchange}: {what}")
}

const CALL: &str = r#"> {"id":1,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":"t"}}}"#;
const OTHER: &str = r#"> {"id":2,"method":"ping"}"#;
const CANCEL: &str = r#"> {"method":"notifications/cancelled","params":{"requestId":1}}"#;
const ANSWER: &str = r#"< {"id":1,"result":{}}"#;
const PROGRESS: &str = r#"< {"method":"notifications/progress","params":{"progressToken":"t"}}"#;

#[test]
fn a_held_message_holds_no_other_and_goes_on_after_its_time() {
    let mut script = Script::new(&["tool:add -> hold"]);
    assert_eq!(script.say(CALL), "[held breakpoint 1]");
    assert_eq!(script.say(OTHER), OTHER);
    assert_eq!(script.wait(49_999), "");
    assert_eq!(script.wait(1), format!("[released the time limit]; {CALL}"));
    assert_eq!(script.say(ANSWER), ANSWER, "a rule looks at a call once");
    assert_eq!(script.debugger.poll_timeout(), None);
}

#[test]
fn what_belongs_to_the_same_call_waits_behind_it_in_its_direction() {
    let mut script = Script::new(&["method:notifications/progress -> hold"]);
    assert_eq!(script.say(CALL), CALL);
    assert_eq!(script.say(PROGRESS), "[held breakpoint 1]");
    assert_eq!(script.say(ANSWER), "", "the answer does not overtake the progress");
    assert_eq!(script.say(r#"< {"id":2,"result":{}}"#), r#"< {"id":2,"result":{}}"#);
    let held: Vec<_> =
        script.debugger.held().iter().map(|info| (info.number, info.why, info.behind, info.n_behind)).collect();
    assert_eq!(held, [(1, "held", None, 1), (2, "behind", Some(1), 0)]);
    assert_eq!(
        script.release(1, Release::Go),
        format!("[released me]; {PROGRESS}; [delayed another message that was held]; {ANSWER}")
    );
}

#[test]
fn what_opens_a_session_holds_all_that_follows() {
    let mut script = Script::new(&["method:notifications/initialized -> hold"]);
    let initialized = r#"> {"method":"notifications/initialized"}"#;
    assert_eq!(script.say(initialized), "[held breakpoint 1]");
    assert_eq!(script.say(OTHER), "");
    assert_eq!(
        script.release(1, Release::Go),
        format!("[released me]; {initialized}; [delayed another message that was held]; {OTHER}")
    );
}

#[test]
fn a_cancelled_request_goes_on_with_its_cancellation() {
    let mut script = Script::new(&["is:request -> hold"]);
    script.say(CALL);
    assert_eq!(script.say(CANCEL), format!("[released its cancellation]; {CALL}; {CANCEL}"));
    script.say(r#"> {"id":9,"method":"ping"}"#);
    // Of another one, and of the other side's.
    assert_eq!(script.say(CANCEL), CANCEL);
    let theirs = r#"< {"method":"notifications/cancelled","params":{"requestId":9}}"#;
    assert_eq!(script.say(theirs), theirs);
    assert_eq!(script.debugger.held().len(), 1);
}

#[test]
fn what_waited_is_judged_when_its_turn_comes() {
    let mut script =
        Script::with(&["id:1 -> hold", "id:2 -> error:5:no"], Options { whole_stream: true, ..Options::default() });
    script.say(CALL);
    assert_eq!(script.say(OTHER), "");
    assert_eq!(
        script.release(1, Release::Drop),
        "[dropped me]; [answered fault id:2 -> error:5:no]; < {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":5,\"message\":\"no\"}}"
    );
}

#[test]
fn rules_change_and_go_on_until_one_decides() {
    let mut script =
        Script::new(&["tool:add -> set .params.x=1", "tool:add -> log", "tool:add -> hold", "tool:add -> drop"]);
    assert_eq!(script.say(CALL), "tell fault tool:add -> log: -> tools/call add; [held breakpoint 3]");
    let changed = CALL.replace("}}}", "},\"x\":1}}");
    assert_eq!(script.release(1, Release::Go), format!("[edited fault tool:add -> set .params.x=1]; {changed}"));
    script.say(CALL);
    assert_eq!(script.release(2, Release::Original), format!("[released me]; {CALL}"));
}

#[test]
fn an_edited_message_is_checked_and_may_be_forced() {
    let mut script = Script::new(&["tool:add -> hold"]);
    script.say(CALL);
    let edited = |text: &str, force| Release::Edited { text: text.into(), force, schema: None };
    let other_id = CALL[2..].replace("\"id\":1", "\"id\":7");
    assert_eq!(
        script.release(1, edited(&other_id, false)),
        "it was not sent: its id is 7 and was 1: the answer would not be found"
    );
    assert_eq!(script.debugger.held().len(), 1, "it is still held");
    assert_eq!(script.release(1, edited(&other_id, true)), format!("[edited me]; > {other_id}"));
    script.say(CALL);
    assert_eq!(script.release(2, edited("{ not\nJSON", true)), "[edited me]; > { not JSON");
    script.say(CALL);
    assert_eq!(script.release(3, edited(&CALL[2..], false)), format!("[released me]; {CALL}"), "nothing was changed");
}

#[test]
fn only_a_request_can_be_answered() {
    let mut script = Script::new(&["-> hold"]);
    script.say(CANCEL);
    assert_eq!(
        script.release(1, Release::Error { code: 1, message: "m".into() }),
        "it cannot be answered, for it is no request"
    );
    assert_eq!(script.release(1, Release::Answer(b"{}".to_vec())), "it cannot be answered, for it is no request");
    script.say(OTHER);
    assert_eq!(
        script.release(2, Release::Answer(b"7".to_vec())),
        "what was given is no answer: it is not one JSON object"
    );
    assert_eq!(
        script.release(2, Release::Answer(b"{}".to_vec())),
        "[answered me]; < {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"
    );
    assert_eq!(script.release(2, Release::Go), "no message is held under the number 2");
}

#[test]
fn which_of_those_that_fit_is_counted() {
    let hits = |when: &str| {
        let mut script = Script::new(&[&format!("method:ping {when} -> drop")]);
        let sent = (1..=10).map(|id| {
            script.at_ns += 100 * MS;
            script.say(&format!("> {{\"id\":{id},\"method\":\"ping\"}}")).starts_with('[')
        });
        sent.enumerate().filter(|(_, hit)| *hit).map(|(index, _)| index + 1).collect::<Vec<_>>()
    };
    assert_eq!(hits("after:7"), [8, 9, 10]);
    assert_eq!(hits("every:4"), [4, 8]);
    assert_eq!(hits("after:1 every:4"), [5, 9]);
    assert_eq!(hits("once"), [1]);
    assert_eq!(hits("nth:3"), [3]);
    assert_eq!(hits("limit:2"), [1, 2]);
    assert_eq!(hits("for:350ms"), [1, 2, 3]);
    assert_eq!(hits("p:0"), [0; 0]);
    assert_eq!(hits("p:1").len(), 10);
}

#[test]
fn a_slow_line_is_not_torn_by_others() {
    let mut script = Script::new(&["id:1 -> slow:100"]);
    let first = script.say(CALL);
    assert_eq!(first, format!("[slowed fault id:1 -> slow:100]; {}", &CALL[..12]));
    assert_eq!(script.say(OTHER), "");
    let mut all = String::from(&CALL[..12]);
    for _ in 0..20 {
        for part in script.wait(100).split("; ").filter(|part| !part.is_empty()) {
            all.push_str(&part[2..]);
            if part == OTHER {
                all.push('.');
            }
        }
    }
    assert_eq!(all, format!("{CALL}{}.", &OTHER[2..]));
}

#[test]
fn broken_rules_of_the_protocol_can_be_held() {
    let mut script = Script::new(&["is:violation -> hold"]);
    script.say(r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#);
    assert_eq!(script.say(r#"< {"jsonrpc":"2.0","id":1}"#), "[held breakpoint 1]");
}

#[test]
fn latency_of_an_answer_can_be_held() {
    let mut script = Script::new(&["latency>2s -> hold"]);
    script.say(CALL);
    script.say(OTHER);
    script.wait(1_000);
    assert_eq!(script.say(r#"< {"id":2,"result":{}}"#), r#"< {"id":2,"result":{}}"#);
    script.wait(1_001);
    assert_eq!(script.say(ANSWER), "[held breakpoint 1]");
}

#[test]
fn nobody_attached_means_nothing_is_held_that_is_to_be_looked_at() {
    let mut script = Script::new(&[]);
    let rule = read_fault("tool:add -> hold", &Context::default()).unwrap();
    let options = RuleOptions {
        kind: RuleKind::Breakpoint,
        stays: false,
        whole_stream: false,
        by: "me".into(),
        temporary: false,
    };
    script.debugger.set_rule(rule, options, 0);
    assert_eq!(script.say(CALL), CALL);
    script.debugger.attached();
    script.debugger.attached();
    assert_eq!(script.say(&CALL.replace(":1,", ":3,")), "[held breakpoint 1]");
    script.debugger.detached(0);
    assert_eq!(script.out(), "");
    script.debugger.detached(0);
    assert_eq!(script.out(), format!("[released nobody is attached]; {}", CALL.replace(":1,", ":3,")));
}

#[test]
fn too_much_that_waits_is_let_go() {
    let mut script = Script::new(&["method:ping -> hold"]);
    let mut sent = 0;
    for id in 0..=WAITING_LIMIT_MESSAGES {
        let out = script.say(&format!("> {{\"id\":{id},\"method\":\"ping\"}}"));
        sent += out.matches("\"method\"").count();
    }
    assert_eq!(sent, WAITING_LIMIT_MESSAGES + 1);
    assert!(script.debugger.held().is_empty());
}

#[test]
fn an_injected_request_has_an_id_and_a_token_of_ours_and_its_answer_is_ours() {
    let mut script = Script::with(&[], Options { secret: "s".into(), ..Options::default() });
    let text = br#"{ "jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":5}} }"#;
    let ticket = script.debugger.inject(Direction::ToServer, text, true, "me", MS, 0).unwrap().unwrap();
    assert_eq!(
        script.out(),
        r#"[injected me]; > {"jsonrpc":"2.0","id":"mcp-tap-s-1","method":"m","params":{"_meta":{"progressToken":"mcp-tap-s-1"}}}"#
    );
    assert!(script.debugger.is_armed());
    assert_eq!(
        script.say(r#"< {"method":"notifications/progress","params":{"progressToken":"mcp-tap-s-1"}}"#),
        "[dropped me]"
    );
    // The other side cannot answer itself.
    let theirs = r#"> {"id":"mcp-tap-s-1","result":{}}"#;
    assert_eq!(script.say(theirs), theirs);
    assert!(script.wait(1).starts_with("[injected mcp-tap: a call took too long]; > "));
    assert!(script.debugger.is_armed(), "it may still be answered");
    assert_eq!(script.say(r#"< {"id":"mcp-tap-s-1","result":{}}"#), "[dropped me]");
    assert!(!script.debugger.is_armed());
    let told: Vec<_> = std::iter::from_fn(|| script.debugger.poll_event()).collect();
    let answers: Vec<_> =
        told.iter().filter(|event| matches!(event, Event::Answered { ticket: own, .. } if *own == ticket)).collect();
    assert_eq!(answers.len(), 2, "progress, and that it took too long: {told:?}");
}

#[test]
fn an_armed_debugger_begins_at_the_end_of_a_line() {
    let mut script = Script::new(&["-> hold"]);
    script.debugger.enter(Direction::ToServer, 100, true);
    script.debugger.take(Direction::ToServer, 100, b"rest\n", 0);
    assert_eq!(script.out(), "> rest");
    script.debugger.inject(Direction::ToServer, br#"{"jsonrpc":"2.0","method":"n"}"#, false, "me", 0, 0).unwrap();
    assert_eq!(script.out(), r#"[injected me]; > {"jsonrpc":"2.0","method":"n"}"#);
    script.debugger.enter(Direction::ToClient, 7, true);
    script.debugger.inject(Direction::ToClient, br#"{"jsonrpc":"2.0","method":"n"}"#, false, "me", 0, 0).unwrap();
    assert_eq!(script.out(), "[injected me]", "it waits for the end of the line that is on its way");
    script.debugger.take(Direction::ToClient, 7, b"rest\n", 0);
    assert_eq!(script.out(), r#"< rest; < {"jsonrpc":"2.0","method":"n"}"#);
}

#[test]
fn nothing_goes_out_on_a_side_whose_bytes_may_still_pass_by() {
    for (torn, at_once) in [(false, true), (true, false)] {
        let mut script = Script::new(&["tool:add -> error:1:no"]);
        script.debugger.expect(Direction::ToClient);
        assert_eq!(script.say(CALL), "[answered fault tool:add -> error:1:no]");
        assert!(script.debugger.is_armed());
        script.debugger.enter(Direction::ToClient, 50, torn);
        assert_eq!(script.out().starts_with("< {"), at_once, "torn: {torn}");
        script.debugger.take(Direction::ToClient, 50, b"rest\n", 0);
        assert_eq!(script.out().matches("no\"}}").count(), usize::from(torn));
    }
}

#[test]
fn an_act_names_the_message_by_its_place_and_says_how_long_it_was_kept() {
    let mut script = Script::new(&["id:2 -> hold"]);
    script.say(CALL);
    script.say(OTHER);
    script.at_ns = 5 * MS;
    script.debugger.release(1, Release::Go, "me", script.at_ns).unwrap();
    let acts: Vec<Act> = std::iter::from_fn(|| script.debugger.poll_order())
        .filter_map(|order| match order {
            Order::Record(act) => Some(act),
            _ => None,
        })
        .collect();
    assert_eq!(acts.len(), 1);
    let expected = Act {
        message: Some(CALL.len() as u64 - 1),
        held_ns: 5 * MS,
        ..Act::new(Deed::Released, Stream::ToServer, "me")
    };
    assert_eq!(acts[0], expected);
}

proptest! {
    /// Whatever is held, delayed and released: every message goes on once, and those of one call in their order.
    #[test]
    fn nothing_is_lost_and_calls_keep_their_order(steps in prop::collection::vec((0..6u8, 0..4u64, any::<bool>()), 1..60), whole_stream: bool) {
        let rules = ["id:1 -> hold", "id:2 p:0.5 -> delay:1ms..20ms", "method:notifications/cancelled p:0.5 -> hold", "id:3 -> reorder"];
        let mut script = Script::with(&rules, Options { whole_stream, ..Options::default() });
        let (mut sent, mut got) = (Vec::new(), String::new());
        for (index, (what, id, flag)) in steps.into_iter().enumerate() {
            let line = match what {
                0 | 1 => format!("> {{\"id\":{id},\"method\":\"m\",\"n\":{index}}}"),
                2 => format!("> {{\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}},\"n\":{index}}}"),
                3 => format!("> noise {index}"),
                4 => {
                    write!(got, "{}; ", script.wait(id * 7)).unwrap();
                    continue;
                }
                _ => {
                    script.debugger.release_all("me", script.at_ns);
                    if flag {
                        script.debugger.remove_rule(1).ok();
                        script.set(Rule { filter: tap_filter::Filter::parse("id:1", &Context::default(), &|_| None).unwrap(), when: When::once(), action: Action::Hold, text: "id:1".into() }, RuleKind::Breakpoint);
                    }
                    write!(got, "{}; ", script.out()).unwrap();
                    continue;
                }
            };
            write!(got, "{}; ", script.say(&line)).unwrap();
            sent.push(line);
        }
        script.debugger.end(Direction::ToServer, script.at_ns);
        write!(got, "{}; {}", script.out(), script.wait(6_000)).unwrap();
        prop_assert!(script.debugger.is_idle(Direction::ToServer));
        let got: Vec<&str> = got.split("; ").filter(|part| part.starts_with("> ")).collect();
        let mut sorted = (got.clone(), sent.iter().map(String::as_str).collect::<Vec<_>>());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        prop_assert_eq!(sorted.0, sorted.1);
        for id in 0..4 {
            let of_call = |line: &&str| line.contains(&format!("\"id\":{id},")) || line.contains(&format!("\"requestId\":{id}}}"));
            let got: Vec<_> = got.iter().copied().filter(of_call).collect();
            let sent: Vec<_> = sent.iter().map(String::as_str).filter(of_call).collect();
            prop_assert_eq!(got, sent, "call {}", id);
        }
    }

    /// However the bytes are cut: with rules that never match the same bytes go out, at once but for the end of a line.
    #[test]
    fn an_armed_debugger_changes_no_byte(chunks in prop::collection::vec(prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n')], 0..50), 0..20), limit in 1..30usize) {
        let mut script = Script::with(&["tool:never -> drop"], Options { line_limit_bytes: limit, ..Options::default() });
        let (mut out, mut offset) = (Vec::new(), 0);
        let mut gather = |debugger: &mut Debugger| while let Some(order) = debugger.poll_order() {
            if let Order::Send { bytes, .. } = order {
                out.extend_from_slice(&bytes);
            }
        };
        for (index, chunk) in chunks.iter().enumerate() {
            script.debugger.take(Direction::ToClient, offset, chunk, 0);
            offset += chunk.len() as u64;
            if index % 3 == 2 {
                script.debugger.flush(Direction::ToClient);
            }
            gather(&mut script.debugger);
        }
        script.debugger.end(Direction::ToClient, 0);
        gather(&mut script.debugger);
        prop_assert_eq!(out, chunks.concat());
    }
}

#[test]
fn bytes_are_not_copied_for_a_message_that_passes() {
    let mut script = Script::new(&["tool:never -> drop"]);
    let line = Bytes::from_static(b"{\"id\":1,\"method\":\"m\"}\n");
    script.debugger.take(Direction::ToServer, 0, &line, 0);
    assert_eq!(script.debugger.poll_order(), Some(Order::Send { direction: Direction::ToServer, bytes: line }));
    assert_eq!(script.debugger.poll_order(), None);
}
