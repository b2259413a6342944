//! Which keywords hold subschemas, and what those apply to.

use jsonschema::Draft;

/// How a subschema applies to the value that the schema around it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    AllOf,
    AnyOf,
    OneOf,
    Not,
    If,
    Then,
    Else,
    /// `dependentSchemas`, and `dependencies` where it has schemas.
    Dependent,
    /// `$ref`, `$dynamicRef` and `$recursiveRef`.
    Reference,
    Property,
    PatternProperty,
    AdditionalProperties,
    UnevaluatedProperties,
    PropertyNames,
    PrefixItem,
    Items,
    Contains,
    UnevaluatedItems,
    /// Not at all: definitions wait for a reference, and some keywords are annotations.
    Held,
}

impl How {
    /// Whether it applies to the same value again, not to a part of it.
    pub(crate) fn is_in_place(self) -> bool {
        match self {
            Self::AllOf
            | Self::AnyOf
            | Self::OneOf
            | Self::Not
            | Self::If
            | Self::Then
            | Self::Else
            | Self::Dependent
            | Self::Reference => true,
            Self::Property
            | Self::PatternProperty
            | Self::AdditionalProperties
            | Self::UnevaluatedProperties
            | Self::PropertyNames
            | Self::PrefixItem
            | Self::Items
            | Self::Contains
            | Self::UnevaluatedItems
            | Self::Held => false,
        }
    }

    /// Whether its being valid can make the schema around it invalid, or change what else applies.
    pub(crate) fn can_turn_the_verdict(self) -> bool {
        match self {
            // A further match of `contains` can be one too many, or one that is unevaluated.
            Self::Not | Self::If | Self::OneOf | Self::Contains => true,
            Self::AllOf
            | Self::AnyOf
            | Self::Then
            | Self::Else
            | Self::Dependent
            | Self::Reference
            | Self::Property
            | Self::PatternProperty
            | Self::AdditionalProperties
            | Self::UnevaluatedProperties
            | Self::PropertyNames
            | Self::PrefixItem
            | Self::Items
            | Self::UnevaluatedItems
            | Self::Held => false,
        }
    }

    /// What compiling it takes of the stack; see [`MAX_LEVELS`](crate::MAX_LEVELS).
    pub(crate) fn levels(self) -> usize {
        match self {
            Self::UnevaluatedProperties => 3,
            Self::AdditionalProperties | Self::UnevaluatedItems => 2,
            _ => 1,
        }
    }
}

/// What is found in the value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One(How),
    List(How),
    Map(How),
    /// A schema, or a list of schemas for the first items.
    OneOrPrefix,
}

/// The subschemas that a keyword holds in any of the dialects; `None` for the other keywords.
///
/// One table for all dialects: a keyword that a dialect does not know is looked into as well, which costs a refusal of
/// schemas that nobody writes, and cannot miss what the evaluator does.
pub(crate) fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "allOf" => Shape::List(How::AllOf),
        "anyOf" => Shape::List(How::AnyOf),
        "oneOf" => Shape::List(How::OneOf),
        "not" => Shape::One(How::Not),
        "if" => Shape::One(How::If),
        "then" => Shape::One(How::Then),
        "else" => Shape::One(How::Else),
        "dependentSchemas" | "dependencies" => Shape::Map(How::Dependent),
        "properties" => Shape::Map(How::Property),
        "patternProperties" => Shape::Map(How::PatternProperty),
        "additionalProperties" => Shape::One(How::AdditionalProperties),
        "unevaluatedProperties" => Shape::One(How::UnevaluatedProperties),
        "propertyNames" => Shape::One(How::PropertyNames),
        "prefixItems" => Shape::List(How::PrefixItem),
        "items" => Shape::OneOrPrefix,
        "additionalItems" => Shape::One(How::Items),
        "contains" => Shape::One(How::Contains),
        "unevaluatedItems" => Shape::One(How::UnevaluatedItems),
        "contentSchema" => Shape::One(How::Held),
        "$defs" | "definitions" => Shape::Map(How::Held),
        _ => return None,
    })
}

/// Whether `$ref` takes the place of all keywords beside it.
pub(crate) fn reference_stands_alone(dialect: Draft) -> bool {
    dialect <= Draft::Draft7
}
