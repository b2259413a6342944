//! The reverse proxy: each request goes to one server, and each answer comes back as it is.

use std::sync::Arc;

use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tap_frame::HttpEnd;

use crate::additions::Additions;
use crate::answer::answer;
use crate::body::{Body, Copied, Which};
use crate::guard::Guard;
use crate::headers::strip_hop_by_hop;
use crate::record::Recording;
use crate::serve::Handle;
use crate::upstream::{ConnectionFacts, Upstream, UpstreamError};

/// A reverse proxy in front of one server.
#[derive(Debug)]
pub struct Reverse {
    /// Scheme and authority of the server; whatever path is asked for is asked for there.
    pub scheme: Scheme,
    /// See [`scheme`](Self::scheme).
    pub authority: Authority,
    /// How the server is reached.
    pub upstream: Upstream,
    /// What is added to requests.
    pub additions: Additions,
    /// Who may ask.
    pub guard: Guard,
    /// Where exchanges are recorded.
    pub recording: Arc<Recording>,
}

impl Handle for Reverse {
    async fn handle(self: Arc<Self>, connection: u64, request: Request<Incoming>) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        if let Err(refused) = self.guard.check(&head) {
            tracing::warn!(%refused, "request refused");
            return answer(StatusCode::FORBIDDEN, None, &refused.to_string());
        }
        let exchange = self.recording.begin(connection, &head);
        head.uri = self.address(&head.uri);
        head.version = http::Version::HTTP_11;
        strip_hop_by_hop(&mut head.headers);
        if let Ok(host) = HeaderValue::from_str(host_of(&self.authority)) {
            head.headers.insert(HOST, host);
        }
        self.additions.add_to(&mut head.headers);
        let body = Copied::new(body, Which::Request, exchange.clone()).boxed_unsync();
        match self.upstream.send(Request::from_parts(head, body)).await {
            Ok(response) => {
                let (mut head, body) = response.into_parts();
                let took = head.extensions.get::<ConnectionFacts>().and_then(ConnectionFacts::tell_once);
                exchange.connected(head.version, took);
                exchange.response(&head);
                strip_hop_by_hop(&mut head.headers);
                let body = Copied::new(body, Which::Response, exchange).boxed_unsync();
                Response::from_parts(head, body)
            }
            Err(error) => {
                let status = match &error {
                    UpstreamError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
                    _ => StatusCode::BAD_GATEWAY,
                };
                let response = answer(status, None, &told(&error));
                let (head, body) = response.into_parts();
                exchange.response(&head);
                exchange.end(HttpEnd::ByServer);
                Response::from_parts(head, body)
            }
        }
    }
}

impl Reverse {
    fn address(&self, uri: &Uri) -> Uri {
        let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let built = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(target);
        built.build().unwrap_or_else(|_| uri.clone())
    }
}

/// What `Host` says: without user and password.
fn host_of(authority: &Authority) -> &str {
    authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, host)| host)
}

/// An error with all its causes, each once.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
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
