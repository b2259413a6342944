//! Taking connections, and handing each request to whoever answers it.

use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::body::{Body, BodyError};
use crate::ending::{Ending, Member, Stage};
use crate::judged::CloseConnection;
use crate::listen::{Certified, Listener};
use crate::route::{KEEP_ALIVE, KEEP_ALIVE_INTERVAL, KEEP_ALIVE_RETRIES};
use crate::upstream::{
    CONNECTION_WINDOW, HEADER_LIMIT_BYTES, PING_INTERVAL, SMALLEST_HEADER_LIMIT_BYTES, STREAM_WINDOW,
};

/// How long exchanges may go on after the end was asked for: short, since event streams never end by themselves.
pub(crate) const LAST_EXCHANGES: Duration = Duration::from_millis(100);

/// How long a client may take for a TLS handshake.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);

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

/// How connections are served.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    /// How large the head of a request may be, bytes; at least [`SMALLEST_HEADER_LIMIT_BYTES`]. A larger one is answered
    /// with 431.
    pub header_limit_bytes: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { header_limit_bytes: HEADER_LIMIT_BYTES }
    }
}

/// What every connection has.
struct Shared<H> {
    handler: Arc<H>,
    builder: Builder<TokioExecutor>,
    n_connections: AtomicU64,
    tls: Option<Arc<Certified>>,
    ending: Arc<Ending>,
}

/// Serves until `stop`, then lets exchanges end for a moment, cuts those that do not, and returns when all are over.
pub async fn serve(
    listener: Listener,
    handler: Arc<impl Handle>,
    options: ServeOptions,
    stop: impl Future<Output = ()>,
) {
    let shared = Shared {
        handler,
        builder: builder(options),
        n_connections: AtomicU64::new(0),
        tls: listener.tls.clone(),
        ending: Arc::default(),
    };
    let accepting = async {
        let all = listener.sockets.iter().map(|socket| accept(socket, &shared));
        futures_all(all).await;
    };
    let mut stop = pin!(stop);
    tokio::select! {
        () = &mut stop => {}
        () = accepting => {}
    }
    drop(listener);
    let ending = &shared.ending;
    ending.ask(Stage::Finish);
    let _ = tokio::time::timeout(LAST_EXCHANGES, ending.all_ended()).await;
    ending.ask(Stage::Cut);
    ending.all_ended().await;
}

/// How connections of clients are served.
pub(crate) fn builder(options: ServeOptions) -> Builder<TokioExecutor> {
    let limit = options.header_limit_bytes.max(SMALLEST_HEADER_LIMIT_BYTES);
    let mut builder = Builder::new(TokioExecutor::new());
    // A client that closes its half of the connection is taken for one that went away, for hyper cannot tell the two apart
    // before it writes; to end what nobody waits for any more is worth more.
    builder.http1().half_close(false).auto_date_header(false).preserve_header_case(true).max_buf_size(limit);
    builder
        .http2()
        .auto_date_header(false)
        .max_header_list_size(u32::try_from(limit).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL);
    builder
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

async fn accept(socket: &TcpListener, shared: &Shared<impl Handle>) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => serve_connection(stream, shared),
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn serve_connection(stream: TcpStream, shared: &Shared<impl Handle>) {
    let _ = stream.set_nodelay(true);
    // A client whose machine is gone says nothing, and its streams would stay for ever.
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE_INTERVAL);
    let _ = SockRef::from(&stream).set_tcp_keepalive(&keep_alive.with_retries(KEEP_ALIVE_RETRIES));
    let number = shared.n_connections.fetch_add(1, Ordering::Relaxed) + 1;
    let handler = shared.handler.clone();
    let service = service_fn(move |request| {
        let handler = handler.clone();
        async move {
            let response = handler.handle(number, request).await;
            match response.extensions().get::<CloseConnection>() {
                Some(_) => Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)),
                None => Ok(response),
            }
        }
    });
    let (builder, mut member) = (shared.builder.clone(), shared.ending.join());
    let Some(tls) = shared.tls.clone() else {
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        go_on(connection, member);
        return;
    };
    tokio::spawn(async move {
        if let Some(Some(stream)) = member.until_cut(shake_hands(stream, &tls)).await {
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
            go_on(connection, member);
        }
    });
}

async fn shake_hands(stream: TcpStream, tls: &Certified) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    let config = match tls.authority.server_config(&tls.host, SystemTime::now()) {
        Ok(config) => config,
        Err(error) => {
            tracing::warn!(%error, "no certificate");
            return None;
        }
    };
    let handshake = TlsAcceptor::from(config).accept(stream);
    match tokio::time::timeout(HANDSHAKE_LIMIT, handshake).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::warn!(%error, "no TLS handshake with a client");
            None
        }
        Err(_) => None,
    }
}

/// Lets a connection go on until it ends, or all are to end.
fn go_on<C>(connection: C, mut member: Member)
where
    C: GracefulConnection<Error = BodyError> + Send + 'static,
{
    tokio::spawn(async move {
        let mut connection = pin!(connection);
        let mut is_finishing = false;
        let ended = poll_fn(|context| {
            match member.stage(context) {
                Stage::Cut => return Poll::Ready(Ok(())),
                Stage::Finish if !std::mem::replace(&mut is_finishing, true) => connection.as_mut().graceful_shutdown(),
                Stage::Finish | Stage::GoOn => {}
            }
            connection.as_mut().poll(context)
        });
        if let Err(error) = ended.await {
            tracing::debug!(error, "a connection ended early");
        }
    });
}
