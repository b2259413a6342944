//! Whether a value fits a schema, for rules: what exactly does not, or that nothing can be said.

use tap_jsonrpc::Node;
use tap_protocol::{Revision, Revisions};
use tap_schema::{Checked, Schema, SchemaError};

/// The dialect of revisions that name none, in which their SDKs write schemas.
const DRAFT_07: &[u8] = br#""$schema":"http://json-schema.org/draft-07/schema#","#;

/// The revisions that say in which dialect a schema is that names none: 2020-12.
///
/// Source: 2025-11-25 and 2026-07-28, basic/index, JSON Schema Usage.
const DIALECT_IS_SAID: Revisions = Revisions::since(Revision::V2025_11_25);

/// How a value does not fit a schema. `None` when it does, or when that was not found out.
pub(super) fn violation(schema: &Schema, text: &[u8], value: &[u8], revisions: Revisions) -> Option<String> {
    let violation = first(schema, value)?;
    if revisions.is_subset_of(DIALECT_IS_SAID) {
        return Some(violation);
    }
    match as_draft_07(text) {
        // It must not fit in either reading.
        Some(older) => first(&Schema::compile(&older).ok()?, value).map(|_| violation),
        None => Some(violation),
    }
}

/// Whether a value fits the text of a schema, judged as the rules judge it: where the revision does not say in which dialect
/// a schema is that names none, it is enough that it fits in one of the two that are used.
///
/// # Errors
///
/// The text is no schema, or past a bound of `tap-schema`.
pub fn fits_schema(text: &[u8], value: &[u8], revisions: Revisions) -> Result<Checked, SchemaError> {
    let checked = Schema::compile(text)?.check(value);
    let is_wrong = |checked: &Checked| matches!(checked, Checked::Invalid(_));
    if is_wrong(&checked)
        && !revisions.is_subset_of(DIALECT_IS_SAID)
        && let Some(Ok(older)) = as_draft_07(text).map(|older| Schema::compile(&older))
    {
        let older = older.check(value);
        return Ok(if is_wrong(&older) { checked } else { older });
    }
    Ok(checked)
}

/// What makes a text no schema. `None` when it is one, or when that was not found out.
pub(super) fn not_a_schema(
    compiled: &Result<impl Sized, SchemaError>,
    text: &[u8],
    revisions: Revisions,
) -> Option<String> {
    let message = refused(compiled.as_ref().err()?)?;
    if revisions.is_subset_of(DIALECT_IS_SAID) {
        return Some(message);
    }
    match as_draft_07(text) {
        Some(older) => refused(&Schema::compile(&older).err()?),
        None => Some(message),
    }
}

fn refused(error: &SchemaError) -> Option<String> {
    match error {
        SchemaError::NotASchema { message } => Some(message.clone()),
        // A dialect that is not known, a reference that leads nowhere, and what is too much, are limits of ours.
        _ => None,
    }
}

fn first(schema: &Schema, value: &[u8]) -> Option<String> {
    match schema.check(value) {
        Checked::Invalid(violations) => {
            let violation = violations.into_iter().next()?;
            let place = if violation.instance.is_empty() { "the whole" } else { &violation.instance };
            Some(format!("{place}: {}", violation.message))
        }
        Checked::Valid | Checked::NotChecked(_) => None,
    }
}

/// The schema read as draft-07, where it does not name its dialect.
fn as_draft_07(text: &[u8]) -> Option<Vec<u8>> {
    let node = Node::new(text);
    let inside = node.bytes().strip_prefix(b"{")?;
    if node.get("$schema").is_some() {
        return None;
    }
    let dialect = if node.members().next().is_some() { DRAFT_07 } else { DRAFT_07.strip_suffix(b",")? };
    Some([b"{", dialect, inside].concat())
}
