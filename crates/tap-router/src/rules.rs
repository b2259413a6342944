//! What a host's own rules say of servers and their tools: which are used, and how they are shown and called.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tap_peer::ListKind;

/// At most so many calls of one server are made at a time, where nothing else is said.
pub const PARALLEL: usize = 16;

/// A pattern for names: `*` stands for any text, `?` for one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern by its text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether a name fits. Takes time that is bounded by the product of both lengths.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) = (self.0.chars().collect(), name.chars().collect());
        let (mut at, mut in_name) = (0, 0);
        // Where the newest star is, and where in the name it was begun to be matched.
        let mut star: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, in_name));
                    at += 1;
                }
                Some(wanted) if *wanted == '?' || name.get(in_name) == Some(wanted) => {
                    at += 1;
                    in_name += 1;
                }
                _ => match &mut star {
                    Some((star_at, from)) => {
                        *from += 1;
                        (at, in_name) = (*star_at + 1, *from);
                    }
                    None => return false,
                },
            }
        }
        pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
    }
}

/// What is said of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// What it is called, in place of the name that it would have.
    pub rename: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its input schema, the text of a JSON object. Arguments are checked by it.
    pub input_schema: Option<String>,
}

/// What is said of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRules {
    /// Which of its tools are used: all where nothing is said.
    pub allow: Vec<Pattern>,
    /// Which of those are not.
    pub deny: Vec<Pattern>,
    /// In which roles it is used: all where nothing is said.
    pub roles: BTreeSet<String>,
    /// Its tools, by the names that it has for them.
    pub tools: BTreeMap<String, ToolRules>,
    /// What somebody has looked at, of each kind by the names that the server has for them (of resources and templates their
    /// addresses), each in its [canonical](crate::canonical()) form. Where there are such, others and changed ones are not used.
    pub pinned: Option<BTreeMap<ListKind, BTreeMap<String, String>>>,
    /// How long a call may take.
    pub limit: Duration,
    /// How many calls are made at a time; others wait.
    pub parallel: usize,
}

impl Default for ServerRules {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            roles: BTreeSet::new(),
            tools: BTreeMap::new(),
            pinned: None,
            limit: Duration::from_secs(60),
            parallel: PARALLEL,
        }
    }
}

impl ServerRules {
    /// Whether a tool is used.
    #[must_use]
    pub fn uses_tool(&self, name: &str) -> bool {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(name));
        (self.allow.is_empty() || fits(&self.allow)) && !fits(&self.deny)
    }

    /// Whether the server is used in one of these roles. Without roles all are.
    #[must_use]
    pub fn is_for(&self, roles: &BTreeSet<String>) -> bool {
        roles.is_empty() || self.roles.is_empty() || self.roles.iter().any(|role| roles.contains(role))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_fit_as_people_expect() {
        for (pattern, name, fits) in [
            ("search", "search", true),
            ("search", "searches", false),
            ("search_*", "search_issues", true),
            ("*_issues", "search_issues", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("s?arch", "search", true),
            ("s?arch", "sarch", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("größe*", "größer", true),
        ] {
            assert_eq!(Pattern::new(pattern).fits(name), fits, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_of_parts_fits_what_has_them_in_order(
            mut parts in prop::collection::vec("[ab]{0,3}", 0..6),
            last in "[ab]{1,3}",
            gaps in prop::collection::vec("[abc]{0,3}", 7),
        ) {
            parts.push(last);
            let pattern = Pattern::new(parts.join("*"));
            let name: String = parts.iter().zip(&gaps).enumerate()
                .map(|(index, (part, gap))| if index + 1 < parts.len() { format!("{part}{gap}") } else { part.clone() })
                .collect();
            prop_assert!(pattern.fits(&name));
            let other = format!("{name}z");
            prop_assert!(!pattern.fits(&other));
        }
    }

    #[test]
    fn what_is_denied_is_not_used_and_roles_select_servers() {
        let rules = ServerRules {
            allow: vec![Pattern::new("read_*"), Pattern::new("list")],
            deny: vec![Pattern::new("*_secret")],
            roles: BTreeSet::from(["reader".to_owned()]),
            ..ServerRules::default()
        };
        for (name, uses) in [("read_file", true), ("list", true), ("write_file", false), ("read_secret", false)] {
            assert_eq!(rules.uses_tool(name), uses, "{name}");
        }
        let roles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert!(rules.is_for(&roles(&[])) && rules.is_for(&roles(&["writer", "reader"])));
        assert!(!rules.is_for(&roles(&["writer"])));
        assert!(ServerRules::default().is_for(&roles(&["writer"])));
    }
}
