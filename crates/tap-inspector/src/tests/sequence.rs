//! Where the cursor is, what is on the axis of time, and what is unfolded, whatever is pressed.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{World, drive, opened, row, seq, settle};
use crate::*;

fn lines(inspector: &Inspector) -> Vec<String> {
    let (columns, rows) = inspector.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| inspector.view(frame)).unwrap();
    let cells = terminal.backend().buffer().content().chunks(usize::from(columns));
    cells.map(|cells| cells.iter().map(|cell| cell.symbol()).collect()).collect()
}

#[test]
fn the_sequence_has_rows_by_the_frame_and_the_timeline_its_place_again() {
    let (mut world, mut inspector) = opened(1_000, false);
    for (keys, expected, calls) in [
        ("# 5 0 0 enter", 500, true),
        ("3", 500, false),
        ("j j", 502, false),
        ("4", 502, false),
        ("2", 502, true),
        ("k", 501, true),
        ("3", 501, false),
        ("1 2", 501, true),
    ] {
        drive(&mut world, &mut inspector, keys);
        assert_eq!(seq(&inspector), expected, "{keys}");
        assert_eq!(inspector.open.as_ref().unwrap().calls, calls, "{keys}");
    }
    // Before the rows have come, too.
    for key in ["3", "2", "3"] {
        world.take(inspector.update(Input::Key(Key::named(key).unwrap())));
    }
    settle(&mut world, &mut inspector);
    assert_eq!(seq(&inspector), 501);
}

#[test]
fn calls_that_began_above_the_screen_are_over_it() {
    let (mut world, mut inspector) = opened(1_000, false);
    let mut ask = |keys| drive(&mut world, &mut inspector, keys);
    ask("3 # 5 0 0 enter");
    ask("l l");
    let screen = inspector.open.as_ref().unwrap().sequence_screen(inspector.list_height());
    assert!(screen.n_carried > 0 && screen.carried.len() > screen.n_carried);
    assert!(screen.rows.iter().any(|row| row.at().seq == 500), "the cursor's row is there all the same");
    let lines = lines(&inspector);
    assert!(lines[4].starts_with('↑') && lines[4].contains('◂'), "{lines:#?}");
    assert!(lines[3 + screen.n_carried].contains(" more"), "{lines:#?}");
}

#[test]
fn each_session_of_mcp_has_a_lane() {
    let (mut world, mut inspector) = opened(20, false);
    drive(&mut world, &mut inspector, "3");
    let open = inspector.open.as_mut().unwrap();
    open.session.n_conversations = 3;
    let rows = open.rows.rows().iter().map(|old| Row { conversation: Some(old.at().seq % 3 + 1), ..old.clone() });
    let rows = rows.collect();
    open.rows.refresh(rows, 20);
    let lines = lines(&inspector);
    assert!(lines[2].contains("/1  /2  /3"), "{lines:#?}");
    let lane = |line: usize| lines[line].chars().skip(7).take(10).collect::<String>();
    assert_eq!(lane(3).trim_end(), "┬   ┬   ┬");
    let (first, second, third) = (lane(6), lane(4), lane(5));
    assert!(first.starts_with("├─"), "{lines:#?}");
    assert!(second.starts_with("│   ├─"), "{lines:#?}");
    assert!(third.starts_with("│   │   │◂"), "{lines:#?}");
}

#[test]
fn the_axis_is_moved_and_zoomed() {
    let (mut world, mut inspector) = opened(1_000, false);
    drive(&mut world, &mut inspector, "3 # 5 0 0 enter");
    let range = |inspector: &Inspector| {
        let open = inspector.open.as_ref().unwrap();
        let screen = open.sequence_screen(inspector.list_height());
        let range = open.sequence_axis(screen.rows, &screen.bars, 50).range;
        (range.from_ns, range.length_ns(), open.sequence.zoom.is_some())
    };
    let whole = range(&inspector);
    drive(&mut world, &mut inspector, "- -");
    assert_eq!(range(&inspector).1, whole.1 * 4);
    drive(&mut world, &mut inspector, "right");
    let moved = range(&inspector);
    assert!(moved.0 > whole.0 - whole.1 * 4 && moved.1 == whole.1 * 4);
    drive(&mut world, &mut inspector, "z");
    assert_eq!(range(&inspector), whole, "z again shows what is on the screen");
    drive(&mut world, &mut inspector, "# 5 0 2 enter z");
    assert!(range(&inspector).0 <= 502 && range(&inspector).2, "the cursor's call");
    drive(&mut world, &mut inspector, "G");
    let (from_ns, length_ns, _) = range(&inspector);
    assert!(from_ns <= 1_000 && 1_000 <= from_ns + length_ns, "the cursor stays on the axis");
}

#[test]
fn a_call_is_followed_by_a_filter_and_let_go_again() {
    let (mut world, mut inspector) = opened(100, false);
    drive(&mut world, &mut inspector, "# 2 2 enter f");
    let filter =
        |inspector: &Inspector| inspector.open.as_ref().unwrap().filter.as_ref().map(|filter| filter.text().to_owned());
    assert_eq!(filter(&inspector).as_deref(), Some("call:22 or n:24"), "with what belongs to it");
    drive(&mut world, &mut inspector, "f");
    assert_eq!(filter(&inspector), None);
}

#[test]
fn what_came_while_a_call_ran_is_unfolded_and_folded() {
    let (mut world, mut inspector) = opened(112, true);
    let numbers = |inspector: &Inspector| -> Vec<u64> {
        let rows = inspector.open.as_ref().unwrap().rows.rows();
        rows.iter().map(|row| row.at().seq).filter(|seq| *seq > 106).collect()
    };
    let grow = |world: &mut World, inspector: &mut Inspector, last_seq: u64| {
        world.last_seq = last_seq;
        let (ticket, _) = *world.open.iter().find(|(_, query)| matches!(query, Query::Watch(_))).unwrap();
        let growth = Growth { session: SessionKey(3), last_seq, live: true, complete: true };
        world.take(inspector.update(Input::Answer(ticket, Answer::Grown(growth))));
        settle(world, inspector);
    };
    assert_eq!(numbers(&inspector), [107, 108, 110, 111, 112]);
    // A call without an answer, that goes on.
    drive(&mut world, &mut inspector, "# 1 0 8 enter");
    drive(&mut world, &mut inspector, "l");
    assert_eq!(numbers(&inspector), [107, 108, 109, 110, 111, 112]);
    assert_eq!(seq(&inspector), 108);
    drive(&mut world, &mut inspector, "j h");
    assert_eq!((seq(&inspector), numbers(&inspector)), (108, vec![107, 108, 110, 111, 112]), "its call has the cursor");
    drive(&mut world, &mut inspector, "l j");
    let shown = lines(&inspector);
    let place = shown.iter().position(|line| line.contains(" 109 ")).unwrap();
    assert!(shown[place - 1].starts_with(['…', '!', '✗']) && shown[place - 1].contains('▾'), "{shown:#?}");
    assert!(shown[place].contains("│ stderr") && shown[place].contains("+1 ns"), "{shown:#?}");
    grow(&mut world, &mut inspector, 136);
    assert_eq!(seq(&inspector), 109, "where somebody put it");
    assert!(numbers(&inspector).is_sorted() && numbers(&inspector).ends_with(&[135, 136]));
    // Settled by then, and not asked for again: what came later is not known to be of it.
    drive(&mut world, &mut inspector, "v");
    assert_eq!(seq(&inspector), 109);
    drive(&mut world, &mut inspector, "v");
    assert_eq!((seq(&inspector), numbers(&inspector)[..3].to_vec()), (108, vec![107, 108, 110]), "all are folded");
}

#[test]
fn a_request_that_waits_shows_for_how_long() {
    let (_, mut inspector) = opened(9, true);
    let open = inspector.open.as_mut().unwrap();
    let mut waits = row(8);
    waits.row.latency_ns = None;
    open.rows.refresh(vec![waits], 20);
    for (now_unix_ns, expected) in [(8 + 3_400_000_000, " 3.40 s"), (8 + 65_000_000_000, " 1m05s")] {
        let _ = inspector.update(Input::Tick(now_unix_ns));
        let shown = lines(&inspector);
        let line = shown.iter().find(|line| line.contains("   8 ")).unwrap();
        assert!(line.contains(expected), "{shown:#?}");
    }
}
