//! The agent loop, without the model and without the tools: what was said, what is to be done next, and when to stop.
//!
//! [`Agent`] is a machine. It is told what the person says, what the model answers and what calls come back with, and gives
//! [`Effect`]s: ask the model, make a call, this is the end. Whoever drives it does the rest, and has the clock.
//!
//! May know: conversations with models. Must not know: I/O, servers, who the model is, clocks.
//!
//! Start reading at [`Agent`]; `budget.rs` has what bounds a run, `script.rs` reads what a model is to say in tests,
//! `record.rs` writes what one said so that it can be said again.

mod agent;
mod budget;
mod record;
mod script;

pub use self::agent::{Agent, AgentOptions, CallOutcome, Effect, Ending};
pub use self::budget::{Limit, Limits, Spent};
pub use self::record::{read_turn, write_turn};
pub use self::script::{Script, ScriptError, ScriptedTurn};
