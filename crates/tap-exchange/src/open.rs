//! An exchange that has not ended: what of it is held until it makes a frame.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tap_frame::{HttpHead, HttpPart};
use tap_session::{At, Headers, Place};

use crate::coding::{BODY_LIMIT_BYTES, Codings, Decoder};
use crate::events::EventCutter;
use crate::exchange::{Exchange, Head};

/// How much of an answer is held that came before its request was complete, bytes. Then the request counts as complete.
pub(crate) const EARLY_BYTES: usize = 1024 * 1024;

/// One exchange.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) facts: Arc<Exchange>,
    pub(crate) request: Body,
    /// Whether its request was given out.
    pub(crate) is_requested: bool,
    /// Whether the follower knows it.
    pub(crate) is_followed: bool,
    /// Its request carries no message, so that its row tells how the exchange went.
    pub(crate) has_exchange_row: bool,
    /// The requests of the client in it that were not answered.
    pub(crate) asked: Vec<At>,
    /// What came of the answer before the request was complete.
    pub(crate) early: Vec<Early>,
    pub(crate) n_early_bytes: usize,
    pub(crate) answer: Answer,
    /// The number of the newest frame of the answer.
    pub(crate) answer_seq: Option<u64>,
    /// Where in the answer its newest messages begin, and their numbers.
    pub(crate) given: VecDeque<(u64, u64)>,
    /// What was done to messages that were not given out yet: the text, and where it lies.
    pub(crate) acts: Vec<(Bytes, Place)>,
    /// Its events have ids, so that what is missing may still come in another exchange.
    pub(crate) may_be_resumed: bool,
}

/// A piece of an answer that came before its request was complete.
#[derive(Debug, Clone)]
pub(crate) struct Early {
    pub(crate) part: HttpPart,
    pub(crate) at_ns: u64,
    pub(crate) place: Place,
    /// The bytes, or how many were lost.
    pub(crate) bytes: Result<Vec<u8>, u64>,
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Answer {
    /// There is no head yet.
    None,
    /// One body.
    Whole(Body, Codings),
    /// Events.
    Stream(Box<EventStream>),
    /// It is not known what it is: its head was lost.
    Unknown,
}

/// A body that is gathered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    /// Where its first byte lies.
    pub(crate) place: Option<Place>,
    /// Its bytes as they were on the wire, no more than [`BODY_LIMIT_BYTES`].
    pub(crate) bytes: Vec<u8>,
    /// How many bytes were more than that.
    cut: u64,
    /// How many were lost.
    pub(crate) lost: u64,
}

/// A body that is complete.
#[derive(Debug)]
pub(crate) struct WholeBody {
    pub(crate) place: Option<Place>,
    pub(crate) bytes: Bytes,
    pub(crate) raw_length: u64,
    pub(crate) compressed: bool,
    pub(crate) undecodable: bool,
    pub(crate) cut: u64,
    pub(crate) lost: u64,
}

impl WholeBody {
    /// Whether it can be taken for what was said.
    pub(crate) fn is_sound(&self) -> bool {
        !self.undecodable && self.cut == 0 && self.lost == 0
    }
}

impl Body {
    pub(crate) fn take(&mut self, place: Place, bytes: &[u8]) {
        self.place.get_or_insert(place);
        let room = BODY_LIMIT_BYTES.saturating_sub(self.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        self.cut += (bytes.len() - kept.len()) as u64;
    }

    pub(crate) fn complete(&mut self, codings: &Codings) -> WholeBody {
        let Self { place, bytes, cut, lost } = std::mem::take(self);
        let raw_length = bytes.len() as u64;
        let raw =
            WholeBody { place, bytes: Bytes::new(), raw_length, compressed: false, undecodable: false, cut, lost };
        if lost > 0 || codings.is_none() || bytes.is_empty() {
            return WholeBody { bytes: bytes.into(), ..raw };
        }
        match codings.decode(&bytes) {
            Some((decoded, more)) => WholeBody { bytes: decoded.into(), compressed: true, cut: cut + more, ..raw },
            None => WholeBody { bytes: bytes.into(), undecodable: true, ..raw },
        }
    }
}

/// An answer that is an event stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) cutter: EventCutter,
    /// `None` where it is not compressed.
    pub(crate) decoder: Option<Decoder>,
    /// Where its first byte lies.
    pub(crate) start: Option<Place>,
    /// Where the open event begins.
    pub(crate) open: Option<Place>,
    /// How many bytes came, as they were on the wire.
    pub(crate) n_raw: u64,
    /// The next event may be the rest of one whose beginning was lost.
    pub(crate) torn: bool,
    /// Nothing can be made of what follows.
    pub(crate) is_lost: bool,
}

impl EventStream {
    fn fork(&self) -> Option<Self> {
        self.decoder.is_none().then(|| Self { cutter: self.cutter.clone(), decoder: None, ..*self })
    }

    /// Some of it is missing here. What is compressed cannot be read behind that.
    pub(crate) fn tear(&mut self) {
        self.cutter.tear();
        self.open = None;
        self.torn = true;
        self.is_lost |= self.decoder.is_some();
    }
}

impl Open {
    /// Another one that goes on from here; `None` while a compressed stream is decoded, which cannot be done twice.
    pub(crate) fn fork(&self) -> Option<Self> {
        let answer = match &self.answer {
            Answer::None => Answer::None,
            Answer::Whole(body, codings) => Answer::Whole(body.clone(), codings.clone()),
            Answer::Stream(stream) => Answer::Stream(Box::new(stream.fork()?)),
            Answer::Unknown => Answer::Unknown,
        };
        Some(Self {
            facts: self.facts.clone(),
            request: self.request.clone(),
            asked: self.asked.clone(),
            early: self.early.clone(),
            given: self.given.clone(),
            acts: self.acts.clone(),
            answer,
            ..*self
        })
    }

    /// How many bytes a fork copies, more or less.
    pub(crate) fn held_bytes(&self) -> usize {
        let answer = match &self.answer {
            Answer::None | Answer::Unknown => 0,
            Answer::Whole(body, _) => body.bytes.len(),
            Answer::Stream(stream) => size_of::<EventStream>() + stream.cutter.held_bytes(),
        };
        let asked = self.asked.len() * size_of::<At>();
        let acts: usize = self.acts.iter().map(|(text, _)| text.len()).sum();
        size_of::<Self>() + acts + self.request.bytes.len() + asked + self.n_early_bytes + answer
    }

    /// An exchange whose request begins with this head; `None` where that is none.
    pub(crate) fn begin(number: u64, at_ns: u64, segment: u64, text: &[u8]) -> Option<Self> {
        let head = HttpHead::read(text)?;
        let (connection, rest) = head.first_line.split_once(' ')?;
        let (verb, rest) = rest.split_once(' ')?;
        let (target, version) = rest.rsplit_once(' ')?;
        let facts = Exchange {
            number,
            connection: connection.parse().ok()?,
            verb: verb.into(),
            target: target.into(),
            request: Head { version: version.into(), text: Bytes::copy_from_slice(head.fields_text()) },
            opened_at_ns: at_ns,
            first_segment: segment,
            last_segment: segment,
            ..Exchange::default()
        };
        Some(Self {
            facts: Arc::new(facts),
            request: Body::default(),
            is_requested: false,
            is_followed: false,
            has_exchange_row: false,
            asked: Vec::new(),
            early: Vec::new(),
            n_early_bytes: 0,
            answer: Answer::None,
            answer_seq: None,
            given: VecDeque::new(),
            acts: Vec::new(),
            may_be_resumed: false,
        })
    }

    pub(crate) fn facts_mut(&mut self) -> &mut Exchange {
        Arc::make_mut(&mut self.facts)
    }

    /// Takes the head of the answer; false where it is none, or not the last word.
    pub(crate) fn answered(&mut self, at_ns: u64, text: &[u8]) -> bool {
        let Some(head) = HttpHead::read(text) else {
            return false;
        };
        let Some((version, status)) = head.first_line.split_once(' ') else {
            return false;
        };
        let Ok(status) = status.trim().parse::<u16>() else {
            return false;
        };
        if status < 200 {
            return false;
        }
        let head = Head { version: version.into(), text: Bytes::copy_from_slice(head.fields_text()) };
        let codings = Codings::of(&head);
        let fields: Vec<_> = head.fields().collect();
        let is_stream = Headers(&fields).is_of_type("text/event-stream");
        self.answer = match codings.decoder().filter(|_| is_stream) {
            Some(decoder) => Answer::Stream(Box::new(EventStream {
                cutter: EventCutter::new(),
                decoder: (!codings.is_none()).then_some(decoder),
                start: None,
                open: None,
                n_raw: 0,
                torn: false,
                is_lost: false,
            })),
            None => Answer::Whole(Body::default(), codings),
        };
        let facts = self.facts_mut();
        (facts.status, facts.response, facts.response_at_ns) = (Some(status), Some(head), Some(at_ns));
        true
    }
}
