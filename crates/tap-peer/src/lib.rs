//! A chair on a transport: a client that takes part in MCP, over stdio or HTTP, in either era.
//!
//! The protocol itself is in [`tap_session`]'s chairs, which do no I/O; here is the one loop that drives a client's chair,
//! and the two kinds of link that it can be put on: a server's process ([`ServerCommand`]) and a server over HTTP
//! ([`HttpServer`]). Messages are handed through as their bytes; nothing here reads one into a JSON value.
//!
//! May know: transports, tokio, chairs. Must not know: recordings, configuration, what a tool is used for.
//!
//! Start reading at [`Client::connect`], then `driver.rs`, the loop; `features.rs` has what can be asked in so many words.

mod answers;
mod client;
mod driver;
mod error;
mod features;
mod handler;
mod http;
mod link;
mod list;
mod remote;
mod standing;
mod stdio;
#[cfg(test)]
mod tests;
mod text;

pub use self::answers::Answers;
pub use self::client::{CallOptions, Client, ClientOptions, OnProgress, Opened, Progress, Target};
pub use self::error::{CallError, ConnectError, ListError};
pub use self::features::{Subscription, Watched};
pub use self::handler::{Asked, Cannot, Handler, Notified, Reply};
pub use self::http::HttpServer;
pub use self::link::{LinkEnd, all_ended};
pub use self::list::{Item, Listing, MAX_LIST_BYTES, MAX_LIST_ITEMS, MAX_PAGES, NotWhole};
pub use self::remote::{FromRemote, Outlet, Remote, carry};
pub use self::standing::{Backoff, Recorder, Standing};
pub use self::stdio::{Patience, ServerCommand};
pub use self::text::{quoted, with_member};
pub use tap_protocol::ListKind;
