//! A whole tap on stdio: three pumps between a host's three streams and a server's.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tap_frame::{Direction, Stream};
use tap_transport::{
    Ending, Interruptible, ServerProcess, is_writable, point_at_null, standard, take_standard, write_all,
};

use crate::clock::Clock;
use crate::copies::Copies;
use crate::cushion::Cushion;
use crate::gate::{Doors, Passage, Sink};
use crate::pump::{Pump, ServerEnded};

/// How much stderr may wait for a host that does not read it, before the server has to wait as it would without a tap.
const STDERR_CUSHION_BYTES: usize = 8 * 1024 * 1024;

/// How long a host that takes not one byte of stderr can delay the end of the tap.
const STDERR_PATIENCE: Duration = Duration::from_secs(1);

/// How long a server that has ended waits for a host that takes not one byte of what is left for it. Every host known
/// kills before this.
const STDOUT_PATIENCE: Duration = Duration::from_secs(5);

/// How often a pump that has not noticed the server's end is reminded.
const REMINDER: Duration = Duration::from_millis(2);

/// Relays between our standard streams and the server until the server has ended and what it wrote is delivered.
///
/// Each direction has a thread of its own with blocking reads: nothing that happens in one direction can hold up another,
/// and a byte costs what it costs in the plainest copier. End of input on one side closes the other side's pipe at once,
/// a side that stops reading makes the other wait.
///
/// Call it from the thread that started the server (see [`ServerProcess::spawn`]). The thread that reads our own stdin
/// may be left behind in a read that nothing can end; the caller is expected to end the process.
///
/// What passes can be judged at `doors`, once these are armed.
///
/// # Errors
///
/// When no thread can be started, or the server cannot be waited for.
pub fn relay(server: ServerProcess, clock: Clock, copies: &Arc<Copies>, doors: &Arc<Doors>) -> io::Result<Ending> {
    let wait = server.waiter();
    let server_ended = Arc::new(ServerEnded::default());
    let cushion = Arc::new(Cushion::new(STDERR_CUSHION_BYTES));
    let side = |stream| (stream, clock, copies.clone(), server_ended.clone());

    let stdin = Arc::new(server.stdin);
    doors.set_sink(Direction::ToServer, Sink::Of(Arc::downgrade(&stdin)));
    doors.set_sink(Direction::ToClient, Sink::Standard(1));
    let (to_server_doors, to_client_doors) = (doors.clone(), doors.clone());
    start(side(Stream::ToServer), move |pump, this| {
        let passage = Some(Passage::begin(&to_server_doors, Direction::ToServer, this));
        match take_standard(0) {
            Ok(source) => pump.run(&source, passage, |bytes| write_all(&*stdin, bytes)),
            // Where there is no `/dev/null`: only, the host is not told when the server stops reading.
            Err(_) => pump.run(standard(0), passage, |bytes| write_all(&*stdin, bytes)),
        }
        // Both ends are closed here: the server sees the end of its input, or the host that nobody reads.
        Ok(())
    })?;
    let stdout = server.stdout;
    let to_client = start(side(Stream::ToClient), move |pump, this| {
        let sink = standard(1);
        let passage = Some(Passage::begin(&to_client_doors, Direction::ToClient, this));
        pump.run(&stdout, passage, |bytes| write_all(sink, bytes));
        drop(stdout);
        point_at_null(1)
    })?;
    let (stderr, filled) = (server.stderr, cushion.clone());
    let errors = start(side(Stream::Stderr), move |pump, _| {
        pump.run(&stderr, None, |bytes| {
            filled.push(bytes);
            Ok(())
        });
        filled.end();
        Ok(())
    })?;
    let drained = cushion.clone();
    Builder::new().name("stderr".into()).spawn(move || drained.drain(|bytes| write_all(standard(2), bytes)))?;

    let ending = wait()?;
    server_ended.set();
    to_client.join(standard(1));
    // What this pump writes to is the cushion, which always takes in the end.
    errors.join(standard(2));
    cushion.flush(STDERR_PATIENCE);
    Ok(ending)
}

type Side = (Stream, Clock, Arc<Copies>, Arc<ServerEnded>);

/// A pump's thread.
struct Running {
    thread: JoinHandle<()>,
    handle: Receiver<Interruptible>,
    done: Receiver<()>,
}

impl Running {
    /// Waits until the pump has stopped, getting it out of a read that would never return.
    ///
    /// Bytes on their way are waited for as long as the host takes some now and then.
    fn join(self, sink: BorrowedFd<'_>) {
        let Ok(thread) = self.handle.recv() else {
            return;
        };
        let mut taken = Instant::now();
        while self.done.recv_timeout(REMINDER) == Err(RecvTimeoutError::Timeout) {
            thread.interrupt();
            if is_writable(sink) {
                taken = Instant::now();
            } else if taken.elapsed() > STDOUT_PATIENCE {
                return;
            }
        }
        let _ = self.thread.join();
    }
}

fn start(
    side: Side,
    run: impl FnOnce(&Pump<'_>, Option<Interruptible>) -> io::Result<()> + Send + 'static,
) -> io::Result<Running> {
    let (stream, clock, copies, server_ended) = side;
    let (tell_handle, handle) = channel();
    let (tell_done, done) = channel();
    let name = match stream {
        Stream::ToServer => "stdin",
        Stream::ToClient => "stdout",
        Stream::Stderr => "stderr copy",
    };
    let thread = Builder::new().name(name.into()).spawn(move || {
        let this = Interruptible::this_thread().ok();
        if let Some(this) = this {
            let _ = tell_handle.send(this);
        }
        let pump = Pump { stream, clock, copies: &copies, server_ended: &server_ended };
        let _ = run(&pump, this);
        let _ = tell_done.send(());
    })?;
    Ok(Running { thread, handle, done })
}
