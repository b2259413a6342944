//! The plainest reverse proxy that hyper can be: `tap-http-pass-through URL`, which prints its own URL as its first line.
//!
//! Hyper's server, hyper-util's client with its pool, bodies streamed both ways, hop-by-hop headers removed. It is what a
//! process in the middle costs by itself, so it stays as plain as it is: no copy, no log, no limit.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use bytes::Bytes;
use clap::Parser;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The plainest reverse proxy that hyper can be.
#[derive(Debug, Parser)]
#[command(name = "tap-http-pass-through", version)]
struct Arguments {
    /// Where to listen; port 0 for any free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Threads that serve; one a CPU without it
    #[arg(long)]
    threads: Option<usize>,
    /// The server's URL: http, with or without a path
    #[arg(value_parser = upstream)]
    url: Upstream,
}

/// Where requests go.
#[derive(Debug, Clone)]
struct Upstream {
    authority: Authority,
    path: PathAndQuery,
}

fn upstream(text: &str) -> Result<Upstream, String> {
    let parts = text.parse::<Uri>().map_err(|error| error.to_string())?.into_parts();
    match (parts.scheme, parts.authority) {
        (Some(scheme), Some(authority)) if scheme == Scheme::HTTP => {
            Ok(Upstream { authority, path: parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/")) })
        }
        _ => Err("not a URL with http".to_owned()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let served =
        runtime(arguments.threads).and_then(|runtime| runtime.block_on(serve(arguments.listen, arguments.url)));
    match served {
        Ok(never) => match never {},
        Err(error) => {
            let _ = writeln!(io::stderr(), "tap-http-pass-through: {error}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(n_threads: Option<usize>) -> io::Result<Runtime> {
    let mut builder = match n_threads {
        Some(0 | 1) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if let Some(n_threads @ 2..) = n_threads {
        builder.worker_threads(n_threads);
    }
    builder.enable_all().build()
}

/// Serves until it is killed.
async fn serve(listen: SocketAddr, upstream: Upstream) -> io::Result<Infallible> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind(listen).await?;
    writeln!(io::stdout(), "http://{}{}", listener.local_addr()?, upstream.path)?;
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        let (client, authority) = (client.clone(), upstream.authority.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| pass(&client, &authority, request));
            // A client that breaks off is its own affair.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

type Body = Either<Incoming, Full<Bytes>>;

async fn pass(
    client: &Client<HttpConnector, Incoming>,
    authority: &Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let uri = Uri::builder().scheme(Scheme::HTTP).authority(authority.clone()).path_and_query(path);
    let Ok(uri) = uri.build() else { return Ok(failure(StatusCode::BAD_REQUEST)) };
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_11;
    // The client puts in the upstream's.
    request.headers_mut().remove(HOST);
    remove_hop_by_hop(request.headers_mut());
    match client.request(request).await {
        Ok(mut response) => {
            remove_hop_by_hop(response.headers_mut());
            Ok(response.map(Either::Left))
        }
        Err(_) => Ok(failure(StatusCode::BAD_GATEWAY)),
    }
}

fn failure(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::default()));
    *response.status_mut() = status;
    response
}

/// Source: RFC 9110, section 7.6.1.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection"] {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_hop_are_removed_and_those_that_connection_names() {
        let pairs = [
            ("connection", "keep-alive, x-hop"),
            ("connection", "X-Other"),
            ("x-hop", "1"),
            ("x-other", "1"),
            ("transfer-encoding", "chunked"),
            ("keep-alive", "timeout=5"),
            ("content-type", "application/json"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value.parse().unwrap());
        }
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["content-type"]);
    }

    #[test]
    fn only_a_url_with_http_is_an_upstream() {
        for (text, expected) in [
            ("http://127.0.0.1:1/mcp?a=1", Some("/mcp?a=1")),
            ("http://127.0.0.1:1", Some("/")),
            ("https://127.0.0.1:1/mcp", None),
            ("/mcp", None),
            ("127.0.0.1:1", None),
        ] {
            let path = upstream(text).ok().map(|upstream| upstream.path.to_string());
            assert_eq!(path.as_deref(), expected, "text: {text}");
        }
    }
}
