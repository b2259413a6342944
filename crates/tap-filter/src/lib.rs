//! The filter language: text to an expression, and whether a message fits it.
//!
//! May know: JSON. Must not know: files, clocks, SQLite, where messages come from. One language for lists, exports,
//! statistics, breakpoints and colours, so that what was found in one is found in the others.
//!
//! A filter is a predicate over messages. What belongs to a call, such as its status, is the same for each of its messages.
//! The page for users is `docs/filter.md`.
//!
//! Start reading at [`Filter`], then [`FIELDS`] (what can be asked) and [`Subject`] (who answers).

mod complete;
mod error;
mod expression;
mod field;
mod filter;
mod matches;
mod parse;
mod path;
mod plan;
mod subject;
mod test;
mod value;
mod wanted;

pub use complete::{Candidate, complete};
pub use error::FilterError;
pub use field::{FIELDS, Field, FieldInfo, FieldKind, STATES, State, StateInfo};
pub use filter::{Context, Filter};
pub use path::{PathStep, Root};
pub use plan::{Plan, Question, Texts};
pub use subject::{Found, Subject};
pub use test::Cost;
pub use wanted::Wanted;
