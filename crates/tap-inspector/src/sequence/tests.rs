//! Bars of calls, what time was spent on, and what a screen holds.

use tap_frame::Stream;
use tap_jsonrpc::Notes;
use tap_session::{At, Link, LinkKind, MessageRow, RowKind, Status};

use super::bars::{bars, only_one_running, spent};
use crate::data::{Digested, Row, Tone};

const MS: u64 = 1_000_000;

fn at(seq: u64) -> At {
    At { seq, member: 0 }
}

/// A request with its answer, as rows: number of either, when and how long in milliseconds.
pub(crate) fn call(seq: u64, answer: u64, from_ms: u64, took_ms: u64, method: &str, to_server: bool) -> [Row; 2] {
    let [there, back] =
        if to_server { [Stream::ToServer, Stream::ToClient] } else { [Stream::ToClient, Stream::ToServer] };
    let row = |seq: u64, stream, kind, at_ms: u64, pair| Row {
        row: MessageRow {
            at: at(seq),
            wall_ns: at_ms * MS,
            at_ns: at_ms * MS,
            stream,
            kind,
            raw_id: None,
            method: Some(method.into()),
            target: None,
            status: Some(Status::Ok),
            error_code: None,
            pair: Some(at(pair)),
            latency_ns: Some(took_ms * MS),
            lost_bytes: None,
            notes: Notes::default(),
            done: None,
            received: None,
        },
        length: 1,
        answer_length: Some(1),
        clock: String::new(),
        digest: Digested::default(),
        exchange: None,
        conversation: None,
        status: (Tone::Good, "ok".into()),
        settled: true,
    };
    [row(seq, there, RowKind::Request, from_ms, answer), row(answer, back, RowKind::Result, from_ms + took_ms, seq)]
}

/// Takes the answer of a call away.
fn open([mut request, _]: [Row; 2]) -> [Row; 1] {
    request.row.pair = None;
    request.row.latency_ns = None;
    [request]
}

#[test]
fn all_rounds_of_a_call_are_one_bar_with_a_wait_between_them() {
    let rows = [
        call(1, 2, 0, 10, "tools/call", true),
        call(3, 4, 100, 20, "tools/call", true),
        call(5, 6, 200, 30, "tools/call", true),
    ];
    let links = [(3, 1), (5, 1)].map(|(from, to)| Link { from: at(from), to: at(to), kind: LinkKind::Round });
    let bars = bars(rows.as_flattened().iter(), &links);
    assert_eq!(bars[0].end, Some((at(6), 230_000_000)));
    assert_eq!(bars[0].waits, [(10_000_000, 100_000_000), (120_000_000, 200_000_000)]);
    assert_eq!(bars[0].n_rounds, 3);
    assert_eq!(bars[2].first_round, Some(at(1)));
    let spent = spent(&bars, 0, 300_000_000);
    assert_eq!((spent.busy_ns, spent.person_ns, spent.between_ns), (60_000_000, 170_000_000, 70_000_000));
}

#[test]
fn a_person_whom_the_server_asks_is_waited_for() {
    let rows = [call(1, 4, 0, 100, "tools/call", true), call(2, 3, 20, 50, "elicitation/create", false)];
    let bars = bars(rows.as_flattened().iter(), &[]);
    assert_eq!(bars[0].waits, [(20_000_000, 70_000_000)]);
    assert_eq!(bars[1].waits, []);
    let spent = spent(&bars, 0, 100_000_000);
    assert_eq!((spent.busy_ns, spent.person_ns), (50_000_000, 50_000_000));
}

#[test]
fn what_runs_at_once_is_counted_once_and_long_pauses_are_idle() {
    let mut rows: Vec<Row> = call(1, 3, 0, 100, "tools/call", true).into();
    rows.extend(call(2, 4, 50, 100, "tools/call", true));
    rows.extend(call(5, 6, 200, 100, "subscriptions/listen", true));
    rows.extend(call(7, 8, 5_000, 10, "ping", true));
    rows.extend(open(call(9, 10, 5_020, 0, "tools/call", true)));
    let bars = bars(rows.iter(), &[]);
    let spent = spent(&bars, 0, 6_000_000_000);
    assert_eq!(spent.busy_ns, 150_000_000 + 10_000_000 + 980_000_000);
    assert_eq!(spent.between_ns, 10_000_000);
    assert_eq!(spent.idle_ns, 4_850_000_000);
    assert_eq!(only_one_running(&bars, At { seq: 2, member: 1 }), None, "there are two");
    assert_eq!(only_one_running(&bars, at(4)), None, "its own answer does not run in it");
    assert_eq!(only_one_running(&bars, At { seq: 3, member: 1 }), Some(at(2)));
    assert_eq!(only_one_running(&bars, at(11)), Some(at(9)), "without an answer it runs on");
}
