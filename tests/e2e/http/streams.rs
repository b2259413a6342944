//! Bodies go on as they come, in both directions, byte for byte, however slowly or for however long.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tap_frame::HttpEnd;

use super::peer::{Proxy, STREAM, Server, chunk, field, get, post, recorded};
use crate::support::{LIMIT, Scratch, wait_until};

#[test]
fn an_event_reaches_the_client_before_the_next_one_exists_and_byte_for_byte() {
    const EVENTS: &[&str] = &[
        ": a comment\n\n",
        "retry: 3000\r\nid: 1\r\ndata:\r\n\r\n",
        "event: message\rdata: {\"a\":\rdata: 1}\r\r",
        "id: 2\ndata: {\"é\":\"\u{2028}\"}\n\n",
        ":\n",
        "data: half of ",
        "an event\n",
        "\n",
        "\u{feff}data:no space\n\ndata:  two spaces\n\n",
        "data: last, without an end",
    ];
    for request in [get().to_owned(), post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}")] {
        let scratch = Scratch::new();
        let (go, may_go) = channel::<()>();
        let may_go = std::sync::Mutex::new(may_go);
        let server = Server::new(move |_, mut peer| {
            peer.message();
            peer.write(STREAM);
            for event in EVENTS {
                may_go.lock().unwrap().recv_timeout(LIMIT).unwrap();
                peer.write(chunk(event));
            }
            may_go.lock().unwrap().recv_timeout(LIMIT).unwrap();
            peer.write("0\r\n\r\n");
            peer.wait_closed();
        });
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(&request);
        assert_eq!(field(&client.head(), "content-type"), Some("text/event-stream"));
        for event in EVENTS {
            go.send(()).unwrap();
            client.expect_chunked(event);
        }
        go.send(()).unwrap();
        assert!(client.chunk().is_empty());
        proxy.stop();
        let [one] = recorded(&scratch).try_into().unwrap();
        assert_eq!(String::from_utf8(one.response_body).unwrap(), EVENTS.concat());
        assert_eq!(one.end, Some(HttpEnd::Whole));
    }
}

#[test]
fn a_body_of_a_request_is_not_gathered_either() {
    let scratch = Scratch::new();
    let (came, has_come) = channel();
    let server = Server::new(move |_, mut peer| {
        assert_eq!(field(&peer.head(), "transfer-encoding"), Some("chunked"));
        loop {
            let data = peer.chunk();
            if data.is_empty() {
                break;
            }
            came.send(data).unwrap();
        }
        peer.expect("\r\n");
        peer.write("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for part in ["{\"jsonrpc\":", "\"2.0\",", "\"method\":\"x\"}"] {
        client.write(chunk(part));
        assert_eq!(has_come.recv_timeout(LIMIT).unwrap(), part.as_bytes());
    }
    client.write("0\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 202"));
    proxy.stop();
    let [one] = recorded(&scratch).try_into().unwrap();
    assert_eq!(one.request_body, b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}");
    assert!(one.is_request_whole);
}

#[test]
fn a_client_that_waits_for_100_is_told_to_go_on_and_the_server_sees_that_it_waited() {
    let scratch = Scratch::new();
    let (server, seen) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    client.expect("HTTP/1.1 100 Continue\r\n\r\n");
    client.write("{}");
    assert!(client.head().starts_with("HTTP/1.1 200 OK"));
    let seen = seen.lock().unwrap();
    assert_eq!(field(&seen[0].0, "expect"), Some("100-continue"));
    assert_eq!(seen[0].1, b"{}");
}

#[test]
fn an_idle_stream_is_not_cut_and_keep_alive_is_asked_of_both_sides() {
    let scratch = Scratch::new();
    let (go, may_go) = channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let server = Server::new(move |_, mut peer| {
        peer.head();
        peer.write(STREAM);
        may_go.lock().unwrap().recv_timeout(LIMIT).unwrap();
        peer.write(chunk("data: still here\n\n"));
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(get());
    client.head();
    // Timers of connections are in /proc/net/tcp: 2 is keep-alive.
    let timers = |port: u16| {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let ends = format!(":{port:04X}");
        table.lines().filter(|line| line.contains(&ends) && line.contains(" 02:")).count()
    };
    wait_until("both connections have a keep-alive timer", || {
        timers(proxy.address.port()) >= 1 && timers(server.address.port()) >= 1
    });
    let idle = Instant::now();
    wait_until("some time has passed", || idle.elapsed() > Duration::from_secs(5));
    go.send(()).unwrap();
    client.expect_chunked("data: still here\n\n");
}

#[test]
fn a_reader_that_is_slow_slows_the_server_down_and_costs_no_memory() {
    const MIB: usize = 1 << 20;
    let scratch = Scratch::new();
    let (sent, how_much) = channel();
    let server = Server::new(move |_, mut peer| {
        peer.head();
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        let mut event = b"data: ".to_vec();
        event.resize(MIB - 2, b'x');
        event.extend(b"\n\n");
        for number in 0..1_024usize {
            if !peer.write(&event) {
                return;
            }
            let _ = sent.send(number);
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.small_buffer();
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head();
    let mut stalled_at = 0;
    let mut since = Instant::now();
    wait_until("the server cannot go on", || {
        if let Some(number) = how_much.try_iter().last() {
            (stalled_at, since) = (number, Instant::now());
        }
        since.elapsed() > Duration::from_secs(1)
    });
    assert!(stalled_at < 64, "{stalled_at} MiB were taken of which the client has read nothing");
    let before = proxy.memory_kib();
    let mut most = before;
    for number in 0..256u32 {
        client.chunked_at_least(MIB);
        if number.is_multiple_of(32) {
            most = most.max(proxy.memory_kib());
        }
    }
    assert!(most < 160 * 1024, "{most} KiB are in use, {before} before");
    assert!(how_much.try_iter().last().is_some_and(|number| number >= 250));
}

#[test]
fn a_server_that_reads_slowly_slows_the_client_down_and_costs_no_memory() {
    const MIB: usize = 1 << 20;
    let scratch = Scratch::new();
    let (go, may_go) = channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let server = Server::new(move |_, mut peer| {
        peer.head();
        may_go.lock().unwrap().recv_timeout(LIMIT).unwrap();
        for _ in 0..96 {
            peer.exactly(MIB);
        }
        peer.write("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    let (sent, how_much) = channel();
    let sending = std::thread::spawn(move || {
        client.write(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 96 * MIB));
        for number in 0..96usize {
            assert!(client.write(vec![b'x'; MIB]));
            let _ = sent.send(number);
        }
        client
    });
    let (mut stalled_at, mut since) = (0, Instant::now());
    wait_until("the client cannot go on", || {
        if let Some(number) = how_much.try_iter().last() {
            (stalled_at, since) = (number, Instant::now());
        }
        since.elapsed() > Duration::from_secs(1)
    });
    assert!(stalled_at < 64, "{stalled_at} MiB were taken of which the server has read nothing");
    let stalled = proxy.memory_kib();
    go.send(()).unwrap();
    let mut client = sending.join().unwrap();
    assert!(client.head().starts_with("HTTP/1.1 202"));
    assert!(proxy.memory_kib() < 160 * 1024, "{} KiB are in use, {stalled} before", proxy.memory_kib());
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        while let Some((_, body)) = peer.request_or_end() {
            peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()));
            peer.write(body);
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    let all: String = (0..50).map(|number| post(&format!("{{\"id\":{number}}}"))).collect();
    client.write(all);
    for number in 0..50 {
        assert_eq!(client.message().1, format!("{{\"id\":{number}}}").as_bytes());
    }
}
