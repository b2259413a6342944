//! Conversations in each format: what is written, and what is read, whole and in pieces.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "conversation/requests.rs"]
mod requests;
#[path = "conversation/streams.rs"]
mod streams;
#[path = "conversation/told.rs"]
mod told;
#[path = "conversation/whole.rs"]
mod whole;
