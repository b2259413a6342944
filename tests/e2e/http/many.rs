//! Many of everything, one after another: nothing is left behind and nothing is lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use tap_frame::HttpEnd;

use super::peer::{Proxy, STREAM, Server, chunk, field, get, post, recorded};
use crate::support::{Scratch, wait_until};

#[test]
fn ten_thousand_sessions_leave_nothing_behind() {
    let scratch = Scratch::new();
    let n_sessions = AtomicUsize::new(0);
    let server = Server::new(move |_, mut peer| {
        while let Some((head, body)) = peer.request_or_end() {
            let written = match head.split(' ').next() {
                Some("DELETE") => peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
                _ => peer.write(format!(
                    "HTTP/1.1 200 OK\r\nMcp-Session-Id: s{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    n_sessions.fetch_add(1, Ordering::Relaxed), body.len(), String::from_utf8_lossy(&body)
                )),
            };
            if !written {
                return;
            }
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    // A client has some sessions, one after another, over one connection, and leaves most of them without a word.
    let client = |number: usize| {
        let mut client = proxy.connect();
        for number in number * 20..(number + 1) * 20 {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"initialize\"}}");
            client.write(post(&body));
            assert_eq!(client.message().1, body.as_bytes());
        }
        client.write("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: a\r\n\r\n");
        assert!(client.message().0.starts_with("HTTP/1.1 200"));
    };
    (0..100).for_each(client);
    let (descriptors, memory) = (proxy.n_descriptors(), proxy.memory_kib());
    (100..500).for_each(client);
    wait_until("descriptors are given back", || proxy.n_descriptors() <= descriptors + 3);
    let grown = proxy.memory_kib().saturating_sub(memory);
    assert!(grown < 24 * 1024, "{grown} KiB more than the {memory} KiB before");
    proxy.stop();
    let all = recorded(&scratch);
    assert_eq!(all.len(), 500 * 21);
    assert!(all.iter().all(|one| one.end == Some(HttpEnd::Whole) && one.is_request_whole));
}

#[test]
fn a_server_that_closes_connections_after_a_few_requests_loses_none() {
    for (n_requests, n_all) in [(1, 2_000), (2, 2_000), (7, 10_000)] {
        let scratch = Scratch::new();
        let server = Server::new(move |_, mut peer| {
            for _ in 0..n_requests {
                let Some((_, body)) = peer.request_or_end() else { return };
                peer.write(
                    [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat(),
                );
            }
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        let mut failed = 0;
        for number in 0..n_all {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\"}}");
            client.write(post(&body));
            let (head, got) = client.message();
            if head.starts_with("HTTP/1.1 200") {
                assert_eq!(got, body.as_bytes());
            } else {
                failed += 1;
            }
        }
        // Who closes a connection without a word while a request is on its way to it loses that: once, and then the proxy
        // knows this server.
        assert!(failed <= 1, "{failed} of {n_all} requests to a server that closes after {n_requests}");
    }
}

#[test]
fn one_answer_that_is_lost_does_not_have_each_request_get_a_connection() {
    let scratch = Scratch::new();
    let server = Server::new(|number, mut peer| {
        while let Some((_, body)) = peer.request_or_end() {
            if number == 1 {
                return;
            }
            peer.write(
                [
                    format!("HTTP/1.1 200 OK\r\nX-Connection: {number}\r\nContent-Length: {}\r\n\r\n", body.len())
                        .as_bytes(),
                    &body,
                ]
                .concat(),
            );
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(post("{}"));
    assert!(client.message().0.starts_with("HTTP/1.1 502"));
    for _ in 0..10 {
        client.write(post("{}"));
        assert_eq!(field(&client.message().0, "x-connection"), Some("2"));
    }
}

#[test]
fn streams_that_clients_leave_and_servers_break_leave_nothing_behind() {
    let scratch = Scratch::new();
    let server = Server::new(|number, mut peer| {
        let Some((head, _)) = peer.request_or_end() else { return };
        peer.write(STREAM);
        peer.write(chunk("data: 1\n\n"));
        if field(&head, "x-break").is_some() {
            return if number.is_multiple_of(2) { peer.reset() } else { drop(peer) };
        }
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let round = |number: usize| {
        let mut client = proxy.connect();
        if number.is_multiple_of(3) {
            client.write(get().replace("\r\n\r\n", "\r\nX-Break: 1\r\n\r\n"));
            client.rest();
        } else {
            client.write(get());
            client.head();
            client.expect_chunked("data: 1\n\n");
            if number % 3 == 1 { client.reset() } else { drop(client) }
        }
    };
    (0..300).for_each(round);
    wait_until("the first are over", || proxy.n_descriptors() < 60);
    let (descriptors, memory) = (proxy.n_descriptors(), proxy.memory_kib());
    (0..3_000).for_each(round);
    wait_until("descriptors are given back", || proxy.n_descriptors() <= descriptors + 3);
    let grown = proxy.memory_kib().saturating_sub(memory);
    assert!(grown < 24 * 1024, "{grown} KiB more than the {memory} KiB before");
    proxy.stop();
    let all = recorded(&scratch);
    assert_eq!(all.len(), 3_300);
    // The last one may have left when the proxy was told to end.
    for one in &all[..3_299] {
        let expected = if one.request.contains("x-break") { HttpEnd::ByServer } else { HttpEnd::ByClient };
        assert_eq!(one.end, Some(expected), "{one:?}");
    }
}
