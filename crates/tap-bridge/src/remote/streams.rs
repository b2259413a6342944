//! The streams that the bridge opens itself: to hear the server, to resume, and the one of HTTP+SSE.

use bytes::Bytes;

use super::exchange::{Cursor, Exchange, Purpose, Waiting};
use super::{Action, RemoteServer};
use crate::message::Incoming;

/// How long after its end a stream is opened again when the server does not say, nanoseconds.
const RETRY_NS: u64 = 1_000_000_000;

/// The longest such time that is ours to choose.
const RETRY_LIMIT_NS: u64 = 30_000_000_000;

/// The longest time that a server may ask for: somebody waits for what comes then.
const TOLD_LIMIT_NS: u64 = 600_000_000_000;

/// The shortest time, even if the server says so: it may end every stream at once.
const SHORTEST_RETRY_NS: u64 = 100_000_000;

/// How often in a row a stream with answers may be opened again and say nothing.
const ATTEMPTS: u32 = 10;

/// How long a server of HTTP+SSE may take to name its endpoint, nanoseconds.
const OPENING_LIMIT_NS: u64 = 30_000_000_000;

/// Which transport the server has.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Streamable HTTP, as far as is known.
    Streamable,
    /// It refused `initialize`, and is asked for the stream of HTTP+SSE.
    Opening(Box<Opening>),
    /// HTTP+SSE.
    OldStream,
}

/// Only of which kind.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// What waits for the stream of HTTP+SSE.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    exchange: u64,
    initialize: (Incoming, Bytes),
    waiting: Vec<Waiting>,
    /// Why `initialize` was refused.
    refusal: String,
    until_ns: u64,
}

/// A stream that is to be opened again.
#[derive(Debug, Clone)]
pub(super) struct Retry {
    pub(super) at_ns: u64,
    purpose: Purpose,
    pub(super) waiting: Vec<Waiting>,
    cursor: Cursor,
}

impl RemoteServer {
    /// Opens a stream of its own for what the server says of itself.
    pub(super) fn listen(&mut self) {
        self.get(None, Purpose::Listen);
    }

    /// Goes on with a stream later, if it can be gone on with. Gives back who waits for it if not.
    pub(super) fn resume_later(&mut self, exchange: Exchange) -> Vec<Waiting> {
        let Exchange { purpose, mut cursor, waiting, is_modern, .. } = exchange;
        let can_resume = match purpose {
            Purpose::Messages | Purpose::Resume => {
                !is_modern && cursor.last_event_id.is_some() && cursor.n_silent < ATTEMPTS
            }
            Purpose::Listen => true,
            Purpose::OldStream | Purpose::Delete => false,
        };
        if !can_resume {
            return waiting;
        }
        let doubled_ns = RETRY_NS.saturating_mul(1 << cursor.n_attempts.min(5)).min(RETRY_LIMIT_NS);
        let wait_ns = match cursor.retry_ms.map(|retry_ms| retry_ms.saturating_mul(1_000_000)) {
            // The first time is the server's to choose; it does not know of those that lead nowhere.
            Some(told_ns) if cursor.n_attempts == 0 => told_ns.clamp(SHORTEST_RETRY_NS, TOLD_LIMIT_NS),
            Some(told_ns) => told_ns.max(doubled_ns).min(TOLD_LIMIT_NS),
            None => doubled_ns,
        };
        cursor.n_attempts += 1;
        cursor.n_silent += 1;
        let purpose = if purpose == Purpose::Listen { Purpose::Listen } else { Purpose::Resume };
        self.retries.push(Retry { at_ns: self.now_ns.saturating_add(wait_ns), purpose, waiting, cursor });
        Vec::new()
    }

    pub(super) fn open_again(&mut self, retry: Retry) {
        let Retry { purpose, waiting, cursor, .. } = retry;
        let number = self.get(cursor.last_event_id.as_deref(), purpose);
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.waiting = waiting;
            exchange.cursor = cursor;
        }
    }

    /// The server does not know Streamable HTTP: perhaps it knows what was before.
    pub(super) fn open_old_stream(&mut self, initialize: (Incoming, Bytes), waiting: Vec<Waiting>, refusal: String) {
        let exchange = self.get(None, Purpose::OldStream);
        let until_ns = self.now_ns.saturating_add(OPENING_LIMIT_NS);
        self.shape = Shape::Opening(Box::new(Opening { exchange, initialize, waiting, refusal, until_ns }));
    }

    pub(super) fn opening_limit_ns(&self) -> Option<u64> {
        match &self.shape {
            Shape::Opening(opening) => Some(opening.until_ns),
            Shape::Streamable | Shape::OldStream => None,
        }
    }

    /// The server of HTTP+SSE says where messages are posted.
    pub(super) fn endpoint(&mut self, number: u64, endpoint: &str) {
        let Shape::Opening(opening) = &self.shape else {
            return;
        };
        if opening.exchange != number {
            return;
        }
        let Some(address) = resolved(&self.url, endpoint) else {
            // A server that could name any address could have our requests, with their credentials, sent anywhere.
            return self.opening_failed("its endpoint is on another host");
        };
        let (incoming, body) = opening.initialize.clone();
        self.address = address;
        self.shape = Shape::OldStream;
        self.post(&incoming, body);
    }

    pub(super) fn opening_failed(&mut self, why: &str) {
        if !matches!(self.shape, Shape::Opening(_)) {
            return;
        }
        if let Shape::Opening(opening) = std::mem::replace(&mut self.shape, Shape::Streamable) {
            if self.exchanges.remove(&opening.exchange).is_some() {
                self.actions.push_back(Action::Stop { exchange: opening.exchange });
            }
            let cause = format!("{}; as a server of HTTP+SSE: {why}", opening.refusal);
            self.fail(opening.waiting, &cause);
            self.pump();
        }
    }
}

/// Where a reference leads from an address, if that is the same origin.
fn resolved(base: &str, reference: &str) -> Option<String> {
    let authority_at = base.find("://")? + 3;
    let rest = base.get(authority_at..)?;
    let origin_end = authority_at + rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (origin, path) = base.split_at_checked(origin_end)?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if reference.contains("://") && !reference.starts_with(['/', '?']) {
        let (scheme, rest) = reference.split_once("://")?;
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (own_scheme, own_authority) = origin.split_once("://")?;
        let same = scheme.eq_ignore_ascii_case(own_scheme) && same_host(own_scheme, authority, own_authority);
        return same.then(|| format!("{origin}{target}"));
    }
    match reference.as_bytes() {
        [b'/', b'/', ..] => None,
        [b'/', ..] => Some(format!("{origin}{reference}")),
        [b'?', ..] => Some(format!("{origin}{path}{reference}")),
        _ => {
            let folder = path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or("/");
            Some(format!("{origin}{folder}{reference}"))
        }
    }
}

/// Whether two authorities of a scheme are one host and port. The scheme's own port need not be written.
fn same_host(scheme: &str, one: &str, other: &str) -> bool {
    let port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let without = |authority: &str| {
        let authority = authority.to_ascii_lowercase();
        let bare = authority.strip_suffix(port).or(authority.strip_suffix(':')).map(str::to_owned);
        bare.unwrap_or(authority)
    };
    without(one) == without(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_where_it_leads_from_the_stream_and_on_no_other_host() {
        for (base, reference, expected) in [
            ("http://a:1/sse", "/message?sessionId=1", Some("http://a:1/message?sessionId=1")),
            ("http://a:1/x/sse?k=v", "message", Some("http://a:1/x/message")),
            ("http://a:1/x/sse?k=v", "?s=1", Some("http://a:1/x/sse?s=1")),
            ("http://a:1", "m", Some("http://a:1/m")),
            ("http://a:1/sse", "http://a:1/m?u=http://b/", Some("http://a:1/m?u=http://b/")),
            ("http://a:1/sse", "HTTP://A:1/m", Some("http://a:1/m")),
            ("http://a:1/sse", "/m?u=http://b/", Some("http://a:1/m?u=http://b/")),
            ("https://a/sse", "https://a:443/m", Some("https://a/m")),
            ("https://a:443/sse", "https://A/m", Some("https://a:443/m")),
            ("http://[::1]/sse", "http://[::1]:80/m", Some("http://[::1]/m")),
            ("http://a/sse", "http://a:/m", Some("http://a/m")),
            ("http://a/sse", "http://a:80", Some("http://a")),
            ("https://a/sse", "https://a:80/m", None),
            ("http://a/sse", "http://a:443/m", None),
            ("http://a:1/sse", "http://a/m", None),
            ("http://a/sse", "http://a:80@b/m", None),
            ("http://a/sse", "http://a:80:80/m", None),
            ("http://a:1/sse", "http://a:12/m", None),
            ("http://a:1/sse", "https://a:1/m", None),
            ("http://a:1/sse", "//b/m", None),
            ("http://a:1/sse", "http://b", None),
        ] {
            assert_eq!(resolved(base, reference).as_deref(), expected, "{reference} from {base}");
        }
    }
}
