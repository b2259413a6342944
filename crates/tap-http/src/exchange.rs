//! One exchange through the forward proxy, from end to end.

use std::sync::Arc;

use http::header::{CONNECTION, COOKIE, HeaderMap, HeaderValue, TE, UPGRADE};
use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tap_frame::HttpEnd;

use crate::answer::answer;
use crate::body::{Body, BodyError, Copied, Which};
use crate::first_event::{FirstEvent, Watched};
use crate::forward::{Destination, Forward, pass_blindly};
use crate::headers::strip_hop_by_hop;
use crate::origins::{Judged, is_challenge_of_mcp, is_event_stream};
use crate::record::{Exchange, Recording};
use crate::reverse::told;
use crate::upstream::{ConnectionFacts, UpstreamError};

impl Forward {
    /// Passes a request on to where it goes, and its answer back.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        connection: u64,
        destination: &Destination,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let upgrade = upgrade_of(&request).map(|protocol| (protocol, hyper::upgrade::on(&mut request)));
        let (mut head, body) = request.into_parts();
        let judged = match destination.is_looked_at {
            true => self.origins.judge(&destination.origin, &head),
            false => Judged::Other,
        };
        let record = match &judged {
            Judged::Other => None,
            Judged::Mcp(recording) | Judged::Perhaps(recording) => {
                Some((recording.clone(), recording.begin(connection, &head)))
            }
        };
        let path = head.uri.path().to_owned();
        head.uri = destination.address(&head.uri);
        prepare(&mut head.headers, head.version);
        head.version = Version::HTTP_11;
        let body = match &record {
            Some((_, exchange)) => Copied::new(body, Which::Request, exchange.clone()).boxed_unsync(),
            None => boxed(body),
        };
        let mut request = Request::from_parts(head, body);
        let upstream = match &upgrade {
            Some((protocol, _)) => {
                ask_for_upgrade(request.headers_mut(), protocol);
                &self.upgrading
            }
            None => &self.upstream,
        };
        let response = match (upstream.send(request).await, upgrade) {
            (Ok(mut response), Some((protocol, client))) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                let server = hyper::upgrade::on(&mut response);
                return self.switch(response, &protocol, client, server, record.map(|(_, exchange)| exchange));
            }
            (Ok(response), _) => response,
            (Err(error), _) => return failed(&error, destination, record.map(|(_, exchange)| exchange)),
        };
        let (mut head, body) = response.into_parts();
        let Some((recording, exchange)) = record else {
            strip_hop_by_hop(&mut head.headers);
            return Response::from_parts(head, boxed(body));
        };
        let took = head.extensions.get::<ConnectionFacts>().and_then(ConnectionFacts::tell_once);
        exchange.connected(head.version, took);
        exchange.response(&head);
        let may_name_an_endpoint = is_event_stream(&head);
        let is_challenge = is_challenge_of_mcp(&head);
        strip_hop_by_hop(&mut head.headers);
        if may_name_an_endpoint && head.status == StatusCode::OK {
            let body = self.watch(body, exchange, recording, destination.origin.clone(), path);
            return Response::from_parts(head, body);
        }
        let is_kept = match judged {
            Judged::Perhaps(_) => self.origins.decide(&destination.origin, &recording, is_challenge),
            Judged::Mcp(_) | Judged::Other => true,
        };
        let body = match is_kept {
            true => Copied::new(body, Which::Response, exchange).boxed_unsync(),
            false => boxed(body),
        };
        Response::from_parts(head, body)
    }

    /// An event stream, which may name an endpoint and so show that its server is one of MCP.
    fn watch(
        self: &Arc<Self>,
        body: Incoming,
        exchange: Arc<Exchange>,
        recording: Arc<Recording>,
        origin: String,
        path: String,
    ) -> Body {
        let forward = self.clone();
        let decide = move |found: FirstEvent| {
            let is_mcp = match &found {
                FirstEvent::Endpoint(endpoint) => {
                    recording.is_mcp_at(&resolved(&path, endpoint));
                    true
                }
                FirstEvent::Other | FirstEvent::Unknown => false,
            };
            forward.origins.decide(&origin, &recording, is_mcp)
        };
        Watched::new(body, exchange, Box::new(decide)).boxed_unsync()
    }

    /// Both sides go on as something else.
    fn switch(
        &self,
        response: Response<Incoming>,
        protocol: &HeaderValue,
        client: OnUpgrade,
        server: OnUpgrade,
        exchange: Option<Arc<Exchange>>,
    ) -> Response<Body> {
        let (mut head, body) = response.into_parts();
        if let Some(exchange) = exchange {
            exchange.response(&head);
            exchange.end(HttpEnd::Whole);
        }
        let closing = self.closing();
        tokio::spawn(async move {
            match server.await {
                Ok(server) => pass_blindly(client, TokioIo::new(server), closing),
                Err(error) => tracing::debug!(%error, "a server went away before it switched protocols"),
            }
        });
        let answered = head.headers.get(UPGRADE).cloned();
        strip_hop_by_hop(&mut head.headers);
        ask_for_upgrade(&mut head.headers, answered.as_ref().unwrap_or(protocol));
        Response::from_parts(head, boxed(body))
    }
}

fn boxed(body: Incoming) -> Body {
    body.map_err(BodyError::from).boxed_unsync()
}

/// The protocol that a client asks to go on with, such as `websocket`.
fn upgrade_of(request: &Request<Incoming>) -> Option<HeaderValue> {
    // In HTTP/2 there is no such thing, and to speak HTTP/2 instead is a matter between neighbours.
    let protocol = request.headers().get(UPGRADE).filter(|_| request.version() == Version::HTTP_11)?;
    (!protocol.as_bytes().eq_ignore_ascii_case(b"h2c")).then(|| protocol.clone())
}

fn ask_for_upgrade(headers: &mut HeaderMap, protocol: &HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol.clone());
}

/// Makes a client's head fit for the next neighbour.
fn prepare(headers: &mut HeaderMap, version: Version) {
    let takes_trailers = headers.get_all(TE).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"trailers"));
    strip_hop_by_hop(headers);
    if version != Version::HTTP_2 {
        return;
    }
    if takes_trailers {
        // gRPC asks for it on every connection of its way.
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    // HTTP/2 lets a client cut its cookies into several fields, HTTP/1.1 does not (RFC 9113, 8.2.3).
    if headers.get_all(COOKIE).iter().nth(1).is_some() {
        let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(cookies) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
            headers.insert(COOKIE, cookies);
        }
    }
}

/// The path of an endpoint that was named in a stream asked for at `path`.
fn resolved(path: &str, endpoint: &str) -> String {
    let without_origin = match endpoint.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => endpoint,
    };
    let end = without_origin.find(['?', '#']).unwrap_or(without_origin.len());
    let named = &without_origin[..end];
    if named.starts_with('/') {
        return named.into();
    }
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    format!("{folder}{named}")
}

fn failed(error: &UpstreamError, destination: &Destination, exchange: Option<Arc<Exchange>>) -> Response<Body> {
    let status = match error {
        UpstreamError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let response = answer(status, None, &format!("{}: {}", destination.origin, told(error)));
    let (head, body) = response.into_parts();
    if let Some(exchange) = exchange {
        exchange.response(&head);
        exchange.end(HttpEnd::ByServer);
    }
    Response::from_parts(head, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_found_from_where_it_was_named() {
        for (path, endpoint, expected) in [
            ("/sse", "/messages?session_id=1", "/messages"),
            ("/a/sse", "messages", "/a/messages"),
            ("/sse", "https://example.com/m/?x#y", "/m/"),
            ("/sse", "https://example.com", "/"),
            ("/sse", "?session_id=1", "/"),
        ] {
            assert_eq!(resolved(path, endpoint), expected, "{endpoint} at {path}");
        }
    }

    #[test]
    fn what_http_2_cuts_is_joined_and_what_it_needs_is_kept() {
        let mut headers = HeaderMap::new();
        for (name, value) in [(COOKIE, "a=1"), (COOKIE, "b=2"), (TE, "trailers"), (CONNECTION, "te")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let mut first = headers.clone();
        prepare(&mut first, Version::HTTP_11);
        assert_eq!((first.get_all(COOKIE).iter().count(), first.get(TE)), (2, None));
        prepare(&mut headers, Version::HTTP_2);
        let value = |name| headers.get(name).map(HeaderValue::as_bytes);
        assert_eq!((value(COOKIE), value(TE)), (Some(&b"a=1; b=2"[..]), Some(&b"trailers"[..])));
    }
}
