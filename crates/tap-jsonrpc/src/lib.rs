//! From bytes to envelopes: cuts a stream into lines, and reads what a line says as JSON-RPC, losing nothing.
//!
//! May know: bytes, JSON's grammar, the member names of JSON-RPC 2.0. Must not know: MCP methods, I/O, clocks, SQLite,
//! any JSON library. An envelope is a *view*: the line stays the record, and what a peer did wrong is data ([`Notes`],
//! [`Misfit`], [`EnvelopeError`]), never a refusal to go on.
//!
//! Why not `serde_json`: it turns the id `1e2` into `100.0`, and refuses `{"id":1,"id":2}`, `"\ud800"` and bytes that are
//! not UTF-8. All of these pass between real peers.
//!
//! Start reading at [`Scanner`], then `grammar.rs` (is it JSON), `collect.rs` (where are we in it) and `draft.rs` (what
//! kind of message is it). Lines are apart, in [`LineSplitter`], and so are the events of HTTP in [`SseSplitter`]; so is
//! [`Node`], with which to look into a body later.

mod alike;
mod collect;
mod draft;
mod envelope;
mod grammar;
mod line;
mod node;
mod notes;
mod run;
mod scan;
mod splice;
mod sse;
mod text;
mod utf8;
mod value;
mod watch;

pub use alike::{other_type, same_number};
pub use envelope::{Batch, Content, Envelope, EnvelopeError, Kind, Member, Misfit, NotAMessage, RawId, Scanned};
pub use grammar::Progress;
pub use line::{LineSplitter, Part, Parts, parts};
pub use node::{Key, Node, NodeKind};
pub use notes::Notes;
pub use scan::{Scanner, scan};
pub use splice::splice;
pub use sse::{SSE_EVENT_LIMIT_BYTES, SseEvent, SseSplitter};
pub use text::{decode_string, resolve_escapes};
pub use value::{Captures, TOKEN_LIMIT_BYTES, Token, Value};
pub use watch::Path;
