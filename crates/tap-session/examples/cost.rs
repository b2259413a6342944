//! What following a session costs: `cargo run --release -p tap-session --example cost`.
//!
//! A small message, in both eras, beside what its scan alone costs; large messages of rising size; checkpoints and going to
//! any point of a million messages; memory by the length of a session. Times are of this machine; the ratios matter.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::convert::Infallible;
use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::Scanner;
use tap_session::{Follower, Lens, Meaning, Timeline};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

fn main() {
    // First, while all memory that is taken is new.
    travel(1_000_000);
    for (name, modern) in [("legacy", false), ("modern", true)] {
        let frames: Vec<Frame> = (1..=400_000).map(|seq| frame(seq, modern)).collect();
        let bytes: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        let scan = best(|| scan_all(&frames));
        let follow = best(|| drop(follow_all(&frames)));
        let each = |time: Duration| time.as_nanos() as f64 / frames.len() as f64;
        say(&format!(
            "{name}: {} bytes a message; scan {:.0} ns, follow {:.0} ns a message, {:.2} times the scan",
            bytes / frames.len(),
            each(scan),
            each(follow),
            each(follow) / each(scan)
        ));
    }
    for kibibytes in [1, 16, 256, 4096, 16384] {
        let frames = large(kibibytes * 1024);
        let time = best(|| drop(follow_all(&frames)));
        let n_bytes: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        say(&format!("answers of {kibibytes} KiB: {:.3} ns a byte", time.as_nanos() as f64 / n_bytes as f64));
    }
}

fn best(mut run: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| {
        let began = Instant::now();
        run();
        began.elapsed()
    });
    times.min().unwrap_or_default()
}

fn scan_all(frames: &[Frame]) {
    let mut scanner = Scanner::new(&[]);
    for frame in frames {
        scanner.feed(&frame.bytes);
        std::hint::black_box(scanner.finish());
    }
}

fn follow_all(frames: &[Frame]) -> Follower {
    let (mut follower, mut lens, mut meaning) = (Follower::new(), Lens::default(), Meaning::default());
    for frame in frames {
        meaning.clear();
        follower.follow(frame, &mut lens, &mut meaning);
    }
    follower
}

fn travel(n_messages: u64) {
    let before = resident_kib();
    let mut follower = Follower::new();
    let mut timeline = Timeline::new(follower.clone());
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for seq in 1..=n_messages {
        meaning.clear();
        follower.follow(&frame(seq, false), &mut lens, &mut meaning);
        timeline.pass(seq, &follower);
    }
    let grown = resident_kib().saturating_sub(before);
    let mut slowest = Duration::ZERO;
    for point in 1..=200 {
        // Anywhere, but the same places each time.
        let seq = point * 7_919 * 613 % n_messages + 1;
        let began = Instant::now();
        let Ok(then) = timeline.follower_at(seq, |from| (from..).map(|seq| Ok::<_, Infallible>(frame(seq, false))));
        slowest = slowest.max(began.elapsed());
        assert_eq!(then.state().at.map(|at| at.seq), Some(seq), "the state after another message");
    }
    say(&format!(
        "{n_messages} messages: {} checkpoints, {:.1} MiB more memory; slowest of 200 jumps {:.2} ms",
        timeline.n_checkpoints(),
        grown as f64 / 1024.0,
        slowest.as_secs_f64() * 1e3
    ));
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// The message with this number: an opening, then calls and their answers.
fn frame(seq: u64, modern: bool) -> Frame {
    let id = seq / 2;
    let text = match (seq, modern) {
        (1, false) => r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
        (2, false) => r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#.into(),
        (3, false) => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        (1..=3, true) => r#"!"#.into(),
        _ if seq.is_multiple_of(2) && modern => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_file","arguments":{{"path":"/src/file_{id:06}.rs"}},{META}}}}}"#
        ),
        _ if seq.is_multiple_of(2) => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_file","arguments":{{"path":"/home/user/project/src/file_{id:06}.rs"}},"_meta":{{"progressToken":{id}}}}}}}"#
        ),
        _ if modern => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"pub fn item_{id:06}() -> usize {{ 42 }}"}}]}}}}"#
        ),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"pub fn item_{id:06}() -> usize {{ 42 }} // and so on"}}],"isError":false}}}}"#
        ),
    };
    let stream = if text == "!" {
        Stream::Stderr
    } else if seq.is_multiple_of(2) && seq > 2 || seq == 1 || seq == 3 {
        Stream::ToServer
    } else {
        Stream::ToClient
    };
    let at_ns = seq * 20_000;
    Frame { seq, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes: Bytes::from(text + "\n") }
}

/// A call and an answer of so many bytes.
fn large(n_bytes: usize) -> Vec<Frame> {
    let text = "line of text \\n ".repeat(n_bytes / 16);
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#) + "\n";
    let answer = Frame { stream: Stream::ToClient, bytes: Bytes::from(answer), ..frame(5, false) };
    vec![frame(1, false), frame(2, false), frame(3, false), frame(4, false), answer]
}

#[expect(clippy::let_underscore_must_use, reason = "where stdout is gone there is nobody to tell")]
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
