//! Which calls a person is asked about: by the host's own rules, and never by what servers say of their tools.
//!
//! Rules are looked at in their order, and the first one that fits decides. What no rule fits is decided by what stands
//! for the rest. Annotations of a server's (`readOnlyHint` and the like) are hints of somebody who may not be trusted, and
//! have no part in this (MCP 2025-06-18 and later, server/tools, Tool Annotations).

use std::collections::HashSet;
use std::fmt;

use tap_jsonrpc::{Node, NodeKind};

use crate::rules::Pattern;

/// How deep arrays in arguments are looked into.
const DEPTH: usize = 16;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is made.
    #[default]
    Allow,
    /// A person is asked.
    Ask,
    /// It is not made.
    Deny,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// As it is written in rules.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One rule. What is left out fits everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Which servers it is about.
    pub server: Option<Pattern>,
    /// Which tools, by the names that their servers have for them.
    pub tool: Option<Pattern>,
    /// Which arguments, each by its path (`a.b`), and what its value is like: a text as it is, everything else as JSON.
    /// All of them have to fit. One that is not there does not.
    pub arguments: Vec<(String, Pattern)>,
    /// What becomes of the call.
    pub verdict: Verdict,
    /// Why, for whoever made the call.
    pub because: Option<String>,
}

/// The rules of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// In the order in which they are looked at.
    pub rules: Vec<PolicyRule>,
    /// What holds where none fits.
    pub rest: Verdict,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// No rule fits.
    Rest,
    /// A rule, by its number from 1.
    Rule(usize),
    /// A person.
    Person,
    /// A person, who has allowed the tool for the whole session before.
    Before,
    /// A person was to be asked, and there was none.
    Nobody,
}

impl fmt::Display for Decider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest => out.write_str("no rule"),
            Self::Rule(number) => write!(out, "rule {number}"),
            Self::Person => out.write_str("a person"),
            Self::Before => out.write_str("a person, for the session"),
            Self::Nobody => out.write_str("nobody to ask"),
        }
    }
}

/// What was decided by the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What becomes of the call.
    pub verdict: Verdict,
    /// Which rule says so.
    pub by: Decider,
    /// Why.
    pub because: Option<String>,
}

impl Policy {
    /// Whether it may ask or refuse anything.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.rest == Verdict::Allow && self.rules.iter().all(|rule| rule.verdict == Verdict::Allow)
    }

    /// Decides about a call. `arguments` is what is sent, a JSON object.
    #[must_use]
    pub fn decide(&self, server: &str, tool: &str, arguments: Node<'_>) -> Decision {
        let found = self.rules.iter().enumerate().find(|(_, rule)| rule.fits(server, tool, arguments));
        match found {
            Some((index, rule)) => {
                Decision { verdict: rule.verdict, by: Decider::Rule(index + 1), because: rule.because.clone() }
            }
            None => Decision { verdict: self.rest, by: Decider::Rest, because: None },
        }
    }
}

impl PolicyRule {
    fn fits(&self, server: &str, tool: &str, arguments: Node<'_>) -> bool {
        let named = |pattern: &Option<Pattern>, name: &str| pattern.as_ref().is_none_or(|pattern| pattern.fits(name));
        named(&self.server, server)
            && named(&self.tool, tool)
            && self.arguments.iter().all(|(path, pattern)| self.argument_fits(path, pattern, arguments))
    }

    /// Whether an argument is like that. Of a list, and of a member that is there twice, one that fits is enough for what is
    /// refused or asked about; for what is allowed all have to, since nobody knows which one the server takes.
    fn argument_fits(&self, path: &str, pattern: &Pattern, arguments: Node<'_>) -> bool {
        let mut values = vec![arguments];
        for key in path.split('.') {
            let mut objects = Vec::new();
            values.into_iter().for_each(|value| elements(value, 0, &mut objects));
            let members = objects.iter().flat_map(|value| value.members());
            values = members.filter(|(name, _)| name.text() == key).map(|(_, value)| value).collect();
        }
        let mut leaves = Vec::new();
        values.into_iter().for_each(|value| elements(value, 0, &mut leaves));
        let texts: Vec<String> = leaves.into_iter().map(text).collect();
        match self.verdict {
            Verdict::Allow => !texts.is_empty() && texts.iter().all(|text| pattern.fits(text)),
            Verdict::Ask | Verdict::Deny => texts.iter().any(|text| pattern.fits(text)),
        }
    }
}

/// A value, or the elements of it if it is a list, and of lists in it.
fn elements<'a>(value: Node<'a>, depth: usize, found: &mut Vec<Node<'a>>) {
    match value.kind() {
        NodeKind::Array if depth < DEPTH => value.elements().for_each(|element| elements(element, depth + 1, found)),
        _ => found.push(value),
    }
}

fn text(value: Node<'_>) -> String {
    match value.text() {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(value.bytes()).into_owned(),
    }
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The server.
    pub server: String,
    /// The tool, by the name that the server has for it.
    pub tool: String,
    /// The arguments, a JSON object, as they are sent.
    pub arguments: String,
    /// Why the rules want somebody to be asked.
    pub because: Option<String>,
    /// What the server says of the tool (`annotations`), the text of a JSON object: to be shown, and not to be believed.
    pub annotations: Option<String>,
    /// Comes back with what is asked because of the call.
    pub tag: u64,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// This call.
    Yes,
    /// This call, and all of this tool for the rest of the session.
    Always,
    /// Not this call.
    No,
    /// There is nobody to ask.
    Nobody,
}

/// The tools that a person has allowed for the whole session.
#[derive(Debug, Default)]
pub(crate) struct Allowed(HashSet<(String, String)>);

impl Allowed {
    pub(crate) fn has(&self, server: &str, tool: &str) -> bool {
        self.0.contains(&(server.to_owned(), tool.to_owned()))
    }

    pub(crate) fn add(&mut self, server: &str, tool: &str) {
        self.0.insert((server.to_owned(), tool.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Allow, Ask, Deny};
    use super::*;

    fn rule(server: &str, tool: &str, arguments: &[(&str, &str)], verdict: Verdict) -> PolicyRule {
        let pattern = |text: &str| (!text.is_empty()).then(|| Pattern::new(text));
        PolicyRule {
            server: pattern(server),
            tool: pattern(tool),
            arguments: arguments.iter().map(|(path, value)| ((*path).to_owned(), Pattern::new(*value))).collect(),
            verdict,
            because: None,
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let policy = Policy {
            rules: vec![
                rule("files", "write_*", &[("path", "/etc/*")], Deny),
                rule("files", "write_*", &[("path", "/tmp/*")], Allow),
                rule("files", "write_*", &[], Ask),
                rule("", "delete", &[("options.force", "true")], Deny),
                rule("shell", "", &[], Ask),
            ],
            rest: Allow,
        };
        for (server, tool, arguments, verdict, by) in [
            ("files", "write_file", r#"{"path":"/etc/passwd"}"#, Deny, Decider::Rule(1)),
            ("files", "write_file", r#"{"path":"/tmp/a"}"#, Allow, Decider::Rule(2)),
            ("files", "write_file", r#"{"path":"/home/a"}"#, Ask, Decider::Rule(3)),
            ("files", "write_file", "{}", Ask, Decider::Rule(3)),
            ("files", "read_file", r#"{"path":"/etc/passwd"}"#, Allow, Decider::Rest),
            // An escape hides nothing.
            ("files", "write_file", r#"{"\u0070ath":"\u002fetc/passwd"}"#, Deny, Decider::Rule(1)),
            // Nobody knows which of the two the server takes.
            ("files", "write_file", r#"{"path":"/tmp/a","path":"/etc/passwd"}"#, Deny, Decider::Rule(1)),
            ("files", "write_file", r#"{"path":"/tmp/a","path":"/home/a"}"#, Ask, Decider::Rule(3)),
            ("files", "write_file", r#"{"path":["/tmp/a","/etc/passwd"]}"#, Deny, Decider::Rule(1)),
            ("files", "write_file", r#"{"path":["/tmp/a",["/tmp/b"]]}"#, Allow, Decider::Rule(2)),
            ("files", "write_file", r#"{"path":[]}"#, Ask, Decider::Rule(3)),
            ("any", "delete", r#"{"options":{"force":true}}"#, Deny, Decider::Rule(4)),
            ("any", "delete", r#"{"options":{"force":false}}"#, Allow, Decider::Rest),
            ("any", "delete", r#"{"options":[{"force":false},{"force":true}]}"#, Deny, Decider::Rule(4)),
            ("shell", "run", "{}", Ask, Decider::Rule(5)),
        ] {
            let decided = policy.decide(server, tool, Node::new(arguments.as_bytes()));
            assert_eq!((decided.verdict, decided.by), (verdict, by), "{server} {tool} {arguments}");
        }
        assert!(!policy.is_open() && Policy::default().is_open());
    }
}
