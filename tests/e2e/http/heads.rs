//! Heads go on as they are, but for what is between neighbours and for `Host`.

use super::peer::{Proxy, Server, field, fields, recorded};
use crate::support::Scratch;

/// Has one request and one answer go through the proxy, and gives both as the other side got them.
#[track_caller]
fn exchange(request: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) -> (String, Vec<u8>, String, Vec<u8>) {
    let scratch = Scratch::new();
    let (server, seen) = Server::answering(answer.as_ref());
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(request);
    let (head, body) = client.message();
    let (request_head, request_body) =
        seen.lock().unwrap().first().cloned().unwrap_or_else(|| panic!("no request came: {head}"));
    let address = server.address.to_string();
    assert_eq!(fields(&request_head, "host"), [address.as_str()], "one Host, the server's: {request_head}");
    (request_head, request_body, head, body)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

#[test]
fn fields_of_a_request_reach_the_server_line_by_line_as_they_were_written() {
    let long = "v".repeat(7_000);
    let request = format!(
        "POST /mcp?a=%20b&c HTTP/1.1\r\nhOsT: localhost\r\nX-Odd_name.1: a\r\nx-twice: 1\r\nX-Twice: 2\r\n\
        Mcp-Session-Id: one\r\nMCP-SESSION-ID: two\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
        Mcp-Name: =?base64?w6k=?=\r\nMcp-Param-Region: eu\r\nMcp-Param-Unknown: 1, 2\r\nAccept: text/event-stream;q=0.5, */*\r\n\
        Accept-Encoding: gzip, br\r\nOrigin: http://localhost:6274\r\nAuthorization: Bearer abc\r\nCookie: a=1; b=2\r\n\
        Last-Event-ID: 7\r\nX-Long: {long}\r\nX-Empty:\r\nUser-Agent: x/1 (y)\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let (head, body, ..) = exchange(&request, OK);
    assert_eq!(body, b"{}");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.to_lowercase().starts_with("host:"))
            .map(|line| line.trim_end().to_owned())
            .collect();
        lines.sort();
        lines
    };
    let sent = request.split("{}").next().unwrap();
    assert_eq!(sorted(&head), sorted(sent.trim_end_matches("{}")), "nothing is added, changed or lost");
    assert_eq!(fields(&head, "x-twice"), ["1", "2"]);
    assert!(head.contains("Mcp-Session-Id: one\r\n") && head.contains("MCP-SESSION-ID: two\r\n"));
}

#[test]
fn values_that_are_no_utf_8_pass_in_both_directions() {
    let request = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Latin: caf\xe9\r\nX-Utf: caf\xc3\xa9\r\n\r\n";
    let answer = b"HTTP/1.1 200 OK\r\nX-Latin: caf\xe9\r\nX-Utf: caf\xc3\xa9\r\nContent-Length: 0\r\n\r\n";
    let (sent, _, got, _) = exchange(request, answer);
    for head in [sent, got] {
        assert_eq!(field(&head, "x-latin"), Some("caf\u{fffd}"));
        assert_eq!(field(&head, "x-utf"), Some("café"));
    }
}

#[test]
fn what_is_between_neighbours_stays_between_them() {
    let request = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
        Proxy-Authorization: Basic x\r\nTE: trailers\r\nUpgrade: h2c\r\nX-End: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nConnection: X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: timeout=5\r\nX-End: 3\r\nContent-Length: 2\r\n\r\n{}";
    let (sent, body, got, _) = exchange(request, answer);
    assert_eq!(body, b"{}");
    assert_eq!(field(&sent, "transfer-encoding"), Some("chunked"), "what came in chunks goes on in chunks");
    assert_eq!((field(&sent, "x-end"), field(&got, "x-end")), (Some("2"), Some("3")));
    for name in ["x-hop", "x-theirs", "keep-alive", "proxy-authorization", "upgrade", "connection"] {
        assert_eq!((field(&sent, name), field(&got, name)), (None, None), "{name}");
    }
}

#[test]
fn a_request_without_body_gets_none_and_no_field_for_one() {
    let (sent, ..) = exchange("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", OK);
    let (_, address) = sent.split_once("\r\n").unwrap();
    assert_eq!(sent.lines().next(), Some("GET /mcp HTTP/1.1"));
    assert_eq!(address.trim().lines().count(), 1, "Host alone: {sent}");
    let (sent, ..) = exchange("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: a\r\n\r\n", OK);
    assert_eq!(sent.trim().lines().count(), 3, "{sent}");
    let (sent, ..) = exchange("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", OK);
    assert_eq!(field(&sent, "content-length"), Some("0"));
}

#[test]
fn even_a_get_may_have_a_body() {
    for request in [
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ] {
        let (_, body, ..) = exchange(request, OK);
        assert_eq!(body, b"{}", "{request}");
    }
}

#[test]
fn answers_keep_status_reason_fields_and_framing_and_nothing_is_added() {
    for (answer, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "{}"),
        ("HTTP/1.1 200 Fine\r\nContent-Length: 0\r\n\r\n", ""),
        ("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", ""),
        ("HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", ""),
        ("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n", "{}"),
        (
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer a=\"b\"\r\nWWW-Authenticate: DPoP\r\nContent-Length: 0\r\n\r\n",
            "",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n",
            "",
        ),
        ("HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n", ""),
        ("HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n", ""),
        ("HTTP/1.1 599 Odd Thing\r\nDate: never\r\nServer: x\r\nContent-Length: 1\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", "\x1f\x0b\x08"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: x-unknown\r\nX-Accel-Buffering: no\r\nContent-Length: 3\r\n\r\n", "abc"),
    ] {
        let (_, _, head, got) =
            exchange("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", format!("{answer}{body}"));
        assert_eq!(head, answer);
        assert_eq!(got, body.as_bytes());
    }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (_, _, head, got) =
        exchange("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", format!("{chunked}3\r\nabc\r\n0\r\n\r\n"));
    assert_eq!(head.to_lowercase(), chunked.to_lowercase());
    assert_eq!(got, b"abc");
}

#[test]
fn an_answer_to_head_and_304_have_no_body_and_the_connection_goes_on() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        while let Some((head, _)) = peer.request_or_end() {
            peer.write(match head.split(' ').next() {
                Some("HEAD") => "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nETag: \"a\"\r\n\r\n",
                _ => "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\nETag: \"a\"\r\n\r\n",
            });
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.head(), "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nETag: \"a\"\r\n\r\n");
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.head(), "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    client.write("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn informational_answers_are_left_out_and_the_last_one_comes() {
    let answer = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    let (_, _, head, body) = exchange("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", answer);
    assert!(head.starts_with("HTTP/1.1 200 OK"));
    assert_eq!(body, b"{}");
}

#[test]
fn trailers_that_were_announced_pass_to_who_wants_them() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        let head = peer.head();
        assert_eq!(field(&head, "te"), Some("trailers"));
        assert_eq!(field(&head, "trailer"), Some("X-Sum"));
        peer.expect("3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n");
        peer.write(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\ndef\r\n0\r\nX-Sum: 8\r\n\r\n",
        );
        peer.wait_closed();
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
    );
    client.head();
    client.expect("3\r\ndef\r\n0\r\nx-sum: 8\r\n\r\n");
}

#[test]
fn a_preflight_of_a_page_on_this_machine_is_the_servers_to_answer() {
    let request = "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:6274\r\n\
        Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: mcp-session-id\r\n\r\n";
    let answer = "HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: Mcp-Session-Id\r\n\r\n";
    let (sent, _, got, _) = exchange(request, answer);
    assert_eq!(field(&sent, "origin"), Some("http://localhost:6274"));
    assert_eq!(field(&sent, "access-control-request-headers"), Some("mcp-session-id"));
    assert_eq!(got, answer);
}

#[test]
fn every_path_of_the_server_can_be_asked_for() {
    for target in ["/", "/.well-known/oauth-protected-resource/mcp", "/a//b/../c;d={e}?f=g&h=%2F'|^`~", "/mcp?"] {
        let (sent, ..) = exchange(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"), OK);
        assert_eq!(sent.lines().next(), Some(format!("GET {target} HTTP/1.1").as_str()));
    }
    let (sent, ..) = exchange("GET http://localhost/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", OK);
    assert_eq!(sent.lines().next(), Some("GET /mcp HTTP/1.1"));
    let (sent, ..) = exchange("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", OK);
    assert_eq!(sent.lines().next(), Some("OPTIONS * HTTP/1.1"));
}

#[test]
fn clients_and_servers_of_http_1_0_are_served() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        let head = peer.head();
        assert!(head.starts_with("GET /mcp HTTP/1.1\r\n"));
        peer.write("HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nuntil the end");
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write("GET /mcp HTTP/1.0\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.0 200 OK\r\nX-A: b\r\n"));
    assert_eq!(client.rest(), b"until the end");
    let mut client = proxy.connect();
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(field(&client.head(), "transfer-encoding"), Some("chunked"));
    client.expect_chunked("until the end");
    assert!(client.chunk().is_empty());
    proxy.stop();
    assert!(recorded(&scratch).iter().all(|one| one.end == Some(tap_frame::HttpEnd::Whole)));
}

#[test]
fn user_and_password_of_the_url_are_sent_unless_the_client_sends_its_own() {
    let scratch = Scratch::new();
    let (server, seen) = Server::answering(OK);
    let proxy = Proxy::start(&scratch, &format!("http://user:p%40ss@{}/mcp", server.address));
    let mut client = proxy.connect();
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.message();
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer mine\r\n\r\n");
    client.message();
    let seen = seen.lock().unwrap();
    assert_eq!(fields(&seen[0].0, "authorization"), ["Basic dXNlcjpwQHNz"]);
    assert_eq!(fields(&seen[0].0, "host"), [server.address.to_string()]);
    assert_eq!(fields(&seen[1].0, "authorization"), ["Bearer mine"]);
    assert!(!proxy.said().contains("p%40ss") && !proxy.said().contains("user"), "{}", proxy.said());
}
