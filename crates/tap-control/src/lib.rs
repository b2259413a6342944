//! The live debugger: which messages are held, changed, answered or made to go wrong, and what goes out in their place.
//!
//! May know: frames, envelopes, the filter language, what a session's rules find. Must not know: descriptors, sockets,
//! threads, clocks, how anything is shown. Bytes and commands in with the time, [`Order`]s and [`Event`]s out: the relay
//! and the control socket, and over HTTP the proxy, are driven by the same machine.
//!
//! Start reading at [`Debugger`], then [`Rule`] (what is to happen to which messages, and how it is written), `judge.rs`
//! (what a rule does) and `edit.rs` (only the changed tokens of an edited message are other ones).

mod calls;
mod chance;
mod channel;
mod check;
mod debugger;
mod edit;
mod grammar;
mod inject;
mod judge;
mod lines;
mod live;
mod make;
mod rule;
mod told;
mod waiting;

pub use channel::Channel;
pub use check::{Problem, Schemas, check_edited};
pub use debugger::{Debugger, END_PATIENCE_NS, Options, Session, WAITING_LIMIT_BYTES, WAITING_LIMIT_MESSAGES};
pub use edit::{compact, merge, remove, set};
pub use grammar::{ACTIONS, RuleError, read_action, read_breakpoint, read_duration, read_fault, read_faults};
pub use inject::{Answered, CALL_LIMIT_NS, Ticket};
pub use lines::LINE_LIMIT_BYTES;
pub use rule::{Action, Delay, Place, Rule, RuleInfo, RuleKind, RuleOptions, Step, When};
pub use told::{CommandError, Event, HeldInfo, HttpOrder, Order, Release};
