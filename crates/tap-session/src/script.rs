//! Scripts: traffic as text, for the tests of rules and of the machine. `script/http.rs` has those of HTTP.

pub(crate) mod http;

use bytes::Bytes;
use tap_frame::{Act, Deed, Frame, Origin, Stream};

use crate::follow::{Follower, Lens, Meaning};
use crate::rule::Finding;

/// What stands for `META`: the `_meta` that every request of the modern era has.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}}"#;

/// What stands for `TASKS_META`: the same of a client that takes tasks.
const TASKS_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

/// What a client declares in the handshake that a first line `# 2025-11-25` stands for.
const CLIENT: &str = r#"{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}"#;

/// What a server declares in it.
const SERVER: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#;

/// Frames are a millisecond apart; `++ 500` waits so many more.
const MILLISECOND_NS: u64 = 1_000_000;

/// The frames of a script, a line each: `->` to the server, `<-` to the client, `!!` on stderr, `..` so many bytes lost.
/// `@@ held 3` is an act on the frame 3, `@@ edited 3 {}` one that sends something; in place of a number an arrow says that
/// nothing was received. `\xNN` is a byte, `␍` a carriage return before the newline, `␄` at the end leaves out the newline.
#[track_caller]
pub(crate) fn frames(script: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at_ns = 0;
    let mut held_since = std::collections::BTreeMap::new();
    let push = |frames: &mut Vec<Frame>, at_ns: u64, stream, origin, bytes: Vec<u8>| {
        let seq = frames.len() as u64 + 1;
        frames.push(Frame { seq, wall_ns: at_ns, at_ns, stream, origin, bytes: Bytes::from(bytes) });
    };
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        let (arrow, text) = line.split_once(' ').unwrap_or_else(|| panic!("no arrow: {line}"));
        at_ns += MILLISECOND_NS;
        match arrow {
            "#" if text == "2026-07-28" => {}
            "#" => {
                for (stream, line) in handshake(text) {
                    push(&mut frames, at_ns, stream, Origin::Wire, line.into_bytes());
                }
            }
            "++" => at_ns += text.parse::<u64>().unwrap() * MILLISECOND_NS,
            "->" => push(&mut frames, at_ns, Stream::ToServer, Origin::Wire, line_bytes(text)),
            "<-" => push(&mut frames, at_ns, Stream::ToClient, Origin::Wire, line_bytes(text)),
            "!!" => push(&mut frames, at_ns, Stream::Stderr, Origin::Wire, line_bytes(text)),
            ".." => push(&mut frames, at_ns, Stream::ToClient, Origin::Gap(text.parse().unwrap()), Vec::new()),
            "@@" => {
                let mut words = text.splitn(3, ' ');
                let (deed, what) = (Deed::from_name(words.next().unwrap()).unwrap(), words.next().unwrap());
                let sent = words.next().map(line_bytes).unwrap_or_default();
                let original: Option<&Frame> = what.parse().ok().map(|seq: usize| &frames[seq - 1]);
                let stream = match (what, original) {
                    ("->", _) => Stream::ToServer,
                    ("<-", _) => Stream::ToClient,
                    (_, original) => original.unwrap().stream,
                };
                let mut act = Act { bytes: sent.into(), ..Act::new(deed, stream, "breakpoint 1") };
                if let Some(original) = original {
                    let before = frames[..original.seq as usize - 1].iter().filter(|frame| frame.stream == stream);
                    act.message = Some(before.map(n_received).sum());
                    let since = *held_since.entry(original.seq).or_insert(at_ns);
                    act.held_ns = at_ns - since;
                }
                push(&mut frames, at_ns, act.sent_on(), Origin::Act(deed), act.to_text());
            }
            other => panic!("no such arrow: {other}"),
        }
    }
    frames
}

/// How many bytes of its stream a frame stands for.
fn n_received(frame: &Frame) -> u64 {
    match frame.origin {
        Origin::Wire => frame.bytes.len() as u64,
        Origin::Gap(n_bytes) => n_bytes,
        Origin::Act(_) => 0,
    }
}

fn handshake(revision: &str) -> [(Stream, String); 3] {
    [
        (
            Stream::ToServer,
            format!(
                r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{CLIENT},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
            ) + "\n",
        ),
        (
            Stream::ToClient,
            format!(
                r#"{{"jsonrpc":"2.0","id":"open","result":{{"protocolVersion":"{revision}","capabilities":{SERVER},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
            ) + "\n",
        ),
        (Stream::ToServer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n".into()),
    ]
}

fn line_bytes(text: &str) -> Vec<u8> {
    let text = text.replace("TASKS_META", TASKS_META).replace("META", META);
    let (text, ending) = match (text.strip_suffix('␄'), text.strip_suffix('␍')) {
        (Some(text), _) => (text, &b""[..]),
        (None, Some(text)) => (text, &b"\r\n"[..]),
        (None, None) => (&*text, &b"\n"[..]),
    };
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes.extend_from_slice(ending);
    bytes
}

/// Follows a script to its end.
#[track_caller]
pub(crate) fn run(script: &str) -> (Follower, Meaning) {
    let mut follower = Follower::new();
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for frame in frames(script) {
        follower.follow(&frame, &mut lens, &mut meaning);
    }
    follower.finish(&mut meaning);
    (follower, meaning)
}

/// One finding as a line: where, which rule, how bad, who, what.
pub(crate) fn told(finding: &Finding) -> String {
    let Finding { rule, severity, at, by, detail, .. } = finding;
    let by = format!("{by:?}").to_lowercase();
    let member = if at.member > 0 { format!(".{}", at.member) } else { String::new() };
    format!("{}{member} {} {severity} by {by}: {detail}", at.seq, rule.id)
}

/// All findings of a script, of lines or of HTTP.
#[track_caller]
pub(crate) fn found(script: &str) -> Vec<Finding> {
    if http::is_http(script) {
        let player = http::play(script);
        return player.meanings.into_iter().flat_map(|this| this.meaning.findings).collect();
    }
    run(script).1.findings
}

/// The findings of a script, a line each, in the order of the messages.
#[track_caller]
pub(crate) fn findings(script: &str) -> Vec<String> {
    let mut findings = found(script);
    findings.sort_by_key(|finding| finding.at);
    findings.iter().map(told).collect()
}

/// A script against the findings that it must give, a line each.
#[track_caller]
pub(crate) fn check(script: &str, expected: &str) {
    let found = findings(script).join("\n");
    assert_eq!(found.trim(), expected.trim(), "found:\n{found}");
}
