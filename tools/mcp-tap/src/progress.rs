//! Working out what frames meant, with word of it when that takes long.

use std::io::{IsTerminal, Write};

use tap_store::{SessionId, Store};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::text::shown;

/// Brings a session's lists up to date. On a terminal, says how far it is when there is much to do.
pub(crate) fn catch_up(global: &Global, store: &Store, session: SessionId, name: &str) -> Result<(), Failure> {
    let talk = !global.quiet && std::io::stderr().is_terminal();
    let mut told = false;
    store.catch_up(session, |share| {
        if talk {
            told = true;
            let _ = write!(std::io::stderr(), "\rreading {}: {:3.0} %", shown(name, false), share * 100.0);
        }
    })?;
    if told {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    Ok(())
}

/// How far something is that takes long, on a terminal; gone from there once it is dropped.
pub(crate) struct Progress {
    what: &'static str,
    talk: bool,
    told: bool,
}

impl Progress {
    pub(crate) fn new(global: &Global, what: &'static str) -> Self {
        Self { what, talk: !global.quiet && std::io::stderr().is_terminal(), told: false }
    }

    /// `share` is from 0 to 1.
    pub(crate) fn tell(&mut self, share: f64) {
        if self.talk {
            self.told = true;
            let _ = write!(std::io::stderr(), "\r{}: {:3.0} %", self.what, share * 100.0);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.told {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
