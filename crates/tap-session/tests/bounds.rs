//! Hostile traffic: whatever a peer sends, what is kept of it is bounded, and following goes on.
//!
//! In a binary of its own and one test after the other, because the memory of the process is measured.

use std::sync::Mutex;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_session::{Follower, Lens, Meaning, Severity};

/// Messages of most cases: more than the 10,000 that are remembered of anything but requests in flight.
const MANY: u64 = 30_000;

/// Messages of a case that leaves requests unanswered: more than the 100,000 that are remembered of these.
const MORE: u64 = 110_000;

/// How much more memory a session may take after so many of them, KiB: what is kept of 100,000 requests in flight.
const LIMIT_KIB: u64 = 192 * 1024;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// Makes the message with this number.
type Make = fn(u64) -> (Stream, String);

const CASES: &[(&str, u64, Make)] = &[
    ("requests that are never answered", MORE, |n| {
        (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t{n}","arguments":{{"text":"{n:0200}"}}}}}}"#
            ),
        )
    }),
    ("ids that are all different texts", MANY, |n| {
        let id = format!("{n:064}");
        match n % 2 {
            0 => (Stream::ToServer, format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#)),
            _ => (Stream::ToClient, format!(r#"{{"jsonrpc":"2.0","id":"{:064}","result":{{}}}}"#, n - 1)),
        }
    }),
    ("whole numbers as ids that leave holes, downwards", MANY, |n| {
        let id = 1_000_000_000 - n * 3;
        match n % 2 {
            0 => (Stream::ToServer, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)),
            _ => (Stream::ToClient, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id + 3)),
        }
    }),
    ("lines that are not JSON", MANY, |n| (Stream::ToClient, format!("{{ noise {n}"))),
    ("an object that goes on over all lines", MANY, |n| {
        (Stream::ToClient, if n == 1 { "{".into() } else { format!(r#""member {n}": [1, 2, 3],"#) })
    }),
    ("progress tokens that are never used", MORE, |n| {
        (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":"{n:064}"}}}}}}"#
            ),
        )
    }),
    ("progress for nothing, and cancellations of nothing", MANY, |n| match n % 2 {
        0 => (
            Stream::ToClient,
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"{n:064}","progress":{n}}}}}"#
            ),
        ),
        _ => (
            Stream::ToServer,
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{n:064}"}}}}"#),
        ),
    }),
    ("calls that ask for input and are never taken up", MANY, |n| match n % 2 {
        0 => (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t","arguments":{{"text":"{n:0500}"}},{META}}}}}"#
            ),
        ),
        _ => (
            Stream::ToClient,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","requestState":"{n:0500}"}}}}"#,
                n - 1
            ),
        ),
    }),
    ("subscriptions that stay open, each with another resource", MORE, |n| {
        (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":"{n}","method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["file:///{n:0200}"]}},{META}}}}}"#
            ),
        )
    }),
    ("tasks that never end", MANY, |n| match n % 2 {
        0 => (
            Stream::ToServer,
            format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t","task":{{}}}}}}"#),
        ),
        _ => (
            Stream::ToClient,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"task":{{"taskId":"{n:064}","status":"working","createdAt":"now","lastUpdatedAt":"now","ttl":null}}}}}}"#,
                n - 1
            ),
        ),
    }),
    ("lists without an end, each page with another cursor", MANY, |n| match n % 2 {
        0 => (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/list","params":{{"cursor":"{:064}"}}}}"#,
                n.saturating_sub(1)
            ),
        ),
        _ => (
            Stream::ToClient,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"nextCursor":"{n:064}","tools":[{{"name":"t{n}","description":"{n:0300}","inputSchema":{{"type":"object"}}}}]}}}}"#,
                n - 1
            ),
        ),
    }),
    ("resources subscribed to without an end", MANY, |n| match n % 2 {
        0 => (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"resources/subscribe","params":{{"uri":"file:///{n:0200}"}}}}"#
            ),
        ),
        _ => (Stream::ToClient, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, n - 1)),
    }),
];

/// Held by the test that runs.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn what_is_kept_of_hostile_traffic_is_bounded() {
    let _alone = ALONE.lock();
    for (name, n_messages, make) in CASES {
        let before = resident_kib();
        let mut follower = Follower::new();
        let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
        let mut n_findings = 0;
        for seq in 1..=*n_messages {
            let (stream, text) = make(seq);
            let at_ns = seq * 1_000;
            let bytes = Bytes::from(text + "\n");
            let frame = Frame { seq, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes };
            meaning.clear();
            follower.follow(&frame, &mut lens, &mut meaning);
            n_findings += meaning.findings.len();
        }
        let grown = resident_kib().saturating_sub(before);
        meaning.clear();
        follower.finish(&mut meaning);
        n_findings += meaning.findings.len();
        assert!(n_findings > 0, "{name}: nothing was said about it");
        assert!(grown < LIMIT_KIB, "{name}: {grown} KiB more");
        assert_eq!(follower.state().at.map(|at| at.seq), Some(*n_messages), "{name}");
    }
}

/// One message that is hostile by itself.
#[test]
fn one_hostile_message_is_judged_and_outlived() {
    let _alone = ALONE.lock();
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let members: String = (0..100_000).map(|n| format!(r#""{}":{n},"#, n % 10)).collect();
    let batch: String = (0..50_000).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"ping"}},"#)).collect();
    let tools: String = (0..50_000).map(|n| format!(r#"{{"name":"t{}","inputSchema":7}},"#, n % 9)).collect();
    for (name, text) in [
        ("deep parameters", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{}}}}}"#, deep("[", "]"))),
        ("a deep _meta", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{}}}}}"#, deep(r#"{"a":"#, "}").replace(":}", ":1}"))),
        ("an id of a million digits", format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "7".repeat(1_000_000))),
        ("a method of a million letters", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "m".repeat(1_000_000))),
        ("the same members again and again", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{{members}"z":1}}}}"#)),
        ("a batch of 50,000", format!("[{batch}1]")),
        ("50,000 tools of nine names", format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}7]}}}}"#)),
        ("a version of a million letters", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{}"}}}}"#, "9".repeat(1_000_000))),
        ("everything twice", r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","params":{},"params":[],"result":{},"error":{}}"#.into()),
    ] {
        for stream in [Stream::ToServer, Stream::ToClient] {
            let mut follower = Follower::new();
            let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
            let ask = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
            let asked = if stream == Stream::ToServer { Stream::ToClient } else { Stream::ToServer };
            for (seq, stream, bytes) in [(1, asked, ask), (2, stream, Bytes::from(text.clone() + "\n"))] {
                let frame = Frame { seq, wall_ns: seq, at_ns: seq, stream, origin: Origin::Wire, bytes };
                follower.follow(&frame, &mut lens, &mut meaning);
            }
            follower.finish(&mut meaning);
            let errors = meaning.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
            assert!(errors > 0, "{name}: no error was found");
            let longest = meaning.findings.iter().map(|finding| finding.detail.len()).max();
            assert!(longest <= Some(tap_session::DETAIL_LIMIT_BYTES), "{name}: a detail of {longest:?} bytes");
            assert!(meaning.findings.len() <= 60_000, "{name}: {} findings", meaning.findings.len());
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
