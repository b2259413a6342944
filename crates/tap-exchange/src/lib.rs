//! Recordings over HTTP, read: exchanges, and the messages inside them.
//!
//! May know: segments, event streams, sessions. Must not know: sockets, files, clocks, SQLite. Bodies are decoded and event
//! streams cut here, and nowhere else, for whoever lists, shows or judges what passed.
//!
//! Start reading at [`Exchange`] (what is known of one).

mod exchange;

pub use exchange::{Exchange, Fields, Head, Read, ReadFrame, Source};
