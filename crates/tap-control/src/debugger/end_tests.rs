//! The end of a stream, and what is on its way then.

use tap_filter::Context;
use tap_frame::{Deed, Direction};

use super::*;
use crate::{Action, RuleKind, RuleOptions, read_fault};

const TO_SERVER: Direction = Direction::ToServer;

fn debugger(faults: &[&str]) -> Debugger {
    let mut debugger = Debugger::new(Session::default(), Options { line_limit_bytes: 50, ..Options::default() });
    for fault in faults {
        let rule = read_fault(fault, &Context::default()).unwrap();
        let kind = if rule.action == Action::Hold { RuleKind::Breakpoint } else { RuleKind::Fault };
        let options = RuleOptions { kind, stays: true, whole_stream: false, by: "test".into(), temporary: false };
        debugger.set_rule(rule, options, 0);
    }
    debugger
}

/// What went out in this direction, byte for byte, and what was recorded.
fn out(debugger: &mut Debugger, of: Direction) -> (String, Vec<(Deed, String)>) {
    let (mut sent, mut acts) = (Vec::new(), Vec::new());
    while let Some(order) = debugger.poll_order() {
        match order {
            Order::Send { direction, bytes } if direction == of => sent.extend_from_slice(&bytes),
            Order::Record(act) => acts.push((act.deed, act.by)),
            _ => {}
        }
    }
    (String::from_utf8(sent).unwrap(), acts)
}

#[test]
fn a_last_line_without_an_end_is_fused_with_no_other() {
    const ONE: &str = "{\"id\":1,\"method\":\"a\"}";
    const TWO: &str = "{\"id\":2,\"method\":\"b\"}";
    for (fault, expected) in [
        ("id:1 -> hold", format!("{ONE}\n{TWO}")),
        ("id:2 -> hold", format!("{ONE}\n{TWO}")),
        ("id:2 -> duplicate", format!("{ONE}\n{TWO}\n{TWO}")),
        ("id:1 -> reorder", format!("{TWO}\n{ONE}\n")),
        ("id:1 -> delay:1s", format!("{TWO}\n{ONE}\n")),
        ("id:1 -> slow:1", format!("{ONE}\n{TWO}")),
        ("id:3 -> drop", format!("{ONE}\n{TWO}")),
    ] {
        let mut debugger = debugger(&[fault]);
        debugger.take(TO_SERVER, 0, format!("{ONE}\n{TWO}").as_bytes(), 0);
        debugger.end(TO_SERVER, 0);
        debugger.handle_timeout(END_PATIENCE_NS);
        assert_eq!(out(&mut debugger, TO_SERVER).0, expected, "{fault}");
        assert!(debugger.is_idle(TO_SERVER), "{fault}");
    }
}

#[test]
fn what_is_put_in_behind_a_line_without_an_end_is_a_line_of_its_own() {
    let mut debugger = debugger(&["id:9 -> drop"]);
    debugger.take(TO_SERVER, 0, b"last", 0);
    debugger.end(TO_SERVER, 0);
    debugger.inject(TO_SERVER, b"{\"method\":\"n\"}", false, "me", 0, 0).unwrap();
    assert_eq!(out(&mut debugger, TO_SERVER).0, "last\n{\"method\":\"n\"}\n");
}

#[test]
fn the_end_in_the_middle_of_a_line_that_passes_lets_go_what_is_held() {
    let mut debugger = debugger(&["id:1 -> hold"]);
    debugger.take(TO_SERVER, 0, b"{\"id\":1,\"method\":\"a\"}\n", 0);
    let long = "x".repeat(60);
    debugger.take(TO_SERVER, 23, long.as_bytes(), 0);
    debugger.inject(TO_SERVER, b"{\"method\":\"n\"}", false, "me", 0, 0).unwrap();
    assert_eq!(out(&mut debugger, TO_SERVER).0, long);
    debugger.end(TO_SERVER, 0);
    assert_eq!(out(&mut debugger, TO_SERVER).0, "\n{\"method\":\"n\"}\n{\"id\":1,\"method\":\"a\"}\n");
    assert!(debugger.is_idle(TO_SERVER));
}

#[test]
fn what_waits_behind_a_line_on_its_way_is_limited() {
    const N_LINES: usize = WAITING_LIMIT_MESSAGES + 10;
    let lines: String = (0..N_LINES).map(|id| format!("{{\"id\":{id},\"method\":\"m\"}}\n")).collect();
    // A slow line is finished at once.
    let mut slow = debugger(&["id:0 -> slow:1"]);
    slow.take(TO_SERVER, 0, lines.as_bytes(), 0);
    assert_eq!(out(&mut slow, TO_SERVER).0, lines);
    // Of another's line the end has to come from him.
    let mut torn = debugger(&["is:request -> error:1:no"]);
    torn.enter(Direction::ToClient, 5, true);
    torn.take(TO_SERVER, 0, lines.as_bytes(), 0);
    let (sent, acts) = out(&mut torn, Direction::ToClient);
    let n_dropped = acts.iter().filter(|(deed, _)| *deed == Deed::Dropped).count();
    assert_eq!((sent.as_str(), n_dropped), ("", N_LINES - WAITING_LIMIT_MESSAGES - 1));
    torn.take(Direction::ToClient, 5, b"rest\n", 0);
    assert_eq!(out(&mut torn, Direction::ToClient).0.lines().count(), 1 + N_LINES - n_dropped);
}

#[test]
fn what_follows_in_a_closed_stream_is_recorded_as_dropped() {
    let mut debugger = debugger(&["id:1 -> close"]);
    debugger.take(TO_SERVER, 0, b"{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"b\"}\n", 0);
    let (sent, acts) = out(&mut debugger, TO_SERVER);
    let expected =
        [(Deed::Closed, "fault id:1 -> close".to_owned()), (Deed::Dropped, "the stream was closed".to_owned())];
    assert_eq!((sent.as_str(), acts.as_slice()), ("", &expected[..]));
}
