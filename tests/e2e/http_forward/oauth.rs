//! A client finds out how it is to be authorized, gets a token, and uses it: with a proxy as without.

use std::net::SocketAddr;

use rustls::pki_types::CertificateDer;

use super::client::{Client, Reply, Way};
use super::server::{Answer, Asked, Server, json};
use super::{MCP, World};

const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"whoami\"}}";
const RESULT: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"you\"}]}}";

/// The authorization server: metadata whose issuer is its own address, and tokens for a resource.
fn authorization_server(address: SocketAddr, asked: &Asked) -> Answer {
    let issuer = format!("https://localhost:{}", address.port());
    let body = String::from_utf8(asked.body.clone()).unwrap();
    match asked.target.as_str() {
        "/.well-known/oauth-authorization-server" => {
            json(format!("{{\"issuer\":\"{issuer}\",\"token_endpoint\":\"{issuer}/token\"}}"))
        }
        "/token" => {
            let resource = body.split("resource=").nth(1).unwrap();
            json(format!("{{\"access_token\":\"token-for-{resource}\",\"refresh_token\":\"refresh-secret\"}}"))
        }
        _ => Answer::Whole(404, vec![], String::new()),
    }
}

/// The MCP server: it takes no token that is for another resource than itself.
fn resource_server(authorization_server: SocketAddr) -> impl Fn(SocketAddr, &Asked) -> Answer + Clone {
    move |address, asked| {
        let own = format!("https://localhost:{}", address.port());
        match asked.target.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => json(format!(
                "{{\"resource\":\"{own}/mcp\",\"authorization_servers\":[\"https://localhost:{}\"]}}",
                authorization_server.port()
            )),
            "/mcp" if asked.header("authorization") == format!("Bearer token-for-{own}/mcp") => json(RESULT),
            "/mcp" => {
                let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
                let challenges = vec![
                    ("WWW-Authenticate", "Negotiate".to_owned()),
                    ("WWW-Authenticate", format!("Bearer resource_metadata=\"{metadata}\", scope=\"tools\"")),
                ];
                Answer::Whole(401, challenges, String::new())
            }
            _ => Answer::Whole(404, vec![], String::new()),
        }
    }
}

/// All that is said until the tool has been called, by a client that does what the official ones do.
fn authorized_call(way: Way, trusted: &CertificateDer<'static>, mcp: &Server) -> Vec<Reply> {
    let ask = |url: &str, method: &str, headers: &[&str], body: &str| {
        let (host, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
        let mut client = Client::connect(way, Some(trusted), host).unwrap();
        client.ask(method, &format!("/{path}"), headers, body)
    };
    let field = |text: &str, before: &str| text.split(before).nth(1).unwrap().split('"').next().unwrap().to_owned();
    let url = format!("https://{}/mcp", mcp.host());
    let refused = ask(&url, "POST", &MCP, CALL);
    let metadata_url = field(&refused.head.join("\n"), "resource_metadata=\"");
    let metadata = ask(&metadata_url, "GET", &["Accept: application/json"], "");
    // The check that makes official clients give up when the address is a proxy's.
    assert_eq!(field(&metadata.body, "\"resource\":\""), url);
    let issuer = field(&metadata.body, "\"authorization_servers\":[\"");
    let server = ask(&format!("{issuer}/.well-known/oauth-authorization-server"), "GET", &[], "");
    assert_eq!(field(&server.body, "\"issuer\":\""), issuer);
    let form = format!("grant_type=authorization_code&code=code-secret&code_verifier=verifier-secret&resource={url}");
    let kind = ["Content-Type: application/x-www-form-urlencoded", "Authorization: Basic client-secret"];
    let token = ask(&field(&server.body, "\"token_endpoint\":\""), "POST", &kind, &form);
    let bearer = format!("Authorization: Bearer {}", field(&token.body, "\"access_token\":\""));
    let called = ask(&url, "POST", &[&MCP[..], &[&bearer]].concat(), CALL);
    assert_eq!((called.status, called.body.as_str()), (200, RESULT));
    vec![refused, metadata, server, token, called]
}

#[test]
fn authorization_goes_as_it_goes_without_a_proxy() {
    let world = World::new();
    let authorization = Server::start(Some(&world.pki), authorization_server);
    let mcp = Server::start(Some(&world.pki), resource_server(authorization.address));
    let direct = authorized_call(Way::Direct, &world.pki.ca, &mcp);
    assert_eq!(direct[0].head.iter().filter(|line| line.to_lowercase().starts_with("www-authenticate")).count(), 2);
    let proxy = world.proxy(&[]);
    let through = authorized_call(proxy.tunnel(), &world.authority(), &mcp);
    assert_eq!(through, direct);
    for server in [&authorization, &mcp] {
        let asked = server.asked();
        let (direct, through) = asked.split_at(asked.len() / 2);
        for (direct, through) in direct.iter().zip(through) {
            assert_eq!(
                (&direct.method, &direct.target, &direct.body),
                (&through.method, &through.target, &through.body)
            );
            assert_eq!(direct.headers, through.headers);
        }
    }
    proxy.stop();
    // The authorization server is not one of MCP.
    assert_eq!(world.origins(), [format!("https://{}", mcp.host())]);
    for kept in ["whoami", "\"text\":\"you\"", "resource_metadata", "oauth-protected-resource"] {
        assert!(world.is_kept(kept), "{kept}");
    }
    for secret in ["token-for-", "refresh-secret", "code-secret", "verifier-secret", "client-secret"] {
        assert!(!world.is_kept(secret), "{secret}");
    }
}
