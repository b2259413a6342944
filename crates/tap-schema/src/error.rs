//! Why a text cannot be used as a schema.

use crate::limit::{MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_SCHEMA_BYTES};

/// Why a schema was refused. Nothing can be judged by it.
///
/// The texts quote the schema, shortened: whoever prints them must expect control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The text is no JSON, or has a number that is out of range or half a surrogate pair.
    #[error("the schema is not JSON")]
    NotJson,
    /// It is not valid by the meta-schema of its dialect.
    #[error("not a JSON Schema: {message}")]
    NotASchema {
        /// What is wrong with it, shortened.
        message: String,
    },
    /// `$schema` names a dialect that is not known here, or a part of the schema names another than the whole.
    #[error("the dialect {uri:?} is not known")]
    UnknownDialect {
        /// What `$schema` says.
        uri: String,
    },
    /// A reference leads out of the schema. It is never followed.
    #[error("the schema refers to {uri:?}, and nothing is fetched")]
    ExternalReference {
        /// Where it leads, resolved.
        uri: String,
    },
    /// A reference leads to a place of the schema that is not there.
    #[error("nothing in the schema is at {reference:?}")]
    UnresolvedReference {
        /// The reference as it is written.
        reference: String,
    },
    /// A reference whose target depends on the way that led to it, in a schema of several resources.
    #[error("the reference {reference:?} has several targets")]
    DynamicReference {
        /// The reference as it is written.
        reference: String,
    },
    /// A subschema applies itself to the same value again. JSON Schema leaves open what that means.
    #[error("the subschema at {pointer:?} applies itself without end")]
    EndlessReference {
        /// JSON Pointer of a subschema on the way round.
        pointer: String,
    },
    /// A pattern that cannot be matched in linear time, in a place where it cannot be left out.
    #[error("the pattern {pattern:?} cannot be matched in bounded time, and the verdict would depend on it")]
    UnmatchedPattern {
        /// The pattern, shortened.
        pattern: String,
    },
    /// The text is longer than [`MAX_SCHEMA_BYTES`].
    #[error("the schema has {bytes} bytes, and {MAX_SCHEMA_BYTES} are read at most")]
    TooLarge {
        /// How long it is.
        bytes: usize,
    },
    /// Arrays, objects or subschemas lie too deep in each other; see [`MAX_DEPTH`] and `MAX_LEVELS`.
    #[error("the schema is nested too deep (its text may be {MAX_DEPTH} deep)")]
    TooDeep,
    /// Compiling it would take too long, or too much memory.
    #[error("the schema takes too much to compile")]
    TooCostly,
    /// The evaluator broke down. That is a fault of this program.
    #[error("the schema could not be compiled")]
    Failed,
}

/// The beginning of `text`, at most [`MAX_MESSAGE_BYTES`] long.
pub(crate) fn shorten(text: &str) -> String {
    let mut short = Short::default();
    // Fails when it is full, which is what it is for.
    let _ = std::fmt::Write::write_str(&mut short, text);
    short.0
}

/// A text that stays below [`MAX_MESSAGE_BYTES`]; writing more is an error, so that the writer stops.
#[derive(Debug, Default)]
pub(crate) struct Short(pub(crate) String);

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        const CUT: char = '…';
        let room = MAX_MESSAGE_BYTES.saturating_sub(self.0.len() + CUT.len_utf8());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        self.0.push(CUT);
        Err(std::fmt::Error)
    }
}
