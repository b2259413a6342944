//! That somebody wants us to stop, told to the server that runs at that moment.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::stop::Stop;
use super::server::Event;
use crate::failure::Failure;

/// Whether we were asked to stop, and who is told.
#[derive(Default)]
struct Asked {
    is_asked: bool,
    told: Option<SyncSender<Event>>,
}

/// Waits for the signals that ask us to stop.
pub(super) struct Interrupt(Arc<Mutex<Asked>>);

impl Interrupt {
    pub(super) fn new() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::new(format!("cannot take signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let mut stop = {
            let _entered = runtime.enter();
            Stop::new().map_err(cannot)?
        };
        let asked = Arc::new(Mutex::new(Asked::default()));
        let shared = asked.clone();
        std::thread::spawn(move || {
            loop {
                runtime.block_on(stop.asked());
                let told = {
                    let mut asked = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    asked.is_asked = true;
                    asked.told.clone()
                };
                if let Some(told) = told {
                    let _ = told.send(Event::Stop);
                }
            }
        });
        Ok(Self(asked))
    }

    /// From now on this one is told.
    pub(super) fn goes_to(&self, events: SyncSender<Event>) {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.is_asked {
            let _ = events.try_send(Event::Stop);
        }
        asked.told = Some(events);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_asked
    }
}
