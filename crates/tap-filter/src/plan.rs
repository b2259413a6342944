//! What of a filter a database can decide by itself, before anybody looks at a message.

use std::sync::Arc;

use crate::expression::{Expression, Test, TextTest, What};
use crate::field::{Field, FieldKind, State};
use crate::matches::{SLOW_NS, STOPPED};

/// What holds of every message that fits, and perhaps of others: questions that are answered by what lists show anyway.
///
/// There is no negation but in the questions, so that a part of it that cannot be decided may be taken for true.
#[derive(Debug, Clone)]
pub enum Plan {
    /// Nothing can be said: it may be anything.
    Anything,
    /// All of these.
    All(Vec<Self>),
    /// One of these; none at all is what nothing fits.
    Any(Vec<Self>),
    /// This question, or (`false`) that the answer is no. Of a field that a message has not, it is no.
    Asks(Question, bool),
}

/// A question about a field.
#[derive(Debug, Clone)]
pub enum Question {
    /// Whether there is such a thing.
    Has(Field),
    /// Whether its number is in one of these ranges, ends included.
    Number(Field, Vec<(i128, i128)>),
    /// Whether its text fits.
    Text(Field, Texts),
}

/// Texts of which one has to be fitted.
#[derive(Debug, Clone)]
pub struct Texts(Arc<[TextTest]>);

impl Texts {
    /// Whether this text fits.
    #[must_use]
    pub fn fits(&self, text: &[u8]) -> bool {
        self.0.iter().any(|test| test.fits(text))
    }
}

impl Expression {
    /// The plan for what fits, or (`wanted` false) for what does not.
    pub(crate) fn plan(&self, wanted: bool) -> Plan {
        let each = |all: &[Self]| all.iter().map(|one| one.plan(wanted)).collect();
        match self {
            Self::And(all) if wanted => conjunction(each(all)),
            Self::Or(any) if !wanted => conjunction(each(any)),
            Self::And(all) => disjunction(each(all)),
            Self::Or(any) => disjunction(each(any)),
            Self::Not(inner) => inner.plan(!wanted),
            Self::Test(Test::Is(state)) => state.plan(wanted),
            Self::Test(test) => test.question().map_or(Plan::Anything, |question| Plan::Asks(question, wanted)),
        }
    }
}

fn conjunction(all: Vec<Plan>) -> Plan {
    let mut all: Vec<Plan> = all.into_iter().filter(|plan| !matches!(plan, Plan::Anything)).collect();
    match all.len() {
        0 => Plan::Anything,
        1 => all.remove(0),
        _ => Plan::All(all),
    }
}

fn disjunction(any: Vec<Plan>) -> Plan {
    if any.iter().any(|plan| matches!(plan, Plan::Anything)) { Plan::Anything } else { Plan::Any(any) }
}

impl Test {
    fn question(&self) -> Option<Question> {
        match self {
            Self::Has(What::Field(field)) => Some(Question::Has(*field)),
            Self::Number(field, ranges) => Some(Question::Number(*field, ranges.clone())),
            Self::Text(What::Field(field), tests) => Some(Question::Text(*field, Texts(tests.as_slice().into()))),
            Self::Has(_) | Self::Text(..) | Self::Anywhere(_) | Self::Is(_) | Self::Json(..) => None,
        }
    }
}

impl State {
    fn plan(self, wanted: bool) -> Plan {
        let asks = |question| Plan::Asks(question, wanted);
        let words = |field, words: &[&str]| asks(Question::Number(field, words_at(field, words)));
        let both = |parts: Vec<Plan>| if wanted { conjunction(parts) } else { disjunction(parts) };
        let either = |parts: Vec<Plan>| if wanted { disjunction(parts) } else { conjunction(parts) };
        match self {
            Self::Request => words(Field::Kind, &["request"]),
            Self::Response => words(Field::Kind, &["response"]),
            Self::Notification => words(Field::Kind, &["notification"]),
            Self::Call => words(Field::Kind, &["request", "response"]),
            Self::Error => words(Field::Status, &["error", "tool_error"]),
            Self::Ok => words(Field::Status, &["ok"]),
            Self::Pending => words(Field::Status, &["pending"]),
            Self::Slow => asks(Question::Number(Field::Latency, vec![(SLOW_NS + 1, i128::MAX)])),
            Self::Finding => asks(Question::Has(Field::Finding)),
            Self::Violation => words(Field::Severity, &["error"]),
            Self::ToServer => words(Field::Direction, &["c2s"]),
            Self::ToClient => words(Field::Direction, &["s2c"]),
            Self::ServerRequest => both(vec![Self::Request.plan(wanted), Self::ToClient.plan(wanted)]),
            Self::Problem => either(vec![
                Self::Error.plan(wanted),
                Self::Violation.plan(wanted),
                words(Field::Kind, &["raw", "gap"]),
            ]),
            Self::Edited => words(Field::Done, &["edited"]),
            Self::Held => asks(Question::Has(Field::Held)),
            Self::Injected => words(Field::Done, &["injected"]),
            Self::Dropped => words(Field::Done, STOPPED),
            Self::Fault => words(Field::Fault, &["yes"]),
        }
    }
}

/// The places of words in their field's list, as ranges.
fn words_at(field: Field, wanted: &[&str]) -> Vec<(i128, i128)> {
    let FieldKind::Word(words) = field.info().kind else {
        return Vec::new();
    };
    let places = words.iter().enumerate().filter(|(_, word)| wanted.contains(word));
    places.map(|(place, _)| (place as i128, place as i128)).collect()
}
