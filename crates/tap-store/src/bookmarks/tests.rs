//! Tests of labels, marks and deleting: what is refused, and that nothing of a session stays.

use tempfile::TempDir;

use super::*;
use crate::traffic::{segments, start, told};
use crate::{EndReason, ListKind, Part, Recorder, SessionEnd};

const SCRIPT: &str = r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}
<- {"jsonrpc":"2.0","id":1,"result":{}}
"#;

fn at(seq: u64) -> At {
    At { seq, member: 0 }
}

fn mark(seq: u64, name: Option<&str>, note: Option<&str>) -> Bookmark {
    Bookmark { at: at(seq), name: name.map(Into::into), note: note.map(Into::into) }
}

/// A database with so many sessions.
fn database(n: u64) -> (TempDir, Store, Vec<SessionId>) {
    let folder = TempDir::new().unwrap();
    let store = Store::open_or_create(&folder.path().join("tap.db")).unwrap();
    let ids = (0..n).map(|number| put(&store, &format!("s{number}"))).collect();
    (folder, store, ids)
}

fn put(store: &Store, name: &str) -> SessionId {
    let id = store.put_in(&start(name, None), segments(SCRIPT).into_iter().map(Ok), || None).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    id
}

#[test]
fn a_label_names_one_session() {
    let (_folder, store, ids) = database(2);
    let labels = || -> Vec<Option<String>> {
        store.sessions().unwrap().into_iter().rev().map(|session| session.label).collect()
    };
    store.set_label(ids[0], Some("good")).unwrap().unwrap();
    assert_eq!(store.set_label(ids[1], Some("good")).unwrap(), Err(Refused::Taken("good".into())));
    store.set_label(ids[0], Some("good")).unwrap().unwrap();
    assert_eq!(labels(), [Some("good".into()), None]);
    store.set_label(ids[0], Some("better.1")).unwrap().unwrap();
    store.set_label(ids[1], Some("good")).unwrap().unwrap();
    assert_eq!(labels(), [Some("better.1".into()), Some("good".into())]);
    store.set_label(ids[0], None).unwrap().unwrap();
    assert_eq!(labels(), [None, Some("good".into())]);
    for text in ["", "a b", "a/b", "a:1", "@a", "$x", "a\u{1b}[2J", &"x".repeat(61)] {
        assert_eq!(store.set_label(ids[0], Some(text)).unwrap(), Err(Refused::NotAName(text.into())));
    }
    assert_eq!(store.set_label(SessionId(77), Some("x")).unwrap(), Err(Refused::Gone));
}

#[test]
fn a_message_has_one_mark_and_a_name_is_of_one_message() {
    let (_folder, store, ids) = database(2);
    let id = ids[0];
    for (mark, expected) in [
        (mark(2, None, None), Ok(())),
        (mark(1, Some("a"), None), Ok(())),
        (mark(1, Some("a"), Some("a note\nof two lines")), Ok(())),
        (mark(2, Some("a"), None), Err(Refused::Taken("a".into()))),
        (mark(2, Some("b c"), None), Err(Refused::NotAName("b c".into()))),
        (mark(2, None, Some(&"x".repeat(2_001))), Err(Refused::TooLong)),
        (mark(2, Some("b"), None), Ok(())),
    ] {
        assert_eq!(store.set_bookmark(id, &mark).unwrap(), expected, "{mark:?}");
    }
    assert_eq!(
        store.bookmarks(id).unwrap(),
        [mark(1, Some("a"), Some("a note\nof two lines")), mark(2, Some("b"), None)]
    );
    assert_eq!(store.bookmarks(ids[1]).unwrap(), []);
    assert_eq!(store.set_bookmark(ids[1], &mark(1, Some("a"), None)).unwrap(), Ok(()), "of another session");
    store.remove_bookmark(id, at(1)).unwrap();
    store.remove_bookmark(id, at(1)).unwrap();
    assert_eq!(store.bookmarks(id).unwrap(), [mark(2, Some("b"), None)]);
}

/// How many rows any table has of a session, but for the list of what was deleted.
fn rows_of(store: &Store, session: SessionId) -> i64 {
    let tables = ["message", "exchange", "conversation", "digest", "segment", "label", "mark"];
    let connection = store.connection.borrow();
    let count = |table: &str| -> i64 {
        let select = format!("SELECT count(*) FROM {table} WHERE session = ?");
        connection.query_row(&select, [session.0], |row| row.get(0)).unwrap()
    };
    let own: i64 =
        connection.query_row("SELECT count(*) FROM session WHERE id = ?", [session.0], |row| row.get(0)).unwrap();
    own + tables.into_iter().map(count).sum::<i64>()
}

#[test]
fn a_session_is_deleted_with_all_that_it_owns_and_others_stay() {
    let (_folder, store, ids) = database(3);
    for id in &ids {
        store.set_label(*id, Some(&format!("l{}", id.0))).unwrap().unwrap();
        store.set_bookmark(*id, &mark(1, Some("a"), None)).unwrap().unwrap();
        assert_eq!(rows_of(&store, *id), 7);
    }
    let others = |name: &str| told(&store).split("session ").filter(|told| !told.starts_with(name)).collect::<String>();
    let before = others("s1");
    store.delete(ids[1]).unwrap().unwrap();
    assert_eq!(rows_of(&store, ids[1]), 0);
    assert_eq!(others("s1"), before);
    assert_eq!(store.delete(ids[1]).unwrap(), Err(Refused::Gone));
    assert_eq!(store.list(ids[1], ListKind::Frames, Part::From(0), 9).unwrap(), []);
    // The label is free again, and so is the uuid.
    store.set_label(ids[0], Some("l2")).unwrap().unwrap();
}

#[test]
fn names_are_free_as_soon_as_their_session_is_hidden() {
    let (_folder, store, ids) = database(2);
    store.set_label(ids[0], Some("wanted")).unwrap().unwrap();
    store.set_bookmark(ids[0], &mark(1, Some("a"), None)).unwrap().unwrap();
    // What a session owns cannot be taken away, so its row stays.
    store
        .connection
        .borrow()
        .execute_batch("CREATE TEMP TRIGGER stop BEFORE DELETE ON main.segment BEGIN SELECT RAISE(ABORT, 'stop'); END")
        .unwrap();
    store.delete(ids[0]).unwrap_err();
    assert!(rows_of(&store, ids[0]) > 0);
    assert_eq!(store.bookmarks(ids[0]).unwrap(), []);
    store.set_label(ids[1], Some("wanted")).unwrap().unwrap();
}

#[test]
fn the_number_of_a_session_that_was_deleted_is_never_given_again() {
    let (_folder, store, ids) = database(3);
    store.delete(ids[2]).unwrap().unwrap();
    store.delete(ids[1]).unwrap().unwrap();
    assert_eq!(put(&store, "next").0, 4);
    store.delete(SessionId(4)).unwrap().unwrap();
    store.delete(ids[0]).unwrap().unwrap();
    assert_eq!(put(&store, "next").0, 5);
    let n_left: i64 =
        store.connection.borrow().query_row("SELECT count(*) FROM deleted", [], |row| row.get(0)).unwrap();
    assert_eq!(n_left, 1, "those below the highest need not be remembered");
}

#[test]
fn a_deletion_that_was_broken_off_hides_the_session_and_is_ended_by_the_next() {
    let (_folder, store, ids) = database(3);
    store.connection.borrow().execute("INSERT INTO deleted VALUES (?)", [ids[0].0]).unwrap();
    assert_eq!(store.sessions().unwrap().len(), 2);
    assert_eq!(store.set_label(ids[0], Some("x")).unwrap(), Err(Refused::Gone));
    assert!(rows_of(&store, ids[0]) > 0);
    // Nor does it keep a label from others, also one that an older version left.
    let label = "INSERT INTO label VALUES (?, 'kept')";
    store.connection.borrow().execute(label, [ids[0].0]).unwrap();
    store.set_label(ids[2], Some("kept")).unwrap().unwrap();
    store.delete(ids[1]).unwrap().unwrap();
    assert_eq!((rows_of(&store, ids[0]), rows_of(&store, ids[1])), (0, 0));
    assert_eq!(store.sessions().unwrap().len(), 1);
}

#[test]
fn a_live_session_is_not_deleted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tap.db");
    let mut recorder = Recorder::new(path.clone(), start("live", Some(1)), Box::new(|told| panic!("{told}")));
    recorder.record(segments(SCRIPT));
    let store = Store::open(&path).unwrap();
    let id = store.sessions().unwrap()[0].id;
    assert_eq!(store.delete(id).unwrap(), Err(Refused::Live));
    store.set_label(id, Some("now")).unwrap().unwrap();
    recorder.finish(SessionEnd { at_ns: 9, reason: Some(EndReason::Exited(0)), lost_bytes: 0 });
    assert_eq!(store.sessions().unwrap()[0].label.as_deref(), Some("now"));
    store.delete(id).unwrap().unwrap();
    assert_eq!(store.sessions().unwrap(), []);
}

#[test]
fn a_session_of_many_messages_goes_in_steps() {
    let (_folder, store, ids) = database(1);
    let script = SCRIPT.trim().lines().map(str::to_owned).collect::<Vec<_>>();
    let many = (0..6_000).flat_map(|_| script.clone()).collect::<Vec<_>>().join("\n");
    let id = store.put_in(&start("many", None), segments(&many).into_iter().map(Ok), || None).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    assert!(rows_of(&store, id) > 2 * DELETED_AT_ONCE);
    store.delete(id).unwrap().unwrap();
    assert_eq!(rows_of(&store, id), 0);
    assert!(rows_of(&store, ids[0]) > 0);
}

#[test]
fn a_database_that_cannot_be_written_is_read_and_says_so() {
    let (folder, store, ids) = database(1);
    let path = store.path().to_owned();
    store.set_label(ids[0], Some("x")).unwrap().unwrap();
    drop(store);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    if nix::unistd::geteuid().is_root() {
        println!("skipped: whoever is root may write everything");
        return;
    }
    let store = Store::open(&path).unwrap();
    assert_eq!(store.sessions().unwrap()[0].label.as_deref(), Some("x"));
    let error = store.set_label(ids[0], None).unwrap_err();
    assert!(error.forbids_writing(), "{error}");
    assert!(store.delete(ids[0]).unwrap_err().forbids_writing());
    drop(folder);
}
