//! One exchange through the forward proxy, from end to end.

use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_ENCODING, HeaderValue, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode, Version, request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tap_frame::HttpEnd;

use crate::answer::{causes, explain};
use crate::body::{Body, Copied, Which};
use crate::endpoint::target_of;
use crate::first_event::{FirstEvent, Watched};
use crate::forward::{Destination, Forward, pass_blindly};
use crate::headers::strip_hop_by_hop;
use crate::origins::{Judged, is_challenge_of_mcp, is_event_stream};
use crate::prepare::{address, prepare};
use crate::record::{Exchange, Recording};
use crate::reverse::Waiting;
use crate::send::send;
use crate::upload::Source;
use crate::wire::InUse;

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
        head.uri = address(&destination.scheme, &destination.authority, &asked);
        prepare(&mut head, &destination.authority, record.is_some());
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
            (Err(error), _) => {
                let cause = format!("{}: {}", destination.origin, causes(&error));
                explain(&error, &cause, &body, exchange.as_ref()).await
            }
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
        let in_use = InUse::of(&mut head);
        if let Some(Record { exchange, .. }) = &record {
            exchange.connected(head.version, in_use.tell_once());
            exchange.response(&head);
        }
        head.version = Version::HTTP_11;
        let exchange = record.as_ref().map(|record| record.exchange.clone());
        let mut body = Copied::perhaps(body, Which::Response, exchange).on_whole(move || in_use.answered());
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
                FirstEvent::Endpoint { endpoint, .. } => target_of(endpoint, &asked),
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
