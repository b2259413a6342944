//! `mcp-tap proxy --stdio`: a stdio host in front of a server over HTTP.
//!
//! [`carry`] does the work; `bridge_stdio/host.rs` has the threads that read and write the host's pipes.

pub(super) mod host;

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use tap_http::{Additions, Keeper, Upstream};
use tap_peer::{FromRemote, Outlet, Remote, carry};
use tap_relay::Clock;
use tap_store::{EndReason, Transport};
use tokio::sync::mpsc;

use self::host::{read_lines, start_writer};
use super::stop::Stop;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::recording::{Recording, copies, session_start};
use crate::telling::Told;

/// Lines of the host that wait to be looked at; the host waits beyond that.
const INPUTS: usize = 256;

/// How long the host may take to read what is left when all is over.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Joins the host on our standard streams with a server until one of them ends.
pub(crate) fn bridge_stdio(
    global: &Global,
    url: &Uri,
    name: String,
    keeper: Keeper,
    upstream: Upstream,
    additions: Additions,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    // Signals are taken before anything is begun that they would cut off.
    let mut stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let start = session_start(clock, Transport::Http, name, vec![keeper.url(url)]);
    let recording = Recording::begin(global.database(), start, copies.clone());
    let exchanges = Arc::new(tap_http::Recording::new(copies.clone(), keeper));
    exchanges.is_mcp_at(url.path());
    let outlet = Arc::new(Outlet::default());
    let (lines, hosts_lines) = mpsc::channel(INPUTS);
    let (to_host, from_bridge) = std::sync::mpsc::channel();
    let (written, all_written) = std::sync::mpsc::channel();
    let started = read_lines(lines).and_then(|()| start_writer(outlet.clone(), from_bridge, written));
    let done = started.map(|()| {
        let remote = Remote { upstream, additions, recording: exchanges, outlet, address: url.clone() };
        let mut told = Told::default();
        let say = move |what| match what {
            FromRemote::Line(line) => drop(to_host.send(line)),
            FromRemote::Notice(notice) => told.tell(&notice.to_string()),
        };
        runtime.block_on(carry(clock, Arc::new(remote), hosts_lines, say, stop.asked()));
    });
    runtime.shutdown_background();
    let _ = all_written.recv_timeout(LAST_WRITES);
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    done.map(|()| 0).map_err(cannot_start)
}
