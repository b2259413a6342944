//! Taking connections, and handing each request to whoever answers it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};

use crate::body::Body;
use crate::listen::Listener;

/// How long exchanges may go on after the end was asked for: short, since event streams never end by themselves.
pub(crate) const LAST_EXCHANGES: Duration = Duration::from_millis(200);

/// After a failure to take a connection (too many files are open) the next is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Answers requests.
pub trait Handle: Send + Sync + 'static {
    /// Answers one request of the connection with this number. When the client goes away, the future or the body of the
    /// response is dropped.
    fn handle(
        self: Arc<Self>,
        connection: u64,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Serves until `stop`, then lets exchanges end for a moment and returns.
pub async fn serve(listener: Listener, handler: Arc<impl Handle>, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let n_connections = Arc::new(AtomicU64::new(0));
    let accepting = async {
        let all = listener.sockets.iter().map(|socket| accept(socket, &handler, &graceful, &n_connections));
        futures_all(all).await;
    };
    let mut stop = pin!(stop);
    tokio::select! {
        () = &mut stop => {}
        () = accepting => {}
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_EXCHANGES, graceful.shutdown()).await;
}

/// Runs all of at most two futures at once. They never end.
async fn futures_all(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut all = all;
    match (all.next(), all.next()) {
        (Some(first), Some(second)) => {
            tokio::join!(first, second);
        }
        (Some(only), None) => only.await,
        _ => std::future::pending().await,
    }
}

async fn accept(
    socket: &TcpListener,
    handler: &Arc<impl Handle>,
    graceful: &GracefulShutdown,
    n_connections: &Arc<AtomicU64>,
) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => {
                let number = n_connections.fetch_add(1, Ordering::Relaxed) + 1;
                serve_connection(stream, number, handler.clone(), graceful);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// How connections of clients are served.
pub(crate) fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().preserve_header_case(true);
    builder
}

fn serve_connection(stream: TcpStream, number: u64, handler: Arc<impl Handle>, graceful: &GracefulShutdown) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(handler.handle(number, request).await) }
    });
    let connection = builder().serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            tracing::debug!(error, "a connection ended early");
        }
    });
}
