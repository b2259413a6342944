//! The echo server's answers, as functions: what it says, so that a client can know each byte in advance.
//!
//! May know: JSON, the few MCP methods that a measurement needs. Must not know: the crates of the product, which it
//! helps to judge. The load client builds the answers that it expects with [`reply`]. Start reading at
//! [`answer::answer`].

pub mod answer;
pub mod line;
pub mod reply;
pub mod trap;
