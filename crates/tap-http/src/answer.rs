//! What the proxy answers itself: that it may not, or that the server is not there.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use tap_frame::HttpEnd;

use crate::body::{Body, Copied, Which, full};
use crate::record::Exchange;
use crate::upload::Source;
use crate::upstream::UpstreamError;

/// Says that the answer is the proxy's, and why.
const MCP_TAP_ERROR: HeaderName = HeaderName::from_static("mcp-tap-error");

/// An answer of the proxy's own: a JSON-RPC error to the request with the id `raw_id`, or to none.
///
/// The code is that of an internal error: none of MCP's says that somebody between the two could not go on.
pub(crate) fn answer(status: StatusCode, raw_id: Option<&[u8]>, cause: &str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::from(error_body(raw_id, cause))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().extend(own_error(cause));
    response
}

/// The field that says that an answer is ours, and why.
#[must_use]
pub fn own_error(cause: &str) -> Option<(HeaderName, HeaderValue)> {
    let visible: String = cause.chars().map(|c| if (' '..='~').contains(&c) { c } else { '?' }).collect();
    HeaderValue::from_str(&visible).ok().map(|value| (MCP_TAP_ERROR, value))
}

/// The same, recorded.
pub(crate) fn recorded(
    exchange: Option<&Arc<Exchange>>,
    status: StatusCode,
    raw_id: Option<&[u8]>,
    cause: &str,
) -> Response<Body> {
    let (head, body) = answer(status, raw_id, cause).into_parts();
    if let Some(exchange) = exchange {
        exchange.response(&head);
    }
    Response::from_parts(head, Copied::perhaps(body, Which::Response, exchange.cloned()).boxed_unsync())
}

/// Answers in the place of a server that did not. `cause` is [`causes`] of the error, and on what.
pub(crate) async fn explain(
    error: &UpstreamError,
    cause: &str,
    body: &Source,
    exchange: Option<&Arc<Exchange>>,
) -> Response<Body> {
    let status = match error {
        UpstreamError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let raw_id = body.raw_id().await;
    let response = recorded(exchange, status, raw_id.as_deref(), cause);
    if let Some(exchange) = exchange {
        exchange.end(HttpEnd::ByServer);
    }
    response
}

/// An error with all its causes, each once.
#[must_use]
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

/// The body of an answer of the proxy's own.
fn error_body(raw_id: Option<&[u8]>, cause: &str) -> Vec<u8> {
    let mut body = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    body.extend_from_slice(raw_id.unwrap_or(b"null"));
    body.extend_from_slice(br#","error":{"code":-32603,"message":""#);
    body.extend_from_slice(escaped(&format!("mcp-tap: {cause}")).as_bytes());
    body.extend_from_slice(br#""}}"#);
    body
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
