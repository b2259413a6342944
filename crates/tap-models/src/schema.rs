//! Schemas, rewritten for what an interface takes.
//!
//! Sources (read 2026-08): OpenAI, Function calling and Structured outputs (supported schemas); Anthropic, Tool use; Gemini API,
//! Function calling and the `Schema` object.

mod gemini;
mod openai;

use crate::Format;
use crate::tree::Tree;

/// Something of a tool that a model is not told, or not in the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the schema, as a JSON Pointer; empty for all of it.
    pub place: String,
    /// What was left out, and what that means.
    pub what: String,
}

/// What came of a schema.
pub(crate) struct Rewritten {
    /// `None` where the interface wants none, since there is nothing to say.
    pub(crate) schema: Option<Tree>,
    pub(crate) findings: Vec<Finding>,
    /// Whether the interface can hold the model to the schema.
    pub(crate) strict: bool,
}

/// Rewrites the schema of a tool's arguments.
pub(crate) fn rewrite(format: Format, schema: &Tree) -> Rewritten {
    let mut findings = Vec::new();
    let schema = root(schema, &mut findings);
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => openai::rewrite(schema, findings),
        Format::Anthropic => Rewritten { schema: Some(schema), findings, strict: false },
        Format::Gemini => gemini::rewrite(&schema, findings),
    }
}

/// What all interfaces want at the top: an object, said in so many words, and nothing that chooses between schemas.
fn root(schema: &Tree, findings: &mut Vec<Finding>) -> Tree {
    let mut schema = match schema {
        Tree::Object(_) => schema.clone(),
        // `true` takes everything.
        _ => Tree::Object(Vec::new()),
    };
    for keyword in ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"] {
        if schema.take(keyword).is_some() {
            let what = format!("`{keyword}` cannot stand at the top; the model is not told of it");
            findings.push(Finding { place: format!("/{keyword}"), what });
        }
    }
    // A reference at the top is followed, since it cannot stand there.
    if let Some(target) = schema.get("$ref").and_then(Tree::as_text)
        && let Some(Tree::Object(members)) = resolve(&schema, &target).cloned()
    {
        schema.take("$ref");
        for (key, value) in members {
            if schema.get(&key).is_none() {
                schema.set(&key, value);
            }
        }
    }
    schema.take("$schema");
    schema.take("$id");
    schema.set("type", Tree::text("object"));
    if !schema.get("properties").is_some_and(Tree::is_object) {
        schema.set("properties", Tree::Object(Vec::new()));
    }
    schema
}

/// What a reference into the schema itself points at.
pub(crate) fn resolve<'a>(whole: &'a Tree, target: &str) -> Option<&'a Tree> {
    let path = target.strip_prefix('#')?;
    let mut at = whole;
    for step in path.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at {
            Tree::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            tree => tree.get(&step)?,
        };
    }
    Some(at)
}

/// A step of a JSON Pointer.
pub(crate) fn step(place: &str, key: &str) -> String {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests;
