//! Reading and writing descriptors that somebody else gave us, without changing anything about them.
//!
//! `O_NONBLOCK` belongs to the open file, which is shared with whoever gave it to us, so it is never set or cleared
//! here: a descriptor that turns out to be non-blocking is waited for with `poll`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::pthread::{Pthread, pthread_kill};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The signal that interrupts a blocked read. Its default action is to do nothing, so nobody is harmed by a stray one.
const INTERRUPT: Signal = Signal::SIGURG;

/// Waits until there is something to read or the stream has ended. False when `limit` passed or a signal came first.
///
/// # Errors
///
/// When the descriptor cannot be waited for.
pub fn is_ready(descriptor: impl AsFd, limit: Duration) -> io::Result<bool> {
    wait(descriptor.as_fd(), PollFlags::POLLIN, Some(limit))
}

/// Reads what is there, waiting for it if need be. 0 is the end of the stream; `None` is an
/// [interruption](Interruptible).
///
/// # Errors
///
/// When the descriptor cannot be read.
pub fn read_some(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let descriptor = descriptor.as_fd();
    loop {
        match nix::unistd::read(descriptor, buffer) {
            Ok(n_bytes) => return Ok(Some(n_bytes)),
            Err(Errno::EINTR) => return Ok(None),
            Err(Errno::EAGAIN) => {
                if !wait(descriptor, PollFlags::POLLIN, None)? {
                    return Ok(None);
                }
            }
            // A pseudo-terminal whose other side is gone says so with an error.
            Err(Errno::EIO) => return Ok(Some(0)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes all bytes, waiting as long as the reader takes.
///
/// # Errors
///
/// When the reader is gone (`BrokenPipe`) or the descriptor cannot be written.
pub fn write_all(descriptor: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    let descriptor = descriptor.as_fd();
    while !bytes.is_empty() {
        match nix::unistd::write(descriptor, bytes) {
            Ok(n_bytes) => bytes = bytes.get(n_bytes..).unwrap_or_default(),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                wait(descriptor, PollFlags::POLLOUT, None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait(descriptor: BorrowedFd<'_>, flags: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let limit = match limit {
        None => PollTimeout::NONE,
        Some(limit) => PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX),
    };
    match poll(&mut [PollFd::new(descriptor, flags)], limit) {
        Ok(n_ready) => Ok(n_ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a write would go through at once, in part at least, or would be refused at once.
#[must_use]
pub fn is_writable(descriptor: impl AsFd) -> bool {
    wait(descriptor.as_fd(), PollFlags::POLLOUT, Some(Duration::ZERO)).unwrap_or(true)
}

/// A thread whose blocking reads can be ended from outside.
#[derive(Debug, Clone, Copy)]
pub struct Interruptible(Pthread);

impl Interruptible {
    /// Makes the calling thread one whose reads can be interrupted.
    ///
    /// # Errors
    ///
    /// When the signal handler cannot be set.
    pub fn this_thread() -> io::Result<Self> {
        extern "C" fn nothing(_: nix::libc::c_int) {}
        // Without SA_RESTART, so that a blocked read returns.
        let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing, which is async-signal-safe.
        unsafe { sigaction(INTERRUPT, &action)? };
        // The host may have given us a mask that blocks it; the server gets that mask, this thread does not need it.
        let mut only = SigSet::empty();
        only.add(INTERRUPT);
        only.thread_unblock()?;
        Ok(Self(nix::sys::pthread::pthread_self()))
    }

    /// Interrupts the thread's read, if it is in one. Call again until the thread says that it noticed, for the signal
    /// may come just before the read.
    ///
    /// The thread must not have been joined.
    pub fn interrupt(self) {
        let _ = pthread_kill(self.0, INTERRUPT);
    }
}

/// One of our standard streams (0, 1, 2).
#[must_use]
pub fn standard(number: i32) -> BorrowedFd<'static> {
    // SAFETY: the standard streams' numbers stay open for the life of the process: where a stream is ended early,
    // `point_at_null` puts `/dev/null` in its place.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// A descriptor of our own for a standard stream. The standard stream itself becomes `/dev/null`, so that dropping what
/// is returned is the end for the other side.
///
/// # Errors
///
/// When no descriptor is free, or `/dev/null` cannot be opened.
pub fn take_standard(number: i32) -> io::Result<OwnedFd> {
    let own = standard(number).try_clone_to_owned()?;
    point_at_null(number)?;
    Ok(own)
}

/// Makes one of our standard streams end for its other side, at once. The number stays taken, so that no file opened
/// later gets it and is written to by mistake.
///
/// # Errors
///
/// When `/dev/null` cannot be opened.
pub fn point_at_null(number: i32) -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    // SAFETY: both are descriptors of ours, and nothing of ours owns the standard streams' numbers.
    match unsafe { nix::libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&null), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
