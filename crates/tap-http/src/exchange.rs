//! One exchange through the forward proxy, from end to end.

use std::sync::Arc;

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, COOKIE, HOST, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version, request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tap_frame::HttpEnd;

use crate::answer::answer;
use crate::body::{Body, Copied, Which};
use crate::endpoint::target_of;
use crate::first_event::{FirstEvent, Watched};
use crate::forward::{Destination, Forward, pass_blindly};
use crate::headers::strip_hop_by_hop;
use crate::origins::{Judged, asks_for_stream, is_challenge_of_mcp, is_event_stream};
use crate::record::{Exchange, Recording};
use crate::reverse::{Waiting, send, told};
use crate::upload::Source;
use crate::upstream::UpstreamError;
use crate::wire::ConnectionFacts;

/// What is recorded of an exchange, and where.
struct Record {
    recording: Arc<Recording>,
    exchange: Arc<Exchange>,
    /// Whether the answer is to show that it is MCP.
    is_undecided: bool,
}

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
        let record = self.record(connection, destination, &head);
        let exchange = record.as_ref().map(|record| record.exchange.clone());
        let asked = head.uri.clone();
        head.uri = destination.address(&asked);
        prepare(&mut head, destination, record.is_some());
        let upstream = match &upgrade {
            Some((protocol, _)) => {
                ask_for_upgrade(&mut head.headers, protocol);
                &self.upgrading
            }
            None => &self.upstream,
        };
        let body = Source::new(Copied::perhaps(body, Which::Request, exchange.clone()));
        // A client that goes away while the server thinks drops this future.
        let mut waiting = Waiting(exchange.clone());
        let sent = send(upstream, &head, &body).await;
        let response = match (sent, upgrade) {
            (Ok(mut response), Some((protocol, client))) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                let server = hyper::upgrade::on(&mut response);
                self.switch(response, &protocol, (client, server), exchange)
            }
            (Ok(response), _) => {
                body.is_answered();
                self.pass_back(response, destination, record, asked)
            }
            (Err(error), _) => explain(&error, destination, &body, exchange).await,
        };
        waiting.0 = None;
        response
    }

    /// Begins to record an exchange if it is to be.
    fn record(&self, connection: u64, destination: &Destination, head: &request::Parts) -> Option<Record> {
        if !destination.is_looked_at {
            return None;
        }
        let (recording, is_undecided) = match self.origins.judge(&destination.origin, head) {
            Judged::Other => return None,
            Judged::Mcp(recording) => (recording, false),
            Judged::Perhaps(recording) => (recording, true),
        };
        let exchange = recording.begin(connection, head);
        Some(Record { recording, exchange, is_undecided })
    }

    fn pass_back(
        self: &Arc<Self>,
        response: Response<Incoming>,
        destination: &Destination,
        record: Option<Record>,
        asked: http::Uri,
    ) -> Response<Body> {
        let (mut head, body) = response.into_parts();
        let facts = head.extensions.get::<ConnectionFacts>().cloned();
        if let Some(Record { exchange, .. }) = &record {
            exchange.connected(head.version, facts.as_ref().and_then(ConnectionFacts::tell_once));
            exchange.response(&head);
        }
        let version = std::mem::replace(&mut head.version, Version::HTTP_11);
        let exchange = record.as_ref().map(|record| record.exchange.clone());
        let mut body = Copied::perhaps(body, Which::Response, exchange).on_whole(move || {
            if let Some(facts) = &facts {
                facts.answered(version);
            }
        });
        let Some(Record { recording, is_undecided, .. }) = record else {
            strip_hop_by_hop(&mut head.headers);
            return Response::from_parts(head, body.boxed_unsync());
        };
        let is_readable_stream = is_event_stream(&head) && !head.headers.contains_key(CONTENT_ENCODING);
        let is_challenge = is_challenge_of_mcp(&head);
        strip_hop_by_hop(&mut head.headers);
        if is_readable_stream {
            let body = self.watch(body, recording, destination.origin.clone(), asked);
            return Response::from_parts(head, body);
        }
        if is_undecided && !self.origins.decide(&destination.origin, &recording, is_challenge) {
            body.forget();
        }
        Response::from_parts(head, body.boxed_unsync())
    }

    /// An event stream, which may name an endpoint and so show that its server is one of MCP.
    fn watch(
        self: &Arc<Self>,
        body: Copied<Incoming>,
        recording: Arc<Recording>,
        origin: String,
        asked: http::Uri,
    ) -> Body {
        let forward = self.clone();
        let decide = move |found: FirstEvent| {
            let target = match &found {
                FirstEvent::Endpoint(endpoint) => target_of(endpoint, &asked),
                FirstEvent::Other | FirstEvent::Unknown => None,
            };
            if let Some(target) = &target {
                recording.is_endpoint_at(target);
            }
            forward.origins.decide(&origin, &recording, target.is_some())
        };
        Watched::new(body, Box::new(decide)).boxed_unsync()
    }

    /// Both sides go on as something else.
    fn switch(
        &self,
        response: Response<Incoming>,
        protocol: &HeaderValue,
        (client, server): (OnUpgrade, OnUpgrade),
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
        Response::from_parts(head, Copied::perhaps(body, Which::Response, None).boxed_unsync())
    }
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
fn prepare(head: &mut request::Parts, destination: &Destination, is_recorded: bool) {
    let version = std::mem::replace(&mut head.version, Version::HTTP_11);
    let is_chunked = head.headers.contains_key(TRANSFER_ENCODING);
    if is_recorded && asks_for_stream(head) && head.headers.contains_key(ACCEPT_ENCODING) {
        // In a compressed stream the endpoint could not be seen.
        head.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let headers = &mut head.headers;
    strip_hop_by_hop(headers);
    if is_chunked && (head.method == Method::GET || head.method == Method::HEAD) {
        // Only this makes hyper send the body of a request that has none as a rule.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    // In HTTP/2 the host is part of the address.
    if let (false, Ok(host)) = (headers.contains_key(HOST), HeaderValue::from_str(destination.authority.as_str())) {
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

/// Answers in the place of a server that did not.
async fn explain(
    error: &UpstreamError,
    destination: &Destination,
    body: &Source,
    exchange: Option<Arc<Exchange>>,
) -> Response<Body> {
    let status = match error {
        UpstreamError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let raw_id = body.raw_id().await;
    let (head, body) =
        answer(status, raw_id.as_deref(), &format!("{}: {}", destination.origin, told(error))).into_parts();
    if let Some(exchange) = &exchange {
        exchange.response(&head);
    }
    let copied = Copied::perhaps(body, Which::Response, exchange.clone()).boxed_unsync();
    if let Some(exchange) = exchange {
        exchange.end(HttpEnd::ByServer);
    }
    Response::from_parts(head, copied)
}

#[cfg(test)]
mod tests {
    use http::uri::Scheme;

    use super::*;

    #[test]
    fn what_http_2_cuts_is_joined_and_what_it_leaves_out_is_added() {
        let destination = Destination {
            scheme: Scheme::HTTPS,
            authority: "example.com:8443".parse().unwrap(),
            origin: String::new(),
            is_looked_at: true,
        };
        for (version, host, cookies) in
            [(Version::HTTP_11, "a.example", &["a=1", "b=2"][..]), (Version::HTTP_2, "example.com:8443", &["a=1; b=2"])]
        {
            let mut request = Request::builder().version(version).header(COOKIE, "a=1").header(COOKIE, "b=2");
            if version == Version::HTTP_11 {
                request = request.header(HOST, host);
            }
            let (mut head, ()) = request.body(()).unwrap().into_parts();
            prepare(&mut head, &destination, true);
            assert_eq!(head.headers.get(HOST).unwrap(), host);
            assert_eq!(head.headers.get_all(COOKIE).iter().collect::<Vec<_>>(), cookies, "{version:?}");
        }
    }
}
