//! Frames and what they meant: numbers, rows and sessions, for whatever an exchange gives.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use tap_frame::{Act, Frame, HttpPart, Origin, Stream};
use tap_jsonrpc::Notes;
use tap_session::{
    At, Done, Event, FrameEnd, Headers, HttpEvent, HttpFollower, HttpMeaning, HttpMoment, HttpRequest,
    HttpSessionNumber, Lens, MessageRow, Moment, Place, RowKind, Status,
};

use crate::conversation::Conversations;
use crate::exchange::{Read, ReadFrame, Source};
use crate::open::{Open, WholeBody};

/// Gets what was read, and what was followed up to there.
pub(crate) type Sink<'a> = dyn FnMut(Read, &HttpFollower) + 'a;

/// Requests of one body of which it is remembered whether they were answered.
const ASKED: usize = 1_000;

/// All that is not of one exchange.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub(crate) follower: HttpFollower,
    lens: Lens,
    meanings: Vec<HttpMeaning>,
    pub(crate) n_frames: u64,
    /// The clocks of the newest piece.
    pub(crate) now: Moment,
    /// Requests of the client in exchanges that are open which were not answered.
    asked: BTreeSet<At>,
    pub(crate) conversations: Conversations,
    /// Sessions of which it is still to be said that they were refused.
    refused: VecDeque<HttpSessionNumber>,
}

/// What a frame of an exchange is made of.
pub(crate) struct Made {
    pub(crate) stream: Stream,
    pub(crate) origin: Origin,
    pub(crate) bytes: Bytes,
    pub(crate) place: Place,
    pub(crate) end: FrameEnd,
    pub(crate) source: Option<Source>,
}

impl Made {
    /// Bytes that were not kept.
    pub(crate) fn gap(stream: Stream, place: Place, lost: u64) -> Self {
        Self { stream, origin: Origin::Gap(lost), bytes: Bytes::new(), place, end: FrameEnd::Gap, source: None }
    }

    /// A body, or what is left of it.
    pub(crate) fn body(stream: Stream, body: &WholeBody, place: Place, end: FrameEnd) -> Self {
        if body.lost > 0 {
            return Self::gap(stream, place, body.lost);
        }
        let part = match stream {
            Stream::ToServer => HttpPart::RequestBody,
            Stream::ToClient | Stream::Stderr => HttpPart::ResponseBody,
        };
        let source = Source { part, raw_length: body.raw_length, event: None, compressed: body.compressed };
        Self {
            stream,
            origin: Origin::Wire,
            bytes: body.bytes.clone(),
            place,
            end: if body.cut > 0 { FrameEnd::TooLong } else { end },
            source: Some(source),
        }
    }
}

impl Core {
    /// Another one that goes on from here.
    pub(crate) fn fork(&self) -> Self {
        Self {
            follower: self.follower.clone(),
            lens: Lens::default(),
            meanings: Vec::new(),
            n_frames: self.n_frames,
            now: self.now,
            asked: self.asked.clone(),
            conversations: self.conversations.clone(),
            refused: self.refused.clone(),
        }
    }

    /// How many bytes that copies, more or less.
    pub(crate) fn held_bytes(&self) -> usize {
        self.asked.len() * size_of::<At>() + self.conversations.held_bytes()
    }

    /// Gives what was made a number.
    pub(crate) fn frame(&mut self, made: Made, exchange: Option<u64>) -> ReadFrame {
        self.n_frames += 1;
        let Moment { at_ns, wall_ns } = self.now;
        let Made { stream, origin, bytes, place, end, source } = made;
        let frame = Frame { seq: self.n_frames, wall_ns, at_ns, stream, origin, bytes };
        ReadFrame { frame, place, end, exchange, conversation: None, source }
    }

    /// Tells the follower, and puts what it says into `read`.
    pub(crate) fn follow(&mut self, seq: u64, exchange: u64, event: HttpEvent<'_>, read: &mut Read) {
        let Moment { at_ns, wall_ns } = self.now;
        let moment = HttpMoment { seq, wall_ns, at_ns };
        self.follower.follow(moment, exchange, event, &mut self.lens, &mut self.meanings);
        for mut this in self.meanings.drain(..) {
            for event in &this.meaning.events {
                if let Event::Answered { request, .. } = event {
                    self.asked.remove(request);
                }
            }
            read.events.append(&mut this.meaning.events);
            if !this.meaning.findings.is_empty() || !this.meaning.links.is_empty() {
                read.meanings.push(this);
            }
        }
        for (number, session) in self.follower.take_forgotten() {
            if let Some(last) = self.conversations.forget(number, &session) {
                read.forgotten.push(last);
            } else {
                self.refused.push_back(number);
            }
        }
        if read.refused.is_none() {
            read.refused = self.refused.pop_front();
        }
    }

    /// Tells the follower that nothing will follow.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        let mut meanings = Vec::new();
        self.follower.finish(&mut meanings);
        let mut read = Read { meanings, ..Read::default() };
        for this in &mut read.meanings {
            read.events.append(&mut this.meaning.events);
        }
        if !read.is_empty() {
            sink(read, &self.follower);
        }
    }

    /// The request of an exchange is complete, or as complete as it will be.
    pub(crate) fn request(&mut self, open: &mut Open, place: Place, end: FrameEnd, sink: &mut Sink<'_>) {
        open.is_requested = true;
        let number = open.facts.number;
        let codings = crate::coding::Codings::of(&open.facts.request);
        let body = open.request.complete(&codings);
        let place = body.place.unwrap_or(place);
        let frame = self.frame(Made::body(Stream::ToServer, &body, place, end), Some(number));
        let seq = frame.frame.seq;
        let facts = open.facts_mut();
        facts.request_seq = Some(seq);
        facts.undecodable |= body.undecodable;
        let mut read = Read::default();
        let facts = open.facts.clone();
        let is_whole = end == FrameEnd::Newline || body.bytes.is_empty() || is_whole_json(&body.bytes);
        if body.is_sound() && is_whole {
            open.is_followed = true;
            let fields: Vec<_> = facts.request.fields().collect();
            let request = HttpRequest {
                connection: facts.connection,
                verb: &facts.verb,
                target: &facts.target,
                headers: Headers(&fields),
                body: body.bytes.clone(),
            };
            self.follow(seq, number, HttpEvent::Opened(request), &mut read);
        } else if body.lost > 0 || body.cut > 0 {
            // What was cut off is in the recording; its meaning is not known all the same.
            let lost = HttpEvent::Lost { stream: Stream::ToServer, n_bytes: body.lost };
            self.follow(seq, number, lost, &mut read);
        }
        if read.events.is_empty() {
            open.has_exchange_row = true;
            let kind = if body.lost > 0 { RowKind::Gap } else { RowKind::Exchange };
            let path = facts.target.split('?').next().unwrap_or(&facts.target);
            read.events.push(Event::Row(MessageRow {
                method: Some(Arc::from(&*facts.verb)),
                target: Some(Arc::from(path)),
                lost_bytes: Some(body.lost).filter(|lost| *lost > 0),
                ..row(&frame.frame, kind)
            }));
        }
        for event in &read.events {
            if let Event::Row(row) = event
                && row.kind == RowKind::Request
                && open.asked.len() < ASKED
            {
                open.asked.push(row.at);
                self.asked.insert(row.at);
            }
        }
        drop(facts);
        read.frame = Some(frame);
        self.emit(open, read, true, sink);
    }

    /// The head of the answer came.
    pub(crate) fn head(&mut self, open: &mut Open, sink: &mut Sink<'_>) {
        let facts = open.facts.clone();
        let (Some(status), Some(head), Some(seq)) = (facts.status, &facts.response, facts.request_seq) else {
            return;
        };
        let mut read = Read::default();
        if open.is_followed {
            let fields: Vec<_> = head.fields().collect();
            let event = HttpEvent::Head { status, headers: Headers(&fields) };
            self.follow(seq, facts.number, event, &mut read);
        }
        if open.has_exchange_row {
            let at = At { seq, member: 0 };
            let failed = 400 <= status && status != 405;
            read.events.push(Event::Answered {
                request: at,
                answer: at,
                latency_ns: waited_ns(open),
                status: if failed { Status::Error } else { Status::Ok },
                error_code: failed.then(|| status.to_string()),
                stood_for: false,
            });
        }
        drop(facts);
        self.emit(open, read, true, sink);
    }

    /// An event of the answer, or its body: what it is and whether the follower may be told. `is_unknown` says that some of
    /// it was recorded and cannot be read.
    pub(crate) fn answer(
        &mut self,
        open: &mut Open,
        made: Made,
        event: Option<HttpEvent<'_>>,
        name: Option<&[u8]>,
        is_unknown: bool,
        sink: &mut Sink<'_>,
    ) {
        let number = open.facts.number;
        let frame = self.frame(made, Some(number));
        let seq = frame.frame.seq;
        open.answer_seq = Some(seq);
        let lost = match frame.frame.origin {
            Origin::Gap(lost) => lost,
            Origin::Wire | Origin::Act(_) => 0,
        };
        let mut read = Read::default();
        match event {
            Some(event) if open.is_followed && lost == 0 && !is_unknown => self.follow(seq, number, event, &mut read),
            _ if lost > 0 || is_unknown => {
                let lost = HttpEvent::Lost { stream: Stream::ToClient, n_bytes: lost };
                self.follow(seq, number, lost, &mut read);
            }
            _ => {}
        }
        if !read.events.iter().any(|event| matches!(event, Event::Row(_))) {
            let kind = if frame.frame.origin == Origin::Wire { RowKind::Body } else { RowKind::Gap };
            let name = name.filter(|name| *name != b"message");
            let row = MessageRow {
                method: name.map(|name| Arc::from(String::from_utf8_lossy(name).chars().take(100).collect::<String>())),
                lost_bytes: Some(lost).filter(|lost| *lost > 0),
                ..row(&frame.frame, kind)
            };
            read.events.insert(0, Event::Row(row));
        }
        read.frame = Some(frame);
        self.emit(open, read, false, sink);
    }

    /// Something was done in an exchange. `message` is the number of what it was done to.
    pub(crate) fn act(
        &mut self,
        open: Option<&mut Open>,
        number: u64,
        text: Bytes,
        place: Place,
        message: Option<u64>,
        sink: &mut Sink<'_>,
    ) {
        // What makes no sense is left out: the segment itself is sound.
        let Some(act) = Act::read_head(&text) else {
            return;
        };
        let made = Made {
            stream: act.sent_on(),
            origin: Origin::Act(act.deed),
            bytes: text.clone(),
            place,
            end: FrameEnd::Newline,
            source: None,
        };
        let frame = self.frame(made, Some(number));
        let head_bytes = tap_frame::sent_offset(&text).unwrap_or(text.len()) as u64;
        let mut read = Read::default();
        if open.as_ref().is_some_and(|open| open.is_followed) {
            self.follow(frame.frame.seq, number, HttpEvent::Act { act: &act, text, message }, &mut read);
        }
        let at = At { seq: frame.frame.seq, member: 0 };
        if let Some(seq) = message
            && !read.events.iter().any(|event| matches!(event, Event::Done { .. }))
        {
            let done = Box::new(Done::to_message(&act, at));
            read.events.push(Event::Done { seq, done });
        }
        if !read.events.iter().any(|event| matches!(event, Event::Row(_))) {
            let kind = match act.deed.sends() {
                true if act.lost_bytes > 0 => RowKind::Gap,
                true => RowKind::Body,
                false => RowKind::Act,
            };
            let original = message.map(|seq| At { seq, member: 0 });
            read.events.push(Event::Row(MessageRow {
                lost_bytes: Some(act.lost_bytes).filter(|lost| *lost > 0),
                done: Some(Box::new(Done { head_bytes, ..Done::of_act(&act, original) })),
                ..row(&frame.frame, kind)
            }));
        }
        read.frame = Some(frame);
        match open {
            Some(open) => self.emit(open, read, false, sink),
            None => sink(read, &self.follower),
        }
    }

    /// An event that is no frame: it says where to resume, or how long to wait.
    pub(crate) fn silent(&mut self, open: &mut Open, event: HttpEvent<'_>, sink: &mut Sink<'_>) {
        if let (true, Some(seq)) = (open.is_followed, open.facts.request_seq) {
            let mut read = Read::default();
            self.follow(seq, open.facts.number, event, &mut read);
            self.emit(open, read, false, sink);
        }
    }

    /// The exchange is over, and all frames of it were given out.
    pub(crate) fn ended(&mut self, open: &mut Open, sink: &mut Sink<'_>) {
        let mut read = Read::default();
        let number = open.facts.number;
        if let (true, Some(seq)) = (open.is_followed, open.facts.request_seq) {
            let end = open.facts.end.unwrap_or(tap_frame::HttpEnd::Whole);
            self.follow(seq, number, HttpEvent::Ended(end), &mut read);
        }
        let latency_ns = waited_ns(open);
        let refused = open.facts.status.filter(|status| 400 <= *status);
        let is_broken_off = open.facts.end == Some(tap_frame::HttpEnd::ByServer) && !open.may_be_resumed;
        for request in std::mem::take(&mut open.asked) {
            match (self.asked.remove(&request), refused) {
                (true, Some(status)) => {
                    let answer = open.answer_seq.map_or(request, |seq| At { seq, member: 0 });
                    let error_code = Some(format!("HTTP {status}"));
                    read.events.push(Event::Answered {
                        request,
                        answer,
                        latency_ns,
                        status: Status::Error,
                        error_code,
                        stood_for: false,
                    });
                }
                (true, None) => read.n_broken_off += u64::from(is_broken_off),
                (false, _) => {}
            }
        }
        self.emit(open, read, true, sink);
    }

    /// Gives out what was read of an exchange, with the session that it belongs to.
    fn emit(&mut self, open: &mut Open, mut read: Read, is_news: bool, sink: &mut Sink<'_>) {
        let number = open.facts.number;
        // The follower forgets an exchange with its end.
        let conversation = self.follower.session_of(number).or(open.facts.conversation);
        let is_other = conversation != open.facts.conversation;
        if is_other {
            open.facts_mut().conversation = conversation;
        }
        if let Some(number) = conversation {
            if read.refused == Some(number) || self.conversations.was_refused(number) {
                open.facts_mut().conversation = None;
            } else if let Some(gone) = self.conversations.take(number, &read, self.now, &self.follower) {
                read.forgotten.push(gone);
            }
        }
        if let Some(frame) = &mut read.frame {
            frame.conversation = open.facts.conversation;
        }
        if is_news || is_other || read.refused.is_some() {
            read.exchange = Some(open.facts.clone());
        }
        if !read.is_empty() {
            sink(read, &self.follower);
        }
    }
}

/// A row for what no follower has given one.
pub(crate) fn row(frame: &Frame, kind: RowKind) -> MessageRow {
    MessageRow {
        at: At { seq: frame.seq, member: 0 },
        wall_ns: frame.wall_ns,
        at_ns: frame.at_ns,
        stream: frame.stream,
        kind,
        raw_id: None,
        method: None,
        target: None,
        status: None,
        error_code: None,
        pair: None,
        latency_ns: None,
        lost_bytes: None,
        notes: Notes::default(),
        done: None,
        received: None,
    }
}

/// Whether bytes of which nobody knows whether they are all are a message all the same.
pub(crate) fn is_whole_json(bytes: &[u8]) -> bool {
    use tap_jsonrpc::Content;
    match tap_jsonrpc::scan(bytes, &[]).content {
        Content::Message(_) | Content::Batch(_) | Content::NotAMessage(_) => true,
        Content::Blank | Content::NotJson(_) => false,
    }
}

/// How long the head of the answer took.
fn waited_ns(open: &Open) -> u64 {
    let asked_at_ns = open.facts.request_end_at_ns.unwrap_or(open.facts.opened_at_ns);
    open.facts.response_at_ns.unwrap_or(asked_at_ns).saturating_sub(asked_at_ns)
}
