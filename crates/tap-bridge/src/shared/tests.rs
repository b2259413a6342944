//! That clients who share a server hear what is theirs and nothing else, whatever the order.

use proptest::prelude::*;

use super::*;

fn post(router: &mut SharedRouter, exchange: u64, body: &str) {
    router.post(exchange, &Incoming::read(body.as_bytes()), &Bytes::copy_from_slice(body.as_bytes()));
}

fn line(router: &mut SharedRouter, line: &str) {
    router.child_line(&Bytes::copy_from_slice(format!("{line}\n").as_bytes()));
}

fn told(router: &mut SharedRouter) -> Vec<String> {
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

#[test]
fn equal_ids_and_tokens_of_two_clients_are_told_apart() {
    let mut router = SharedRouter::default();
    let call = |client: &str| {
        format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"{client}","_meta":{{"progressToken":1}}}},"x":1.0}}"#
        )
    };
    post(&mut router, 10, &call("a"));
    post(&mut router, 11, &call("b"));
    assert_eq!(
        told(&mut router),
        [
            r#"child {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}},"x":1.0}"#,
            r#"child {"id":2,"method":"tools/call","params":{"name":"b","_meta":{"progressToken":2}},"x":1.0}"#,
        ]
    );
    line(&mut router, r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1.0}}"#);
    line(&mut router, r#"{"result":{"of":"b"},"id":2}"#);
    line(&mut router, r#"{"result":{"of":"a"},"id":1}"#);
    line(&mut router, r#"{"result":{"of":"nobody"},"id":1}"#);
    assert_eq!(
        told(&mut router),
        [
            r#"11 {"method":"notifications/progress","params":{"progressToken":1,"progress":1.0}}"#,
            r#"11 last 200 {"result":{"of":"b"},"id":1}"#,
            r#"10 last 200 {"result":{"of":"a"},"id":1}"#,
        ]
    );
}

#[test]
fn an_error_without_the_id_is_for_the_only_request_there_is() {
    let nobodys = "tell an answer of the server's has no question, and was dropped";
    for (n_asked, answer, expected) in [
        (1, r#"{"error":{"code":1},"id":null}"#, &[r#"1 last 200 {"error":{"code":1},"id":"a"}"#][..]),
        (1, r#"{"error":{"code":1}}"#, &[r#"1 last 200 {"jsonrpc":"2.0","id":"a","error":{"code":1}}"#]),
        (2, r#"{"error":{"code":1},"id":null}"#, &[nobodys]),
        (2, r#"{"result":{},"id":"2"}"#, &[r#"2 last 200 {"result":{},"id":"a"}"#]),
        (2, r#"{"result":{},"id":2.0}"#, &[r#"2 last 200 {"result":{},"id":"a"}"#]),
        (1, r#"{"result":{},"id":"x"}"#, &[nobodys]),
        (1, r#"{"result":{},"id":2}"#, &[nobodys]),
        (1, r#"{"result":{},"id":null}"#, &[nobodys]),
        (1, r#"{"result":{},"id":0}"#, &[]),
    ] {
        let mut router = SharedRouter::default();
        for exchange in 1..=n_asked {
            post(&mut router, exchange, r#"{"id":"a","method":"x"}"#);
        }
        told(&mut router);
        line(&mut router, answer);
        assert_eq!(told(&mut router), expected, "{answer}");
    }
}

#[test]
fn subscriptions_are_kept_apart_and_ended_for_the_one_who_has_them() {
    let mut router = SharedRouter::default();
    for exchange in [10, 11] {
        post(&mut router, exchange, r#"{"id":"sub","method":"subscriptions/listen","params":{"notifications":{}}}"#);
    }
    told(&mut router);
    let of = |number: &str| format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{number}}}}}"#);
    line(&mut router, &format!(r#"{{"method":"notifications/tools/list_changed","params":{}}}"#, of("2")));
    line(&mut router, &format!(r#"{{"id":1,"result":{}}}"#, of("1")));
    line(&mut router, r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#);
    line(&mut router, r#"{"method":"notifications/tools/list_changed"}"#);
    let theirs = of(r#""sub""#);
    assert_eq!(
        told(&mut router),
        [
            format!(r#"11 {{"method":"notifications/tools/list_changed","params":{theirs}}}"#),
            format!(r#"10 last 200 {{"id":"sub","result":{theirs}}}"#),
            r#"11 last 200 {"method":"notifications/cancelled","params":{"requestId":"sub"}}"#.to_owned(),
        ]
    );
}

#[test]
fn leaving_is_cancelling_and_nobody_can_cancel_for_another() {
    let mut router = SharedRouter::default();
    post(&mut router, 10, r#"{"id":5,"method":"x"}"#);
    post(&mut router, 11, r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    router.closed(10);
    router.closed(10);
    line(&mut router, r#"{"id":1,"result":{}}"#);
    assert_eq!(
        told(&mut router),
        [
            r#"child {"id":1,"method":"x"}"#,
            r#"child {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the client closed the stream"}}"#,
        ]
    );
}

#[test]
fn logs_go_to_the_only_one_who_wants_them() {
    let mut router = SharedRouter::default();
    let log = r#"{"method":"notifications/message","params":{"level":"info"}}"#;
    let wants = r#"{"id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}"#;
    post(&mut router, 10, r#"{"id":1,"method":"x"}"#);
    line(&mut router, log);
    post(&mut router, 11, wants);
    told(&mut router);
    line(&mut router, log);
    assert_eq!(told(&mut router), [format!("11 {log}")]);
    post(&mut router, 12, wants);
    told(&mut router);
    line(&mut router, log);
    assert_eq!(told(&mut router), [""; 0]);
}

#[test]
fn a_server_that_asks_is_told_that_nobody_can_be_asked() {
    let mut router = SharedRouter::default();
    line(&mut router, r#"{"id":"r","method":"roots/list"}"#);
    line(&mut router, "Starting…");
    let told = told(&mut router);
    assert!(told[0].starts_with(r#"child {"jsonrpc":"2.0","id":"r","error":{"code":-32601"#), "{told:?}");
    assert_eq!(told[1], "tell a line of the server's is no message, and was dropped");
}

#[test]
fn errors_have_their_status() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    for (params, code, expected) in
        [(meta, -32601, 404), (meta, -32022, 400), (meta, -32602, 200), ("", -32602, 400), (meta, -32603, 200)]
    {
        let mut router = SharedRouter::default();
        post(&mut router, 1, &format!(r#"{{"id":1,"method":"x","params":{{{params}}}}}"#));
        told(&mut router);
        line(&mut router, &format!(r#"{{"id":1,"error":{{"code":{code}}}}}"#));
        assert_eq!(told(&mut router), [format!(r#"1 last {expected} {{"id":1,"error":{{"code":{code}}}}}"#)]);
    }
}

#[test]
fn the_end_of_the_server_is_told_to_all_who_wait_and_the_next_ones_start_anew() {
    let mut router = SharedRouter::default();
    post(&mut router, 1, r#"{"id":9007199254740993,"method":"x"}"#);
    told(&mut router);
    router.child_ended("it ended");
    assert_eq!(
        told(&mut router),
        [r#"1 last 502 {"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32603,"message":"mcp-tap: it ended"}}"#]
    );
}

/// A step of the world around the router.
#[derive(Debug, Clone)]
enum Step {
    Asks { id: String, token: Option<String> },
    Progress(prop::sample::Index),
    Answers(prop::sample::Index),
    Leaves(prop::sample::Index),
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("9007199254740993".to_owned()),
        Just("1.0".to_owned()),
        Just(r#""\ud800""#.to_owned()),
        Just(format!("\"{}\"", "x".repeat(5_000))),
        (0..4u32).prop_map(|number| number.to_string()),
        (0..4u32).prop_map(|number| format!("\"{number}\"")),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (token(), prop::option::of(token())).prop_map(|(id, token)| Step::Asks { id, token }),
        any::<prop::sample::Index>().prop_map(Step::Progress),
        any::<prop::sample::Index>().prop_map(Step::Answers),
        any::<prop::sample::Index>().prop_map(Step::Leaves),
    ]
}

proptest! {
    #[test]
    fn every_client_gets_its_own_answer_once_with_its_own_id(steps in prop::collection::vec(step(), 0..60)) {
        let mut router = SharedRouter::default();
        // Exchange, number, id and token of those who wait.
        let mut open: Vec<(u64, u64, String, Option<String>)> = Vec::new();
        let mut n_asked = 0;
        for step in steps {
            match step {
                Step::Asks { id, token } => {
                    n_asked += 1;
                    let meta = token.as_ref().map_or(String::new(), |token| format!(r#","_meta":{{"progressToken":{token}}}"#));
                    let body = |id: &str, meta: &str| format!(r#"{{"x":"\ud800", "id":{id},"method":"m","params":{{"n":1.0,"n":2{meta}}}}}"#);
                    post(&mut router, 100 + n_asked, &body(&id, &meta));
                    let number = n_asked.to_string();
                    let renumbered = token.as_ref().map_or(String::new(), |_| format!(r#","_meta":{{"progressToken":{number}}}"#));
                    prop_assert_eq!(told(&mut router), [format!("child {}", body(&number, &renumbered))]);
                    open.push((100 + n_asked, n_asked, id, token));
                }
                _ if open.is_empty() => {}
                Step::Progress(index) => {
                    let (exchange, number, _, token) = &open[index.index(open.len())];
                    if let Some(token) = token {
                        let body = |token: &str| format!(r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"p":1.0}}}}"#);
                        line(&mut router, &body(&number.to_string()));
                        prop_assert_eq!(told(&mut router), [format!("{exchange} {}", body(token))]);
                    }
                }
                Step::Answers(index) => {
                    let (exchange, number, id, _) = open.remove(index.index(open.len()));
                    let body = |id: &str| format!(r#"{{"result":{{"id":7,"k":1.0,"k":"\ud800"}},"id":{id}}}"#);
                    line(&mut router, &body(&number.to_string()));
                    prop_assert_eq!(told(&mut router), [format!("{exchange} last 200 {}", body(&id))]);
                }
                Step::Leaves(index) => {
                    let (exchange, number, ..) = open.remove(index.index(open.len()));
                    router.closed(exchange);
                    let told = told(&mut router);
                    prop_assert_eq!(told.len(), 1);
                    let cancels = format!("\"requestId\":{number},");
                    prop_assert!(told[0].contains(&cancels));
                }
            }
        }
        prop_assert_eq!(router.n_open(), open.len());
    }
}
