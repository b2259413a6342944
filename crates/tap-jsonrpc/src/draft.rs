//! A message in the making: what its members say so far, and in the end which kind of message they make.

use crate::envelope::{Envelope, Kind, Member, Misfit, NotAMessage, RawId};
use crate::notes::Notes;
use crate::text::{decode_string, says};
use crate::value::{Captures, Shape, TOKEN_LIMIT_BYTES, Value, clip};
use crate::watch::{Node, Role, WATCHES};

/// The members of one object that were seen so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// The bits of the roles and watches that are there.
    present: u64,
    is_version_2: bool,
    id: Option<(Shape, Option<RawId>)>,
    /// `None` inside when it is not a string.
    method: Option<Option<String>>,
    result: Option<Shape>,
    error: Option<Shape>,
    captures: Captures,
    notes: Notes,
    kept_bytes: usize,
}

impl Draft {
    /// How many bytes of tokens are kept in here.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Notes the value of the member at `node`. `token` may be longer than what is kept.
    ///
    /// What an earlier member of the same name said is forgotten, together with everything below it.
    pub(crate) fn take(&mut self, node: &Node, shape: Shape, token: &[u8]) {
        if self.present & node.below != 0 {
            self.notes.insert(Notes::DUPLICATE_MEMBER);
            self.captures.forget(node.below & WATCHES);
        }
        self.present |= node.own;

        let mut watches = node.own & WATCHES;
        while watches != 0 {
            self.captures.push(watches.trailing_zeros() as u8, Value::new(shape, token));
            self.kept_bytes += clip(token).len();
            watches &= watches - 1;
        }
        match node.role {
            Some(Role::Version) => self.is_version_2 = shape == Shape::String && says(clip(token), b"2.0"),
            Some(Role::Id) => {
                let is_container = matches!(shape, Shape::Object | Shape::Array);
                self.id = Some((shape, (!is_container).then(|| RawId::from_token(token))));
                self.keep(token);
            }
            Some(Role::Method) => {
                let text = || decode_string(clip(token)).into_owned();
                self.method = Some((shape == Shape::String).then(text));
                self.keep(token);
            }
            Some(Role::Result) => self.result = Some(shape),
            Some(Role::Error) => self.error = Some(shape),
            Some(Role::Params) | None => {}
        }
    }

    /// Decides what the members make.
    pub(crate) fn finish(mut self) -> Member {
        let kind = self.kind();
        self.note();
        let id = self.id.and_then(|(_, id)| id);
        let method = self.method.flatten();
        match kind {
            Ok(kind) => Member::Message(Envelope {
                kind,
                id,
                method,
                has_params: self.present & Role::Params.bit() != 0,
                captures: self.captures,
                notes: self.notes,
            }),
            Err(why) => {
                Member::NotAMessage(NotAMessage { why, id, method, captures: self.captures, notes: self.notes })
            }
        }
    }

    fn kind(&mut self) -> Result<Kind, Misfit> {
        // Peers that write out every member of a struct send `"error":null` beside a result, and the like.
        let mut outcome = |member: Option<Shape>, is_decided: bool| {
            let is_idle = is_decided && member == Some(Shape::Null);
            if is_idle {
                self.notes.insert(Notes::NULL_OUTCOME);
            }
            member.filter(|_| !is_idle)
        };
        let error = outcome(self.error, self.method.is_some() || self.result.is_some());
        let result = outcome(self.result, self.method.is_some() || error.is_some());
        match (&self.method, result, error) {
            (Some(None), _, _) => Err(Misfit::MethodNotAString),
            (Some(Some(_)), None, None) if self.id.is_some() => Ok(Kind::Request),
            (Some(Some(_)), None, None) => Ok(Kind::Notification),
            (Some(Some(_)), _, _) => Err(Misfit::MethodAndOutcome),
            (None, Some(_), Some(_)) => Err(Misfit::ResultAndError),
            (None, None, None) => Err(Misfit::NoMember),
            (None, Some(_), None) if self.id.is_some() => Ok(Kind::Result),
            (None, Some(_), None) => Err(Misfit::ResultWithoutId),
            (None, None, Some(Shape::Object)) => Ok(Kind::Error),
            (None, None, Some(_)) if self.id.is_some() => Ok(Kind::Error),
            (None, None, Some(_)) => Err(Misfit::ErrorNotAnObject),
        }
    }

    fn note(&mut self) {
        if self.present & Role::Version.bit() == 0 {
            self.notes.insert(Notes::MISSING_VERSION);
        } else if !self.is_version_2 {
            self.notes.insert(Notes::OTHER_VERSION);
        }
        match self.id {
            Some((Shape::Null, _)) => self.notes.insert(Notes::NULL_ID),
            Some((Shape::True | Shape::False | Shape::Object | Shape::Array, _)) => {
                self.notes.insert(Notes::WRONG_ID_TYPE);
            }
            Some((Shape::Number | Shape::String, _)) | None => {}
        }
        if self.error.is_some_and(|shape| shape != Shape::Object)
            && !(self.error == Some(Shape::Null) && self.notes.contains(Notes::NULL_OUTCOME))
        {
            self.notes.insert(Notes::ERROR_NOT_OBJECT);
        }
    }

    fn keep(&mut self, token: &[u8]) {
        self.kept_bytes += clip(token).len();
        if TOKEN_LIMIT_BYTES < token.len() {
            self.notes.insert(Notes::TRUNCATED_MEMBER);
        }
    }
}
