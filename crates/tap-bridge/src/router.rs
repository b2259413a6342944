//! What the routers of stdio servers have in common: what they ask to be done.

use bytes::Bytes;
use tap_jsonrpc::{Node, RawId};

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

/// Whether two ids are one number, written in two ways.
pub(crate) fn same_number(one: &RawId, other: &RawId) -> bool {
    let number = |id: &RawId| Node::new(id.as_bytes()).as_i64();
    number(one).is_some() && number(one) == number(other)
}

/// Whether two ids read the same, one as text and one as a number.
pub(crate) fn other_type(one: &RawId, other: &RawId) -> bool {
    let is_text = |id: &RawId| id.as_bytes().starts_with(b"\"");
    let inner = |id: &RawId| Node::new(id.as_bytes()).text().map(|text| text.into_owned().into_bytes());
    match (is_text(one), is_text(other)) {
        (true, false) => !other.is_null() && inner(one).as_deref() == Some(other.as_bytes()),
        (false, true) => !one.is_null() && inner(other).as_deref() == Some(one.as_bytes()),
        _ => false,
    }
}
