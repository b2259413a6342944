//! Writing the audit of a run: by a thread of its own, for calls do not wait for a disk.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

use tap_router::{Audit, AuditedCall};
use tap_store::{AuditLog, AuditRow};

use crate::paths::default_database;
use crate::recording::say;

/// The audit of one run.
pub(crate) struct Auditing {
    run: String,
    kind: &'static str,
    /// `None` once it is over.
    writer: Mutex<Option<(Sender<AuditRow>, JoinHandle<()>)>>,
}

impl Auditing {
    /// Writes into `database`, or the default one. `run` is the uuid by which the run is known, `kind` the command.
    pub(crate) fn begin(database: Option<PathBuf>, run: String, kind: &'static str) -> Arc<Self> {
        let (sender, rows) = channel();
        let thread = std::thread::Builder::new().name("audit".into()).spawn(move || write(database, &rows));
        if let Err(error) = &thread {
            say(&format!("cannot start to write the audit: {error}; calls are made, but not noted there"));
        }
        Arc::new(Self { run, kind, writer: Mutex::new(thread.ok().map(|thread| (sender, thread))) })
    }

    /// Waits until everything is written.
    pub(crate) fn finish(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = writer {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// The database is opened when there is something to write, for many runs make no call.
fn write(database: Option<PathBuf>, rows: &Receiver<AuditRow>) {
    let Ok(first) = rows.recv() else { return };
    let opened = database.map_or_else(default_database, Ok).map_err(|failure| failure.message);
    let opened = opened.and_then(|path| AuditLog::open(&path).map_err(|error| error.to_string()));
    let log = match opened {
        Ok(log) => log,
        Err(what) => return say(&format!("{what}; calls are made, but not noted in the audit")),
    };
    for row in std::iter::once(first).chain(rows) {
        if let Err(error) = log.add(&row) {
            say(&format!("a call of {} was not noted in the audit: {error}", row.tool));
        }
    }
}

fn ns(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Audit for Auditing {
    fn called(&self, call: AuditedCall) {
        let row = AuditRow {
            run: self.run.clone(),
            kind: self.kind.into(),
            began_unix_ns: call.began.duration_since(UNIX_EPOCH).map_or(0, ns),
            server: call.server,
            tool: call.tool,
            arguments: call.arguments,
            is_allowed: call.is_allowed,
            by: call.by,
            asked_ns: ns(call.asked_for),
            took_ns: call.took.map(ns),
            outcome: call.outcome.name().into(),
            answer: call.answer,
        };
        if let Some((sender, _)) = &*self.writer.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(row);
        }
    }
}
