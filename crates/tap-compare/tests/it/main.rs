//! Tests of what tap-compare offers, through its public names: tables, properties, and a corpus that is mutated.

mod align;
mod difference;
mod drift;
mod key;
mod property;
mod rules;
