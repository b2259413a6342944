//! All messages of a call: its rounds, progress, cancellation, and what else passed while it ran.

use tap_inspector::{About, AboutLine, AboutPart, Target, Ticket, Tone};
use tap_jsonrpc::Node;
use tap_session::{At, RowKind};
use tap_store::{ListKind, Listed, Part, Session, StoreError};

use super::{Around, Called, bytes_of, line};
use crate::said::{beginning, said};
use crate::text::{duration, size};

/// How many rows from its request on are looked at.
const ROWS: u64 = 5_000;

/// How many rows are looked at for the next round of a call, and for the one before.
const ROUND_ROWS: u64 = 2_000;

/// How many rounds a call is followed through.
const ROUNDS: usize = 16;

/// How much of a message is looked at, bytes.
const START_BYTES: u64 = 16 * 1024;

/// How many bytes are read to find all rounds of a call.
const ROUNDS_BYTES: u64 = 64 * 1024 * 1024;

/// Lines that are told at most.
const LINES: usize = 1_000;

/// What may still be read to find rounds.
struct Reading<'a> {
    /// Whether nobody wants to know any more.
    is_over: &'a dyn Fn() -> bool,
    left_bytes: u64,
    /// Something was not looked at.
    is_cut: bool,
}

/// What a look for a round came to.
enum Round {
    Found(Box<Listed>),
    NotFound,
    /// Nobody wants to know any more.
    Withdrawn,
}

/// What a row is to a call.
enum Belongs {
    Own(&'static str),
    Meanwhile(&'static str),
}

impl Around<'_> {
    pub(super) fn call(&self, called: &Called, ticket: Ticket) -> Result<Option<About>, StoreError> {
        self.call_until(called, &|| self.is_withdrawn(ticket))
    }

    fn call_until(&self, called: &Called, is_over: &dyn Fn() -> bool) -> Result<Option<About>, StoreError> {
        let at = called.asked.row.at;
        let mut about = About { at, part: AboutPart::Call, lines: Vec::new(), points: Vec::new(), badge: None };
        let request = match &called.request {
            Some(request) => Some(request.clone()),
            None => self.request_of_progress(called, is_over)?,
        };
        let Some(mut request) = request else {
            about.lines.push(line("", "it belongs to no call", Tone::Dim));
            return Ok(Some(about));
        };
        // From the first of its rounds.
        let mut n_rounds = 1;
        let mut reading = Reading { is_over, left_bytes: ROUNDS_BYTES, is_cut: false };
        while n_rounds < ROUNDS {
            match self.round_before(&called.session, &request, &mut reading)? {
                Round::Found(before) => request = *before,
                Round::NotFound => break,
                Round::Withdrawn => return Ok(None),
            }
            n_rounds += 1;
        }
        let began_at_ns = request.row.at_ns;
        let mut n_messages = 0;
        for round in 1..=ROUNDS {
            if is_over() {
                return Ok(None);
            }
            if n_rounds > 1 || round > 1 {
                about.lines.push(line(&format!("round {round}"), "", Tone::Dim));
            }
            match self.round(called, &request, began_at_ns, is_over, &mut about.lines)? {
                Some(n_own) => n_messages += n_own,
                None => return Ok(None),
            }
            match self.round_after(&called.session, &request, &mut reading)? {
                Round::Found(next) => request = *next,
                Round::NotFound => break,
                Round::Withdrawn => return Ok(None),
            }
        }
        if reading.is_cut {
            let text = format!("only {} were looked through for more rounds", size(ROUNDS_BYTES));
            about.lines.push(line("", text, Tone::Dim));
        }
        about.badge = Some(n_messages.to_string());
        Ok(Some(about))
    }

    /// Tells one request, what passed until it was answered, and its answer. Gives back how many messages are its own; `None` when nobody wants to
    /// know any more.
    fn round(
        &self,
        called: &Called,
        request: &Listed,
        began_at_ns: u64,
        is_over: &dyn Fn() -> bool,
        lines: &mut Vec<AboutLine>,
    ) -> Result<Option<usize>, StoreError> {
        let (store, id) = (self.store(), called.session.id);
        let request_bytes = bytes_of(store, id, request.row.at, START_BYTES)?;
        let token = Node::new(&request_bytes).at(&["params", "_meta", "progressToken"]);
        let end = request.row.pair.unwrap_or(At { seq: u64::MAX, member: 0 });
        let mut n_own = 0;
        let rows = store.list(id, ListKind::Frames, Part::From(request.row.at.seq), ROWS)?;
        let is_cut = rows.len() as u64 == ROWS && rows.last().is_some_and(|last| last.row.at < end);
        for listed in rows.iter().take_while(|listed| listed.row.at <= end) {
            if lines.len() >= LINES {
                break;
            }
            if listed.row.at < request.row.at {
                continue;
            }
            if is_over() {
                return Ok(None);
            }
            let row = &listed.row;
            let start = || bytes_of(store, id, row.at, START_BYTES);
            // Over HTTP each session of MCP has ids and tokens of its own, and so has each side.
            let same_conversation = listed.conversation == request.conversation;
            let same_side = row.stream == request.row.stream;
            let part = match (row.kind, row.method.as_deref()) {
                (RowKind::Request, _) if row.at == request.row.at => Belongs::Own("request"),
                (RowKind::Result | RowKind::Error, _) if row.at == end => Belongs::Own("answer"),
                (RowKind::Notification, Some("notifications/progress")) if same_conversation && !same_side => {
                    let bytes = start()?;
                    match (Node::new(&bytes).at(&["params", "progressToken"]), token) {
                        (Some(this), Some(token)) if this.bytes() == token.bytes() => Belongs::Own("progress"),
                        _ => continue,
                    }
                }
                (RowKind::Notification, Some("notifications/cancelled")) if same_conversation && same_side => {
                    let bytes = start()?;
                    let id = Node::new(&bytes).at(&["params", "requestId"]);
                    match (id, &request.row.raw_id) {
                        (Some(id), Some(raw_id)) if id.bytes() == raw_id.as_bytes() => Belongs::Own("cancelled"),
                        _ => continue,
                    }
                }
                (RowKind::Notification, Some("notifications/message")) if same_conversation => {
                    Belongs::Meanwhile("log")
                }
                (RowKind::Request, _) if same_conversation && !same_side => Belongs::Meanwhile("the server asks"),
                (RowKind::Result | RowKind::Error, _) if same_conversation && same_side => {
                    Belongs::Meanwhile("the client answers")
                }
                (RowKind::Stderr, _) => Belongs::Meanwhile("stderr"),
                _ => continue,
            };
            // Over HTTP what comes in the exchange of a request is for that request.
            let is_own =
                matches!(part, Belongs::Own(_)) || listed.exchange.is_some() && listed.exchange == request.exchange;
            let (Belongs::Own(name) | Belongs::Meanwhile(name)) = part;
            n_own += usize::from(is_own);
            let since = duration(row.at_ns.saturating_sub(began_at_ns));
            let aside = if is_own { "" } else { "meanwhile " };
            let text = format!("#{} +{since}  {aside}{}", row.at.seq, self.words(called, listed)?);
            let tone = match (is_own, row.status) {
                (true, Some(tap_session::Status::Error | tap_session::Status::ToolError)) if row.at == end => Tone::Bad,
                (true, _) => Tone::Plain,
                (false, _) => Tone::Dim,
            };
            lines.push(AboutLine { goes_to: Some(Target { session: None, at: row.at }), ..line(name, text, tone) });
        }
        if is_cut {
            lines.push(line("", format!("it was looked at {ROWS} messages; the answer comes later"), Tone::Dim));
            if let Some(answer) = request.row.pair {
                lines.push(super::leading("answer", format!("#{}", answer.seq), Tone::Plain, answer));
            }
        }
        if request.row.pair.is_none() {
            lines.push(line("answer", "none", Tone::Warning));
        }
        Ok(Some(n_own))
    }

    /// What a message says, in a few words.
    fn words(&self, called: &Called, listed: &Listed) -> Result<String, StoreError> {
        let row = &listed.row;
        let bytes = bytes_of(self.store(), called.session.id, row.at, START_BYTES)?;
        let node = Node::new(&bytes);
        let method = row.method.as_deref().unwrap_or_default();
        Ok(match row.kind {
            RowKind::Request | RowKind::Notification => {
                let params = node.get("params");
                let shown = params.and_then(|params| params.get("arguments").or(Some(params)));
                let text = shown.map(|shown| beginning(&String::from_utf8_lossy(shown.bytes()))).unwrap_or_default();
                format!("{method} {} {text}", row.target.as_deref().unwrap_or_default())
            }
            RowKind::Result | RowKind::Error => said(&bytes),
            _ => beginning(String::from_utf8_lossy(&bytes).trim_end()),
        })
    }

    /// The request that a notification of progress is about, if it is one.
    fn request_of_progress(&self, called: &Called, is_over: &dyn Fn() -> bool) -> Result<Option<Listed>, StoreError> {
        let row = &called.asked.row;
        if row.method.as_deref() != Some("notifications/progress") {
            return Ok(None);
        }
        let (store, id) = (self.store(), called.session.id);
        let bytes = bytes_of(store, id, row.at, START_BYTES)?;
        let Some(token) = Node::new(&bytes).at(&["params", "progressToken"]) else {
            return Ok(None);
        };
        let rows = store.list_of(id, called.asked.conversation, ListKind::Calls, Part::Before(row.at), ROUND_ROWS)?;
        for listed in rows.into_iter().rev().filter(|it| it.row.kind == RowKind::Request && it.row.stream != row.stream)
        {
            if is_over() {
                return Ok(None);
            }
            let bytes = bytes_of(store, id, listed.row.at, START_BYTES)?;
            let its = Node::new(&bytes).at(&["params", "_meta", "progressToken"]);
            if its.is_some_and(|its| its.bytes() == token.bytes()) {
                return Ok(Some(listed));
            }
        }
        Ok(None)
    }

    /// The request that goes on with another one that was answered with `input_required`.
    ///
    /// Source: 2026-07-28, multi-round-trip requests: it has the `requestState` of that answer, and `inputResponses`.
    fn round_after(&self, session: &Session, request: &Listed, reading: &mut Reading<'_>) -> Result<Round, StoreError> {
        let Some(answer) = request.row.pair.filter(|answer| *answer != request.row.at) else {
            return Ok(Round::NotFound);
        };
        let (store, id) = (self.store(), session.id);
        let bytes = bytes_of(store, id, answer, super::LOOKED_BYTES)?;
        let Some(result) = Node::new(&bytes).get("result") else {
            return Ok(Round::NotFound);
        };
        if !result.get("resultType").is_some_and(|kind| kind.is_text("input_required")) {
            return Ok(Round::NotFound);
        }
        let state = result.get("requestState");
        let state_bytes = state.map_or(0, |state| state.bytes().len() as u64);
        let rows = store.list_of(id, request.conversation, ListKind::Calls, Part::After(answer), ROUND_ROWS)?;
        for listed in rows.into_iter().filter(|listed| is_round_of(listed, request) && state_bytes <= listed.length) {
            if (reading.is_over)() {
                return Ok(Round::Withdrawn);
            }
            if !reading.may_read(listed.length) {
                break;
            }
            let bytes = bytes_of(store, id, listed.row.at, super::LOOKED_BYTES)?;
            let params = Node::new(&bytes).get("params");
            let goes_on = params.is_some_and(|params| params.get("inputResponses").is_some());
            let its_state = params.and_then(|params| params.get("requestState"));
            if (goes_on || its_state.is_some()) && its_state.map(Node::bytes) == state.map(Node::bytes) {
                return Ok(Round::Found(Box::new(listed)));
            }
        }
        Ok(Round::NotFound)
    }

    /// The request that this one goes on with, if it goes on with one.
    fn round_before(
        &self,
        session: &Session,
        request: &Listed,
        reading: &mut Reading<'_>,
    ) -> Result<Round, StoreError> {
        let (store, id) = (self.store(), session.id);
        let bytes = bytes_of(store, id, request.row.at, super::LOOKED_BYTES)?;
        let Some(params) = Node::new(&bytes).get("params") else {
            return Ok(Round::NotFound);
        };
        let state = params.get("requestState");
        if params.get("inputResponses").is_none() && state.is_none() {
            return Ok(Round::NotFound);
        }
        let state_bytes = state.map_or(0, |state| state.bytes().len() as u64);
        let part = Part::Before(request.row.at);
        let rows = store.list_of(id, request.conversation, ListKind::Calls, part, ROUND_ROWS)?;
        for listed in rows.into_iter().rev().filter(|listed| is_round_of(listed, request)) {
            if (reading.is_over)() {
                return Ok(Round::Withdrawn);
            }
            let (Some(answer), Some(length)) = (listed.row.pair, listed.answer_length) else {
                continue;
            };
            if length < state_bytes {
                continue;
            }
            if !reading.may_read(length) {
                break;
            }
            let bytes = bytes_of(store, id, answer, super::LOOKED_BYTES)?;
            let result = Node::new(&bytes).get("result");
            let asks =
                result.and_then(|result| result.get("resultType")).is_some_and(|kind| kind.is_text("input_required"));
            let its_state = result.and_then(|result| result.get("requestState"));
            if asks && its_state.map(Node::bytes) == state.map(Node::bytes) {
                return Ok(Round::Found(Box::new(listed)));
            }
        }
        Ok(Round::NotFound)
    }
}

impl Reading<'_> {
    /// Whether another message of this length may be read.
    fn may_read(&mut self, length_bytes: u64) -> bool {
        let left_bytes = self.left_bytes.checked_sub(length_bytes.min(super::LOOKED_BYTES));
        self.is_cut |= left_bytes.is_none();
        self.left_bytes = left_bytes.unwrap_or(self.left_bytes);
        left_bytes.is_some()
    }
}

/// Whether two requests ask for the same thing of the same server.
fn is_round_of(listed: &Listed, request: &Listed) -> bool {
    let (this, that) = (&listed.row, &request.row);
    this.kind == RowKind::Request
        && listed.conversation == request.conversation
        && (&this.method, &this.target, this.stream) == (&that.method, &that.target, that.stream)
        && this.at != that.at
}

#[cfg(test)]
mod tests;
