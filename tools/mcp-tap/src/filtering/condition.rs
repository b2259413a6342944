//! A filter's plan as a condition on the rows of a store: what the database sorts out by itself.
//!
//! Whatever fits the filter holds the condition; what holds it is asked afterwards.

use std::sync::Arc;

use tap_filter::{Field, Plan, Question};
use tap_frame::{Deed, Stream};
use tap_session::{RowKind, Status};
use tap_store::{Column, Condition, Session};

use crate::subject::{Findings, direction_word, era_word, kind_word, status_word, target_methods, transport_word};

/// So many places of findings are told to the database one by one.
const PLACES: usize = 500;

/// What is sure of every row that fits.
pub(super) fn condition(plan: &Plan, session: &Session, findings: &Findings) -> Condition {
    match plan {
        Plan::Anything => anything(),
        Plan::All(all) => Condition::All(all.iter().map(|part| condition(part, session, findings)).collect()),
        Plan::Any(any) => Condition::Any(any.iter().map(|part| condition(part, session, findings)).collect()),
        Plan::Asks(question, wanted) => match (of_row(question).or_else(|| of_session(question, session)), wanted) {
            (Some(exactly), true) => exactly,
            (Some(exactly), false) => opposite(exactly),
            (None, true) if is_of_findings(question) => near(findings),
            (None, _) => anything(),
        },
    }
}

fn anything() -> Condition {
    Condition::All(Vec::new())
}

fn nothing() -> Condition {
    Condition::Any(Vec::new())
}

fn opposite(condition: Condition) -> Condition {
    match condition {
        Condition::All(all) => Condition::Any(all.into_iter().map(opposite).collect()),
        Condition::Any(any) => Condition::All(any.into_iter().map(opposite).collect()),
        Condition::Not(inner) => *inner,
        question => Condition::Not(Box::new(question)),
    }
}

fn is_of_findings(question: &Question) -> bool {
    let (Question::Has(field) | Question::Number(field, _) | Question::Text(field, _)) = question;
    matches!(field, Field::Finding | Field::Severity)
}

/// The messages where something was found.
fn near(findings: &Findings) -> Condition {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for at in findings.keys() {
        let seq = i64::try_from(at.seq).unwrap_or(i64::MAX);
        match ranges.last_mut() {
            Some((_, last)) if seq <= last.saturating_add(1) => *last = seq,
            _ => ranges.push((seq, seq)),
        }
    }
    if let (Some((first, _)), Some((_, last)), true) = (ranges.first(), ranges.last(), PLACES < ranges.len()) {
        ranges = vec![(*first, *last)];
    }
    Condition::Number(Column::Seq, ranges)
}

/// Exactly what is asked, where rows tell.
fn of_row(question: &Question) -> Option<Condition> {
    match question {
        Question::Number(field, ranges) => number(*field, ranges),
        Question::Text(field, texts) => {
            let texts = texts.clone();
            let text = |column| Condition::Text(column, Arc::new(move |text: &[u8]| texts.fits(text)));
            Some(match field {
                Field::Method => text(Column::Method),
                Field::By => text(Column::DoneBy),
                Field::Name => text(Column::Target),
                Field::Id => text(Column::RawId),
                Field::Tool | Field::Prompt | Field::Uri => of_target(*field, text(Column::Target)),
                _ => return None,
            })
        }
        Question::Has(field) => Some(match field {
            Field::Method => Condition::Has(Column::Method),
            Field::Done | Field::Fault => Condition::Has(Column::Deed),
            Field::By => Condition::Has(Column::DoneBy),
            Field::Held => held(),
            Field::Name => Condition::Has(Column::Target),
            Field::Tool | Field::Prompt | Field::Uri => of_target(*field, Condition::Has(Column::Target)),
            Field::Id => Condition::Has(Column::RawId),
            Field::Code => Condition::Has(Column::ErrorCode),
            Field::Latency => Condition::Has(Column::LatencyNs),
            Field::Exchange => Condition::Has(Column::Exchange),
            Field::Conversation => Condition::Has(Column::Conversation),
            Field::Status => {
                Condition::Any(vec![Condition::Has(Column::Status), kinds(|kind| kind == RowKind::Request)])
            }
            _ => return None,
        }),
    }
}

/// Of calls of the methods that have such a target.
fn of_target(field: Field, target: Condition) -> Condition {
    let methods = target_methods(field);
    let begins = move |text: &[u8]| methods.iter().any(|method| text.starts_with(method.as_bytes()));
    Condition::All(vec![Condition::Text(Column::Method, Arc::new(begins)), target])
}

/// What is held, or was.
fn held() -> Condition {
    let code = i64::from(Deed::Held.code());
    let held = [(Column::HeldNs, (1, i64::MAX)), (Column::Deed, (code, code))];
    Condition::Any(held.map(|(column, range)| Condition::Number(column, vec![range])).into())
}

fn kinds(wanted: impl Fn(RowKind) -> bool) -> Condition {
    let codes = (0..=u8::MAX).filter(|code| RowKind::from_code(*code).is_some_and(&wanted));
    Condition::Number(Column::Kind, codes.map(|code| (code.into(), code.into())).collect())
}

fn number(field: Field, ranges: &[(i128, i128)]) -> Option<Condition> {
    let has = |number: i128| ranges.iter().any(|(low, high)| (*low..=*high).contains(&number));
    let column = |column| Some(Condition::Number(column, stored(ranges)));
    match field {
        Field::Number => column(Column::Seq),
        Field::After | Field::Before => column(Column::WallNs),
        Field::At => column(Column::AtNs),
        Field::Size => column(Column::Length),
        Field::Latency => column(Column::LatencyNs),
        Field::Done => column(Column::Deed),
        Field::Fault => column(Column::Fault),
        Field::Exchange => column(Column::Exchange),
        Field::Conversation => column(Column::Conversation),
        Field::Direction => {
            let codes = Stream::ALL.into_iter().filter(|stream| has(direction_word(*stream))).map(Stream::code);
            Some(Condition::Number(Column::Stream, codes.map(|code| (code.into(), code.into())).collect()))
        }
        Field::Kind => Some(kinds(|kind| has(kind_word(kind)))),
        Field::Status => {
            let codes = (0..=u8::MAX)
                .filter(|code| Status::from_code(*code).is_some_and(|status| has(status_word(Some(status)))));
            let known = Condition::Number(Column::Status, codes.map(|code| (code.into(), code.into())).collect());
            if !has(status_word(None)) {
                return Some(known);
            }
            let waits = [opposite(Condition::Has(Column::Status)), kinds(|kind| kind == RowKind::Request)];
            Some(Condition::Any(vec![known, Condition::All(waits.into())]))
        }
        Field::Call => {
            let request = [kinds(|kind| kind == RowKind::Request), Condition::Number(Column::Seq, stored(ranges))];
            let is_answer = kinds(|kind| matches!(kind, RowKind::Result | RowKind::Error));
            let answer = [is_answer, Condition::Number(Column::PairSeq, stored(ranges))];
            Some(Condition::Any(vec![Condition::All(request.into()), Condition::All(answer.into())]))
        }
        Field::Code => {
            let ranges = ranges.to_vec();
            let fits = move |text: &[u8]| {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i128>().ok());
                number.is_some_and(|number| ranges.iter().any(|(low, high)| (*low..=*high).contains(&number)))
            };
            Some(Condition::Text(Column::ErrorCode, Arc::new(fits)))
        }
        _ => None,
    }
}

/// The part of ranges that a database can hold.
fn stored(ranges: &[(i128, i128)]) -> Vec<(i64, i64)> {
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let held = ranges.iter().filter(|(low, high)| *low <= most && least <= *high);
    let bound = |number: i128| i64::try_from(number.clamp(least, most)).unwrap_or(i64::MAX);
    held.map(|(low, high)| (bound(*low), bound(*high))).collect()
}

/// What is the same for all messages of a session.
fn of_session(question: &Question, session: &Session) -> Option<Condition> {
    let identity = &session.digest.identity;
    let holds = match question {
        Question::Text(field, texts) => {
            let fits = |text: Option<&str>| text.is_some_and(|text| texts.fits(text.as_bytes()));
            match field {
                Field::Session => fits(Some(&session.start.name)) || fits(Some(&session.start.uuid)),
                Field::Server => fits(identity.server.as_deref()),
                Field::Client => fits(identity.client.as_deref()),
                Field::Revision => fits(identity.revision.as_deref()),
                _ => return None,
            }
        }
        Question::Number(field, ranges) => {
            let has = |number: i128| ranges.iter().any(|(low, high)| (*low..=*high).contains(&number));
            match field {
                Field::Era => era_word(session).is_some_and(has),
                Field::Transport => has(transport_word(session)),
                _ => return None,
            }
        }
        Question::Has(_) => return None,
    };
    Some(if holds { anything() } else { nothing() })
}
