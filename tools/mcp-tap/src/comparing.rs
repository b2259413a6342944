//! Two recordings held against each other: what `mcp-tap diff` writes down and the inspector shows.
//!
//! What is the same is judged by `tap_compare`; here recordings are read (`gather.rs`), and held against each other
//! (`report.rs`), all at once or call by call.

pub(crate) mod gather;
pub(crate) mod report;
