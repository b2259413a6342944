//! Expressions: what a filter says, once its words are understood.

use regex::bytes::Regex;

use crate::field::{Field, State};
use crate::path::{PathStep, Root};

/// A filter's tree.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    /// All of these; none at all fits everything.
    And(Vec<Self>),
    /// One of these.
    Or(Vec<Self>),
    Not(Box<Self>),
    Test(Test),
}

/// One question.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// Text anywhere in the message.
    Anywhere(Regex),
    /// A named state.
    Is(State),
    /// Whether there is such a thing at all.
    Has(What),
    /// Whether a field's number is in one of these ranges, ends included.
    Number(Field, Vec<(i128, i128)>),
    /// Whether a text fits one of these.
    Text(What, Vec<TextTest>),
    /// Whether a value of JSON is one of these.
    Json(Root, Vec<PathStep>, Vec<JsonTest>),
}

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Field(Field),
    Path(Root, Vec<PathStep>),
    /// A header field, in lower case.
    Header(String),
}

/// A question about a text.
#[derive(Debug, Clone)]
pub(crate) enum TextTest {
    /// Exactly so.
    Exact(Vec<u8>),
    /// Contained, a glob, or a regular expression.
    Fits(Regex),
    /// The id that is written so.
    Id(Vec<u8>),
}

impl TextTest {
    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Exact(wanted) => wanted == text,
            Self::Fits(regex) => regex.is_match(text),
            Self::Id(wanted) => is_same_id(wanted, text),
        }
    }
}

/// A string is the same whatever it escapes; of a number each digit counts.
fn is_same_id(wanted: &[u8], written: &[u8]) -> bool {
    if wanted == written {
        return true;
    }
    match (tap_jsonrpc::Node::new(wanted).text(), tap_jsonrpc::Node::new(written).text()) {
        (Some(wanted), Some(written)) => wanted == written,
        _ => false,
    }
}

/// A question about a value of JSON.
#[derive(Debug, Clone)]
pub(crate) enum JsonTest {
    /// It is this value.
    Is(Literal),
    /// It is a number on that side of this one.
    Compare(Side, Literal),
}

/// A value as it stands in a filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    /// As it is written.
    Number(String),
    True,
    False,
    Null,
}

/// How two numbers lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    NotAbove,
    Above,
    NotBelow,
}

impl Side {
    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Below => ordering.is_lt(),
            Self::NotAbove => ordering.is_le(),
            Self::Above => ordering.is_gt(),
            Self::NotBelow => ordering.is_ge(),
        }
    }
}
