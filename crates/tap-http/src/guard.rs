//! Who may talk to our listener: not the pages of other sites.
//!
//! A page in a browser can reach a listener on loopback: by its address, with the page's `Origin`, or by a name of its own
//! that it has resolve to 127.0.0.1, with that name in `Host`. Where it asks for a picture, or sends the browser here, there is
//! no `Origin`, but browsers say in `Sec-Fetch-Site` that another site asks. The proxy answers for a server that may trust whoever is on
//! this machine, so it checks all three itself.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, Streamable HTTP, Security Warning; W3C, Fetch
//! Metadata Request Headers, 2.3 Sec-Fetch-Site.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Method;
use http::header::{HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::uri::Authority;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Checks `Host`, `Origin` and `Sec-Fetch-Site` of requests.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Hosts, in lower case and without ports, that are taken besides loopback and addresses.
    pub hosts: Vec<String>,
    /// Origins, in lower case, that are taken besides those on loopback.
    pub origins: Vec<String>,
    /// Whether pages of other sites may lead a browser's user here (`GET`, a whole page): a server's sign-in may end so.
    pub takes_visitors: bool,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The page of another site asks.
    #[error("requests of pages of {0} are refused; --allow-origin {0} allows them")]
    Origin(String),
    /// The page of another site asks, of which the browser does not say which one.
    #[error(
        "requests of pages of other sites are refused (Sec-Fetch-Site: {0}); those of a page that --allow-origin allows name it in Origin"
    )]
    Site(String),
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
        let is_invited = self.takes_visitors && is_visit(head);
        if !head.headers.contains_key(ORIGIN) && !is_invited {
            let mut sites = head.headers.get_all(SEC_FETCH_SITE).iter().map(text);
            if let Some(site) = sites.find(|site| !matches!(site.trim(), "same-origin" | "none")) {
                return Err(Refused::Site(shown(site)));
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

/// Whether a browser's user is led here, who then sees the answer as a page of its own.
fn is_visit(head: &Parts) -> bool {
    let says = |name, value: &str| head.headers.get(name).is_some_and(|said| said.as_bytes() == value.as_bytes());
    head.method == Method::GET && says(SEC_FETCH_MODE, "navigate") && says(SEC_FETCH_DEST, "document")
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
        guard(false).check(&head).is_ok()
    }

    fn guard(takes_visitors: bool) -> Guard {
        let (hosts, origins) = (vec!["mcp.example.com".into()], vec!["https://app.example.com".into()]);
        Guard { hosts, origins, takes_visitors }
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

    #[test]
    fn what_a_page_of_another_site_has_a_browser_fetch_without_an_origin_is_refused() {
        let picture = [("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
        let visit = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        let allowed = ("origin", "https://app.example.com");
        for (method, site, more, expected) in [
            ("GET", "cross-site", &picture[..], [false, false]),
            ("GET", "same-site", &picture, [false, false]),
            ("GET", "Cross-Site", &picture, [false, false]),
            ("GET", "what is to come", &picture, [false, false]),
            ("GET", "cross-site", &[], [false, false]),
            ("GET", "same-origin", &picture, [true, true]),
            ("GET", "none", &visit, [true, true]),
            ("GET", "cross-site", &visit, [false, true]),
            ("GET", "cross-site", &frame, [false, false]),
            ("POST", "cross-site", &visit, [false, false]),
            ("GET", "cross-site", &[allowed], [true, true]),
            ("GET", "same-site", &[("origin", "http://localhost:6274")], [true, true]),
            ("POST", "cross-site", &[("origin", "https://evil.example")], [false, false]),
        ] {
            let mut request = Request::builder().method(method).header("host", "localhost");
            for (name, value) in [("sec-fetch-site", site)].iter().chain(more) {
                request = request.header(*name, *value);
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            let found = [false, true].map(|takes_visitors| guard(takes_visitors).check(&head).is_ok());
            assert_eq!(found, expected, "{method} {site} {more:?}");
        }
    }
}
