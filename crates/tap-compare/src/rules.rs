//! The dials: what counts as the same. As the `rules` of a recording's header, or from the command line.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::path::PathPattern;

/// What a difference may be and still be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loose {
    /// The text `"812"` is the number 812.
    Numbers,
    /// Upper and lower case are the same.
    Case,
    /// White space around text does not count, and any between words is one blank.
    Space,
}

/// How deep answers are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Values.
    #[default]
    Exact,
    /// Keys and types, not values.
    Shape,
    /// Only what became of the call: fine, `isError`, or an error with its code.
    Status,
}

/// Rules for all calls, or those of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolRules {
    /// Left out, of match keys and of comparisons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<PathPattern>,
    /// There must be something, and what it is does not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<PathPattern>,
    /// Values that are compared loosely.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub loose: BTreeSet<Loose>,
    /// How deep answers are compared; values when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Depth>,
    /// Only these paths of a request are its match key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Vec<PathPattern>>,
}

/// All rules: for every call, and more for some tools.
///
/// Read them with [`read`](Self::read) or [`parse`](Self::parse), which name the member that is wrong; as a part of another type
/// they are read too, but then a member that is not known is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// For every call.
    #[serde(flatten)]
    pub all: ToolRules,
    /// By name of the tool or prompt. What is ignored, volatile or loose comes on top of what holds for every call; how
    /// deep and which key takes its place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolRules>,
}

/// Rules that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {problem}", if .member.is_empty() { "rules" } else { member })]
pub struct RulesError {
    /// Which member, such as `tools.get_weather.compare` or `ignore[1]`.
    pub member: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The names of members that hold for a tool, in the order in which an error tells them.
const MEMBERS: &str = "ignore, volatile, loose, compare, key";

impl Rules {
    /// Reads the `rules` of a header.
    ///
    /// # Errors
    ///
    /// Names the member that is wrong. A member that is not known is an error: a rule with a typing error would silently not hold.
    pub fn read(value: &Value) -> Result<Self, RulesError> {
        let Value::Object(members) = value else {
            return Err(wrong("", "is an object"));
        };
        let mut rules = Self { all: read_tool(value, "", true)?, ..Self::default() };
        if let Some(tools) = members.get("tools") {
            let Value::Object(tools) = tools else {
                return Err(wrong("tools", "is an object: a name of a tool, and its rules"));
            };
            for (name, value) in tools {
                rules.tools.insert(name.clone(), read_tool(value, &format!("tools.{name}"), false)?);
            }
        }
        Ok(rules)
    }

    /// Reads rules from text: JSON.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and when it is no JSON.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        Self::read(&serde_json::from_str(text).map_err(|error| wrong("", error.to_string()))?)
    }

    /// What holds for the calls of a tool or prompt, or for calls without such a name.
    #[must_use]
    pub fn dials(&self, name: Option<&str>) -> Dials {
        let tool = name.and_then(|name| self.tools.get(name));
        let both = |of: fn(&ToolRules) -> &Vec<PathPattern>| {
            of(&self.all).iter().chain(tool.map(of).into_iter().flatten()).cloned().collect()
        };
        let loose: BTreeSet<Loose> =
            self.all.loose.iter().chain(tool.map(|tool| &tool.loose).into_iter().flatten()).copied().collect();
        Dials {
            ignore: both(|rules| &rules.ignore),
            volatile: both(|rules| &rules.volatile),
            numbers: loose.contains(&Loose::Numbers),
            case: loose.contains(&Loose::Case),
            space: loose.contains(&Loose::Space),
            depth: tool.and_then(|tool| tool.compare).or(self.all.compare).unwrap_or_default(),
            key: tool.and_then(|tool| tool.key.clone()).or_else(|| self.all.key.clone()),
        }
    }

    /// Adds others, such as those of a command line to those of a header: what they say of depth and key takes its place.
    pub fn extend(&mut self, other: &Self) {
        extend(&mut self.all, &other.all);
        for (name, rules) in &other.tools {
            extend(self.tools.entry(name.clone()).or_default(), rules);
        }
    }
}

fn extend(rules: &mut ToolRules, other: &ToolRules) {
    rules.ignore.extend(other.ignore.iter().cloned());
    rules.volatile.extend(other.volatile.iter().cloned());
    rules.loose.extend(&other.loose);
    rules.compare = other.compare.or(rules.compare);
    if other.key.is_some() {
        rules.key.clone_from(&other.key);
    }
}

/// What holds for one call: rules for all and for its tool, put together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dials {
    /// Left out.
    pub ignore: Vec<PathPattern>,
    /// There must be something, and what it is does not count.
    pub volatile: Vec<PathPattern>,
    /// The text `"812"` is the number 812.
    pub numbers: bool,
    /// Upper and lower case are the same.
    pub case: bool,
    /// White space around text does not count, and any between words is one blank.
    pub space: bool,
    /// How deep answers are compared.
    pub depth: Depth,
    /// Only these paths of a request are its match key.
    pub key: Option<Vec<PathPattern>>,
}

fn wrong(member: &str, problem: impl Into<String>) -> RulesError {
    RulesError { member: member.to_owned(), problem: problem.into() }
}

fn read_tool(value: &Value, at: &str, with_tools: bool) -> Result<ToolRules, RulesError> {
    let Value::Object(members) = value else {
        return Err(wrong(at, "is an object"));
    };
    let mut rules = ToolRules::default();
    for (key, value) in members {
        let member = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match key.as_str() {
            "ignore" => rules.ignore = read_list(value, &member)?,
            "volatile" => rules.volatile = read_list(value, &member)?,
            "loose" => rules.loose = read_list::<Loose>(value, &member)?.into_iter().collect(),
            "compare" => rules.compare = Some(read_one(value, &member)?),
            "key" => rules.key = Some(read_list(value, &member)?),
            "tools" if with_tools => {}
            _ => {
                let more = if with_tools { ", tools" } else { "" };
                return Err(wrong(&member, format!("is no rule; there are {MEMBERS}{more}")));
            }
        }
    }
    Ok(rules)
}

fn read_one<T: serde::de::DeserializeOwned>(value: &Value, member: &str) -> Result<T, RulesError> {
    serde_json::from_value(value.clone()).map_err(|error| wrong(member, error.to_string()))
}

/// A list, or one value in place of a list of one.
fn read_list<T: serde::de::DeserializeOwned>(value: &Value, member: &str) -> Result<Vec<T>, RulesError> {
    match value {
        Value::Array(values) => {
            let each = values.iter().enumerate();
            each.map(|(index, value)| read_one(value, &format!("{member}[{index}]"))).collect()
        }
        _ => Ok(vec![read_one(value, member)?]),
    }
}
