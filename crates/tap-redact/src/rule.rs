//! What users add to what is known: names, places and patterns.

use std::str::FromStr;

use regex::Regex;

/// Something else that is to be replaced.
#[derive(Debug, Clone)]
pub enum Rule {
    /// The values of members with this name, in any case.
    Key(String),
    /// The value at a path, such as `params.arguments.user.email`; `*` stands for any name or index, `**` for any number of
    /// them.
    Path(Vec<String>),
    /// What matches in any text; where the pattern has a group, what that matches.
    Pattern(Regex),
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It does not say what it is.
    #[error("`{0}` is no rule; write key:NAME, path:PATH or re:PATTERN")]
    Unknown(String),
    /// There is nothing behind the colon.
    #[error("`{0}` names nothing")]
    Empty(String),
    /// A pattern that is none.
    #[error("`{0}` is no regular expression: {1}")]
    Pattern(String, String),
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(written: &str) -> Result<Self, RuleError> {
        let Some((what, which)) = written.split_once(':') else {
            return Err(RuleError::Unknown(written.into()));
        };
        if which.is_empty() {
            return Err(RuleError::Empty(written.into()));
        }
        match what {
            "key" => Ok(Self::Key(which.into())),
            "path" => Ok(Self::Path(steps(which))),
            "re" => match Regex::new(which) {
                Ok(pattern) => Ok(Self::Pattern(pattern)),
                Err(error) => {
                    let why = error.to_string();
                    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                    Err(RuleError::Pattern(which.into(), why))
                }
            },
            _ => Err(RuleError::Unknown(written.into())),
        }
    }
}

/// The steps of a path: `a.b[0].c` has four. `arg` is short for the arguments of a call.
fn steps(path: &str) -> Vec<String> {
    let path = match path.strip_prefix("arg.") {
        Some(rest) => format!("params.arguments.{rest}"),
        None => path.to_owned(),
    };
    let steps = path.replace("[]", ".*").replace('[', ".").replace(']', "");
    steps.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect()
}

/// Whether a path fits, step by step.
pub(crate) fn fits(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((step, rest)), _) if step == "**" => {
            fits(rest, path) || path.split_first().is_some_and(|(_, path)| fits(pattern, path))
        }
        (Some((step, rest)), Some((name, path))) if step == "*" || step == name => fits(rest, path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_paths_fit() {
        for (rule, path, expected) in [
            ("path:arg.a", "params arguments a", true),
            ("path:a.*.c", "a b c", true),
            ("path:a[].c", "a 0 c", true),
            ("path:a[1].c", "a 1 c", true),
            ("path:a[1].c", "a 0 c", false),
            ("path:**.c", "a 0 c", true),
            ("path:a.**", "a 0 c", true),
            ("path:a", "a b", false),
        ] {
            let Ok(Rule::Path(pattern)) = rule.parse() else { panic!("{rule}") };
            assert_eq!(fits(&pattern, &path.split(' ').collect::<Vec<_>>()), expected, "{rule} {path}");
        }
        for (rule, told) in [
            ("token", "`token` is no rule; write key:NAME, path:PATH or re:PATTERN"),
            ("name:token", "`name:token` is no rule; write key:NAME, path:PATH or re:PATTERN"),
            ("key:", "`key:` names nothing"),
            ("re:(", "`(` is no regular expression: unclosed group"),
        ] {
            assert_eq!(rule.parse::<Rule>().unwrap_err().to_string(), told);
        }
    }
}
