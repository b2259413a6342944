//! `mcp-tap proxy`: a listener, a server over HTTP, and a recorder, put together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use tap_control::Action;
use tap_http::{
    Additions, Gates, Guard, Keeper, Listener, Notices, Reverse, ServeOptions, Upstream, UpstreamError,
    UpstreamOptions, serve,
};
use tap_relay::Clock;
use tap_store::{EndReason, Transport};

use super::bridge_stdio::bridge_stdio;
use super::run::{options as debugger_options, rules};
use super::stop::Stop;
use crate::arguments::{Global, Proxy};
use crate::command::forward::local_authority;
use crate::control::{About, Control, NO_CRASH, Ways, begin_to_listen};
use crate::credentials::additions;
use crate::failure::Failure;
use crate::name::name_of_host;
use crate::paths::default_database;
use crate::recording::{Recording, copies, say, session_start};

/// How long it may take to find out whether a server's name leads to ourselves.
const LOOK_UP_LIMIT: Duration = Duration::from_secs(2);

/// Runs a proxy until it is told to stop.
pub(crate) fn proxy(global: &Global, proxy: &Proxy) -> Result<u8, Failure> {
    let Some(url) = &proxy.url else {
        return Err(Failure::new("there is no address of a server").hint("give one, such as https://example.com/mcp"));
    };
    let server = Server::read(url)?;
    let additions = additions(&proxy.credentials)?;
    let rules = rules(&proxy.debugging, "mcp-tap proxy")?;
    if rules.iter().any(|(rule, _)| rule.action == Action::Crash) {
        return Err(Failure::new(NO_CRASH));
    }
    let keeper = Keeper::new().map_err(|_| Failure::new("the system has no random numbers"))?;
    let name = proxy.name.clone().unwrap_or_else(|| name_of_host(&server.authority));
    if proxy.stdio {
        let upstream = Upstream::new(&upstream_options(proxy)?).map_err(|error| not_trusted(&error))?;
        let (url, additions) = server.for_client(url, additions)?;
        return bridge_stdio(global, &url, name, keeper, upstream, additions);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let listener = runtime
        .block_on(Listener::bind(proxy.listen))
        .map_err(|error| Failure::new(format!("{error}: {}", error.source)).hint("choose another with --listen"))?;
    let options = UpstreamOptions { own: Some(listener.address()), ..upstream_options(proxy)? };
    let upstream = Upstream::new(&options).map_err(|error| not_trusted(&error))?;
    if runtime.block_on(server.is_at(&options)) {
        let port = server.port();
        let host = server.authority.host();
        return Err(Failure::new(format!("{host}:{port} leads to this proxy itself")).hint(format!(
            "say where the server really is: --resolve {host}:{port}:ADDRESS, or listen on another port"
        )));
    }
    let (listener, own_scheme) = match proxy.tls {
        true => {
            (listener.with_tls(local_authority(global)?, server.authority.host().to_ascii_lowercase()), Scheme::HTTPS)
        }
        false => (listener, Scheme::HTTP),
    };
    // Signals are taken before anybody is told the address.
    let mut signals = {
        let _entered = runtime.enter();
        Stop::new().map_err(|error| Failure::new(format!("cannot take signals: {error}")))?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let shown = keeper.url(url);
    let start = session_start(clock, Transport::Http, name, vec![shown.clone()]);
    let about = About {
        name: start.name.clone(),
        uuid: start.uuid.clone(),
        server_pid: None,
        command: start.command.clone(),
        database: global.database().or_else(|| default_database().ok()),
    };
    let recording = Recording::begin(global.database(), start, copies.clone());
    let gates = Gates::new();
    let is_debugged = !proxy.debugging.no_control || !rules.is_empty();
    let control = is_debugged.then(|| {
        Control::new(about, debugger_options(&proxy.debugging), clock, copies.clone(), Ways::Http(gates.clone()))
    });
    if let Some(control) = &control {
        for (rule, options) in rules {
            control.begin_with(rule, options);
        }
        if !proxy.debugging.no_control {
            begin_to_listen(control);
        }
    }
    let talk = !global.quiet;
    if talk {
        match proxy.tls {
            true => say(&led_here(&listener, &server, &shown)),
            false => say(&format!("{} is {shown} now", address(&listener, url, &shown))),
        }
    }
    let exchanges = Arc::new(tap_http::Recording::new(copies.clone(), keeper));
    exchanges.is_mcp_at(url.path());
    let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>();
    let mut guard =
        Guard { hosts: lower(&proxy.allow_host), origins: lower(&proxy.allow_origin), takes_visitors: false };
    guard.hosts.push(server.authority.host().to_ascii_lowercase());
    if proxy.tls {
        // We are the server, as far as browsers can tell; but nobody is led to what he has no right to without us.
        guard.origins.extend(server.own_origins(listener.address().port()));
        guard.takes_visitors = additions.is_empty() && server.authorization.is_none();
    }
    let reverse = Reverse {
        scheme: server.scheme,
        authority: server.authority,
        authorization: server.authorization,
        upstream,
        own_scheme,
        additions,
        guard,
        gates,
        recording: exchanges.clone(),
        notices: Notices::new(move |text| {
            if talk {
                say(text);
            }
        }),
    };
    let options = ServeOptions { header_limit_bytes: proxy.max_header_size };
    runtime.block_on(async {
        let stop = async {
            signals.asked().await;
            if let Some(control) = &control {
                control.let_go();
            }
            exchanges.stop();
        };
        serve(listener, Arc::new(reverse), options, stop).await;
    });
    runtime.shutdown_background();
    if let Some(control) = &control {
        control.finish();
    }
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    Ok(0)
}

/// A server's address as a client of ours uses it: user and password, if it has them, become a field that is added.
pub(super) fn address_for_client(url: &Uri, additions: Additions) -> Result<(Uri, Additions), Failure> {
    Server::read(url)?.for_client(url, additions)
}

/// What a server's URL says.
struct Server {
    scheme: Scheme,
    /// Without user and password, and without the port that the scheme has anyway.
    authority: Authority,
    /// User and password, as a client sends them.
    authorization: Option<HeaderValue>,
}

impl Server {
    fn read(url: &Uri) -> Result<Self, Failure> {
        let failed = || {
            Failure::new("this is not the address of a server over HTTP")
                .hint("give it whole, such as https://example.com/mcp")
        };
        let scheme = url.scheme().filter(|scheme| **scheme == Scheme::HTTP || **scheme == Scheme::HTTPS);
        let scheme = scheme.cloned().ok_or_else(failed)?;
        let authority = url.authority().ok_or_else(failed)?.as_str();
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let port = if scheme == Scheme::HTTPS { ":443" } else { ":80" };
        let authority = host.strip_suffix(port).unwrap_or(host).parse().map_err(|_| failed())?;
        let authorization = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let pair = [decoded(name), b":".to_vec(), decoded(password)].concat();
            HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        });
        let authorization = authorization.transpose().map_err(|_| failed())?;
        Ok(Self { scheme, authority, authorization })
    }

    fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.scheme == Scheme::HTTPS { 443 } else { 80 })
    }

    /// The origins of the server's own pages, for browsers that reach it at its port or at ours.
    fn own_origins(&self, own_port: u16) -> [String; 2] {
        let host = self.authority.host().to_ascii_lowercase();
        [self.port(), own_port].map(|port| match port {
            443 => format!("https://{host}"),
            port => format!("https://{host}:{port}"),
        })
    }

    /// Whether the server's name leads to where we listen, as far as that can be found out soon. When it does so later, the
    /// way to servers notices.
    async fn is_at(&self, options: &UpstreamOptions) -> bool {
        let (host, port) = (self.authority.host().to_ascii_lowercase(), self.port());
        let is_said = options.resolve.iter().any(|resolve| resolve.host == host && resolve.port == port);
        let Some(own) = options.own.filter(|own| own.port() == port && !is_said) else {
            return false;
        };
        let looked_up = tokio::net::lookup_host((host.trim_start_matches('[').trim_end_matches(']'), port));
        match tokio::time::timeout(LOOK_UP_LIMIT, looked_up).await {
            Ok(Ok(mut found)) => found.any(|found| found.ip() == own.ip() || found.ip().is_loopback()),
            _ => false,
        }
    }

    /// The address without user and password, which are fields to be added then, for a client of ours.
    fn for_client(self, url: &Uri, mut additions: Additions) -> Result<(Uri, Additions), Failure> {
        if let Some(authorization) = self.authorization
            && !additions.has(&AUTHORIZATION)
        {
            additions.push(AUTHORIZATION, authorization).map_err(|error| Failure::new(error.to_string()))?;
        }
        let target = url.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let built = Uri::builder().scheme(self.scheme).authority(self.authority).path_and_query(target).build();
        built.map(|url| (url, additions)).map_err(|error| Failure::new(format!("cannot read the address: {error}")))
    }
}

/// What has clients come here under the server's name.
fn led_here(listener: &Listener, server: &Server, shown: &str) -> String {
    let (own, host) = (listener.address(), server.authority.host());
    let port = match own.port() == server.port() {
        true => String::new(),
        false => format!("; clients must be given port {} in place of {}", own.port(), server.port()),
    };
    format!(
        "{shown} is served at {own} with a certificate of the local authority: lead {host} here, such as by the line \
         `{} {host}` in /etc/hosts, and have clients trust the authority{port}",
        own.ip()
    )
}

/// Text with its `%XX` replaced by what they stand for.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                out.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = others;
            }
        }
    }
    out
}

/// How servers are reached.
pub(super) fn upstream_options(proxy: &Proxy) -> Result<UpstreamOptions, Failure> {
    Ok(UpstreamOptions {
        authorities: authorities(&proxy.cacert)?,
        header_limit_bytes: proxy.max_header_size,
        resolve: proxy.resolve.clone(),
        ..UpstreamOptions::default()
    })
}

/// What is in files of certificates.
pub(crate) fn authorities(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, Failure> {
    let read = |path: &PathBuf| {
        std::fs::read(path)
            .map_err(|error| Failure::new(format!("cannot read the certificates in {}: {error}", path.display())))
    };
    paths.iter().map(read).collect()
}

pub(crate) fn not_trusted(error: &UpstreamError) -> Failure {
    Failure::new(error.to_string()).hint("look at the file that --cacert names")
}

/// What is put into the host's configuration: the address, with the path of the server's URL. What may be secret in that is
/// not shown.
fn address(listener: &Listener, url: &Uri, shown: &str) -> String {
    let target = url.path_and_query().map_or("/", |target| target.as_str());
    if shown.ends_with(target) {
        return format!("http://{}{target}", listener.address());
    }
    format!("http://{}, with the path and query of your server's URL,", listener.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_of_a_url_become_a_field_and_are_nowhere_else() {
        for (url, authority, authorization) in [
            ("https://example.com/mcp", "example.com", None),
            ("https://example.com:443/mcp", "example.com", None),
            ("http://example.com:443/mcp", "example.com:443", None),
            ("http://[::1]:80/mcp", "[::1]", None),
            ("https://user:pass@example.com:8443/", "example.com:8443", Some("Basic dXNlcjpwYXNz")),
            ("https://us%65r:p%40ss%3a@example.com/", "example.com", Some("Basic dXNlcjpwQHNzOg==")),
            ("https://token@example.com/", "example.com", Some("Basic dG9rZW46")),
        ] {
            let server = Server::read(&url.parse().unwrap()).unwrap();
            assert_eq!(server.authority, authority, "{url}");
            assert_eq!(server.authorization.as_ref().map(|value| value.to_str().unwrap()), authorization, "{url}");
        }
        for url in ["/mcp", "example.com:80", "ftp://example.com/"] {
            assert!(Server::read(&url.parse().unwrap()).is_err(), "{url}");
        }
    }

    #[test]
    fn a_server_s_own_pages_are_those_at_its_port_and_at_ours() {
        for (url, own_port, expected) in [
            ("https://Example.com/mcp", 443, ["https://example.com", "https://example.com"]),
            ("https://example.com/mcp", 8443, ["https://example.com", "https://example.com:8443"]),
            ("https://example.com:7000/mcp", 443, ["https://example.com:7000", "https://example.com"]),
            ("http://example.com/mcp", 443, ["https://example.com:80", "https://example.com"]),
        ] {
            assert_eq!(Server::read(&url.parse().unwrap()).unwrap().own_origins(own_port), expected, "{url}");
        }
    }
}
