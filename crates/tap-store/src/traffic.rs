//! Made-up sessions for this crate's tests.

use bytes::Bytes;
use proptest::prelude::*;
use tap_frame::{Act, Deed, Frame, Segment, Stream};
use tap_session::{Recorded, RowKind};

use crate::{ListKind, Part, Session, SessionEnd, SessionId, SessionStart, Store};

pub(crate) const OPENED_UNIX_NS: u64 = 1_700_000_000_000_000_000;

/// A session whose tap is this process, or, when `tap_pid` is `None`, nobody.
pub(crate) fn start(name: &str, tap_pid: Option<u32>) -> SessionStart {
    SessionStart {
        uuid: format!("{name:0>32}"),
        name: name.into(),
        transport: crate::Transport::Stdio,
        command: vec!["server".into(), "--flag".into()],
        folder: "/home/x".into(),
        environment: vec!["PATH".into()],
        recorded_by: "mcp-tap 0.1.0".into(),
        tap_pid,
        server_pid: Some(4242),
        opened_unix_ns: OPENED_UNIX_NS,
    }
}

/// One thing that passed, as text: an arrow (`->` to the server, `<-` to the client, `!!` stderr) and a line with its
/// newline; `gap -> 40`; `end <-`. A millisecond each. `--` begins a new segment.
pub(crate) fn segments(script: &str) -> Vec<Segment> {
    let stream_of = |arrow: &str| match arrow {
        "->" => Stream::ToServer,
        "<-" => Stream::ToClient,
        "!!" => Stream::Stderr,
        other => panic!("no such arrow: {other}"),
    };
    let mut segments = vec![Segment::default()];
    for (number, line) in (1..).zip(script.trim().lines()) {
        let at_ns = number * 1_000_000;
        let wall_ns = OPENED_UNIX_NS + at_ns;
        let segment = segments.last_mut().unwrap();
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["--"] => segments.push(Segment::default()),
            ["gap", arrow, n_bytes] => segment.push_gap(stream_of(arrow), at_ns, wall_ns, n_bytes.parse().unwrap()),
            // Done to the message that begins there in its stream, or to none.
            ["@@", deed, rest] => {
                let (arrow, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let (message, sent) = rest.split_once(' ').unwrap_or((rest, ""));
                let deed = Deed::from_name(deed).unwrap();
                let sent = if deed.sends() { format!("{sent}\n") } else { String::new() };
                let act = Act {
                    message: message.parse().ok(),
                    bytes: sent.into(),
                    ..Act::new(deed, stream_of(arrow), "breakpoint 1")
                };
                segment.push_act(None, act.sent_on(), at_ns, wall_ns, &act.to_text(), &[]);
            }
            ["end", arrow] => segment.push_end(stream_of(arrow), at_ns, wall_ns),
            _ => {
                let (arrow, text) = line.split_once(' ').unwrap();
                segment.push_chunk(stream_of(arrow), at_ns, wall_ns, format!("{text}\n").as_bytes());
            }
        }
    }
    segments
}

/// A segment that holds one message of so many bytes, its newline included, to the client.
pub(crate) fn large(number: u64, n_bytes: usize) -> Segment {
    let mut line = format!("{{\"id\":{number},\"result\":\"").into_bytes();
    line.resize(n_bytes - 3, b'x');
    line.extend_from_slice(b"\"}\n");
    let mut segment = Segment::default();
    segment.push_chunk(Stream::ToClient, number, OPENED_UNIX_NS + number, &line);
    segment
}

/// Bytes that look like traffic, often cut in the middle.
fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![Just("1"), Just("2"), Just("1.0"), Just("\"1\""), Just("null"), Just("{}")];
    let token = prop_oneof![
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        3 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"é"}}}}"#).into()),
        3 => id.clone().prop_map(|id| format!(r#"{{"id":{id}, "result":{{"x":1e400,"x":"\ud800"}}}}"#).into()),
        1 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"error":{{"code":-32601}}}}"#).into()),
        1 => id.prop_map(|id| format!(r#"[{{"id":{id},"method":"a"}},{{"id":{id},"result":1}}]"#).into()),
        1 => Just(br#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#.to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..6),
        1 => Just("text \u{2028}\u{85} \u{1b}[2J".as_bytes().to_vec()),
    ];
    let whole = prop::collection::vec(token, 0..5).prop_map(|tokens| tokens.concat());
    (whole, any::<prop::sample::Index>(), prop::bool::weighted(0.3)).prop_map(|(mut bytes, index, shorten)| {
        if shorten && !bytes.is_empty() {
            bytes.truncate(index.index(bytes.len()));
        }
        bytes
    })
}

#[derive(Debug, Clone)]
enum What {
    Chunk(Vec<u8>),
    Gap(u64),
    End,
    /// A deed, to one of the lines before it, or to none; what was sent.
    Act(usize, Option<prop::sample::Index>, Vec<u8>),
}

/// Segments that a recording can hold: with gaps, ends, and somebody who sets the wall clock.
pub(crate) fn any_segments() -> impl Strategy<Value = Vec<Segment>> {
    let what = prop_oneof![
        12 => some_bytes().prop_map(What::Chunk),
        1 => (0..1000u64).prop_map(What::Gap),
        1 => Just(What::End),
        2 => (0..Deed::ALL.len(), any::<Option<prop::sample::Index>>(), some_bytes())
            .prop_map(|(deed, message, sent)| What::Act(deed, message, sent)),
    ];
    let wall_step = prop_oneof![8 => Just(0), 1 => -1_000_000..1_000_000i64];
    let one = (0..3usize, what, -2..2_000_000_000i64, wall_step, prop::bool::weighted(0.3));
    prop::collection::vec(one, 0..25).prop_map(|all| {
        let mut segments = vec![Segment::default()];
        let (mut at, mut ahead) = (100, OPENED_UNIX_NS as i64);
        let mut over = std::collections::BTreeSet::new();
        let (mut received, mut begins) = ([0; 3], [vec![0], vec![0], vec![0]]);
        for (code, what, step, wall_step, border) in all {
            at += step;
            ahead += wall_step;
            if border {
                segments.push(Segment::default());
            }
            let (segment, stream) = (segments.last_mut().unwrap(), Stream::ALL[code]);
            let (at_ns, wall_ns) = (at.max(0) as u64, (at + ahead) as u64);
            match what {
                What::Chunk(bytes) => {
                    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                    begins[code].extend(ends.map(|(index, _)| received[code] + index as u64 + 1));
                    received[code] += bytes.len() as u64;
                    segment.push_chunk(stream, at_ns, wall_ns, &bytes);
                }
                What::Gap(n_bytes) => {
                    received[code] += n_bytes;
                    begins[code].push(received[code]);
                    segment.push_gap(stream, at_ns, wall_ns, n_bytes);
                }
                What::Act(deed, message, sent) => {
                    let (deed, code) = (Deed::ALL[deed], code.min(1));
                    let stream = Stream::ALL[code];
                    let act = Act {
                        // Of what is over nothing more becomes.
                        message: message
                            .map(|index| *index.get(&begins[code]))
                            .filter(|begins| deed == Deed::Held || over.insert((code, *begins)))
                            .filter(|begins| deed != Deed::Held || !over.contains(&(code, *begins))),
                        held_ns: received[code],
                        bytes: if deed.sends() { sent.into() } else { Bytes::new() },
                        ..Act::new(deed, stream, "breakpoint 1")
                    };
                    segment.push_act(None, act.sent_on(), at_ns, wall_ns, &act.to_text(), &[]);
                }
                What::End => segment.push_end(stream, at_ns, wall_ns),
            }
        }
        segments
    })
}

/// A session over HTTP whose tap is this process, or nobody.
pub(crate) fn http_start(name: &str, tap_pid: Option<u32>) -> SessionStart {
    SessionStart { transport: crate::Transport::Http, ..start(name, tap_pid) }
}

/// Puts a session over HTTP into a store in memory.
pub(crate) fn http_stored(segments: &[Segment]) -> (Store, SessionId) {
    let store = Store::in_memory().unwrap();
    let id = store.put_in(&http_start("a", None), segments.iter().cloned().map(Ok), || None).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    (store, id)
}

/// Puts a session into a store in memory.
pub(crate) fn stored(segments: &[Segment], end: Option<SessionEnd>) -> (Store, SessionId) {
    let store = Store::in_memory().unwrap();
    let id = store.put_in(&start("a", None), segments.iter().cloned().map(Ok), || end).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    (store, id)
}

/// All that was recorded of a session, panicking where it cannot be read.
pub(crate) fn recorded(store: &Store, session: SessionId) -> Vec<Recorded> {
    store.recorded(session).map(Result::unwrap).collect()
}

/// What these segments hold, when they are a whole session.
pub(crate) fn recorded_in(segments: &[Segment]) -> Vec<Recorded> {
    let (store, id) = stored(segments, None);
    recorded(&store, id)
}

/// All that a reader can be told about a database, as text.
pub(crate) fn told(store: &Store) -> String {
    let ids: Vec<_> = store.sessions().unwrap().into_iter().map(|session| session.id).collect();
    for id in ids {
        store.catch_up(id, |_| {}).unwrap();
    }
    store.sessions().unwrap().iter().map(|session| told_of(store, session)).collect()
}

fn told_of(store: &Store, session: &Session) -> String {
    let digest = &session.digest;
    let mut text = format!(
        "session {} {} live={} end={:?}\n  {} frames, {} messages, {} calls, {} errors, {} bytes, {:?}\n",
        session.start.name,
        session.start.command.join(" "),
        session.live,
        session.end,
        digest.n_frames,
        digest.n_messages,
        digest.n_calls,
        digest.n_errors,
        digest.n_bytes,
        digest.identity,
    );
    for listed in store.list(session.id, ListKind::Frames, Part::From(0), u64::MAX).unwrap() {
        let row = &listed.row;
        let mut line = format!("  {}.{} {} {}", row.at.seq, row.at.member, row.at_ns, row.kind.name());
        row.raw_id.iter().for_each(|id| line.push_str(&format!(" id={id}")));
        row.method.iter().for_each(|method| line.push_str(&format!(" {method}")));
        row.target.iter().for_each(|target| line.push_str(&format!(" ({target})")));
        row.status.iter().for_each(|status| line.push_str(&format!(" {status:?}")));
        row.error_code.iter().for_each(|code| line.push_str(&format!(" code={code}")));
        row.pair.iter().for_each(|pair| line.push_str(&format!(" with {}.{}", pair.seq, pair.member)));
        row.lost_bytes.iter().for_each(|lost| line.push_str(&format!(" lost={lost}")));
        if let Some(done) = &row.done {
            let other = done.other.map(|other| format!(" with {}.{}", other.seq, other.member)).unwrap_or_default();
            line.push_str(&format!(" {}{}{other}", if done.made { "made by " } else { "" }, done.deed.name()));
        }
        if row.kind != RowKind::Gap && row.at.member == 0 {
            let frame: Frame = store.frame(session.id, row.at.seq).unwrap().unwrap();
            line.push_str(&format!(" {:?}", String::from_utf8_lossy(&frame.bytes)));
        }
        text.push_str(&format!("{line} {:?}\n", listed.frame_end));
    }
    text
}
