//! What is said of a value.

use std::fmt::Write;

use jsonschema::ValidationError;
use serde_json::Value;

use crate::error::Short;
use crate::limit::{MAX_DEPTH, MAX_INSTANCE_BYTES, MAX_VIOLATIONS};

/// Whether a value is valid by a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// It is.
    Valid,
    /// It is not; the first [`MAX_VIOLATIONS`] reasons, at least one.
    Invalid(Vec<Violation>),
    /// That was not found out.
    NotChecked(NotChecked),
}

/// One way in which a value breaks a schema.
///
/// All three texts quote the value or the schema: whoever prints them must expect control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What breaks it, as a JSON Pointer into the value; empty for the whole value.
    pub instance: String,
    /// The keyword that it breaks, as a JSON Pointer into the schema, after all references.
    pub keyword: String,
    /// What is wrong, like `"12" is not of type "integer"`; at most [`MAX_MESSAGE_BYTES`](crate::MAX_MESSAGE_BYTES)
    /// long. A long value is not quoted.
    pub message: String,
}

/// Why a value was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotChecked {
    /// The text is no JSON, or has half a surrogate pair.
    #[error("it is not JSON")]
    NotJson,
    /// A number is neither a 64-bit integer nor a decimal of at most 17 digits that a double can hold.
    #[error("it has a number that would be rounded")]
    NumberOutOfRange,
    /// The text is longer than [`MAX_INSTANCE_BYTES`].
    #[error("it has more than {MAX_INSTANCE_BYTES} bytes")]
    TooLarge,
    /// It is nested deeper than [`MAX_DEPTH`], or the subschemas that apply to it are (`MAX_STEPS_DEEP`).
    #[error("it is nested too deep (its text may be {MAX_DEPTH} deep)")]
    TooDeep,
    /// Judging it could take more than [`MAX_STEPS`](crate::MAX_STEPS).
    #[error("judging it by this schema takes too much")]
    TooCostly,
    /// The evaluator broke down. That is a fault of this program.
    #[error("the evaluator failed")]
    Failed,
}

impl Violation {
    /// A violation of which nothing more is known.
    pub(crate) fn unknown() -> Self {
        let message = "it does not match the schema, and finding out why takes too much".to_owned();
        Self { instance: String::new(), keyword: String::new(), message }
    }

    fn new(error: &ValidationError<'_>) -> Self {
        Self {
            instance: error.instance_path().as_str().to_owned(),
            keyword: error.schema_path().as_str().to_owned(),
            message: message(error),
        }
    }
}

/// The first few different violations among `errors`.
pub(crate) fn violations<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for error in errors {
        if violations.len() == MAX_VIOLATIONS {
            break;
        }
        // Two ways through a schema can lead to one keyword.
        let violation = Violation::new(&error);
        if !violations.contains(&violation) {
            violations.push(violation);
        }
    }
    violations
}

/// What an error says, without what it is about when that is long.
pub(crate) fn message(error: &ValidationError<'_>) -> String {
    /// Longer texts hide the end of a sentence, which is what matters.
    const QUOTED_BYTES: usize = 64;

    let placeholder = match &**error.instance() {
        Value::Array(items) if !items.is_empty() => Some("the array"),
        Value::Object(members) if !members.is_empty() => Some("the object"),
        Value::String(text) if QUOTED_BYTES < text.len() => Some("the text"),
        _ => None,
    };
    let mut short = Short::default();
    // Fails when it is full, which is what it is for.
    let _ = match placeholder {
        Some(placeholder) => write!(short, "{}", error.masked_with(placeholder)),
        None => write!(short, "{error}"),
    };
    short.0
}
