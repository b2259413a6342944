//! TOML.

use toml_edit::{Item, TableLike, Value as TomlValue};

use crate::document::DocumentError;
use crate::node::{Map, Member, Node, Value};

pub(crate) fn parse(text: &str) -> Result<Node, DocumentError> {
    let document = toml_edit::Document::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        DocumentError::at(text, at, error.message())
    })?;
    Ok(table(document.as_table(), true))
}

fn item(item: &Item) -> Node {
    match item {
        Item::None => Node::new(0..0, Value::Null),
        Item::Value(read) => value(read),
        Item::Table(read) => table(read, true),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|read| table(read, true)).collect();
            Node { is_block: true, ..Node::new(item.span().unwrap_or_default(), Value::List(tables)) }
        }
    }
}

fn table(read: &dyn TableLike, is_block: bool) -> Node {
    let members = read.iter().map(|(name, value)| Member {
        key: name.to_owned(),
        key_span: read.key(name).and_then(toml_edit::Key::span).unwrap_or_default(),
        value: item(value),
    });
    let mut members: Vec<Member> = members.collect();
    // Tables may be taken up again further down: by place, not by when their name first came.
    members.sort_by_key(|member| member.key_span.start);
    Node { is_block, ..Node::new(0..0, Value::Map(Map(members))) }
}

fn value(read: &TomlValue) -> Node {
    let span = read.span().unwrap_or_default();
    let found = match read {
        TomlValue::String(text) => Value::Text(text.value().clone()),
        TomlValue::Boolean(flag) => Value::Bool(*flag.value()),
        TomlValue::Array(array) => Value::List(array.iter().map(value).collect()),
        TomlValue::InlineTable(inline) => {
            let dotted = inline.is_dotted();
            return Node { span, ..table(inline, dotted) };
        }
        TomlValue::Integer(_) | TomlValue::Float(_) | TomlValue::Datetime(_) => {
            Value::Bare(read.to_string().trim().to_owned())
        }
    };
    Node::new(span, found)
}
