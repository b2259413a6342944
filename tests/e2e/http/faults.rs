//! Odd peers, and the end of the proxy itself: passed on as they are, recorded as what they were.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tap_frame::HttpEnd;

use super::peer::{Proxy, STREAM, Server, chunk, get, post, recorded};
use crate::support::{Scratch, wait_until};

const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}";

#[test]
fn answers_that_are_not_what_they_should_be_are_passed_on_and_recorded_as_they_are() {
    for (status, kind, body) in [
        ("200 OK", "text/html", "<html>Sign in</html>"),
        ("502 Bad Gateway", "text/html", "<center>nginx</center>"),
        ("200 OK", "application/json", "{\"jsonrpc\":"),
        ("200 OK", "text/event-stream", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
        ("200 OK", "application/json", "data: 1\n\n"),
        ("200 OK", "application/octet-stream", "\u{0}\u{1}"),
        ("404 Not Found", "text/plain", "Session not found"),
        ("200 OK", "", "no type at all"),
    ] {
        let scratch = Scratch::new();
        let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
        let answer = format!("HTTP/1.1 {status}\r\n{kind}Content-Length: {}\r\n\r\n", body.len());
        let (server, _) = Server::answering(format!("{answer}{body}"));
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(post(CALL));
        let (head, got) = client.message();
        assert_eq!((head, got.as_slice()), (answer, body.as_bytes()));
        proxy.stop();
        let [one] = recorded(&scratch).try_into().unwrap();
        assert_eq!((one.response_body.as_slice(), one.end), (body.as_bytes(), Some(HttpEnd::Whole)));
        assert!(one.response.contains(status.split(' ').next().unwrap()));
        let connected = one.connected.unwrap();
        assert!(connected.starts_with("HTTP/1.1 "), "how long it took to connect: {connected}");
    }
}

#[test]
fn bodies_of_a_hundred_megabytes_pass_in_both_directions() {
    const SIZE: usize = 100_000_000;
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        peer.head();
        let body = peer.exactly(SIZE);
        peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"));
        peer.write(body);
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/other"));
    let mut client = proxy.connect();
    let body: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    client.write(format!("POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: {SIZE}\r\n\r\n"));
    assert!(client.write(&body));
    client.head();
    crate::support::same(&client.exactly(SIZE), &body);
}

#[test]
fn signals_end_it_at_once_with_streams_open_and_all_that_passed_is_recorded() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let scratch = Scratch::new();
        let server = Server::new(|_, mut peer| {
            peer.head();
            peer.write(STREAM);
            peer.write(chunk("data: 1\n\n"));
            peer.wait_closed();
        });
        let mut proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut clients: Vec<_> = (0..20).map(|_| proxy.connect()).collect();
        for client in &mut clients {
            client.write(get());
            client.head();
            client.expect_chunked("data: 1\n\n");
        }
        // One that says nothing, and one in the middle of a head.
        let (_silent, mut slow) = (proxy.connect(), proxy.connect());
        slow.write("POST /mcp HTT");
        let began = Instant::now();
        proxy.signal(signal);
        assert_eq!(proxy.wait().code(), Some(0));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        let all = recorded(&scratch);
        assert_eq!(all.len(), 20);
        for one in all {
            assert_eq!(one.response_body, b"data: 1\n\n");
            assert_eq!(one.end, None, "nobody knows how it would have ended");
        }
        for mut client in clients {
            assert!(!client.rest().ends_with(b"0\r\n\r\n"), "what is cut does not look like an end");
        }
    }
}

#[test]
fn both_addresses_of_localhost_reach_it_and_it() {
    let scratch = Scratch::new();
    let Some(server) = on_ipv6() else {
        // Not every machine that tests run on has IPv6, and nothing of ours could change that.
        return eprintln!("skipped localhost on IPv6: there is no ::1 here");
    };
    let named =
        std::net::ToSocketAddrs::to_socket_addrs("localhost:1").is_ok_and(|mut all| all.any(|one| one.is_ipv6()));
    let host = if named { "localhost" } else { "[::1]" };
    let proxy = Proxy::start(&scratch, &format!("http://{host}:{}/mcp", server.address.port()));
    for address in [proxy.address, format!("[::1]:{}", proxy.address.port()).parse().unwrap()] {
        let mut client = super::peer::Peer::connect(address);
        client.write(post("{}"));
        assert_eq!(client.message().1, b"{}", "{address}");
    }
}

/// A server that is on ::1 alone.
fn on_ipv6() -> Option<Server> {
    std::net::TcpListener::bind("[::1]:0").ok()?;
    Some(Server::at("[::1]:0".parse().unwrap(), |_, mut peer| {
        while peer.request_or_end().is_some() {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        }
    }))
}

#[test]
fn a_proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let scratch = Scratch::new();
    let (corporate, seen) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nours");
    let corporate_url = format!("http://me:s%65cret@{}", corporate.address);
    let (server, asked) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ndirect");
    for (name, url, others, expected) in [
        ("HTTP_PROXY", "http://mcp.example/mcp", &[][..], "ours"),
        ("http_proxy", "http://mcp.example/mcp", &[], "ours"),
        ("ALL_PROXY", "http://mcp.example/mcp", &[], "ours"),
        ("HTTP_PROXY", &server.url("/mcp"), &[], "direct"),
        ("ALL_PROXY", &format!("http://localhost:{}/mcp", server.address.port()), &[], "direct"),
        ("HTTP_PROXY", "http://mcp.example/mcp", &[("NO_PROXY", "example")], "error"),
        ("HTTPS_PROXY", "http://mcp.example/mcp", &[], "error"),
    ] {
        let environment = [&[(name, corporate_url.as_str())][..], others].concat();
        let proxy = Proxy::with(&scratch, url, &[], &environment);
        let mut client = proxy.connect();
        client.write(post("{}"));
        let body = String::from_utf8(client.message().1).unwrap();
        assert!(body.contains(expected), "{name} {url}: {body}");
    }
    for (head, _) in seen.lock().unwrap().iter() {
        assert!(head.starts_with("POST http://mcp.example/mcp HTTP/1.1\r\n"), "{head}");
        assert_eq!(super::peer::field(head, "host"), Some("mcp.example"));
        assert_eq!(super::peer::field(head, "proxy-authorization"), Some("Basic bWU6c2VjcmV0"));
    }
    seen.lock().unwrap().clear();
    let port = server.address.port();
    let proxy = Proxy::with(
        &scratch,
        &format!("http://real.example:{port}/mcp"),
        &["--resolve", &format!("real.example:{port}:127.0.0.1")],
        &[("HTTP_PROXY", &corporate_url)],
    );
    let mut client = proxy.connect();
    client.write(post("{}"));
    assert_eq!(client.message().1, b"direct");
    let (head, _) = asked.lock().unwrap().last().cloned().unwrap();
    assert!(head.starts_with("POST /mcp HTTP/1.1\r\n") && !head.to_lowercase().contains("proxy-"), "{head}");
    assert!(seen.lock().unwrap().is_empty(), "what we are told the address of is reached without a proxy");
    let (tunnel, seen) = Server::answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    let proxy = Proxy::with(
        &scratch,
        "https://mcp.example/mcp",
        &[],
        &[("HTTPS_PROXY", &format!("http://a:b@{}", tunnel.address))],
    );
    let mut client = proxy.connect();
    client.write(post("{}"));
    assert!(client.message().0.starts_with("HTTP/1.1 502"));
    wait_until("the proxy was asked for a tunnel", || !seen.lock().unwrap().is_empty());
    let head = seen.lock().unwrap()[0].0.clone();
    assert!(head.starts_with("CONNECT mcp.example:443 HTTP/1.1\r\n"), "{head}");
    assert_eq!(super::peer::field(&head, "proxy-authorization"), Some("Basic YTpi"));
}
