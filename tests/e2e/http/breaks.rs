//! When one side goes away, the other side sees it at once and as it was, and so does the record.

use std::sync::mpsc::channel;

use tap_frame::HttpEnd;

use super::peer::{Peer, Proxy, STREAM, Server, chunk, get, post, recorded};
use crate::support::{LIMIT, Scratch};

const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}";

/// How a client leaves.
const WAYS: [fn(Peer); 2] = [drop, Peer::reset];

#[test]
fn a_client_that_leaves_while_the_server_thinks_ends_the_request_at_once() {
    for leave in WAYS {
        let scratch = Scratch::new();
        let (at, seen) = channel();
        let server = Server::new(move |_, mut peer| {
            peer.message();
            at.send(()).unwrap();
            peer.wait_closed();
            at.send(()).unwrap();
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(post(CALL));
        seen.recv_timeout(LIMIT).unwrap();
        leave(client);
        seen.recv_timeout(LIMIT).expect("the server's connection is closed");
        proxy.stop();
        let [one] = recorded(&scratch).try_into().unwrap();
        assert_eq!((one.end, one.response.as_str()), (Some(HttpEnd::ByClient), ""));
        assert_eq!(one.request_body, CALL.as_bytes());
    }
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_stream_ends_it_for_the_server_and_nothing_is_made_up() {
    for leave in WAYS {
        let scratch = Scratch::new();
        let (at, seen) = channel();
        let server = Server::new(move |number, mut peer| {
            assert_eq!(number, 1, "nobody sends a cancellation in the client's name");
            peer.head();
            peer.write(STREAM);
            peer.write(chunk("data: 1\n\n"));
            peer.wait_closed();
            at.send(()).unwrap();
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(get());
        client.head();
        client.expect_chunked("data: 1\n\n");
        leave(client);
        seen.recv_timeout(LIMIT).expect("the server's connection is closed");
        proxy.stop();
        let [one] = recorded(&scratch).try_into().unwrap();
        assert_eq!(one.end, Some(HttpEnd::ByClient));
        assert_eq!(one.response_body, b"data: 1\n\n");
    }
}

#[test]
fn a_client_that_leaves_in_the_middle_of_sending_is_not_taken_for_one_that_is_done() {
    for leave in WAYS {
        for framing in ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n"] {
            let scratch = Scratch::new();
            let (at, seen) = channel();
            let server = Server::new(move |_, mut peer| {
                peer.head();
                at.send(Vec::new()).unwrap();
                at.send(peer.rest()).unwrap();
            });
            let proxy = Proxy::start(&scratch, &server.url("/mcp"));
            let mut client = proxy.connect();
            client.write(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{framing}half"));
            seen.recv_timeout(LIMIT).unwrap();
            leave(client);
            let rest = String::from_utf8(seen.recv_timeout(LIMIT).unwrap()).unwrap();
            assert!(!rest.contains("0\r\n\r\n"), "the body is not ended: {rest:?}");
            proxy.stop();
            let [one] = recorded(&scratch).try_into().unwrap();
            assert_eq!((one.end, one.is_request_whole), (Some(HttpEnd::ByClient), false));
        }
    }
}

#[test]
fn a_client_that_closes_its_half_is_taken_for_one_that_left() {
    let scratch = Scratch::new();
    let (at, seen) = channel();
    let server = Server::new(move |_, mut peer| {
        peer.message();
        at.send(()).unwrap();
        peer.wait_closed();
        at.send(()).unwrap();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(post(CALL));
    seen.recv_timeout(LIMIT).unwrap();
    client.shutdown_write();
    seen.recv_timeout(LIMIT).unwrap();
    assert_eq!(client.rest(), b"");
}

/// What a server does before it breaks off, and what the client has got of the body by then.
const BREAKS: &[(&str, &[&str], bool, &str)] = &[
    ("reset in an event", &[STREAM, "b\r\ndata: 1\n\nda\r\n"], true, "data: 1\n\nda"),
    ("reset in a chunk", &[STREAM, "9\r\ndata: 1\n\n\r\n", "64\r\ndata"], true, "data: 1\n\ndata"),
    ("end in a chunk", &[STREAM, "64\r\ndata: 1\n\n"], false, "data: 1\n\n"),
    ("end between chunks", &[STREAM, "9\r\ndata: 1\n\n\r\n"], false, "data: 1\n\n"),
    ("a chunk without a size", &[STREAM, "9\r\ndata: 1\n\n\r\nwhat?\r\n"], false, "data: 1\n\n"),
    ("a chunk that is too long", &[STREAM, "9\r\ndata: 1\n\nxx\r\n0\r\n\r\n"], false, "data: 1\n\n"),
    (
        "end before the length",
        &["HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":"],
        false,
        "{\"a\":",
    ),
    (
        "reset before the length",
        &["HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":"],
        true,
        "{\"a\":",
    ),
];

#[test]
fn a_server_that_breaks_off_breaks_off_for_the_client_too() {
    for (what, parts, resets, expected) in BREAKS {
        let scratch = Scratch::new();
        let (go, may_go) = channel::<()>();
        let may_go = std::sync::Mutex::new(may_go);
        let server = Server::new(move |number, mut peer| {
            assert_eq!(number, 1, "the request is not sent again");
            peer.message();
            for part in *parts {
                peer.write(part);
            }
            if *resets {
                // What a reset overtakes is lost without a proxy too.
                may_go.lock().unwrap().recv_timeout(LIMIT).unwrap();
                peer.reset();
            }
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(post(CALL));
        let head = client.head();
        let is_chunked = head.contains("chunked");
        let got = if is_chunked { client.chunked(expected.len()) } else { client.exactly(expected.len()) };
        assert_eq!(String::from_utf8(got).unwrap(), *expected, "{what}");
        let _ = go.send(());
        let rest = client.rest();
        assert!(!rest.ends_with(b"0\r\n\r\n"), "{what}: it looks like an end: {}", rest.escape_ascii());
        proxy.stop();
        let [one] = recorded(&scratch).try_into().unwrap();
        assert_eq!(one.end, Some(HttpEnd::ByServer), "{what}");
        assert_eq!(String::from_utf8(one.response_body).unwrap(), *expected, "{what}");
    }
}

#[test]
fn a_stream_that_the_server_ends_ends_for_the_client() {
    let scratch = Scratch::new();
    let (server, _) = Server::answering([STREAM.as_bytes(), &chunk("data: 1\n\n"), b"0\r\n\r\n"].concat());
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(get());
    assert_eq!(client.message().1, b"data: 1\n\n");
    proxy.stop();
    let [one] = recorded(&scratch).try_into().unwrap();
    assert_eq!(one.end, Some(HttpEnd::Whole));
}

#[test]
fn a_request_that_the_server_may_have_got_is_not_sent_again() {
    for answer in ["", "HTTP/1.1 2"] {
        let scratch = Scratch::new();
        let (came, seen) = channel();
        let server = Server::new(move |_, mut peer| {
            if peer.request_or_end().is_some_and(|(_, body)| body == b"{}") {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                if peer.request_or_end().is_some() {
                    came.send(()).unwrap();
                    peer.write(answer);
                }
            } else {
                came.send(()).unwrap();
            }
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(post("{}"));
        client.message();
        client.write(post(CALL));
        let (head, body) = client.message();
        assert!(head.starts_with("HTTP/1.1 502"), "{head}");
        assert!(String::from_utf8(body).unwrap().starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"));
        seen.recv_timeout(LIMIT).unwrap();
        assert!(seen.try_recv().is_err(), "it came twice");
    }
}

#[test]
fn an_answer_before_the_request_was_read_comes_through() {
    for then_closes in [false, true] {
        let scratch = Scratch::new();
        let server = Server::new(move |_, mut peer| {
            peer.head();
            peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large");
            if !then_closes {
                peer.wait_closed();
            }
            peer.shutdown_write();
            peer.rest();
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nsome of it");
        assert!(client.head().starts_with("HTTP/1.1 413"));
        client.expect("too large");
    }
}
