//! A minimal, fast MCP server over Streamable HTTP, for measuring what sits in front of it.
//!
//! It prints its URL as its first line. POST is answered as `tap-echo-server` answers over stdio, with one JSON body; its
//! tool `stream {events, interval_ms, text}` with an event stream: a notification at once, one more each interval, and
//! the answer last. GET opens an event stream, silent or with events ([`stream_of_query`]); DELETE is answered.
//! `initialize` gives an `Mcp-Session-Id`, and nobody looks whether later requests have it.

mod stream;

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tap_http_echo_server::answer::{Answer, answer, stream_of_query};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::stream::EventStream;

/// A minimal, fast MCP server over Streamable HTTP.
#[derive(Debug, Parser)]
#[command(name = "tap-http-echo-server", version)]
struct Arguments {
    /// Where to listen; port 0 for any free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Threads that serve: one is the quickest where client and proxy want CPUs too
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let served = runtime(arguments.threads).and_then(|runtime| runtime.block_on(serve(arguments.listen)));
    match served {
        Ok(never) => match never {},
        Err(error) => {
            let _ = writeln!(io::stderr(), "tap-http-echo-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(n_threads: usize) -> io::Result<Runtime> {
    match n_threads {
        0 | 1 => Builder::new_current_thread().enable_all().build(),
        _ => Builder::new_multi_thread().worker_threads(n_threads).enable_all().build(),
    }
}

/// Serves until it is killed.
async fn serve(listen: SocketAddr) -> io::Result<Infallible> {
    let listener = TcpListener::bind(listen).await?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        tokio::spawn(async move {
            let serving = http1::Builder::new().serve_connection(TokioIo::new(connection), service_fn(respond));
            // A client that breaks off is its own affair.
            let _ = serving.await;
        });
    }
}

type Body = Either<Full<Bytes>, EventStream>;

async fn respond(request: Request<Incoming>) -> hyper::Result<Response<Body>> {
    let answer = match *request.method() {
        Method::POST => answer(&request.into_body().collect().await?.to_bytes()),
        Method::GET => Answer::Stream(stream_of_query(request.uri().query().unwrap_or_default())),
        Method::DELETE => Answer::Ended,
        _ => Answer::NotAllowed,
    };
    Ok(response(answer))
}

fn response(answer: Answer) -> Response<Body> {
    match answer {
        Answer::Json { body, begins_session } => {
            let mut response = Response::new(Either::Left(Full::from(body)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if begins_session {
                response.headers_mut().insert("mcp-session-id", new_session());
            }
            response
        }
        Answer::Stream(stream) => {
            let mut response = Response::new(Either::Right(EventStream::new(stream)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
        Answer::Accepted => empty(StatusCode::ACCEPTED),
        Answer::Ended => empty(StatusCode::OK),
        Answer::NotAllowed => empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = status;
    response
}

/// A session id that this process gave to nobody else.
fn new_session() -> HeaderValue {
    static N_SESSIONS: AtomicU64 = AtomicU64::new(0);
    let number = N_SESSIONS.fetch_add(1, Ordering::Relaxed);
    HeaderValue::try_from(format!("session-{number:024}")).unwrap_or_else(|_| HeaderValue::from_static("session"))
}
