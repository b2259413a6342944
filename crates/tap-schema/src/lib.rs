//! Whether a JSON value is valid by a JSON Schema, when neither can be trusted.
//!
//! May know: JSON, JSON Schema. Must not know: MCP, I/O, clocks. Schemas come from servers and values from anybody, so
//! everything is bounded *before* it is tried: size, nesting, the steps of an evaluation, the memory of its errors.
//! What is past a bound is not judged, and says so ([`NotChecked`], [`SchemaError`]); it is never called invalid.
//!
//! What is judged:
//!
//! - The dialect is the one that `$schema` names (draft-04, 06, 07, 2019-09, 2020-12), 2020-12 without one.
//! - Nothing is ever fetched. A reference must point into the schema itself.
//! - `format`, `contentEncoding` and `contentMediaType` are annotations: they say nothing about validity.
//! - A `pattern` is matched in linear time. One that this cannot match (look-around, a back-reference, too large, or no
//!   regular expression) is left out, so that it accepts every text: see [`Schema::ignored_patterns`]. Where leaving it
//!   out could turn a verdict around (below `not`, `if`, `oneOf`), the schema is refused.
//! - Numbers are compared as 64-bit integers or doubles. A value with a number that fits neither is not judged.
//! - The last of several members with one name counts.
//!
//! The evaluation itself is the `jsonschema` crate's. It follows references without counting, so that 1,500 bytes of
//! schema can ask for 2^40 steps or all memory; that is why an outline of every schema is kept here, and why each value is
//! first walked over it to know what the evaluation can come to.
//!
//! Start reading at [`Schema`], then `outline.rs` (what applies where), `bounds.rs` (what is refused at once) and
//! `cost.rs` (what a value would cost).

mod bounds;
mod cost;
mod error;
mod instance;
mod keyword;
mod limit;
mod outline;
mod pattern;
mod plan;
mod read;
mod reference;
mod rewrite;
mod schema;
mod verdict;

pub use error::SchemaError;
pub use limit::{
    MAX_COMPILE_STEPS, MAX_DEPTH, MAX_ERROR_BYTES, MAX_INSTANCE_BYTES, MAX_LEVELS, MAX_LOCATION_BYTES,
    MAX_MESSAGE_BYTES, MAX_PAIRS, MAX_PATTERN_BYTES, MAX_PATTERN_TOTAL_BYTES, MAX_PATTERNS, MAX_SCHEMA_BYTES,
    MAX_STEPS, MAX_STEPS_DEEP, MAX_UNROLLED, MAX_UNROLLED_TOTAL, MAX_VIOLATIONS,
};
pub use schema::Schema;
pub use verdict::{Checked, NotChecked, Violation};
