//! Who may talk to our listener: not the pages of other sites.
//!
//! A page in a browser can reach a listener on loopback: by its address, with the page's `Origin`, or by a name of its own
//! that it has resolve to 127.0.0.1, with that name in `Host`. The proxy answers for a server that may trust whoever is on
//! this machine, so it checks both itself.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, Streamable HTTP, Security Warning.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;

/// Checks `Host` and `Origin` of requests.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Hosts, in lower case and without ports, that are taken besides loopback and addresses.
    pub hosts: Vec<String>,
    /// Origins, in lower case, that are taken besides those on loopback.
    pub origins: Vec<String>,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The page of another site asks.
    #[error("requests of pages of {0} are refused; --allow-origin {0} allows them")]
    Origin(String),
    /// A name that is not ours was resolved to our address.
    #[error("requests to the host {0} are refused; --allow-host {0} allows them")]
    Host(String),
}

impl Guard {
    /// Checks the head of a request.
    ///
    /// # Errors
    ///
    /// When it comes from the page of another site, or was sent to a name that is not ours.
    pub fn check(&self, head: &Parts) -> Result<(), Refused> {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        for origin in head.headers.get_all(ORIGIN).iter().map(text) {
            let host = origin.split_once("://").map_or("", |(_, authority)| authority);
            if !is_local(&host_of(host)) && !self.origins.contains(&origin) {
                return Err(Refused::Origin(shown(origin)));
            }
        }
        let named = head.headers.get_all(HOST).iter().map(text);
        let asked = head.uri.authority().map(|named| named.as_str().to_ascii_lowercase());
        for host in named.chain(asked).map(|authority| host_of(&authority)) {
            if !is_local(&host) && !is_address(&host) && !self.hosts.contains(&host) {
                return Err(Refused::Host(shown(host)));
            }
        }
        Ok(())
    }
}

/// As much of what a stranger sent as may be shown.
fn shown(text: String) -> String {
    text.chars().take(200).filter(|c| !c.is_control()).collect()
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> String {
    authority.parse::<Authority>().map_or_else(|_| authority.into(), |authority| authority.host().to_ascii_lowercase())
}

/// Whether it is a name or an address of this machine, and of no other.
pub(crate) fn is_local(host: &str) -> bool {
    let is_loopback = address_of(host).is_some_and(|address| match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback()),
    });
    is_loopback || host == "localhost" || host.ends_with(".localhost")
}

/// Whether it is an address: nobody can have a name resolve to us and yet send an address.
fn is_address(host: &str) -> bool {
    address_of(host).is_some()
}

fn address_of(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn allowed(target: &str, fields: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let guard = Guard { hosts: vec!["mcp.example.com".into()], origins: vec!["https://app.example.com".into()] };
        guard.check(&head).is_ok()
    }

    #[test]
    fn hosts_are_loopback_addresses_and_those_that_were_allowed() {
        for (host, expected) in [
            ("127.0.0.1:7000", true),
            ("127.1.2.3", true),
            ("localhost", true),
            ("LOCALHOST:7000", true),
            ("tap.localhost:1", true),
            ("[::1]:7000", true),
            ("[::1]", true),
            ("192.168.1.7:7000", true),
            ("[fe80::1]:7000", true),
            ("mcp.example.com", true),
            ("MCP.Example.com:443", true),
            ("evil.example", false),
            ("evil.example:7000", false),
            ("localhost.evil.example", false),
            ("evil-localhost", false),
            ("localhost.", false),
            ("127.0.0.1.evil.example", false),
            ("127.0.0.1@evil.example", false),
            ("localhost:80@evil.example", false),
            ("evil.example@localhost", true),
            ("mcp.example.com.evil.example", false),
            ("0x7f.1", false),
            ("::1", false),
            ("[::1", false),
            ("localhost:80:80", false),
            ("", false),
        ] {
            assert_eq!(allowed("/mcp", &[("host", host)]), expected, "Host: {host}");
        }
        assert!(allowed("/mcp", &[]), "a request of HTTP/1.0 names no host, and no browser sends one");
        assert!(!allowed("/mcp", &[("host", "localhost"), ("host", "evil.example")]));
        assert!(!allowed("http://evil.example/mcp", &[("host", "localhost")]));
        assert!(!allowed("http://localhost/mcp", &[("host", "evil.example")]));
        assert!(allowed("http://localhost/mcp", &[("host", "localhost")]));
    }

    #[test]
    fn origins_are_loopback_and_those_that_were_allowed() {
        for (origin, expected) in [
            ("http://localhost:6274", true),
            ("https://LocalHost", true),
            ("http://127.0.0.1:1", true),
            ("http://[::1]:6274", true),
            ("http://tap.localhost", true),
            ("https://app.example.com", true),
            ("HTTPS://APP.example.com", true),
            ("http://app.example.com", false),
            ("https://app.example.com:444", false),
            ("https://app.example.com.evil.example", false),
            ("http://192.168.1.7", false),
            ("http://evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://localhost@evil.example", false),
            ("http://mcp.example.com", false),
            ("null", false),
            ("", false),
            ("localhost", false),
            ("file://", false),
            ("chrome-extension://abcdef", false),
        ] {
            assert_eq!(allowed("/mcp", &[("host", "localhost"), ("origin", origin)]), expected, "Origin: {origin}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.example")];
        assert!(!allowed("/mcp", &two));
    }
}
