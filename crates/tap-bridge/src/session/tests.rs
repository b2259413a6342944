//! Where the messages of one session's server go.

use super::*;

/// What was done, one line each.
fn told(router: &mut SessionRouter) -> Vec<String> {
    let utf8 = |bytes: &Bytes| String::from_utf8_lossy(bytes).trim_end().to_owned();
    std::iter::from_fn(|| router.poll())
        .map(|output| match output {
            Output::ToChild(line) => format!("child {}", utf8(&line)),
            Output::Message { exchange, bytes } => format!("{exchange} {}", utf8(&bytes)),
            Output::Last { exchange, bytes, status } => format!("{exchange} last {status} {}", utf8(&bytes)),
            Output::Close { exchange } => format!("{exchange} close"),
            Output::Tell(notice) => format!("tell {notice}"),
            Output::End => "end".into(),
        })
        .collect()
}

fn post(router: &mut SessionRouter, exchange: u64, body: &str) {
    router.post(exchange, &Incoming::read(body.as_bytes()), &Bytes::copy_from_slice(body.as_bytes()));
}

fn line(router: &mut SessionRouter, line: &str) {
    router.child_line(&Bytes::copy_from_slice(format!("{line}\n").as_bytes()));
}

/// A session with these calls open on exchanges from 1 on, and perhaps a stream on exchange 9.
fn with(calls: &[&str], listens: bool) -> SessionRouter {
    let mut router = SessionRouter::default();
    for (index, call) in calls.iter().enumerate() {
        post(&mut router, 1 + index as u64, call);
    }
    if listens {
        router.listen(9);
    }
    told(&mut router);
    router
}

const CALL: &str = r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}"#;
const OTHER: &str = r#"{"id":2,"method":"tools/call","params":{"_meta":{"progressToken":7}}}"#;

#[test]
fn messages_go_where_they_belong() {
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":"p"}}"#;
    let other_progress = r#"{"method":"notifications/progress","params":{"progressToken":"7"}}"#;
    let asks = r#"{"id":1,"method":"roots/list"}"#;
    let log = r#"{"method":"notifications/message"}"#;
    let changed = r#"{"method":"notifications/tools/list_changed"}"#;
    for (calls, listens, message, expected) in [
        (&[CALL, OTHER][..], true, progress, "1 "),
        // A token with another type is another one.
        (&[CALL, OTHER], true, other_progress, "9 "),
        (&[CALL], true, asks, "1 "),
        (&[CALL], true, log, "1 "),
        (&[CALL], true, changed, "9 "),
        (&[CALL, OTHER], true, asks, "9 "),
        (&[CALL, OTHER], false, asks, "2 "),
        (&[], true, asks, "9 "),
        (&[], false, asks, ""),
        (&[CALL], false, changed, ""),
        (&[r#"{"id":1,"method":"initialize"}"#], false, log, ""),
    ] {
        let mut router = with(calls, listens);
        line(&mut router, message);
        let expected: Vec<String> =
            Some(expected).filter(|to| !to.is_empty()).map(|to| format!("{to}{message}")).into_iter().collect();
        assert_eq!(told(&mut router), expected, "{message} {calls:?} {listens}");
        // What found no place is there for whoever listens later.
        router.listen(10);
        assert_eq!(told(&mut router).contains(&format!("10 {message}")), expected.is_empty());
    }
}

#[test]
fn ids_stay_as_they_are_and_answers_find_their_questions() {
    let ids = ["9007199254740993", "1.0", "\"1\"", "1", "\"\\ud800\""];
    let calls: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":{id},"method":"x","x":1.0,"x":2}}"#)).collect();
    let mut router = SessionRouter::default();
    for (index, call) in calls.iter().enumerate() {
        post(&mut router, index as u64, call);
    }
    assert_eq!(told(&mut router), calls.iter().map(|call| format!("child {call}")).collect::<Vec<_>>());
    for (index, id) in ids.iter().enumerate().rev() {
        let answer = format!(r#"{{"result":{{}},"id":{id}}}"#);
        line(&mut router, &answer);
        assert_eq!(told(&mut router), [format!("{index} last 200 {answer}")]);
    }
    // A server that reads numbers as JavaScript does.
    post(&mut router, 20, r#"{"id":2.0,"method":"x"}"#);
    told(&mut router);
    line(&mut router, r#"{"result":{},"id":2}"#);
    assert_eq!(told(&mut router), [r#"20 last 200 {"result":{},"id":2}"#]);
}

#[test]
fn a_batch_is_answered_when_all_of_it_is() {
    let mut router = with(&[r#"[{"id":1,"method":"x"},{"method":"y"},{"id":2,"method":"x"}]"#], false);
    line(&mut router, r#"{"id":2,"result":{}}"#);
    line(&mut router, r#"{"id":1,"result":{}}"#);
    assert_eq!(told(&mut router), [r#"1 {"id":2,"result":{}}"#, r#"1 last 200 {"id":1,"result":{}}"#]);
    let mut router = with(&[r#"[{"id":1,"method":"x"},{"id":2,"method":"x"}]"#], false);
    line(&mut router, r#"[{"id":2,"result":{}},{"id":1,"result":{}}]"#);
    assert_eq!(told(&mut router), [r#"1 last 200 [{"id":2,"result":{}},{"id":1,"result":{}}]"#]);
}

#[test]
fn a_batch_with_a_notification_in_its_answer_ends() {
    let mut router = with(&[r#"[{"id":1,"method":"x"},{"id":2,"method":"x"}]"#], true);
    let answer = r#"[{"method":"notifications/message"},{"id":1,"result":{}},{"id":2,"result":{}}]"#;
    line(&mut router, answer);
    assert_eq!(told(&mut router), [format!("1 last 200 {answer}")]);
    // A question of the server's with an id that the client used too answers nothing.
    let mut router = with(&[r#"[{"id":1,"method":"x"},{"id":2,"method":"x"}]"#], true);
    let answer = r#"[{"id":2,"method":"roots/list"},{"id":1,"result":{}}]"#;
    line(&mut router, answer);
    line(&mut router, r#"{"id":2,"result":{}}"#);
    assert_eq!(told(&mut router), [format!("1 {answer}"), r#"1 last 200 {"id":2,"result":{}}"#.to_owned()]);
}

#[test]
fn a_line_that_answers_several_posts_is_told_to_each() {
    let mut router = with(&[CALL, OTHER], true);
    line(&mut router, r#"[{"id":2,"result":{}},{"method":"changed"},{"id":1, "result":{}}]"#);
    assert_eq!(
        told(&mut router),
        [r#"2 last 200 {"id":2,"result":{}}"#, r#"9 {"method":"changed"}"#, r#"1 last 200 {"id":1, "result":{}}"#]
    );
}

#[test]
fn an_error_without_the_id_is_for_the_only_request_there_is() {
    let error = |id: &str| format!(r#"{{{id}"error":{{"code":1}}}}"#);
    let second = r#"{"id":2,"method":"x"}"#;
    for (calls, answer, expected) in [
        (&[CALL][..], error(r#""id":null,"#), r#"1 last 200 {"id":1,"error":{"code":1}}"#),
        (&[CALL], error(""), r#"1 last 200 {"jsonrpc":"2.0","id":1,"error":{"code":1}}"#),
        (&[CALL], error(r#""id":"1","#), r#"1 last 200 {"id":1,"error":{"code":1}}"#),
        (&[CALL, second], error(r#""id":"2","#), r#"2 last 200 {"id":2,"error":{"code":1}}"#),
        (&[r#"{"id":"1","method":"x"}"#], r#"{"id":1,"result":{}}"#.into(), r#"1 last 200 {"id":"1","result":{}}"#),
        (&[CALL, second], error(r#""id":null,"#), "tell an answer of the server's has no question, and was dropped"),
        (&[CALL], error(r#""id":77,"#), "tell an answer of the server's has no question, and was dropped"),
        (&[], error(r#""id":null,"#), "tell an answer of the server's has no question, and was dropped"),
    ] {
        let mut router = with(calls, true);
        line(&mut router, &answer);
        assert_eq!(told(&mut router), [expected], "{calls:?} {answer}");
    }
}

#[test]
fn a_client_that_has_gone_cancels_nothing() {
    let mut router = with(&[CALL], true);
    router.closed(1);
    assert_eq!(told(&mut router), [""; 0]);
    line(&mut router, r#"{"id":1,"result":{}}"#);
    assert_eq!(told(&mut router), ["tell an answer came when its client had gone, and was dropped"]);
    // But for the one that began the session, whose id nobody knows.
    let mut router = with(&[r#"{"id":1,"method":"initialize"}"#], false);
    router.closed(1);
    assert_eq!(told(&mut router), ["end"]);
}

#[test]
fn the_end_of_the_server_is_told_to_all() {
    let mut router = with(&[CALL, OTHER], true);
    router.child_ended("it ended");
    let error = |id: &str| {
        format!(r#"last 200 {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"mcp-tap: it ended"}}}}"#)
    };
    assert_eq!(told(&mut router), [format!("1 {}", error("1")), format!("2 {}", error("2")), "9 close".to_owned()]);
    // Each request of a batch is told.
    let mut router = with(&[r#"[{"id":1,"method":"x"},{"id":"b","method":"x"},{"id":3,"method":"x"}]"#], false);
    line(&mut router, r#"{"id":1,"result":{}}"#);
    told(&mut router);
    router.child_ended("it ended");
    let first = error("\"b\"").replace("last 200 ", "");
    assert_eq!(told(&mut router), [format!("1 {first}"), format!("1 {}", error("3"))]);
}

#[test]
fn one_who_listens_anew_takes_the_place_of_the_one_before() {
    let mut router = with(&[], true);
    router.listen(10);
    assert_eq!(told(&mut router), ["9 close"]);
    router.closed(9);
    line(&mut router, r#"{"method":"x"}"#);
    assert_eq!(told(&mut router), [r#"10 {"method":"x"}"#]);
}

#[test]
fn what_nobody_hears_is_kept_within_bounds() {
    let mut router = SessionRouter::default();
    let message = format!(r#"{{"method":"x","params":"{}"}}"#, "x".repeat(1 << 20));
    for _ in 0..20 {
        line(&mut router, &message);
    }
    assert!(router.kept_bytes <= WAITING_LIMIT_BYTES);
    assert_eq!(router.kept.len(), 15);
}

#[test]
fn in_a_session_of_http_with_sse_all_is_on_the_stream() {
    let mut router = SessionRouter::of_old_stream();
    router.listen(1);
    post(&mut router, 2, CALL);
    line(&mut router, r#"{"id":1,"result":{}}"#);
    assert_eq!(told(&mut router), [format!("child {CALL}"), r#"1 {"id":1,"result":{}}"#.to_owned()]);
    router.closed(1);
    assert_eq!(told(&mut router), ["end"]);
}
