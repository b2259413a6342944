//! The forward proxy: clients keep the real addresses and are told to go through it, so that nothing of authorization
//! changes. It ends TLS with certificates of the local authority, and looks for MCP in what goes through.
//!
//! What keeps pages of browsers from using it is the form of its requests: a page can have a browser send `GET /path` here,
//! under any name, but neither CONNECT nor a whole address as a target; those a browser sends only to the proxy that its
//! user has set. So what has neither is refused, and `Origin` is not looked at: here it is ordinary traffic.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::uri::{Authority, Scheme};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::answer::{answer, causes};
use crate::authority::LocalAuthority;
use crate::body::{Body, empty};
use crate::listen::Listener;
use crate::origins::{Origins, Sessions};
use crate::serve::{HANDSHAKE_LIMIT, Handle, LAST_EXCHANGES, ServeOptions, builder, serve};
use crate::tunnel::{self, Kind};
use crate::upstream::{Upstream, UpstreamError, UpstreamOptions};

/// Of how many hosts it is remembered that something was told of them, or that a client trusted us there.
const HOSTS: usize = 1_000;

/// A client that leaves so soon after its handshake, without a request, did not like the certificate.
const SOON: Duration = Duration::from_secs(2);

/// Something that a person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A client does not take our certificate for this host. Told once a host.
    Refused {
        /// The host.
        host: String,
        /// What the client said, if anything.
        alert: Option<String>,
    },
    /// No certificate can be made for this host. Told once a host.
    NoCertificate {
        /// The host.
        host: String,
        /// Why.
        error: String,
    },
}

/// Which hosts are looked at. A name stands for itself and all names below it, and is in lower case.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// These alone. All when there are none.
    pub only: Vec<String>,
    /// Not these.
    pub tunnel: Vec<String>,
}

impl Hosts {
    fn are_looked_at(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        let is_of = |name: &String| {
            host.strip_suffix(name.as_str()).is_some_and(|below| below.is_empty() || below.ends_with('.'))
        };
        (self.only.is_empty() || self.only.iter().any(is_of)) && !self.tunnel.iter().any(is_of)
    }
}

/// A forward proxy.
pub struct Forward {
    authority: LocalAuthority,
    hosts: Hosts,
    /// For ordinary requests.
    pub(crate) upstream: Upstream,
    /// For those that ask to go on as something else.
    pub(crate) upgrading: Upstream,
    pub(crate) origins: Origins,
    tell: Box<dyn Fn(Told) + Send + Sync>,
    told: Mutex<HashSet<String>>,
    /// Hosts for which clients trusted us.
    trusted: Mutex<HashSet<String>>,
    /// Where we listen: nobody is let through to ourselves.
    own: SocketAddr,
    options: ServeOptions,
    closing: watch::Sender<bool>,
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// As one text, the port only where it is not the usual one.
    pub(crate) origin: String,
    /// Whether its traffic is looked at.
    pub(crate) is_looked_at: bool,
}

impl Forward {
    /// A proxy that is to listen at `own` and reaches servers as `upstream` says.
    ///
    /// `tell` is called from the tasks that serve, and must not wait.
    ///
    /// # Errors
    ///
    /// When a certificate that is to be trusted cannot be read.
    pub fn new(
        own: SocketAddr,
        authority: LocalAuthority,
        hosts: Hosts,
        upstream: &UpstreamOptions,
        sessions: Box<dyn Sessions>,
        tell: Box<dyn Fn(Told) + Send + Sync>,
    ) -> Result<Self, UpstreamError> {
        Ok(Self {
            authority,
            hosts,
            upstream: Upstream::new(upstream)?,
            upgrading: Upstream::new(&UpstreamOptions { http1_alone: true, ..upstream.clone() })?,
            origins: Origins::new(sessions),
            tell,
            told: Mutex::default(),
            trusted: Mutex::default(),
            own,
            options: ServeOptions { header_limit_bytes: upstream.header_limit_bytes },
            closing: watch::Sender::new(false),
        })
    }

    fn destination(&self, scheme: Scheme, authority: &Authority) -> Option<Destination> {
        // A user and a password are not part of where it goes.
        let (_, named) = authority.as_str().rsplit_once('@').unwrap_or(("", authority.as_str()));
        let usual = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let authority: Authority = named.to_ascii_lowercase().parse().ok()?;
        let port = authority.port_u16().unwrap_or(usual);
        let authority = match port == usual {
            true => authority.host().parse().ok()?,
            false => authority,
        };
        let is_looked_at = self.hosts.are_looked_at(authority.host());
        Some(Destination { origin: format!("{scheme}://{authority}"), scheme, authority, is_looked_at })
    }

    fn is_ourselves(&self, authority: &Authority) -> bool {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.parse::<IpAddr>().map_or(host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback());
        is_loopback && authority.port_u16() == Some(self.own.port())
    }

    fn tell(&self, host: &str, told: Told) {
        if first_time(&self.told, host) {
            (self.tell)(told);
        }
    }

    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Lets a client through to a host, whatever it says there.
    async fn connect(self: Arc<Self>, connection: u64, mut request: Request<Incoming>) -> Response<Body> {
        let Some(authority) = request.uri().authority().cloned().filter(|authority| authority.port().is_some()) else {
            return answer(StatusCode::BAD_REQUEST, None, "CONNECT takes a host and a port");
        };
        if self.is_ourselves(&authority) {
            return loops(&authority);
        }
        let client = hyper::upgrade::on(&mut request);
        if self.hosts.are_looked_at(&authority.host().to_ascii_lowercase()) {
            let mut closing = self.closing();
            tokio::spawn(async move {
                tokio::select! {
                    () = tunnel::closed(&mut closing) => {}
                    upgraded = client => match upgraded {
                        Ok(upgraded) => self.look_into(connection, TokioIo::new(upgraded), authority, closing.clone()).await,
                        Err(error) => tracing::debug!(%error, "a client went away before its tunnel was there"),
                    }
                }
            });
            return Response::new(empty());
        }
        match self.upstream.connect(&authority).await {
            Ok(server) => {
                pass_blindly(client, server, self.closing());
                Response::new(empty())
            }
            Err(error) => answer(StatusCode::BAD_GATEWAY, None, &format!("{authority}: {}", causes(&error))),
        }
    }

    /// Finds out what a client speaks in its tunnel, and serves that.
    async fn look_into(
        self: Arc<Self>,
        connection: u64,
        mut client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        authority: Authority,
        closing: watch::Receiver<bool>,
    ) {
        let Some(opening) = tunnel::opening(&mut client).await else { return };
        let client = tunnel::rejoin(opening.bytes, client);
        let scheme = match opening.kind {
            Kind::Tls => Scheme::HTTPS,
            Kind::Http => Scheme::HTTP,
            Kind::Unknown => {
                match self.upstream.connect(&authority).await {
                    Ok(server) => tunnel::pass(client, server, closing).await,
                    Err(error) => tracing::debug!(%error, %authority, "cannot connect"),
                }
                return;
            }
        };
        let Some(destination) = self.destination(scheme, &authority) else { return };
        if opening.kind == Kind::Http {
            self.serve_inside(connection, client, destination, closing).await;
            return;
        }
        let host = destination.authority.host().to_owned();
        let config = match self.authority.server_config(&host, SystemTime::now()) {
            Ok(config) => config,
            Err(error) => {
                return self.tell(&host, Told::NoCertificate { host: host.clone(), error: error.to_string() });
            }
        };
        let handshake = TlsAcceptor::from(config).accept(client);
        match tokio::time::timeout(HANDSHAKE_LIMIT, handshake).await {
            Ok(Ok(client)) => {
                let began = Instant::now();
                let n_requests = self.clone().serve_inside(connection, client, destination, closing).await;
                // Some clients look at the certificate only when the handshake is done, and leave without a word. Others make
                // connections in store.
                let is_sudden = began.elapsed() < SOON && !*self.closing.borrow();
                if n_requests > 0 {
                    first_time(&self.trusted, &host);
                } else if is_sudden && !self.trusted.lock().unwrap_or_else(PoisonError::into_inner).contains(&host) {
                    self.tell(&host, Told::Refused { host: host.clone(), alert: None });
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, host, "no TLS handshake with a client");
                let alert = error.get_ref().and_then(|error| error.downcast_ref()).and_then(|error| match error {
                    rustls::Error::AlertReceived(alert) => Some(format!("{alert:?}")),
                    _ => None,
                });
                self.tell(&host, Told::Refused { host: host.clone(), alert });
            }
            Err(_) => tracing::debug!(host, "a client did not finish its TLS handshake"),
        }
    }

    /// Serves HTTP inside of a tunnel. Says how many requests there were.
    async fn serve_inside(
        self: Arc<Self>,
        connection: u64,
        client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        destination: Destination,
        mut closing: watch::Receiver<bool>,
    ) -> u64 {
        let count = Arc::new(AtomicU64::new(0));
        let requests = count.clone();
        let builder = builder(self.options);
        let service = service_fn(move |request| {
            let (forward, destination) = (self.clone(), destination.clone());
            requests.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, Infallible>(forward.exchange(connection, &destination, request).await) }
        });
        let mut serving = std::pin::pin!(builder.serve_connection_with_upgrades(TokioIo::new(client), service));
        let done = tokio::select! {
            done = serving.as_mut() => done,
            () = tunnel::closed(&mut closing) => {
                serving.as_mut().graceful_shutdown();
                tokio::time::timeout(LAST_EXCHANGES, serving).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = done {
            tracing::debug!(error, "a connection in a tunnel ended early");
        }
        count.load(Ordering::Relaxed)
    }
}

impl Handle for Forward {
    async fn handle(self: Arc<Self>, connection: u64, request: Request<Incoming>) -> Response<Body> {
        if request.method() == Method::CONNECT {
            return self.connect(connection, request).await;
        }
        let target = request.uri();
        let (Some(scheme), Some(authority)) = (target.scheme().cloned(), target.authority()) else {
            let cause = "this is a forward proxy: it is to be set as HTTPS_PROXY and HTTP_PROXY, not asked for pages";
            return answer(StatusCode::BAD_REQUEST, None, cause);
        };
        if self.is_ourselves(authority) {
            return loops(authority);
        }
        match self.destination(scheme, authority) {
            Some(destination) => self.exchange(connection, &destination, request).await,
            None => answer(StatusCode::BAD_REQUEST, None, "the address has no host"),
        }
    }
}

/// Serves a forward proxy until `stop`; tunnels end then.
pub async fn forward(listener: Listener, forward: Arc<Forward>, stop: impl Future<Output = ()>) {
    let ended = forward.clone();
    let options = forward.options;
    serve(listener, forward.clone(), options, async move {
        stop.await;
        ended.closing.send_replace(true);
    })
    .await;
    let _ = tokio::time::timeout(LAST_EXCHANGES * 2, forward.closing.closed()).await;
}

/// Passes the bytes of a client on, once its connection is free for that.
pub(crate) fn pass_blindly(
    client: OnUpgrade,
    server: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    closing: watch::Receiver<bool>,
) {
    tokio::spawn(async move {
        match client.await {
            Ok(client) => tunnel::pass(TokioIo::new(client), server, closing).await,
            Err(error) => tracing::debug!(%error, "a client went away before its tunnel was there"),
        }
    });
}

/// Whether a host was not in the set, and now is. `false` where there is no room.
fn first_time(hosts: &Mutex<HashSet<String>>, host: &str) -> bool {
    let mut hosts = hosts.lock().unwrap_or_else(PoisonError::into_inner);
    hosts.len() < HOSTS && hosts.insert(host.into())
}

fn loops(authority: &Authority) -> Response<Body> {
    answer(StatusCode::LOOP_DETECTED, None, &format!("{authority} is this proxy itself"))
}
