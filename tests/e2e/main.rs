//! End-to-end tests: the real program between real processes, with real databases.
//!
//! One binary, one module a subject. `support.rs` has what all of them use.

mod support;

mod commands;
mod recording;
mod relay;
mod signals;
mod third_party;
