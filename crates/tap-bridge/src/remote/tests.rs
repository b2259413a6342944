//! Scripts of what a host and a server do, and what has to come of any of them.

use tap_jsonrpc::SseSplitter;

use super::*;

mod interleavings;
mod resuming;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const AGREED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#;

/// A bridge with nobody on either side.
struct Bench {
    server: RemoteServer,
    /// What was done, one line each.
    done: Vec<String>,
    /// Requests that were sent, by exchange.
    sent: BTreeMap<u64, Request>,
}

impl Bench {
    fn new() -> Self {
        Self { server: RemoteServer::new("http://host/mcp"), done: Vec::new(), sent: BTreeMap::new() }
    }

    fn poll(&mut self) {
        while let Some(action) = self.server.poll() {
            let told = match action {
                Action::Send { exchange, request } => {
                    let told = format!("{exchange} {:?} {} {}", request.verb, request.address, utf8(&request.body));
                    self.sent.insert(exchange, request);
                    told
                }
                Action::Stop { exchange } => format!("stop {exchange}"),
                Action::ToHost(line) => format!("host {}", utf8(&line).trim_end()),
                Action::Tell(notice) => format!("tell {notice}"),
                Action::Finished => "finished".into(),
            };
            self.done.push(told);
        }
    }

    fn host(&mut self, line: &str) {
        self.server.host_line(&Bytes::copy_from_slice(format!("{line}\n").as_bytes()));
        self.poll();
    }

    fn sent(&mut self, exchange: u64) {
        self.server.sent(exchange);
        self.poll();
    }

    fn head(&mut self, exchange: u64, status: u16, media_type: &str) {
        self.server.head(exchange, Head { status, media_type: media_type.into(), ..Head::default() });
        self.poll();
    }

    fn events(&mut self, exchange: u64, stream: &str) {
        SseSplitter::default().feed(stream.as_bytes(), &mut |event| self.server.event(exchange, &event));
        self.poll();
    }

    fn ended(&mut self, exchange: u64, body: &str, failure: Option<&str>) {
        self.server.ended(exchange, &Bytes::copy_from_slice(body.as_bytes()), failure);
        self.poll();
    }

    fn json(&mut self, exchange: u64, status: u16, body: &str) {
        self.head(exchange, status, "application/json");
        self.ended(exchange, body, None);
    }

    fn time(&mut self, now_ns: u64) {
        self.server.time(now_ns);
        self.poll();
    }

    /// A session has begun; its stream is exchange 3.
    fn begun(session_id: Option<&str>) -> Self {
        let mut bench = Self::new();
        bench.host(INITIALIZE);
        bench.sent(1);
        let head = Head {
            status: 200,
            media_type: "application/json".into(),
            session_id: session_id.map(str::to_owned),
            ..Head::default()
        };
        bench.server.head(1, head);
        bench.ended(1, AGREED, None);
        bench.host(INITIALIZED);
        bench.sent(2);
        bench.json(2, 202, "");
        bench.done.clear();
        bench
    }

    #[track_caller]
    fn check(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.done), expected);
    }

    fn header(&self, exchange: u64, name: &str) -> Option<&str> {
        let headers = &self.sent.get(&exchange)?.headers;
        headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ask(id: &str) -> String {
    format!(r#"{{"id":{id},"method":"ping"}}"#)
}

fn modern(id: &str, method: &str, params: &str) -> String {
    format!(
        r#"{{"id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}

#[test]
fn nothing_is_sent_before_initialize_is_answered_and_notifications_keep_their_place() {
    let mut bench = Bench::new();
    for line in [INITIALIZE, INITIALIZED, r#"{"id":1,"method":"a"}"#, r#"{"id":2,"method":"b"}"#] {
        bench.host(line);
    }
    bench.sent(1);
    bench.check(&[&format!("1 Post http://host/mcp {INITIALIZE}")]);
    bench.json(1, 200, AGREED);
    bench.check(&[&format!("host {AGREED}"), &format!("2 Post http://host/mcp {INITIALIZED}")]);
    bench.sent(2);
    bench.check(&[]);
    // The server took it: now the stream is opened, and the calls may go, each when the one before is on its way.
    bench.head(2, 202, "");
    bench.check(&["3 Get http://host/mcp ", r#"4 Post http://host/mcp {"id":1,"method":"a"}"#]);
    bench.sent(4);
    bench.check(&[r#"5 Post http://host/mcp {"id":2,"method":"b"}"#]);
}

#[test]
fn a_notification_that_nobody_takes_holds_up_others_for_a_while_only() {
    let mut bench = Bench::begun(None);
    bench.host(r#"{"method":"notifications/x"}"#);
    bench.sent(4);
    bench.host(&ask("1"));
    bench.check(&[r#"4 Post http://host/mcp {"method":"notifications/x"}"#]);
    assert_eq!(bench.server.timeout_ns(), Some(NOTIFICATION_LIMIT_NS));
    bench.time(NOTIFICATION_LIMIT_NS);
    bench.check(&[r#"5 Post http://host/mcp {"id":1,"method":"ping"}"#]);
}

#[test]
fn the_session_and_the_revision_go_with_every_later_request_and_the_session_is_ended() {
    let mut bench = Bench::begun(Some("s3cret"));
    bench.host(&ask("1"));
    for exchange in [2, 3, 4] {
        assert_eq!(bench.header(exchange, "Mcp-Session-Id"), Some("s3cret"));
        assert_eq!(bench.header(exchange, "MCP-Protocol-Version"), Some("2025-11-25"));
    }
    assert_eq!(bench.header(1, "Mcp-Session-Id"), None);
    bench.sent(4);
    bench.done.clear();
    bench.server.host_ended();
    bench.poll();
    // The answer is still to come.
    bench.check(&[]);
    bench.json(4, 200, r#"{"id":1,"result":{}}"#);
    bench.check(&[r#"host {"id":1,"result":{}}"#, "stop 3", "5 Delete http://host/mcp "]);
    assert_eq!(bench.header(5, "Mcp-Session-Id"), Some("s3cret"));
    bench.json(5, 200, "");
    bench.check(&["finished"]);
}

#[test]
fn the_end_waits_for_no_server_for_ever() {
    let mut bench = Bench::begun(Some("s"));
    bench.host(&ask("1"));
    bench.sent(4);
    bench.server.host_ended();
    bench.done.clear();
    bench.time(DRAIN_LIMIT_NS);
    bench.check(&["stop 3", "stop 4", "5 Delete http://host/mcp "]);
    bench.time(DRAIN_LIMIT_NS + DELETE_LIMIT_NS);
    bench.check(&["finished"]);
    let mut bench = Bench::begun(None);
    bench.host(&ask("1"));
    bench.done.clear();
    bench.server.terminate();
    bench.poll();
    bench.check(&["stop 3", "stop 4", "finished"]);
}

#[test]
fn the_end_waits_for_what_a_server_has_to_say_to_a_notification() {
    let begun = || {
        let mut bench = Bench::begun(None);
        bench.host(r#"{"method":"notifications/x"}"#);
        bench.sent(4);
        bench.head(4, 401, "text/plain");
        bench.done.clear();
        bench.server.host_ended();
        bench.poll();
        bench.check(&[]);
        bench
    };
    let mut bench = begun();
    bench.server.ended(4, &Bytes::from_static(b"no"), None);
    bench.poll();
    bench.check(&[&format!("tell {}", Notice::NotTaken { status: Some(401) }), "stop 3", "finished"]);
    // Not for ever: it is no answer that anybody asked for.
    let mut bench = begun();
    bench.time(NOTICE_LIMIT_NS);
    bench.check(&["stop 3", "stop 4", "finished"]);
}

#[test]
fn requests_of_the_modern_era_have_their_headers_and_cancelling_them_is_closing() {
    let mut bench = Bench::new();
    bench.host(&modern("1", "tools/list", ""));
    bench.sent(1);
    let tools = r#"{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}]}}"#;
    bench.json(1, 200, tools);
    bench.host(&modern("2", "tools/call", r#""name":"t","arguments":{"r":"eü"},"#));
    bench.sent(2);
    for (name, expected) in [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "t"),
        ("Mcp-Param-Region", "=?base64?ZcO8?="),
    ] {
        assert_eq!(bench.header(2, name), Some(expected));
    }
    bench.host(&modern("\"sub\"", "subscriptions/listen", ""));
    bench.sent(3);
    bench.done.clear();
    bench.host(r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#);
    bench.host(r#"{"method":"notifications/cancelled","params":{"requestId":77}}"#);
    bench.check(&["stop 2"]);
    // Neither a subscription nor a session holds up the end.
    bench.server.host_ended();
    bench.poll();
    bench.check(&["stop 3", "finished"]);
}

#[test]
fn cancelling_in_the_legacy_era_is_a_message_and_a_cancelled_call_needs_no_answer() {
    let mut bench = Bench::begun(None);
    bench.host(&ask("1"));
    bench.sent(4);
    bench.done.clear();
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#;
    bench.host(cancel);
    bench.check(&[&format!("5 Post http://host/mcp {cancel}")]);
    bench.head(4, 200, "text/event-stream");
    bench.ended(4, "", None);
    bench.check(&[]);
}

#[test]
fn what_is_no_answer_becomes_an_error_with_the_id_and_the_cause() {
    let html = "<html>\n<h1>Bad Gateway</h1></html>";
    let json = "application/json";
    for (status, media_type, body, failure, expected) in [
        (502, "text/html", html, None, "the server answered with HTTP 502: <html> <h1>Bad Gateway</h1></html>"),
        (404, "text/plain", "nope", None, "the server answered with HTTP 404: nope"),
        (200, "text/html", "hi", None, "the server answered with no JSON-RPC message (text/html): hi"),
        (200, json, "", None, "the server answered with HTTP 200 and nothing else"),
        (202, "", "", None, "the server answered with HTTP 202 and nothing else"),
        (200, "text/event-stream", "", None, "the server ended the stream before it answered"),
        (200, json, "{\"id\"", Some("reset"), "the answer broke off: reset"),
    ] {
        let mut bench = Bench::begun(None);
        bench.host(&ask("1.0"));
        bench.sent(4);
        bench.done.clear();
        bench.head(4, status, media_type);
        bench.ended(4, body, failure);
        bench.check(&[&format!(
            r#"host {{"jsonrpc":"2.0","id":1.0,"error":{{"code":-32603,"message":"mcp-tap: {expected}"}}}}"#
        )]);
    }
    let mut bench = Bench::begun(None);
    bench.host(&ask("1"));
    bench.ended(4, "", Some("cannot connect"));
    assert!(bench.done.last().unwrap().contains("mcp-tap: cannot connect"));
    assert!(!bench.done.iter().any(|done| done.starts_with("tell")));
    bench.host(&ask("2"));
    let head = Head { status: 401, challenge: Some("Bearer realm=\"x\"".into()), ..Head::default() };
    bench.server.head(5, head);
    bench.ended(5, "", None);
    assert!(bench.done.last().unwrap().contains(r#"HTTP 401, WWW-Authenticate: Bearer realm=\"x\""#));
}

#[test]
fn a_refusal_without_the_requests_id_is_given_it() {
    let mut bench = Bench::begun(None);
    for (id, body, expected) in [
        (
            "5",
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"no"}}"#,
        ),
        (
            "\"x\"",
            r#"{"error":{"code":1,"message":"\ud800","message":2}}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"\ud800","message":2}}"#,
        ),
        ("7", r#"{"id":7,"error":{"code":1},"extra":1.0}"#, r#"{"id":7,"error":{"code":1},"extra":1.0}"#),
    ] {
        bench.host(&ask(id));
        let exchange = *bench.sent.keys().last().unwrap();
        bench.done.clear();
        bench.json(exchange, 400, body);
        bench.check(&[&format!("host {expected}")]);
    }
}

#[test]
fn an_error_without_the_id_on_a_stream_is_for_the_only_request_there_is() {
    let null = r#"{"id":null,"error":{"code":1}}"#;
    for (answer, expected) in [
        (null, r#"host {"id":5,"error":{"code":1}}"#),
        (r#"{"error":{"code":1}}"#, r#"host {"jsonrpc":"2.0","id":5,"error":{"code":1}}"#),
        (r#"{"id":"5","result":{}}"#, r#"host {"id":5,"result":{}}"#),
        (r#"{"id":5.0,"result":{}}"#, r#"host {"id":5.0,"result":{}}"#),
    ] {
        let mut bench = Bench::begun(None);
        bench.host(&ask("5"));
        bench.sent(4);
        bench.head(4, 200, "text/event-stream");
        bench.done.clear();
        bench.events(4, &format!("data: {answer}\n\n"));
        bench.ended(4, "", None);
        bench.check(&[expected]);
    }
    // Where there are two it is passed on, and each of them gets an error in the end.
    let mut bench = Bench::begun(None);
    bench.host(r#"[{"id":1,"method":"x"},{"id":2,"method":"x"}]"#);
    bench.sent(4);
    bench.head(4, 200, "text/event-stream");
    bench.done.clear();
    bench.events(4, &format!("data: {null}\n\n"));
    bench.ended(4, "", None);
    assert_eq!(bench.done.len(), 3, "{:?}", bench.done);
    assert_eq!(bench.done[0], format!("host {null}"));
}

#[test]
fn a_late_answer_on_the_stream_of_http_with_sse_is_no_other_ones() {
    let mut bench = Bench::new();
    bench.host(INITIALIZE);
    bench.sent(1);
    bench.json(1, 405, "");
    bench.head(2, 200, "text/event-stream");
    bench.events(2, "event: endpoint\ndata: /m\n\n");
    bench.sent(3);
    bench.json(3, 202, "");
    bench.events(2, &format!("data: {AGREED}\n\n"));
    bench.host(&ask("1"));
    bench.sent(4);
    bench.json(4, 202, "");
    bench.done.clear();
    let late = r#"{"id":77,"result":{}}"#;
    bench.events(2, &format!("data: {late}\n\n"));
    bench.check(&[&format!("host {late}")]);
    bench.events(2, "data: {\"id\":null,\"error\":{}}\n\n");
    bench.check(&[r#"host {"id":1,"error":{}}"#]);
}

#[test]
fn a_server_of_http_with_sse_is_found_and_answers_on_its_stream() {
    for status in [400, 404, 405] {
        let mut bench = Bench::new();
        bench.host(INITIALIZE);
        bench.host(INITIALIZED);
        bench.sent(1);
        bench.done.clear();
        bench.head(1, status, "text/html");
        bench.ended(1, "Cannot POST", None);
        bench.check(&["2 Get http://host/mcp "]);
        bench.head(2, 200, "text/event-stream");
        bench.events(2, "event: endpoint\ndata: /message?sessionId=1\n\n");
        bench.check(&[&format!("3 Post http://host/message?sessionId=1 {INITIALIZE}")]);
        bench.sent(3);
        bench.json(3, 202, "Accepted");
        bench.check(&[]);
        bench.events(2, &format!("event: message\ndata: {AGREED}\n\n"));
        bench.check(&[&format!("host {AGREED}"), &format!("4 Post http://host/message?sessionId=1 {INITIALIZED}")]);
        bench.sent(4);
        bench.json(4, 202, "");
        bench.host(&ask("1"));
        bench.sent(5);
        bench.json(5, 202, "");
        bench.done.clear();
        bench.ended(2, "", None);
        assert!(bench.done.first().unwrap().contains(r#""id":1,"error""#), "{:?}", bench.done);
    }
}

#[test]
fn a_server_of_neither_kind_is_told_with_what_it_said() {
    let mut bench = Bench::new();
    bench.host(INITIALIZE);
    bench.sent(1);
    bench.head(1, 404, "text/html");
    bench.ended(1, "nothing here", None);
    bench.head(2, 404, "text/html");
    bench.ended(2, "nothing here either", None);
    let told = bench.done.last().unwrap();
    assert!(told.contains("HTTP 404: nothing here; as a server of HTTP+SSE: "), "{told}");
    // A refusal in JSON-RPC is an answer, and no sign of another transport.
    let mut bench = Bench::new();
    bench.host(INITIALIZE);
    bench.sent(1);
    bench.done.clear();
    let refusal = r#"{"id":0,"error":{"code":-32602,"message":"which?"}}"#;
    bench.json(1, 400, refusal);
    bench.check(&[&format!("host {refusal}")]);
    // Nor is one that asks for a token.
    let mut bench = Bench::new();
    bench.host(INITIALIZE);
    bench.sent(1);
    bench.json(1, 401, "");
    assert!(bench.done.last().unwrap().contains("HTTP 401"));
}

#[test]
fn what_is_no_message_is_posted_and_its_answer_passed_on() {
    let mut bench = Bench::begun(None);
    bench.host("  ");
    bench.host("{not json");
    bench.check(&["4 Post http://host/mcp {not json"]);
    bench.sent(4);
    let refusal = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#;
    bench.json(4, 400, refusal);
    let told = "tell a notification or an answer of the host's was not taken by the server (HTTP 400)";
    bench.check(&[&format!("host {refusal}"), told]);
}

#[test]
fn large_messages_pass_as_they_are() {
    let mut bench = Bench::begun(None);
    let large = format!(r#"{{"id":1,"method":"x","params":{{"blob":"{}"}}}}"#, "x".repeat(5_000_000));
    bench.host(&large);
    assert_eq!(utf8(&bench.sent[&4].body), large);
}
