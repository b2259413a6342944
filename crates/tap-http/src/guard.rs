//! Who may talk to our listener: not the pages of other sites.
//!
//! A page in a browser can reach a listener on loopback: by its address, with the page's `Origin`, or by a name of its own
//! that it has resolve to 127.0.0.1, with that name in `Host`. The proxy answers for a server that may trust whoever is on
//! this machine, so it checks both itself.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, Streamable HTTP, Security Warning.

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
pub(crate) enum Refused {
    /// The page of another site asks.
    #[error("requests of pages of {0} are refused; --allow-origin {0} allows them")]
    Origin(String),
    /// A name that is not ours was resolved to our address.
    #[error("requests to the host {0} are refused; --allow-host {0} allows them")]
    Host(String),
}

impl Guard {
    pub(crate) fn check(&self, head: &Parts) -> Result<(), Refused> {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        for origin in head.headers.get_all(ORIGIN).iter().map(text) {
            let host = origin.split_once("://").map_or("", |(_, authority)| authority);
            if !is_local(&host_of(host)) && !self.origins.contains(&origin) {
                return Err(Refused::Origin(origin));
            }
        }
        let named = head.headers.get(HOST).map(text).or_else(|| head.uri.authority().map(|named| named.to_string()));
        match named.map(|authority| host_of(&authority)) {
            Some(host) if !is_local(&host) && !is_address(&host) && !self.hosts.contains(&host) => {
                Err(Refused::Host(host))
            }
            _ => Ok(()),
        }
    }
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> String {
    authority.parse::<Authority>().map_or_else(|_| authority.into(), |authority| authority.host().to_ascii_lowercase())
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]") || host.ends_with(".localhost")
}

/// Whether it is an address: nobody can have a name resolve to us and yet send an address.
fn is_address(host: &str) -> bool {
    host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>().is_ok()
}
