//! The HTTP echo server's answers, as functions: what it says, so that a client can know each byte in advance.
//!
//! May know: JSON, event streams, the few MCP methods that a measurement needs. Must not know: the crates of the
//! product, which it helps to judge. What an answer in JSON says is `tap-echo-server`'s; start reading at
//! [`answer::answer`].

pub mod answer;
pub mod event;
