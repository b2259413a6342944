//! Lists and messages: what can be looked up.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tap_inspector::{
    Answer, Digested, EndKind, MessageParts, Query, Row, RowsAnswer, RowsPart, RowsQuery, SessionKey, SessionLine,
    Ticket, Whole,
};
use tap_jsonrpc::Node;
use tap_session::{At, RowKind, Status};
use tap_store::{EndReason, ListKind, Listed, Part, Session, SessionId, Store, StoreError};

use super::asked::Answers;
use crate::command::ls::{end_of, lasted_ns, when};
use crate::reference::shortest;
use crate::subject::Message;

/// How often a live session is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Rows that are looked at between two looks at whether the question still stands.
const PAGE: u64 = 1_000;

/// How long a search goes on before what it found is given.
const GIVE: Duration = Duration::from_millis(80);

/// How much of a message is looked at for its digest, bytes.
const DIGEST_BYTES: u64 = 2_048;

/// How much of a digest is kept, bytes.
const DIGEST_TEXT_BYTES: usize = 200;

/// How much of a message is shown, bytes.
const SHOWN_BYTES: u64 = 8 * 1024 * 1024;

/// What was told of a session that is looked at.
struct Watched {
    ticket: Ticket,
    key: SessionKey,
    last_seq: u64,
    live: bool,
}

/// Answers until nobody asks any more, and says when the session that is looked at has grown.
pub(super) fn answer_all(store: &Store, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut watched: Option<Watched> = None;
    loop {
        let (ticket, query) = match questions.recv_timeout(LOOK) {
            Ok(asked) => asked,
            Err(RecvTimeoutError::Timeout) => {
                look(store, &mut watched, answers);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if answers.is_withdrawn(ticket) {
            continue;
        }
        let done = match query {
            Query::Sessions => sessions(store).map(|lines| {
                answers.give(ticket, Answer::Sessions(lines));
            }),
            Query::Rows(query) => {
                if query.filter.is_none() {
                    let live = store.is_live(SessionId(query.session.0));
                    let same = watched.as_ref().is_some_and(|watched| watched.key == query.session);
                    if !same {
                        watched = Some(Watched { ticket, key: query.session, last_seq: 0, live });
                    }
                }
                rows(store, ticket, &query, answers)
            }
            Query::Message(key, at) => message(store, key, at).map(|parts| {
                if let Some(parts) = parts {
                    answers.give(ticket, Answer::Message(Box::new(parts)));
                }
            }),
            Query::State(..) | Query::Findings(_) => Ok(()),
        };
        if let Err(error) = done {
            answers.fail(Some(ticket), error.to_string());
        }
    }
}

fn look(store: &Store, watched: &mut Option<Watched>, answers: &Answers) {
    let Some(watched) = watched.as_mut().filter(|watched| watched.live) else {
        return;
    };
    let id = SessionId(watched.key.0);
    // Asked first, so that what is written in between is seen in the last look.
    let live = store.is_live(id);
    if store.catch_up(id, |_| {}).is_err() {
        return;
    }
    let newest = last_seq(store, id).unwrap_or(watched.last_seq);
    if newest != watched.last_seq || live != watched.live {
        watched.last_seq = newest;
        watched.live = live;
        answers.give(watched.ticket, Answer::Grown(watched.key, newest, live));
    }
}

fn last_seq(store: &Store, id: SessionId) -> Result<u64, StoreError> {
    let newest = store.list(id, ListKind::Frames, Part::UpTo(u64::MAX), 1)?;
    Ok(newest.last().map_or(0, |listed| listed.row.at.seq))
}

fn sessions(store: &Store) -> Result<Vec<SessionLine>, StoreError> {
    for session in store.sessions()? {
        store.catch_up(session.id, |_| {})?;
    }
    let sessions = store.sessions()?;
    let references = shortest(&sessions);
    let mut lines: Vec<SessionLine> =
        sessions.iter().zip(references).map(|(session, name)| line(session, name)).collect();
    // Live ones first; the others stay in their order, the newest first.
    lines.sort_by_key(|line| line.end != EndKind::Live);
    Ok(lines)
}

fn line(session: &Session, reference: String) -> SessionLine {
    let (_, end_words) = end_of(session);
    let end = match session.end.as_ref().map(|end| &end.reason) {
        None if session.live => EndKind::Live,
        None | Some(None) => EndKind::Unknown,
        Some(Some(EndReason::Exited(0) | EndReason::Stopped)) => EndKind::Well,
        Some(Some(_)) => EndKind::Badly,
    };
    let digest = &session.digest;
    SessionLine {
        key: SessionKey(session.id.0),
        reference,
        name: session.start.name.clone(),
        command: session.start.command.join(" "),
        client: digest.identity.client.clone(),
        server: digest.identity.server.clone(),
        revision: digest.identity.revision.clone(),
        transport: session.start.transport.name(),
        began: when(session.start.opened_unix_ns, "%b %d %H:%M"),
        lasted_ns: lasted_ns(session),
        end,
        end_words,
        n_messages: digest.n_messages,
        n_calls: digest.n_calls,
        n_errors: digest.n_errors,
        n_bytes: digest.n_bytes,
        lost_bytes: session.end.as_ref().map_or(0, |end| end.lost_bytes),
    }
}

/// Gives rows in the order of the list, a page at a time, as they are found.
fn rows(store: &Store, ticket: Ticket, query: &RowsQuery, answers: &Answers) -> Result<(), StoreError> {
    let id = SessionId(query.session.0);
    store.catch_up(id, |_| {})?;
    let sessions = store.sessions()?;
    let Some(session) = sessions.iter().find(|session| session.id == id) else {
        return Ok(());
    };
    let last_seq = last_seq(store, id)?;
    let walk = Walk { store, session, query, ticket, answers, last_seq };
    let answer = match query.part {
        RowsPart::From(seq) => walk.forward(Part::From(seq), seq <= 1)?,
        RowsPart::After(at) => walk.forward(Part::After(at), false)?,
        RowsPart::Last => walk.backward(At { seq: u64::MAX, member: u64::MAX })?,
        RowsPart::Before(at) => walk.backward(at)?,
        RowsPart::Around(seq) => {
            let half = RowsQuery { limit: query.limit / 2, ..query.clone() };
            let walk = Walk { query: &half, ..walk };
            let before = walk.backward(At { seq, member: 0 })?;
            let behind = walk.forward(Part::From(seq), false)?;
            match (before, behind) {
                (Some(mut before), Some(behind)) => {
                    before.rows.extend(behind.rows);
                    Some(RowsAnswer { at_end: behind.at_end, ..before })
                }
                _ => None,
            }
        }
    };
    if let Some(answer) = answer {
        answers.give(ticket, Answer::Rows(RowsAnswer { complete: true, last_seq, ..answer }));
    }
    Ok(())
}

/// A walk through a list.
struct Walk<'a> {
    store: &'a Store,
    session: &'a Session,
    query: &'a RowsQuery,
    ticket: Ticket,
    answers: &'a Answers,
    last_seq: u64,
}

impl Walk<'_> {
    fn kind(&self) -> ListKind {
        if self.query.calls { ListKind::Calls } else { ListKind::Frames }
    }

    /// The last of the rows that were not given yet; `None` when the question was withdrawn.
    fn forward(&self, from: Part, at_begin: bool) -> Result<Option<RowsAnswer>, StoreError> {
        let mut answer = RowsAnswer { at_begin, last_seq: self.last_seq, ..RowsAnswer::default() };
        let mut n_found = 0;
        let mut part = from;
        let mut given = Instant::now();
        // Without a filter each row counts, and no more need be fetched than are wanted.
        let page = if self.query.filter.is_some() { PAGE } else { PAGE.min(self.query.limit as u64) };
        loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            let listed = self.store.list(self.session.id, self.kind(), part, page)?;
            let is_last = (listed.len() as u64) < page;
            for one in &listed {
                part = Part::After(one.row.at);
                if self.fits(one)? {
                    answer.rows.push(row(self.store, self.session, one)?);
                    n_found += 1;
                    if n_found >= self.query.limit {
                        return Ok(Some(answer));
                    }
                }
                if given.elapsed() > GIVE {
                    if self.answers.is_withdrawn(self.ticket) {
                        return Ok(None);
                    }
                    // What was found is given at once, and how far the search is.
                    let rows = std::mem::take(&mut answer.rows);
                    let searched_to = Some(one.row.at.seq);
                    let part = RowsAnswer { rows, searched_to, complete: false, ..answer.clone() };
                    self.answers.give(self.ticket, Answer::Rows(part));
                    given = Instant::now();
                }
            }
            if is_last {
                answer.at_end = true;
                return Ok(Some(answer));
            }
        }
    }

    fn backward(&self, before: At) -> Result<Option<RowsAnswer>, StoreError> {
        let mut found = Vec::new();
        let mut answer =
            RowsAnswer { at_end: before.seq == u64::MAX, last_seq: self.last_seq, ..RowsAnswer::default() };
        let mut edge = before;
        let page = if self.query.filter.is_some() { PAGE } else { PAGE.min(self.query.limit as u64 + 1) };
        'walk: loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            // The members of a batch that come before the edge are in the page of its frame.
            let seq = if edge.member == 0 { edge.seq.saturating_sub(1) } else { edge.seq };
            let listed = self.store.list(self.session.id, self.kind(), Part::UpTo(seq), page)?;
            let is_last = (listed.len() as u64) < page;
            for one in listed.iter().rev().filter(|one| one.row.at < edge) {
                if self.fits(one)? {
                    found.push(row(self.store, self.session, one)?);
                    if found.len() >= self.query.limit {
                        break 'walk;
                    }
                }
            }
            match listed.first() {
                Some(first) if !is_last => edge = first.row.at,
                _ => {
                    answer.at_begin = true;
                    break;
                }
            }
        }
        found.reverse();
        answer.rows = found;
        Ok(Some(answer))
    }

    fn fits(&self, listed: &Listed) -> Result<bool, StoreError> {
        let Some(filter) = &self.query.filter else {
            return Ok(true);
        };
        let now_unix_ns = self.session.start.opened_unix_ns.saturating_add(self.session.digest.newest_at_ns);
        let of = |listed: &Listed| filter.fits(&Message::new(self.store, self.session, listed, None, now_unix_ns));
        if of(listed) {
            return Ok(true);
        }
        // A row of the list of calls stands for both halves.
        match (self.query.calls, listed.row.kind, listed.row.pair) {
            (true, RowKind::Request, Some(pair)) => {
                Ok(self.store.row(self.session.id, pair)?.is_some_and(|answer| of(&answer)))
            }
            _ => Ok(false),
        }
    }
}

fn row(store: &Store, session: &Session, listed: &Listed) -> Result<Row, StoreError> {
    Ok(Row {
        clock: when(listed.row.wall_ns, "%H:%M:%S%.3f"),
        digest: digest(store, session.id, listed)?,
        row: listed.row.clone(),
        length: listed.length,
        answer_length: listed.answer_length,
        exchange: listed.exchange,
    })
}

/// What a message says, from its beginning alone.
fn digest(store: &Store, id: SessionId, listed: &Listed) -> Result<Digested, StoreError> {
    let row = &listed.row;
    let mut digest = Digested::default();
    match row.kind {
        RowKind::Request | RowKind::Notification => {
            let start = store.frame_start(id, row.at.seq, DIGEST_BYTES)?;
            let node = Node::new(&start);
            let params = if row.at.member == 0 { node.get("params") } else { None };
            if let Some(params) = params {
                let shown = params.get("arguments").unwrap_or(params);
                if shown.members().next().is_some() {
                    digest.arguments = beginning(&String::from_utf8_lossy(shown.bytes()));
                }
            }
            if let (Some(Status::Error | Status::ToolError), Some(pair)) = (row.status, row.pair)
                && pair != row.at
            {
                digest.outcome = outcome(&store.frame_start(id, pair.seq, DIGEST_BYTES)?);
            }
        }
        RowKind::Result | RowKind::Error if row.at.member == 0 => {
            let start = store.frame_start(id, row.at.seq, DIGEST_BYTES)?;
            digest.arguments = outcome(&start);
        }
        RowKind::Stderr | RowKind::NotJson | RowKind::NotAMessage => {
            let start = store.frame_start(id, row.at.seq, DIGEST_TEXT_BYTES as u64)?;
            digest.outcome = beginning(String::from_utf8_lossy(&start).trim_end());
        }
        _ => {}
    }
    Ok(digest)
}

/// What an answer says in words: the message of an error, the first text of a tool, or its beginning.
fn outcome(start: &[u8]) -> String {
    let node = Node::new(start);
    let message = node.at(&["error", "message"]).and_then(Node::text);
    let text = || node.at(&["result", "content"])?.elements().find_map(|item| item.get("text")?.text());
    match message.or_else(text) {
        Some(text) => beginning(&text),
        None => match node.get("result") {
            Some(result) => beginning(&String::from_utf8_lossy(result.bytes())),
            None => String::new(),
        },
    }
}

/// The beginning of a text, on one line.
fn beginning(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(DIGEST_TEXT_BYTES)];
    cut.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn message(store: &Store, key: SessionKey, at: At) -> Result<Option<MessageParts>, StoreError> {
    let id = SessionId(key.0);
    let sessions = store.sessions()?;
    let Some(session) = sessions.iter().find(|session| session.id == id) else {
        return Ok(None);
    };
    let whole = |at: At| -> Result<Option<Whole>, StoreError> {
        let Some(listed) = store.row(id, at)? else {
            return Ok(None);
        };
        let bytes = store.frame_start(id, at.seq, SHOWN_BYTES)?;
        let bytes = match at.index_in_batch() {
            None => bytes.to_vec(),
            Some(index) => {
                Node::new(&bytes).elements().nth(index).map(|member| member.bytes().to_vec()).unwrap_or_default()
            }
        };
        Ok(Some(Whole { row: row(store, session, &listed)?, bytes }))
    };
    let Some(this) = whole(at)? else {
        return Ok(None);
    };
    let other = match this.row.row.pair.filter(|pair| *pair != at) {
        Some(pair) => whole(pair)?,
        None => None,
    };
    let exchange = match this.row.exchange {
        Some(number) => store.exchange(id, number)?.map(|exchange| about_exchange(&exchange)).unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(Some(MessageParts { this, other, exchange }))
}

/// An exchange in lines: a name and a text each.
fn about_exchange(exchange: &tap_exchange::Exchange) -> Vec<(String, String)> {
    let mut lines = vec![("request".into(), format!("{} {}", exchange.verb, exchange.target))];
    lines.extend(exchange.status.map(|status| ("status".into(), status.to_string())));
    let fields = |head: &tap_exchange::Head| -> Vec<(String, String)> {
        head.fields().map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned())).collect()
    };
    lines.extend(fields(&exchange.request));
    if let Some(response) = &exchange.response {
        lines.push((String::new(), String::new()));
        lines.extend(fields(response));
    }
    lines
}
