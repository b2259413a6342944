//! Whether a message fits a filter.

use std::cmp::Ordering;

use tap_jsonrpc::{Node, NodeKind};

use crate::expression::{Expression, JsonTest, Literal, Test, What};
use crate::field::{Field, State};
use crate::path;
use crate::subject::{Found, Subject};

/// What counts as slow, nanoseconds.
pub(crate) const SLOW_NS: i128 = 1_000_000_000;

/// What a debugger does to a message that does not go on then.
pub(crate) const STOPPED: &[&str] = &["dropped", "answered", "closed", "crashed"];

impl Expression {
    pub(crate) fn fits(&self, subject: &dyn Subject) -> bool {
        match self {
            Self::And(all) => all.iter().all(|one| one.fits(subject)),
            Self::Or(any) => any.iter().any(|one| one.fits(subject)),
            Self::Not(inner) => !inner.fits(subject),
            Self::Test(test) => test.fits(subject),
        }
    }
}

impl Test {
    fn fits(&self, subject: &dyn Subject) -> bool {
        match self {
            Self::Anywhere(regex) => {
                let fields = [Field::Method, Field::Name, Field::Body];
                fields.iter().any(|field| {
                    subject.field(*field).is_some_and(|found| any_text(&found, &mut |text| regex.is_match(text)))
                })
            }
            Self::Is(state) => state.holds(subject),
            Self::Has(What::Field(field)) => subject.field(*field).is_some_and(|found| any(&found, &mut |_| true)),
            Self::Has(What::Path(root, steps)) => {
                subject.json(*root).is_some_and(|node| path::any(node, steps, &mut |_| true))
            }
            Self::Has(What::Header(name)) => !subject.header(name).is_empty(),
            Self::Number(field, ranges) => subject.field(*field).is_some_and(|found| {
                any(&found, &mut |found| {
                    number_of(found)
                        .is_some_and(|number| ranges.iter().any(|(low, high)| (*low..=*high).contains(&number)))
                })
            }),
            Self::Text(What::Field(field), tests) => subject
                .field(*field)
                .is_some_and(|found| any_text(&found, &mut |text| tests.iter().any(|test| test.fits(text)))),
            Self::Text(What::Path(root, steps), tests) => subject.json(*root).is_some_and(|node| {
                path::any(node, steps, &mut |value| {
                    let text = path::text_of(value);
                    tests.iter().any(|test| test.fits(&text))
                })
            }),
            Self::Text(What::Header(name), tests) => {
                subject.header(name).iter().any(|value| tests.iter().any(|test| test.fits(value)))
            }
            Self::Json(root, steps, tests) => subject
                .json(*root)
                .is_some_and(|node| path::any(node, steps, &mut |value| tests.iter().any(|test| test.fits(value)))),
        }
    }
}

fn any(found: &Found<'_>, take: &mut dyn FnMut(&Found<'_>) -> bool) -> bool {
    match found {
        Found::Any(all) => all.iter().any(|one| any(one, take)),
        one => take(one),
    }
}

fn any_text(found: &Found<'_>, take: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    any(found, &mut |found| match found {
        Found::Text(text) => take(text.as_bytes()),
        Found::Bytes(bytes) => take(bytes),
        Found::Number(number) => take(number.to_string().as_bytes()),
        Found::Any(_) => false,
    })
}

fn number_of(found: &Found<'_>) -> Option<i128> {
    match found {
        Found::Number(number) => Some(*number),
        Found::Text(text) => text.trim().parse().ok(),
        Found::Bytes(_) | Found::Any(_) => None,
    }
}

impl State {
    fn holds(self, subject: &dyn Subject) -> bool {
        let word = |field: Field, word: &str| word_is(subject, field, word);
        let kind = |wanted: &str| word(Field::Kind, wanted);
        let has = |field: Field| subject.field(field).is_some_and(|found| any(&found, &mut |_| true));
        match self {
            Self::Request => kind("request"),
            Self::Response => kind("response"),
            Self::Notification => kind("notification"),
            Self::Call => kind("request") || kind("response"),
            Self::Error => word(Field::Status, "error") || word(Field::Status, "tool_error"),
            Self::Ok => word(Field::Status, "ok"),
            Self::Pending => word(Field::Status, "pending"),
            Self::Slow => subject
                .field(Field::Latency)
                .is_some_and(|found| number_of(&found).is_some_and(|latency_ns| SLOW_NS < latency_ns)),
            Self::Finding => has(Field::Finding),
            Self::Violation => word(Field::Severity, "error"),
            Self::ToServer => word(Field::Direction, "c2s"),
            Self::ToClient => word(Field::Direction, "s2c"),
            Self::ServerRequest => kind("request") && word(Field::Direction, "s2c"),
            Self::Problem => Self::Error.holds(subject) || Self::Violation.holds(subject) || kind("raw") || kind("gap"),
            Self::Edited => word(Field::Done, "edited"),
            Self::Held => has(Field::Held),
            Self::Injected => word(Field::Done, "injected"),
            Self::Dropped => STOPPED.iter().any(|deed| word(Field::Done, deed)),
            Self::Fault => word(Field::Fault, "yes"),
        }
    }
}

fn word_is(subject: &dyn Subject, field: Field, wanted: &str) -> bool {
    let crate::field::FieldKind::Word(words) = field.info().kind else {
        return false;
    };
    let Some(place) = words.iter().position(|word| *word == wanted) else {
        return false;
    };
    subject.field(field).is_some_and(|found| {
        any(&found, &mut |found| number_of(found).is_some_and(|number| usize::try_from(number) == Ok(place)))
    })
}

impl JsonTest {
    fn fits(&self, node: Node<'_>) -> bool {
        match self {
            Self::Is(literal) => is_literal(node, literal),
            Self::Compare(side, Literal::Number(wanted)) if node.is_number() => {
                compare(node.bytes(), wanted.as_bytes()).is_some_and(|ordering| side.holds(ordering))
            }
            Self::Compare(..) => false,
        }
    }
}

fn is_literal(node: Node<'_>, literal: &Literal) -> bool {
    match (node.kind(), literal) {
        (NodeKind::String, Literal::Text(wanted)) => node.is_text(wanted),
        (NodeKind::Number, Literal::Number(wanted)) => {
            compare(node.bytes(), wanted.as_bytes()) == Some(Ordering::Equal)
        }
        (NodeKind::True, Literal::True) | (NodeKind::False, Literal::False) | (NodeKind::Null, Literal::Null) => true,
        _ => false,
    }
}

/// Compares two numbers as they are written: whole ones by all their digits, others as closely as a float can.
fn compare(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let (a, b) = (std::str::from_utf8(a).ok()?, std::str::from_utf8(b).ok()?);
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return Some(a.cmp(&b));
    }
    a.parse::<f64>().ok()?.partial_cmp(&b.parse().ok()?)
}
