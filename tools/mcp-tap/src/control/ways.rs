//! The ways on which messages pass: the pipes of a stdio server, or the exchanges of a proxy.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tap_control::HttpOrder;
use tap_frame::Direction;
use tap_http::{GateTold, Gates};
use tap_relay::Doors;

/// See the head of this file.
#[derive(Debug, Clone)]
pub(crate) enum Ways {
    Pipes(Arc<Doors>),
    Http(Arc<Gates>),
}

impl Ways {
    /// Over HTTP nothing is torn: messages are whole there.
    pub(super) fn arm(&self) -> io::Result<[bool; 2]> {
        match self {
            Self::Pipes(doors) => doors.arm(),
            Self::Http(gates) => {
                gates.arm(true);
                Ok([false; 2])
            }
        }
    }

    pub(super) fn disarm(&self) {
        match self {
            Self::Pipes(doors) => doors.disarm(),
            Self::Http(gates) => gates.arm(false),
        }
    }

    pub(super) fn wait_armed(&self, limit: Duration) -> bool {
        match self {
            Self::Pipes(doors) => doors.wait_armed(limit),
            Self::Http(_) => true,
        }
    }

    pub(super) fn leave(&self, direction: Direction, bytes: &[u8]) {
        if let Self::Pipes(doors) = self {
            doors.leave(direction, bytes);
        }
    }

    pub(super) fn deliver(&self, direction: Direction) {
        if let Self::Pipes(doors) = self {
            doors.deliver(direction);
        }
    }

    pub(super) fn close(&self, direction: Direction) {
        if let Self::Pipes(doors) = self {
            doors.close(direction);
        }
    }

    pub(super) fn flush(&self, limit: Duration) {
        if let Self::Pipes(doors) = self {
            doors.flush(limit);
        }
    }

    pub(super) fn is_open(&self, direction: Direction) -> bool {
        match self {
            Self::Pipes(doors) => doors.is_open(direction),
            Self::Http(_) => true,
        }
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Has an exchange do what the debugger orders.
    pub(super) fn tell(&self, exchange: u64, order: HttpOrder) {
        let Self::Http(gates) = self else {
            return;
        };
        let told = match order {
            HttpOrder::Send { direction, of, bytes, bytes_per_second } => {
                GateTold::Send { direction, of, bytes, bytes_per_second }
            }
            HttpOrder::Answer { bytes, status } => GateTold::Answer { bytes, status },
            HttpOrder::Over { direction, of, is_gone } => GateTold::Over { direction, of, is_gone },
            HttpOrder::Cut { direction, is_broken } => GateTold::Cut { direction, is_broken },
            HttpOrder::Record(_) => return,
        };
        gates.tell(exchange, told);
    }
}
