//! Where over HTTP a message passes: many clients share one tap, and their ids may be the same.

use tap_frame::Direction;

/// The exchange that a message is in. All zero and false on stdio, where there is but one way in each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Channel {
    /// The number of the exchange, from 1.
    pub exchange: u64,
    /// Tells sessions of MCP apart; 0 where the request names none.
    pub session: u64,
    /// The message is one of several events.
    pub is_stream: bool,
    /// What is held holds all that comes behind it in the exchange: events with ids, of which a client remembers the last.
    pub in_order: bool,
}

impl Channel {
    /// Whether a message that goes in this direction is all of its body, so that nothing can stand beside it.
    pub(crate) fn is_lone_answer(self, direction: Direction) -> bool {
        self.is_http() && !self.is_stream && direction == Direction::ToClient
    }

    /// Whether there is an exchange.
    #[must_use]
    pub fn is_http(self) -> bool {
        self.exchange > 0
    }
}
