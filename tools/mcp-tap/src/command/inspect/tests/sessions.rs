//! The list of sessions over a real database: sorting, labels, deleting, what is beside it, and an empty one.

use tap_store::{EndReason, Recorder, SessionEnd, SessionStart, Store, Transport, import};

use super::*;
use crate::reference::new_uuid;

/// A database of several recordings, the newest first: modern, broken, demo.
fn database() -> (tempfile::TempDir, Opened) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&folder.path().join("tap.db")).unwrap();
    for name in ["demo.jsonl", "broken.jsonl", "modern.jsonl"] {
        let text = std::fs::read(top().join("recordings").join(name)).unwrap();
        import(&store, std::io::Cursor::new(&text[..]), name.as_ref(), &new_uuid()).unwrap();
    }
    (folder, Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false })
}

fn names(opened: &Opened) -> Vec<String> {
    opened.store.sessions().unwrap().into_iter().map(|session| session.start.name).collect()
}

#[test]
fn sessions_are_sorted_judged_and_told_about() {
    let (_folder, opened) = database();
    look_at(&opened, LARGE, false, |bench| assert_snapshot!("sessions_panel", bench.screen()));
    look_at(&opened, SMALL, false, |bench| {
        bench.press("o o o m j");
        assert_snapshot!("sessions_by_errors", bench.screen());
    });
}

#[test]
fn the_cursor_stays_on_its_session_when_the_order_changes() {
    let (_folder, opened) = database();
    look_at(&opened, SMALL, false, |bench| {
        bench.press("j j");
        let mut now_unix_ns = NOW_UNIX_NS;
        for _ in 0..7 {
            bench.press("o");
            // What was said is over by then.
            now_unix_ns += 9_000_000_000;
            bench.feed(Input::Tick(now_unix_ns));
            assert!(bench.screen().lines().rev().nth(1).unwrap().starts_with(" demo  "), "{}", bench.screen());
        }
    });
}

#[test]
fn a_session_is_deleted_when_that_is_confirmed_and_not_otherwise() {
    let (_folder, opened) = database();
    look_at(&opened, SMALL, false, |bench| {
        for (keys, n_left) in [("del n", 3), ("del esc", 3), ("del enter", 3), ("j del y", 2), ("del y del y", 0)] {
            bench.press(keys);
            assert_eq!(names(&opened).len(), n_left, "{keys}");
        }
        assert!(bench.screen().contains("Nothing was recorded yet"), "{}", bench.screen());
    });
}

#[test]
fn a_session_that_is_live_is_not_deleted_and_it_is_said_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tap.db");
    let start = SessionStart {
        uuid: new_uuid(),
        name: "now".into(),
        transport: Transport::Stdio,
        command: vec!["server".into()],
        folder: "/".into(),
        environment: Vec::new(),
        recorded_by: "test".into(),
        tap_pid: Some(std::process::id()),
        server_pid: None,
        opened_unix_ns: NOW_UNIX_NS,
    };
    let mut recorder = Recorder::new(path.clone(), start, Box::new(|told| panic!("{told}")));
    recorder.record(Vec::new());
    recorder.record(vec![tap_frame::Segment::default()]);
    let opened = Opened { store: Store::open(&path).unwrap(), first_seq: 1, zone: TimeZone::UTC, is_text: false };
    look_at(&opened, SMALL, false, |bench| {
        bench.press("del y");
        assert!(bench.screen().contains("it can be deleted when it is over"), "{}", bench.screen());
    });
    assert_eq!(names(&opened), ["now"]);
    recorder.finish(SessionEnd { at_ns: 1, reason: Some(EndReason::Exited(0)), lost_bytes: 0 });
}

#[test]
fn a_label_is_given_changed_refused_and_taken_away() {
    let (_folder, opened) = database();
    let labels = || -> Vec<Option<String>> {
        opened.store.sessions().unwrap().into_iter().map(|session| session.label).collect()
    };
    look_at(&opened, SMALL, false, |bench| {
        for (keys, first, said) in [
            ("L 'before-fix' enter", Some("before-fix"), "it is @before-fix now"),
            ("L ctrl-u '@good' enter", Some("good"), "it is @good now"),
            ("L '+bad' enter", Some("good"), "is no name"),
            ("j L 'good' enter k", Some("good"), "is taken"),
            ("L ctrl-u 'x' esc", Some("good"), ""),
            ("L ctrl-u enter", None, "no label any more"),
        ] {
            bench.press(keys);
            assert_eq!(labels()[0].as_deref(), first, "{keys}");
            assert!(bench.screen().contains(said), "{keys}: {said}\n{}", bench.screen());
        }
    });
}

#[test]
fn two_sessions_are_chosen_to_be_compared() {
    let (_folder, opened) = database();
    for (keys, view) in [
        ("m j D", tap_inspector::View::Compare),
        ("D j D", tap_inspector::View::Compare),
        ("m D", tap_inspector::View::Sessions),
        ("m m j D", tap_inspector::View::Sessions),
    ] {
        look_at(&opened, SMALL, false, |bench| {
            bench.press(keys);
            assert_eq!(bench.inspector.view_now(), view, "{keys}");
        });
    }
}

#[test]
fn where_nothing_was_recorded_it_is_told_how_to_begin() {
    let opened = Opened { store: Store::in_memory().unwrap(), first_seq: 1, zone: TimeZone::UTC, is_text: true };
    look_at(&opened, SMALL, false, |bench| {
        assert_snapshot!("sessions_none", bench.screen());
        bench.press("d del L D m o");
        assert_eq!(bench.done, ["demo"]);
    });
}

#[test]
fn a_text_recording_says_that_it_stays_as_it_is() {
    let said = |keys: &str| {
        look("demo.jsonl", LARGE, false, |bench| {
            bench.press(keys);
            bench.screen()
        })
    };
    assert!(said("del y").contains("this is a text recording; delete the file"));
    assert!(said("L 'x' enter").contains("until the inspector ends"));
}
