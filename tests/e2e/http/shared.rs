//! Many exchanges over one connection of HTTP/2: none of them stops the others, on either side of the proxy.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::runtime::Runtime;

use super::peer::{Peer, Proxy, Server, field, fields, post};
use super::tls::serve_few;
use crate::support::{LIMIT, Scratch};

/// Asks for what never ends, and gives the connection when it has begun.
fn begun(proxy: &Proxy, path: &str) -> Peer {
    let mut client = proxy.connect();
    client.small_buffer();
    client.write(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"));
    assert!(client.head().starts_with("HTTP/1.1 200 OK\r\n"));
    client
}

#[track_caller]
fn is_answered(proxy: &Proxy) {
    let mut client = proxy.connect();
    client.write(post("{}"));
    let (head, body) = client.message();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(String::from_utf8(body).unwrap().starts_with("HTTP/2.0 "));
}

#[test]
fn open_streams_leave_room_for_requests_however_few_the_server_takes() {
    for (n_streams, n_open) in [(1, 12), (3, 30), (200, 120)] {
        let scratch = Scratch::new();
        let server = serve_few(&scratch, "localhost", false, &["h2"], n_streams);
        let options = ["--cacert", server.authority.to_str().unwrap()];
        let proxy = Proxy::with(&scratch, &server.url("localhost"), &options, &[]);
        is_answered(&proxy);
        let streams: Vec<Peer> = (0..n_open)
            .map(|_| {
                let mut stream = begun(&proxy, "/stream");
                stream.expect_chunked("data: 1\n\n");
                stream
            })
            .collect();
        is_answered(&proxy);
        drop(streams);
        (0..20).for_each(|_| is_answered(&proxy));
    }
}

#[test]
fn clients_that_stop_reading_do_not_stop_the_others() {
    let scratch = Scratch::new();
    let server = serve_few(&scratch, "localhost", false, &["h2"], 200);
    let options = ["--cacert", server.authority.to_str().unwrap()];
    let proxy = Proxy::with(&scratch, &server.url("localhost"), &options, &[]);
    is_answered(&proxy);
    let before = proxy.memory_kib();
    let stalled: Vec<Peer> = (0..40).map(|_| begun(&proxy, "/flood")).collect();
    // What they have got by now has filled every window between them and the server.
    let mut reading = begun(&proxy, "/flood");
    reading.chunked_at_least(32 * 1024 * 1024);
    is_answered(&proxy);
    drop(stalled);
    let grown = proxy.memory_kib().saturating_sub(before);
    assert!(grown < 160 * 1024, "{grown} KiB more than the {before} KiB before");
}

/// A client that speaks HTTP/2 to the proxy.
fn client(runtime: &Runtime, proxy: &Proxy) -> SendRequest<Full<Bytes>> {
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(proxy.address).await.unwrap();
        let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        client
    })
}

#[test]
fn a_client_over_http_2_is_a_client_like_others() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        let own = peer.own_address();
        while let Some((head, _)) = peer.request_or_end() {
            let body = format!("event: endpoint\ndata: http://{own}/m?{}\n\n", fields(&head, "cookie").join("|"));
            assert_eq!(field(&head, "host"), Some(own.as_str()));
            peer.write(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/sse"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut client = client(&runtime, &proxy);
    let request = Request::get(format!("http://{}/sse", proxy.address)).header("accept", "text/event-stream");
    let request = request.header("cookie", "a=1").header("cookie", "b=2").body(Full::default()).unwrap();
    let answer = async {
        let response = client.send_request(request).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes()
    };
    let body = runtime.block_on(async { tokio::time::timeout(LIMIT, answer).await.unwrap() });
    let expected = format!("event: endpoint\ndata: http://{}/m?a=1; b=2\n\n", proxy.address);
    assert_eq!(String::from_utf8_lossy(&body), expected);
}

#[test]
fn uploads_that_a_server_does_not_take_do_not_stop_the_others() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        let head = peer.head();
        if head.contains("/stuck") {
            // The connection stays as it is, and nobody reads from it.
            return std::mem::forget(peer);
        }
        let length = field(&head, "content-length").unwrap().parse().unwrap();
        peer.exactly(length);
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut client = client(&runtime, &proxy);
    let ask = |path: &str, n_bytes: usize| {
        Request::post(format!("http://{}{path}", proxy.address))
            .body(Full::new(Bytes::from(vec![b' '; n_bytes])))
            .unwrap()
    };
    let answered = async {
        let stuck: Vec<_> = (0..8).map(|_| tokio::spawn(client.send_request(ask("/stuck", 16 << 20)))).collect();
        let response = client.send_request(ask("/mcp", 4 << 20)).await.unwrap();
        stuck.iter().for_each(tokio::task::JoinHandle::abort);
        response.status().as_u16()
    };
    assert_eq!(runtime.block_on(async { tokio::time::timeout(LIMIT, answered).await.unwrap() }), 200);
}
