//! The rules, as a table: one file a part of the protocol.
//!
//! The table is data: `mcp-tap explain`, `docs/rules.md` and the tests all read it. What breaks a rule is in `machine`
//! (and `http`), where each rule is named at the place that finds it broken.

macro_rules! rules {
    ($list:ident: $($name:ident {
        id: $id:expr,
        name: $word:expr,
        severities: $severities:expr,
        section: $section:expr,
        title: $title:expr,
        advice: $advice:expr,
        wrong: $wrong:expr,
        right: $right:expr
        $(, needs_whole: $needs_whole:expr)?
        $(,)?
    })*) => {
        $(pub(crate) static $name: crate::rule::Rule = crate::rule::Rule {
            id: $id,
            name: $word,
            severities: $severities,
            section: $section,
            title: $title,
            advice: $advice,
            wrong: $wrong,
            right: $right,
            needs_whole: false $(|| $needs_whole)?,
        };)*
        /// The rules of this file.
        pub(crate) static $list: &[&crate::rule::Rule] = &[$(&$name),*];
    };
}

pub(crate) mod features;
pub(crate) mod framing;
pub(crate) mod http;
pub(crate) mod http_modern;
pub(crate) mod lifecycle;
pub(crate) mod modern;
pub(crate) mod modern_meta;
pub(crate) mod modern_rounds;
pub(crate) mod modern_subscriptions;
pub(crate) mod progress;
pub(crate) mod tasks;

use tap_protocol::{Revision, Revisions};

use crate::rule::{Rule, Severity};

// Short names for the tables below.
const ALL: Revisions = Revisions::ALL;
const LEGACY: Revisions = Revisions::LEGACY;
const MODERN: Revisions = Revisions::MODERN;
const A: Revisions = Revisions::only(Revision::V2024_11_05);
const B: Revisions = Revisions::only(Revision::V2025_03_26);
const C: Revisions = Revisions::only(Revision::V2025_06_18);
const D: Revisions = Revisions::only(Revision::V2025_11_25);
const E: Severity = Severity::Error;
const W: Severity = Severity::Warning;
const I: Severity = Severity::Note;

/// All rules, in the order of their ids within each part.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        framing::FRAMING,
        lifecycle::LIFECYCLE,
        progress::PROGRESS,
        features::lists::PAGES,
        features::TOOLS,
        features::resources::RESOURCES,
        features::elicitation::ELICITATION,
        features::sampling::SAMPLING,
        tasks::TASKS,
        modern::MODERN_RULES,
        modern_rounds::ROUNDS,
        modern_subscriptions::SUBSCRIPTIONS,
        modern_meta::META_AND_CACHING,
        http::HTTP,
        http_modern::HTTP_MODERN,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The rule with this id or name, whatever the case: `RPC-002`, `null-id`.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id.eq_ignore_ascii_case(name) || rule.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
