//! The host's two pipes: a thread that reads lines, and one that writes them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::Builder;

use bytes::Bytes;
use tap_jsonrpc::LineSplitter;
use tap_peer::Outlet;
use tap_transport::{read_some, standard, write_all};
use tokio::sync::mpsc;

/// What one read takes.
const READ_BYTES: usize = 64 * 1024;

/// Starts the thread that reads what the host writes. The end of its input is the end of the channel.
pub(in crate::command) fn read_lines(lines: mpsc::Sender<Bytes>) -> std::io::Result<()> {
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
pub(in crate::command) fn start_writer(
    outlet: Arc<Outlet>,
    lines: Receiver<Bytes>,
    written: Sender<()>,
) -> std::io::Result<()> {
    let body = move || {
        for line in lines {
            if write_all(standard(1), &line).is_err() {
                outlet.has_broken();
            }
            outlet.taken(line.len());
        }
        drop(written);
    };
    Builder::new().name("stdout".into()).spawn(body).map(drop)
}
