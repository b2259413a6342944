//! Tests of what tap-compare offers, through its public names: tables, properties, and a corpus that is mutated.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod align;
mod difference;
mod drift;
mod key;
mod property;
mod rules;
