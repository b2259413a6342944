//! Tests: what is asked about, an operator, and values, made into a question.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::written::Written;
use super::{Operator, Parser};
use crate::error::{FilterError, nearest};
use crate::expression::{Expression, JsonTest, Literal, Side, Test, TextTest, What};
use crate::field::{Field, FieldKind};
use crate::value;

/// What a compiled regular expression may take, bytes.
const REGEX_BYTES: usize = 1024 * 1024;

impl Parser<'_> {
    pub(super) fn test(&mut self, what: What, operator: Operator) -> Result<Expression, FilterError> {
        let expression = match operator {
            Operator::Regex | Operator::NotRegex => {
                let written = self.regex_value()?;
                let regex = compiled(&written)?;
                if let What::Field(field) = &what
                    && !matches!(field.info().kind, FieldKind::Text | FieldKind::Id)
                {
                    let name = field.info().name;
                    return Err(
                        FilterError::new(written.at, format!("`{name}` is no text")).help("compare it with = < >")
                    );
                }
                Expression::Test(Test::Text(what, vec![TextTest::Fits(regex)]))
            }
            Operator::Colon | Operator::Equal | Operator::NotEqual => {
                let written = self.values()?;
                self.equal(what, operator, written)?
            }
            Operator::Compare(side) => {
                let written = self.value(false)?;
                self.compare(what, side, &written)?
            }
        };
        Ok(match operator {
            Operator::NotEqual | Operator::NotRegex => Expression::Not(Box::new(expression)),
            _ => expression,
        })
    }

    fn equal(&self, what: What, operator: Operator, written: Vec<Written>) -> Result<Expression, FilterError> {
        let field = match what {
            What::Path(root, steps) if operator != Operator::Colon => {
                let tests = written.iter().map(|one| JsonTest::Is(literal(one))).collect();
                return Ok(Expression::Test(Test::Json(root, steps, tests)));
            }
            What::Path(..) | What::Header(_) => {
                let tests = written.iter().map(|one| text_test(one, operator)).collect::<Result<_, _>>()?;
                return Ok(Expression::Test(Test::Text(what, tests)));
            }
            What::Field(field) => field,
        };
        let info = field.info();
        match info.kind {
            FieldKind::Text => {
                let tests = written.iter().map(|one| text_test(one, operator)).collect::<Result<_, _>>()?;
                Ok(Expression::Test(Test::Text(What::Field(field), tests)))
            }
            FieldKind::Id => {
                let tests = written.iter().map(|one| TextTest::Id(id(one))).collect();
                Ok(Expression::Test(Test::Text(What::Field(field), tests)))
            }
            _ => {
                let ranges = written.iter().map(|one| self.range(field, one)).collect::<Result<_, _>>()?;
                Ok(Expression::Test(Test::Number(field, ranges)))
            }
        }
    }

    /// The numbers that are meant by a value, ends included.
    fn range(&self, field: Field, written: &Written) -> Result<(i128, i128), FilterError> {
        if let Some((low, high)) = written.text.split_once("..").filter(|_| !written.quoted) {
            let at = |part: &str, begin: usize| begin..begin + part.len();
            let low_at = at(low, written.at.start);
            let high_at = at(high, written.at.start + low.len() + 2);
            let bound = |text: &str, at: Range<usize>, open: i128| {
                if text.is_empty() { Ok(open) } else { self.number(field, text, at) }
            };
            let (low, high) = (bound(low, low_at, i128::MIN)?, bound(high, high_at, i128::MAX)?);
            if high < low {
                return Err(FilterError::new(written.at.clone(), "the range ends before it begins"));
            }
            return Ok((low, high));
        }
        let number = self.number(field, &written.text, written.at.clone())?;
        Ok(match field {
            Field::After => (number, i128::MAX),
            Field::Before => (i128::MIN, number - 1),
            _ => (number, number),
        })
    }

    fn number(&self, field: Field, text: &str, at: Range<usize>) -> Result<i128, FilterError> {
        match field.info().kind {
            FieldKind::Duration => value::duration(text, at),
            FieldKind::Size => value::size(text, at),
            FieldKind::Time => value::time(text, at, self.context),
            FieldKind::Word(words) => {
                let text = match (field, text) {
                    (Field::Direction, ">" | "->") => "c2s",
                    (Field::Direction, "<" | "<-") => "s2c",
                    _ => text,
                };
                let place = words.iter().position(|word| *word == text);
                place.map(|place| place as i128).ok_or_else(|| {
                    let name = field.info().name;
                    let error = FilterError::new(at, format!("`{text}` is no {name}"));
                    match nearest(text, words.iter().copied()) {
                        Some(near) => error.help(format!("did you mean `{near}`?")),
                        None => error.help(format!("one of {}", words.join(", "))),
                    }
                })
            }
            FieldKind::Number | FieldKind::Text | FieldKind::Id => value::number(text, at),
        }
    }

    fn compare(&self, what: What, side: Side, written: &Written) -> Result<Expression, FilterError> {
        let field = match what {
            What::Path(root, steps) => {
                let wanted = literal(written);
                if !matches!(wanted, Literal::Number(_)) {
                    return Err(FilterError::new(written.at.clone(), format!("`{}` is no number", written.text)));
                }
                return Ok(Expression::Test(Test::Json(root, steps, vec![JsonTest::Compare(side, wanted)])));
            }
            What::Header(name) => {
                return Err(
                    FilterError::new(written.at.clone(), format!("the header {name} is text")).help("write : or ~")
                );
            }
            What::Field(field) => field,
        };
        let info = field.info();
        let ordered = match info.kind {
            FieldKind::Text | FieldKind::Id | FieldKind::Time => false,
            FieldKind::Word(_) => field == Field::Severity,
            FieldKind::Number | FieldKind::Duration | FieldKind::Size => true,
        };
        if !ordered {
            return Err(FilterError::new(written.at.clone(), format!("`{}` cannot be larger or smaller", info.name))
                .help(format!("write {}:…", info.name)));
        }
        let number = self.number(field, &written.text, written.at.clone())?;
        let range = match side {
            Side::Below => (i128::MIN, number - 1),
            Side::NotAbove => (i128::MIN, number),
            Side::Above => (number + 1, i128::MAX),
            Side::NotBelow => (number, i128::MAX),
        };
        Ok(Expression::Test(Test::Number(field, vec![range])))
    }
}

fn id(written: &Written) -> Vec<u8> {
    let is_number =
        !written.quoted && written.text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_number || written.text == "null" && !written.quoted {
        return written.text.clone().into_bytes();
    }
    let mut out = vec![b'"'];
    for c in written.text.chars() {
        match c {
            '"' | '\\' => out.extend(format!("\\{c}").into_bytes()),
            c if c.is_control() => out.extend(format!("\\u{:04x}", u32::from(c)).into_bytes()),
            c => out.extend(c.to_string().into_bytes()),
        }
    }
    out.push(b'"');
    out
}

/// A value as JSON types it: unquoted, what looks like a number, true, false or null is one.
fn literal(written: &Written) -> Literal {
    match written.text.as_str() {
        text if written.quoted => Literal::Text(text.into()),
        "true" => Literal::True,
        "false" => Literal::False,
        "null" => Literal::Null,
        text if text.parse::<f64>().is_ok_and(f64::is_finite) => Literal::Number(text.into()),
        text => Literal::Text(text.into()),
    }
}

fn text_test(written: &Written, operator: Operator) -> Result<TextTest, FilterError> {
    if operator != Operator::Colon {
        return Ok(TextTest::Exact(written.text.clone().into_bytes()));
    }
    let is_glob = !written.quoted && written.text.contains(['*', '?']);
    if !is_glob {
        return containing(written).map(TextTest::Fits);
    }
    let mut pattern = String::from(r"\A");
    for c in written.text.chars() {
        match c {
            '*' => pattern.push_str("(?s:.*)"),
            '?' => pattern.push_str("(?s:.)"),
            c => pattern.push_str(&regex::escape(&c.to_string())),
        }
    }
    pattern.push_str(r"\z");
    build(&pattern, true, written).map(TextTest::Fits)
}

/// What finds a text anywhere, in any case.
pub(super) fn containing(written: &Written) -> Result<Regex, FilterError> {
    build(&regex::escape(&written.text), true, written)
}

fn compiled(written: &Written) -> Result<Regex, FilterError> {
    build(&written.text, written.is_regex && written.any_case, written)
}

fn build(pattern: &str, any_case: bool, written: &Written) -> Result<Regex, FilterError> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(any_case).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES);
    builder.build().map_err(|error| {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or("it cannot be understood").trim_start_matches("error: ");
        FilterError::new(written.at.clone(), format!("no regular expression: {last}"))
    })
}
