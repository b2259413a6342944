//! A server that is to be there: connected to when it is first needed, and again when it went away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tap_relay::Copies;
use tokio::sync::Mutex;

use crate::client::{Client, ClientOptions, Target};
use crate::error::ConnectError;
use crate::link::LinkEnd;

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

/// Records each session with a server that is connected to again and again.
pub trait Recorder: Send + Sync + 'static {
    /// A session begins. Gives where copies of what passes are left, if it is to be recorded.
    fn begin(&self) -> Option<Arc<Copies>>;

    /// A session that was recorded into these copies has ended; `Err` says why it never began. May wait: it is called where
    /// that is allowed.
    fn ended(&self, copies: Arc<Copies>, end: Result<LinkEnd, String>);
}

/// A server, whether or not it is there right now.
pub struct Standing {
    target: Target,
    options: ClientOptions,
    backoff: Backoff,
    recorder: Option<Arc<dyn Recorder>>,
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Standing").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Standing {
    /// A server that nobody has connected to.
    #[must_use]
    pub fn new(target: Target, options: ClientOptions, backoff: Backoff, recorder: Option<Arc<dyn Recorder>>) -> Self {
        Self { target, options, backoff, recorder, state: Arc::default() }
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
        match self.connect().await {
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

    /// Connects, and sees to the record.
    async fn connect(&self) -> Result<Client, ConnectError> {
        let Some((recorder, copies)) = self.recorder.as_ref().and_then(|recorder| Some((recorder, recorder.begin()?)))
        else {
            return Client::connect(&self.target, &self.options).await;
        };
        let options = ClientOptions { copies: Some(copies.clone()), ..self.options.clone() };
        let connected = Client::connect(&self.target, &options).await;
        let recorder = recorder.clone();
        match &connected {
            Ok(client) => {
                let client = client.watch_end();
                tokio::spawn(async move {
                    let end = client.await;
                    let _ = tokio::task::spawn_blocking(move || recorder.ended(copies, Ok(end))).await;
                });
            }
            Err(error) => {
                let end = match error {
                    ConnectError::Refused { end, .. } => Ok((**end).clone()),
                    error => Err(error.to_string()),
                };
                let _ = tokio::task::spawn_blocking(move || recorder.ended(copies, end)).await;
            }
        }
        connected
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
