//! What a client is told when the server cannot be reached, when it may not ask, and when it says too much.

use std::net::TcpListener;

use tap_frame::HttpEnd;

use super::peer::{Proxy, Server, field, get, post, recorded};
use crate::support::Scratch;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// An address at which nobody listens.
fn nobody() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_server_that_is_down_is_an_error_with_the_requests_id_and_back_it_is_used_again() {
    let scratch = Scratch::new();
    let address = nobody();
    let proxy = Proxy::start(&scratch, &format!("http://{address}/mcp"));
    let mut client = proxy.connect();
    for (body, id) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "1"),
        (
            "{\"method\":\"x\",\"params\":{\"id\":7},\"id\":12345678901234567890123,\"jsonrpc\":\"2.0\"}",
            "12345678901234567890123",
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"x\"}", "1e2"),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\\ud800\",\"method\":\"x\"}", "\"\\u0061\\ud800\""),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", "null"),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", "null"),
        ("no JSON", "null"),
    ] {
        client.write(post(body));
        let (head, answer) = client.message();
        let answer = String::from_utf8(answer).unwrap();
        assert!(head.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{head}");
        assert_eq!(field(&head, "content-type"), Some("application/json"));
        assert!(
            answer.starts_with(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32603,\"message\":\"mcp-tap: "
            )),
            "{answer}"
        );
        assert!(answer.contains("refused") && answer.contains(&address.to_string()), "the cause: {answer}");
        assert!(field(&head, "mcp-tap-error").is_some_and(|cause| cause.contains("refused")));
    }
    client.write(get());
    assert!(client.message().0.starts_with("HTTP/1.1 502"));
    let large =
        format!("{{\"jsonrpc\":\"2.0\",\"params\":\"{}\",\"id\":\"large\",\"method\":\"x\"}}", "x".repeat(10_000_000));
    client.write(post(&large));
    assert!(String::from_utf8(client.message().1).unwrap().contains("\"id\":\"large\""));
    assert_eq!(proxy.said().matches("refused").count(), 1, "said once: {}", proxy.said());
    let server = Server::at(address, |_, mut peer| {
        while peer.request_or_end().is_some() {
            peer.write(OK);
        }
    });
    assert_eq!(server.address, address);
    client.write(post("{}"));
    assert_eq!(client.message().1, b"{}");
    let said = proxy.stop();
    assert!(said.contains("the server is back"), "{said}");
    let all = recorded(&scratch);
    let (last, down) = all.split_last().unwrap();
    assert_eq!(last.end, Some(HttpEnd::Whole));
    for one in down {
        assert_eq!((one.end, one.connected.as_deref()), (Some(HttpEnd::ByServer), None));
        assert!(one.response.contains("mcp-tap-error: "), "the record says whose answer it is: {}", one.response);
    }
}

#[test]
fn an_answer_that_is_no_http_is_an_error_that_says_so() {
    for answer in
        ["SSH-2.0-OpenSSH_9.6\r\n\r\n", "HTTP/1.1 banana\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
    {
        let scratch = Scratch::new();
        let (server, _) = Server::answering(answer);
        let proxy = Proxy::start(&scratch, &server.url("/mcp"));
        let mut client = proxy.connect();
        client.write(post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}"));
        let (head, body) = client.message();
        assert!(head.starts_with("HTTP/1.1 502"), "{head}");
        assert!(String::from_utf8(body).unwrap().contains("cannot be read"), "{answer}");
    }
}

#[test]
fn pages_of_other_sites_are_refused_before_the_server_hears_of_them() {
    let scratch = Scratch::new();
    let (server, seen) = Server::answering(OK);
    let options = ["--allow-origin", "https://App.example.com", "--allow-host", "tap.example.com"];
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &options, &[]);
    let n_seen = || seen.lock().unwrap().len();
    for (fields, allowed) in [
        ("Host: localhost\r\n", true),
        ("Host: localhost\r\nOrigin: http://localhost:6274\r\n", true),
        ("Host: localhost\r\nOrigin: https://app.example.com\r\n", true),
        ("Host: tap.example.com:80\r\n", true),
        ("Host: localhost\r\nSec-Fetch-Site: none\r\n", true),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", false),
        ("Host: localhost\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n", false),
        ("Host: localhost\r\nOrigin: https://evil.example\r\n", false),
        ("Host: localhost\r\nOrigin: null\r\n", false),
        ("Host: localhost\r\nOrigin: http://localhost.evil.example\r\n", false),
        ("Host: evil.example\r\n", false),
        ("Host: localhost.evil.example\r\nOrigin: http://localhost\r\n", false),
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let before = n_seen();
            let mut client = proxy.connect();
            client.write(format!("{method} /mcp HTTP/1.1\r\n{fields}Content-Length: 2\r\n\r\n{{}}"));
            let (head, body) = client.message();
            assert_eq!(n_seen() > before, allowed, "{fields}");
            assert_eq!(head.starts_with("HTTP/1.1 200"), allowed, "{fields}: {head}");
            if !allowed {
                assert!(head.starts_with("HTTP/1.1 403 Forbidden"), "{head}");
                let body = String::from_utf8(body).unwrap();
                assert!(body.contains("--allow-"), "what to do: {body}");
            }
        }
    }
}

#[test]
fn heads_are_taken_up_to_the_limit_and_a_larger_one_is_said_to_be_too_large() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        while let Some((head, _)) = peer.request_or_end() {
            let wanted: usize = field(&head, "x-want").map_or(0, |value| value.parse().unwrap());
            peer.write(format!("HTTP/1.1 200 OK\r\nX-Large: {}\r\nContent-Length: 0\r\n\r\n", "y".repeat(wanted)));
        }
    });
    let ask = |proxy: &Proxy, n_sent: usize, n_wanted: usize| {
        let mut client = proxy.connect();
        client.write(format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Large: {}\r\nX-Want: {n_wanted}\r\n\r\n",
            "x".repeat(n_sent)
        ));
        let head = client.head();
        head.split(' ').nth(1).unwrap().to_owned()
    };
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    assert_eq!(ask(&proxy, 200_000, 200_000), "200");
    assert_eq!(ask(&proxy, 400_000, 0), "431");
    assert_eq!(ask(&proxy, 0, 400_000), "502");
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--max-header-size", "1000000"], &[]);
    assert_eq!(ask(&proxy, 900_000, 900_000), "200");
    let many: String = (0..90).map(|number| format!("X-{number}: a\r\n")).collect();
    let mut client = proxy.connect();
    client.write(format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"));
    assert!(client.head().starts_with("HTTP/1.1 200"));
    let too_many: String = (0..110).map(|number| format!("X-{number}: a\r\n")).collect();
    let mut client = proxy.connect();
    client.write(format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{too_many}\r\n"));
    assert!(client.head().starts_with("HTTP/1.1 431"));
}

#[test]
fn a_redirect_is_passed_on_and_one_that_leads_away_from_the_proxy_is_told_of_once() {
    let scratch = Scratch::new();
    let server = Server::new(|_, mut peer| {
        let own = peer.own_address();
        while let Some((head, _)) = peer.request_or_end() {
            let location = if head.contains("/away") { format!("http://{own}/mcp/") } else { "/mcp/".into() };
            peer.write(format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
        }
    });
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(field(&client.head(), "location"), Some("/mcp/"));
    assert!(!proxy.said().contains("redirect"));
    for _ in 0..2 {
        client.write("GET /away HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(field(&client.head(), "location"), Some(server.url("/mcp/").as_str()));
    }
    assert_eq!(proxy.stop().matches("redirect").count(), 1);
}

#[test]
fn quiet_says_nothing_and_a_bad_address_is_explained() {
    let scratch = Scratch::new();
    for (arguments, words) in [
        (&["proxy", "example.com/mcp"][..], "give it whole"),
        (&["proxy", "/mcp"], "give it whole"),
        (&["proxy", "ftp://example.com/mcp"], "give it whole"),
        (&["proxy", "--cacert", "/no/such/file", "https://localhost/mcp"], "/no/such/file"),
        (&["proxy", "--cacert", "/etc/hostname", "https://localhost/mcp"], "--cacert"),
        (&["proxy", "--listen", "192.0.2.1:1", "http://localhost/mcp"], "--listen"),
        (&["proxy", "--max-header-size", "12", "http://localhost/mcp"], "8192"),
    ] {
        let output = scratch.tap(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    }
}
