//! Playback of recorded conversations.
//!
//! A [`Script`] is a recorded conversation as what was asked, and what the server did because of it.
//!
//! May know: frames' directions, messages, when two of them are the same. Must not know: files, clocks, SQLite, processes,
//! terminals, random numbers. Whoever drives it reads the recording, hands in what the other side said, and sends what it is
//! told to.
//!
//! Start reading at [`Script`].

mod message;
mod script;

pub use message::{Message, Nature, Role, Unit};
pub use script::{Interaction, Opening, Script, read_scripts};
