//! The server's end: connections to it, kept for use again, over TCP or TLS.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::PROXY_AUTHORIZATION;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connected;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::CertificateError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::body::{Body, BodyError};
use crate::route::{CONNECT_LIMIT, Connector, Proxies, Route, TooSlow};
use crate::streams::{LANES, Place, Streams};
use crate::wire::{ClosedWhileIdle, ConnectionFacts};

/// How long a connection that nobody uses is kept. Many servers (Node's, uvicorn) close theirs after five seconds, and what is
/// sent in that very moment is lost; others wait longer, and a new connection costs them little.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// How many such connections are kept to one server.
const IDLE_CONNECTIONS: usize = 100;

/// For how long a server is remembered that closed a connection when a request was on its way.
const CLOSER_TIME: Duration = Duration::from_secs(600);

/// When an answer fails to come so soon, it is the connection that was about to end, and not the server.
const SOON: Duration = Duration::from_secs(1);

/// How many of them are.
const CLOSERS: usize = 1_000;

/// How often a connection of HTTP/2 is asked whether the other side still lives, and how long the answer may take.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(20);

/// What may be on its way of one answer or request over HTTP/2 before somebody takes it, bytes.
pub(crate) const STREAM_WINDOW: u32 = 256 * 1024;

/// The same of all on one connection: the most that there is (RFC 9113, 6.9.1), so that clients who stop reading do not keep
/// what is for others from coming. What waits is bounded by [`STREAM_WINDOW`] each.
pub(crate) const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// The size of a head that is taken where nothing else is said, bytes. Servers and proxies have 8 to 64 KiB as a rule.
pub const HEADER_LIMIT_BYTES: usize = 256 * 1024;

/// The smallest limit that can be asked for, bytes.
pub const SMALLEST_HEADER_LIMIT_BYTES: usize = 8 * 1024;

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// Certificates (PEM, any number in each) of authorities that are trusted beside the system's.
    pub authorities: Vec<Vec<u8>>,
    /// How large the head of an answer may be, bytes; at least [`SMALLEST_HEADER_LIMIT_BYTES`].
    pub header_limit_bytes: usize,
    /// Speak HTTP/1.1 alone: for requests that go on as something else, which HTTP/2 has no way for.
    pub http1_alone: bool,
    /// Where servers really are, whatever their names are resolved to. These are reached without a proxy.
    pub resolve: Vec<Resolve>,
    /// Where we listen ourselves: whoever is there is not the server.
    pub own: Option<SocketAddr>,
}

/// Where a server really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Its name, in lower case.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its address.
    pub address: IpAddr,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            authorities: Vec::new(),
            header_limit_bytes: HEADER_LIMIT_BYTES,
            http1_alone: false,
            resolve: Vec::new(),
            own: None,
        }
    }
}

/// That a server cannot be reached or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No connection.
    #[error("cannot connect")]
    Connect(#[source] BodyError),
    /// The server's certificate is not to be trusted.
    #[error("cannot trust the server's certificate: {0}")]
    Untrusted(String),
    /// It took too long to connect.
    #[error("cannot connect within {} s", CONNECT_LIMIT.as_secs())]
    TimedOut,
    /// The server had closed the connection before the request was sent on it. It may be sent again.
    #[error("the server closed the connection while it was idle")]
    NotSent,
    /// What the server sent is not HTTP, or too large.
    #[error("the server's answer cannot be read")]
    Malformed(#[source] BodyError),
    /// The connection was lost before the answer came. The server may have got the request.
    #[error("the server closed the connection before it answered")]
    Lost(#[source] BodyError),
    /// Nothing can be trusted.
    #[error("cannot read a certificate: {0}")]
    Certificate(String),
}

/// A way to servers.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Each with connections of its own, which are kept.
    lanes: [Client<Connector, Body>; LANES],
    /// Makes a connection for each request.
    fresh: Client<Connector, Body>,
    proxies: Proxies,
    route: Route,
    closers: Arc<Closers>,
    streams: Streams,
}

impl Upstream {
    /// A way to servers that trusts the system's authorities and those of the options.
    ///
    /// Where `SSL_CERT_FILE` or `SSL_CERT_DIR` is set, that is the system's. Proxies that the environment names are used,
    /// but not for servers on this machine.
    ///
    /// # Errors
    ///
    /// When a certificate cannot be read.
    pub fn new(options: &UpstreamOptions) -> Result<Self, UpstreamError> {
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| UpstreamError::Certificate(error.to_string()))?
            .with_root_certificates(roots(&options.authorities)?)
            .with_no_client_auth();
        let proxies = Proxies::from_environment(options.resolve.clone());
        let route = Route::new(proxies.clone(), options.own);
        let inner = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let inner = match options.http1_alone {
            true => inner.enable_http1().wrap_connector(route.clone()),
            false => inner.enable_all_versions().wrap_connector(route.clone()),
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .http1_preserve_header_case(true)
            .http1_max_buf_size(options.header_limit_bytes.max(SMALLEST_HEADER_LIMIT_BYTES))
            .http2_max_header_list_size(u32::try_from(options.header_limit_bytes).unwrap_or(u32::MAX))
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_INTERVAL)
            .http2_keep_alive_while_idle(true)
            .timer(TokioTimer::new())
            .set_host(false)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_LIMIT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS);
        let streams = Streams::default();
        let connector = Connector { inner, proxies: proxies.clone(), streams: streams.clone() };
        let lanes = std::array::from_fn(|_| builder.build(connector.clone()));
        let fresh = builder.pool_max_idle_per_host(0).build(connector);
        Ok(Self { lanes, fresh, proxies, route, closers: Arc::default(), streams })
    }

    /// Connects to a server, to say there whatever a client says.
    pub(crate) async fn connect(&self, authority: &Authority) -> Result<TcpStream, UpstreamError> {
        let built = Uri::builder().scheme(Scheme::HTTPS).authority(authority.clone()).path_and_query("/").build();
        let uri = built.map_err(|error| UpstreamError::Connect(error.into()))?;
        match tokio::time::timeout(CONNECT_LIMIT, self.route.clone().call(uri)).await {
            Ok(connected) => connected.map(TokioIo::into_inner).map_err(UpstreamError::Connect),
            Err(_) => Err(UpstreamError::TimedOut),
        }
    }

    /// Sends a request whose URI is absolute; returns when the head of the answer is there.
    ///
    /// A request is sent once. Where a connection turns out to be closed before anything was sent on it, another one is
    /// taken if the body was not touched yet; otherwise the error says that it may be sent again.
    ///
    /// # Errors
    ///
    /// When there is no connection, or no answer on it.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, UpstreamError> {
        if let Some(authorization) = self.proxies.authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let server = request.uri().authority().cloned();
        let (client, place) = self.choose(request.uri(), server.as_ref());
        let began = Instant::now();
        let error = match client.request(request).await {
            Ok(mut response) => {
                if let Some(place) = place {
                    response.extensions_mut().insert(Arc::new(place));
                }
                return Ok(response);
            }
            Err(error) => error,
        };
        let answered_at = error.connect_info().and_then(answered_at);
        let happened = what_happened(error);
        if let (UpstreamError::NotSent | UpstreamError::Lost(_), Some(server)) = (&happened, server)
            && began.elapsed() < SOON
            // Only where one request was answered and the next one was not.
            && answered_at.is_some_and(|answered_at| began.saturating_duration_since(answered_at) < SOON)
        {
            self.closers.add(server);
        }
        Err(happened)
    }

    /// Where a request is sent, and its place among those to that server.
    fn choose(&self, uri: &Uri, server: Option<&Authority>) -> (&Client<Connector, Body>, Option<Place>) {
        if self.closers.has(server) {
            return (&self.fresh, None);
        }
        let place = match server {
            // HTTP/2 is spoken over TLS alone.
            Some(server) if uri.scheme() == Some(&Scheme::HTTPS) => match self.streams.take(server) {
                Some(place) => Some(place),
                None => return (&self.fresh, None),
            },
            Some(_) | None => None,
        };
        let lane = place.as_ref().map_or(0, |place| place.lane);
        (self.lanes.get(lane).unwrap_or(&self.fresh), place)
    }
}

/// When the last answer was complete on a connection of HTTP/1.1.
fn answered_at(connected: &Connected) -> Option<Instant> {
    let mut extensions = http::Extensions::new();
    connected.get_extras(&mut extensions);
    extensions.get::<ConnectionFacts>()?.answered_at()
}

/// Servers that close connections as soon as they have answered, without saying so. A request that is sent on one that is
/// about to end is lost, so for a while each gets a connection of its own there.
#[derive(Debug, Default)]
struct Closers {
    are_there: AtomicBool,
    servers: Mutex<HashMap<Authority, Instant>>,
}

impl Closers {
    fn has(&self, server: Option<&Authority>) -> bool {
        let Some(server) = server.filter(|_| self.are_there.load(Ordering::Relaxed)) else {
            return false;
        };
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|_, since| since.elapsed() < CLOSER_TIME);
        self.are_there.store(!servers.is_empty(), Ordering::Relaxed);
        servers.contains_key(server)
    }

    fn add(&self, server: Authority) {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() < CLOSERS {
            servers.insert(server, Instant::now());
            self.are_there.store(true, Ordering::Relaxed);
        }
    }
}

fn what_happened(error: hyper_util::client::legacy::Error) -> UpstreamError {
    if error.is_connect() {
        let timed_out = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
        if find::<TooSlow>(&error).is_some() || find::<std::io::Error>(&error).is_some_and(timed_out) {
            return UpstreamError::TimedOut;
        }
        return match find::<rustls::Error>(&error) {
            Some(rustls::Error::InvalidCertificate(why)) => UpstreamError::Untrusted(untrusted(why)),
            _ => UpstreamError::Connect(error.into()),
        };
    }
    if find::<ClosedWhileIdle>(&error).is_some() {
        return UpstreamError::NotSent;
    }
    match find::<hyper::Error>(&error) {
        Some(cause) if cause.is_parse() || cause.is_parse_too_large() => UpstreamError::Malformed(error.into()),
        _ => UpstreamError::Lost(error.into()),
    }
}

/// The cause of this kind. An I/O error does not give what it was made of for its source, but for the source of that.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn untrusted(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => {
            "its issuer is unknown; --cacert FILE or SSL_CERT_FILE makes another one known".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet".into(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("it is for another name ({why})")
        }
        other => other.to_string(),
    }
}

/// What is trusted.
fn roots(authorities: &[Vec<u8>]) -> Result<rustls::RootCertStore, UpstreamError> {
    let mut roots = rustls::RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "a certificate of the system cannot be read");
    }
    // Some systems hold certificates that nobody can read; the others are good.
    roots.add_parsable_certificates(system.certs);
    for text in authorities {
        let mut n_found = 0;
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|error| UpstreamError::Certificate(error.to_string()))?;
            roots.add(certificate).map_err(|error| UpstreamError::Certificate(error.to_string()))?;
            n_found += 1;
        }
        if n_found == 0 {
            return Err(UpstreamError::Certificate("there is none in it; PEM is what is read".into()));
        }
    }
    Ok(roots)
}
