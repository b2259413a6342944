//! Texts that are looked for, so that the place can be shown: of a filter, or typed by themselves.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use crate::expression::{Expression, Test, TextTest, What};
use crate::field::Field;
use crate::filter::Filter;

/// Texts that are looked for.
#[derive(Debug, Clone)]
pub struct Wanted(Vec<Regex>);

impl Wanted {
    /// A text, in any case, as a word of a filter is looked for. `None` when there is nothing to look for, or too much.
    #[must_use]
    pub fn text(text: &str) -> Option<Self> {
        let regex = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok()?;
        (!text.is_empty()).then_some(Self(vec![regex]))
    }

    /// The first place, from `from` on, of the first of the texts that is there; never an empty one.
    #[must_use]
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        let in_one = |regex: &Regex| {
            if bytes.len() < from {
                return None;
            }
            regex.find_at(bytes, from).map(|found| found.range()).filter(|range| !range.is_empty())
        };
        self.0.iter().find_map(in_one)
    }
}

impl Filter {
    /// The texts that a message which fits may hold: those that are looked for in all of it first, then those that are
    /// looked for at one place. What must not be there is none of them.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let (mut anywhere, mut somewhere) = (Vec::new(), Vec::new());
        gather(&self.expression, &mut anywhere, &mut somewhere);
        anywhere.append(&mut somewhere);
        Wanted(anywhere)
    }
}

fn gather(expression: &Expression, anywhere: &mut Vec<Regex>, somewhere: &mut Vec<Regex>) {
    match expression {
        Expression::And(all) | Expression::Or(all) => {
            all.iter().for_each(|one| gather(one, anywhere, somewhere));
        }
        Expression::Test(Test::Anywhere(regex)) => anywhere.push(regex.clone()),
        Expression::Test(Test::Text(what, tests)) => {
            let regexes = tests.iter().filter_map(|test| match test {
                TextTest::Fits(regex) => Some(regex.clone()),
                TextTest::Exact(text) => Regex::new(&regex::escape(&String::from_utf8_lossy(text))).ok(),
                TextTest::Id(_) => None,
            });
            match what {
                What::Field(Field::Body | Field::Error) => anywhere.extend(regexes),
                _ => somewhere.extend(regexes),
            }
        }
        Expression::Not(_) | Expression::Test(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    #[test]
    fn what_a_filter_looks_for_is_found_in_a_message() {
        let body = br#"{"method":"tools/call","params":{"name":"read","text":"ENOENT: No Such file"}}"#;
        for (filter, expected) in [
            ("\"no such\"", Some("No Such")),
            ("tool:read enoent", Some("ENOENT")),
            ("tool:read", Some("read")),
            ("enoent -nothing", Some("ENOENT")),
            ("-enoent", None),
            ("is:error", None),
            ("absent or such", Some("Such")),
            ("body~/E[A-Z]+T/", Some("ENOENT")),
            ("arg.text=\"ENOENT: No Such file\"", None),
            ("body~/x*/", None),
        ] {
            let filter = Filter::parse(filter, &Context::default(), &|_| None).unwrap();
            let found = filter.wanted().find(body, 0).map(|range| String::from_utf8_lossy(&body[range]).into_owned());
            assert_eq!(found.as_deref(), expected, "{}", filter.text());
        }
        let wanted = Wanted::text("a.b").unwrap();
        assert_eq!(wanted.find(b"axb A.B a.b", 0), Some(4..7));
        assert_eq!(wanted.find(b"axb A.B a.b", 5), Some(8..11));
        assert_eq!(wanted.find(b"axb", 9), None);
        assert!(Wanted::text("").is_none());
    }
}
