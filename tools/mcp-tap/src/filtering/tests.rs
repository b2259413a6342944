//! What the database sorts out by itself is nothing that fits: a search finds what the filter alone finds.

use std::path::PathBuf;

use proptest::prelude::*;
use tap_filter::{Context, Filter};
use tap_frame::{Segment, Stream};
use tap_session::{Severity, rules};
use tap_store::{ListKind, Part, Session, SessionStart, Store};

use super::*;
use crate::reference::read_text;

const OPENED_UNIX_NS: u64 = 1_700_000_000_000_000_000;

fn filter(text: &str) -> Filter {
    let context = Context { now_unix_ns: i128::from(OPENED_UNIX_NS) + 40_000_000, utc_offset_seconds: 0 };
    Filter::parse(text, &context, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Findings at every seventh message.
fn some_findings(store: &Store, session: &Session) -> Findings {
    let rule = rules().next().unwrap();
    let rows = store.list(session.id, ListKind::Frames, Part::From(0), u64::MAX).unwrap();
    let some = rows.iter().filter(|listed| listed.row.at.seq % 7 == 3);
    some.map(|listed| {
        let severity = if listed.row.at.seq % 2 == 0 { Severity::Error } else { Severity::Note };
        (listed.row.at, vec![(rule.id, severity)])
    })
    .collect()
}

/// All that a search finds, stretch by stretch.
fn searched(sieve: &Sieve<'_>, from: At, forward: bool) -> Vec<At> {
    let (mut found, mut next) = (Vec::new(), Some(from));
    while let Some(from) = next {
        let sifted = sieve.stretch(from, forward, usize::MAX).unwrap();
        found.extend(sifted.rows.iter().map(|listed| listed.row.at));
        next = sifted.next;
    }
    found
}

#[track_caller]
fn check(store: &Store, session: &Session, text: &str) {
    let filter = filter(text);
    let findings = some_findings(store, session);
    for kind in [ListKind::Calls, ListKind::Frames] {
        let all = store.list(session.id, kind, Part::From(0), u64::MAX).unwrap();
        let fit = |listed: &&Listed| fits(&filter, store, session, kind, listed, &findings).unwrap();
        let expected: Vec<At> = all.iter().filter(fit).map(|listed| listed.row.at).collect();
        let sieve = Sieve::new(&filter, store, session, None, kind, &findings);
        assert_eq!(searched(&sieve, Sieve::from(0, true), true), expected, "{text}, {kind:?}");
        let mut backward = searched(&sieve, Sieve::from(u64::MAX, false), false);
        backward.reverse();
        assert_eq!(backward, expected, "{text}, {kind:?}, backward");
        // From a place in the middle, both ways: each row once.
        if let Some(middle) = all.get(all.len() / 2).map(|listed| listed.row.at) {
            let mut both = searched(&sieve, middle, false);
            both.reverse();
            both.extend(expected.iter().filter(|at| **at == middle));
            both.extend(searched(&sieve, middle, true));
            assert_eq!(both, expected, "{text}, {kind:?}, from {middle:?}");
        }
        let rows = store.list(session.id, kind, Part::From(0), u64::MAX).unwrap();
        let lengths: Vec<_> = rows.iter().filter(fit).map(|listed| listed.answer_length).collect();
        let mut found = Vec::new();
        sieve
            .all(&(0..=u64::MAX), |listed| {
                found.push(listed.answer_length);
                Ok(())
            })
            .unwrap();
        assert_eq!(found, lengths, "{text}, {kind:?}, lengths of answers");
    }
}

/// Every field and state once, and what cannot be decided by rows.
const QUESTIONS: &[&str] = &[
    "n:2..9",
    "n:4",
    "after:2023-11-14T22:13:20.015Z",
    "before:2023-11-14T22:13:20.015Z",
    "at>12ms",
    "age<30ms",
    "dir:c2s",
    "dir:s2c",
    "kind:request",
    "kind:response",
    "kind:notification,batch",
    "kind:raw",
    "kind:stderr",
    "kind:http",
    "kind:gap",
    "size>90",
    "size<40",
    "method:tools",
    "method=ping",
    "method~^tools/",
    "tool:find",
    "tool:f*",
    "tool!=find",
    "tool~/ſ|É/i",
    "prompt:find",
    "uri:file*",
    "name:find",
    "id:1",
    "id:\"1\"",
    "id:1.0",
    "call:1..4",
    "status:ok",
    "status:tool_error,error",
    "status:pending",
    "code:-32601",
    "code>-32700",
    "error:gone",
    "latency>3ms",
    "latency<2ms",
    "finding:a",
    "severity:error",
    "severity>note",
    "session:made",
    "session:other",
    "server:other",
    "client:c",
    "rev:2025",
    "era:legacy",
    "era:modern",
    "transport:stdio",
    "transport:http",
    "http:1..3",
    "http.status>=400",
    "http.method:GET",
    "conversation:1",
    "body:gone",
    "gone",
    "find",
    "arg.q=1",
    "arg.q:x",
    "result.content[*].text:gone",
    ".id",
    "req.params.name:find",
    "resp.error.code:-32601",
    "header.content-type:json",
    "has:method",
    "has:tool",
    "has:latency",
    "has:status",
    "has:code",
    "has:id",
    "has:finding",
    "has:http",
    "has:error",
    "has:arg.q",
    "is:request",
    "is:response",
    "is:notification",
    "is:call",
    "is:error",
    "is:ok",
    "is:pending",
    "is:slow",
    "is:finding",
    "is:violation",
    "is:c2s",
    "is:s2c",
    "is:server_request",
    "is:problem",
];

#[test]
fn every_question_about_real_recordings() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    for name in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if name.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let (store, imported) = read_text(&name).unwrap();
        store.catch_up(imported.session, |_| {}).unwrap();
        let session = store.sessions().unwrap().remove(0);
        for question in QUESTIONS {
            check(&store, &session, question);
            check(&store, &session, &format!("-({question})"));
        }
    }
}

/// SQLite takes no expression as long as these.
#[test]
fn filters_with_very_many_terms() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo.jsonl");
    let (store, imported) = read_text(&path).unwrap();
    store.catch_up(imported.session, |_| {}).unwrap();
    let session = store.sessions().unwrap().remove(0);
    let odd = (0..1_100).map(|n| (2 * n + 1).to_string()).collect::<Vec<_>>();
    let (numbers, chain) = (format!("n:{}", odd.join(",")), format!("n:{}", odd.join(" or n:")));
    let texts = format!("(method:x{} or tool:forecast)", odd.join(" or method:x"));
    for long in [&numbers, &chain, &texts] {
        check(&store, &session, long);
        check(&store, &session, &format!("-({long})"));
        check(&store, &session, &format!("({long}) is:error"));
    }
}

/// Lines with which much can go wrong: ids that are the same and not, answers to nothing, batches, what is no message.
fn line() -> impl Strategy<Value = (Stream, String)> {
    let id = prop_oneof![Just("1"), Just("2"), Just("1.0"), Just("\"1\""), Just("3")];
    let tool = prop_oneof![Just("find"), Just("Find_É"), Just("ſ"), Just("other")];
    let to_server = prop_oneof![
        4 => (id.clone(), tool.clone()).prop_map(|(id, tool)| format!(
            r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"q":1}}}}}}"#
        )),
        1 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"method":"prompts/get","params":{{"name":"find"}}}}"#)),
        1 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"method":"resources/read","params":{{"uri":"file:///x"}}}}"#)),
        1 => id.clone().prop_map(|id| format!(r#"[{{"id":{id},"method":"ping"}},{{"id":3,"method":"tools/call","params":{{"name":"find"}}}}]"#)),
        1 => Just(r#"{"method":"notifications/initialized"}"#.to_owned()),
        1 => Just(r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c"}}}"#.to_owned()),
    ];
    let to_client = prop_oneof![
        4 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"result":{{"content":[{{"type":"text","text":"x"}}]}}}}"#)),
        2 => id.clone().prop_map(|id| format!(
            r#"{{"id":{id},"result":{{"content":[{{"type":"text","text":"it is gone"}}],"isError":true}}}}"#
        )),
        2 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"error":{{"code":-32601,"message":"gone"}}}}"#)),
        1 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"error":{{"code":"-32601"}}}}"#)),
        1 => id.prop_map(|id| format!(r#"[{{"id":{id},"result":{{}}}},{{"id":3,"error":{{"code":-1}}}}]"#)),
        1 => Just(r#"{"id":9,"method":"roots/list"}"#.to_owned()),
        1 => Just("a banner, find".to_owned()),
        1 => Just(String::new()),
    ];
    prop_oneof![
        5 => to_server.prop_map(|line| (Stream::ToServer, line)),
        5 => to_client.prop_map(|line| (Stream::ToClient, line)),
        1 => Just((Stream::Stderr, "find it gone".to_owned())),
    ]
}

fn stored(lines: &[(Stream, String)], border: usize) -> (Store, Session) {
    let store = Store::in_memory().unwrap();
    let start = SessionStart { name: "made".into(), opened_unix_ns: OPENED_UNIX_NS, ..SessionStart::default() };
    let mut segments = vec![Segment::default()];
    for (number, (stream, line)) in (1..).zip(lines) {
        let at_ns = number * 1_000_000;
        // A message may be in pieces, and in more than one segment.
        let (head, tail) = line.split_at(line.floor_char_boundary(line.len() / 2));
        for (index, part) in [head.to_owned(), format!("{tail}\n")].iter().enumerate() {
            if index == 1 && (number as usize).is_multiple_of(border) {
                segments.push(Segment::default());
            }
            let segment = segments.last_mut().unwrap();
            segment.push_chunk(*stream, at_ns, OPENED_UNIX_NS + at_ns, part.as_bytes());
        }
    }
    let id = store.put_in(&start, segments.into_iter().map(Ok), || None).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    let session = store.sessions().unwrap().remove(0);
    (store, session)
}

fn any_filter() -> impl Strategy<Value = String> {
    let question = prop::sample::select(QUESTIONS).prop_map(str::to_owned);
    question.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| format!("({})", all.join(" "))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|any| format!("({})", any.join(" or "))),
            inner.prop_map(|inner| format!("-({inner})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_filter_finds_what_it_finds_without_the_database(
        lines in prop::collection::vec(line(), 0..40),
        filters in prop::collection::vec(any_filter(), 8),
        border in 1usize..9,
    ) {
        let (store, session) = stored(&lines, border);
        for filter in &filters {
            check(&store, &session, filter);
        }
    }
}
