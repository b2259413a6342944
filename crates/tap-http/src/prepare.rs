//! A client's request, made one for the next neighbour.

use http::header::{ACCEPT_ENCODING, COOKIE, HOST, HeaderValue, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, Method, Uri, Version, request};

use crate::headers::{EVENT_STREAM, accepts, strip_hop_by_hop};

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The address of what is asked for, at the server that it is to be asked for.
pub(crate) fn address(scheme: &Scheme, authority: &Authority, uri: &Uri) -> Uri {
    let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let built = Uri::builder().scheme(scheme.clone()).authority(authority.clone()).path_and_query(target);
    built.build().unwrap_or_else(|_| uri.clone())
}

/// Whether the answer may be the stream of HTTP+SSE, whose first event names an endpoint. There are no sessions yet then.
pub(crate) fn may_name_endpoint(head: &request::Parts) -> bool {
    head.method == Method::GET && !head.headers.contains_key(MCP_SESSION_ID)
}

/// Makes a client's head fit for the next neighbour. `is_read` says whether we want to see the endpoint that an answer
/// names.
pub(crate) fn prepare(head: &mut request::Parts, authority: &Authority, is_read: bool) {
    let version = std::mem::replace(&mut head.version, Version::HTTP_11);
    let is_chunked = head.headers.contains_key(TRANSFER_ENCODING);
    // A client that names its revision has agreed on it before, so that its first stream of HTTP+SSE is behind it.
    let is_read = is_read
        && may_name_endpoint(head)
        && !head.headers.contains_key(MCP_PROTOCOL_VERSION)
        && accepts(&head.headers, EVENT_STREAM);
    let headers = &mut head.headers;
    if is_read && headers.contains_key(ACCEPT_ENCODING) {
        // In a compressed stream the endpoint could not be seen.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    strip_hop_by_hop(headers);
    if is_chunked && (head.method == Method::GET || head.method == Method::HEAD) {
        // Only this makes hyper send the body of a request that has none as a rule.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    // In HTTP/2 the host is part of the address.
    if let (false, Ok(host)) = (headers.contains_key(HOST), HeaderValue::from_str(authority.as_str())) {
        headers.insert(HOST, host);
    }
    // HTTP/2 lets a client cut its cookies into several fields, HTTP/1.1 does not (RFC 9113, 8.2.3).
    if version == Version::HTTP_2 && headers.get_all(COOKIE).iter().nth(1).is_some() {
        let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(cookies) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
            headers.insert(COOKIE, cookies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    #[test]
    fn what_http_2_cuts_is_joined_and_what_it_leaves_out_is_added() {
        for (version, host, cookies) in
            [(Version::HTTP_11, "a.example", &["a=1", "b=2"][..]), (Version::HTTP_2, "example.com:8443", &["a=1; b=2"])]
        {
            let mut request = Request::builder().version(version).header(COOKIE, "a=1").header(COOKIE, "b=2");
            if version == Version::HTTP_11 {
                request = request.header(HOST, host);
            }
            let (mut head, ()) = request.body(()).unwrap().into_parts();
            prepare(&mut head, &"example.com:8443".parse().unwrap(), true);
            assert_eq!(head.headers.get(HOST).unwrap(), host);
            assert_eq!(head.headers.get_all(COOKIE).iter().collect::<Vec<_>>(), cookies, "{version:?}");
        }
    }

    #[test]
    fn only_a_stream_that_may_name_an_endpoint_is_asked_for_without_compression() {
        for (method, fields, is_read, expected) in [
            ("GET", &[("accept", "text/event-stream")][..], true, "identity"),
            ("GET", &[("accept", "Text/Event-Stream, */*")], true, "identity"),
            ("GET", &[("accept", "text/event-stream")], false, "gzip"),
            ("GET", &[("accept", "text/event-stream"), ("mcp-session-id", "a")], true, "gzip"),
            ("GET", &[("accept", "*/*")], true, "gzip"),
            ("POST", &[("accept", "text/event-stream")], true, "gzip"),
        ] {
            let mut request = Request::builder().method(method).header(ACCEPT_ENCODING, "gzip");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let (mut head, ()) = request.body(()).unwrap().into_parts();
            prepare(&mut head, &"example.com".parse().unwrap(), is_read);
            assert_eq!(head.headers.get(ACCEPT_ENCODING).unwrap(), expected, "{method} {fields:?}");
        }
    }
}
