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
use crate::upstream::Resolve;
use crate::wire::Wire;

/// How long a server may take to accept a connection.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// How often an idle connection is asked whether the other side still lives.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

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

/// Which servers are reached through which proxy: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in capitals or not.
#[derive(Debug, Clone)]
pub(crate) struct Proxies(Arc<Matcher>);

impl Proxies {
    pub(crate) fn from_environment() -> Self {
        Self(Arc::new(Matcher::from_env()))
    }

    /// The proxy to a server. None for this machine itself, whatever the environment says: the proxy would be asked for
    /// its own.
    pub(crate) fn to(&self, uri: &Uri) -> Option<Intercept> {
        let host = uri.host()?.to_ascii_lowercase();
        if is_local(&host) { None } else { self.0.intercept(uri) }
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
    resolve: Arc<[Resolve]>,
    own: Option<SocketAddr>,
}

impl Route {
    pub(crate) fn new(proxies: Proxies, resolve: Vec<Resolve>, own: Option<SocketAddr>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        Self { tcp, proxies, resolve: resolve.into(), own }
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
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BodyError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BodyError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if let Some(resolved) = self.resolved(&uri) {
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
        let connecting = self.inner.call(uri);
        Box::pin(async move {
            let began = Instant::now();
            match tokio::time::timeout(CONNECT_LIMIT, connecting).await {
                Ok(stream) => Ok(Wire::new(stream?, began.elapsed(), is_proxied)),
                Err(_) => Err(TooSlow.into()),
            }
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
            assert!(crate::reverse::told(&error).contains("leads to this proxy itself"), "{host}: {error:?}");
        }
        for host in ["localhost", "real.example", "REAL.example"] {
            assert_eq!(connect(&options, &format!("{host}:{port}")).unwrap(), other.local_addr().unwrap(), "{host}");
        }
    }
}
