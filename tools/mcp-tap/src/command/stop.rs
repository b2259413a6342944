//! That somebody wants a bridge or a proxy to stop.

use tap_transport::is_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for it. A terminal that is closed asks for it too, unless we were started so that we outlive it.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl Stop {
    /// Takes the signals over. Call it in a runtime, before anybody is told that we are there.
    pub(super) fn new() -> std::io::Result<Self> {
        let hangup = SignalKind::hangup();
        let is_taken = !is_ignored(hangup.as_raw_value());
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: is_taken.then(|| signal(hangup)).transpose()?,
        })
    }

    /// Waits until one comes. Nothing is lost when the waiting is broken off.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            Some(_) = async { self.hangup.as_mut()?.recv().await } => {}
        }
    }
}
