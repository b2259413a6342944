//! A value of a configuration with the place where it stands, whichever format it is written in.

use std::ops::Range;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it stands in the text, bytes. Of a map or a list that is written on lines of its own it may be empty.
    pub span: Range<usize>,
    /// What it is.
    pub value: Value,
    /// It is written on lines of its own, without brackets: a table of TOML, a block of YAML.
    pub is_block: bool,
    /// It is, or may be, meant in other places as well, or is more than its text: an alias, an anchor or a tag of YAML.
    pub is_shared: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number, a date, or what else is written bare, as it is written.
    Bare(String),
    /// A text.
    Text(String),
    /// Values in their order.
    List(Vec<Node>),
    /// Values by name, in the order in which they are written.
    Map(Map),
}

/// Members in the order in which they are written; one name may be there twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map(pub Vec<Member>);

/// A value with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The name.
    pub key: String,
    /// Where the name stands, with its quotation marks, bytes.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Map {
    /// The member of this name; the last one if there are several, as hosts have it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.0.iter().rev().find(|member| member.key == key)
    }
}

impl Node {
    pub(crate) fn new(span: Range<usize>, value: Value) -> Self {
        Self { span, value, is_block: false, is_shared: false }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members, if it is a map.
    #[must_use]
    pub fn map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The values, if it is a list.
    #[must_use]
    pub fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value that is reached by these names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| Some(&node.map()?.get(key)?.value))
    }

    /// What kind of value it is, in a sentence such as "a text is expected, not …".
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Bare(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}
