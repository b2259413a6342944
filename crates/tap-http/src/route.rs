//! The way to a server: straight to it, or through the proxy that the environment names.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::body::BodyError;
use crate::guard::is_local;
use crate::streams::Streams;
use crate::upstream::Resolve;
use crate::wire::Wire;

/// How long a server may take to accept a connection.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// How long all addresses of a server together may take for that. What is left is for TLS.
const ADDRESSES_LIMIT: Duration = Duration::from_secs(25);

/// How often an idle connection is asked whether the other side still lives.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// How often it is asked again without an answer, and how many times before it is taken for dead.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
pub(crate) const KEEP_ALIVE_RETRIES: u32 = 4;

#[derive(Debug, thiserror::Error)]
#[error("it takes too long")]
pub(crate) struct TooSlow;

#[derive(Debug, thiserror::Error)]
#[error("the environment names the proxy {0}, and only proxies at http:// addresses can be used")]
struct UnknownProxy(String);

/// The name leads to ourselves, such as by the hosts file that leads clients to us.
#[derive(Debug, thiserror::Error)]
#[error("{0} leads to this proxy itself; --resolve HOST:PORT:ADDRESS says where the server really is")]
struct Loops(String);

/// Which servers are reached through which proxy: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in capitals or not. And
/// which are at an address that we were told.
#[derive(Debug, Clone)]
pub(crate) struct Proxies {
    environment: Arc<Matcher>,
    resolve: Arc<[Resolve]>,
}

impl Proxies {
    pub(crate) fn from_environment(resolve: Vec<Resolve>) -> Self {
        Self::new(Matcher::from_env(), resolve)
    }

    fn new(environment: Matcher, resolve: Vec<Resolve>) -> Self {
        Self { environment: Arc::new(environment), resolve: resolve.into() }
    }

    /// The proxy to a server. None for this machine itself, whatever the environment says: the proxy would be asked for
    /// its own. None where we were told the address.
    pub(crate) fn to(&self, uri: &Uri) -> Option<Intercept> {
        let host = uri.host()?.to_ascii_lowercase();
        if is_local(&host) || self.resolved(uri).is_some() { None } else { self.environment.intercept(uri) }
    }

    /// The address of a server of which it was said.
    fn resolved(&self, uri: &Uri) -> Option<Uri> {
        let host = uri.host()?.to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 });
        let found = self.resolve.iter().find(|resolve| resolve.host == host && resolve.port == port)?;
        let authority = SocketAddr::new(found.address, port).to_string();
        let parts = Uri::builder().scheme(uri.scheme()?.clone()).authority(authority).path_and_query("/");
        parts.build().ok()
    }

    /// What a proxy that is asked without a tunnel has to be told with each request.
    pub(crate) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        if uri.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        self.to(uri)?.basic_auth().cloned()
    }
}

/// Makes TCP connections, through a proxy where there is one.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    tcp: HttpConnector,
    proxies: Proxies,
    own: Option<SocketAddr>,
}

impl Route {
    pub(crate) fn new(proxies: Proxies, own: Option<SocketAddr>) -> Self {
        Self { tcp: prepared(HttpConnector::new(), ADDRESSES_LIMIT), proxies, own }
    }
}

/// Sets how connections are made. Each address gets a part of the limit, or those behind a dead one would not be tried.
fn prepared<R>(mut tcp: HttpConnector<R>, limit: Duration) -> HttpConnector<R> {
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
    tcp.set_connect_timeout(Some(limit));
    tcp
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BodyError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BodyError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if let Some(resolved) = self.proxies.resolved(&uri) {
            let connecting = self.tcp.call(resolved);
            return Box::pin(async move { Ok(connecting.await?) });
        }
        let Some(proxy) = self.proxies.to(&uri) else {
            let own = self.own;
            let connecting = self.tcp.call(uri.clone());
            return Box::pin(async move {
                let stream = connecting.await?;
                let peer = stream.inner().peer_addr()?;
                let ip = peer.ip().to_canonical();
                // Whatever loopback address: we listen on both families of it.
                if own.is_some_and(|own| own.port() == peer.port() && (own.ip() == ip || ip.is_loopback())) {
                    return Err(Loops(uri.host().unwrap_or_default().into()).into());
                }
                Ok(stream)
            });
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            let error = UnknownProxy(proxy.uri().to_string());
            return Box::pin(async move { Err(error.into()) });
        }
        if uri.scheme() == Some(&Scheme::HTTP) {
            let connecting = self.tcp.call(proxy.uri().clone());
            return Box::pin(async move { Ok(connecting.await?) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move { Ok(tunnel.call(uri).await?) })
    }
}

/// Makes connections, with TLS where the server asks for it, and measures how long that takes.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) inner: HttpsConnector<Route>,
    pub(crate) proxies: Proxies,
    pub(crate) streams: Streams,
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = BodyError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, BodyError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let is_proxied = uri.scheme() == Some(&Scheme::HTTP) && self.proxies.to(&uri).is_some();
        let connecting = self.inner.call(uri.clone());
        let streams = self.streams.clone();
        Box::pin(async move {
            let began = Instant::now();
            let stream = tokio::time::timeout(CONNECT_LIMIT, connecting).await.map_err(|_| TooSlow)??;
            let mut wire = Wire::new(stream, began.elapsed(), is_proxied);
            match uri.authority().cloned().filter(|_| uri.scheme() == Some(&Scheme::HTTPS)) {
                Some(server) if wire.is_shared() => {
                    wire.on_settings(move |n_streams| streams.takes(&server, n_streams));
                }
                Some(server) => streams.shares_nothing(&server),
                None => {}
            }
            Ok(wire)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::{Upstream, UpstreamError, UpstreamOptions};

    fn connect(options: &UpstreamOptions, authority: &str) -> Result<SocketAddr, UpstreamError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let upstream = Upstream::new(options).unwrap();
        let connected = runtime.block_on(upstream.connect(&authority.parse().unwrap()));
        connected.map(|stream| stream.peer_addr().unwrap())
    }

    #[test]
    fn a_name_that_leads_to_ourselves_is_not_followed_and_one_that_was_resolved_is() {
        let (own, other) =
            (std::net::TcpListener::bind("127.0.0.1:0").unwrap(), std::net::TcpListener::bind("127.0.0.1:0"));
        let (own, other) = (own.local_addr().map(|address| (own, address)).unwrap(), other.unwrap());
        let port = other.local_addr().unwrap().port();
        let resolve = Resolve { host: "real.example".into(), port, address: "127.0.0.1".parse().unwrap() };
        let options = UpstreamOptions { own: Some(own.1), resolve: vec![resolve], ..UpstreamOptions::default() };
        for host in ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"] {
            let error = connect(&options, &format!("{host}:{}", own.1.port())).unwrap_err();
            assert!(crate::answer::causes(&error).contains("leads to this proxy itself"), "{host}: {error:?}");
        }
        for host in ["localhost", "real.example", "REAL.example"] {
            assert_eq!(connect(&options, &format!("{host}:{port}")).unwrap(), other.local_addr().unwrap(), "{host}");
        }
    }
    #[test]
    fn a_proxy_is_not_asked_for_what_we_were_told_the_address_of() {
        let resolve = Resolve { host: "real.example".into(), port: 80, address: "192.0.2.7".parse().unwrap() };
        let environment = Matcher::builder().all("http://user:s3cret@proxy.example:3128").build();
        let proxies = Proxies::new(environment, vec![resolve]);
        for (uri, is_proxied) in [
            ("http://real.example/mcp", false),
            ("http://REAL.example:80/mcp", false),
            ("http://real.example:81/mcp", true),
            ("http://other.example/mcp", true),
            ("http://localhost/mcp", false),
        ] {
            let uri = uri.parse().unwrap();
            assert_eq!(proxies.to(&uri).is_some(), is_proxied, "{uri}");
            assert_eq!(proxies.authorization(&uri).is_some(), is_proxied, "{uri}");
        }
    }

    /// Gives the same addresses for every name.
    #[derive(Clone)]
    struct Names(Vec<SocketAddr>);

    impl Service<hyper_util::client::legacy::connect::dns::Name> for Names {
        type Response = std::vec::IntoIter<SocketAddr>;
        type Error = std::io::Error;
        type Future = std::future::Ready<std::io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: hyper_util::client::legacy::connect::dns::Name) -> Self::Future {
            std::future::ready(Ok(self.0.clone().into_iter()))
        }
    }

    #[test]
    fn an_address_behind_one_that_says_nothing_is_tried_in_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let there = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Nobody takes connections there, and there is room for one or two.
        let silent = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        silent.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        silent.listen(0).unwrap();
        let address = silent.local_addr().unwrap().as_socket().unwrap();
        let short = Duration::from_millis(200);
        let mut waiting = Vec::new();
        while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, short) {
            waiting.push(stream);
        }
        let names = Names(vec![address, there.local_addr().unwrap()]);
        let mut tcp = prepared(HttpConnector::new_with_resolver(names), 2 * short);
        let connected = runtime.block_on(async {
            // The port of a URL replaces that of an address only where there is one.
            tokio::time::timeout(CONNECT_LIMIT, tcp.call("http://two.example".parse().unwrap())).await
        });
        assert_eq!(connected.unwrap().unwrap().inner().peer_addr().unwrap(), there.local_addr().unwrap());
    }
}
