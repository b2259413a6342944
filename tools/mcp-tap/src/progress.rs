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
