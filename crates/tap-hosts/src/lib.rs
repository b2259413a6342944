//! Which MCP servers a host is configured with, and how the tap is put before them and taken away again.
//!
//! May know: the formats and places of hosts' configurations, JSON with comments, TOML and YAML. Must not know: files, the
//! environment, clocks; it gets a file's text and gives back a text. Nothing of a text changes but the places that are meant:
//! [`wrap`] moves tokens as they were written, so that [`unwrap`] gives back every byte.
//!
//! Start reading at [`read`] (`read.rs`: from a text to servers), then `edit.rs` (from servers to splices). `host.rs` says
//! which hosts there are and where their files lie, `shape.rs` what is called how in them; `json.rs`, `toml.rs` and `yaml.rs`
//! give a text as a tree of [`Node`]s with places.

mod command_line;
mod document;
mod edit;
mod host;
mod json;
mod mask;
mod node;
mod read;
mod server;
mod shape;
mod splice;
mod toml;
mod variables;
mod yaml;

#[cfg(test)]
mod tests;

pub use command_line::{Tap, Tapped};
pub use document::{Document, DocumentError, Format};
pub use edit::{Edited, Refusal, Refused, unwrap, wrap};
pub use host::{Folders, Host, Place, Platform, Scope, places};
pub use mask::masked;
pub use node::{Map, Member, Node, Value};
pub use read::{Problem, Read, read};
pub use server::{CommandLine, Launch, Remote, Server};
pub use shape::Shape;
pub use variables::{Lookup, Unfilled, fill};
