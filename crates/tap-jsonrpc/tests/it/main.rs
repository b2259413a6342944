//! Tests of the public door of this crate: tables, properties, and whatever lies in the corpus.

#[cfg(test)]
mod batch;
#[cfg(test)]
#[path = "../../fuzz/bodies.rs"]
mod bodies;
#[cfg(test)]
mod capture;
#[cfg(test)]
#[path = "../../../../tests/fuzz/corpus.rs"]
mod corpus;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod json;
#[cfg(test)]
mod message;
#[cfg(test)]
mod node;
#[cfg(test)]
mod property;
#[cfg(test)]
mod real;
#[cfg(test)]
mod show;
