//! Marks, bookmarks and notes: kept in the database, found again, and refused where they cannot be.

use tap_session::At;
use tap_store::{Bookmark, Store, import};

use super::*;
use crate::reference::new_uuid;

fn database() -> (tempfile::TempDir, Opened) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&folder.path().join("tap.db")).unwrap();
    let text = std::fs::read(top().join("recordings/demo.jsonl")).unwrap();
    import(&store, std::io::Cursor::new(&text[..]), "demo".as_ref(), &new_uuid()).unwrap();
    (folder, Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false })
}

fn marks(opened: &Opened) -> Vec<Bookmark> {
    opened.store.bookmarks(opened.store.sessions().unwrap()[0].id).unwrap()
}

fn mark(seq: u64, name: Option<&str>, note: Option<&str>) -> Bookmark {
    Bookmark { at: At { seq, member: 0 }, name: name.map(Into::into), note: note.map(Into::into) }
}

#[test]
fn what_is_said_about_messages_stays() {
    let (_folder, opened) = database();
    look_at(&opened, SMALL, true, |bench| {
        bench.press("m # '9' enter b 'first' enter # '10' enter ; 'why+Atlantis?' enter b 'second' enter");
    });
    let kept = [mark(1, None, None), mark(9, Some("first"), None), mark(10, Some("second"), Some("why Atlantis?"))];
    assert_eq!(marks(&opened), kept);
    look_at(&opened, SMALL, true, |bench| {
        // The bookmark of an answer is seen at its call, and gone to by its name.
        bench.press("# '@second' enter");
        assert_snapshot!("marks", bench.screen());
        for (keys, done) in [("' Y", "demo:1"), ("' Y", "demo:9"), ("' Y", "demo:10"), ("\" Y", "demo:9")] {
            bench.done.clear();
            bench.press(keys);
            assert_eq!(bench.done, [format!("copy {done}")], "{keys}");
        }
        bench.press("4");
        assert!(bench.screen().contains("*"), "marks stand on the strip");
    });
}

#[test]
fn marks_are_changed_and_taken_away() {
    let (_folder, opened) = database();
    look_at(&opened, SMALL, true, |bench| {
        for (keys, expected, said) in [
            ("m", vec![mark(1, None, None)], "marked"),
            ("m", vec![], "no mark any more"),
            ("b 'a' enter", vec![mark(1, Some("a"), None)], "it is @a now"),
            ("m", vec![mark(1, Some("a"), None)], "b and ; with nothing"),
            ("b ctrl-u '@b' enter", vec![mark(1, Some("b"), None)], "it is @b now"),
            ("; 'note' enter", vec![mark(1, Some("b"), Some("note"))], "it is @b now"),
            ("b ctrl-u enter", vec![mark(1, None, Some("note"))], "marked"),
            ("; ctrl-u enter", vec![], "no mark any more"),
            ("b 'a+b' enter", vec![], "is no name"),
            ("b 'a' enter j b 'a' enter", vec![mark(1, Some("a"), None)], "`a` is taken"),
            ("b 'x' esc", vec![mark(1, Some("a"), None)], ""),
            ("# '@none' enter", vec![mark(1, Some("a"), None)], "no bookmark @none"),
        ] {
            bench.press(keys);
            assert_eq!(marks(&opened), expected, "{keys}");
            assert!(bench.screen().contains(said), "{keys}: {said}\n{}", bench.screen());
        }
    });
}

#[test]
fn of_a_text_recording_they_last_until_the_end_and_that_is_said() {
    look("demo.jsonl", LARGE, true, |bench| {
        bench.press("b 'a' enter");
        assert!(bench.screen().contains("until the inspector ends"), "{}", bench.screen());
        bench.press("G # '@a' enter Y");
        assert_eq!(bench.done, ["copy demo:1"]);
    });
}
