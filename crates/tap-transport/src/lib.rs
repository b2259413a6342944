//! Ends of the wire: the server's process, the signals that reach it, and the way that it ends.
//!
//! May know: processes, signals, descriptors. Must not know: sessions, recordings, what a message means. All `unsafe`
//! code of mcp-tap is in this crate, each block with the reason why it holds.
//!
//! Start reading at [`ServerProcess::spawn`], then [`Signals`], which holds the hard part: that a signal reaches the
//! server exactly once, whether it was sent to the tap alone or to its whole process group.

mod child;
mod descriptor;
mod memory;
mod sentinel;
mod signals;

pub use child::{Ending, Launch, Lifeline, PlainProcess, ServerProcess, SpawnError, Watch, end_like, replace_with};
pub use descriptor::{
    Interruptible, is_ready, is_writable, point_at_null, read_some, standard, take_standard, write_all,
};
pub use memory::give_back_large_blocks;
pub use signals::{PassingOn, Signals, block_signals, is_ignored};
