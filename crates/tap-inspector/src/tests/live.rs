//! The live debugger: what keys do, as tables, and what a tap is then told to do.

use super::{EVIL, World, drive, opened, settle};
use crate::live::{LivePane, Resend};
use crate::model::Overlay;
use crate::*;

pub(super) fn here(last: u64) -> LiveHere {
    let rule = |number: u32| RuleLine {
        number,
        is_fault: number == 3,
        text: EVIL.into(),
        action: "hold".into(),
        on: number != 2,
        ..RuleLine::default()
    };
    LiveHere {
        seen_unix_ns: last,
        revision: Some("2025-11-25".into()),
        rules: (1..=3).take(last as usize % 4).map(rule).collect(),
        held: (1..=last % 5).map(held).collect(),
        news: vec![EVIL.into()],
    }
}

fn held(number: u64) -> HeldLine {
    HeldLine {
        number,
        to_server: number != 2,
        why: if number == 4 { "behind".into() } else { "held".into() },
        what: EVIL.into(),
        kind: "request".into(),
        method: Some("tools/call".into()),
        target: Some(EVIL.into()),
        waits_ns: number,
        goes_in_ns: (number != 3).then_some(9_000_000_000),
        changed: EVIL.into(),
        ..HeldLine::default()
    }
}

pub(super) fn message(number: u64) -> HeldMessage {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"add","arguments":{{"a":1,"b":"{EVIL}"}}}}}}"#
    );
    let schema = r#"{"type":"object","properties":{"a":{"type":"number"}}}"#;
    HeldMessage {
        number,
        original: text.clone().into_bytes().into(),
        now: text.into_bytes().into(),
        schema: Some(schema.as_bytes().into()),
    }
}

/// What a tap was told to do, in words; that is answered.
fn told(world: &mut World, inspector: &mut Inspector, keys: &str) -> String {
    let mut orders = Vec::new();
    for key in keys.split_whitespace() {
        let effects = inspector.update(Input::Key(Key::named(key).unwrap()));
        world.take(effects);
        while let Some((ticket, bytes)) = world.edited.take() {
            let text = String::from_utf8(bytes).unwrap().replace("\"a\": 1", "\"a\": 2");
            world.take(inspector.update(Input::Edited(ticket, text.into_bytes())));
        }
        for (_, query) in &world.open {
            match query {
                Query::Control(_, LiveOrder::Message(_)) => {}
                Query::Control(_, LiveOrder::Call(bytes)) => orders.push(format!("Call {}", bytes.len())),
                Query::Control(_, LiveOrder::Release(number, tap_control::Release::Edited { text, force, .. })) => {
                    let text = String::from_utf8_lossy(text);
                    orders.push(format!("Edited {number} {} {force}", text.contains("\"a\": 2")));
                }
                Query::Control(_, order) => orders.push(format!("{order:?}")),
                _ => {}
            }
        }
        settle(world, inspector);
    }
    orders.join("; ")
}

#[test]
fn keys_among_held_messages_tell_the_tap_what_to_do() {
    // Three breakpoints and four messages; the tap is there.
    for (keys, expected) in [
        ("7 a", "Release(1, Go)"),
        ("7 n u", "Release(2, Original)"),
        ("7 n n n n n N u", "Release(3, Original)"),
        ("7 j j k u", "Release(2, Original)"),
        ("7 X n", ""),
        ("7 X y", "Release(1, Drop)"),
        ("7 A", "ReleaseAll"),
        ("7 T", "Keep(1, None)"),
        ("7 n n T", "Keep(3, Some(50000000000))"),
        ("7 E enter", "Release(1, Error { code: -32000, message: \"refused by hand\" })"),
        ("7 E ctrl-u x enter", ""),
        ("7 E ctrl-u 5 : n o enter", "Release(1, Error { code: 5, message: \"no\" })"),
        ("7 d enter", "Release(1, Later(2000000000))"),
        ("7 d ctrl-u 3 enter esc a", "Release(1, Go)"),
        ("7 e", "Keep(1, Some(1800000000000)); Keep(1, Some(50000000000))"),
        ("7 n n e", ""),
        ("7 n n e a", "Edited 3 true false"),
        ("7 n n e u", "Release(3, Original)"),
        ("7 space", "Switch([(1, false)], false)"),
        ("7 tab tab j space", "Switch([(2, false)], true)"),
        ("7 tab tab j j space", "Switch([(3, true)], false)"),
        ("7 tab tab j del", "Remove(2, false)"),
        ("7 I", "Switch([(1, false)], false)"),
        ("7 i t o o l : x enter", "Break { filter: \"tool:x\", action: \"hold\", when: \"\" }"),
        (
            "7 i t o o l : x space o n c e space - > space d r o p enter",
            "Break { filter: \"tool:x\", action: \"drop\", when: \"once\" }",
        ),
        ("7 i t o o l : x space - > space d e l a y enter", ""),
        (
            "7 i t o o l : x space - > space d u tab enter",
            "Break { filter: \"tool:x\", action: \"duplicate\", when: \"\" }",
        ),
        ("7 i enter", ""),
        ("7 i t o o l : x esc", ""),
    ] {
        let (mut world, mut inspector) = opened(4 + 5 * 7, true);
        world.last_seq = 5;
        here_is(&mut world, &mut inspector, 3);
        assert_eq!(told(&mut world, &mut inspector, keys), expected, "{keys}");
    }
}

/// The tap says what it holds: four messages, and so many breakpoints.
fn here_is(world: &mut World, inspector: &mut Inspector, n_rules: u64) {
    let ticket = inspector.open.as_ref().unwrap().debug.attach.unwrap();
    let seen = LiveHere { rules: here(n_rules).rules, ..here(4) };
    world.take(inspector.update(Input::Answer(ticket, Answer::Live(Box::new(LiveSeen::Here(seen))))));
    settle(world, inspector);
}

#[test]
fn what_is_wrong_with_an_edit_is_asked_about() {
    let (mut world, mut inspector) = opened(40, true);
    here_is(&mut world, &mut inspector, 0);
    drive(&mut world, &mut inspector, "7 n n e");
    let (ticket, bytes) = world.edited.take().unwrap();
    let text = String::from_utf8(bytes).unwrap().replace("\"a\": 1", "\"a\": \"one\"");
    world.take(inspector.update(Input::Edited(ticket, text.into_bytes())));
    let problems = &inspector.open.as_ref().unwrap().debug.problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(told(&mut world, &mut inspector, "a x"), "");
    assert_eq!(told(&mut world, &mut inspector, "a y"), "Edited 3 false true");
}

#[test]
fn a_new_message_rings_and_takes_no_focus() {
    let (mut world, mut inspector) = opened(40, true);
    let ticket = inspector.open.as_ref().unwrap().debug.attach.unwrap();
    let rings = |inspector: &mut Inspector, n_held: u64| {
        let seen = LiveHere { held: (1..=n_held).map(held).collect(), ..here(4) };
        let effects = inspector.update(Input::Answer(ticket, Answer::Live(Box::new(LiveSeen::Here(seen)))));
        effects.iter().any(|effect| matches!(effect, Effect::Bell))
    };
    assert!(rings(&mut inspector, 1));
    assert!(!rings(&mut inspector, 1), "once");
    assert_eq!(inspector.view_now(), View::Timeline);
    drive(&mut world, &mut inspector, "7");
    assert!(rings(&mut inspector, 3));
    assert_eq!(inspector.open.as_ref().unwrap().debug.chosen, Some(1), "the cursor stays");
    assert!(!rings(&mut inspector, 4), "what waits behind another one is not held");
    assert!(!rings(&mut inspector, 0));
    assert_eq!(inspector.open.as_ref().unwrap().debug.chosen, None);
    assert_eq!(inspector.open.as_ref().unwrap().debug.pane, LivePane::Held);
}

#[test]
fn a_session_that_is_over_or_has_no_tap_says_so() {
    let (mut world, mut inspector) = opened(40, false);
    assert_eq!(told(&mut world, &mut inspector, "7 a i I A space n X"), "");
    assert!(inspector.note.as_ref().unwrap().text.contains("over"), "{:?}", inspector.note);
    let (mut world, mut inspector) = opened(43, true);
    assert_eq!(told(&mut world, &mut inspector, "7 a i I A space n X"), "");
    assert_eq!(inspector.note.as_ref().unwrap().text, EVIL);
}

#[test]
fn what_comes_back_from_a_server_that_was_started_anew_is_shown() {
    let (mut world, mut inspector) = opened(40, false);
    let ticket = inspector.ticket();
    let open = inspector.open.as_mut().unwrap();
    let resend = Resend {
        request: b"{}"[..].into(),
        recorded: Some(br#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2}}"#[..].into()),
        recorded_ns: None,
        what: EVIL.into(),
        anew: Some("x".into()),
    };
    open.debug.resending = Some((ticket, resend));
    // A prompt is open: nothing takes it away.
    drive(&mut world, &mut inspector, "/");
    let resent = Resent { answer: br#"{"a":1,"b":3}"#[..].into(), took_ns: Some(7) };
    world.take(inspector.update(Input::Answer(ticket, Answer::Resent(Box::new(resent)))));
    assert!(matches!(inspector.overlay, Some(Overlay::Filter(_))));
    drive(&mut world, &mut inspector, "esc");
    match &inspector.overlay {
        Some(Overlay::Again(again)) => assert_eq!(again.n_different(), 1, "{:?}", again.lines),
        other => panic!("{other:?}"),
    }
    drive(&mut world, &mut inspector, "esc");
    assert!(inspector.overlay.is_none());
}
