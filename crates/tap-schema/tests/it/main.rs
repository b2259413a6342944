//! Tests of the public door of this crate: tables, hostile inputs, properties, and real schemas.

#[cfg(test)]
#[path = "../../fuzz/bodies.rs"]
mod bodies;
#[cfg(test)]
mod bound;
#[cfg(test)]
#[path = "../../../../tests/fuzz/corpus.rs"]
mod corpus;
#[cfg(test)]
mod dialect;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod message;
#[cfg(test)]
mod pattern;
#[cfg(test)]
mod property;
#[cfg(test)]
mod real;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod show;
