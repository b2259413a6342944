//! Whatever comes, in whatever order: no panic, and no more is kept than is said.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tap_jsonrpc::SseEvent;

use crate::follow::Lens;
use tap_frame::HttpEnd;

use crate::http::{HTTP_EXCHANGES, HTTP_SESSIONS, Headers, HttpEvent, HttpFollower, HttpMoment, HttpRequest};

/// One thing that is seen of an exchange.
#[derive(Debug, Clone)]
enum Seen {
    Opened {
        connection: u64,
        verb: &'static str,
        target: &'static str,
        fields: Vec<(&'static str, &'static str)>,
        body: &'static str,
    },
    Head {
        status: u16,
        fields: Vec<(&'static str, &'static str)>,
    },
    Body(&'static str),
    Event {
        name: Option<&'static str>,
        id: Option<&'static str>,
        data: Option<&'static str>,
    },
    Ended(HttpEnd),
}

fn body() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "{bad",
        "[]",
        "[1,{}]",
        "null",
        "{}",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[]},"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        "/message?s=1",
    ])
}

fn fields() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let field = select(vec![
        ("Accept", "application/json, text/event-stream"),
        ("accept", "text/event-stream"),
        ("Content-Type", "application/json"),
        ("content-type", "text/event-stream"),
        ("Mcp-Session-Id", "s"),
        ("mcp-session-id", "t t"),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("MCP-Protocol-Version", "é"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "=?base64?dA==?="),
        ("Mcp-Param-A", "=?base64?é?="),
        ("Mcp-", ""),
        ("é", "é"),
        ("Last-Event-ID", "1"),
        ("Origin", "http://evil.example"),
        ("Host", "[::1]:80"),
        ("Authorization", "Bearer x"),
    ]);
    vec(field, 0..6)
}

fn seen() -> impl Strategy<Value = Seen> {
    let target = select(vec!["/mcp", "/sse", "/message?s=1", "", "?", "http://h", "/mcp?access_token=1"]);
    prop_oneof![
        4 => (0..3u64, select(vec!["POST", "GET", "DELETE", "PUT"]), target, fields(), body())
            .prop_map(|(connection, verb, target, fields, body)| Seen::Opened { connection, verb, target, fields, body }),
        3 => (select(vec![200, 202, 204, 301, 400, 404, 405, 999, 0]), fields()).prop_map(|(status, fields)| Seen::Head { status, fields }),
        2 => body().prop_map(Seen::Body),
        3 => (proptest::option::of(select(vec!["endpoint", "message", "x"])), proptest::option::of(select(vec!["1", "2", ""])), proptest::option::of(body()))
            .prop_map(|(name, id, data)| Seen::Event { name, id, data }),
        2 => select(vec![HttpEnd::Whole, HttpEnd::ByClient, HttpEnd::ByServer]).prop_map(Seen::Ended),
    ]
}

fn follow(follower: &mut HttpFollower, seq: u64, exchange: u64, seen: &Seen) -> usize {
    let moment = HttpMoment { seq, wall_ns: seq, at_ns: seq * 1_000_000_000 };
    let (mut lens, mut meanings) = (Lens::default(), Vec::new());
    let borrowed = |fields: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static [u8])> {
        fields.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
    };
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    match seen {
        Seen::Opened { connection, verb, target, fields, body } => {
            let fields = borrowed(fields);
            let request =
                HttpRequest { connection: *connection, verb, target, headers: Headers(&fields), body: bytes(body) };
            follower.follow(moment, exchange, HttpEvent::Opened(request), &mut lens, &mut meanings);
        }
        Seen::Head { status, fields } => {
            let fields = borrowed(fields);
            let event = HttpEvent::Head { status: *status, headers: Headers(&fields) };
            follower.follow(moment, exchange, event, &mut lens, &mut meanings);
        }
        Seen::Body(body) => follower.follow(moment, exchange, HttpEvent::Body(bytes(body)), &mut lens, &mut meanings),
        Seen::Event { name, id, data } => {
            let event = SseEvent {
                event: name.map(bytes),
                id: id.map(bytes),
                retry_ms: Some(500),
                data: data.map(bytes),
                lost_bytes: 0,
            };
            follower.follow(moment, exchange, HttpEvent::Event(&event), &mut lens, &mut meanings);
        }
        Seen::Ended(end) => follower.follow(moment, exchange, HttpEvent::Ended(*end), &mut lens, &mut meanings),
    }
    meanings.iter().map(|this| this.meaning.findings.len()).sum()
}

proptest! {
    #[test]
    fn nothing_that_can_be_seen_is_too_odd(all in vec((0..5u64, seen()), 0..60)) {
        let mut follower = HttpFollower::new();
        for (seq, (exchange, seen)) in (1..).zip(&all) {
            // A copy is what was known before, and goes on as well.
            let mut copy = follower.clone();
            let found = follow(&mut follower, seq, *exchange, seen);
            prop_assert_eq!(follow(&mut copy, seq, *exchange, seen), found);
        }
        follower.finish(&mut Vec::new());
    }
}

#[test]
fn no_more_is_kept_than_the_limits_say() {
    let mut follower = HttpFollower::new();
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let opened = |body| Seen::Opened { connection: 1, verb: "POST", target: "/mcp", fields: Vec::new(), body };
    let mut seq = 0;
    for exchange in 0..HTTP_SESSIONS as u64 + 50 {
        for seen in [opened(initialize), Seen::Head { status: 200, fields: Vec::new() }, Seen::Ended(HttpEnd::Whole)] {
            seq += 1;
            follow(&mut follower, seq, exchange, &seen);
        }
    }
    assert!(follower.sessions().count() <= HTTP_SESSIONS);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for exchange in 0..HTTP_EXCHANGES as u64 + 50 {
        seq += 1;
        follow(&mut follower, seq, 1_000_000 + exchange, &opened(ping));
    }
    assert_eq!(follower.exchanges.len(), HTTP_EXCHANGES);
    follower.finish(&mut Vec::new());
}
