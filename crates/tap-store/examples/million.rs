//! Makes a database with a session of so many messages, and measures reading it: `million PATH N`.
//!
//! The database is left there, so that `mcp-tap log -n 50` can be measured on it too. Where PATH exists, it is only read.
//! `million PATH N mixed` makes one that is like real traffic (several tools, errors, notifications, large bodies, stderr),
//! and measures nothing: the benchmark of the inspector is made on it.

#[path = "million/mixed.rs"]
mod mixed;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tap_frame::{SEGMENT_BYTES, Segment, Stream};
use tap_session::{Follower, Lens, Meaning, Recorded, Timeline};
use tap_store::{EndReason, ListKind, Part, Recorder, SessionEnd, SessionId, SessionStart, Store, StoreError};

const OPENED_UNIX_NS: u64 = 1_700_000_000_000_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, number, is_mixed) = match &arguments[..] {
        [path, number] => (path, number, false),
        [path, number, kind] if kind == "mixed" => (path, number, true),
        _ => {
            say("usage: million PATH N [mixed]");
            return ExitCode::FAILURE;
        }
    };
    let (path, Ok(n_messages)) = (Path::new(path), number.parse()) else {
        say("N is how many messages");
        return ExitCode::FAILURE;
    };
    if is_mixed {
        record(path, n_messages, mixed::lines(n_messages));
        return ExitCode::SUCCESS;
    }
    if !path.exists() {
        record(path, n_messages, plain(n_messages));
    }
    match measure(path, n_messages) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// A line: its stream, when it passed (nanoseconds since the session opened), and its text.
type Line = (Stream, u64, String);

fn plain(n_messages: u64) -> impl Iterator<Item = Line> {
    (0..n_messages).map(|number| {
        let id = number / 2;
        let (stream, line) = match number % 2 {
            0 => (Stream::ToServer, request(id)),
            _ => (Stream::ToClient, answer(id)),
        };
        (stream, number * 20_000, line)
    })
}

fn record(path: &Path, n_messages: u64, lines: impl Iterator<Item = Line>) {
    let began = Instant::now();
    let start = SessionStart {
        uuid: format!("{n_messages:032x}"),
        name: "million".into(),
        command: vec!["million".into()],
        // A tap records a server from its start.
        tap_pid: Some(std::process::id()),
        opened_unix_ns: OPENED_UNIX_NS,
        ..SessionStart::default()
    };
    let mut recorder = Recorder::new(path.into(), start, Box::new(|text| say(&text)));
    let mut segment = Segment::default();
    let mut waiting = Vec::new();
    let mut newest_ns = 0;
    for (stream, at_ns, line) in lines {
        newest_ns = at_ns;
        segment.push_chunk(stream, at_ns, OPENED_UNIX_NS + at_ns, line.as_bytes());
        if SEGMENT_BYTES <= segment.weight() {
            let emptied = recorder.record(vec![std::mem::take(&mut segment)]);
            waiting.extend(emptied);
            segment = waiting.pop().unwrap_or_default();
            segment.clear();
        }
    }
    recorder.record(vec![segment]);
    recorder.finish(SessionEnd { at_ns: newest_ns, reason: Some(EndReason::Exited(0)), lost_bytes: 0 });
    tell("record", began, n_messages);
}

/// About 150 bytes.
fn request(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_file","arguments":{{"path":"/home/user/project/src/file_{id:06}.rs"}},"_meta":{{}}}}}}"#
    ) + "\n"
}

/// About 150 bytes; one in a hundred is an error of the tool's.
fn answer(id: u64) -> String {
    let is_error = id.is_multiple_of(100);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"pub fn item_{id:06}() -> usize {{ 42 }} // and so on"}}],"isError":{is_error}}}}}"#
    ) + "\n"
}

fn measure(path: &Path, n_messages: u64) -> Result<(), StoreError> {
    let began = Instant::now();
    let store = Store::open(path)?;
    tell("open", began, 1);
    for session in store.sessions()? {
        let began = Instant::now();
        store.catch_up(session.id, |_| {})?;
        tell("catch_up, per message", began, n_messages);
        let began = Instant::now();
        store.sessions()?;
        tell("sessions", began, 1);
        for kind in [ListKind::Calls, ListKind::Frames] {
            for part in [Part::UpTo(u64::MAX), Part::From(1), Part::From(n_messages / 2)] {
                let began = Instant::now();
                let n_rows = store.list(session.id, kind, part, 50)?.len();
                tell(&format!("list({kind:?}, {part:?}, 50): {n_rows} rows"), began, 1);
            }
        }
        let began = Instant::now();
        store.frame(session.id, n_messages / 2)?;
        tell("frame", began, 1);
        travel(&store, session.id, n_messages)?;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(say);
    Ok(())
}

/// The first pass over all frames, and then the state at points all over the session.
fn travel(store: &Store, session: SessionId, n_messages: u64) -> Result<(), StoreError> {
    let began = Instant::now();
    let mut follower = Follower::new();
    let mut timeline = Timeline::new(follower.clone());
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for recorded in store.recorded(session) {
        if let Recorded::Frame(frame) = recorded? {
            meaning.clear();
            follower.follow(&frame, &mut lens, &mut meaning);
            timeline.pass(frame.seq, &follower);
        }
    }
    tell("follow, per message", began, n_messages);
    let mut times = Vec::new();
    for point in 1..=200 {
        // Anywhere, but the same places each time.
        let seq = point * 7_919 * 613 % n_messages + 1;
        let began = Instant::now();
        timeline.follower_at(seq, |from| store.frames(session, from))?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    say(&format!("state at 200 points: median {:.2} ms, slowest {:.2} ms", at(100), at(199)));
    Ok(())
}

fn tell(what: &str, began: Instant, n_times: u64) {
    let elapsed = began.elapsed();
    let each_ns = elapsed.as_nanos() / u128::from(n_times.max(1));
    say(&format!("{what}: {:.1} ms, {each_ns} ns each", elapsed.as_secs_f64() * 1000.0));
}

#[expect(clippy::print_stdout, reason = "a program for people")]
fn say(text: &str) {
    println!("{text}");
}
