//! Text to expression, with errors that point at the place.
//!
//! The grammar is here; values are read in `written.rs`, and made into questions in `compare.rs`.

mod compare;
mod written;

use std::ops::Range;

use self::compare::containing;
use self::written::{Written, ends_word};
use crate::error::{FilterError, nearest};
use crate::expression::{Expression, Side, Test, What};
use crate::field::{FIELDS, Field, STATES, State};
use crate::filter::Context;
use crate::path::{PathStep, Root};

/// How deep parentheses and saved filters can be nested.
const DEPTH: usize = 64;

/// Reads a filter; `saved` gives the text of a saved one.
pub(crate) fn parse(
    text: &str,
    context: &Context,
    saved: &dyn Fn(&str) -> Option<String>,
) -> Result<Expression, FilterError> {
    Parser { text, at: 0, context, saved, depth: 0 }.whole()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    context: &'a Context,
    saved: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Colon,
    Equal,
    NotEqual,
    Regex,
    NotRegex,
    Compare(Side),
}

/// Longer ones first, where one begins like another.
const OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("!~", Operator::NotRegex),
    (">=", Operator::Compare(Side::NotBelow)),
    ("<=", Operator::Compare(Side::NotAbove)),
    (":", Operator::Colon),
    ("=", Operator::Equal),
    ("~", Operator::Regex),
    (">", Operator::Compare(Side::Above)),
    ("<", Operator::Compare(Side::Below)),
];

impl Parser<'_> {
    fn whole(&mut self) -> Result<Expression, FilterError> {
        let expression = self.either()?;
        match self.peek() {
            None => Ok(expression),
            Some(_) => Err(FilterError::new(self.at..self.at + 1, "this parenthesis closes nothing")),
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    /// Takes one of these words or signs, if it stands there. A word has to end there.
    fn take_one(&mut self, words: &[&str]) -> bool {
        self.skip_blanks();
        for word in words {
            let Some(rest) = self.rest().strip_prefix(word) else {
                continue;
            };
            let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_word && !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || c == '(') {
                continue;
            }
            self.at += word.len();
            return true;
        }
        false
    }

    fn either(&mut self) -> Result<Expression, FilterError> {
        let mut any = vec![self.both()?];
        while self.take_one(&["||", "|", "or"]) {
            if matches!(any.last(), Some(Expression::And(all)) if all.is_empty()) {
                return Err(FilterError::new(self.at..self.at, "something is missing before `or`"));
            }
            let next = self.both()?;
            if matches!(&next, Expression::And(all) if all.is_empty()) {
                return Err(FilterError::new(self.at..self.at, "something is missing after `or`"));
            }
            any.push(next);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Expression::Or(any) })
    }

    fn both(&mut self) -> Result<Expression, FilterError> {
        let mut all = Vec::new();
        loop {
            let and = !all.is_empty() && self.take_one(&["&&", "&", "and"]);
            let at_or = {
                let before = self.at;
                let found = self.take_one(&["||", "|", "or"]);
                self.at = before;
                found
            };
            match self.peek() {
                None | Some(')') => {}
                Some(_) if at_or => {}
                Some(_) => {
                    all.push(self.negated()?);
                    continue;
                }
            }
            if and {
                return Err(FilterError::new(self.at..self.at, "something is missing after `and`"));
            }
            break;
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::And(all) })
    }

    fn negated(&mut self) -> Result<Expression, FilterError> {
        let mut not = false;
        loop {
            let before = self.at;
            if self.take_one(&["not"]) {
                not = !not;
            } else if self.rest().starts_with(['!', '-']) && self.rest().len() > 1 {
                self.at += 1;
                if self.rest().starts_with(char::is_whitespace) {
                    return Err(FilterError::new(before..self.at, "this must stand right before what it negates"));
                }
                not = !not;
            } else {
                break;
            }
        }
        if self.peek().is_none_or(|c| c == ')') {
            return Err(FilterError::new(self.at..self.at, "something is missing after `not`"));
        }
        let inner = self.primary()?;
        Ok(if not { Expression::Not(Box::new(inner)) } else { inner })
    }

    fn primary(&mut self) -> Result<Expression, FilterError> {
        let begin = self.at;
        let first = self.rest().chars().next().unwrap_or_default();
        match first {
            '(' => {
                self.deeper(begin)?;
                self.at += 1;
                let inner = self.either()?;
                if self.peek() != Some(')') {
                    return Err(FilterError::new(begin..begin + 1, "this parenthesis is not closed"));
                }
                self.at += 1;
                self.depth -= 1;
                Ok(inner)
            }
            '@' => self.saved(begin),
            '"' | '\'' => {
                let written = self.quoted()?;
                Ok(Expression::Test(Test::Anywhere(containing(&written)?)))
            }
            _ => self.test_or_word(begin),
        }
    }

    fn deeper(&mut self, at: usize) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(FilterError::new(at..at + 1, format!("nested more than {DEPTH} deep")));
        }
        Ok(())
    }

    fn saved(&mut self, begin: usize) -> Result<Expression, FilterError> {
        self.at += 1;
        let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let at = begin..self.at;
        let Some(text) = (self.saved)(&name) else {
            return Err(FilterError::new(at, format!("there is no saved filter `{name}`")));
        };
        self.deeper(begin)?;
        let mut inner = Parser { text: &text, at: 0, context: self.context, saved: self.saved, depth: self.depth };
        let expression = inner
            .whole()
            .map_err(|error| FilterError::new(at, format!("the saved filter `{name}` is wrong: {}", error.problem)))?;
        self.depth -= 1;
        Ok(expression)
    }

    /// Takes characters as long as they are such.
    fn run(&mut self, is: impl Fn(char) -> bool) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !is(c)).unwrap_or(rest.len());
        let taken = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        taken
    }

    fn test_or_word(&mut self, begin: usize) -> Result<Expression, FilterError> {
        if self.rest().starts_with('.') || self.begins_path() {
            if let Some(what) = self.path()? {
                return match self.operator() {
                    Some(operator) => self.test(what, operator),
                    None => Ok(Expression::Test(Test::Has(what))),
                };
            }
            self.at = begin;
        }
        let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let at = begin..self.at;
        let operator = if name.is_empty() { None } else { self.operator() };
        match operator {
            Some(operator) => self.named(&name, at, operator),
            None => {
                self.at = begin;
                self.word()
            }
        }
    }

    fn word(&mut self) -> Result<Expression, FilterError> {
        let begin = self.at;
        let text = self.run(|c| !ends_word(c));
        let at = begin..self.at;
        if text.is_empty() {
            let c = self.rest().chars().next().map_or(0, char::len_utf8);
            return Err(FilterError::new(begin..begin + c, "this cannot stand here"));
        }
        let written = Written { text, at, quoted: false, any_case: true, is_regex: false };
        Ok(Expression::Test(Test::Anywhere(containing(&written)?)))
    }

    fn operator(&mut self) -> Option<Operator> {
        let (text, operator) = OPERATORS.iter().find(|(text, _)| self.rest().starts_with(text))?;
        self.at += text.len();
        Some(*operator)
    }

    fn begins_path(&self) -> bool {
        let name: String = self.rest().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        let next = self.rest().get(name.len()..).and_then(|rest| rest.chars().next());
        matches!(next, Some('.' | '[')) && (name == "header" || Root::named(&name).is_some())
    }

    /// A path, if one stands there.
    fn path(&mut self) -> Result<Option<What>, FilterError> {
        let name = self.run(|c| c.is_ascii_alphabetic());
        if name == "header" {
            self.at += 1;
            let field = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            let what = What::Header(field.to_ascii_lowercase());
            return Ok((!field.is_empty()).then_some(what));
        }
        let root = if name.is_empty() { Root::This } else { Root::named(&name).unwrap_or(Root::This) };
        let mut steps = Vec::new();
        loop {
            let begin = self.at;
            if self.rest().starts_with('.') {
                self.at += 1;
                let key = match self.rest().chars().next() {
                    Some('"' | '\'') => self.quoted()?.text,
                    _ => self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/')),
                };
                if key.is_empty() {
                    if steps.is_empty() && root == Root::This {
                        return Ok(None);
                    }
                    return Err(FilterError::new(begin..self.at, "a key is missing after the dot"));
                }
                steps.push(PathStep::Member(key));
            } else if self.rest().starts_with('[') {
                self.at += 1;
                let inside = self.run(|c| c != ']' && !c.is_whitespace());
                if !self.rest().starts_with(']') {
                    return Err(FilterError::new(begin..self.at, "this bracket is not closed"));
                }
                self.at += 1;
                steps.push(match inside.as_str() {
                    "*" => PathStep::AnyElement,
                    number => PathStep::Element(number.parse().map_err(|_| {
                        FilterError::new(begin..self.at, format!("`{number}` is no place in an array"))
                            .help("write [0] for the first, [*] for any")
                    })?),
                });
            } else {
                return Ok((!steps.is_empty()).then_some(What::Path(root, steps)));
            }
        }
    }

    fn named(&mut self, name: &str, at: Range<usize>, operator: Operator) -> Result<Expression, FilterError> {
        let not_colon = |says: &str| FilterError::new(at.clone(), format!("`{name}` {says}"));
        match name {
            "is" => {
                if operator != Operator::Colon {
                    return Err(not_colon("goes with a colon").help("write is:error"));
                }
                self.states()
            }
            "has" => {
                if operator != Operator::Colon {
                    return Err(not_colon("goes with a colon").help("write has:finding"));
                }
                self.has()
            }
            _ => match Field::named(name) {
                Some(field) => self.test(What::Field(field), operator),
                None => {
                    let known = FIELDS.iter().flat_map(|info| [Some(info.name), info.short]).flatten();
                    let help = match nearest(name, known.chain(["is", "has"])) {
                        Some(near) => format!("did you mean `{near}`? quote it to search for the text"),
                        None => "quote it to search for the text".into(),
                    };
                    Err(FilterError::new(at, format!("unknown field `{name}`")).help(help))
                }
            },
        }
    }

    fn states(&mut self) -> Result<Expression, FilterError> {
        let written = self.values()?;
        let mut any = Vec::new();
        for one in written {
            let state = STATES.iter().find(|state| state.name == one.text).map(|state| state.state);
            let state: State = state.ok_or_else(|| {
                let error = FilterError::new(one.at.clone(), format!("`{}` is no state", one.text));
                match nearest(&one.text, STATES.iter().map(|state| state.name)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("such as is:error, is:pending, is:finding"),
                }
            })?;
            any.push(Expression::Test(Test::Is(state)));
        }
        Ok(one_of(any))
    }

    fn has(&mut self) -> Result<Expression, FilterError> {
        let begin = self.at;
        if (self.rest().starts_with('.') || self.begins_path())
            && let Some(what) = self.path()?
        {
            return Ok(Expression::Test(Test::Has(what)));
        }
        self.at = begin;
        let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        match Field::named(&name) {
            Some(field) => Ok(Expression::Test(Test::Has(What::Field(field)))),
            None => Err(FilterError::new(begin..self.at, format!("unknown field `{name}`"))),
        }
    }
}

fn one_of(mut any: Vec<Expression>) -> Expression {
    if any.len() == 1 { any.remove(0) } else { Expression::Or(any) }
}

#[cfg(test)]
mod tests;
