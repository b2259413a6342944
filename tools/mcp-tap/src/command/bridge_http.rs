//! `mcp-tap run --http`: a server on stdio as a server over HTTP.
//!
//! A session of the legacy era has a server process of its own; all requests of the modern era share one. What goes where is
//! decided by `tap_bridge`. `bridge_http/handler.rs` answers requests, `bridge_http/child.rs` has the loop around one server
//! process, `bridge_http/process.rs` its start and its end, `bridge_http/reply.rs` the way of an answer, and
//! `bridge_http/sessions.rs` which sessions there are.

mod answers;
mod child;
mod handler;
mod process;
mod reply;
mod sessions;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tap_http::{Guard, Keeper, Listener, ServeOptions, serve};
use tap_relay::Clock;
use tap_store::{EndReason, Transport};
use tokio::sync::{mpsc, watch};

use self::handler::Bridge;
use self::process::{Spawner, start_stderr_writer};
use self::sessions::Sessions;
use super::stop::Stop;
use crate::arguments::{Global, HttpSide};
use crate::failure::Failure;
use crate::name::name_of;
use crate::paths::lossy;
use crate::recording::{Recording, copies, say, session_start};

/// How long servers may take to end when the bridge does.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(8);

/// Serves a command over HTTP until it is told to stop. `is_recorded` says whether what passes is kept.
pub(crate) fn bridge_http(
    global: &Global,
    side: &HttpSide,
    name: Option<String>,
    program: OsString,
    arguments: Vec<OsString>,
    is_recorded: bool,
) -> Result<u8, Failure> {
    let Some(address) = side.http else {
        return Err(Failure::new("there is no address to listen on"));
    };
    if !side.path.starts_with('/') {
        return Err(Failure::new(format!("the path `{}` does not begin with `/`", side.path)));
    }
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let keeper = Keeper::new().map_err(|_| Failure::new("the system has no random numbers"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot_start)?;
    let listener = runtime
        .block_on(Listener::bind(address))
        .map_err(|error| Failure::new(format!("{error}: {}", error.source)).hint("choose another with --http"))?;
    // Signals are taken before anybody is told the address.
    let mut signals = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let name = name.unwrap_or_else(|| name_of(&program, &arguments));
    let command = lossy(&[std::slice::from_ref(&program), arguments.as_slice()].concat());
    let start = session_start(clock, Transport::Http, name, command.clone());
    let recording = match is_recorded {
        true => Recording::begin(global.database(), start, copies.clone()),
        false => Recording::none(copies.clone()),
    };
    let exchanges = Arc::new(tap_http::Recording::new(copies.clone(), keeper));
    for path in [side.path.as_str(), handler::OLD_STREAM_PATH, handler::OLD_POST_PATH] {
        exchanges.is_mcp_at(path);
    }
    if !global.quiet {
        say(&format!("http://{}{} is `{}` now", listener.address(), side.path, command.join(" ")));
    }
    let (stop, stopping) = watch::channel(false);
    let (alive, mut all_ended) = mpsc::channel(1);
    let served = start_stderr_writer().and_then(|stderr| {
        let spawner = Spawner::start(program, arguments)?;
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>();
        let bridge = Bridge {
            path: side.path.clone(),
            limit_bytes: side.body_limit.saturating_mul(1024 * 1024),
            guard: Guard { hosts: lower(&side.allow_host), origins: lower(&side.allow_origin), takes_visitors: false },
            recording: exchanges.clone(),
            sessions: Arc::new(Sessions::new(side.sessions)),
            shared: tokio::sync::Mutex::default(),
            starter: child::Starter {
                spawner,
                stderr,
                copies: copies.clone(),
                clock,
                idle_limit: Duration::from_secs(side.idle.saturating_mul(60)),
                stopping,
                alive,
            },
            n_exchanges: AtomicU64::new(0),
            mirrored: std::sync::Mutex::default(),
        };
        runtime.block_on(async {
            let stopped = async {
                signals.asked().await;
                // Nobody knows how what is open now would have ended.
                exchanges.stop();
            };
            serve(listener, Arc::new(bridge), ServeOptions::default(), stopped).await;
            let _ = stop.send(true);
            // Whoever is asked twice wants it now: the servers are killed when we end.
            tokio::select! {
                _ = tokio::time::timeout(SHUTDOWN_LIMIT, all_ended.recv()) => {}
                () = signals.asked() => {}
            }
        });
        Ok(())
    });
    runtime.shutdown_background();
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    served.map(|()| 0).map_err(cannot_start)
}
