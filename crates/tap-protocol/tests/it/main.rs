//! The tables of tap-protocol: in themselves, and beside the JSON Schemas of every revision where these are at hand.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "these are tests: a panic is the report, and a skipped one says why"
)]

mod capabilities;
mod codes;
mod fields;
mod keys;
mod methods;
mod required;
mod schema;
mod words;
