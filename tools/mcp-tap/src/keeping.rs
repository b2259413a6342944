//! Recordings that are older, or more, than the configuration allows: taken away beside a tap, without anybody asking.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tap_store::{Limits, Store};

use crate::arguments::Global;
use crate::configuration::Configuration;

/// How often it is looked while a tap runs.
const AGAIN: Duration = Duration::from_secs(3600);

/// The configuration that was named; of taps alone.
static NAMED: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Says that this process records, and where its configuration is.
pub(crate) fn configure(global: &Global) {
    let _ = NAMED.set(global.config.clone());
}

/// Starts looking, if the configuration says that there are limits. In a thread of its own, which nothing waits for: what it has
/// not done when the tap ends is left to the next one. Is called by the thread that records, whose mask of signals it needs.
pub(crate) fn keep_within_limits(database: PathBuf) {
    let Some(named) = NAMED.get() else {
        return;
    };
    let body = move || {
        let Ok(read) = Configuration::read_from(named.clone()) else {
            return;
        };
        if read.max_age.is_none() && read.max_size.is_none() {
            return;
        }
        loop {
            match once(&database, &read) {
                Ok(n_gone) if n_gone > 0 => tracing::info!(n_gone, "sessions are gone, as the configuration has it"),
                Ok(_) => {}
                Err(error) => tracing::warn!("cannot keep within limits: {error}"),
            }
            std::thread::sleep(AGAIN); // tidy: sleeps because nothing is to be done for so long.
        }
    };
    // Without it nothing is lost but room.
    let _ = std::thread::Builder::new().name("keeper".into()).spawn(body);
}

fn once(path: &Path, read: &Configuration) -> Result<u64, tap_store::StoreError> {
    if !path.exists() {
        return Ok(0);
    }
    let store = Store::open(path)?;
    let Some(_lock) = store.keepers_lock()? else {
        return Ok(0);
    };
    let mut n_gone = 0;
    store.prune(&limits(read.max_age, read.max_size), |_, _| n_gone += 1)?;
    if n_gone > 0 {
        store.give_back(|_| {})?;
    }
    Ok(n_gone)
}

/// What may stay, as of now.
pub(crate) fn limits(max_age: Option<Duration>, max_size: Option<u64>) -> Limits {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = max_age.map(|age| u64::try_from(now.saturating_sub(age).as_nanos()).unwrap_or(u64::MAX));
    Limits { oldest_unix_ns: oldest, most_bytes: max_size }
}
