//! What of a head may be kept: values of fields that are known to be no secrets, and stand-ins for the rest.
//!
//! A list of what is secret is never complete, so this is a list of what is not. A stand-in is made with a key of this
//! process alone: equal values have equal stand-ins, and nobody can find the value again.

use std::borrow::Cow;

use http::Uri;
use ring::hmac;
use ring::rand::SystemRandom;

/// Fields whose values are kept as they are, in lower case. A name that ends in `*` stands for all that begin so.
const KEPT: &[&str] = &[
    "accept",
    "accept-*",
    "access-control-*",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "connection",
    "content-*",
    "date",
    "etag",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "last-event-id",
    "last-modified",
    "mcp-method",
    "mcp-name",
    "mcp-param-*",
    "mcp-protocol-version",
    "mcp-tap-*",
    "origin",
    "retry-after",
    "sec-fetch-*",
    "server",
    "server-timing",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "x-accel-buffering",
    "x-content-type-options",
    "x-frame-options",
    "x-powered-by",
    "x-ratelimit-*",
    "x-request-id",
];

/// Stands for a value that is not kept.
const REDACTED: &str = "redacted";

/// A part of a path that is as long as this may be a secret.
const LONG_PART: usize = 24;

/// Decides what of a head is kept.
#[derive(Debug)]
pub struct Keeper {
    key: hmac::Key,
}

impl Keeper {
    /// A keeper with a key of its own.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn new() -> Result<Self, ring::error::Unspecified> {
        Ok(Self { key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())? })
    }

    /// What is kept of a field's value.
    pub(crate) fn value<'a>(&self, name: &str, value: &'a [u8]) -> Cow<'a, [u8]> {
        match name {
            "mcp-session-id" => Cow::Owned(self.session_id(value)),
            "location" | "content-location" => Cow::Owned(self.address(value)),
            "www-authenticate" | "proxy-authenticate" => challenge(value),
            _ if is_kept(name) => Cow::Borrowed(value),
            _ => Cow::Borrowed(REDACTED.as_bytes()),
        }
    }

    /// What is kept of a request's target: `as_is` where a server named it in the open, such as the endpoint of HTTP+SSE.
    pub(crate) fn target(&self, uri: &Uri, as_is: bool) -> String {
        if as_is {
            return uri.path_and_query().map_or("/", |target| target.as_str()).into();
        }
        let mut target = self.path(uri.path());
        if let Some(query) = uri.query() {
            target.push('?');
            target.push_str(&self.query(query));
        }
        target
    }

    /// What may be told of a server's URL: without user, password, and the values of its query.
    #[must_use]
    pub fn url(&self, uri: &Uri) -> String {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{}://{authority}{}", uri.scheme_str().unwrap_or("http"), self.target(uri, false))
    }

    fn path(&self, path: &str) -> String {
        let kept = |part: &str| part.len() < LONG_PART || part.starts_with("oauth-") || part.starts_with("openid-");
        let parts = path.split('/').map(|part| if kept(part) { part.into() } else { self.stand_in(part.as_bytes()) });
        parts.collect::<Vec<_>>().join("/")
    }

    fn query(&self, query: &str) -> String {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() => format!("{name}={}", self.stand_in(value.as_bytes())),
            _ => pair.to_owned(),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    fn address(&self, value: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(value).ok().and_then(|text| text.parse::<Uri>().ok()) {
            Some(uri) if uri.authority().is_some() => self.url(&uri).into_bytes(),
            Some(uri) => self.target(&uri, false).into_bytes(),
            None => REDACTED.into(),
        }
    }

    /// A session's id is as good as a password where a server asks for no other. What is wrong about it is kept: it may
    /// hold visible ASCII alone (MCP 2025-11-25, Streamable HTTP, Session Management).
    fn session_id(&self, value: &[u8]) -> Vec<u8> {
        let mut kept = self.stand_in(value).into_bytes();
        kept.extend(value.iter().filter(|byte| !(0x21..=0x7e).contains(*byte)));
        kept
    }

    fn stand_in(&self, value: &[u8]) -> String {
        let tag = hmac::sign(&self.key, value);
        let digits: String = tag.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{REDACTED}-{digits}")
    }
}

fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|kept| match kept.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *kept,
    })
}

/// What an authorization server asks for is no secret, but other schemes put tokens there.
fn challenge(value: &[u8]) -> Cow<'_, [u8]> {
    let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    if scheme.eq_ignore_ascii_case(b"bearer") || scheme.eq_ignore_ascii_case(b"dpop") {
        return Cow::Borrowed(value);
    }
    let mut kept = scheme.to_vec();
    kept.push(b' ');
    kept.extend_from_slice(REDACTED.as_bytes());
    Cow::Owned(kept)
}
