//! JSON, with comments and trailing commas, which some hosts' files have.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::document::DocumentError;
use crate::node::{Map, Member, Node, Value};

/// What no host's parser takes is refused here as well: it would be read as something else than the host reads.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(crate) fn parse(text: &str) -> Result<Node, DocumentError> {
    let read = parse_to_ast(text, &CollectOptions::default(), &OPTIONS)
        .map_err(|error| DocumentError::at(text, error.range().start, &error.kind().to_string()))?;
    // A file without anything in it is what some hosts make first.
    Ok(read.value.as_ref().map_or_else(|| Node::new(0..0, Value::Null), node))
}

fn node(value: &ast::Value<'_>) -> Node {
    let range = value.range();
    let read = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Bare(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::Text(literal.value.clone().into_owned()),
        ast::Value::Array(array) => Value::List(array.elements.iter().map(node).collect()),
        ast::Value::Object(object) => Value::Map(Map(object.properties.iter().map(member).collect())),
    };
    Node::new(range.start..range.end, read)
}

fn member(property: &ast::ObjectProp<'_>) -> Member {
    let range = property.name.range();
    let key = match &property.name {
        ast::ObjectPropName::String(literal) => literal.value.clone().into_owned(),
        ast::ObjectPropName::Word(literal) => literal.value.to_owned(),
    };
    Member { key, key_span: range.start..range.end, value: node(&property.value) }
}
