//! `mcp-tap state`: what was true after a message, and what a message changed.

pub(crate) mod facts;

use std::io::Write;

use serde_json::{Map, Value, json};
use tap_session::{At, SessionState};

use crate::arguments::{Global, State};
use crate::command::log::what;
use crate::failure::{Failure, NO};
use crate::following::{Seen, follow};
use crate::output::{Output, Style};
use crate::reference::{Found, Part};
use crate::text::{cut, shown};

use self::facts::Fact;

pub(crate) fn state(global: &Global, state: &State) -> Result<u8, Failure> {
    let found = state.message.resolve(global)?;
    let seq = match found.part {
        Part::One(at) => Some(at.seq),
        Part::All => None,
        Part::Range { .. } => {
            return Err(Failure::new("the state after which message? a range has many")
                .hint("for example `mcp-tap state last:30`, or `mcp-tap state last:30 --diff 40`"));
        }
    };
    let (from, to) = match (state.diff, seq) {
        (None, seq) => (None, seq.unwrap_or(u64::MAX)),
        (Some(_), None) => {
            return Err(Failure::new("what which message changed? a number is missing")
                .hint("for example `mcp-tap state last:30 --diff`"));
        }
        (Some(None), Some(seq)) => (Some(seq.saturating_sub(1)), seq),
        (Some(Some(other)), Some(seq)) => (Some(seq.min(other)), seq.max(other)),
    };
    let mut before = (from == Some(0)).then(|| facts::of(&SessionState::default()));
    let followed = follow(global, &found, to, |Seen { frame, state, .. }| {
        if frame.is_some_and(|frame| Some(frame.seq) == from) {
            before = Some(facts::of(state));
        }
        Ok(())
    })?;
    if to != u64::MAX && followed.last_seq < to {
        return Err(found.has_no(At { seq: to, member: 0 }, followed.last_seq));
    }
    let reference = &found.reference;
    let after = facts::of(&followed.state());
    let mut out = if state.json { Output::new(global) } else { Output::paged(global) };
    let code = match (&before, state.json) {
        (None, true) => {
            writeln!(out, "{}", as_json(&after, &format!("{reference}:{}", followed.last_seq)))?;
            0
        }
        (None, false) => {
            whole(&mut out, &found, &after, &followed.state(), followed.last_seq)?;
            0
        }
        (Some(before), true) => {
            let changed = changes(before, &after);
            writeln!(out, "{}", changes_json(&changed, &format!("{reference}:{to}")))?;
            if changed.is_empty() { NO } else { 0 }
        }
        (Some(before), false) => difference(&mut out, &found, before, &after, from.unwrap_or(0), to)?,
    };
    out.flush()?;
    Ok(code)
}

fn whole(out: &mut Output, found: &Found, facts: &[Fact], state: &SessionState, last_seq: u64) -> Result<(), Failure> {
    let about = match state.at {
        Some(at) => found.store.row(found.session.id, at)?.map(|listed| what(&listed.row)).unwrap_or_default(),
        None => String::new(),
    };
    let name = shown(&found.session.start.name, false);
    let head = match last_seq {
        0 => format!("{name} without a message: {}", shown(&found.end(), false)),
        _ => format!("{name} after message {last_seq}"),
    };
    let about = if about.is_empty() { about } else { format!("  {about}") };
    writeln!(out, "{}{}", out.styled(Style::Bold, &head), out.styled(Style::Dim, &about))?;
    let width = out.width();
    let mut part = "";
    for fact in facts {
        if fact.part != part {
            writeln!(out)?;
            part = fact.part;
        }
        line(out, width, " ", Style::Plain, fact)?;
    }
    Ok(())
}

fn line(out: &mut Output, width: Option<usize>, mark: &str, style: Style, fact: &Fact) -> std::io::Result<()> {
    let comma = if fact.text.is_empty() || fact.aside.is_empty() { "" } else { ", " };
    let (name, said) = (shown(&fact.name, false), shown(&fact.text, false));
    let text = format!("{mark} {name:<22} {said}{comma}{}", fact.aside);
    let text = width.map_or_else(|| text.clone(), |width| cut(&text, width));
    writeln!(out, "{}", out.styled(style, &text))
}

/// What a fact was, and what it is.
type Changed<'a> = (Option<&'a Fact>, Option<&'a Fact>);

fn changes<'a>(before: &'a [Fact], after: &'a [Fact]) -> Vec<Changed<'a>> {
    let same = |a: &Fact, b: &Fact| a.part == b.part && a.name == b.name;
    let gone = before.iter().filter(|old| !after.iter().any(|new| same(old, new))).map(|old| (Some(old), None));
    let new_or_changed = after.iter().filter_map(|new| match before.iter().find(|old| same(old, new)) {
        Some(old) if old.text == new.text => None,
        old => Some((old, Some(new))),
    });
    gone.chain(new_or_changed).collect()
}

fn difference(
    out: &mut Output,
    found: &Found,
    before: &[Fact],
    after: &[Fact],
    from: u64,
    to: u64,
) -> Result<u8, Failure> {
    let name = shown(&found.session.start.name, false);
    let head = if from + 1 == to {
        let row = found.store.row(found.session.id, At { seq: to, member: 0 })?;
        format!("{name}: changed by message {to}  {}", row.map(|listed| what(&listed.row)).unwrap_or_default())
    } else {
        format!("{name}: changed from message {from} to message {to}")
    };
    writeln!(out, "{}", out.styled(Style::Bold, &head))?;
    let changed = changes(before, after);
    let width = out.width();
    for (old, new) in &changed {
        if let Some(old) = old {
            line(out, width, "-", Style::Bad, old)?;
        }
        if let Some(new) = new {
            line(out, width, "+", Style::Good, new)?;
        }
    }
    if changed.is_empty() {
        writeln!(out, "nothing")?;
        return Ok(NO);
    }
    Ok(0)
}

fn as_json(facts: &[Fact], reference: &str) -> Value {
    let mut parts = Map::new();
    parts.insert("reference".into(), reference.into());
    for fact in facts {
        let part = parts.entry(fact.part).or_insert_with(|| json!({}));
        if let Value::Object(part) = part {
            part.insert(fact.name.clone(), fact_json(fact));
        }
    }
    Value::Object(parts)
}

fn fact_json(fact: &Fact) -> Value {
    let text = if fact.text.is_empty() { &fact.aside } else { &fact.text };
    fact.value.clone().unwrap_or_else(|| text.clone().into())
}

fn changes_json(changed: &[Changed<'_>], reference: &str) -> Value {
    let value = |fact: Option<&Fact>| fact.map(fact_json);
    let changes = changed.iter().filter_map(|(old, new)| {
        let fact = new.or(*old)?;
        Some(json!({ "part": fact.part, "name": fact.name, "before": value(*old), "after": value(*new) }))
    });
    json!({ "reference": reference, "changes": changes.collect::<Vec<_>>() })
}
