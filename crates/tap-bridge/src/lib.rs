//! Between stdio and HTTP: which message goes where, with which headers and which ids.
//!
//! Two bridges: a stdio host in front of an HTTP server ([`RemoteServer`]), and HTTP hosts in front of a stdio server
//! ([`SessionRouter`] where a child belongs to one session, [`SharedRouter`] where many clients share one). Neither
//! translates between eras: what one side says reaches the other, byte for byte, but for ids that have to be told apart
//! and line endings, which JSON has no use for.
//!
//! May know: messages, headers. Must not know: sockets, processes, clocks, HTTP libraries. Whoever drives it says what
//! happened and does what it is told.
//!
//! Start reading at [`RemoteServer`], then [`SharedRouter`].

mod answer;
mod message;
mod notice;
mod remote;
mod router;
mod session;
mod shared;

pub use answer::{coded_answer, error_answer, one_line};
pub use message::{Incoming, Nature};
pub use notice::Notice;
pub use remote::{Action, Head, RemoteServer, Request, Verb};
pub use router::{Output, WAITING_LIMIT_BYTES};
pub use session::SessionRouter;
pub use shared::{SharedRouter, status_of};
