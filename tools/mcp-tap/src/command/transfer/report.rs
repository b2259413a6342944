//! A session as people read it: what is in a report, before it is Markdown, a page, or a table.
//!
//! Everything in it that came from the wire goes through the redactor, if there is one, before it is cut to size.

use std::collections::BTreeMap;

use tap_exchange::Exchange;
use tap_frame::{Direction, Origin};
use tap_redact::{Redactor, Replaced};
use tap_session::{RowKind, Severity};
use tap_store::{Chosen, ListKind, Listed, Part as StorePart};

use crate::arguments::Global;
use crate::command::log::outcome::outcome;
use crate::command::log::what;
use crate::command::ls::{end_of, when};
use crate::failure::Failure;
use crate::following::follow;
use crate::output::Style;
use crate::reference::Found;
use crate::text::duration;

/// Rows fetched at a time.
const PAGE: u64 = 1000;

/// What of a message is looked at, bytes. More than any report shows.
const LOOKED_AT_BYTES: u64 = 256 * 1024;

/// A session as people read it.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Facts, each with its name.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) entries: Vec<Entry>,
    /// Entries that there are beyond those.
    pub(super) n_more: u64,
    pub(super) findings: Vec<Told>,
    /// What stands for secrets in it.
    pub(super) replaced: Vec<Replaced>,
    /// Secrets were looked for.
    pub(super) is_redacted: bool,
}

/// A broken rule.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    pub(super) text: String,
    pub(super) advice: &'static str,
}

/// A call with its answer, or something else that passed.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) at_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) to_server: bool,
    pub(super) kind: RowKind,
    /// Method and what it is about.
    pub(super) what: String,
    pub(super) method: Option<String>,
    pub(super) target: Option<String>,
    pub(super) outcome: String,
    pub(super) error_code: Option<String>,
    pub(super) style: Style,
    pub(super) latency_ns: Option<u64>,
    pub(super) bytes: u64,
    pub(super) answer_bytes: Option<u64>,
    pub(super) message: Body,
    pub(super) answer: Option<Body>,
}

impl Entry {
    pub(super) fn is_call(&self) -> bool {
        self.kind == RowKind::Request
    }

    /// Which way it went, for people.
    pub(super) fn way(&self) -> &'static str {
        if self.to_server { "→" } else { "←" }
    }
}

/// What a message says.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    pub(super) text: String,
    pub(super) is_json: bool,
    /// Bytes that are not there.
    pub(super) n_cut: u64,
}

impl Body {
    /// For people: broken into lines, and no more than so many bytes of it.
    pub(super) fn pretty(&self, limit: usize) -> String {
        let text = if self.is_json { crate::text::pretty(&self.text) } else { self.text.clone() };
        let shown = crate::text::shown(&text, true);
        let end = shown.floor_char_boundary(limit);
        let n_cut = (shown.len() - end) as u64 + self.n_cut;
        let cut = shown.get(..end).unwrap_or_default();
        if n_cut == 0 { cut.to_owned() } else { format!("{cut}\n… {n_cut} bytes more") }
    }
}

impl Report {
    /// Gathers what is wanted of a session: at most so many entries.
    pub(super) fn of(global: &Global, found: &Found, chosen: &Chosen, limit: usize) -> Result<Self, Failure> {
        let mut this = Self { facts: facts(found), ..Self::default() };
        let mut at = StorePart::From(*found.part.range().start());
        'pages: loop {
            let rows = found.store.list_of(found.session.id, found.conversation, ListKind::Frames, at, PAGE)?;
            let Some(last) = rows.last() else {
                break;
            };
            at = StorePart::After(last.row.at);
            for listed in &rows {
                if listed.row.at.seq > *found.part.range().end() {
                    break 'pages;
                }
                let is_answer = matches!(listed.row.kind, RowKind::Result | RowKind::Error);
                let is_with_its_call = is_answer && listed.row.pair.is_some_and(|pair| chosen.contains(pair.seq));
                if !chosen.contains(listed.row.at.seq) || is_with_its_call || listed.row.kind == RowKind::Blank {
                    continue;
                }
                if this.entries.len() >= limit {
                    this.n_more += 1;
                    continue;
                }
                this.entries.push(entry(found, listed)?);
            }
        }
        follow(global, found, *found.part.range().end(), |seen| {
            for finding in seen.meaning.findings.iter().filter(|finding| chosen.contains(finding.at.seq)) {
                let title = finding.rule.title.trim_end_matches('.');
                let detail = if finding.detail.is_empty() { String::new() } else { format!(": {}", finding.detail) };
                this.findings.push(Told {
                    number: finding.at.seq,
                    rule: finding.rule.id,
                    severity: finding.severity,
                    text: format!("{title}{detail}"),
                    advice: finding.rule.advice,
                });
            }
            Ok(())
        })?;
        Ok(this)
    }

    /// Replaces secrets in all of it.
    pub(super) fn redact(&mut self, redactor: &mut Redactor) {
        loop {
            self.each_text(&mut |name, text| {
                replaced(redactor, name, text);
                None
            });
            if !redactor.looks_again() {
                break;
            }
        }
        self.replaced = redactor.settle();
        self.each_text(&mut |name, text| replaced(redactor, name, text));
        self.is_redacted = true;
    }

    /// Every text that came from the wire or from this machine, with what it is; it is replaced by what comes back.
    fn each_text(&mut self, replace: &mut dyn FnMut(Text, &str) -> Option<String>) {
        let mut change = |kind: Text, text: &mut String| {
            if let Some(new) = replace(kind, text) {
                *text = new;
            }
        };
        for (_, text) in &mut self.facts {
            change(Text::Plain, text);
        }
        for entry in &mut self.entries {
            change(Text::Plain, &mut entry.what);
            change(Text::Plain, &mut entry.outcome);
            for text in entry.method.iter_mut().chain(&mut entry.target) {
                change(Text::Plain, text);
            }
            for body in std::iter::once(&mut entry.message).chain(&mut entry.answer) {
                change(if body.is_json { Text::Json } else { Text::Plain }, &mut body.text);
            }
        }
        for finding in &mut self.findings {
            change(Text::Plain, &mut finding.text);
        }
    }

    /// Calls by what they are about.
    pub(super) fn by_what(&self) -> Vec<Group> {
        let mut groups: BTreeMap<&str, (usize, usize, Vec<u64>)> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.is_call()) {
            let group = groups.entry(&entry.what).or_default();
            group.0 += 1;
            group.1 += usize::from(entry.style == Style::Bad);
            group.2.extend(entry.latency_ns);
        }
        let group = |(what, (n_calls, n_bad, mut latencies)): (&str, (usize, usize, Vec<u64>))| {
            latencies.sort_unstable();
            let middle_ns = latencies.get(latencies.len().saturating_sub(1) / 2).copied();
            Group { what: what.to_owned(), n_calls, n_bad, middle_ns, longest_ns: latencies.last().copied() }
        };
        groups.into_iter().map(group).collect()
    }
}

/// Calls that are about the same.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) what: String,
    pub(super) n_calls: usize,
    pub(super) n_bad: usize,
    /// Of those that were answered.
    pub(super) middle_ns: Option<u64>,
    pub(super) longest_ns: Option<u64>,
}

/// What a text is to the redactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Json,
    Plain,
}

fn replaced(redactor: &mut Redactor, kind: Text, text: &str) -> Option<String> {
    match kind {
        Text::Json => redactor.message(text),
        Text::Plain => redactor.line("text", "report", text),
    }
}

fn facts(found: &Found) -> Vec<(&'static str, String)> {
    let session = &found.session;
    let identity = &session.digest.identity;
    let (_, end) = end_of(session);
    let opened = when(session.start.opened_unix_ns, "%Y-%m-%d %H:%M:%S %:z");
    let mut facts = vec![("server", session.start.name.clone())];
    facts.extend(identity.server.as_ref().map(|server| ("it says to be", server.clone())));
    facts.extend(identity.client.as_ref().map(|client| ("client", client.clone())));
    facts.extend(identity.revision.as_ref().map(|revision| ("revision", revision.clone())));
    facts.push(("command", session.start.command.join(" ")));
    facts.push(("opened", opened));
    facts.push(("lasted", duration(session.digest.newest_at_ns)));
    facts.push(("ended", end));
    let digest = &session.digest;
    facts.push(("messages", digest.n_messages.to_string()));
    facts.push(("calls", digest.n_calls.to_string()));
    facts.push(("errors", digest.n_errors.to_string()));
    facts.push(("recorded by", session.start.recorded_by.clone()));
    facts
}

fn entry(found: &Found, listed: &Listed) -> Result<Entry, Failure> {
    let row = &listed.row;
    let exchange: Option<Exchange> = match listed.exchange {
        Some(number) => found.store.exchange(found.session.id, number)?,
        None => None,
    };
    let (style, outcome) = outcome(listed, exchange.as_ref(), found.session.live);
    let pair = row.pair.filter(|pair| row.kind == RowKind::Request && *pair != row.at);
    let answer = match pair {
        Some(pair) => Some(body(found, pair.seq, true, listed.answer_length)?),
        None => None,
    };
    let is_json = !matches!(
        row.kind,
        RowKind::NotJson | RowKind::Blank | RowKind::Stderr | RowKind::Body | RowKind::Exchange | RowKind::Gap
    );
    Ok(Entry {
        number: row.at.seq,
        at_ns: row.at_ns,
        wall_ns: row.wall_ns,
        to_server: row.stream.direction() == Direction::ToServer,
        kind: row.kind,
        what: what(row),
        method: row.method.as_deref().map(str::to_owned),
        target: row.target.as_deref().map(str::to_owned),
        outcome,
        error_code: row.error_code.clone(),
        style,
        latency_ns: row.latency_ns,
        bytes: listed.length,
        answer_bytes: listed.answer_length,
        message: body(found, row.at.seq, is_json, Some(listed.length))?,
        answer,
    })
}

fn body(found: &Found, seq: u64, is_json: bool, length: Option<u64>) -> Result<Body, Failure> {
    if found.store.frame(found.session.id, seq)?.is_some_and(|frame| matches!(frame.origin, Origin::Gap(_))) {
        return Ok(Body::default());
    }
    let bytes = found.store.frame_start(found.session.id, seq, LOOKED_AT_BYTES)?;
    let n_cut = length.unwrap_or_default().saturating_sub(bytes.len() as u64);
    let text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').trim_end().to_owned();
    // What was cut off, or never was JSON, is text.
    let is_json = is_json && n_cut == 0 && serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
    Ok(Body { text, is_json, n_cut })
}
