//! What the routers of stdio servers have in common: what they ask to be done.

use bytes::Bytes;

use crate::notice::Notice;

/// Bytes of messages that are kept for a stream that nobody has opened yet. The oldest go first.
pub const WAITING_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Write this line to the server. It has its line feed.
    ToChild(Bytes),
    /// Send this message to the client of an exchange; more follows.
    Message {
        /// The exchange.
        exchange: u64,
        /// The message, on one line.
        bytes: Bytes,
    },
    /// Send this message to the client of an exchange; it is the last.
    Last {
        /// The exchange.
        exchange: u64,
        /// The message, on one line.
        bytes: Bytes,
        /// The status code, where none has been sent yet.
        status: u16,
    },
    /// End the answer of an exchange.
    Close {
        /// The exchange.
        exchange: u64,
    },
    /// Tell the person who looks after this.
    Tell(Notice),
    /// Nobody will use the server any more.
    End,
}

/// A line for the server.
pub(crate) fn to_child(message: &[u8]) -> Output {
    let mut line = Vec::with_capacity(message.len() + 1);
    line.extend_from_slice(message);
    line.push(b'\n');
    Output::ToChild(line.into())
}
