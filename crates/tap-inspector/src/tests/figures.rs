//! Figures and offers of hostile servers.

use tap_compare::{DriftClass, Piece, PieceOf};
use tap_session::At;

use super::EVIL;
use crate::*;

pub(super) fn stats(query: &StatsQuery, last: u64, complete: bool) -> StatsAnswer {
    let line = |n: u64| StatsLine {
        name: format!("{EVIL}{n}"),
        filter: format!("n:{n}"),
        n_calls: n * n,
        n_errors: n % 2,
        n_open: n % 3,
        p50_ns: (n > 0).then_some(n),
        p95_ns: (n > 0).then_some(u64::MAX),
        spent_ns: n,
        exact: !n.is_multiple_of(5),
        answer_bytes: u64::MAX / 2,
        magnitudes: (0..n % 14).map(|magnitude| magnitude * n % 7).collect(),
        ..StatsLine::default()
    };
    let n_lines = if query.filter.is_some() { last % 2 } else { last % 90 };
    StatsAnswer {
        spent: StatsSpent { all_ns: last, person_ns: last / 4, tools_ns: last / 3, others_ns: 0 },
        seq: last,
        last_seq: last,
        complete,
        lines: (0..n_lines).map(line).collect(),
        n_left_out: last,
        n_calls: u64::MAX,
        n_errors: last,
        magnitudes_ns: (0..12).collect(),
        stretch_ns: last,
        stretches: vec![(last, u64::MAX); (last % 256) as usize],
        never_called: vec![EVIL.into(); 9],
        n_never_called: last,
        definitions: (last, last),
        instruction_bytes: u64::MAX,
        results: (1, 0),
        largest: vec![(EVIL.into(), last, last); 12],
    }
}

pub(super) fn tools(seq: u64, last: u64, complete: bool) -> ToolsAnswer {
    let difference = |n: u64| [None, Some(Difference::Added), Some(Difference::Changed)][n as usize % 3];
    let line = |n: u64| OfferLine {
        kind: if n.is_multiple_of(4) { OfferKind::Prompt } else { OfferKind::Tool },
        name: format!("{EVIL}{n}"),
        title: (n.is_multiple_of(2)).then(|| EVIL.into()),
        description: (!n.is_multiple_of(3)).then(|| format!("{EVIL}\n").repeat(n as usize * 9)),
        arguments: vec![(EVIL.into(), n.is_multiple_of(2)); n as usize % 9],
        marks: vec!["read-only"; n as usize % 3],
        filter: if n.is_multiple_of(4) { String::new() } else { "tool:x".into() },
        n_calls: n * n,
        n_errors: n % 2,
        n_hidden: n % 4 * 9_000,
        definition: format!("{{\"{EVIL}\":[\"{EVIL}\",{{\"a\":{n}}}]}}").into_bytes().into(),
        here: difference(n),
        before: difference(n / 3),
        changes: vec![
            OfferChange {
                since: EVIL.into(),
                what: Difference::Removed,
                class: DriftClass::Breaking,
                told: vec![(DriftClass::Prompt, EVIL.into()); n as usize % 50],
            };
            n as usize % 3
        ],
    };
    ToolsAnswer {
        seq,
        complete,
        lines: (0..seq % 40).map(line).collect(),
        n_left_out: last,
        listed: vec![EVIL.into(); 3],
        earlier: (seq.is_multiple_of(2)).then(|| EVIL.into()),
    }
}

pub(super) fn compared(last: u64, complete: bool) -> Compared {
    let class = |n: u64| [None, Some(DriftClass::Breaking), Some(DriftClass::Prompt)][n as usize % 3];
    let signs = [CompareSign::Same, CompareSign::Changed, CompareSign::OnlyA, CompareSign::OnlyB];
    let at = |n: u64| (!n.is_multiple_of(3)).then_some(At { seq: n % 5 + 1, member: 0 });
    let line = |n: u64| CompareLine {
        sign: signs[(n / 2 % 4) as usize],
        what: "call",
        subject: format!("{EVIL}{n}"),
        digest: EVIL.into(),
        change: EVIL.repeat(n as usize % 4),
        class: class(n),
        places: [at(n), at(n / 3)],
    };
    let side = ComparedSide {
        reference: EVIL.into(),
        server: EVIL.into(),
        n_errors: last,
        p50_ns: last.is_multiple_of(2).then_some(u64::MAX),
        live: true,
        ..ComparedSide::default()
    };
    Compared {
        sides: [side, ComparedSide::default()],
        lists: vec![("tool", [1, 2, 3])],
        n_breaking: 1,
        n_prompt: usize::MAX,
        n_calls: [1, 2, 3, 4],
        n_hidden: 9,
        lines: (0..last % 70).map(line).collect(),
        notes: vec![EVIL.into()],
        progress: EVIL.into(),
        complete,
    }
}

pub(super) fn differences(line: usize) -> LineDifferences {
    let text = |n: usize| (!n.is_multiple_of(4)).then(|| format!("{EVIL}\n{}", EVIL.repeat(n % 30)));
    let place = |n: usize| ComparePlace {
        path: EVIL.repeat(n % 3),
        words: EVIL.into(),
        class: Some(DriftClass::Breaking),
        values: [text(n), text(n / 2)],
        pieces: [PieceOf::Both, PieceOf::A, PieceOf::B]
            .into_iter()
            .cycle()
            .take(n % 7)
            .map(|of| Piece { of, text: format!("{EVIL} {EVIL}\n") })
            .collect(),
        rules: vec!["--loose case"; n % 2],
        ignore: (!n.is_multiple_of(3)).then(|| format!("{}{n}", if n.is_multiple_of(2) { EVIL } else { "result.a" })),
    };
    LineDifferences {
        places: (0..line % 9).map(place).collect(),
        n_places: line % 30,
        hidden: vec![(EVIL.into(), "ignored"); line % 3],
        n_hidden: line % 5,
        notes: vec![EVIL.into(); line % 2],
    }
}
