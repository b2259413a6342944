//! The report as one JSON object, of the shape that `docs/diff.md` has.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tap_compare::{Comparison, Difference, Drift, ItemState, ListKind, PairedBy, Side};

use crate::comparing::report::{End, Half, Listed, Pair, Report, State};
use crate::output::Output;

pub(super) fn write(out: &mut Output, report: &Report) -> std::io::Result<()> {
    let hidden: serde_json::Map<String, Value> =
        report.hidden.iter().map(|(by, n)| (by.name().to_owned(), (*n).into())).collect();
    out.json(&json!({
        "a": half(&report.a),
        "b": half(&report.b),
        "same": !report.differs(),
        "counts": {
            "same": report.counts.same,
            "changed": report.counts.changed,
            "only_a": report.counts.only_a,
            "only_b": report.counts.only_b,
        },
        "hidden": hidden,
        "lists": report.lists.iter().map(list).collect::<Vec<_>>(),
        "calls": report.calls.iter().map(call).collect::<Vec<_>>(),
        "bounds": report.bounds.iter().map(|bound| bound.says()).collect::<Vec<_>>(),
        "paired_by_order": report.n_by_order,
    }))
}

fn half(half: &Half) -> Value {
    json!({"name": half.name, "server": {"name": half.server.0, "version": half.server.1}, "calls": half.n_calls})
}

fn list(listed: &Listed) -> Value {
    let drift = match &listed.what {
        Ok(drift) => drift,
        Err((a, b)) => return json!({"kind": listed.kind.one(), "listed": {"a": a, "b": b}}),
    };
    drifted(listed.kind, drift)
}

/// What has changed of a list.
pub(in crate::command) fn drifted(kind: ListKind, drift: &Drift) -> Value {
    let items = drift.items.iter().map(|item| {
        let changes = item.changes.iter().map(|change| {
            json!({
                "path": change.path.pointer(),
                "class": change.class.name().to_lowercase(),
                "words": change.words,
                "a": value(change.a.as_deref()),
                "b": value(change.b.as_deref()),
            })
        });
        json!({
            "name": item.name,
            "state": match item.state {
                ItemState::Added => "added",
                ItemState::Removed => "removed",
                ItemState::Changed => "changed",
            },
            "class": item.class.name().to_lowercase(),
            "n_changes": item.n_changes,
            "changes": changes.collect::<Vec<_>>(),
        })
    });
    json!({"kind": kind.one(), "same": drift.n_same, "items": items.collect::<Vec<_>>()})
}

fn call(pair: &Pair) -> Value {
    let mut differences = Vec::new();
    for (side, name, comparison) in
        [(Side::Request, "request", &pair.request), (Side::Response, "answer", &pair.answer)]
    {
        differences.extend(comparison.differences.iter().map(|this| difference(side, name, this)));
    }
    let hidden = |side: Side, comparison: &Comparison| {
        let each = comparison.hidden.iter();
        each.map(|hidden| json!({"path": hidden.path.dotted(side), "by": hidden.by.name()})).collect::<Vec<_>>()
    };
    let hidden = [hidden(Side::Request, &pair.request), hidden(Side::Response, &pair.answer)].concat();
    json!({
        "state": match pair.state {
            State::Same => "same",
            State::Changed => "changed",
            State::OnlyA => "only_a",
            State::OnlyB => "only_b",
        },
        "method": pair.method,
        "name": pair.name,
        "a": pair.a.as_ref().map(end),
        "b": pair.b.as_ref().map(end),
        "paired_by": match pair.by {
            PairedBy::Key => "key",
            PairedBy::Nearest => "nearest",
            PairedBy::Order => "order",
            PairedBy::Alone => "alone",
        },
        "n_differences": pair.n_differences(),
        "differences": differences,
        "n_hidden": pair.n_hidden(),
        "hidden": hidden,
    })
}

fn end(end: &End) -> Value {
    json!({
        "ref": end.place,
        "n": end.at.seq,
        "status": end.status.to_string(),
        "latency_ns": end.latency_ns,
        "rounds": end.n_rounds,
    })
}

pub(in crate::command) fn difference(side: Side, message: &str, difference: &Difference) -> Value {
    json!({
        "in": message,
        "path": difference.path.dotted(side),
        "pointer": difference.path.pointer(),
        "inside_text": difference.path.is_inside_text(),
        "path_in_a": difference.path_in_a.as_ref().map(|path| path.dotted(side)),
        "change": difference.change.name(),
        "a": value(difference.a.as_deref()),
        "b": value(difference.b.as_deref()),
    })
}

/// A value as the text of its JSON: numbers and strings that no JSON library can represent stay what they are.
fn value(json: Option<&[u8]>) -> Option<String> {
    json.map(|json| match serde_json::from_slice::<&RawValue>(json) {
        Ok(raw) => raw.get().to_owned(),
        Err(_) => String::from_utf8_lossy(json).into_owned(),
    })
}
