//! The live debugger of a tap: the machine of `tap-control` between the pumps, a clock and the viewers.
//!
//! Everything that happens to the machine happens under one lock, and what comes out of it is left at the doors and in the
//! viewers' queues before the lock is given back, so that all see one order. Nothing under the lock waits for anybody.
//! Nothing in here can end a tap: what fails is told once, and traffic goes on.

pub(crate) mod client;
mod http;
pub(crate) mod place;
mod serve;
mod viewer;
mod ways;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tap_control::{Debugger, END_PATIENCE_NS, Event, HttpOrder, Order, Rule, RuleOptions, Session, Ticket};
use tap_frame::Direction;
use tap_relay::{Clock, Copies, Gate};
use tap_session::MirroredHeaders;
use tap_transport::Lifeline;

use self::viewer::{Outbox, ViewerId};
use crate::recording::say;

pub(crate) use self::serve::{NO_CRASH, begin_to_listen, context};
pub(crate) use self::ways::Ways;
pub(crate) use self::wire::{bytes_of, message};

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// How long a pump may take to notice that it is armed. It is brought out of its read at once; only one that is in a write
/// which its side does not take needs longer.
const ARM_PATIENCE: Duration = Duration::from_millis(500);

/// How long what is let go may take to be written before a signal is passed on.
const LET_GO_PATIENCE: Duration = Duration::from_millis(200);

/// The signals that ask a program to end.
const ENDING_SIGNALS: [i32; 4] = [nix::libc::SIGTERM, nix::libc::SIGINT, nix::libc::SIGHUP, nix::libc::SIGQUIT];

/// SIGKILL, by which a server is made to crash.
const KILL: i32 = nix::libc::SIGKILL;

/// What is known of the tap, for `taps`.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) server_pid: Option<u32>,
    pub(crate) command: Vec<String>,
    pub(crate) database: Option<std::path::PathBuf>,
}

/// See the head of this file.
pub(crate) struct Control {
    pub(crate) about: About,
    state: Mutex<State>,
    /// Told when something is due at another time than before, and at the end.
    rescheduled: Condvar,
    /// Told when anything has gone on.
    moved: Condvar,
    ways: Ways,
    /// Over HTTP: what the tools say of their parameters' headers.
    mirrored: Mutex<MirroredHeaders>,
    clock: Clock,
    copies: Arc<Copies>,
    lifeline: OnceLock<Lifeline>,
}

struct State {
    debugger: Debugger,
    armed: bool,
    /// How many are about to put something in, and need it armed until they have.
    n_pins: usize,
    has_timer: bool,
    /// When the timer will wake by itself.
    wakes_ns: Option<u64>,
    viewers: HashMap<ViewerId, Outbox>,
    n_viewers: u64,
    /// Who waits for an answer, and with which id they asked.
    asked: HashMap<Ticket, (ViewerId, serde_json::Value)>,
    ended: bool,
}

/// What is left to be done when the lock is given back.
#[derive(Debug, Default)]
struct Sent {
    /// In which directions something was sent, so that somebody writes it.
    to: [bool; 2],
    /// What is to be said.
    told: Vec<String>,
}

impl Control {
    /// The debugger of a tap whose session began with `clock`. Nothing is armed.
    pub(crate) fn new(
        about: About,
        options: tap_control::Options,
        clock: Clock,
        copies: Arc<Copies>,
        ways: Ways,
    ) -> Arc<Self> {
        let session =
            Session { name: about.name.clone(), uuid: about.uuid.clone(), opened_unix_ns: clock.opened_unix_ns };
        let state = State {
            debugger: Debugger::new(session, options),
            armed: false,
            n_pins: 0,
            has_timer: false,
            wakes_ns: None,
            viewers: HashMap::new(),
            n_viewers: 0,
            asked: HashMap::new(),
            ended: false,
        };
        let control = Arc::new(Self {
            about,
            state: Mutex::new(state),
            rescheduled: Condvar::new(),
            moved: Condvar::new(),
            ways: ways.clone(),
            mirrored: Mutex::default(),
            clock,
            copies,
            lifeline: OnceLock::new(),
        });
        match ways {
            Ways::Pipes(doors) => doors.set_gate(Arc::new(Side(control.clone()))),
            Ways::Http(gates) => gates.set_judge(Arc::new(http::Exchanges(control.clone()))),
        }
        control
    }

    /// Says how the server can be killed.
    pub(crate) fn set_lifeline(&self, lifeline: Lifeline) {
        let _ = self.lifeline.set(lifeline);
    }

    /// Sets a rule before anything passes.
    pub(crate) fn begin_with(self: &Arc<Self>, rule: Rule, options: RuleOptions) {
        self.with(|debugger, at_ns| debugger.set_rule(rule, options, at_ns));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the machine, and what comes of it.
    fn with<T>(self: &Arc<Self>, change: impl FnOnce(&mut Debugger, u64) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state.debugger, self.clock.at_ns());
        let sent = self.settle(&mut state);
        drop(state);
        self.deliver(sent, None);
        changed
    }

    /// The same for something that puts bytes in: both pumps hand over what they read before it is done, so that a line of
    /// theirs is not torn. `None` when that cannot be had, because a side does not read.
    fn with_armed<T>(self: &Arc<Self>, change: impl FnOnce(&mut State, u64) -> T) -> Option<T> {
        let mut state = self.state();
        state.n_pins += 1;
        let sent = self.settle(&mut state);
        drop(state);
        self.deliver(sent, None);
        let is_armed = self.ways.wait_armed(ARM_PATIENCE);
        let mut state = self.state();
        let changed = is_armed.then(|| change(&mut state, self.clock.at_ns()));
        state.n_pins -= 1;
        let sent = self.settle(&mut state);
        drop(state);
        self.deliver(sent, None);
        changed
    }

    /// Does what the machine has ordered, tells viewers what there is to tell, and arms or disarms.
    fn settle(self: &Arc<Self>, state: &mut State) -> Sent {
        let mut sent = Sent::default();
        self.obey(state, &mut sent);
        let armed = (state.n_pins > 0 || state.debugger.is_armed()) && !state.ended;
        if armed && !state.armed {
            self.begin_timer(state, &mut sent);
            match self.ways.arm() {
                Ok(enters) => {
                    state.armed = true;
                    let entering = BOTH.into_iter().zip(enters).filter(|(_, enters)| *enters);
                    entering.for_each(|(direction, _)| state.debugger.expect(direction));
                }
                Err(error) => {
                    sent.told.push(format!("cannot hold messages: no thread can be started: {error}"));
                }
            }
        } else if !armed && state.armed {
            state.armed = false;
            BOTH.into_iter().for_each(|direction| state.debugger.flush(direction));
            self.obey(state, &mut sent);
            self.ways.disarm();
        }
        let due_ns = state.debugger.poll_timeout();
        if due_ns.is_some_and(|due_ns| state.wakes_ns.is_none_or(|wakes_ns| due_ns < wakes_ns)) {
            self.rescheduled.notify_all();
        }
        sent
    }

    fn obey(&self, state: &mut State, sent: &mut Sent) {
        let mut has_moved = false;
        while let Some(order) = state.debugger.poll_order() {
            match order {
                Order::Send { direction, bytes } => {
                    self.ways.leave(direction, &bytes);
                    sent.to[direction as usize] = true;
                    has_moved = true;
                }
                Order::Record(act) => {
                    self.copies.offer_act(None, self.clock.at_ns(), &act);
                    has_moved = true;
                }
                Order::Close(direction) => self.ways.close(direction),
                Order::Crash => {
                    if let Some(lifeline) = self.lifeline.get() {
                        lifeline.send(KILL);
                    }
                }
                Order::Tell(text) => sent.told.push(text),
                Order::Http(exchange, HttpOrder::Record(act)) => {
                    self.copies.offer_act(Some(exchange), self.clock.at_ns(), &act);
                }
                Order::Http(exchange, order) => self.ways.tell(exchange, order),
            }
        }
        if has_moved {
            self.moved.notify_all();
        }
        while let Some(event) = state.debugger.poll_event() {
            if let Event::Answered { ticket, answer } = &event {
                serve::hand_over(state, *ticket, answer);
            } else if !state.viewers.is_empty() {
                let line = wire::event(&event, self.clock.at_ns());
                state.viewers.values_mut().for_each(|viewer| viewer.tell(&line));
            }
        }
    }

    /// Has written what was sent; a pump writes by itself what goes its own way. Never under the lock: whoever reads what is
    /// said may take his time.
    fn deliver(&self, sent: Sent, own: Option<Direction>) {
        sent.told.iter().for_each(|text| say(text));
        for direction in BOTH {
            if sent.to[direction as usize] && own != Some(direction) {
                self.ways.deliver(direction);
            }
        }
    }

    fn begin_timer(self: &Arc<Self>, state: &mut State, sent: &mut Sent) {
        if state.has_timer {
            return;
        }
        let control = self.clone();
        match std::thread::Builder::new().name("debugger".into()).spawn(move || control.keep_time()) {
            Ok(_) => state.has_timer = true,
            Err(error) => {
                let told = format!("cannot start the debugger's clock: {error}; what is held stays until it is let go");
                sent.told.push(told);
            }
        }
    }

    /// Does what is due, until the end.
    fn keep_time(self: &Arc<Self>) {
        let mut state = self.state();
        while !state.ended {
            let now_ns = self.clock.at_ns();
            let due_ns = state.debugger.poll_timeout();
            state.wakes_ns = due_ns;
            state = match due_ns {
                Some(due_ns) if due_ns <= now_ns => {
                    state.debugger.handle_timeout(now_ns);
                    let sent = self.settle(&mut state);
                    drop(state);
                    self.deliver(sent, None);
                    self.state()
                }
                Some(due_ns) => {
                    let left = Duration::from_nanos(due_ns - now_ns);
                    self.rescheduled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.rescheduled.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// A signal has come, and is about to be passed on to the server. Before one that asks it to end, everything is let go.
    pub(crate) fn signalled(self: &Arc<Self>, number: i32) {
        if !ENDING_SIGNALS.contains(&number) || !self.state().armed {
            return;
        }
        self.let_go();
        self.ways.flush(LET_GO_PATIENCE);
    }

    /// Everything goes on that is held, and nothing more is: the tap is asked to end.
    pub(crate) fn let_go(self: &Arc<Self>) {
        self.with(|debugger, at_ns| debugger.let_go("the tap was asked to end", at_ns));
    }

    /// The server has ended, and what it wrote is delivered. Tells what the faults did.
    pub(crate) fn finish(self: &Arc<Self>) {
        let summary = self.with(|debugger, at_ns| {
            debugger.nobody_reads(Direction::ToServer, at_ns);
            debugger.summary()
        });
        for line in summary {
            say(&line);
        }
        let mut state = self.state();
        state.ended = true;
        drop(state);
        self.rescheduled.notify_all();
        self.moved.notify_all();
        place::remove(&self.about.uuid);
    }
}

/// The gate, as the pumps have it.
struct Side(Arc<Control>);

impl Gate for Side {
    fn enter(&self, direction: Direction, offset: u64, torn: bool) {
        let mut state = self.0.state();
        state.debugger.enter(direction, offset, torn);
        let sent = self.0.settle(&mut state);
        drop(state);
        // What waited for this is written by the pump itself, after its first bytes; where it has none, by the other thread.
        self.0.deliver(sent, None);
    }

    fn pass(&self, direction: Direction, offset: u64, at_ns: u64, bytes: &[u8]) {
        let mut state = self.0.state();
        state.debugger.take(direction, offset, bytes, at_ns);
        let sent = self.0.settle(&mut state);
        drop(state);
        self.0.deliver(sent, Some(direction));
    }

    fn leave(&self, direction: Direction) {
        let mut state = self.0.state();
        state.debugger.flush(direction);
        let sent = self.0.settle(&mut state);
        drop(state);
        self.0.deliver(sent, Some(direction));
    }

    fn end(&self, direction: Direction) {
        let mut state = self.0.state();
        state.debugger.end(direction, self.0.clock.at_ns());
        let sent = self.0.settle(&mut state);
        drop(state);
        self.0.deliver(sent, None);
        let mut state = self.0.state();
        let began = Instant::now();
        // What is delayed has this long; a little more, for the clock that lets it go.
        let limit = Duration::from_nanos(END_PATIENCE_NS) + LET_GO_PATIENCE;
        while !state.debugger.is_idle(direction) && !state.ended {
            let Some(left) = limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            state = self.0.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn nobody_reads(&self, direction: Direction) {
        let mut state = self.0.state();
        state.debugger.nobody_reads(direction, self.0.clock.at_ns());
        let sent = self.0.settle(&mut state);
        drop(state);
        self.0.deliver(sent, None);
    }
}
