//! Playback of recorded conversations.
//!
//! A [`Script`] is a recorded conversation as what was asked, and what the server did because of it.
//!
//! May know: frames' directions, messages, when two of them are the same. Must not know: files, clocks, SQLite, processes,
//! terminals, random numbers. Whoever drives it reads the recording, hands in what the other side said, and sends what it is
//! told to.
//!
//! A [`Player`] plays scripts as a server: [`Player::receive`] takes what the client said and gives what to send, as data.
//! Requests that nothing recorded matches are data as well: a [`Miss`].
//!
//! A [`Client`] plays a script to a live server: [`Client::poll`] says what to say, [`Client::receive`] takes what the server
//! said, [`Client::verdict`] holds that against what was recorded.
//!
//! Start reading at [`Script`], then [`Player`] or [`Client`].

mod act;
mod client;
mod message;
mod miss;
mod options;
mod recording;
mod report;
mod rewrite;
mod script;
mod server;
mod verdict;

pub use client::{Client, ClientNote, ClientOptions, ClientOutput, Correlated, NoAnswer, NotSent};
pub use message::{Interaction, Message, Nature, Opening, Role, Unit};
pub use miss::{Closest, Miss, NO_RECORDED_ANSWER, Reason};
pub use options::{MissingCapability, Options, Order, Repeat, Unanswered, Unmatched};
pub use recording::{InMemory, Recording};
pub use report::{Note, NoteKind, Report, Unused};
pub use script::{Script, read_scripts};
pub use server::{Learned, Output, Player, Source};
pub use verdict::{Check, ListCheck, Outcome, QuestionCheck, QuestionOutcome, TellingCheck, Verdict};
