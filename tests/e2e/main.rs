//! End-to-end tests: the real program between real processes, with real databases.
//!
//! One binary, one module a subject. `support.rs` has what all of them use, and `peers.rs` the
//! programs of others.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "in a test a panic is the report, and a line on stderr tells what was skipped"
)]

mod peers;
mod support;

mod agent;
mod bounds;
mod cases;
mod client;
mod commands;
mod conforming;
mod debugger;
mod diff;
mod doctor;
mod faults;
mod filters;
mod fixtures;
mod http;
mod http_bridge;
mod http_commands;
mod http_forward;
mod http_peers;
mod inspector;
mod judging;
mod keeping;
mod kits;
mod policy;
mod provider;
mod recording;
mod recordings;
mod relay;
mod replay;
mod reports;
mod router;
mod signals;
mod third_party;
mod verify;
mod wrap;
