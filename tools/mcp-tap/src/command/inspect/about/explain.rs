//! What may explain how a call went: facts alone, looked up in what was recorded.

use std::collections::BTreeSet;

use tap_inspector::{About, AboutLine, AboutPart, Target, Ticket, Tone};
use tap_jsonrpc::Node;
use tap_session::{At, RowKind, Status};
use tap_store::{ListKind, Listed, Part, SessionId, StoreError};

use super::{Around, Called, LOOKED_BYTES, bytes_of, leading, line};
use crate::said::{beginning, said};
use crate::text::{counted, duration, thousands};

/// How many calls before this one are looked at.
const CALLS: u64 = 20_000;

/// Rows that are looked at between two looks at whether the question still stands.
const PAGE: u64 = 1_000;

/// How many other sessions are looked at for the same error, the newest ones, and how many of their newest calls.
const SESSIONS: usize = 20;
const CALLS_ELSEWHERE: u64 = 2_000;

/// How many rows before and after the call are looked at for stderr and for what ran at the same time.
const NEAR: u64 = 2_000;

/// How near in time a line of stderr is told, nanoseconds.
const NEAR_NS: u64 = 1_000_000_000;

/// Lines of stderr, differences, and calls that are told at most.
const TOLD: usize = 6;

/// How much of an answer is looked at for what it says, bytes: as much as lists do.
const SAID_BYTES: u64 = 2_048;

/// The same words in another session: in which, how often, and in which call last.
type Elsewhere = (SessionId, u64, At);

/// What is known of the calls of the same tool before this one.
#[derive(Default)]
struct Before {
    last_good: Option<Listed>,
    latencies_ns: Vec<u64>,
    n_failed: u64,
    /// Calls that failed with the same words, and the newest of them.
    n_same: u64,
    same: Option<At>,
    n_looked: u64,
    /// Not all of the session was looked at.
    is_cut: bool,
}

impl Around<'_> {
    pub(super) fn explain(&mut self, called: &Called, ticket: Ticket) -> Result<Option<About>, StoreError> {
        let at = called.asked.row.at;
        let mut about = About { at, part: AboutPart::Explain, lines: Vec::new(), points: Vec::new(), badge: None };
        let Some(request) = called.request.clone() else {
            let text = match called.asked.row.kind {
                RowKind::Result | RowKind::Error => "its request was not recorded",
                _ => "it is no call",
            };
            about.lines.push(line("", text, Tone::Dim));
            return Ok(Some(about));
        };
        let lines = &mut about.lines;
        let error = self.outcome(called, &request, lines)?;
        let Some(before) = self.before(called, &request, error.as_deref(), ticket)? else {
            return Ok(None);
        };
        self.tell_before(called, &request, &before, lines)?;
        self.tell_state(called, &request, lines)?;
        self.tell_near(called, &request, lines)?;
        if let Some(error) = error {
            let Some(elsewhere) = self.elsewhere(called, &error, ticket)? else {
                return Ok(None);
            };
            tell_same(&before, &elsewhere, lines);
        }
        if before.is_cut {
            let text = format!("only the {} calls before this one were looked at", thousands(before.n_looked));
            lines.push(line("", text, Tone::Dim));
        }
        Ok(Some(about))
    }

    /// Tells how it went; gives back what it says when it failed.
    fn outcome(
        &self,
        called: &Called,
        request: &Listed,
        lines: &mut Vec<AboutLine>,
    ) -> Result<Option<String>, StoreError> {
        let Some(answer) = &called.answer else {
            let text = if called.session.live { "not answered yet" } else { "never answered" };
            lines.push(line("outcome", text, Tone::Warning));
            return Ok(None);
        };
        let after = request.row.latency_ns.map(|ns| format!(" after {}", duration(ns))).unwrap_or_default();
        let (text, tone) = match answer.row.status {
            Some(Status::Error) => {
                let code = answer.row.error_code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
                (format!("error{code}{after}"), Tone::Bad)
            }
            Some(Status::ToolError) => (format!("the tool failed{after}"), Tone::Bad),
            _ => (format!("ok{after}"), Tone::Good),
        };
        lines.push(leading("outcome", text, tone, answer.row.at));
        if !matches!(answer.row.status, Some(Status::Error | Status::ToolError)) {
            return Ok(None);
        }
        let said = said(&bytes_of(self.store(), called.session.id, answer.row.at, SAID_BYTES)?);
        lines.push(line("", said.clone(), Tone::Bad));
        Ok(Some(said).filter(|said| !said.is_empty()))
    }

    /// Looks at the calls before this one; `None` when that is of no use any more.
    fn before(
        &self,
        called: &Called,
        request: &Listed,
        error: Option<&str>,
        ticket: Ticket,
    ) -> Result<Option<Before>, StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let mut before = Before::default();
        let mut edge = Some(request.row.at);
        while let Some(at) = edge {
            if self.is_withdrawn(ticket) {
                return Ok(None);
            }
            if before.n_looked >= CALLS {
                before.is_cut = true;
                break;
            }
            let rows = store.list_of(id, request.conversation, ListKind::Calls, Part::Before(at), PAGE)?;
            before.n_looked += rows.len() as u64;
            edge = rows.first().filter(|_| rows.len() as u64 == PAGE).map(|row| row.row.at);
            for listed in rows.into_iter().rev().filter(|it| it.row.kind == RowKind::Request) {
                let failed = matches!(listed.row.status, Some(Status::Error | Status::ToolError));
                if let (true, Some(error), Some(answer)) = (failed, error, listed.row.pair)
                    && said(&bytes_of(store, id, answer, SAID_BYTES)?) == error
                {
                    before.n_same += 1;
                    before.same = before.same.or(Some(listed.row.at));
                }
                if (&listed.row.method, &listed.row.target) != (&request.row.method, &request.row.target) {
                    continue;
                }
                match listed.row.status {
                    Some(Status::Ok) => {
                        before.latencies_ns.extend(listed.row.latency_ns);
                        before.last_good = before.last_good.or(Some(listed));
                    }
                    Some(_) => before.n_failed += 1,
                    None => {}
                }
            }
        }
        before.latencies_ns.sort_unstable();
        Ok(Some(before))
    }

    fn tell_before(
        &self,
        called: &Called,
        request: &Listed,
        before: &Before,
        lines: &mut Vec<AboutLine>,
    ) -> Result<(), StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let what = request.row.target.as_deref().or(request.row.method.as_deref()).unwrap_or("this");
        match &before.last_good {
            None => {
                let failed = match before.n_failed {
                    0 => String::new(),
                    n => format!("; {} failed", counted(n, "call")),
                };
                lines.push(line("last good call", format!("none of {what} before it{failed}"), Tone::Plain));
            }
            Some(good) => {
                let ago = duration(request.row.at_ns.saturating_sub(good.row.at_ns));
                let text = format!("#{}, {ago} before", good.row.at.seq);
                lines.push(leading("last good call", text, Tone::Plain, good.row.at));
                let this = bytes_of(store, id, request.row.at, LOOKED_BYTES)?;
                let that = bytes_of(store, id, good.row.at, LOOKED_BYTES)?;
                let asked = |bytes| -> Option<Node<'_>> {
                    let params = Node::new(bytes).get("params")?;
                    Some(params.get("arguments").unwrap_or(params))
                };
                let mut differences = Vec::new();
                differ(asked(&that), asked(&this), "arg", 0, &mut differences);
                if differences.is_empty() {
                    lines.push(line("", "with the same arguments", Tone::Plain));
                }
                let n_more = differences.len().saturating_sub(TOLD);
                for (path, old, new) in differences.into_iter().take(TOLD) {
                    lines.push(line("  differs in", path, Tone::Plain));
                    lines.push(line("", format!("- {old}"), Tone::Dim));
                    lines.push(line("", format!("+ {new}"), Tone::Plain));
                }
                if n_more > 0 {
                    lines.push(line("", format!("and in {n_more} more"), Tone::Dim));
                }
            }
        }
        let times = &before.latencies_ns;
        if let (Some(shortest), Some(longest)) = (times.first(), times.last()) {
            let middle = times.get(times.len() / 2).unwrap_or(longest);
            let text = format!(
                "{} to {}, half of {} within {}",
                duration(*shortest),
                duration(*longest),
                counted(times.len() as u64, "good call"),
                duration(*middle)
            );
            let is_slow = request.row.latency_ns.is_some_and(|this| *longest < this);
            lines.push(line("usually takes", text, if is_slow { Tone::Warning } else { Tone::Plain }));
        }
        Ok(())
    }

    /// What of the session's state may matter: the tools as listed, the roots.
    fn tell_state(&mut self, called: &Called, request: &Listed, lines: &mut Vec<AboutLine>) -> Result<(), StoreError> {
        let (store, id, at) = (self.store(), called.session.id, request.row.at);
        let conversation = request.conversation;
        if request.row.method.as_deref() == Some("tools/call") {
            match self.newest_result(id, conversation, "tools/list", at)? {
                None => lines.push(line("tools", "were not listed before", Tone::Warning)),
                Some(listed) => {
                    let changed = self.change_between(called, listed, at)?;
                    let text = format!("listed in #{}", listed.seq);
                    lines.push(match changed {
                        None => leading("tools", text, Tone::Plain, listed),
                        Some(change) => {
                            let text = format!("{text}, said to have changed in #{} since", change.seq);
                            leading("tools", text, Tone::Warning, change)
                        }
                    });
                }
            }
        }
        if let Some(roots) = self.newest_result(id, conversation, "roots/list", at)? {
            let bytes = bytes_of(store, id, roots, LOOKED_BYTES)?;
            let known = Node::new(&bytes).at(&["result", "roots"]);
            let uris: Vec<String> = known
                .into_iter()
                .flat_map(Node::elements)
                .filter_map(|root| root.get("uri")?.text().map(std::borrow::Cow::into_owned))
                .take(TOLD)
                .collect();
            let text = if uris.is_empty() { "none".into() } else { uris.join(" ") };
            lines.push(leading("roots", format!("as of #{}: {text}", roots.seq), Tone::Plain, roots));
        }
        Ok(())
    }

    /// Whether the server said that its tools changed, between two messages that are not far from each other.
    fn change_between(&self, called: &Called, from: At, to: At) -> Result<Option<At>, StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let rows = store.list(id, ListKind::Frames, Part::Before(to), NEAR)?;
        let is_change = |row: &&Listed| row.row.method.as_deref() == Some("notifications/tools/list_changed");
        let found = rows.iter().rev().take_while(|row| from < row.row.at).find(is_change);
        Ok(found.map(|row| row.row.at))
    }

    /// What was near in time: stderr, and what ran at the same time.
    fn tell_near(&self, called: &Called, request: &Listed, lines: &mut Vec<AboutLine>) -> Result<(), StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let begin_ns = request.row.at_ns;
        let end_ns = called.answer.as_ref().map_or(begin_ns, |answer| answer.row.at_ns);
        let mut rows = store.list(id, ListKind::Frames, Part::Before(request.row.at), NEAR)?;
        let last = rows.last().map_or(request.row.at, |row| row.row.at);
        rows.extend(store.list(id, ListKind::Frames, Part::After(last), NEAR)?);
        let is_near = |row: &&Listed| {
            row.row.kind == RowKind::Stderr
                && (begin_ns.saturating_sub(NEAR_NS)..=end_ns.saturating_add(NEAR_NS)).contains(&row.row.at_ns)
        };
        let near: Vec<&Listed> = rows.iter().filter(is_near).collect();
        if near.is_empty() {
            lines.push(line("stderr within 1 s", "nothing", Tone::Dim));
        }
        for (index, row) in near.iter().take(TOLD).enumerate() {
            let bytes = bytes_of(store, id, row.row.at, SAID_BYTES)?;
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            let name = if index == 0 { "stderr within 1 s" } else { "" };
            lines.push(leading(name, format!("#{} {text}", row.row.at.seq), Tone::Plain, row.row.at));
        }
        if near.len() > TOLD {
            lines.push(line("", format!("and {} more", counted((near.len() - TOLD) as u64, "line")), Tone::Dim));
        }
        // Of requests that were never answered all are known, of others those that are not far away.
        let mut seen = BTreeSet::new();
        let waiting = store.unanswered(id)?;
        let ran = rows.iter().chain(&waiting).filter(|other| {
            let row = &other.row;
            let over_ns = row.latency_ns.map(|latency_ns| row.at_ns.saturating_add(latency_ns));
            row.kind == RowKind::Request
                && row.at != request.row.at
                && row.at_ns <= end_ns
                && over_ns.is_none_or(|over_ns| begin_ns < over_ns)
                && (row.pair.is_some() || row.at < request.row.at || row.at_ns < end_ns)
        });
        let ran: Vec<&Listed> = ran.filter(|other| seen.insert(other.row.at)).collect();
        if ran.is_empty() {
            lines.push(line("in flight meanwhile", "nothing else", Tone::Dim));
        }
        for (index, other) in ran.iter().take(TOLD).enumerate() {
            let row = &other.row;
            let (method, target) = (row.method.as_deref().unwrap_or(""), row.target.as_deref().unwrap_or(""));
            let took = row.latency_ns.map_or_else(|| "never answered".into(), duration);
            let name = if index == 0 { "in flight meanwhile" } else { "" };
            lines.push(leading(name, format!("#{} {method} {target}  {took}", row.at.seq), Tone::Plain, row.at));
        }
        if ran.len() > TOLD {
            lines.push(line("", format!("and {} more", counted((ran.len() - TOLD) as u64, "call")), Tone::Dim));
        }
        Ok(())
    }

    /// The same words among the newest calls of other sessions: how many in which, and the newest.
    fn elsewhere(&self, called: &Called, error: &str, ticket: Ticket) -> Result<Option<Vec<Elsewhere>>, StoreError> {
        let store = self.store();
        let mut found = Vec::new();
        for session in store.sessions()?.into_iter().filter(|it| it.id != called.session.id).take(SESSIONS) {
            if self.is_withdrawn(ticket) {
                return Ok(None);
            }
            let (mut n, mut newest) = (0, None);
            let rows = store.list(session.id, ListKind::Calls, Part::UpTo(u64::MAX), CALLS_ELSEWHERE)?;
            for listed in rows.into_iter().rev() {
                if let (Some(Status::Error | Status::ToolError), Some(answer)) = (listed.row.status, listed.row.pair)
                    && said(&bytes_of(store, session.id, answer, SAID_BYTES)?) == error
                {
                    n += 1;
                    newest = newest.or(Some(listed.row.at));
                }
            }
            found.extend(newest.map(|newest| (session.id, n, newest)));
        }
        Ok(Some(found))
    }
}

fn tell_same(before: &Before, elsewhere: &[Elsewhere], lines: &mut Vec<AboutLine>) {
    let n_elsewhere: u64 = elsewhere.iter().map(|(_, n, _)| n).sum();
    match before.same {
        Some(at) => {
            let text = format!("{} before in this session, last in #{}", counted(before.n_same, "time"), at.seq);
            lines.push(leading("same words", text, Tone::Plain, at));
        }
        None => lines.push(line("same words", "not before in this session", Tone::Dim)),
    }
    if let Some((session, _, at)) = elsewhere.first() {
        let others = counted(elsewhere.len() as u64, "other session");
        let goes_to = Some(Target { session: Some(tap_inspector::SessionKey(session.0)), at: *at });
        let text = format!("{} in {others}, the newest ones that were looked at", counted(n_elsewhere, "time"));
        lines.push(AboutLine { goes_to, ..line("", text, Tone::Plain) });
    }
}

/// Where two values differ: path, then how it was and how it is, as they were written. Numbers that are written in another
/// way differ.
fn differ(
    old: Option<Node<'_>>,
    new: Option<Node<'_>>,
    path: &str,
    depth: usize,
    out: &mut Vec<(String, String, String)>,
) {
    /// Deeper values are told whole; so many differences are enough to count.
    const DEPTH: usize = 16;
    const DIFFERENCES: usize = 100;
    if out.len() >= DIFFERENCES || old.map(Node::bytes) == new.map(Node::bytes) {
        return;
    }
    match (old, new) {
        (Some(old), Some(new)) if depth < DEPTH && old.is_object() && new.is_object() => {
            for (key, value) in new.members() {
                let key = key.text();
                differ(old.get(&key), Some(value), &format!("{path}.{key}"), depth + 1, out);
            }
            for (key, value) in old.members().filter(|(key, _)| new.get(&key.text()).is_none()) {
                differ(Some(value), None, &format!("{path}.{}", key.text()), depth + 1, out);
            }
        }
        (Some(old), Some(new)) if depth < DEPTH && old.is_array() && new.is_array() => {
            let (mut old, mut new) = (old.elements(), new.elements());
            for index in 0.. {
                let (old, new) = (old.next(), new.next());
                if old.is_none() && new.is_none() || out.len() >= DIFFERENCES {
                    break;
                }
                differ(old, new, &format!("{path}[{index}]"), depth + 1, out);
            }
        }
        _ => {
            let text = |node: Option<Node<'_>>| {
                let text = node.map(|node| beginning(&String::from_utf8_lossy(node.bytes())));
                text.unwrap_or_else(|| "not there".into())
            };
            out.push((path.to_owned(), text(old), text(new)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_by_their_paths() {
        for (old, new, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#, ""),
            (r#"{"a":1}"#, r#"{"a":2}"#, "arg.a: 1 > 2"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, "arg.a: 1 > not there"),
            (r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3,4]}}"#, "arg.a.b[1]: 2 > 3, arg.a.b[2]: not there > 4"),
            (r#"{"a":[]}"#, r#"{"a":{}}"#, "arg.a: [] > {}"),
            ("", "{}", "arg: not there > {}"),
        ] {
            let mut out = Vec::new();
            let node = |text: &'static str| (!text.is_empty()).then(|| Node::new(text.as_bytes()));
            differ(node(old), node(new), "arg", 0, &mut out);
            let told: Vec<_> = out.into_iter().map(|(path, old, new)| format!("{path}: {old} > {new}")).collect();
            assert_eq!(told.join(", "), expected, "{old} {new}");
        }
    }

    #[test]
    fn hostile_arguments_are_compared_within_bounds() {
        let deep = "{\"a\":".repeat(10_000) + "1";
        let mut out = Vec::new();
        differ(Some(Node::new(deep.as_bytes())), Some(Node::new(b"{\"a\":{\"a\":{\"a\":2}}}")), "arg", 0, &mut out);
        assert_eq!(out.len(), 1);
        let wide = format!("[{}1]", "1,".repeat(10_000));
        out.clear();
        differ(Some(Node::new(wide.as_bytes())), Some(Node::new(b"[]")), "arg", 0, &mut out);
        assert_eq!(out.len(), 100);
    }
}
