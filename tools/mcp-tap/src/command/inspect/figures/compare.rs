//! How two sessions differ, told as it is found, and of one line all that differs.
//!
//! What `mcp-tap diff` compares is compared here in steps, between which questions about lines are answered. No message is
//! held: of a line that is looked at they are read again.

mod differences;
mod lines;

use std::cell::RefCell;
use std::io::Write;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tap_compare::{PathPattern, Rules, ToolRules};
use tap_inspector::{Answer, CompareQuery, Compared, ComparedSide, Query, SessionKey, Ticket};
use tap_session::HttpSessionNumber;
use tap_store::{SessionId, Store};

use self::lines::{Lines, about};
use super::super::asked::{Answers, Opened};
use super::super::lists::began;
use crate::arguments::{Global, When};
use crate::command::diff::text;
use crate::comparing::gather::{Gathered, gather};
use crate::comparing::report::{Both, Comparing, Report};
use crate::failure::Failure;
use crate::output::Output;
use crate::reference::{Found, shortest};
use crate::text::thousands;

/// How long is compared before what was found is given, and it is looked whether somebody asks.
const STEP: Duration = Duration::from_millis(40);

/// How often it is told how far the sessions were read.
const TELL: Duration = Duration::from_millis(150);

/// Differences that are kept of a call while it is compared: the first is told in its line.
const KEPT_A_CALL: usize = 1;

/// Differences of a call in the report, as `mcp-tap diff` has them.
const REPORTED_A_CALL: usize = 5;

/// Who compares.
pub(in super::super) struct Comparer<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    compared: Option<Comparison>,
}

/// Two sessions that are compared, or were.
struct Comparison {
    query: CompareQuery,
    ticket: Ticket,
    rules: Rules,
    found: [Found; 2],
    gathered: [Gathered; 2],
    comparing: Comparing,
    /// Figures, without lines.
    figures: Compared,
    lines: Lines,
    /// There is more to be done.
    busy: bool,
}

impl Comparison {
    fn both(&self) -> Both<'_> {
        let ([found_a, found_b], [a, b]) = (&self.found, &self.gathered);
        Both { found: (found_a, found_b), gathered: (a, b) }
    }
}

/// Answers until nobody asks any more.
pub(in super::super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut comparer = Comparer::new(opened, answers);
    loop {
        let asked = match comparer.is_busy() {
            true => questions.recv_timeout(Duration::ZERO),
            false => questions.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match asked {
            Ok((ticket, query)) => comparer.answer(ticket, query),
            Err(RecvTimeoutError::Timeout) => comparer.step(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl<'a> Comparer<'a> {
    pub(in super::super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { opened, answers, compared: None }
    }

    /// Whether there is more to be compared.
    pub(in super::super) fn is_busy(&self) -> bool {
        self.compared.as_ref().is_some_and(|compared| compared.busy)
    }

    /// Answers a question, unless it was withdrawn.
    pub(in super::super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done = match query {
            Query::Compare(query) => self.begin(ticket, query),
            Query::CompareLine(query, line) => {
                self.of(&query).and_then(|compared| compared.differences(line)).map(|found| {
                    answers.give(ticket, Answer::Differences(Box::new(found)));
                })
            }
            Query::CompareReport(query) => self.report(ticket, &query),
            _ => Ok(()),
        };
        if let Err(failure) = done
            && !answers.is_withdrawn(ticket)
        {
            answers.fail(Some(ticket), failure.message);
        }
    }

    fn of(&self, query: &CompareQuery) -> Result<&Comparison, Failure> {
        let compared = self.compared.as_ref().filter(|compared| compared.query == *query);
        compared.ok_or_else(|| Failure::new("this was not compared; compare it anew"))
    }

    /// Reads both sessions, unless they are here, and begins to compare them.
    fn begin(&mut self, ticket: Ticket, query: CompareQuery) -> Result<(), Failure> {
        let answers = self.answers;
        let ignore: Vec<PathPattern> = query.ignore.iter().filter_map(|path| PathPattern::parse(path).ok()).collect();
        let rules = Rules { all: ToolRules { ignore, ..ToolRules::default() }, ..Rules::default() };
        // What a call is known by depends on rules about requests, and what was read with other ones is of no use.
        let of_request = |rules: &Rules| {
            let patterns = rules.all.ignore.iter().filter(|pattern| pattern.is_of_request());
            patterns.map(|pattern| pattern.as_str().to_owned()).collect::<Vec<_>>()
        };
        let is_same = |old: &Comparison| {
            let of = |query: &CompareQuery| (query.a, query.b, query.round, query.conversations);
            of(&old.query) == of(&query) && of_request(&old.rules) == of_request(&rules)
        };
        let (found, gathered, mut figures) = match self.compared.take().filter(is_same) {
            Some(old) => {
                let Comparison { found, gathered, figures, .. } = old;
                (found, gathered, Compared { sides: figures.sides, ..Compared::default() })
            }
            None => {
                let (found, mut figures) = self.find(&query)?;
                let read = |side: usize, figures: &mut Compared| self.read(ticket, &found[side], side, &rules, figures);
                let a = read(0, &mut figures)?;
                let b = read(1, &mut figures)?;
                (found, [a, b], figures)
            }
        };
        figures.progress = "finding which call is which".into();
        if !answers.give(ticket, Answer::Compared(Box::new(figures.clone()))) {
            return Ok(());
        }
        let both = Both { found: (&found[0], &found[1]), gathered: (&gathered[0], &gathered[1]) };
        let comparing = Comparing::begin(both, &rules, false, KEPT_A_CALL, || !answers.is_withdrawn(ticket))?;
        let lines = Lines::new(both, &comparing, &mut figures);
        self.compared =
            Some(Comparison { query, ticket, rules, found, gathered, comparing, figures, lines, busy: true });
        Ok(())
    }

    /// Both sessions, as they are named.
    fn find(&self, query: &CompareQuery) -> Result<([Found; 2], Compared), Failure> {
        let store = Rc::new(Store::open(self.opened.store.path())?);
        let sessions = store.sessions()?;
        let names = shortest(&sessions);
        let find = |key: SessionKey, number: Option<u64>| {
            let of_key = sessions.iter().zip(&names).find(|(session, _)| session.id == SessionId(key.0));
            let (session, name) = of_key.ok_or_else(|| Failure::new("there is no such session any more"))?;
            let found = Found::of(store.clone(), session.clone(), name.clone());
            let n_conversations = match found.is_http() {
                true => store.conversations(session.id)?.len() as u64,
                false => 0,
            };
            let conversation = number.filter(|_| n_conversations > 1).map(HttpSessionNumber);
            let side = ComparedSide {
                reference: conversation.map_or_else(|| name.clone(), |number| found.inside(number)),
                n_conversations,
                began: began(&self.opened.zone, session.start.opened_unix_ns),
                live: session.live,
                ..ComparedSide::default()
            };
            Ok::<_, Failure>((Found { conversation, ..found }, side))
        };
        let ((a, side_a), (b, side_b)) =
            (find(query.a, query.conversations[0])?, find(query.b, query.conversations[1])?);
        Ok(([a, b], Compared { sides: [side_a, side_b], ..Compared::default() }))
    }

    /// Reads a session, and tells how far it is.
    fn read(
        &self,
        ticket: Ticket,
        found: &Found,
        side: usize,
        rules: &Rules,
        figures: &mut Compared,
    ) -> Result<Gathered, Failure> {
        let letter = if side == 0 { "A" } else { "B" };
        let tell = |figures: &mut Compared, share: Option<f64>| {
            let share = share.map_or(String::new(), |share| format!(" {:.0} %", share * 100.0));
            figures.progress = format!("reading {letter}{share}");
            self.answers.give(ticket, Answer::Compared(Box::new(figures.clone())))
        };
        if !tell(figures, None) {
            return Err(Failure::new("it was given up"));
        }
        // In parts: what a session meant may have to be worked out first, and that takes long.
        while !found.store.catch_up_for(found.session.id, STEP)? {
            if self.answers.is_withdrawn(ticket) {
                return Err(Failure::new("it was given up"));
            }
        }
        let (last_seq, mut told) = (found.last_seq()?, Instant::now());
        let quiet = Global { db: None, color: When::Never, no_pager: true, quiet: true, config: None };
        let gathered = gather(&quiet, found, rules, None, |seq| {
            if told.elapsed() < TELL {
                return !self.answers.is_withdrawn(ticket);
            }
            told = Instant::now();
            tell(figures, Some(seq as f64 / last_seq.max(1) as f64))
        })?;
        if let Some(told) = figures.sides.get_mut(side) {
            about(found, &gathered, last_seq, told);
        }
        Ok(gathered)
    }

    /// Compares a little further.
    pub(in super::super) fn step(&mut self) {
        let answers = self.answers;
        let Some(compared) = self.compared.as_mut().filter(|compared| compared.busy) else {
            return;
        };
        match compared.step(|ticket| answers.is_withdrawn(ticket)) {
            Ok(ControlFlow::Continue(part)) => {
                let ticket = compared.ticket;
                compared.busy &= answers.give(ticket, Answer::Compared(Box::new(part)));
            }
            Ok(ControlFlow::Break(())) => compared.busy = false,
            Err(failure) => {
                compared.busy = false;
                answers.fail(Some(compared.ticket), failure.message);
            }
        }
    }

    /// All of it, as `mcp-tap diff` writes it.
    fn report(&self, ticket: Ticket, query: &CompareQuery) -> Result<(), Failure> {
        let compared = self.of(query)?;
        let report = Report::new(compared.both(), &compared.rules, false, || !self.answers.is_withdrawn(ticket))?;
        let written = Written::default();
        let mut out = Output::plain(Box::new(written.clone()));
        text::write(&mut out, &report, REPORTED_A_CALL)?;
        out.finish()?;
        let bytes = written.0.take();
        self.answers.give(ticket, Answer::Report(bytes));
        Ok(())
    }
}

impl Comparison {
    /// Compares for about so long; what was found, or that it was withdrawn.
    fn step(&mut self, is_withdrawn: impl Fn(Ticket) -> bool) -> Result<ControlFlow<(), Compared>, Failure> {
        let began = Instant::now();
        let ([found_a, found_b], [a, b]) = (&self.found, &self.gathered);
        let both = Both { found: (found_a, found_b), gathered: (a, b) };
        while began.elapsed() < STEP {
            if is_withdrawn(self.ticket) {
                return Ok(ControlFlow::Break(()));
            }
            let (_, index) = self.comparing.progress();
            match self.comparing.next(both)? {
                Some(pair) => self.lines.pair(index, &pair, &mut self.figures),
                None => {
                    self.lines.end(both, &mut self.figures);
                    (self.busy, self.figures.complete) = (false, true);
                    break;
                }
            }
        }
        let (n, done) = self.comparing.progress();
        self.figures.progress = format!("comparing {} of {} calls", thousands(done as u64), thousands(n as u64));
        Ok(ControlFlow::Continue(Compared { lines: self.lines.take(), ..self.figures.clone() }))
    }
}

/// What is written is kept.
#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
