//! A server that is to be there: connected to when it is first needed, and again when it went away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::client::{Client, ClientOptions, Target};
use crate::error::ConnectError;

/// How long to wait before a server is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure. It doubles with each that follows.
    pub first: Duration,
    /// At most.
    pub most: Duration,
    /// A server that was there for so long is taken for sound again.
    pub sound_after: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), most: Duration::from_secs(30), sound_after: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row.
    #[must_use]
    pub fn after(&self, n_failures: u32) -> Duration {
        match n_failures {
            0 => Duration::ZERO,
            n => self.first.saturating_mul(2_u32.saturating_pow(n.saturating_sub(1))).min(self.most),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    client: Option<(Client, Instant)>,
    n_failures: u32,
    /// When the newest failure was.
    failed: Option<Instant>,
}

/// A server, whether or not it is there right now.
#[derive(Debug)]
pub struct Standing {
    target: Target,
    options: ClientOptions,
    backoff: Backoff,
    state: Arc<Mutex<State>>,
}

impl Standing {
    /// A server that nobody has connected to.
    #[must_use]
    pub fn new(target: Target, options: ClientOptions, backoff: Backoff) -> Self {
        Self { target, options, backoff, state: Arc::default() }
    }

    /// The session with the server: the one there is, or a new one. A server that keeps failing is waited for: see
    /// [`Backoff`]. Whoever else asks meanwhile waits for the same one.
    ///
    /// The flag says whether it is a new one.
    ///
    /// # Errors
    ///
    /// When it cannot be connected to.
    pub async fn client(&self) -> Result<(Client, bool), ConnectError> {
        let mut state = self.state.lock().await;
        if let Some((client, since)) = &state.client {
            if !client.is_over() {
                return Ok((client.clone(), false));
            }
            let was_sound = self.backoff.sound_after <= since.elapsed();
            state.client = None;
            state.n_failures = if was_sound { 0 } else { state.n_failures.saturating_add(1) };
            state.failed = Some(Instant::now());
        }
        let wait = self.backoff.after(state.n_failures);
        let waited = state.failed.map_or(wait, |failed| failed.elapsed());
        tokio::time::sleep(wait.saturating_sub(waited)).await;
        match Client::connect(&self.target, &self.options).await {
            Ok(client) => {
                state.client = Some((client.clone(), Instant::now()));
                Ok((client, true))
            }
            Err(error) => {
                state.n_failures = state.n_failures.saturating_add(1);
                state.failed = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// The session with the server, if there is one and nobody is connecting.
    #[must_use]
    pub fn now(&self) -> Option<Client> {
        let state = self.state.try_lock().ok()?;
        state.client.as_ref().map(|(client, _)| client.clone()).filter(|client| !client.is_over())
    }

    /// Ends the session, if there is one.
    pub async fn close(&self) {
        let client = self.state.lock().await.client.take();
        if let Some((client, _)) = client {
            client.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound() {
        let backoff = Backoff::default();
        let waits: Vec<u128> = (0..9).map(|n| backoff.after(n).as_millis()).collect();
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(backoff.after(u32::MAX), backoff.most);
    }
}
