//! The other two ways to be authorized: under the server's own name, and with a token from the environment.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use super::client::{Client, Way};
use super::server::{Server, json};
use super::{MCP, World, echo, interrupt};
use crate::support::piped;

/// Starts a reverse proxy. Gives it, where it listens, and what else it tells.
fn reverse(command: Command, before: &str) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let mut tap = piped(command).spawn().unwrap();
    let mut stderr = BufReader::new(tap.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(before) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended");
    }
    let address = line.split(before).nth(1).unwrap().split(['/', ' ']).next().unwrap().to_owned();
    (tap, address, stderr)
}

#[test]
fn a_server_is_served_under_its_own_name() {
    let world = World::new();
    let server = Server::start(Some(&world.pki), |address, _| {
        json(format!("{{\"resource\":\"https://real.example:{}/mcp\"}}", address.port()))
    });
    let port = server.address.port();
    let (url, resolve) = (format!("https://real.example:{port}/mcp"), format!("real.example:{port}:127.0.0.1"));
    let (mut tap, own, _stderr) =
        reverse(world.tap(&["proxy", "--tls", "--resolve", &resolve, &url]), " is served at ");
    let (name, authority) = (own.replace("127.0.0.1", "real.example"), world.authority());
    let mut client = Client::connect(Way::Direct, Some(&authority), &name).unwrap();
    let reply = client.ask("GET", "/.well-known/oauth-protected-resource/mcp", &[], "");
    assert_eq!(reply.body, format!("{{\"resource\":\"{url}\"}}"));
    assert_eq!(client.ask("POST", "/mcp", &MCP, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}").status, 200);
    assert!(server.asked().iter().all(|asked| asked.header("host") == format!("real.example:{port}")));
    assert!(Client::connect(Way::Direct, Some(&authority), &own.replace("127.0.0.1", "localhost")).is_err());
    // The server's own pages ask, another site's page does, and another site's sign-in leads back.
    for (method, headers, status) in [
        ("POST", &[&*format!("Origin: https://{name}")][..], 200),
        ("POST", &[&format!("Origin: https://real.example:{port}")], 200),
        ("POST", &["Origin: https://evil.example"], 403),
        ("GET", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"], 403),
        ("GET", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], 200),
    ] {
        assert_eq!(client.ask(method, "/page", headers, "").status, status, "{method} {headers:?}");
    }
    interrupt(&mut tap);
    assert_eq!(world.origins(), [url]);
    assert!(world.is_kept("\"method\":\"x\""));
}

#[test]
fn a_name_that_leads_back_to_the_proxy_is_not_followed() {
    let world = World::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://localhost:{}/mcp", free.port());
    let refused = world.tap(&["proxy", "--listen", &free.to_string(), &url]).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && told.contains("--resolve localhost:"), "{told}");
}

#[test]
fn a_token_from_the_environment_reaches_the_server_and_nothing_else() {
    let world = World::new();
    let server = Server::start(None, echo);
    let url = format!("http://{}/mcp", server.host());
    let arguments = ["proxy", "--bearer-env", "TOKEN", "--header", "X-Key: key ${KEY}", &url];
    let missing = world.tap(&arguments).env("TOKEN", "s3cret").env_remove("KEY").output().unwrap();
    let told = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(2) && told.contains("no KEY") && !told.contains("s3cret"), "{told}");

    let mut command = world.tap(&arguments);
    command.env("TOKEN", "s3cret").env("KEY", "s3cret-too");
    let (mut tap, address, mut stderr) = reverse(command, "http://");
    for own in [None, Some("Authorization: Bearer the-client-s-own")] {
        let mut client = Client::connect(Way::Direct, None, &address).unwrap();
        let headers: Vec<&str> = MCP.into_iter().chain(own).collect();
        assert_eq!(client.ask("POST", "/mcp", &headers, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}").status, 200);
    }
    interrupt(&mut tap);
    let asked = server.asked();
    let given: Vec<_> = asked.iter().map(|asked| (asked.header("authorization"), asked.header("x-key"))).collect();
    assert_eq!(given, [("Bearer s3cret", "key s3cret-too"), ("Bearer the-client-s-own", "key s3cret-too")]);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert!(world.is_kept("\"method\":\"x\"") && !world.is_kept("s3cret") && !world.is_kept("the-client-s-own"));
    assert!(!rest.contains("s3cret"));
}
