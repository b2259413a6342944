//! What was on the wire: the vocabulary that every other part of mcp-tap speaks.
//!
//! May know: bytes. Must not know: JSON, MCP, SQLite, files, clocks. A frame is not a JSON-RPC idea: a banner on stdout
//! and a line on stderr are frames too, which is why this crate lies below the parser and not beside it.
//!
//! Start reading at [`Frame`] (what everything is about), then [`Segment`] (how the data path hands over what passed) and
//! [`HttpPart`] (what of HTTP is recorded) and [`Act`] (what was done to the traffic by a debugger).

mod act;
mod http;
mod segment;

use bytes::Bytes;

pub use act::{Act, Became, Deed, sent_offset};
pub use http::{HttpEnd, HttpHead, HttpPart};
pub use segment::{Piece, Pieces, SEGMENT_BYTES, Segment, SegmentError};

/// Which way a message goes, seen from the protocol's two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the host's client to the server.
    ToServer,
    /// From the server to the host's client.
    ToClient,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }

    /// How the direction is written in listings: `->` to the server, `<-` to the client.
    #[must_use]
    pub fn arrow(self) -> &'static str {
        match self {
            Self::ToServer => "->",
            Self::ToClient => "<-",
        }
    }
}

/// What kind of stream a frame travelled on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// The protocol's own stream: stdin and stdout of a stdio server.
    Message,
    /// The server's stderr: free text, not protocol.
    Stderr,
}

/// One of the three byte streams of a stdio server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// The server's stdin.
    ToServer,
    /// The server's stdout.
    ToClient,
    /// The server's stderr.
    Stderr,
}

impl Stream {
    /// All streams, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::ToServer, Self::ToClient, Self::Stderr];

    /// Which way the stream flows.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::ToServer => Direction::ToServer,
            Self::ToClient | Self::Stderr => Direction::ToClient,
        }
    }

    /// What the stream carries.
    #[must_use]
    pub fn channel(self) -> Channel {
        match self {
            Self::ToServer | Self::ToClient => Channel::Message,
            Self::Stderr => Channel::Stderr,
        }
    }

    /// The number that stands for the stream in stored data. Never changes its meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
            Self::Stderr => 2,
        }
    }

    /// The stream with this [`code`](Self::code), if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// How a frame came to be where it is. Anything but [`Wire`](Self::Wire) is to be visible wherever the frame is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// One side wrote it and the other side was given it, byte for byte.
    Wire,
    /// Bytes passed here that could not be recorded; this many of them. The other side did get them.
    Gap(u64),
    /// Nobody wrote it: something was [done](Deed) to the traffic here. What was sent for it, if anything, went to one side
    /// only, and the other side knows nothing of it.
    Act(Deed),
}

/// One unit on the wire, exactly as it was seen: ground truth, never edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Position among all frames of the session, counted from 1, in the order in which they were complete.
    pub seq: u64,
    /// Nanoseconds since the Unix epoch at the read that completed the frame.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened, on a clock that never goes back, at the same read.
    pub at_ns: u64,
    /// The stream that it travelled on.
    pub stream: Stream,
    /// How it came to be here.
    pub origin: Origin,
    /// The bytes with their line ending, if they had one. Empty for a [gap](Origin::Gap); of an [act](Origin::Act) its
    /// whole text, for which see [`act`](Self::act) and [`message`](Self::message).
    pub bytes: Bytes,
}

impl Frame {
    /// Which way it went.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.stream.direction()
    }

    /// What kind of stream it was on.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.stream.channel()
    }

    /// What was done, if it is an act.
    #[must_use]
    pub fn act(&self) -> Option<Act> {
        match self.origin {
            Origin::Act(_) => Act::read(&self.bytes),
            Origin::Wire | Origin::Gap(_) => None,
        }
    }

    /// What went over the wire: the bytes, and of an act those that were sent.
    #[must_use]
    pub fn message(&self) -> Bytes {
        match self.origin {
            Origin::Act(_) => self.bytes.slice(sent_offset(&self.bytes).unwrap_or(self.bytes.len())..),
            Origin::Wire | Origin::Gap(_) => self.bytes.clone(),
        }
    }
}
