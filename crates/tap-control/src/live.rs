//! A message that passes, as a filter asks about it.

use std::borrow::Cow;

use tap_filter::{Field, Found, Root, Subject};
use tap_frame::Direction;
use tap_jsonrpc::{Node, Value};
use tap_protocol::{Era, Revision};

use crate::calls::{Calls, Message, What, watch};
use crate::debugger::Session;

/// A message with what is known around it.
pub(crate) struct Live<'a> {
    pub(crate) message: &'a Message,
    pub(crate) session: &'a Session,
    pub(crate) revision: Option<&'a str>,
}

fn number<'a>(number: impl Into<i128>) -> Option<Found<'a>> {
    Some(Found::Number(number.into()))
}

impl Live<'_> {
    /// The target, where the method is one of these.
    fn target_of(&self, methods: &str) -> Option<Found<'_>> {
        self.message.method()?.starts_with(methods).then_some(())?;
        Some(Found::Text(self.message.target()?.into()))
    }

    fn error_text(&self) -> Option<String> {
        let answer = Node::new(&self.message.bytes);
        match self.message.kind {
            What::Error => answer.at(&["error", "message"])?.text().map(Cow::into_owned),
            What::Result if self.message.is_error() => {
                let items = answer.at(&["result", "content"])?.elements();
                let texts: Vec<_> = items.filter_map(|item| item.get("text")?.text()).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
            _ => None,
        }
    }
}

/// Numbers of words are their places in the filter language.
impl Subject for Live<'_> {
    fn field(&self, field: Field) -> Option<Found<'_>> {
        let message = self.message;
        match field {
            Field::At => number(message.at_ns),
            Field::After | Field::Before => number(self.session.opened_unix_ns.saturating_add(message.at_ns)),
            Field::Age => number(0),
            Field::Direction => number(i128::from(message.direction == Direction::ToClient)),
            Field::Kind => number(match message.kind {
                What::Request => 0,
                What::Result | What::Error => 1,
                What::Notification => 2,
                What::Batch => 3,
                What::Raw => 4,
            }),
            Field::Size => number(i128::try_from(message.bytes.len()).ok()?),
            Field::Method => Some(Found::Text(message.method()?.into())),
            Field::Tool => self.target_of("tools/call"),
            Field::Prompt => self.target_of("prompts/get"),
            Field::Uri => self.target_of("resources/"),
            Field::Name => Some(Found::Text(message.target()?.into())),
            Field::Id => Some(Found::Bytes(message.id.as_ref()?.as_bytes().into())),
            Field::Status => number(match message.kind {
                What::Request => 3,
                What::Result if message.is_error() => 1,
                What::Result => 0,
                What::Error => 2,
                What::Notification | What::Batch | What::Raw => return None,
            }),
            Field::Code => {
                let code = message.captures.get(watch::ERROR_CODE).and_then(Value::token)?;
                Some(Found::Text(String::from_utf8_lossy(code.bytes()).into_owned().into()))
            }
            Field::Error => Some(Found::Text(self.error_text()?.into())),
            Field::Latency => number(message.at_ns.saturating_sub(message.asked.as_ref()?.at_ns)),
            Field::Finding => {
                let rules = message.findings.iter().map(|(rule, _)| Found::Text((*rule).into())).collect::<Vec<_>>();
                (!rules.is_empty()).then_some(Found::Any(rules))
            }
            Field::Severity => number(message.findings.iter().map(|(_, severity)| *severity).max()?),
            Field::Session => {
                let names = [&self.session.name, &self.session.uuid];
                Some(Found::Any(names.map(|name| Found::Text(name.as_str().into())).into()))
            }
            Field::Revision => Some(Found::Text(self.revision?.into())),
            Field::Era => {
                let revision = Revision::nearest(self.revision?)?;
                number(i128::from(revision.era() == Era::Modern))
            }
            Field::Transport => number(i128::from(message.channel.is_http())),
            Field::Exchange => message.channel.is_http().then_some(Found::Number(message.channel.exchange.into())),
            Field::Body => Some(Found::Bytes(message.bytes.as_ref().into())),
            Field::Number
            | Field::Call
            | Field::Server
            | Field::Client
            | Field::HttpStatus
            | Field::HttpMethod
            | Field::Conversation
            // What was done to it is known only when this has judged it.
            | Field::Done
            | Field::Held
            | Field::By
            | Field::Fault => None,
        }
    }

    fn json(&self, root: Root) -> Option<Node<'_>> {
        let this = || Node::new(&self.message.bytes);
        let answer = || self.message.kind.is_answer().then(this);
        match root {
            Root::This => Some(this()),
            Root::Request => Calls::request_of(self.message),
            Root::Response => answer(),
            Root::Arguments => Calls::request_of(self.message)?.at(&["params", "arguments"]),
            Root::Result => answer()?.get("result"),
        }
    }

    fn header(&self, _: &str) -> Vec<Cow<'_, [u8]>> {
        Vec::new()
    }
}
