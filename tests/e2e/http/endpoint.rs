//! HTTP+SSE of 2024-11-05: the endpoint that a server names is one at which the client reaches us.

use tap_frame::HttpEnd;

use super::peer::{Proxy, STREAM, Server, chunk, field, post, recorded};
use crate::support::Scratch;

/// Opens a stream that begins with these chunks, posts to the endpoint, and gives what the client got and what was recorded.
#[track_caller]
fn open(host: &str, pieces: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> (String, String, String, String) {
    let scratch = Scratch::new();
    let server = Server::new(move |_, mut peer| {
        let own = peer.own_address();
        while let Some((head, _)) = peer.request_or_end() {
            if head.starts_with("POST") {
                assert_eq!(
                    head.lines().next(),
                    Some("POST /message?sessionId=0123456789abcdef0123456789abcdef HTTP/1.1")
                );
                peer.write("HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted");
            } else {
                assert_eq!(field(&head, "accept-encoding"), Some("identity"), "{head}");
                peer.write(STREAM);
                for piece in pieces(&own) {
                    peer.write(chunk(piece));
                }
                peer.write("0\r\n\r\n");
            }
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/sse"));
    let mut client = proxy.connect();
    client.write(format!(
        "GET /sse HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip, deflate\r\n\r\n"
    ));
    let got = String::from_utf8(client.message().1).unwrap();
    // No field says that this is MCP.
    client.write(
        "POST /message?sessionId=0123456789abcdef0123456789abcdef HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    );
    assert_eq!(client.message().1, b"Accepted");
    proxy.stop();
    let [stream, message] = recorded(&scratch).try_into().unwrap();
    assert_eq!((stream.end, message.end), (Some(HttpEnd::Whole), Some(HttpEnd::Whole)));
    assert_eq!((message.request_body.as_slice(), message.response_body.as_slice()), (&b"{}"[..], &b"Accepted"[..]));
    (got, String::from_utf8(stream.response_body).unwrap(), message.request, server.address.to_string())
}

const MESSAGE: &str = "/message?sessionId=0123456789abcdef0123456789abcdef";

#[test]
fn a_relative_endpoint_is_left_alone_and_what_is_posted_there_is_recorded() {
    for endpoint in [MESSAGE, MESSAGE.trim_start_matches('/')] {
        let stream = format!(": hi\n\nevent: endpoint\ndata: {endpoint}\n\nevent: message\ndata: {{}}\n\n");
        let expected = stream.clone();
        let (got, kept, target, _) = open("localhost:7000", move |_| vec![stream.clone()]);
        assert_eq!((got, kept), (expected.clone(), expected));
        assert!(target.contains(MESSAGE), "the record can be joined: {target}");
    }
}

#[test]
fn an_absolute_endpoint_gets_the_origin_under_which_the_client_reached_us() {
    for host in ["localhost:7000", "127.0.0.1:7000", "[::1]:7000"] {
        for byte_by_byte in [false, true] {
            let (got, kept, target, address) = open(host, move |own| {
                let stream =
                    format!("event: endpoint\r\ndata:http://{own}{MESSAGE}\r\n\r\ndata: http://{own}/\r\n\r\n");
                if byte_by_byte { stream.chars().map(String::from).collect() } else { vec![stream] }
            });
            assert_eq!(
                kept,
                format!("event: endpoint\r\ndata:http://{address}{MESSAGE}\r\n\r\ndata: http://{address}/\r\n\r\n")
            );
            assert_eq!(
                got,
                format!("event: endpoint\r\ndata:http://{host}{MESSAGE}\r\n\r\ndata: http://{address}/\r\n\r\n")
            );
            assert!(target.contains(MESSAGE), "{target}");
        }
    }
}

#[test]
fn compression_is_asked_for_as_the_client_does_where_no_endpoint_can_come() {
    let scratch = Scratch::new();
    let (server, seen) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    for head in [
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: a\r\n",
        "GET /page HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n",
        &post("").replace("\r\n\r\n", "\r\n"),
    ] {
        client.write(format!("{head}Accept-Encoding: gzip\r\n\r\n"));
        client.message();
        assert_eq!(field(&seen.lock().unwrap().last().unwrap().0, "accept-encoding"), Some("gzip"));
    }
}
