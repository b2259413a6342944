//! End-to-end tests: the real program between real processes, with real databases.
//!
//! One binary, one module a subject. `support.rs` has what all of them use.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "in a test a panic is the report, and a line on stderr tells what was skipped"
)]

mod support;

mod cases;
mod commands;
mod faults;
mod http_commands;
mod judging;
mod recording;
mod relay;
mod signals;
mod third_party;
