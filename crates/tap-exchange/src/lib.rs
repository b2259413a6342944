//! Recordings over HTTP, read: exchanges, and the messages inside them.
//!
//! May know: segments, event streams, sessions. Must not know: sockets, files, clocks, SQLite. Bodies are decoded and event
//! streams cut here, and nowhere else, for whoever lists, shows or judges what passed.
//!
//! Start reading at [`HttpReading`] (segments to [`Read`]s), then [`Exchange`] (what is known of one) and `core.rs` (what
//! becomes of a frame).

mod acts;
#[cfg(test)]
mod captures;
mod coding;
mod conversation;
mod core;
mod events;
mod exchange;
mod fetch;
mod open;
mod reading;
mod seen;
mod timeline;
#[cfg(test)]
mod traffic;

pub use coding::{BODY_LIMIT_BYTES, BodyDecoder};
pub use events::{CutEvent, EventCutter};
pub use exchange::{Conversation, Exchange, Head, Read, ReadFrame, Source};
pub use fetch::frame_bytes;
pub use reading::HttpReading;
pub use timeline::HttpTimeline;
