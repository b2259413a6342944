//! What the bridge answers itself, and heads of answers.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_TYPE, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, response};
use tap_bridge::coded_answer;
use tap_http::own_error;
use tap_protocol::INTERNAL_ERROR;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// An answer that is all there.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    /// An answer without a body.
    pub(super) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// A JSON-RPC message.
    pub(super) fn message(status: StatusCode, body: Bytes) -> Self {
        Self { body, ..Self::empty(status) }.with(CONTENT_TYPE, JSON)
    }

    /// A JSON-RPC error of ours, to the request with this id or to none.
    pub(super) fn error(status: StatusCode, raw_id: Option<&[u8]>, code: i64, cause: &str) -> Self {
        let answer = Self::message(status, coded_answer(raw_id.unwrap_or(b"null"), code, cause));
        // Whoever looks at the record sees that it was not the server who answered.
        match own_error(cause) {
            Some((name, value)) => answer.with(name, value),
            None => answer,
        }
    }

    /// That the server has ended: an error for each of these requests, or one without an id where there is none.
    pub(super) fn gone(raw_ids: &[Vec<u8>], is_batch: bool) -> Self {
        let of = |raw_id: &[u8]| coded_answer(raw_id, INTERNAL_ERROR, "the server has ended");
        let body = match raw_ids {
            [first, ..] if !is_batch => of(first),
            [] => of(b"null"),
            all => {
                let errors: Vec<Bytes> = all.iter().map(|raw_id| of(raw_id)).collect();
                [b"[", errors.join(&b","[..]).as_slice(), b"]"].concat().into()
            }
        };
        Self::message(StatusCode::BAD_GATEWAY, body)
    }

    /// That only these methods are understood.
    pub(super) fn not_allowed(allowed: &'static str) -> Self {
        Self::empty(StatusCode::METHOD_NOT_ALLOWED).with(ALLOW, HeaderValue::from_static(allowed))
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(super) fn with_session(self, id: &str) -> Self {
        match HeaderValue::from_str(id) {
            Ok(value) => self.with(SESSION_ID, value),
            Err(_) => self,
        }
    }
}

/// The head of an event stream.
pub(super) fn stream_headers(session: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    if let Some(value) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert(SESSION_ID, value);
    }
    headers
}

/// Lets the page that asked, whose origin was allowed, read the answer.
pub(super) fn allow_origin(asked: &HeaderMap, answered: &mut HeaderMap) {
    if let Some(origin) = asked.get(ORIGIN) {
        answered.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answered.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id"));
        answered.insert(VARY, HeaderValue::from_static("Origin"));
    }
}

/// A head with a status and fields.
pub(super) fn head(status: StatusCode, headers: HeaderMap) -> response::Parts {
    let (mut head, ()) = http::Response::new(()).into_parts();
    (head.status, head.headers) = (status, headers);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_told_that_the_server_has_ended() {
        for (ids, is_batch, expected) in [
            (&[][..], false, &["null"][..]),
            (&["1.0"], false, &["1.0"]),
            (&["1"], true, &["1"]),
            (&["1", "\"b\""], true, &["1", "\"b\""]),
        ] {
            let ids: Vec<Vec<u8>> = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
            let body = String::from_utf8(Answer::gone(&ids, is_batch).body.to_vec()).unwrap();
            let errors: Vec<String> =
                expected.iter().map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)).collect();
            assert!(errors.iter().all(|error| body.contains(error)), "{body}");
            assert_eq!(body.matches("\"jsonrpc\"").count(), expected.len(), "{body}");
            assert_eq!(body.starts_with('['), is_batch && !ids.is_empty(), "{body}");
            assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{body}");
        }
    }
}
