//! The server's end: connections to it, kept for use again, over TCP or TLS.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower_service::Service;

use crate::body::{Body, BodyError};

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// How often an idle connection is asked whether the other side still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// How a server is reached.
#[derive(Debug, Clone, Default)]
pub struct UpstreamOptions {
    /// Certificates (PEM) of authorities that are trusted beside the system's.
    pub authorities: Vec<Vec<u8>>,
    /// Speak HTTP/1.1 alone: for requests that go on as something else, which HTTP/2 has no way for.
    pub http1_alone: bool,
}

/// That a server cannot be reached or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No connection.
    #[error("cannot connect")]
    Connect(#[source] BodyError),
    /// It took too long to connect.
    #[error("cannot connect within {} s", CONNECT_LIMIT.as_secs())]
    TimedOut,
    /// The connection was lost before the answer came.
    #[error("the server closed the connection before it answered")]
    Lost(#[source] BodyError),
    /// Nothing can be trusted.
    #[error("cannot read a certificate: {0}")]
    Certificate(String),
}

/// A way to servers.
#[derive(Debug, Clone)]
pub struct Upstream {
    client: Client<TimedConnector, Body>,
}

/// What is known about the connection that an answer came on: an extension of the response.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionFacts {
    took: Duration,
    used: Arc<AtomicBool>,
}

impl ConnectionFacts {
    /// How long it took to connect, told once, to the first exchange on the connection.
    pub(crate) fn tell_once(&self) -> Option<Duration> {
        (!self.used.swap(true, Ordering::Relaxed)).then_some(self.took)
    }
}

impl Upstream {
    /// A way to servers that trusts the system's authorities.
    ///
    /// # Errors
    ///
    /// When a certificate cannot be read.
    pub fn new(options: &UpstreamOptions) -> Result<Self, UpstreamError> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in rustls_native_certs::load_native_certs().certs {
            // Some systems hold certificates that nobody can read; the others are good.
            let _ = roots.add(certificate);
        }
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| UpstreamError::Certificate(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let connector = match options.http1_alone {
            true => connector.enable_http1().wrap_connector(tcp),
            false => connector.enable_all_versions().wrap_connector(tcp),
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder.http1_preserve_header_case(true);
        Ok(Self { client: builder.build(TimedConnector(connector)) })
    }

    /// Sends a request whose URI is absolute; returns when the head of the answer is there.
    ///
    /// # Errors
    ///
    /// When there is no connection, or no answer on it.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, UpstreamError> {
        self.client.request(request).await.map_err(|error| {
            let is_connect = error.is_connect();
            let timed_out = is_connect && causes(&error).any(|cause| cause.is::<TooSlow>());
            match (is_connect, timed_out) {
                (true, true) => UpstreamError::TimedOut,
                (true, false) => UpstreamError::Connect(error.into()),
                (false, _) => UpstreamError::Lost(error.into()),
            }
        })
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

#[derive(Debug, thiserror::Error)]
#[error("it takes too long")]
struct TooSlow;

/// A connector that knows how long it took.
#[derive(Debug, Clone)]
struct TimedConnector(HttpsConnector<HttpConnector>);

type Stream = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;

impl Service<Uri> for TimedConnector {
    type Response = Timed;
    type Error = BodyError;
    type Future = Pin<Box<dyn Future<Output = Result<Timed, BodyError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let began = Instant::now();
            let stream = match tokio::time::timeout(CONNECT_LIMIT, connecting).await {
                Ok(stream) => stream?,
                Err(_) => return Err(TooSlow.into()),
            };
            let facts = ConnectionFacts { took: began.elapsed(), used: Arc::default() };
            Ok(Timed { stream, facts })
        })
    }
}

struct Timed {
    stream: Stream,
    facts: ConnectionFacts,
}

impl Connection for Timed {
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.facts.clone())
    }
}

impl Read for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Timed {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
