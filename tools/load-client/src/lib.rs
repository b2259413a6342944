//! What the load clients share: the calls and the answers that they expect, percentiles, what processes use, staying
//! on one CPU.
//!
//! The client over stdio is this package's program; the one over HTTP is `tap-http-load-client`.

pub mod affinity;
pub mod message;
pub mod processes;
pub mod statistics;
