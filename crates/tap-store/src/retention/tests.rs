//! Tests of what goes and what stays, that the file gets shorter, and that what is taken over is whole.

use tempfile::TempDir;

use super::*;
use crate::traffic::{segments, start};
use crate::{Bookmark, SessionEnd, SessionStart};

const HOUR_NS: u64 = 3_600_000_000_000;

/// A conversation of about so many bytes.
fn script(n_bytes: usize) -> String {
    let text = "x".repeat(n_bytes);
    format!(
        "-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"read\"}}}}\n\
         <- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    )
}

/// Puts a session in that was opened so many hours after the epoch.
fn put(store: &Store, name: &str, hour: u64, n_bytes: usize) -> SessionId {
    let begun = SessionStart { opened_unix_ns: hour * HOUR_NS, ..start(name, None) };
    let end = || Some(SessionEnd { at_ns: 1, reason: None, lost_bytes: 0 });
    let id = store.put_in(&begun, segments(&script(n_bytes)).into_iter().map(Ok), end).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    id
}

fn names(store: &Store) -> Vec<String> {
    store.sessions().unwrap().into_iter().rev().map(|session| session.start.name).collect()
}

fn database() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open_or_create(&folder.path().join("tap.db")).unwrap();
    (folder, store)
}

fn prune(store: &Store, limits: Limits) -> Vec<(String, Goes)> {
    let expected: Vec<String> =
        store.prunable(&limits).unwrap().into_iter().map(|(session, ..)| session.start.name).collect();
    let mut gone = Vec::new();
    store.prune(&limits, |session, why| gone.push((session.start.name.clone(), why))).unwrap();
    // What is foretold is what happens, where it goes by age.
    if limits.most_bytes.is_none() {
        assert_eq!(gone.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), expected);
    }
    gone
}

#[test]
fn what_is_older_goes_and_what_somebody_marked_stays() {
    let (_folder, store) = database();
    for (name, hour) in [("newest", 9), ("labelled", 1), ("marked", 2), ("old", 3), ("older", 1), ("edge", 5)] {
        let id = put(&store, name, hour, 10);
        match name {
            "labelled" => store.set_label(id, Some("keep")).unwrap().unwrap(),
            "marked" => {
                let at = tap_session::At { seq: 1, member: 0 };
                store.set_bookmark(id, &Bookmark { at, name: None, note: None }).unwrap().unwrap();
            }
            _ => {}
        }
    }
    let limits = Limits { oldest_unix_ns: Some(5 * HOUR_NS), most_bytes: None };
    // The oldest first, whatever the order they were put in.
    assert_eq!(prune(&store, limits), [("older".into(), Goes::TooOld), ("old".into(), Goes::TooOld)]);
    assert_eq!(names(&store), ["newest", "labelled", "marked", "edge"]);
    assert_eq!(prune(&store, limits), []);
    assert_eq!(prune(&store, Limits::default()), []);
}

#[test]
fn the_oldest_go_until_there_is_room_and_the_file_gets_shorter() {
    let (folder, store) = database();
    for hour in 1..=8 {
        put(&store, &format!("s{hour}"), hour, 2_000_000);
    }
    store.give_back(|_| {}).unwrap();
    let path = folder.path().join("tap.db");
    let on_disk = || std::fs::metadata(&path).unwrap().len();
    let (before, used) = (on_disk(), store.used_bytes().unwrap());
    assert!(before >= 16_000_000 && used >= 16_000_000, "{before} {used}");
    let gone = prune(&store, Limits { oldest_unix_ns: None, most_bytes: Some(7_000_000) });
    assert_eq!(gone.first(), Some(&("s1".into(), Goes::TooMuch)));
    assert_eq!(names(&store), ["s6", "s7", "s8"]);
    assert!(store.used_bytes().unwrap() <= 7_000_000);
    // Another reader is there, and what it has read is over.
    let reader = Store::open(&path).unwrap();
    assert_eq!(reader.sessions().unwrap().len(), 3);
    let mut shares = Vec::new();
    store.give_back(|share| shares.push(share)).unwrap();
    assert!(on_disk() <= 7_000_000, "{}", on_disk());
    assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
    assert_eq!(names(&reader), ["s6", "s7", "s8"]);
}

#[test]
fn a_database_that_was_not_made_for_it_gives_room_back_too() {
    let (folder, store) = database();
    let path = folder.path().join("tap.db");
    // As older versions made them.
    store.connection.borrow().execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
    assert_eq!(pragma(&store.connection.borrow(), "auto_vacuum").unwrap(), 0);
    for hour in 1..=3 {
        put(&store, &format!("s{hour}"), hour, 3_000_000);
    }
    prune(&store, Limits { oldest_unix_ns: Some(3 * HOUR_NS), most_bytes: None });
    store.give_back(|_| {}).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 5_000_000);
    assert_eq!(pragma(&store.connection.borrow(), "auto_vacuum").unwrap(), INCREMENTAL);
    let kept = store.sessions().unwrap();
    assert_eq!(kept.len(), 1);
    let whole = store.frames(kept[0].id, 1).map(|frame| frame.unwrap().bytes.len()).sum::<usize>();
    assert!(whole > 3_000_000);
    // Of a new one it is true from the beginning.
    let (_other, new) = database();
    assert_eq!(pragma(&new.connection.borrow(), "auto_vacuum").unwrap(), INCREMENTAL);
}

#[test]
fn sessions_of_another_database_are_taken_over_once_and_whole() {
    let ((_one, to), (_two, from)) = (database(), database());
    let mine = put(&to, "mine", 1, 10);
    to.set_label(mine, Some("good")).unwrap().unwrap();
    let theirs = put(&from, "theirs", 2, 500_000);
    from.set_label(theirs, Some("good")).unwrap().unwrap();
    let at = tap_session::At { seq: 2, member: 0 };
    let mark = Bookmark { at, name: Some("here".into()), note: Some("look".into()) };
    from.set_bookmark(theirs, &mark).unwrap().unwrap();
    let second = put(&from, "second", 3, 10);
    from.set_label(second, Some("best")).unwrap().unwrap();
    let merged = to.merge(&from, |_, _| {}).unwrap();
    assert_eq!(merged, Merged { n_taken: 2, n_known: 0, n_live: 0, labels_taken: vec!["good".into()] });
    assert_eq!(names(&to), ["mine", "theirs", "second"]);
    let sessions = to.sessions().unwrap();
    let (second, taken) = (&sessions[0], &sessions[1]);
    assert_eq!(second.label.as_deref(), Some("best"));
    assert_eq!(to.bookmarks(taken.id).unwrap(), [mark]);
    let bytes = |store: &Store, id| store.frames(id, 1).map(|frame| frame.unwrap().bytes).collect::<Vec<_>>();
    to.catch_up(taken.id, |_| {}).unwrap();
    assert_eq!(bytes(&to, taken.id), bytes(&from, theirs));
    assert_eq!(taken.end, from.session(theirs).unwrap().unwrap().end);
    let again = to.merge(&from, |_, _| {}).unwrap();
    assert_eq!((again.n_taken, again.n_known), (0, 2));
}

#[test]
fn one_process_at_a_time_takes_away_by_itself() {
    let (folder, store) = database();
    let other = Store::open(&folder.path().join("tap.db")).unwrap();
    let held = store.keepers_lock().unwrap();
    assert!(held.is_some() && other.keepers_lock().unwrap().is_none());
    drop(held);
    assert!(other.keepers_lock().unwrap().is_some());
}
