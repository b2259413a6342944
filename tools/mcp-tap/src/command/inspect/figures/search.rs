//! What fits in all sessions, told as it is found.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tap_filter::Filter;
use tap_inspector::{Answer, Hit, HitSession, Hits, KEPT_HITS, SessionKey, Snippet, Ticket, Tone};
use tap_store::{Session, SessionId, StoreError};

use super::super::asked::{Answers, Opened};
use super::super::lists::began;
use crate::command::log::outcome::outcome;
use crate::output::Style;
use crate::reference::shortest;
use crate::searching::{Progress, Told, around, path_of, search as search_all};

/// How long a search goes on before what it found is given. The first hit is given at once.
const GIVE: Duration = Duration::from_millis(80);

/// How much of a message is told around a hit, bytes before and behind it.
const BEFORE_BYTES: usize = 120;
const BEHIND_BYTES: usize = 360;

/// Searches all sessions, until that is of no use any more.
pub(super) fn search(opened: &Opened, answers: &Answers, ticket: Ticket, filter: &Filter) -> Result<(), StoreError> {
    let store = &opened.store;
    let sessions = store.sessions()?;
    let references: HashMap<SessionId, String> =
        sessions.iter().map(|session| session.id).zip(shortest(&sessions)).collect();
    let mut found = Found { n_kept: 0, counts: BTreeMap::new(), hits: Vec::new(), given: Instant::now(), any: false };
    let mut last = Progress::default();
    search_all(store, filter, opened.first_seq, |told| {
        let mut at_once = false;
        match told {
            Told::Progress(progress) => last = progress,
            Told::Hit(hit) => {
                let key = hit.session.id;
                let counted = found.counts.entry(key).or_insert_with(|| {
                    let reference = references.get(&key).cloned().unwrap_or_default();
                    (about(opened, hit.session, reference), true)
                });
                counted.0.n_found += 1;
                counted.1 = true;
                if found.n_kept < KEPT_HITS {
                    found.n_kept += 1;
                    found.hits.push(told_hit(opened, &hit)?);
                }
                at_once = !std::mem::replace(&mut found.any, true);
            }
        }
        if at_once || found.given.elapsed() > GIVE {
            let hits = found.part(last, false);
            if !answers.give(ticket, Answer::Hits(Box::new(hits))) {
                return Ok(ControlFlow::Break(()));
            }
        }
        let over = answers.is_withdrawn(ticket);
        Ok::<_, StoreError>(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    answers.give(ticket, Answer::Hits(Box::new(found.part(last, true))));
    Ok(())
}

/// What was found and not yet given.
struct Found {
    n_kept: usize,
    /// Sessions with what was found in them, and whether that is to be told.
    counts: BTreeMap<SessionId, (HitSession, bool)>,
    hits: Vec<Hit>,
    given: Instant,
    any: bool,
}

impl Found {
    fn part(&mut self, progress: Progress, complete: bool) -> Hits {
        self.given = Instant::now();
        // In the order in which they are searched: the newest first.
        let changed = self.counts.values_mut().rev().filter(|(_, changed)| *changed);
        let sessions = changed.map(|(session, changed)| {
            *changed = false;
            session.clone()
        });
        Hits {
            sessions: sessions.collect(),
            hits: std::mem::take(&mut self.hits),
            n_sessions_done: progress.n_sessions_done,
            n_sessions: progress.n_sessions,
            n_messages_done: progress.n_messages_done,
            n_messages: progress.n_messages,
            n_bytes_done: progress.n_bytes_done,
            complete,
        }
    }
}

fn about(opened: &Opened, session: &Session, reference: String) -> HitSession {
    let began = began(&opened.zone, session.start.opened_unix_ns);
    HitSession { key: SessionKey(session.id.0), reference, began, n_found: 0 }
}

fn told_hit(opened: &Opened, hit: &crate::searching::Hit<'_>) -> Result<Hit, StoreError> {
    let row = &hit.listed.row;
    let exchange = match hit.listed.exchange {
        Some(number) => opened.store.exchange(hit.session.id, number)?,
        None => None,
    };
    let (style, words) = outcome(hit.listed, exchange.as_ref(), hit.session.live);
    let tone = match style {
        Style::Plain | Style::Bold => Tone::Plain,
        Style::Dim => Tone::Dim,
        Style::Good => Tone::Good,
        Style::Bad => Tone::Bad,
        Style::Warning => Tone::Warning,
    };
    let bytes = hit.bytes();
    let place = hit.place();
    let path = place.as_ref().and_then(|place| path_of(bytes, place.start)).filter(|path| !path.is_empty());
    let [before, found, after] = around(bytes, place.unwrap_or(0..0), BEFORE_BYTES, BEHIND_BYTES);
    let what = row.target.as_deref().or(row.method.as_deref()).unwrap_or(row.kind.name()).to_owned();
    Ok(Hit {
        session: SessionKey(hit.session.id.0),
        at: row.at,
        what,
        status: (tone, words),
        snippet: Snippet { before, found, after },
        path,
    })
}
