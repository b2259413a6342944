//! The forward proxy between real clients and real servers: authorization goes through unchanged, MCP is recorded, and
//! nothing else is.

mod around;
mod client;
mod named;
mod oauth;
mod server;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use client::{Client, Reply, Way};
use hyper::body::Bytes;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use server::{Answer, Asked, Pki, Server, json};

use crate::support::{Scratch, piped, wait_for, wait_until};

/// What every client of Streamable HTTP sends.
const MCP: [&str; 2] = ["Accept: application/json, text/event-stream", "Content-Type: application/json"];

/// A scratch folder with an authority of the test's own, which stands for those of the system.
struct World {
    scratch: Scratch,
    pki: Pki,
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new();
        let pki = Pki::new(scratch.path("").as_path());
        Self { scratch, pki }
    }

    fn tap(&self, arguments: &[&str]) -> Command {
        let mut command = self.scratch.tap(arguments);
        for variable in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(variable);
        }
        for variable in ["NO_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "SSL_CERT_DIR"] {
            command.env_remove(variable);
        }
        command.env("SSL_CERT_FILE", &self.pki.ca_path).env("XDG_DATA_HOME", self.scratch.path("xdg"));
        command
    }

    /// A forward proxy that is ready.
    fn proxy(&self, arguments: &[&str]) -> Proxy {
        let mut child = piped(self.tap(&[&["proxy", "--forward"], arguments].concat())).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let told: Arc<Mutex<String>> = Arc::default();
        let all = told.clone();
        let reader = std::thread::spawn(move || {
            for line in stderr.lines() {
                let mut all = all.lock().unwrap();
                all.push_str(&line.unwrap());
                all.push('\n');
            }
        });
        wait_until("the proxy is ready", || told.lock().unwrap().contains("DENO_CERT="));
        let text = told.lock().unwrap().clone();
        let address = text.split("HTTPS_PROXY=http://").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        Proxy { child, address, told, reader: Some(reader) }
    }

    /// The certificate of the local authority.
    fn authority(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.scratch.path("xdg/mcp-tap/authority.crt")).unwrap()
    }

    /// All that is kept anywhere: the database and what is beside it.
    fn kept(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.scratch.path("data")).into_iter().flatten();
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
    }

    #[track_caller]
    fn is_kept(&self, text: &str) -> bool {
        self.kept().windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// The names of the recorded sessions' origins.
    fn origins(&self) -> Vec<String> {
        if !self.scratch.db().exists() {
            return Vec::new();
        }
        let database = rusqlite::Connection::open(self.scratch.db()).unwrap();
        let mut statement = database.prepare("SELECT command FROM session ORDER BY 1").unwrap();
        let rows = statement.query_map((), |row| row.get::<_, String>(0)).unwrap();
        rows.map(|row| serde_json::from_str::<Vec<String>>(&row.unwrap()).unwrap().concat()).collect()
    }
}

struct Proxy {
    child: Child,
    address: SocketAddr,
    told: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Proxy {
    fn tunnel(&self) -> Way {
        Way::Tunnel(self.address)
    }

    fn told(&self) -> String {
        self.told.lock().unwrap().clone()
    }

    /// Ends it as a person would, and gives what it told.
    #[track_caller]
    fn stop(mut self) -> String {
        interrupt(&mut self.child);
        self.reader.take().unwrap().join().unwrap();
        self.told()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends a tap as a person would.
#[track_caller]
fn interrupt(tap: &mut Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(tap.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(wait_for(tap).success());
}

fn echo(_: SocketAddr, asked: &Asked) -> Answer {
    json(String::from_utf8(asked.body.clone()).unwrap())
}

#[test]
fn what_is_no_mcp_goes_through_and_leaves_nothing() {
    let world = World::new();
    let proxy = world.proxy(&[]);
    let authority = world.authority();
    let events = "event: put\ndata: {\"flags\":\"confidential\"}\n\nevent: endpoint\ndata: /x\n\n";
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    sender.send(Bytes::from(events)).unwrap();
    drop(sender);
    let stream = Arc::new(Mutex::new(Some(receiver)));
    let server = Server::start(Some(&world.pki), move |_, asked| match asked.target.as_str() {
        "/stream" => Answer::Stream(stream.lock().unwrap().take().unwrap()),
        "/missing" => {
            Answer::Whole(401, vec![("WWW-Authenticate", "Bearer realm=\"confidential\"".into())], "no".into())
        }
        _ => json("{\"completion\":\"confidential\"}"),
    });
    let host = server.host();
    for (method, target, header) in [
        ("POST", "/v1/messages", "Accept: application/json"),
        ("POST", "/v1/stream", "Accept: text/event-stream"),
        ("POST", "/v1/any", "Accept: */*"),
        ("GET", "/missing", "Accept: text/event-stream"),
        ("GET", "/.well-known/oauth-authorization-server", "Accept: application/json"),
        ("DELETE", "/v1/file", "Mcp-Tap-Error: no header of MCP"),
    ] {
        let body = if method == "POST" { "{\"prompt\":\"confidential\"}" } else { "" };
        let headers = [header, "Content-Type: application/json"];
        let through = Client::connect(proxy.tunnel(), Some(&authority), &host).unwrap();
        let through = { through }.ask(method, target, &headers, body);
        let direct = Client::connect(Way::Direct, Some(&world.pki.ca), &host).unwrap();
        assert_eq!(through, { direct }.ask(method, target, &headers, body), "{method} {target}");
    }
    let mut client = Client::connect(proxy.tunnel(), Some(&authority), &host).unwrap();
    client.send("GET", "/stream", &["Accept: text/event-stream"], "");
    assert!(client.read_until("data: /x\n\n").contains(events.split_at(20).0));
    proxy.stop();
    assert_eq!(world.origins(), [""; 0]);
    assert!(!world.is_kept("confidential"));
}

#[test]
fn each_origin_that_shows_mcp_is_a_session_and_the_rest_of_it_is_left_out() {
    let world = World::new();
    let proxy = world.proxy(&[]);
    let authority = world.authority();
    let (one, two) = (Server::start(Some(&world.pki), echo), Server::start(Some(&world.pki), echo));
    for server in [&one, &two] {
        let mut client = Client::connect(proxy.tunnel(), Some(&authority), &server.host()).unwrap();
        client.ask("POST", "/api", &["Accept: application/json"], "{\"before\":\"confidential\"}");
        let ping = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"at\":{}}}}}",
            server.address.port()
        );
        let reply = client.ask("POST", "/mcp", &MCP, &ping);
        assert_eq!((reply.status, reply.body.as_str()), (200, ping.as_str()));
        client.ask("POST", "/api", &["Accept: application/json"], "{\"after\":\"confidential\"}");
        client.ask("GET", "/.well-known/oauth-protected-resource/mcp", &["Authorization: Bearer confidential"], "");
        client.ask(
            "POST",
            "/mcp",
            &["Mcp-Session-Id: s-1-confidential", "Accept: */*"],
            "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
        );
    }
    proxy.stop();
    let mut expected = [&one, &two].map(|server| format!("https://{}", server.host()));
    expected.sort_unstable();
    assert_eq!(world.origins(), expected);
    for text in [format!("\"at\":{}", one.address.port()), format!("\"at\":{}", two.address.port())] {
        assert!(world.is_kept(&text), "{text}");
    }
    assert!(world.is_kept("oauth-protected-resource") && world.is_kept("\"method\":\"x\""));
    assert!(!world.is_kept("confidential") && !world.is_kept("/api"));
}

#[test]
fn a_server_over_http_and_sse_is_known_by_its_endpoint() {
    let world = World::new();
    let proxy = world.proxy(&[]);
    let authority = world.authority();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let stream = Arc::new(Mutex::new(Some(receiver)));
    let server = Server::start(Some(&world.pki), move |_, asked| match asked.method.as_str() {
        "GET" => Answer::Stream(stream.lock().unwrap().take().unwrap()),
        _ => Answer::Whole(202, vec![], "Accepted".into()),
    });
    let mut events = Client::connect(proxy.tunnel(), Some(&authority), &server.host()).unwrap();
    events.send("GET", "/sse", &["Accept: text/event-stream"], "");
    let mut other = Client::connect(proxy.tunnel(), Some(&authority), &server.host()).unwrap();
    assert_eq!(other.ask("POST", "/messages", &[], "{\"early\":\"confidential\"}").status, 202);
    for event in
        [": hello\n\n", "event: endpoint\r\ndata: /messages?session_id=1\r\n\r\n", "data: {\"jsonrpc\":\"2.0\"}\n\n"]
    {
        // Each must come before there is a next one.
        sender.send(Bytes::from(event)).unwrap();
        events.read_until(event);
    }
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert_eq!(other.ask("POST", "/messages?session_id=1", &["Content-Type: application/json"], request).status, 202);
    drop(sender);
    events.read_until("0\r\n\r\n");
    proxy.stop();
    assert_eq!(world.origins(), [format!("https://{}", server.host())]);
    for text in [": hello\n\n", "event: endpoint\r\n", "GET /sse", request] {
        assert!(world.is_kept(text), "{text}");
    }
    assert!(!world.is_kept("confidential"));
}

#[test]
fn plain_http_goes_through_in_both_forms() {
    let world = World::new();
    let proxy = world.proxy(&[]);
    let server = Server::start(None, echo);
    let mut replies: Vec<Reply> = Vec::new();
    for way in [Way::Direct, proxy.tunnel(), Way::Absolute(proxy.address)] {
        let mut client = Client::connect(way, None, &server.host()).unwrap();
        // Twice, as a client that keeps its connection does.
        client.ask("POST", "/mcp", &MCP, "{\"jsonrpc\":\"2.0\",\"method\":\"first\"}");
        replies.push(client.ask("POST", "/mcp?a=b", &MCP, "{\"jsonrpc\":\"2.0\",\"method\":\"second\"}"));
    }
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.header("host") == server.host()), "{asked:?}");
    assert_eq!(asked.iter().filter(|asked| asked.target == "/mcp?a=b").count(), 3);
    proxy.stop();
    assert_eq!(world.origins(), [format!("http://{}", server.host())]);
}

#[test]
fn a_client_that_does_not_trust_us_is_told_of_once_and_let_through_blindly_when_asked() {
    let world = World::new();
    let server = Server::start(Some(&world.pki), echo);
    let proxy = world.proxy(&[]);
    for _ in 0..2 {
        // It trusts the server's own authority alone.
        assert!(Client::connect(proxy.tunnel(), Some(&world.pki.ca), &server.host()).is_err());
    }
    wait_until("it is told", || proxy.told().contains("--tunnel localhost"));
    let told = proxy.stop();
    assert_eq!(told.matches("does not take our certificate for localhost").count(), 1, "{told}");
    assert!(told.contains("UnknownCA"), "{told}");

    for arguments in [["--tunnel", "localhost"], ["--only", "example.com"]] {
        let proxy = world.proxy(&arguments);
        let mut client = Client::connect(proxy.tunnel(), Some(&world.pki.ca), &server.host()).unwrap();
        assert_eq!(client.ask("POST", "/mcp", &MCP, "{\"jsonrpc\":\"2.0\"}").body, "{\"jsonrpc\":\"2.0\"}");
        proxy.stop();
        assert_eq!(world.origins(), [""; 0], "{arguments:?}");
    }
}

#[test]
fn connections_that_go_on_as_something_else_do() {
    let world = World::new();
    let server = Server::start(Some(&world.pki), |_, _| Answer::Echo);
    let upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    for (arguments, trusted) in [(&[][..], None), (&["--tunnel", "localhost"][..], Some(&world.pki.ca))] {
        let proxy = world.proxy(arguments);
        let authority = world.authority();
        let mut client = Client::connect(proxy.tunnel(), trusted.or(Some(&authority)), &server.host()).unwrap();
        client.send("GET", "/socket", &upgrade, "");
        let head = client.head().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
        client.write(b"\x81\x05hello");
        client.read_until("hello");
        // An open tunnel does not hold up the end.
        proxy.stop();
    }
}

#[test]
fn nobody_is_let_through_who_is_no_client_of_a_proxy() {
    let world = World::new();
    let server = Server::start(None, echo);
    let proxy = world.proxy(&[]);
    let port = proxy.address.port();
    let own = [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    // A page whose name was made to resolve to us sends this.
    let mut client = Client::connect(Way::Direct, None, &proxy.address.to_string()).unwrap();
    let reply = client.ask("POST", "/mcp", &[&format!("Host: {}", server.host()), "Origin: http://evil.example"], "{}");
    assert!(reply.status == 400 && reply.body.contains("forward proxy"), "{reply:?}");
    for own in &own {
        let mut client = Client::connect(Way::Direct, None, &proxy.address.to_string()).unwrap();
        client.write(format!("CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n").as_bytes());
        assert!(client.head().starts_with("HTTP/1.1 508"), "{own}");
        let mut client = Client::connect(Way::Direct, None, &proxy.address.to_string()).unwrap();
        client.write(format!("GET http://{own}/ HTTP/1.1\r\nHost: {own}\r\n\r\n").as_bytes());
        assert!(client.head().starts_with("HTTP/1.1 508"), "{own}");
    }
    assert!(server.asked().is_empty());
    proxy.stop();
    let open = world.tap(&["proxy", "--forward", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("open to others"));
}

#[test]
fn a_server_that_is_not_there_or_not_who_it_says_is_told_to_the_client() {
    let world = World::new();
    let elsewhere = World::new();
    let proxy = world.proxy(&["--tunnel", "127.0.0.1"]);
    let authority = world.authority();
    let gone = Server::start(None, echo).host();
    let stranger = Server::start(Some(&elsewhere.pki), echo);
    for (host, says) in [(&gone, "refused"), (&stranger.host(), "cannot trust the server's certificate")] {
        let mut client = Client::connect(proxy.tunnel(), Some(&authority), host).unwrap();
        let reply = client.ask("POST", "/mcp", &MCP, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        assert!(reply.status == 502 && reply.body.contains(says), "{reply:?}");
    }
    let blind = Client::connect(proxy.tunnel(), None, &gone.replace("localhost", "127.0.0.1")).err().unwrap();
    assert!(blind.starts_with("HTTP/1.1 502"), "{blind}");
    assert!(stranger.asked().is_empty());
}
