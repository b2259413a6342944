//! The host's two pipes: a thread that reads lines, and one that writes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::Builder;

use bytes::Bytes;
use tap_jsonrpc::LineSplitter;
use tap_transport::{read_some, standard, write_all};
use tokio::sync::{Notify, mpsc};

/// What one read takes.
const READ_BYTES: usize = 64 * 1024;

/// What may wait to be written to the host, bytes. Whoever reads from the server waits beyond that.
const OUTLET_BYTES: usize = 16 * 1024 * 1024;

/// How much waits to be written to the host.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    n_bytes: AtomicUsize,
    changed: Notify,
    is_broken: AtomicBool,
}

impl Outlet {
    /// So many bytes more wait.
    pub(super) fn add(&self, n_bytes: usize) {
        self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    /// Waits until there is room.
    pub(super) async fn room(&self) {
        self.until(|outlet| outlet.n_bytes.load(Ordering::Relaxed) < OUTLET_BYTES).await;
    }

    /// Waits until the host has gone away.
    pub(super) async fn broken(&self) {
        self.until(|outlet| outlet.is_broken.load(Ordering::Relaxed)).await;
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so(self) {
                return;
            }
            changed.await;
        }
    }
}

/// Starts the thread that reads what the host writes. The end of its input is the end of the channel.
pub(super) fn read_lines(lines: mpsc::Sender<Bytes>) -> std::io::Result<()> {
    let body = move || {
        let mut splitter = LineSplitter::default();
        let mut buffer = vec![0; READ_BYTES];
        // An interruption is nothing to us, and a failure is the end.
        loop {
            let n_bytes = match read_some(standard(0), &mut buffer) {
                Ok(None) => continue,
                Ok(Some(n_bytes)) => n_bytes,
                Err(_) => 0,
            };
            splitter.push(Bytes::copy_from_slice(buffer.get(..n_bytes).unwrap_or_default()));
            let is_over = n_bytes == 0;
            while let Some(line) = if is_over { splitter.finish() } else { splitter.next_line() } {
                if lines.blocking_send(line).is_err() {
                    return;
                }
            }
            if is_over {
                return;
            }
        }
    };
    Builder::new().name("stdin".into()).spawn(body).map(drop)
}

/// Starts the thread that writes to the host. `written` is dropped when all is written.
pub(super) fn start_writer(outlet: Arc<Outlet>, lines: Receiver<Bytes>, written: Sender<()>) -> std::io::Result<()> {
    let body = move || {
        for line in lines {
            if write_all(standard(1), &line).is_err() {
                outlet.is_broken.store(true, Ordering::Relaxed);
            }
            outlet.n_bytes.fetch_sub(line.len(), Ordering::Relaxed);
            outlet.changed.notify_waiters();
        }
        drop(written);
    };
    Builder::new().name("stdout".into()).spawn(body).map(drop)
}
