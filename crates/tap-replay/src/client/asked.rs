//! What the live server asks of the client: it gets the replies that were recorded.

use bytes::Bytes;
use tap_compare::{MatchKey, Rules, distance};
use tap_frame::Direction;
use tap_jsonrpc::{Node, RawId};
use tap_protocol::METHOD_NOT_FOUND;

use super::edit::Edits;
use super::{Client, ClientNote, ClientOutput, Fate};
use crate::message::{Nature, Role};
use crate::script::Script;

/// Recorded requests that are looked at to find the nearest one.
const COMPARED_LIMIT: usize = 100;

/// Requests of the live server that are kept to be told of.
const KEPT_LIMIT: usize = 10_000;

/// How a request of the live server's found its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// The same was recorded, and not asked before.
    Same,
    /// The same was recorded, and was asked before.
    Again,
    /// It is the nearest of those that were recorded.
    Nearest,
}

/// A request of the recorded server's.
#[derive(Debug)]
pub(crate) struct Question {
    /// A message.
    pub(crate) message: usize,
    key: Option<MatchKey>,
    /// The live request that got its reply first.
    pub(crate) live: Option<Bytes>,
}

/// What servers ask: the recorded one, and the live one.
#[derive(Debug, Default)]
pub(crate) struct AskedFor {
    pub(crate) questions: Vec<Question>,
    /// What the live server asked beyond that: method, and the request.
    pub(crate) more: Vec<(String, Bytes)>,
}

impl AskedFor {
    pub(super) fn new(script: &Script, rules: &Rules) -> Self {
        let asked = script.messages().iter().enumerate();
        let asked = asked.filter(|(_, this)| this.direction == Direction::ToClient && this.nature == Nature::Request);
        let questions = asked.map(|(message, this)| Question {
            message,
            key: this.body.as_deref().and_then(|body| MatchKey::of(body, rules)),
            live: None,
        });
        Self { questions: questions.collect(), more: Vec::new() }
    }

    /// Whether the live server has asked what the recorded one did.
    pub(super) fn was_asked(&self, message: usize) -> bool {
        self.questions.iter().any(|question| question.message == message && question.live.is_some())
    }

    /// The recorded request that a live one is, and how it was found.
    fn find(&self, script: &Script, fates: &[Fate], rules: &Rules, method: &str, live: &[u8]) -> Option<(usize, Way)> {
        let key = MatchKey::of(live, rules);
        let of_method = |question: &Question| {
            script.messages().get(question.message).is_some_and(|message| message.method() == method)
        };
        let all = || self.questions.iter().enumerate().filter(|(_, question)| of_method(question));
        let unused = || all().filter(|(_, question)| question.live.is_none());
        let is_same = |(_, question): &(usize, &Question)| key.is_some() && question.key == key;
        // A call that is going on is rather meant than one that is over or still to come.
        let is_going_on = |(_, question): &(usize, &Question)| match script
            .messages()
            .get(question.message)
            .map(|message| message.role)
        {
            Some(Role::Inside(interaction)) => matches!(fates.get(interaction), Some(Fate::Open { .. })),
            _ => false,
        };
        let same = unused().filter(is_same).find(is_going_on).or_else(|| unused().find(is_same));
        if let Some((index, _)) = same {
            return Some((index, Way::Same));
        }
        if let Some((index, _)) = all().filter(is_same).last() {
            return Some((index, Way::Again));
        }
        let dials = rules.dials(key.as_ref().and_then(MatchKey::name));
        let far = |question: &Question| {
            let body = script.messages().get(question.message).and_then(|message| message.body.as_deref());
            body.map_or(usize::MAX, |body| distance(body, live, &dials))
        };
        let nearest = unused().take(COMPARED_LIMIT).min_by_key(|(_, question)| far(question));
        let nearest = nearest.or_else(|| all().take(COMPARED_LIMIT).min_by_key(|(_, question)| far(question)));
        nearest.map(|(index, _)| (index, Way::Nearest))
    }
}

impl Client {
    /// The live server asks for something.
    pub(super) fn question(&mut self, id: &RawId, method: &str, bytes: &[u8]) {
        let found = self.asked.find(&self.script, &self.fates, &self.options.rules, method, bytes);
        let is_first = found.is_some_and(|(index, _)| self.asked.questions[index].live.is_none());
        if is_first {
            if let Some((index, _)) = found {
                self.asked.questions[index].live = Some(Bytes::copy_from_slice(bytes));
            }
        } else if self.asked.more.len() < KEPT_LIMIT {
            self.asked.more.push((method.to_owned(), Bytes::copy_from_slice(bytes)));
        }
        if let Some((_, Way::Nearest)) = found {
            let note = ClientNote::NearestReply { method: method.to_owned() };
            self.outputs.push_back(ClientOutput::Note(note));
        }
        let reply = match found {
            Some((index, _)) => {
                let asked = self.script.messages().get(self.asked.questions[index].message);
                let reply = asked.and_then(|asked| self.script.messages().get(asked.reply?)?.body.clone());
                // What the recorded client left unanswered stays so.
                reply.map(|reply| {
                    let node = Node::new(&reply);
                    let mut edits = Edits::new(&reply);
                    if let Some(place) = node.get("id") {
                        edits.replace(place.bytes(), id.as_bytes().to_vec());
                    }
                    self.stand_in(node, &mut edits);
                    edits.finish()
                })
            }
            None if method == "ping" => {
                Some([br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), br#","result":{}}"#].concat())
            }
            None => {
                let note = ClientNote::NothingRecorded { method: method.to_owned() };
                self.outputs.push_back(ClientOutput::Note(note));
                let error = format!(
                    r#","error":{{"code":{METHOD_NOT_FOUND},"message":"mcp-tap verify: no reply to this was recorded"}}}}"#
                );
                Some([br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), error.as_bytes()].concat())
            }
        };
        self.outputs.extend(reply.map(ClientOutput::Send));
    }
}
