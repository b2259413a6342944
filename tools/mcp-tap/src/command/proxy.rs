//! `mcp-tap proxy`: a listener, a server over HTTP, and a recorder, put together.

use std::sync::Arc;

use http::Uri;
use http::uri::Scheme;
use tap_http::{Guard, Keeper, Listener, Reverse, Upstream, UpstreamOptions, serve};
use tap_relay::Clock;
use tap_store::{EndReason, Transport};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{Global, Proxy};
use crate::credentials::additions;
use crate::failure::Failure;
use crate::recording::{Recording, copies, say, session_start};

/// Runs a proxy until it is told to stop.
pub(crate) fn proxy(global: &Global, proxy: &Proxy) -> Result<u8, Failure> {
    let Some(url) = &proxy.url else {
        return Err(Failure::new("there is no address of a server").hint("give one, such as https://example.com/mcp"));
    };
    let (Some(authority), Some(scheme)) = (url.authority(), scheme_of(url)) else {
        return Err(Failure::new(format!("{url} is not the address of a server over HTTP"))
            .hint("give it whole, such as https://example.com/mcp"));
    };
    let additions = additions(&proxy.credentials)?;
    let keeper = Keeper::new().map_err(|_| Failure::new("the system has no random numbers"))?;
    let upstream = Upstream::new(&UpstreamOptions::default()).map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let listener = runtime
        .block_on(Listener::bind(proxy.listen))
        .map_err(|error| Failure::new(format!("{error}: {}", error.source)).hint("choose another with --listen"))?;
    let clock = Clock::start();
    let copies = copies(clock);
    let name = proxy.name.clone().unwrap_or_else(|| name_of(authority.host()));
    let start = session_start(clock, Transport::Http, name, vec![keeper.url(url)]);
    let recording = Recording::begin(global.database(), start, copies.clone());
    let exchanges = Arc::new(tap_http::Recording::new(copies.clone(), keeper));
    exchanges.is_mcp_at(url.path());
    let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>();
    let mut guard = Guard { hosts: lower(&proxy.allow_host), origins: lower(&proxy.allow_origin) };
    guard.hosts.push(authority.host().to_ascii_lowercase());
    let path = url.path_and_query().map_or("/", |target| target.as_str());
    say(&format!("http://{}{path} is {url} now", listener.address()));
    let reverse = Reverse { scheme, authority: authority.clone(), upstream, additions, guard, recording: exchanges };
    let stopped = runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        serve(listener, Arc::new(reverse), stop).await;
        std::io::Result::Ok(())
    });
    runtime.shutdown_background();
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    stopped.map(|()| 0).map_err(|error| Failure::new(format!("cannot take signals: {error}")))
}

fn scheme_of(url: &Uri) -> Option<Scheme> {
    url.scheme().filter(|scheme| **scheme == Scheme::HTTP || **scheme == Scheme::HTTPS).cloned()
}

/// A short name from a host: `mcp.example.com` is `example`.
pub(super) fn name_of(host: &str) -> String {
    let parts: Vec<&str> = host.split('.').collect();
    let is_address = host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[');
    match parts.as_slice() {
        _ if is_address => "server".into(),
        [.., name, _] => (*name).into(),
        _ => host.into(),
    }
}
