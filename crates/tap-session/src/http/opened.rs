//! The beginning of an exchange: is it MCP, and to which session does it belong.

use std::borrow::Cow;
use std::sync::Arc;

use tap_frame::Stream;
use tap_protocol::{Era, Revision};

use super::exchange::{Body, Exchange, Verb};
use super::head::{Headers, local_part, path_of};
use super::judge::{Asked, Judge};
use super::session::{HttpSessionKind, ID_BYTES};
use super::streams::OneStream;
use super::{HTTP_EXCHANGES, HttpFollower, HttpRequest, Step, say, scope_of};
use crate::machine::Found;
use crate::row::At;
use crate::rule::clipped;

/// Paths at which there was MCP that are remembered.
const PATHS: usize = 1_000;

/// How much of a path is looked at, bytes.
const PATH_BYTES: usize = 2 * 1024;

/// How much of a method is kept, bytes.
const METHOD_BYTES: usize = 200;

/// The session that an exchange belongs to.
struct Route {
    /// `None` when that is not known before the first event.
    session: Option<u64>,
    /// The session whose id it should have had, and how certain that is.
    lacks_id_of: Option<(u64, bool)>,
    /// The session whose endpoint it should have been posted to.
    misses_endpoint_of: Option<u64>,
}

impl Route {
    fn to(session: u64) -> Self {
        Self { session: Some(session), lacks_id_of: None, misses_endpoint_of: None }
    }
}

/// Whether the request is of the modern era.
fn is_modern(headers: Headers<'_>, body: &Body<'_>) -> bool {
    if body.method.as_deref() == Some("initialize") {
        return false;
    }
    // What the body says of itself counts for more than its header, which is to say the same.
    if body.params.is_some_and(|params| params.at(&["_meta", tap_protocol::meta::PROTOCOL_VERSION]).is_some()) {
        return true;
    }
    match (headers.era(), body.method.as_deref()) {
        (Some(era), _) => era == Era::Modern,
        (None, Some("server/discover" | "subscriptions/listen")) => true,
        (None, _) => headers.has("mcp-method") && !headers.has("mcp-session-id"),
    }
}

impl HttpFollower {
    pub(super) fn opened(&mut self, request: &HttpRequest<'_>, step: &mut Step<'_>) {
        let Some(verb) = Verb::from_text(request.verb) else {
            return;
        };
        let body = Body::of(&request.body);
        let path: Arc<str> = clipped(path_of(request.target), PATH_BYTES).into();
        if HTTP_EXCHANGES <= self.exchanges.len() || !self.is_mcp(verb, request, &path, &body) {
            return;
        }
        let at = step.moment.at();
        let Some(route) = self.route(verb, request, &path, &body, at) else {
            return;
        };
        if self.paths.len() < PATHS && !self.paths.contains(&path) {
            self.paths.insert(path.clone());
        }
        let requests = body.requests.iter().map(|(raw_id, member)| (raw_id.clone(), At { member: *member, ..at }));
        let headers = request.headers;
        let mut exchange = Exchange {
            verb,
            connection: request.connection,
            path,
            opened: at,
            session: route.session,
            scope: 0,
            method: body.method.as_deref().map(|method| clipped(method, METHOD_BYTES).into()),
            requests: requests.collect(),
            only_others: body.is_rpc && body.requests.is_empty(),
            resumes: verb == Verb::Get && headers.has("last-event-id"),
            foreign_origin: headers.is_of_foreign_origin(),
            has_credentials: headers.has("authorization"),
            after_gone: None,
            mismatch: None,
            lacks_meta: false,
            status: None,
            is_sse: false,
            is_json: false,
            stream: OneStream::default(),
        };
        if let Some(number) = route.session {
            self.judge_opened(number, &route, request, &body, &mut exchange, step);
        }
        let is_posted = verb == Verb::Post && !request.body.is_empty();
        if let Some(session) = route.session.and_then(|number| self.sessions.get_mut(number)) {
            session.n_open += 1;
            exchange.scope = scope_of(session, step.number);
        }
        let scope = exchange.scope;
        self.exchanges.insert(step.number, Arc::new(exchange));
        if let (Some(number), true) = (route.session, is_posted) {
            self.message((number, scope), Stream::ToServer, &body, request.body.clone(), step);
        }
    }

    fn judge_opened(
        &mut self,
        number: u64,
        route: &Route,
        request: &HttpRequest<'_>,
        body: &Body<'_>,
        exchange: &mut Exchange,
        step: &mut Step<'_>,
    ) {
        let mut found = Found::default();
        let other =
            route.lacks_id_of.and_then(|(other, certain)| Some((self.sessions.get(other)?.revisions(), certain)));
        let endpoint = route.misses_endpoint_of.and_then(|other| match &self.sessions.get(other)?.kind {
            HttpSessionKind::Endpoint(uri) => Some(uri.clone()),
            _ => None,
        });
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        let mut judge = Judge::new(session, &mut found);
        let asked = Asked { request, body, at: exchange.opened, at_ns: step.moment.at_ns };
        judge.request(&asked, exchange.verb);
        if let Some((revisions, certain)) = other {
            judge.session_missing(&asked, revisions, certain);
        }
        if let Some(uri) = endpoint {
            judge.posted_elsewhere(&asked, &uri);
        }
        if session.is_modern() {
            let mut judge = Judge::new(session, &mut found);
            judge.modern_request(&asked, &self.annotations, exchange);
        } else {
            let mut judge = Judge::new(session, &mut found);
            judge.legacy_request(&asked, exchange);
        }
        say(Some(number), session, found, step.meanings);
    }

    /// Whether an exchange is MCP at all: the same server may serve OAuth, and pages.
    fn is_mcp(&self, verb: Verb, request: &HttpRequest<'_>, path: &str, body: &Body<'_>) -> bool {
        let headers = request.headers;
        let has_header = headers.with_prefix("mcp-").next().is_some();
        match verb {
            Verb::Post => body.is_rpc || has_header || self.paths.contains(path),
            Verb::Get => {
                headers.accepts("text/event-stream") == super::head::Acceptance::Listed
                    || (has_header && self.paths.contains(path))
            }
            Verb::Delete => has_header,
        }
    }

    fn route(
        &mut self,
        verb: Verb,
        request: &HttpRequest<'_>,
        path: &Arc<str>,
        body: &Body<'_>,
        at: At,
    ) -> Option<Route> {
        let headers = request.headers;
        let sessions = &mut self.sessions;
        // A path is shared by both eras, and so is a GET or DELETE that names no revision.
        let modern = match verb {
            Verb::Post => is_modern(headers, body),
            Verb::Get | Verb::Delete => headers.era() == Some(Era::Modern),
        };
        if modern {
            let number = sessions.modern();
            let number = number.unwrap_or_else(|| sessions.begin(HttpSessionKind::Modern, at, path.clone(), true));
            if let Some(session) = sessions.get_mut(number)
                && session.state().revision_text.is_none()
            {
                let header = || headers.text("mcp-protocol-version").map(Cow::Borrowed);
                let text = body.named_revision().or_else(header).map(|text| clipped(&text, 100));
                let state = session.follower.state_mut();
                let revision = text.as_deref().and_then(Revision::nearest);
                state.revision = revision.filter(|revision| revision.era() == Era::Modern);
                state.revision_text = text.map(Arc::from);
            }
            return Some(Route::to(number));
        }
        if let Some(number) = sessions.at_endpoint(local_part(request.target)) {
            return Some(Route::to(number));
        }
        let initializes = body.method.as_deref() == Some("initialize");
        if let (Some(id), false) = (headers.text("mcp-session-id"), initializes) {
            if let Some(number) = sessions.with_id(id) {
                if sessions.get(number).is_some_and(|session| session.accepted) {
                    sessions.passed_on(request.connection, number);
                }
                return Some(Route::to(number));
            }
            if ID_BYTES < id.len() {
                return None;
            }
            // Perhaps of a session that is older than the recording. If not, it will be refused.
            return Some(Route::to(sessions.begin(HttpSessionKind::Assigned(id.into()), at, path.clone(), false)));
        }
        match verb {
            Verb::Get => {
                let lacks_id_of = lacking(sessions, request.connection, path);
                // Such a GET is how a stream of 2024-11-05 begins, of which nothing is known before its first event.
                let session = lacks_id_of.map(|_| sessions.begin(HttpSessionKind::Unassigned, at, path.clone(), false));
                Some(Route { session, lacks_id_of, misses_endpoint_of: None })
            }
            Verb::Delete => None,
            Verb::Post if initializes => {
                let number = sessions.begin(HttpSessionKind::Unassigned, at, path.clone(), true);
                sessions.passed_on(request.connection, number);
                let misses_endpoint_of = missing_endpoint(sessions, path, true);
                Some(Route { misses_endpoint_of, ..Route::to(number) })
            }
            Verb::Post => {
                if let Some(number) = sessions.without_id(request.connection) {
                    return Some(Route::to(number));
                }
                let lacks_id_of = lacking(sessions, request.connection, path);
                let misses_endpoint_of = missing_endpoint(sessions, path, false).filter(|_| body.is_rpc);
                let session = sessions.begin(HttpSessionKind::Unassigned, at, path.clone(), false);
                Some(Route { session: Some(session), lacks_id_of, misses_endpoint_of })
            }
        }
    }
}

/// The session whose id a request on this connection should have had, and how certain that is.
fn lacking(sessions: &super::Sessions, connection: u64, path: &str) -> Option<(u64, bool)> {
    let has_id = |number: &u64| {
        let session = sessions.get(*number);
        session.is_some_and(|session| {
            matches!(session.kind, HttpSessionKind::Assigned(_))
                && session.accepted
                && session.ended.is_none()
                && &*session.path == path
        })
    };
    if let Some(number) = sessions.on_connection(connection).filter(has_id) {
        return Some((number, true));
    }
    sessions.only_assigned().filter(has_id).map(|number| (number, false))
}

/// The session of 2024-11-05 whose client posts this, if it posts it to the wrong place.
fn missing_endpoint(sessions: &super::Sessions, path: &str, initializes: bool) -> Option<u64> {
    let (number, session) = sessions.unused_endpoint()?;
    // `initialize` is posted to the URL of the stream to find out whether the server knows Streamable HTTP.
    (!initializes || &*session.path != path).then_some(number)
}
