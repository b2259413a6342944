//! What is secret goes through the proxy and is in no file of ours, and nowhere in what we say.

use super::peer::{Proxy, Server, field, recorded};
use crate::support::Scratch;

/// Each place has a secret of its own, so that a leak says where it is.
fn secret(place: &str) -> String {
    format!("s3cr3t{place}Zx81Qp77Lm02")
}

#[test]
fn no_secret_is_in_the_store_or_on_stderr() {
    let scratch = Scratch::new();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nSet-Cookie: sid={}; HttpOnly\r\nMcp-Session-Id: {}\r\nWWW-Authenticate: Bearer realm=\"x\", nonce=\"{}\"\r\n\
        WWW-Authenticate: Negotiate {}==\r\nX-Auth-Token: {}\r\nLocation: http://localhost/cb?code={}#{}\r\nAuthentication-Info: {}\r\n\
        Proxy-Authenticate: Custom {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        secret("cookie"),
        secret("session"),
        secret("nonce"),
        secret("negotiate"),
        secret("custom"),
        secret("code"),
        secret("fragment"),
        secret("info"),
        secret("proxyrealm"),
        secret("token").len() + 19,
        format_args!("{{\"access_token\":\"{}\"}}", secret("token")),
    );
    let (server, seen) = Server::answering(answer);
    let url =
        format!("http://user:{}@{}/{}/mcp?key={}", secret("password"), server.address, secret("path"), secret("query"));
    let mut proxy = Proxy::start(&scratch, &url);
    let mut client = proxy.connect();
    let fields = format!(
        "Host: localhost\r\nAuthorization: Bearer {}\r\nCookie: a={}\r\nProxy-Authorization: Basic {}\r\nX-Api-Key: {}\r\nApi-Key: {}\r\n\
        X-Whatever: {}\r\nReferer: http://x/?{}\r\nMcp-Session-Id: {}\r\nMcp-Protocol-Version: 2025-11-25\r\nDPoP: {}\r\n",
        secret("bearer"),
        secret("sentcookie"),
        secret("proxy"),
        secret("apikey"),
        secret("api"),
        secret("whatever"),
        secret("referer"),
        secret("sentsession"),
        secret("dpop")
    );
    let form = format!("grant_type=authorization_code&code={}&client_secret={}", secret("formcode"), secret("client"));
    let json = format!("{{\"client_secret\":\"{}\"}}", secret("registered"));
    for (line, kind, body) in [
        ("POST /token".to_owned(), "application/x-www-form-urlencoded", &form),
        ("POST /oauth2/v1/token".to_owned(), "application/json", &json),
        ("POST /register".to_owned(), "application/json", &json),
        ("POST /somewhere".to_owned(), "application/x-www-form-urlencoded", &form),
        (format!("GET /callback?code={}&{}", secret("callback"), secret("bare")), "text/plain", &String::new()),
        (format!("GET /.well-known/openid-configuration?k={}", secret("wellknown")), "text/plain", &String::new()),
        (format!("GET /a/{}/b", secret("longpartofapath")), "text/plain", &String::new()),
    ] {
        client.write(format!(
            "{line} HTTP/1.1\r\n{fields}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let (head, got) = client.message();
        assert!(head.contains(&secret("cookie")) && head.contains(&secret("session")), "the client gets all of it");
        assert!(String::from_utf8(got).unwrap().contains(&secret("token")));
    }
    // The MCP endpoint itself, with its own path and query.
    client.write(format!(
        "POST /{}/mcp?key={} HTTP/1.1\r\n{fields}Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
        secret("path"), secret("query")
    ));
    // Its answer is MCP, so that its body is kept; what is in it here is no secret of HTTP's.
    let (_, body) = client.message();
    drop(client);
    {
        let seen = seen.lock().unwrap();
        assert!(seen.last().unwrap().0.contains(&secret("path")) && seen.last().unwrap().0.contains(&secret("bearer")));
        assert_eq!(seen[0].1, form.as_bytes());
    }
    proxy.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(proxy.wait().code(), Some(0));
    let said = proxy.said();
    let all = recorded(&scratch);
    assert_eq!(all.len(), 8);
    assert!(all[..6].iter().all(|one| one.request_body.is_empty() && one.response_body.is_empty()), "{all:?}");
    assert_eq!((all[7].request_body.as_slice(), &all[7].response_body), (&b"{}"[..], &body));
    assert!(all[7].request.contains("mcp-protocol-version: 2025-11-25"));
    let session = |text: &str| field(text, "mcp-session-id").map(str::to_owned);
    assert!(session(&all[0].request).is_some_and(|own| Some(own) == session(&all[7].request)), "equal ids stay equal");

    let mut files = vec![("stderr".to_owned(), said.into_bytes())];
    for entry in std::fs::read_dir(scratch.db().parent().unwrap()).unwrap().flatten() {
        files.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()));
    }
    let kept_body = secret("token");
    for (name, bytes) in files {
        let needle = b"s3cr3t";
        for (at, _) in bytes.windows(needle.len()).enumerate().filter(|(_, window)| *window == needle) {
            let text = String::from_utf8_lossy(&bytes[at..(at + 40).min(bytes.len())]).into_owned();
            assert!(text.starts_with(&kept_body), "{name} has {text}");
        }
    }
}

#[test]
fn what_is_not_written_in_time_is_spilled_without_secrets_too() {
    let scratch = Scratch::new();
    let (server, _) = Server::answering(format!(
        "HTTP/1.1 200 OK\r\nSet-Cookie: {}\r\nContent-Length: 2\r\n\r\n{{}}",
        secret("cookie")
    ));
    // Somebody holds the database, so that the recorder has to spill.
    std::fs::create_dir_all(scratch.db().parent().unwrap()).unwrap();
    let holder = rusqlite::Connection::open(scratch.db()).unwrap();
    holder.execute_batch("PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE;").unwrap();
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    for _ in 0..200 {
        client.write(format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
            secret("bearer")
        ));
        client.message();
    }
    proxy.stop();
    for entry in std::fs::read_dir(scratch.db().parent().unwrap()).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"s3cr3t"), "{:?}", entry.file_name());
    }
}
