//! A server over HTTP, as a link: Streamable HTTP of both eras, and HTTP+SSE.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::Uri;
use bytes::Bytes;
use tap_bridge::Notice;
use tap_http::{Additions, Keeper, Recording, Upstream, UpstreamError, UpstreamOptions};
use tap_relay::{Clock, Copies};
use tokio::sync::mpsc;

use crate::error::ConnectError;
use crate::link::{Alive, LINES, Link, LinkEnd, channel};
use crate::remote::{FromRemote, Outlet, Remote, carry};

/// How long the end of a session may take: what was asked is answered by then, or is not.
const END_LIMIT: Duration = Duration::from_secs(3);

/// A server over HTTP.
#[derive(Debug, Clone)]
pub struct HttpServer {
    /// Its address, without user and password.
    pub url: Uri,
    /// How it is reached.
    pub upstream: Upstream,
    /// What is put on every request, and not recorded.
    pub additions: Additions,
}

impl HttpServer {
    /// A server by its address, reached in the usual way.
    ///
    /// # Errors
    ///
    /// When the system's certificates cannot be read.
    pub fn new(url: Uri) -> Result<Self, UpstreamError> {
        Ok(Self { url, upstream: Upstream::new(&UpstreamOptions::default())?, additions: Additions::default() })
    }
}

/// Links to a server. Copies of what passes are left with `copies`.
pub(crate) fn link(server: &HttpServer, copies: Option<Arc<Copies>>) -> Result<Link, ConnectError> {
    let clock = copies.as_ref().map_or_else(Clock::start, |copies| copies.clock());
    // Copies that nobody takes: there is no room for any.
    let copies = copies.unwrap_or_else(|| Arc::new(Copies::new(clock, 0, usize::MAX)));
    let keeper = Keeper::new().map_err(|_| std::io::Error::other("the system has no random numbers"))?;
    let recording = Arc::new(Recording::new(copies, keeper));
    recording.is_mcp_at(server.url.path());
    let outlet = Arc::new(Outlet::default());
    let remote = Remote {
        upstream: server.upstream.clone(),
        additions: server.additions.clone(),
        recording: recording.clone(),
        outlet: outlet.clone(),
        address: server.url.clone(),
    };
    let (out, mut to_server) = channel();
    let (client_lines, lines_in) = mpsc::channel(LINES);
    let (said, mut heard) = mpsc::unbounded_channel::<Bytes>();
    let (lines, from_server) = mpsc::channel(LINES);
    let is_closing = Arc::new(tokio::sync::Notify::new());
    let is_gone = Arc::new(tokio::sync::Notify::new());
    let closing = is_closing.clone();
    tokio::spawn(async move {
        while let Some(line) = to_server.next().await {
            if client_lines.send(line).await.is_err() {
                return;
            }
        }
        closing.notify_one();
    });
    let pass_on = tokio::spawn(async move {
        while let Some(line) = heard.recv().await {
            let n_bytes = line.len();
            if lines.send(line).await.is_err() {
                outlet.has_broken();
                return;
            }
            outlet.taken(n_bytes);
        }
    });
    let alive = Alive::new();
    let ended = tokio::spawn(async move {
        let _alive = alive;
        let gone = is_gone.clone();
        let notices = Mutex::new(Vec::new());
        let say = |what| match what {
            FromRemote::Line(line) => drop(said.send(line)),
            FromRemote::Notice(notice) => {
                // There is no way back into a session that the server does not know: whoever wants one opens another.
                if matches!(notice, Notice::SessionUnknown | Notice::SessionOver { .. }) {
                    gone.notify_one();
                }
                let mut notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
            }
        };
        // Nobody waits for answers once nothing more is asked: the client has gone.
        let stop = async {
            tokio::select! {
                () = is_gone.notified() => {}
                () = is_closing.notified() => tokio::time::sleep(END_LIMIT).await,
            }
        };
        carry(clock, Arc::new(remote), lines_in, say, stop).await;
        recording.stop();
        drop(said);
        let _ = pass_on.await;
        let notices = notices.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failure =
            (!notices.is_empty()).then(|| notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        LinkEnd { failure, ..LinkEnd::default() }
    });
    Ok(Link { out, lines: from_server, ended })
}
