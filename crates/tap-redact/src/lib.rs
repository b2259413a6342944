//! What of a recording looks like a secret, and what stands in its place.
//!
//! May know: JSON's grammar, the shapes of well-known tokens, names that people give to secrets. Must not know: files, clocks,
//! SQLite, who talks to whom. A secret is replaced in the bytes in which it was written, token by token, so that all other
//! bytes stay; the same secret gets the same marker, and nothing about it can be found again.
//!
//! Start reading at [`Redactor`], then `walk.rs` (through JSON, and JSON inside of text) and `detect.rs` (what is a secret by
//! its shape). `key.rs` has the names, `rule.rs` what users add.

mod detect;
mod key;
mod known;
mod redactor;
mod rule;
mod string;
mod walk;

#[cfg(test)]
mod tests;

pub use detect::Kind;
pub use redactor::{Finding, Redactor, Replaced, Unjudged, has_placeholder};
pub use rule::{Rule, RuleError};
