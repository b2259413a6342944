//! The way to a server: straight to it, or through the proxy that the environment names.

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
}

impl Route {
    pub(crate) fn new(proxies: Proxies) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        Self { tcp, proxies }
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
        let Some(proxy) = self.proxies.to(&uri) else {
            let connecting = self.tcp.call(uri);
            return Box::pin(async move { Ok(connecting.await?) });
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
