//! What keys do, as tables: lists of any length, live ones, messages that are on their way.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{EVIL, World, drive, holds, opened, row, seq, settle};
use crate::*;

#[test]
fn a_list_of_any_length_holds_what_is_near_the_cursor() {
    let (mut world, mut inspector) = opened(1_000_000, false);
    for (keys, expected) in [
        ("", 1),
        ("j j down", 4),
        ("G", 1_000_000),
        ("k", 999_999),
        ("g", 1),
        ("# 5 0 0 0 0 0 enter", 500_000),
        ("ctrl-o", 1),
        ("ctrl-n", 500_000),
        ("ctrl-o ctrl-o ctrl-n", 500_000),
        ("pgup", 499_983),
        ("v", 499_983),
    ] {
        drive(&mut world, &mut inspector, keys);
        assert_eq!(seq(&inspector), expected, "{keys}");
        assert!(inspector.open.as_ref().unwrap().rows.rows().len() <= 2_000);
    }
}

#[test]
fn a_filter_keeps_the_place_and_is_cleared_by_back() {
    let (mut world, mut inspector) = opened(100_000, false);
    drive(&mut world, &mut inspector, "# 5 0 0 0 0 enter / i s : e r r o r enter");
    assert_eq!(seq(&inspector), 50_000);
    drive(&mut world, &mut inspector, "k");
    assert_eq!(seq(&inspector), 49_992, "what fits before the cursor is there too");
    drive(&mut world, &mut inspector, "esc");
    assert_eq!(seq(&inspector), 49_992);
    assert!(inspector.open.as_ref().unwrap().filter.is_none());
    drive(&mut world, &mut inspector, "esc");
    assert_eq!(inspector.view_now(), View::Sessions);
}

#[test]
fn a_live_session_grows_under_the_cursor_and_calls_that_waited_are_answered() {
    let (mut world, mut inspector) = opened(100, true);
    assert_eq!(seq(&inspector), 100, "a live session opens at its end");
    let waits = |inspector: &Inspector| !inspector.open.as_ref().unwrap().rows.waiting().is_empty();
    assert!(waits(&inspector));
    let grow = |inspector: &mut Inspector, world: &mut World, last_seq: u64, live: bool| {
        world.last_seq = last_seq;
        let (ticket, _) = *world.open.iter().find(|(_, query)| matches!(query, Query::Watch(_))).unwrap();
        let answer = Answer::Grown(Growth { session: SessionKey(3), last_seq, live, complete: true });
        world.take(inspector.update(Input::Answer(ticket, answer)));
        settle(world, inspector);
    };
    grow(&mut inspector, &mut world, 103, true);
    assert_eq!(seq(&inspector), 103, "it follows");
    assert!(!waits(&inspector), "rows that were waiting were asked for again");
    drive(&mut world, &mut inspector, "k");
    grow(&mut inspector, &mut world, 110, true);
    assert_eq!(seq(&inspector), 102, "the cursor stays where somebody put it");
    grow(&mut inspector, &mut world, 110, false);
    assert!(!inspector.open.as_ref().unwrap().live);
}

/// While it is worked out what a session of 1,000 messages was: first 300 are known, then all.
#[test]
fn the_end_is_where_the_session_ends_once_that_is_known() {
    let filtered = "/ i s : e r r o r enter G";
    for (keys, live, expected, follows) in [
        ("G", false, 1_000, false),
        ("G", true, 1_000, true),
        ("3 G", false, 1_000, false),
        // Nothing is known of it yet that is not at the end; who goes elsewhere stays there.
        ("G k", false, 299, false),
        ("G g", false, 1, false),
        ("G # 7 enter", false, 7, false),
        ("g", false, 1, false),
        // With a filter: its last. Without it again: the place is kept.
        (filtered, false, 1_000, false),
        ("/ i s : e r r o r enter G esc", false, 300, false),
        ("G v", false, 300, false),
    ] {
        let (mut world, mut inspector) = opened(300, live);
        drive(&mut world, &mut inspector, keys);
        for (last_seq, complete) in [(600, false), (1_000, true)] {
            world.last_seq = last_seq;
            let (ticket, _) = *world.open.iter().find(|(_, query)| matches!(query, Query::Watch(_))).unwrap();
            let growth = Growth { session: SessionKey(3), last_seq, live, complete };
            world.take(inspector.update(Input::Answer(ticket, Answer::Grown(growth))));
            settle(&mut world, &mut inspector);
        }
        assert_eq!(seq(&inspector), expected, "{keys} live: {live}");
        assert_eq!(inspector.open.as_ref().unwrap().rows.follow, follows, "{keys} live: {live}");
        // What comes later is followed in a live session alone.
        let (ticket, _) = *world.open.iter().find(|(_, query)| matches!(query, Query::Watch(_))).unwrap();
        world.last_seq = 1_050;
        let growth = Growth { session: SessionKey(3), last_seq: 1_050, live, complete: true };
        world.take(inspector.update(Input::Answer(ticket, Answer::Grown(growth))));
        settle(&mut world, &mut inspector);
        assert_eq!(seq(&inspector), if follows { 1_050 } else { expected }, "{keys} live: {live}");
    }
}

#[test]
fn an_answer_that_does_not_come_is_not_asked_for_without_end() {
    let (mut world, mut inspector) = opened(100, false);
    world.take(inspector.update(Input::Key(Key::named("enter").unwrap())));
    for _ in 0..3 {
        for (ticket, _) in std::mem::take(&mut world.open) {
            world.take(inspector.update(Input::Failed(Some(ticket), "the disk is gone".into())));
        }
    }
    assert!(world.open.is_empty(), "{:?}", world.open);
    drive(&mut world, &mut inspector, "esc j enter");
    assert_eq!(inspector.open.as_ref().unwrap().detail.as_ref().unwrap().parts.this.row.at().seq, 2);
}

#[test]
fn a_message_that_is_read_keeps_its_place_when_it_is_answered() {
    let (mut world, mut inspector) = opened(9, true);
    drive(&mut world, &mut inspector, "g j j j j enter j j");
    let before = inspector.open.as_ref().unwrap().detail.as_ref().unwrap().cursor;
    assert_eq!(before, 2);
    let again = Answer::Again(vec![Row { clock: "later".into(), ..row(5) }]);
    let ticket = Ticket(u64::MAX);
    inspector.open.as_mut().unwrap().again = Some(ticket);
    world.take(inspector.update(Input::Answer(ticket, again)));
    settle(&mut world, &mut inspector);
    assert_eq!(inspector.open.as_ref().unwrap().detail.as_ref().unwrap().cursor, before);
}

/// `ratatui` drops control characters by itself; that is not enough, for what is there must be seen.
#[test]
fn what_would_act_on_the_terminal_is_seen_as_an_escape() {
    let (mut world, mut inspector) = opened(40, false);
    let mut terminal = Terminal::new(TestBackend::new(160, 45)).unwrap();
    let _ = inspector.update(Input::Resize(160, 45));
    for (keys, expected) in [
        ("", "a\\u{1b}]0;x\\u{7}"),
        ("# 4 enter enter z", "a\\u{1b}]0;x\\u{7}\\u{1b}[2J\\u{9b}6n\\u{202e}b\\u{200b}\\u{feff}日\u{301}"),
        ("p", "a\\u{1b}]0;x\\u{7}\\u{1b}[2J\\u{9b}6n\\u{202e}b\\u{200b}\\u{feff}日\u{301}"),
        ("4", "a\\u{1b}]0;x\\u{7}"),
        ("6", "a\\u{1b}]0;x\\u{7}"),
        ("1", "a\\u{1b}]0;x\\u{7}"),
    ] {
        drive(&mut world, &mut inspector, keys);
        holds(&inspector, &mut terminal);
        let screen: String = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
        // A wide character has a cell behind it.
        assert!(screen.replace("日\u{301} ", "日\u{301}").contains(expected), "{keys}: {screen}");
    }
}

#[test]
fn the_cursor_keeps_its_place_when_rows_far_from_it_are_forgotten() {
    let (mut world, mut inspector) = opened(100_000, false);
    let page = inspector.list_height() as u64;
    for n in 1..=300 {
        drive(&mut world, &mut inspector, "pgdn");
        assert_eq!(seq(&inspector), 1 + n * page);
    }
    for n in (0..300).rev() {
        drive(&mut world, &mut inspector, "pgup");
        assert_eq!(seq(&inspector), 1 + n * page);
    }
}

/// Keys are faster than messages: what is asked of one that is on its way is done when it comes, and only then.
#[test]
fn what_is_asked_of_a_message_that_is_on_its_way_is_done_when_it_comes() {
    let done_by = |effects: &[Effect]| -> Vec<String> {
        let word = |effect: &Effect| match effect {
            Effect::Copy(_) => Some("copy".to_owned()),
            Effect::Open { name, edit, .. } => Some(format!("{} {name}", if *edit { "edit" } else { "page" })),
            Effect::Write { name, .. } => Some(format!("write {name}")),
            _ => None,
        };
        effects.iter().filter_map(word).collect()
    };
    for (size, keys, late_keys, done, cursor) in [
        ((80, 24), "E", "", "edit 5", 0),
        ((80, 24), "enter E", "", "edit 5", 0),
        ((80, 24), "enter P", "", "page 5", 0),
        ((80, 24), "w", "", "write 5", 0),
        ((160, 45), "w E", "", "write 5, edit 5", 0),
        ((160, 45), "tab j j j k", "", "", 2),
        ((80, 24), "enter j j E", "", "edit 5", 2),
        ((80, 24), "enter G", "", "", 27),
        ((80, 24), "enter j h", "j", "", 2),
        ((80, 24), "enter J", "", "", 0),
        ((80, 24), "enter p p", "", "", 0),
        // The cursor was moved first: nothing is done to another message than was meant.
        ((80, 24), "E j", "", "", 0),
        ((160, 45), "E j k", "", "", 0),
        ((80, 24), "enter j q j", "", "", 0),
        // Who went back to the list wants the editor all the same, and the cursor where it is.
        ((80, 24), "enter j E q", "", "edit 5", 0),
    ] {
        let (mut world, mut inspector) = opened(40, false);
        let _ = inspector.update(Input::Resize(size.0, size.1));
        drive(&mut world, &mut inspector, "# 5 enter");
        inspector.open.as_mut().unwrap().detail = None;
        inspector.open.as_mut().unwrap().detail_asked = None;
        let mut told = Vec::new();
        for key in keys.split(' ') {
            let effects = inspector.update(Input::Key(Key::named(key).unwrap()));
            told.extend(done_by(&effects));
            world.take(effects);
        }
        assert_eq!(told, Vec::<String>::new(), "{keys}: before it is there");
        assert!(inspector.note.is_none(), "{keys}: {:?}", inspector.note);
        while let Some(index) = world.open.iter().position(|(_, query)| !matches!(query, Query::Watch(_))) {
            let (ticket, query) = world.open.remove(index);
            let effects = inspector.update(Input::Answer(ticket, world.answer(&query, true).unwrap()));
            told.extend(done_by(&effects));
            world.take(effects);
        }
        drive(&mut world, &mut inspector, late_keys);
        let told: Vec<_> =
            told.iter().map(|word| word.replace(&format!("{EVIL}-3-"), "").replace(".json", "")).collect();
        assert_eq!(told.join(", "), done, "{keys}");
        let detail = inspector.open.as_ref().unwrap().detail.as_ref();
        assert_eq!(detail.map_or(0, |detail| detail.cursor), cursor, "{keys}");
    }
}

#[test]
fn what_was_asked_of_a_message_that_cannot_be_had_is_forgotten() {
    let (mut world, mut inspector) = opened(40, false);
    let effects = inspector.update(Input::Key(Key::named("E").unwrap()));
    world.take(effects);
    let index = world.open.iter().position(|(_, query)| matches!(query, Query::Message(..))).unwrap();
    let (ticket, _) = world.open.remove(index);
    let effects = inspector.update(Input::Failed(Some(ticket), "the disk is gone".into()));
    assert!(effects.is_empty(), "{effects:?}");
    assert!(inspector.open.as_ref().unwrap().postponed.actions.is_empty());
    // Asked again, it is looked for again.
    let effects = inspector.update(Input::Key(Key::named("E").unwrap()));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Ask(_, Query::Message(..)))), "{effects:?}");
}
