//! The gate: where what passes can be judged, held and changed by somebody else, and where more can be put in.
//!
//! In normal life it is open, and costs one atomic load a read: bytes go from the read to the write as they are. It is
//! armed by [`Doors::arm`]; each pump notices at its next read, out of which it is brought, and from then on hands what it
//! reads to the [`Gate`] and writes what was [left](Doors::leave) for it. Whoever leaves bytes never waits for a side that
//! does not read: the pump does, as it would without a gate, or a thread that is there for that alone.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tap_frame::Direction;
use tap_transport::{Interruptible, standard, write_all};

/// How often a pump that has not noticed is reminded.
const REMINDER: Duration = Duration::from_millis(2);

/// So much may wait for a side that does not read before its pump stops reading from the other, bytes.
const AHEAD_BYTES: usize = 64 * 1024;

/// So much may wait for the side that a direction comes from before nothing more is read from there, bytes. Answers in the
/// place of the other side go back that way, and who asks without reading them is not asked any more.
const BACK_BYTES: usize = 8 * 1024 * 1024;

/// How often a pump that waits for that looks whether there is something else to do.
const LOOK: Duration = Duration::from_millis(20);

const RAW: u8 = 0;
const ARMED: u8 = 1;
const CLOSED: u8 = 2;

/// Judges what passes while it is armed. Called by the pumps, each for its own direction.
pub trait Gate: Send + Sync {
    /// From here on bytes of this direction are handed over. `offset` bytes of it have passed; `torn` says that the last of
    /// these did not end a line.
    fn enter(&self, direction: Direction, offset: u64, torn: bool);

    /// Bytes were read, which begin at `offset` in their stream. What is to go on is left at the doors.
    fn pass(&self, direction: Direction, offset: u64, at_ns: u64, bytes: &[u8]);

    /// Bytes of this direction are about to pass as they are. What is kept of a line is to be left at the door.
    fn leave(&self, direction: Direction);

    /// The stream has ended. Returns when all that is to go on has been left, or when it is not waited for any longer.
    fn end(&self, direction: Direction);

    /// Nobody reads any more what goes in this direction.
    fn nobody_reads(&self, direction: Direction);
}

/// The ways out to both sides, and who judges what goes there.
#[derive(Default)]
pub struct Doors {
    doors: [Door; 2],
    gate: OnceLock<Arc<dyn Gate>>,
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Doors").field("has_gate", &self.gate.get().is_some()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Door {
    /// What the pump should do, which it asks for after every read.
    wanted: AtomicU8,
    state: Mutex<State>,
    /// Told when something was written, or the pump has noticed what is wanted.
    changed: Condvar,
    /// Told when the writing thread has something to do.
    left: Condvar,
}

#[derive(Default)]
struct State {
    queue: Vec<u8>,
    /// Somebody has taken bytes from the queue and is writing them. Nobody else writes meanwhile.
    writing: bool,
    /// The pump hands over what it reads.
    entered: bool,
    /// The stream has ended, or nobody reads any more.
    ended: bool,
    pump: Option<Interruptible>,
    sink: Option<Sink>,
    has_writer: bool,
}

/// What a writing thread writes to.
#[derive(Debug, Clone)]
pub(crate) enum Sink {
    /// A descriptor of the pump's, which closes it by dropping it.
    Of(Weak<OwnedFd>),
    /// One of our standard streams.
    Standard(i32),
}

impl Sink {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Of(descriptor) => match descriptor.upgrade() {
                Some(descriptor) => write_all(&*descriptor, bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            Self::Standard(number) => write_all(standard(*number), bytes),
        }
    }
}

impl Doors {
    /// Doors that stand open.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Says who judges. Only the first one does; before that nothing can be armed.
    pub fn set_gate(&self, gate: Arc<dyn Gate>) {
        let _ = self.gate.set(gate);
    }

    /// Has everything handed to the gate from the next read on, out of which the pumps are brought. Gives back which of the
    /// two directions, to the server and to the client, [enters](Gate::enter) only now: until it has, bytes pass there as they
    /// are, and a line may be on its way.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn arm(self: &Arc<Self>) -> io::Result<[bool; 2]> {
        let mut enters = [false; 2];
        if self.gate.get().is_none() {
            return Ok(enters);
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let door = self.door(direction);
            let mut state = door.state();
            if !state.has_writer {
                let doors = self.clone();
                let name = if direction == Direction::ToServer { "to server" } else { "to client" };
                std::thread::Builder::new()
                    .name(name.into())
                    .spawn(move || doors.door(direction).write_what_is_left())?;
                state.has_writer = true;
            }
            // A door that was closed stays so.
            let _ = door.wanted.compare_exchange(RAW, ARMED, Ordering::SeqCst, Ordering::SeqCst);
            enters[direction as usize] = !state.entered && !state.ended;
            drop(state);
            door.left.notify_all();
        }
        Ok(enters)
    }

    /// Waits until both pumps hand over what they read, or have ended. False when one has not within `limit`: it is in a
    /// write that its side does not take, and will when that is over.
    #[must_use]
    pub fn wait_armed(&self, limit: Duration) -> bool {
        let began = Instant::now();
        self.doors.iter().all(|door| {
            let mut state = door.state();
            while !state.entered && !state.ended {
                let Some(left) = limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                    return false;
                };
                state = door.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            true
        })
    }

    /// Has bytes pass as they are again, from when all that was left is written. What the gate keeps of a line it has to leave
    /// before.
    pub fn disarm(&self) {
        for door in &self.doors {
            let _ = door.wanted.compare_exchange(ARMED, RAW, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Leaves bytes to go out in this direction, behind those that were left before. Never waits. Only while armed.
    pub fn leave(&self, direction: Direction, bytes: &[u8]) {
        let mut state = self.door(direction).state();
        if !state.ended {
            state.queue.extend_from_slice(bytes);
        }
    }

    /// Has written what was left, by whoever is not the pump of this direction.
    pub fn deliver(&self, direction: Direction) {
        self.door(direction).left.notify_all();
    }

    /// Ends a direction: what was left goes out, then the stream ends for the side that reads it, and nobody reads any more
    /// from the side that writes it.
    pub fn close(&self, direction: Direction) {
        let door = self.door(direction);
        door.wanted.store(CLOSED, Ordering::SeqCst);
        door.left.notify_all();
    }

    /// Whether bytes can still go out in this direction.
    #[must_use]
    pub fn is_open(&self, direction: Direction) -> bool {
        !self.door(direction).state().ended
    }

    /// Waits until what was left in both directions is written, or `limit` has passed.
    pub fn flush(&self, limit: Duration) {
        let began = Instant::now();
        for door in &self.doors {
            door.left.notify_all();
            let mut state = door.state();
            while !state.ended && (state.writing || !state.queue.is_empty()) {
                let Some(left) = limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                    return;
                };
                state = door.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn door(&self, direction: Direction) -> &Door {
        &self.doors[direction as usize]
    }

    pub(crate) fn set_sink(&self, direction: Direction, sink: Sink) {
        self.door(direction).state().sink = Some(sink);
    }
}

impl State {
    fn interrupt(&self) {
        // It cannot have been joined: it says that it has ended before it does.
        if let Some(pump) = self.pump.filter(|_| !self.ended) {
            pump.interrupt();
        }
    }
}

impl Door {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writing thread: writes what was left while the pump waits for its source, and brings that out of its read when it
    /// is to do something else. It writes nothing as long as the pump may.
    fn write_what_is_left(&self) {
        let mut state = self.state();
        loop {
            if state.ended {
                return;
            }
            let wanted = self.wanted.load(Ordering::SeqCst);
            if wanted == CLOSED || wanted == ARMED && !state.entered {
                state.interrupt();
                state = self.changed.wait_timeout(state, REMINDER).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if state.queue.is_empty() || state.writing || !state.entered {
                state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some(sink) = state.sink.clone() else {
                return;
            };
            state = self.write_once(state, &mut |bytes| sink.write(bytes)).0;
        }
    }

    /// Writes all that is in the queue, with the lock given back meanwhile.
    fn write_once<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> (MutexGuard<'a, State>, io::Result<()>) {
        let mut bytes = std::mem::take(&mut state.queue);
        state.writing = true;
        drop(state);
        let written = write(&bytes);
        let mut state = self.state();
        state.writing = false;
        if written.is_err() {
            state.queue.clear();
            // Noticed by the pump at its next write, as it would have been without a gate.
        } else if state.queue.is_empty() && bytes.capacity() <= AHEAD_BYTES {
            bytes.clear();
            state.queue = bytes;
        }
        self.changed.notify_all();
        (state, written)
    }
}

/// A pump's side of a door.
pub(crate) struct Passage<'a> {
    doors: &'a Doors,
    direction: Direction,
    entered: bool,
    /// How many bytes were read.
    offset: u64,
    torn: bool,
}

/// What a pump does with what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Raw,
    Gated,
    Closed,
}

impl<'a> Passage<'a> {
    /// Begins to pump in this direction. `thread` is the pump's.
    pub(crate) fn begin(doors: &'a Doors, direction: Direction, thread: Option<Interruptible>) -> Self {
        doors.door(direction).state().pump = thread;
        Self { doors, direction, entered: false, offset: 0, torn: false }
    }

    fn door(&self) -> &'a Door {
        self.doors.door(self.direction)
    }

    /// What to do now. Asked after every read, whatever came of it.
    pub(crate) fn way(&mut self, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Way {
        // Relaxed: who arms brings the pump out of its read, and waits until it has noticed.
        match (self.door().wanted.load(Ordering::Relaxed), self.entered) {
            (RAW, false) => Way::Raw,
            (ARMED, true) => Way::Gated,
            (wanted, _) => self.change(wanted, write),
        }
    }

    #[cold]
    fn change(&mut self, wanted: u8, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Way {
        let Some(gate) = self.doors.gate.get() else {
            return Way::Raw;
        };
        match wanted {
            RAW => {
                gate.leave(self.direction);
                let _ = self.drain(write, 0);
                let mut state = self.door().state();
                if !state.queue.is_empty() || state.writing {
                    return Way::Gated;
                }
                // Somebody may have armed it since; then nothing has changed.
                if self.door().wanted.load(Ordering::SeqCst) == RAW {
                    (self.entered, state.entered) = (false, false);
                    return Way::Raw;
                }
                Way::Gated
            }
            ARMED => {
                gate.enter(self.direction, self.offset, self.torn);
                self.entered = true;
                self.door().state().entered = true;
                self.door().changed.notify_all();
                Way::Gated
            }
            _ => {
                let _ = self.drain(write, 0);
                Way::Closed
            }
        }
    }

    /// Waits until the side that is read from has taken what is there for it, all but [`BACK_BYTES`]; not when this direction
    /// is to change, or `is_over` says that nothing is to be waited for any more.
    pub(crate) fn wait_for_room(&self, is_over: &dyn Fn() -> bool) {
        if !self.entered {
            return;
        }
        let door = self.doors.door(self.direction.reversed());
        let mut state = door.state();
        while BACK_BYTES < state.queue.len()
            && !state.ended
            && self.door().wanted.load(Ordering::Relaxed) == ARMED
            && !is_over()
        {
            state = door.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notes bytes that pass as they are.
    pub(crate) fn note(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.torn = bytes.last() != Some(&b'\n');
    }

    /// Hands bytes to the gate, and writes what it leaves.
    pub(crate) fn pass(
        &mut self,
        at_ns: u64,
        bytes: &[u8],
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(gate) = self.doors.gate.get() {
            gate.pass(self.direction, self.offset, at_ns, bytes);
        }
        self.note(bytes);
        if self.door().wanted.load(Ordering::Relaxed) == CLOSED {
            let _ = self.drain(write, 0);
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.drain(write, AHEAD_BYTES)
    }

    /// Writes what was left, until not more than `ahead` bytes are in the hands of another.
    fn drain(&self, write: &mut dyn FnMut(&[u8]) -> io::Result<()>, ahead: usize) -> io::Result<()> {
        let door = self.door();
        let mut state = door.state();
        loop {
            if state.writing {
                if state.queue.len() <= ahead && ahead > 0 {
                    return Ok(());
                }
                state = door.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if state.queue.is_empty() {
                return Ok(());
            }
            let written;
            (state, written) = door.write_once(state, write);
            written?;
        }
    }

    /// Ends this direction: `read_all` says that the source has ended, and not who reads.
    pub(crate) fn end(self, read_all: bool, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) {
        if let Some(gate) = self.doors.gate.get().filter(|_| self.entered) {
            if read_all {
                gate.end(self.direction);
                let _ = self.drain(write, 0);
            } else {
                gate.nobody_reads(self.direction);
            }
        }
        let mut state = self.door().state();
        (state.ended, state.pump) = (true, None);
        state.queue.clear();
        drop(state);
        self.door().changed.notify_all();
        self.door().left.notify_all();
    }
}

#[cfg(test)]
mod tests;
