//! Tests of the database's shape: landed migrations are frozen, and every version that was released still opens.

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::traffic::{OPENED_UNIX_NS, recorded, recorded_in, segments, start, told};
use crate::{EndReason, Recorder, SessionEnd, Store};

/// FNV-1a: enough to see that a file changed.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The hash of each migration that has landed. A line is added with a new one; none is ever changed.
const LANDED: [u64; 5] =
    [0xc1ce_2f36_c9f5_74b6, 0xf01c_a23f_189c_0bb9, 0xf81d_e4c5_cdc6_8da7, 0xeb90_33bd_27c6_426c, 0x0bc7_0b2d_2f38_65e3];

#[test]
fn a_migration_that_has_landed_is_never_changed() {
    assert_eq!(MIGRATIONS.map(hash), LANDED, "write a new migration instead");
}

/// What `tests/data/v1.db` holds.
const V1_SCRIPT: &str = r#"
-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"host","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"files","version":"2"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
!! ready
-> {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"read"}}
--
<- {"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"no such tool"}}
gap <- 4096
<- ol":true}
<- Traceback (most recent call last):
-> [{"jsonrpc":"2.0","id":1,"method":"ping"}]
end ->
"#;

/// What a reader is told about it.
const V1_TOLD: &str = r#"
session files server --flag live=false end=Some(SessionEnd { at_ns: 12000000, reason: Some(Exited(3)), lost_bytes: 4096 })
  10 frames, 8 messages, 3 calls, 3 errors, 542 bytes, Identity { client: Some("host 1"), server: Some("files 2"), revision: Some("2025-06-18") }
  1.0 1000000 request id=0 initialize Ok with 2.0 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"clientInfo\":{\"name\":\"host\",\"version\":\"1\"}}}\n" Newline
  2.0 2000000 result id=0 initialize Ok with 1.0 "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"serverInfo\":{\"name\":\"files\",\"version\":\"2\"}}}\n" Newline
  3.0 3000000 notification notifications/initialized "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n" Newline
  4.0 4000000 stderr "ready\n" Newline
  5.0 5000000 request id="a" tools/call (read) Error code=-32602 with 6.0 "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}\n" Newline
  6.0 7000000 error id="a" tools/call (read) Error code=-32602 with 5.0 "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32602,\"message\":\"no such tool\"}}\n" Newline
  7.0 8000000 gap lost=4096 Gap
  8.0 9000000 not JSON "ol\":true}\n" Newline
  9.0 10000000 not JSON "Traceback (most recent call last):\n" Newline
  10.0 11000000 batch "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n" Newline
  10.1 11000000 request id=1 ping Newline
"#;

/// Makes `tests/data/v1.db` when it is asked to. That is done once for each version of the schema, before the next one
/// lands, and never again.
#[test]
fn the_database_of_version_1_is_made_on_demand() {
    if std::env::var_os("MCP_TAP_MAKE_TEST_DATA").is_none() || SCHEMA_VERSION != 1 {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("v1.db");
    let mut recorder = Recorder::new(path.clone(), start("files", Some(1)), Box::new(|told| panic!("{told}")));
    for segment in segments(V1_SCRIPT) {
        recorder.record(vec![segment]);
    }
    recorder.finish(SessionEnd { at_ns: 12_000_000, reason: Some(EndReason::Exited(3)), lost_bytes: 4096 });
    let connection = open_for_writing(&path, Duration::ZERO).unwrap();
    checkpoint(&connection, "TRUNCATE").unwrap();
    drop(connection);
    std::fs::copy(&path, frozen()).unwrap();
}

/// What the session over HTTP in `tests/data/v2.db` holds.
fn v2_segments() -> Vec<tap_frame::Segment> {
    let json: &[(&str, &str)] = &[("content-type", "application/json")];
    let with_id = [json, &[("mcp-session-id", "redacted-1")]].concat();
    let stream = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let initialize = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"host","version":"1"}}}"#;
    let initialized = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"files","version":"2"}}}"#;
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
    let events = crate::http_traffic::gzip(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
    let exchange = crate::http_traffic::exchange;
    let mut pieces = exchange(1, ("POST /mcp", json, initialize), (200, &with_id, initialized));
    pieces.extend(exchange(2, ("POST /mcp", &with_id, call), (200, &stream, &events)));
    pieces.push(crate::http_traffic::What::Stderr(b"ready\n".to_vec()));
    pieces.extend(exchange(3, ("GET /favicon.ico", &[], b""), (404, &[("content-type", "text/html")], b"<html>")));
    pieces.push(crate::http_traffic::What::Gap(4, tap_frame::HttpPart::Request, 70));
    crate::http_traffic::pack(&pieces, &[9])
}

/// What a reader is told about it.
const V2_TOLD: &str = r#"
session remote server --flag live=false end=Some(SessionEnd { at_ns: 12000000, reason: Some(Stopped), lost_bytes: 70 })
  8 frames, 4 messages, 2 calls, 0 errors, 360 bytes, Identity { client: Some("host 1"), server: Some("files 2"), revision: Some("2025-06-18") }
  1.0 2000 request id=0 initialize Ok with 2.0 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"clientInfo\":{\"name\":\"host\",\"version\":\"1\"}}}" Newline
  2.0 6000 result id=0 initialize Ok with 1.0 "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"serverInfo\":{\"name\":\"files\",\"version\":\"2\"}}}" Newline
  3.0 9000 request id=1 tools/call (read) Ok with 4.0 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}" Newline
  4.0 12000 result id=1 tools/call (read) Ok with 3.0 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}" Newline
  5.0 14000 stderr "ready\n" Newline
  6.0 16000 exchange GET (/favicon.ico) Error code=404 with 6.0 "" Newline
  7.0 20000 body "<html>" Newline
  8.0 21000 gap lost=70 Gap
"#;

/// Makes `tests/data/v2.db` when it is asked to, as with version 1.
#[test]
fn the_database_of_version_2_is_made_on_demand() {
    if std::env::var_os("MCP_TAP_MAKE_TEST_DATA").is_none() || SCHEMA_VERSION != 2 {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("v2.db");
    let start = crate::traffic::http_start("remote", Some(1));
    let mut recorder = Recorder::new(path.clone(), start, Box::new(|told| panic!("{told}")));
    for segment in v2_segments() {
        recorder.record(vec![segment]);
    }
    recorder.finish(SessionEnd { at_ns: 12_000_000, reason: Some(EndReason::Stopped), lost_bytes: 70 });
    let connection = open_for_writing(&path, Duration::ZERO).unwrap();
    checkpoint(&connection, "TRUNCATE").unwrap();
    drop(connection);
    std::fs::copy(&path, frozen_of(2)).unwrap();
}

/// What is told about the database of version 3: that of version 1, with what a person said about it. A session that was
/// deleted is not there.
#[test]
fn a_database_of_version_3_is_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    std::fs::copy(frozen_of(3), &path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(told(&store).trim(), V1_TOLD.trim());
    let session = &store.sessions().unwrap()[0];
    assert_eq!(session.label.as_deref(), Some("before-fix"));
    assert_eq!(store.bookmarks(session.id).unwrap(), v3_marks());
    // Its number is remembered.
    let next = store.put_in(&start("next", None), std::iter::empty(), || None).unwrap();
    assert_eq!((session.id.0, next.0), (1, 3));
}

fn v3_marks() -> Vec<crate::Bookmark> {
    let at = |seq, member| tap_session::At { seq, member };
    let mark = |at, name: Option<&str>, note: Option<&str>| crate::Bookmark {
        at,
        name: name.map(Into::into),
        note: note.map(Into::into),
    };
    vec![
        mark(at(5, 0), None, None),
        mark(at(6, 0), Some("first"), Some("no such tool")),
        mark(at(10, 1), None, Some("?")),
    ]
}

/// Makes `tests/data/v3.db` when it is asked to, as with version 1.
#[test]
fn the_database_of_version_3_is_made_on_demand() {
    if std::env::var_os("MCP_TAP_MAKE_TEST_DATA").is_none() || SCHEMA_VERSION != 3 {
        return;
    }
    let (_folder, path) = changed("");
    let store = Store::open(&path).unwrap();
    let id = store.sessions().unwrap()[0].id;
    store.set_label(id, Some("before-fix")).unwrap().unwrap();
    for mark in v3_marks() {
        store.set_bookmark(id, &mark).unwrap().unwrap();
    }
    let other = store.put_in(&start("other", None), segments(V1_SCRIPT).into_iter().map(Ok), || None).unwrap();
    store.delete(other).unwrap().unwrap();
    checkpoint(&store.connection.borrow(), "TRUNCATE").unwrap();
    drop(store);
    std::fs::copy(&path, frozen_of(3)).unwrap();
}

/// What `tests/data/v4.db` holds: acts on the first request to the server, on the answer of the second, and on none.
const V4_SCRIPT: &str = r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
@@ held -> 0
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
@@ edited -> 0 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"c"}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
--
@@ dropped <- 0
@@ injected -> none {"jsonrpc":"2.0","id":"tap-1","method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#;

fn make_v4(path: &Path) {
    let mut recorder = Recorder::new(path.into(), start("files", Some(1)), Box::new(|told| panic!("{told}")));
    for segment in segments(V4_SCRIPT) {
        recorder.record(vec![segment]);
    }
    recorder.finish(SessionEnd { at_ns: 12_000_000, reason: Some(EndReason::Exited(0)), lost_bytes: 0 });
    let connection = open_for_writing(path, Duration::ZERO).unwrap();
    checkpoint(&connection, "TRUNCATE").unwrap();
}

/// Makes `tests/data/v4.db` when it is asked to, as with version 1.
#[test]
fn the_database_of_version_4_is_made_on_demand() {
    if std::env::var_os("MCP_TAP_MAKE_TEST_DATA").is_none() || SCHEMA_VERSION != 4 {
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("v4.db");
    make_v4(&path);
    std::fs::copy(&path, frozen_of(4)).unwrap();
}

#[test]
fn a_database_of_version_4_is_read_with_what_was_done() {
    let folder = TempDir::new().unwrap();
    let [path, again] = ["recordings.db", "again.db"].map(|name| folder.path().join(name));
    std::fs::copy(frozen_of(4), &path).unwrap();
    make_v4(&again);
    let store = Store::open(&path).unwrap();
    let told = told(&store);
    assert_eq!(told, crate::traffic::told(&Store::open(&again).unwrap()));
    for part in [
        "1.0 1000000 request id=1 tools/call (a) Ok with 8.0 edited with 4.0",
        "4.0 4000000 request id=1 tools/call (c) Ok with 8.0 made by edited with 1.0",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let session = store.sessions().unwrap().remove(0).id;
    assert_eq!(store.kept_back(session).unwrap().into_iter().collect::<Vec<_>>(), [1, 5]);
    assert_eq!(recorded(&store, session), recorded_in(&segments(V4_SCRIPT)));
}

fn frozen_of(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/v{version}.db"))
}

fn frozen() -> PathBuf {
    frozen_of(1)
}

#[test]
fn a_database_of_version_2_is_read_also_without_its_derived_tables() {
    for change in ["", "DROP TABLE derived_version;", "UPDATE digest SET position = 'nonsense', finished = 0;"] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("recordings.db");
        std::fs::copy(frozen_of(2), &path).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(told(&store).trim(), V2_TOLD.trim(), "{change}");
        let id = store.sessions().unwrap()[0].id;
        let conversations = store.conversations(id).unwrap();
        let [one] = &conversations[..] else { panic!("{conversations:?}") };
        assert_eq!((one.number.0, one.n_messages, one.n_calls, one.n_errors), (1, 4, 2, 0));
        let statuses = store.exchanges(id, 1, 9).unwrap().into_iter().map(|exchange| exchange.status);
        assert_eq!(statuses.collect::<Vec<_>>(), [Some(200), Some(200), Some(404)]);
    }
}

/// A copy of the frozen database, after `change`.
fn changed(change: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    std::fs::copy(frozen(), &path).unwrap();
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    (folder, path)
}

/// What is told about the frozen database after `change` is what it was made of.
#[track_caller]
fn check(change: &str) {
    let (_folder, path) = changed(change);
    assert_eq!(told(&Store::open(&path).unwrap()).trim(), V1_TOLD.trim());
}

#[test]
fn a_database_of_version_1_is_read() {
    check("");
    let (_folder, path) = changed("");
    let store = Store::open(&path).unwrap();
    let session = &store.sessions().unwrap()[0];
    assert_eq!(recorded(&store, session.id), recorded_in(&segments(V1_SCRIPT)));
    let expected = crate::SessionStart { tap_pid: Some(1), ..start("files", None) };
    assert_eq!((&session.start, session.start.opened_unix_ns), (&expected, OPENED_UNIX_NS));
}

#[test]
fn derived_tables_that_were_dropped_come_back_equal() {
    for dropped in [
        "DROP TABLE message; DROP TABLE digest; DROP TABLE derived_version;",
        "DROP TABLE derived_version;",
        "DELETE FROM derived_version;",
        "DELETE FROM message; DELETE FROM digest;",
        "UPDATE derived_version SET version = 0; DROP TABLE message; CREATE TABLE message (other);",
        "UPDATE digest SET position = 'nonsense', finished = 0;",
    ] {
        check(dropped);
    }
}

#[test]
fn derived_tables_of_a_newer_version_are_left_alone_and_the_recording_is_read() {
    let newer = "UPDATE derived_version SET version = 99; DROP TABLE message; DROP TABLE digest;
                 CREATE TABLE message (of_another_shape); INSERT INTO message VALUES (7);";
    check(newer);
    let (_folder, path) = changed(newer);
    drop(Store::open(&path).unwrap());
    let kept = "SELECT version + of_another_shape FROM derived_version, message";
    let kept: i64 = Connection::open(&path).unwrap().query_row(kept, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 106);
}

#[test]
fn a_database_of_a_newer_schema_is_refused_and_not_touched() {
    let newer = SCHEMA_VERSION + 1;
    let (_folder, path) = changed(&format!("PRAGMA user_version = {newer}"));
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::TooNew { known: SCHEMA_VERSION, .. }), "{error}");
    let says = format!("has schema {newer}, and this mcp-tap knows up to {SCHEMA_VERSION}: update mcp-tap to open it");
    assert!(error.to_string().ends_with(&says), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_not_ours_is_refused_and_not_touched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::NotARecording { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);

    std::fs::write(&path, "not a database, but long enough to have a header of one".repeat(20)).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Corrupt { .. })));
    assert!(matches!(Store::open(&folder.path().join("none.db")), Err(StoreError::Missing { .. })));
}

#[test]
fn a_new_database_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new/recordings.db");
    let _store = Store::open_or_create(&path).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}
