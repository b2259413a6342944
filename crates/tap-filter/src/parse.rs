//! Text to expression, with errors that point at the place.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use crate::error::{FilterError, nearest};
use crate::expression::{Expression, JsonTest, Literal, Side, Test, TextTest, What};
use crate::field::{FIELDS, Field, FieldKind, STATES, State};
use crate::path::{PathStep, Root};
use crate::subject::Subject;
use crate::test::{Cost, Plan};
use crate::value;

/// How deep parentheses and saved filters can be nested.
const DEPTH: usize = 64;

/// What a compiled regular expression may take, bytes.
const REGEX_BYTES: usize = 1024 * 1024;

/// What a filter's text is read by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context {
    /// What time it is, for `after:-5m`: nanoseconds since the Unix epoch.
    pub now_unix_ns: i128,
    /// How far local time is ahead of UTC, for `after:14:02`: seconds.
    pub utc_offset_seconds: i32,
}

/// A filter: what was written, understood.
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    expression: Expression,
}

impl Filter {
    /// Reads a filter. An empty one fits everything. `saved` gives the text of a saved filter, for `@name`.
    ///
    /// # Errors
    ///
    /// When it makes no sense: where, why, and what would.
    pub fn parse(text: &str, context: &Context, saved: &dyn Fn(&str) -> Option<String>) -> Result<Self, FilterError> {
        let mut parser = Parser { text, at: 0, context, saved, depth: 0 };
        let mut expression = parser.whole()?;
        expression.sort();
        Ok(Self { text: text.into(), expression })
    }

    /// What was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a message fits.
    #[must_use]
    pub fn fits(&self, subject: &dyn Subject) -> bool {
        self.expression.fits(subject)
    }

    /// What has to be looked at.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.expression.cost()
    }

    /// What a database can sort out by itself: it holds of every message that fits, and of others too.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.expression.plan()
    }
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

/// A value as it was written.
struct Written {
    text: String,
    at: Range<usize>,
    quoted: bool,
    /// It was `/…/i`.
    any_case: bool,
    /// It was `/…/`.
    is_regex: bool,
}

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

    fn test(&mut self, what: What, operator: Operator) -> Result<Expression, FilterError> {
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

    /// Values with commas between them.
    fn values(&mut self) -> Result<Vec<Written>, FilterError> {
        let mut all = vec![self.value(true)?];
        while self.rest().starts_with(',') {
            self.at += 1;
            all.push(self.value(true)?);
        }
        Ok(all)
    }

    fn value(&mut self, in_list: bool) -> Result<Written, FilterError> {
        if self.rest().starts_with(['"', '\'']) {
            return self.quoted();
        }
        let begin = self.at;
        let text = self.run(|c| !(ends_word(c) || in_list && c == ','));
        if text.is_empty() {
            return Err(FilterError::new(begin..begin, "a value is missing"));
        }
        Ok(Written { text, at: begin..self.at, quoted: false, any_case: false, is_regex: false })
    }

    fn regex_value(&mut self) -> Result<Written, FilterError> {
        if !self.rest().starts_with('/') {
            return self.value(false);
        }
        let begin = self.at;
        let mut escaped = false;
        let inside = self.rest().get(1..).unwrap_or_default();
        let end = inside.char_indices().find(|(_, c)| {
            let ends = *c == '/' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            return Err(
                FilterError::new(begin..begin + 1, "this regular expression is not closed").help("end it with /")
            );
        };
        let text = inside.get(..end).unwrap_or_default().to_owned();
        self.at += end + 2;
        let any_case = self.rest().starts_with('i');
        self.at += usize::from(any_case);
        Ok(Written { text, at: begin..self.at, quoted: true, any_case, is_regex: true })
    }

    /// A text in quotes; what a backslash does is as in JSON.
    fn quoted(&mut self) -> Result<Written, FilterError> {
        let begin = self.at;
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else {
            return Err(FilterError::new(begin..begin, "a value is missing"));
        };
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.at = begin + offset + c.len_utf8();
                    return Ok(Written { text, at: begin..self.at, quoted: true, any_case: false, is_regex: false });
                }
                '\\' if quote == '"' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        let known = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(known.unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    Some(c) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(FilterError::new(begin..begin + 1, "this quote is not closed"))
    }
}

/// Whether a word, or a value without quotes, ends before this.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '|' | '&')
}

fn one_of(mut any: Vec<Expression>) -> Expression {
    if any.len() == 1 { any.remove(0) } else { Expression::Or(any) }
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
fn containing(written: &Written) -> Result<Regex, FilterError> {
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

#[cfg(test)]
mod tests;
