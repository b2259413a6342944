//! `mcp-tap log`: the calls of a session, or its frames, one a line.

mod all;
mod json;
pub(crate) mod outcome;

use std::collections::BTreeSet;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use tap_exchange::Exchange;
use tap_filter::Filter;
use tap_session::{At, MessageRow, RowKind};
use tap_store::{Bookmark, ListKind, Listed, Part as StorePart};

use crate::arguments::{Global, Log};
use crate::command::ls::{end_of, when};
use crate::failure::{Failure, NO};
use crate::filtering::{self, Sieve, Sifted, fits};
use crate::marks::sign;
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, Part, Reference};
use crate::subject::Findings;
use crate::text::{column, duration, shown, size};

pub(crate) use self::json::{row_json, with_verbatim};
use self::outcome::{is_settled, outcome};

/// Rows fetched at a time.
const PAGE: u64 = 1000;

/// How much of a line without a better name is looked at, bytes.
const PREVIEW_BYTES: u64 = 200;

/// How often a live session is looked at.
const FOLLOW: Duration = Duration::from_millis(100);

pub(crate) fn log(global: &Global, log: &Log) -> Result<u8, Failure> {
    let filter = filtering::read(&log.filter)?;
    if log.all {
        return match filter {
            Some(filter) => all::all(global, log, &filter),
            None => Err(Failure::new("what is to be looked for in all sessions?")
                .hint("such as `mcp-tap log --all 'is:error'`; without a filter, `mcp-tap ls` lists them")),
        };
    }
    let found = log.session.resolve(global)?;
    catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
    let kind = if log.frames { ListKind::Frames } else { ListKind::Calls };
    let out = if log.json || log.follow { Output::new(global) } else { Output::paged(global) };
    let mut printer = Printer::new(out, &found, kind, log.json)?;
    if let Some(filter) = filter {
        if log.follow && filter.asks_findings() {
            return Err(Failure::new("which rules were broken is known only of what is there already")
                .hint("leave out -f, or what asks for findings"));
        }
        let findings = filtering::findings_for(global, &found, &filter)?;
        printer.sieve = Some((filter, findings));
    }
    if log.follow {
        printer.follow(log.limit)?;
        return Ok(0);
    }
    printer.print(log.limit)?;
    if printer.finish()? == 0 {
        if !global.quiet {
            let what = if log.frames { "frames" } else { "calls" };
            let (_, end) = end_of(&found.session);
            let fit = if printer.sieve.is_some() { " that fit" } else { "" };
            let _ =
                writeln!(std::io::stderr(), "no {what}{fit} in {} ({end})", shown(&found.session.start.name, false));
            if let [word] = &*log.filter
                && let Ok(reference) = word.parse::<Reference>()
                && reference.resolve(global).is_ok()
            {
                let word = shown(word, false);
                let _ = writeln!(std::io::stderr(), "  `{word}` is looked for in messages; the session is -s {word}");
            }
            if let (Some(hint), Part::All) = (found.hint_when_empty(), found.part) {
                let _ = writeln!(std::io::stderr(), "  {hint}");
            }
        }
        return Ok(NO);
    }
    Ok(0)
}

/// Prints rows, as text or as JSON.
pub(crate) struct Printer<'a> {
    found: &'a Found,
    kind: ListKind,
    json: bool,
    reference: String,
    out: Output,
    n_printed: u64,
    /// Columns for what a row is about.
    what_width: usize,
    /// Columns that say which session of MCP a row is of: none where there are not several.
    inside_width: usize,
    /// The exchange that was asked for last: that of the next row is often the same.
    exchange: Option<Rc<Exchange>>,
    /// What a person marked.
    marks: Vec<Bookmark>,
    /// Whether a request without an answer may still get one.
    live: bool,
    /// Only rows that fit are printed; with it, which rules were broken, if it asks.
    sieve: Option<(Filter, Findings)>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(out: Output, found: &'a Found, kind: ListKind, json: bool) -> Result<Self, Failure> {
        let reference = found.reference.clone();
        let live = found.session.live;
        let marks = found.store.bookmarks(found.session.id)?;
        let mut this = Self {
            found,
            kind,
            json,
            reference,
            out,
            n_printed: 0,
            what_width: 0,
            inside_width: 0,
            exchange: None,
            marks,
            live,
            sieve: None,
        };
        this.lay_out()?;
        Ok(this)
    }

    /// Decides how wide columns are, from what is known now.
    fn lay_out(&mut self) -> Result<(), Failure> {
        let found = self.found;
        self.inside_width = match found.is_http() && found.conversation.is_none() {
            true => match found.store.conversations(found.session.id)?.as_slice() {
                [_, .., last] => format!("/{} ", last.number.0).len(),
                _ => 0,
            },
            false => 0,
        };
        // All else on a line takes 59 columns.
        let all_else = 59 + self.inside_width;
        self.what_width = self.out.width().map_or(44, |width| width.saturating_sub(all_else).max(12));
        Ok(())
    }

    fn list(&self, part: StorePart, limit: u64) -> Result<Vec<Listed>, Failure> {
        let found = self.found;
        Ok(found.store.list_of(found.session.id, found.conversation, self.kind, part, limit)?)
    }

    /// Whether a row is to be printed.
    fn fits(&self, listed: &Listed) -> Result<bool, Failure> {
        match &self.sieve {
            Some((filter, findings)) => {
                let found = self.found;
                Ok(fits(filter, &found.store, &found.session, self.kind, listed, findings)?)
            }
            None => Ok(true),
        }
    }

    /// What finds those that fit.
    fn sieve(&self) -> Option<Sieve<'_>> {
        let (filter, findings) = self.sieve.as_ref()?;
        let Found { store, session, conversation, .. } = self.found;
        Some(Sieve::new(filter, store, session, *conversation, self.kind, findings))
    }

    /// Of those up to `end`, the last that fit, in order.
    fn last_that_fit(&self, end: u64, limit: usize) -> Result<Vec<Listed>, Failure> {
        let mut last = Vec::new();
        let Some(sieve) = self.sieve() else {
            return Ok(last);
        };
        let mut before = Some(Sieve::from(end, false));
        while let Some(from) = before
            && last.len() < limit
        {
            let Sifted { rows, next } = sieve.stretch(from, false, usize::MAX)?;
            last.extend(rows);
            before = next;
        }
        last.truncate(limit);
        last.reverse();
        Ok(last)
    }

    /// The exchange that a row is of.
    fn exchange_of(&mut self, listed: &Listed) -> Result<Option<Rc<Exchange>>, Failure> {
        let Some(number) = listed.exchange else {
            return Ok(None);
        };
        if self.exchange.as_ref().is_none_or(|known| known.number != number) {
            self.exchange = self.found.store.exchange(self.found.session.id, number)?.map(Rc::new);
        }
        Ok(self.exchange.clone())
    }

    /// Sends off what was printed, and tells how many rows that was.
    pub(crate) fn finish(&mut self) -> Result<u64, Failure> {
        self.out.flush()?;
        Ok(self.n_printed)
    }

    /// Prints the part of the session that was asked for.
    pub(crate) fn print(&mut self, limit: Option<u64>) -> Result<(), Failure> {
        let range = self.found.part.range();
        // Without a beginning the end is what people want to see.
        let from_end = match self.found.part {
            Part::All => true,
            Part::One(_) => false,
            Part::Range { first, .. } => first.is_none(),
        };
        if let Some(limit) = limit.filter(|_| from_end) {
            let rows = match self.sieve {
                Some(_) => self.last_that_fit(*range.end(), usize::try_from(limit).unwrap_or(usize::MAX))?,
                None => self.list(StorePart::UpTo(*range.end()), limit)?,
            };
            return self.rows(rows.iter());
        }
        let mut left = limit.unwrap_or(u64::MAX);
        if self.sieve.is_some() {
            return self.print_that_fit(left);
        }
        let mut next = StorePart::From(*range.start());
        while left > 0 {
            let rows = self.list(next, PAGE.min(left))?;
            let Some(last) = rows.last() else {
                break;
            };
            next = StorePart::After(last.row.at);
            let over = !range.contains(&last.row.at.seq);
            left -= rows.len() as u64;
            self.rows(rows.iter().filter(|listed| range.contains(&listed.row.at.seq)))?;
            if over {
                break;
            }
        }
        Ok(())
    }

    /// Prints the first that fit, as they are found.
    fn print_that_fit(&mut self, mut left: u64) -> Result<(), Failure> {
        let range = self.found.part.range();
        let mut from = Sieve::from(*range.start(), true);
        while left > 0 {
            let Some(Sifted { mut rows, next }) =
                self.sieve().map(|sieve| sieve.stretch(from, true, usize::MAX)).transpose()?
            else {
                break;
            };
            rows.retain(|listed| range.contains(&listed.row.at.seq));
            rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= rows.len() as u64;
            self.rows(rows.iter())?;
            match next.filter(|next| next.seq <= *range.end()) {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(())
    }

    /// Prints what comes until the session ends.
    fn follow(&mut self, limit: Option<u64>) -> Result<(), Failure> {
        let found = self.found;
        let (store, session) = (&found.store, found.session.id);
        // What comes while this is printed is printed afterwards, so the border is drawn first.
        let newest = store.list(session, ListKind::Frames, StorePart::UpTo(u64::MAX), 1)?;
        let mut seen = newest.last().map_or(At { seq: 0, member: 0 }, |listed| listed.row.at);
        let n_before = limit.unwrap_or(10);
        let mut before = match self.sieve {
            Some(_) => self.last_that_fit(seen.seq, usize::try_from(n_before).unwrap_or(usize::MAX))?,
            None => self.list(StorePart::UpTo(seen.seq), n_before)?,
        };
        // Over HTTP more than an answer can end a call, so those that wait are looked at again.
        let mut waiting = BTreeSet::new();
        if self.kind == ListKind::Calls && found.is_http() {
            // Of a session that is over nothing waits.
            if self.live {
                for listed in store.unanswered(session)?.iter().chain(&before) {
                    if !is_settled(listed, self.exchange_of(listed)?.as_deref()) {
                        waiting.insert(listed.row.at);
                    }
                }
            }
            before.retain(|listed| !waiting.contains(&listed.row.at));
        } else if self.kind == ListKind::Calls {
            // A call that waits gets its line when it is answered.
            before.retain(|listed| match listed.row.kind {
                RowKind::Request => listed.row.pair.is_some_and(|answer| answer <= seen),
                _ => true,
            });
        }
        self.fitting(before.iter())?;
        self.out.flush()?;
        loop {
            // Asked before looking, so that what is written in between is seen in the last round.
            let live = store.is_live(session);
            store.catch_up(session, |_| {})?;
            self.exchange = None;
            self.lay_out()?;
            loop {
                let rows = store.list(session, ListKind::Frames, StorePart::After(seen), PAGE)?;
                let Some(last) = rows.last() else {
                    break;
                };
                seen = last.row.at;
                for listed in &rows {
                    match (self.kind, listed.row.kind) {
                        (ListKind::Calls, RowKind::Request | RowKind::Exchange) if found.is_http() => {
                            waiting.insert(listed.row.at);
                        }
                        _ if found.wants(listed.conversation) => self.followed(listed)?,
                        _ => {}
                    }
                }
            }
            self.live &= live;
            self.settle(&mut waiting)?;
            if !live {
                if self.kind == ListKind::Calls && !found.is_http() {
                    self.fitting(store.unanswered(session)?.iter())?;
                }
                self.out.flush()?;
                return Ok(());
            }
            self.out.flush()?;
            std::thread::sleep(FOLLOW);
        }
    }

    /// Prints those that wait no longer; all, when nothing more will come.
    fn settle(&mut self, waiting: &mut BTreeSet<At>) -> Result<(), Failure> {
        let (store, session) = (self.found.store.clone(), self.found.session.id);
        for at in waiting.clone() {
            let Some(mut listed) = store.row(session, at)? else {
                waiting.remove(&at);
                continue;
            };
            if self.live && !is_settled(&listed, self.exchange_of(&listed)?.as_deref()) {
                continue;
            }
            waiting.remove(&at);
            if let Some(answer) = listed.row.pair.filter(|answer| *answer != at) {
                listed.answer_length = store.row(session, answer)?.map(|answer| answer.length);
            }
            if self.found.wants(listed.conversation) {
                self.fitting([&listed].into_iter())?;
            }
        }
        Ok(())
    }

    /// Prints a new frame, if it is to be seen: of a call its one line, when it is answered.
    fn followed(&mut self, listed: &Listed) -> Result<(), Failure> {
        match (self.kind, listed.row.kind, listed.row.pair) {
            (ListKind::Frames, ..) | (_, RowKind::NotAMessage | RowKind::NotJson | RowKind::Gap, None) => {
                self.fitting([listed].into_iter())
            }
            // The row of a request names its answer, and is printed with that.
            (ListKind::Calls, RowKind::Request, _) => Ok(()),
            (ListKind::Calls, ..) if self.found.is_http() => Ok(()),
            (ListKind::Calls, _, Some(request)) => {
                let request = self.found.store.row(self.found.session.id, request)?;
                match request {
                    Some(mut request) => {
                        request.answer_length = Some(listed.length);
                        self.fitting([&request].into_iter())
                    }
                    None => Ok(()),
                }
            }
            (ListKind::Calls, ..) => Ok(()),
        }
    }

    /// Prints those that fit.
    fn fitting<'b>(&mut self, rows: impl Iterator<Item = &'b Listed>) -> Result<(), Failure> {
        for listed in rows {
            if self.fits(listed)? {
                self.rows([listed].into_iter())?;
            }
        }
        Ok(())
    }

    fn rows<'b>(&mut self, rows: impl Iterator<Item = &'b Listed>) -> Result<(), Failure> {
        for listed in rows {
            self.n_printed += 1;
            let exchange = self.exchange_of(listed)?;
            let exchange = exchange.as_deref();
            match self.json {
                true => {
                    let status = exchange.and_then(|exchange| exchange.status);
                    let number = listed.exchange.into();
                    let row = row_json(listed, number, status, &self.reference, &self.found.session.start.uuid);
                    self.out.json_with_verbatim(&row)?;
                }
                false => self.line(listed, exchange)?,
            }
        }
        Ok(())
    }

    fn line(&mut self, listed: &Listed, exchange: Option<&Exchange>) -> Result<(), Failure> {
        let row = &listed.row;
        let (style, status) = outcome(listed, exchange, self.live);
        let inside = match (self.inside_width, listed.conversation) {
            (0, _) => String::new(),
            (width, number) => column(&number.map(|number| format!("/{}", number.0)).unwrap_or_default(), width),
        };
        let number = match row.at.member {
            0 => format!("{:>5}", row.at.seq),
            member => format!("{:>5}", format!("{}.{member}", row.at.seq)),
        };
        let bytes = listed.length + listed.answer_length.unwrap_or(0);
        let latency = row.latency_ns.map(duration).unwrap_or_default();
        let what = match row.kind {
            RowKind::Stderr | RowKind::NotJson | RowKind::NotAMessage => format!("{}{}", done(row), self.preview(row)?),
            RowKind::Body => match &row.method {
                Some(_) => format!("{} {}", what(row), self.preview(row)?),
                None => self.preview(row)?,
            },
            _ => what(row),
        };
        writeln!(
            self.out,
            "{} {}{} {} {} {} {:>9} {:>9}",
            self.out.styled(Style::Dim, &number),
            self.out.styled(Style::Dim, &inside),
            self.out.styled(Style::Dim, &when(row.wall_ns, "%H:%M:%S%.3f")),
            if row.kind == RowKind::Stderr { "!!" } else { row.stream.direction().arrow() },
            column(&format!("{}{what}", sign(&self.marks, row)), self.what_width),
            self.out.styled(style, &column(&status, 16)),
            latency,
            size(bytes),
        )?;
        Ok(())
    }

    /// The beginning of a line that has no better name.
    fn preview(&self, row: &MessageRow) -> Result<String, Failure> {
        let start = self.found.store.frame_start(self.found.session.id, row.at.seq, PREVIEW_BYTES)?;
        Ok(shown(String::from_utf8_lossy(&start).trim_end_matches(['\r', '\n']), false))
    }
}

/// What a message is about: its method, and the tool, prompt or resource.
pub(crate) fn what(row: &MessageRow) -> String {
    let method = row.method.as_deref().map(|method| shown(method, false));
    let target = row.target.as_deref().map(|target| shown(target, false));
    let what = match (row.kind, method, target) {
        (RowKind::Act, ..) => {
            row.done.as_ref().map(|done| format!("by {}", shown(&done.by, false))).unwrap_or_default()
        }
        (RowKind::Gap, ..) => format!("{} bytes passed", row.lost_bytes.unwrap_or(0)),
        (_, Some(method), Some(target)) => format!("{method} {target}"),
        (_, Some(method), None) => method,
        (RowKind::Result | RowKind::Error, None, _) => {
            let id = row.raw_id.as_ref().map_or_else(|| "nothing".into(), ToString::to_string);
            format!("answer to {}", shown(&id, false))
        }
        (kind, ..) => format!("({})", kind.name()),
    };
    format!("{}{what}", done(row))
}

/// What a debugger did to it, or that it made it: `[held 2.00 s, edited] `. It comes first, for without it the rest would be
/// taken for what the peers did.
pub(crate) fn done(row: &MessageRow) -> String {
    row.done.as_ref().map(|done| format!("[{}] ", done.told(duration))).unwrap_or_default()
}
