//! Sessions over HTTP: which one a message belongs to, and what is known of it beside its messages.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use tap_protocol::{Era, Revision, Revisions, Side};

use super::streams::Streams;
use crate::follow::Follower;
use crate::row::At;
use crate::state::{Phase, SessionState};

/// Sessions that are followed at a time. Of more, those that are over are forgotten first, then the oldest.
pub const HTTP_SESSIONS: usize = 1_000;

/// Connections of which it is remembered what passed on them.
const CONNECTIONS: usize = 10_000;

/// Session ids that are longer than this are not followed, bytes.
pub(super) const ID_BYTES: usize = 8 * 1024;

/// Number of a session of an [`HttpFollower`](super::HttpFollower), in the order in which they were begun, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpSessionNumber(pub u64);

/// What holds a session together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpSessionKind {
    /// Streamable HTTP of the legacy era; the server gave it this `Mcp-Session-Id`.
    Assigned(Arc<str>),
    /// Streamable HTTP of the legacy era; the server gave it no id (or not yet), so that connections tell it from others.
    Unassigned,
    /// HTTP+SSE of 2024-11-05: messages to the server are posted to this path.
    Endpoint(Arc<str>),
    /// The modern era: all that the server is asked, by whomever. Ids are matched within one exchange.
    Modern,
}

/// A session over HTTP.
#[derive(Debug, Clone)]
pub struct HttpSession {
    /// What holds it together.
    pub kind: HttpSessionKind,
    /// What began it.
    pub began: At,
    /// What ended it: a `DELETE` that was accepted, or the end of the event stream.
    pub ended: Option<At>,
    /// Since when the server does not know its id any more, as far as answers to POST show.
    pub(super) gone: Option<Gone>,
    /// A GET that was answered with 404: whether the session was over then is for the next POST to show.
    pub(super) get_not_found: Option<At>,
    /// Exchanges of it that have not ended.
    pub(super) n_open: u64,
    /// The path that its messages are posted to.
    pub(super) path: Arc<str>,
    /// Whether a message of it was accepted. A session that was refused is forgotten.
    pub(super) accepted: bool,
    /// The connection on which a request with credentials was accepted last.
    pub(super) authorized: Option<u64>,
    /// Messages that belong to another session without an id may be taken for messages of this one.
    pub(super) guessed: bool,
    pub(super) streams: Streams,
    pub(super) follower: Follower,
}

/// That a POST with a session's id was answered with 404.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) at: At,
    pub(super) at_ns: u64,
    pub(super) connection: u64,
    pub(super) exchange: u64,
}

impl HttpSession {
    /// What is true of it now.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        self.follower.state()
    }

    /// Whether the server has accepted a message of it. One of which it accepted none is forgotten.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Whether it is over: [ended](Self::ended), or the server does not know its id any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended.is_some() || self.gone.is_some()
    }

    /// Whether it is of the modern era.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.kind == HttpSessionKind::Modern
    }

    /// Whether it is a session of Streamable HTTP of the legacy era.
    pub(super) fn is_streamable(&self) -> bool {
        matches!(self.kind, HttpSessionKind::Assigned(_) | HttpSessionKind::Unassigned)
    }

    /// The revisions whose transport it may be of. The transport of 2024-11-05 serves newer messages too, and that of
    /// 2025-03-26 older ones.
    pub(super) fn revisions(&self) -> Revisions {
        match &self.kind {
            HttpSessionKind::Modern => Revisions::MODERN,
            HttpSessionKind::Endpoint(_) => Revisions::only(Revision::V2024_11_05),
            HttpSessionKind::Assigned(_) | HttpSessionKind::Unassigned => {
                let streamable = Revisions::LEGACY.difference(Revisions::only(Revision::V2024_11_05));
                self.state()
                    .revision
                    .map_or(streamable, |revision| Revisions::only(revision.max(Revision::V2025_03_26)))
            }
        }
    }
}

/// All sessions with one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions {
    all: OrdMap<u64, Arc<HttpSession>>,
    n_begun: u64,
    by_id: HashMap<Arc<str>, u64>,
    by_endpoint: HashMap<Arc<str>, u64>,
    /// The legacy session of which a message passed there last.
    by_connection: HashMap<u64, u64>,
    /// Those without an id, the newest last.
    unassigned: Vector<u64>,
    modern: Option<u64>,
}

impl Sessions {
    pub(super) fn iter(&self) -> impl Iterator<Item = (HttpSessionNumber, &HttpSession)> {
        self.all.iter().map(|(number, session)| (HttpSessionNumber(*number), &**session))
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    pub(super) fn get(&self, number: u64) -> Option<&HttpSession> {
        self.all.get(&number).map(|session| &**session)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut HttpSession> {
        self.all.get_mut(&number).map(Arc::make_mut)
    }

    /// Begins a session. Unless it has an endpoint, it is not shown until it is accepted.
    pub(super) fn begin(&mut self, kind: HttpSessionKind, began: At, path: Arc<str>, whole: bool) -> u64 {
        if HTTP_SESSIONS <= self.all.len() {
            self.forget_one();
        }
        self.n_begun += 1;
        let number = self.n_begun;
        let mut follower = Follower::of_bodies();
        follower.state_mut().whole = whole;
        match &kind {
            HttpSessionKind::Modern => {
                // No handshake is waited for, and what is asked here without `_meta` is not legacy but wrong.
                let state = follower.state_mut();
                (state.era, state.phase, state.phase_at) = (Some(Era::Modern), Phase::Operating, Some(began));
                self.modern = Some(number);
            }
            HttpSessionKind::Endpoint(uri) => {
                self.by_endpoint.insert(uri.clone(), number);
            }
            // Also before it is accepted: what comes meanwhile with the same id is of the same session.
            HttpSessionKind::Assigned(id) => {
                self.by_id.insert(id.clone(), number);
            }
            HttpSessionKind::Unassigned => {}
        }
        let session = HttpSession {
            accepted: matches!(kind, HttpSessionKind::Endpoint(_)),
            began,
            ended: None,
            gone: None,
            get_not_found: None,
            n_open: 0,
            path,
            authorized: None,
            // Without id and beginning it stands for all clients who were there before the recording.
            guessed: kind == HttpSessionKind::Unassigned && !whole,
            kind,
            streams: Streams::default(),
            follower,
        };
        self.all.insert(number, Arc::new(session));
        number
    }

    fn forget_one(&mut self) {
        let over = self.all.iter().find(|(_, session)| session.ended.is_some() || session.gone.is_some());
        let oldest = || self.all.keys().find(|number| Some(**number) != self.modern).copied();
        if let Some(number) = over.map(|(number, _)| *number).or_else(oldest) {
            self.forget(number);
        }
    }

    pub(super) fn forget(&mut self, number: u64) {
        let Some(session) = self.all.remove(&number) else {
            return;
        };
        let index = match &session.kind {
            HttpSessionKind::Assigned(id) => Some((&mut self.by_id, id)),
            HttpSessionKind::Endpoint(uri) => Some((&mut self.by_endpoint, uri)),
            HttpSessionKind::Unassigned | HttpSessionKind::Modern => None,
        };
        if let Some((index, key)) = index
            && index.get(key) == Some(&number)
        {
            index.remove(key);
        }
        self.unassigned.retain(|other| *other != number);
    }

    /// A session that was begun is one: the server has accepted a message of it, and perhaps given it an id.
    pub(super) fn accept(&mut self, number: u64, id: Option<&str>) {
        let Some(session) = self.all.get_mut(&number).map(Arc::make_mut).filter(|session| !session.accepted) else {
            return;
        };
        session.accepted = true;
        if let (HttpSessionKind::Unassigned, Some(id)) = (&session.kind, id)
            && id.len() <= ID_BYTES
        {
            session.kind = HttpSessionKind::Assigned(id.into());
        }
        match &session.kind {
            HttpSessionKind::Assigned(id) => {
                let id = id.clone();
                // An id that is given out again is that of the newer session, unless the older one goes on.
                let known = self.with_id(&id).and_then(|known| self.get(known));
                if !known.is_some_and(|known| known.accepted && known.ended.is_none() && known.gone.is_none()) {
                    self.by_id.insert(id, number);
                }
            }
            HttpSessionKind::Unassigned => {
                self.unassigned.push_back(number);
                if self.unassigned.len() < 2 {
                    return;
                }
                for number in &self.unassigned {
                    if let Some(session) = self.all.get_mut(number).filter(|session| !session.guessed) {
                        let session = Arc::make_mut(session);
                        session.guessed = true;
                        session.follower.state_mut().whole = false;
                        super::guessed::forget_revision(&mut session.follower);
                    }
                }
            }
            HttpSessionKind::Endpoint(_) | HttpSessionKind::Modern => {}
        }
    }

    /// The session with this `Mcp-Session-Id`.
    pub(super) fn with_id(&self, id: &str) -> Option<u64> {
        self.by_id.get(id).copied()
    }

    /// The session that is posted to at this path and query.
    pub(super) fn at_endpoint(&self, local: &str) -> Option<u64> {
        self.by_endpoint.get(local).copied()
    }

    /// A session whose endpoint nobody has posted to yet, if it is the only session.
    pub(super) fn unused_endpoint(&self) -> Option<(u64, &HttpSession)> {
        let mut open = self.all.iter().filter(|(_, session)| session.accepted && session.ended.is_none());
        match (open.next(), open.next()) {
            (Some((number, session)), None) if matches!(session.kind, HttpSessionKind::Endpoint(_)) => {
                let unused = session.state().party(Side::Client).n_messages == 0;
                unused.then_some((*number, &**session))
            }
            _ => None,
        }
    }

    /// The legacy session that a connection served last.
    pub(super) fn on_connection(&self, connection: u64) -> Option<u64> {
        self.by_connection.get(&connection).copied().filter(|number| self.all.contains_key(number))
    }

    pub(super) fn passed_on(&mut self, connection: u64, number: u64) {
        if CONNECTIONS <= self.by_connection.len() && !self.by_connection.contains_key(&connection) {
            self.by_connection.clear();
        }
        self.by_connection.insert(connection, number);
    }

    /// The session without an id that a message on this connection most probably belongs to.
    pub(super) fn without_id(&self, connection: u64) -> Option<u64> {
        let is_open =
            |number: &u64| self.get(*number).is_some_and(|session| session.kind == HttpSessionKind::Unassigned);
        self.on_connection(connection).filter(is_open).or_else(|| self.unassigned.last().copied())
    }

    /// The session of the modern era.
    pub(super) fn modern(&self) -> Option<u64> {
        self.modern
    }

    /// The session with an id that was accepted, if there is but one.
    pub(super) fn only_assigned(&self) -> Option<u64> {
        let is_assigned = |session: &HttpSession| matches!(session.kind, HttpSessionKind::Assigned(_));
        let mut assigned = self.all.iter().filter(|(_, session)| session.accepted && is_assigned(session));
        match (assigned.next(), assigned.next()) {
            (Some((number, _)), None) => Some(*number),
            _ => None,
        }
    }
}
