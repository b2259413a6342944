//! `mcp-tap state`: what was true after a message, and what a message changed.

pub(crate) mod facts;

use std::io::Write;

use serde_json::{Map, Value, json};
use tap_session::{At, HttpSessionNumber, SessionState};

use crate::arguments::{Global, State};
use crate::command::log::what;
use crate::failure::{Failure, NO};
use crate::following::{Seen, follow};
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, Part};
use crate::text::{counted, cut, shown};

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
    let conversation = chosen(global, &found)?;
    // Messages of other sessions change nothing in this one. A clone costs next to nothing.
    let mut before = from.map(|_| SessionState::default());
    let mut newest = 0;
    // Over HTTP the newest message of this session, and what is known of it: of many sessions the follower forgets some.
    let mut newest_here = 0;
    let mut kept: Option<SessionState> = None;
    let followed = follow(global, &found, to, |Seen { frame, state, conversation: this, .. }| {
        newest = frame.map_or(newest, |frame| frame.seq);
        if this != conversation {
            return Ok(());
        }
        newest_here = frame.map_or(newest_here, |frame| frame.seq);
        // Of a session that is forgotten there is none.
        if conversation.is_some() && state.at.is_none() {
            return Ok(());
        }
        if from.is_some_and(|from| newest <= from) {
            before = Some(state.clone());
        }
        if conversation.is_some() {
            kept = Some(state.clone());
        }
        Ok(())
    })?;
    let began_at_ns = began_at_ns(&found, conversation)?;
    let before = before.as_ref().map(|state| facts::of(state, began_at_ns));
    if to != u64::MAX && followed.last_seq < to {
        return Err(found.has_no(At { seq: to, member: 0 }, followed.last_seq));
    }
    let reference = &found.reference;
    let state_after = followed.state_of(conversation).cloned().or(kept);
    let state_after = match (state_after, conversation) {
        (Some(state), _) => state,
        (None, None) => SessionState::default(),
        (None, Some(number)) => {
            let name = found.inside(number);
            return Err(Failure::new(format!("the state of {name} is not kept any more"))
                .hint(format!("try one of its messages: `mcp-tap state {name}:N`")));
        }
    };
    let after = facts::of(&state_after, began_at_ns);
    let last_seq = if conversation.is_some() { newest_here } else { followed.last_seq };
    let mut out = if state.json { Output::new(global) } else { Output::paged(global) };
    let code = match (&before, state.json) {
        (None, true) => {
            out.json(&as_json(&after, &format!("{reference}:{last_seq}")))?;
            0
        }
        (None, false) => {
            whole(&mut out, &found, conversation, &after, &state_after, last_seq)?;
            0
        }
        (Some(before), true) => {
            let changed = changes(before, &after);
            out.json(&changes_json(&changed, &format!("{reference}:{to}")))?;
            if changed.is_empty() { NO } else { 0 }
        }
        (Some(before), false) => difference(&mut out, &found, conversation, before, &after, from.unwrap_or(0), to)?,
    };
    out.flush()?;
    Ok(code)
}

/// Which session of a recording over HTTP is meant: the one that was named, that of the message, or the only one.
fn chosen(global: &Global, found: &Found) -> Result<Option<HttpSessionNumber>, Failure> {
    if !found.is_http() {
        return Ok(None);
    }
    catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
    if let Part::One(at) = found.part {
        let Some(listed) = found.store.row(found.session.id, at)? else {
            return Err(found.has_no(at, found.last_seq()?));
        };
        found.must_be_inside(at, listed.conversation)?;
        return match listed.conversation {
            Some(number) => Ok(Some(number)),
            None => Err(Failure::new(format!("{} is of no session of MCP, so that it has no state", found.place(at)))),
        };
    }
    if found.conversation.is_some() {
        return Ok(found.conversation);
    }
    match found.store.conversations(found.session.id)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.number)),
        several @ [.., last] => {
            let n = counted(several.len() as u64, "session");
            Err(Failure::new(format!("the state of which session? {} has {n}", found.name()))
                .hint(format!("for example `mcp-tap state {}`, or one of its messages", found.inside(last.number))))
        }
    }
}

/// When a session began, nanoseconds since its recording did.
fn began_at_ns(found: &Found, conversation: Option<HttpSessionNumber>) -> Result<u64, Failure> {
    let Some(number) = conversation else {
        return Ok(0);
    };
    let conversations = found.store.conversations(found.session.id)?;
    let this = conversations.iter().find(|this| this.number == number);
    Ok(this.map_or(0, |this| this.began_at_ns))
}

/// What a session is called in a heading.
fn title(found: &Found, conversation: Option<HttpSessionNumber>) -> String {
    let inside = conversation.map(|number| format!("/{}", number.0)).unwrap_or_default();
    shown(&format!("{}{inside}", found.session.start.name), false)
}

fn whole(
    out: &mut Output,
    found: &Found,
    conversation: Option<HttpSessionNumber>,
    facts: &[Fact],
    state: &SessionState,
    last_seq: u64,
) -> Result<(), Failure> {
    // The newest message may be one of a batch; the last that was followed may be no message.
    let at = state.at.filter(|at| at.seq == last_seq).unwrap_or(At { seq: last_seq, member: 0 });
    let about = match last_seq {
        1.. => found.store.row(found.session.id, at)?.map(|listed| what(&listed.row)).unwrap_or_default(),
        0 => String::new(),
    };
    let name = title(found, conversation);
    let head = match last_seq {
        0 => format!("{name} without a message: {}", shown(&found.end(), false)),
        _ => format!("{name} after message {last_seq}"),
    };
    let about = if about.is_empty() { about } else { format!("  {about}") };
    writeln!(out, "{}{}", out.styled(Style::Bold, &head), out.styled(Style::Dim, &about))?;
    if let Some(hint) = found.hint_when_empty().filter(|_| last_seq == 0) {
        writeln!(out, "{hint}")?;
    }
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
    conversation: Option<HttpSessionNumber>,
    before: &[Fact],
    after: &[Fact],
    from: u64,
    to: u64,
) -> Result<u8, Failure> {
    let name = title(found, conversation);
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
