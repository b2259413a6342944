//! Pieces to exchanges, and exchanges to frames: the one place that says what a recording over HTTP holds.

use std::collections::BTreeMap;

use bytes::Bytes;
use tap_frame::{HttpEnd, HttpPart, Origin, Piece, Segment, SegmentError, Stream};
use tap_session::{
    Cut, Cutter, Event, FrameEnd, FrameHead, Gatherer, HTTP_EXCHANGES, HttpEvent, HttpFollower, Moment, Place,
    Recorded, RowKind,
};

use crate::acts::{GIVEN, acts};
use crate::core::{Core, Made, Sink, is_whole_json, row};
use crate::events::CutEvent;
use crate::exchange::{Conversation, Read, Source};
use crate::open::{Answer, EARLY_BYTES, Early, EventStream, Open};
use crate::seen::Seen;

/// Reads the segments of a recording over HTTP, in order, from the first.
///
/// Frames are numbered in the order in which they are complete, over all exchanges. The same pieces give the same reads,
/// however they were packed into segments and however bodies were cut into pieces. Whatever the pieces are, they are survived:
/// what belongs to no exchange that is open is passed over.
///
/// Of what [`HttpFollower`] is told, head and end of an exchange complete no frame; they have the number of its request.
#[derive(Debug, Default)]
pub struct HttpReading {
    core: Core,
    open: BTreeMap<u64, Open>,
    seen: Seen,
    stderr: Cutter,
    gatherer: Gatherer,
    /// The number of the segment to be fed next.
    next_segment: u64,
}

impl HttpReading {
    /// A reading of a recording from its first segment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Another reading that goes on from here; `None` while a compressed event stream is open, of which what was decoded cannot
    /// be copied.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        let open = self.open.iter().map(|(number, open)| Some((*number, open.fork()?)));
        Some(Self {
            open: open.collect::<Option<_>>()?,
            core: self.core.fork(),
            seen: self.seen.clone(),
            stderr: self.stderr.clone(),
            gatherer: self.gatherer.clone(),
            next_segment: self.next_segment,
        })
    }

    /// How many bytes a [fork](Self::fork) copies, more or less.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let open: usize = self.open.values().map(Open::held_bytes).sum();
        open + self.core.held_bytes() + self.gatherer.held_bytes()
    }

    /// What was followed: sessions and their states.
    #[must_use]
    pub fn follower(&self) -> &HttpFollower {
        &self.core.follower
    }

    /// How many frames were completed.
    #[must_use]
    pub fn n_frames(&self) -> u64 {
        self.core.n_frames
    }

    /// The number of the segment to be fed next.
    #[must_use]
    pub fn next_segment(&self) -> u64 {
        self.next_segment
    }

    /// The sessions of MCP that were accepted and are still followed, in the order in which they were begun. Of more than
    /// [`HTTP_SESSIONS`](tap_session::HTTP_SESSIONS) some are [forgotten](Read::forgotten).
    pub fn conversations(&self) -> impl Iterator<Item = Conversation> + '_ {
        self.core.conversations.all(&self.core.follower)
    }

    /// Those of them that changed since this was asked last.
    pub fn changed_conversations(&mut self) -> Vec<Conversation> {
        self.core.conversations.changed(&self.core.follower)
    }

    /// Takes the next segment, and hands what comes of it to `sink`, in order, each with what was followed up to there.
    ///
    /// # Errors
    ///
    /// When the segment is damaged; what comes before the damage was handed on, the rest of it is skipped.
    pub fn feed(&mut self, segment: &Segment, sink: &mut impl FnMut(Read, &HttpFollower)) -> Result<(), SegmentError> {
        let number = self.next_segment;
        self.next_segment += 1;
        for piece in segment {
            let piece = piece?;
            // The first piece of a segment may be a little older than the last one of the segment before.
            let at_ns = piece.at_ns().max(self.core.now.at_ns);
            let wall_ns = segment.wall_ns.saturating_add(at_ns.saturating_sub(segment.at_ns));
            self.core.now = Moment { at_ns, wall_ns };
            self.take(number, &piece, sink);
        }
        Ok(())
    }

    /// Says that no segment will follow: what is still open ends here.
    pub fn finish(&mut self, sink: &mut impl FnMut(Read, &HttpFollower)) {
        for (_, mut open) in std::mem::take(&mut self.open) {
            give_up(&mut self.core, &mut open, FrameEnd::RecordingEnd, sink);
        }
        let Self { core, stderr, gatherer, .. } = self;
        stderr.finish(&mut |cut| line(core, gatherer, cut, sink));
        core.finish(sink);
    }

    fn take(&mut self, segment: u64, piece: &Piece<'_>, sink: &mut Sink<'_>) {
        match *piece {
            Piece::Chunk { stream: Stream::Stderr, .. }
            | Piece::Gap { stream: Stream::Stderr, .. }
            | Piece::End { stream: Stream::Stderr, .. } => {
                let Self { core, stderr, gatherer, .. } = self;
                let now = core.now;
                stderr.take(segment, now, piece, &mut |cut| line(core, gatherer, cut, sink));
            }
            // What a process says on its other streams is in exchanges here.
            Piece::Chunk { .. } | Piece::Gap { .. } | Piece::End { .. } | Piece::Act { exchange: None, .. } => {}
            Piece::Act { exchange: Some(exchange), offset, bytes, .. } => {
                let place = Place { segment, offset: offset as u64 };
                match self.open.get_mut(&exchange) {
                    Some(open) => {
                        open.acts.push((Bytes::copy_from_slice(bytes), place));
                        acts(&mut self.core, open, false, sink);
                    }
                    None => self.core.act(None, exchange, Bytes::copy_from_slice(bytes), place, None, sink),
                }
            }
            Piece::Http { exchange, part: HttpPart::Request, offset, bytes, .. } => {
                self.begin(exchange, Place { segment, offset: offset as u64 }, bytes, sink);
            }
            Piece::HttpGap { exchange, part: HttpPart::Request, n_bytes, .. } => {
                if self.seen.insert(exchange) {
                    self.no_head(exchange, Place { segment, offset: 0 }, n_bytes, sink);
                }
            }
            Piece::Http { exchange, part, offset, bytes, .. } => {
                self.part(exchange, part, Place { segment, offset: offset as u64 }, Ok(bytes), sink);
            }
            Piece::HttpGap { exchange, part, n_bytes, .. } => {
                self.part(exchange, part, Place { segment, offset: 0 }, Err(n_bytes), sink);
            }
        }
    }

    fn begin(&mut self, number: u64, place: Place, text: &[u8], sink: &mut Sink<'_>) {
        if !self.seen.insert(number) {
            return;
        }
        let Some(open) = Open::begin(number, self.core.now.at_ns, place.segment, text) else {
            self.no_head(number, place, text.len() as u64, sink);
            return;
        };
        if HTTP_EXCHANGES <= self.open.len()
            && let Some((_, mut oldest)) = self.open.pop_first()
        {
            // Its end was lost, or it has been idle for long: what of it is held must go.
            give_up(&mut self.core, &mut oldest, FrameEnd::RecordingEnd, sink);
            self.core.ended(&mut oldest, sink);
        }
        self.open.insert(number, open);
    }

    /// The head of a request was lost: all that is known is that there was an exchange.
    fn no_head(&mut self, number: u64, place: Place, n_bytes: u64, sink: &mut Sink<'_>) {
        let frame = self.core.frame(Made::gap(Stream::ToServer, place, n_bytes), Some(number));
        let mut read = Read::default();
        let lost = HttpEvent::Lost { stream: Stream::ToServer, n_bytes };
        self.core.follow(frame.frame.seq, number, lost, &mut read);
        let row = tap_session::MessageRow { lost_bytes: Some(n_bytes), ..row(&frame.frame, RowKind::Gap) };
        read.events.insert(0, Event::Row(row));
        read.frame = Some(frame);
        sink(read, &self.core.follower);
    }

    /// A part of an exchange that has begun: its bytes, or how many of them were lost.
    fn part(&mut self, number: u64, part: HttpPart, place: Place, bytes: Result<&[u8], u64>, sink: &mut Sink<'_>) {
        let Some(open) = self.open.get_mut(&number) else {
            return;
        };
        let core = &mut self.core;
        let at_ns = core.now.at_ns;
        if open.facts.last_segment != place.segment {
            open.facts_mut().last_segment = place.segment;
        }
        if let Err(lost) = bytes {
            let facts = open.facts_mut();
            facts.lost_bytes = facts.lost_bytes.saturating_add(lost);
        }
        match (part, bytes) {
            (HttpPart::Request, _) => {}
            (HttpPart::RequestBody, Ok(bytes)) => {
                open.facts_mut().request_bytes += bytes.len() as u64;
                if !open.is_requested {
                    open.request.take(place, bytes);
                }
            }
            (HttpPart::RequestBody, Err(lost)) => {
                open.request.lost = open.request.lost.saturating_add(lost);
            }
            (HttpPart::RequestEnd, _) => {
                if open.facts.request_end_at_ns.is_none() {
                    open.facts_mut().request_end_at_ns = Some(at_ns);
                }
                request(core, open, place, FrameEnd::Newline, sink);
                acts(core, open, false, sink);
            }
            (HttpPart::Connected, Ok(bytes)) => {
                let text = String::from_utf8_lossy(bytes);
                let (version, took) =
                    text.split_once(' ').map_or((&*text, None), |(version, took)| (version, took.parse().ok()));
                let facts = open.facts_mut();
                (facts.server_version, facts.connect_ns) = (Some(version.to_owned()), took);
            }
            (HttpPart::Connected, Err(_)) => {}
            (HttpPart::Response | HttpPart::ResponseBody, bytes) => {
                if let (HttpPart::ResponseBody, Ok(bytes)) = (part, bytes) {
                    let facts = open.facts_mut();
                    facts.response_bytes += bytes.len() as u64;
                    facts.first_byte_at_ns.get_or_insert(at_ns);
                }
                if open.is_requested {
                    answer(core, open, part, at_ns, place, bytes, sink);
                    if !open.acts.is_empty() {
                        acts(core, open, false, sink);
                    }
                } else {
                    open.n_early_bytes += bytes.map_or(0, <[u8]>::len);
                    open.early.push(Early { part, at_ns, place, bytes: bytes.map(<[u8]>::to_vec) });
                    if EARLY_BYTES < open.n_early_bytes {
                        request(core, open, place, FrameEnd::StreamEnd, sink);
                    }
                }
            }
            (HttpPart::End, bytes) => {
                let end = bytes.ok().and_then(|bytes| HttpEnd::from_code(*bytes.first()?));
                let facts = open.facts_mut();
                (facts.end, facts.ended_at_ns) = (end, Some(at_ns));
                let frame_end = if end == Some(HttpEnd::Whole) { FrameEnd::Newline } else { FrameEnd::StreamEnd };
                if let Some(mut open) = self.open.remove(&number) {
                    give_up(core, &mut open, frame_end, sink);
                    core.ended(&mut open, sink);
                }
            }
        }
    }
}

/// A request is complete, or will not be: gives it out, and what came of its answer before.
fn request(core: &mut Core, open: &mut Open, place: Place, end: FrameEnd, sink: &mut Sink<'_>) {
    if open.is_requested {
        return;
    }
    core.request(open, place, end, sink);
    for Early { part, at_ns, place, bytes } in std::mem::take(&mut open.early) {
        answer(core, open, part, at_ns, place, bytes.as_deref().map_err(|lost| *lost), sink);
    }
}

/// A piece of the answer to a request that was given out.
fn answer(
    core: &mut Core,
    open: &mut Open,
    part: HttpPart,
    at_ns: u64,
    place: Place,
    bytes: Result<&[u8], u64>,
    sink: &mut Sink<'_>,
) {
    match (part, bytes) {
        (HttpPart::Response, Ok(bytes)) => {
            if matches!(open.answer, Answer::None) && open.answered(at_ns, bytes) {
                core.head(open, sink);
            }
        }
        (HttpPart::Response, Err(lost)) => {
            if matches!(open.answer, Answer::None) {
                open.answer = Answer::Unknown;
            }
            core.answer(open, Made::gap(Stream::ToClient, place, lost), None, None, false, sink);
        }
        (_, bytes) => match std::mem::replace(&mut open.answer, Answer::None) {
            Answer::Whole(mut body, codings) => {
                match bytes {
                    Ok(bytes) => body.take(place, bytes),
                    Err(lost) => body.lost = body.lost.saturating_add(lost),
                }
                open.answer = Answer::Whole(body, codings);
            }
            Answer::Stream(mut stream) => {
                match bytes {
                    Ok(bytes) => events(core, open, &mut stream, place, bytes, sink),
                    Err(lost) => {
                        stream.tear();
                        core.answer(open, Made::gap(Stream::ToClient, place, lost), None, None, false, sink);
                    }
                }
                open.answer = Answer::Stream(stream);
            }
            // A body without a head.
            other @ (Answer::None | Answer::Unknown) => open.answer = other,
        },
    }
}

/// How much of a compressed stream is decoded at a time, bytes: so little that what it decodes to needs no great room.
const DECODED_AT_ONCE: usize = 256;

/// How much of what was decoded is cut into events at a time, bytes.
const CUT_AT_ONCE: usize = 64 * 1024;

/// Events that a compressed stream may have, beside one for each byte on the wire. Of more, there is nothing to learn.
const EVENTS: u64 = 10_000;

/// Some of an event stream.
fn events(core: &mut Core, open: &mut Open, stream: &mut EventStream, place: Place, bytes: &[u8], sink: &mut Sink<'_>) {
    stream.start.get_or_insert(place);
    if stream.decoder.is_some() {
        for bytes in bytes.chunks(DECODED_AT_ONCE) {
            stream.n_raw += bytes.len() as u64;
            compressed(core, open, stream, place, Some(bytes), sink);
        }
        return;
    }
    stream.n_raw += bytes.len() as u64;
    let mut cuts = Vec::new();
    let base = stream.cutter.n_bytes();
    let place_of = |at: u64| Place { offset: place.offset + (at - base), ..place };
    let before = stream.open;
    stream.cutter.feed(bytes, &mut |cut| {
        let at = if base <= cut.start { Some(place_of(cut.start)) } else { before };
        cuts.push((cut, at));
    });
    stream.open = match stream.cutter.start() {
        Some(start) if base <= start => Some(place_of(start)),
        Some(_) => before,
        None => None,
    };
    for (cut, at) in cuts {
        let torn = std::mem::take(&mut stream.torn);
        event(core, open, stream, &cut, at.unwrap_or(place), FrameEnd::Newline, torn, sink);
    }
}

/// Some of a compressed event stream, or its end.
fn compressed(
    core: &mut Core,
    open: &mut Open,
    stream: &mut EventStream,
    place: Place,
    bytes: Option<&[u8]>,
    sink: &mut Sink<'_>,
) {
    let Some(decoder) = stream.decoder.as_mut().filter(|_| !stream.is_lost) else {
        return;
    };
    let (mut decoded, mut too_much) = (Vec::new(), 0);
    let fed = match bytes {
        Some(bytes) => decoder.feed(bytes, &mut decoded, &mut too_much),
        None => decoder.finish(&mut decoded, &mut too_much),
    };
    let mut is_lost = fed.is_err() || too_much > 0;
    for some in decoded.chunks(CUT_AT_ONCE) {
        let mut cuts = Vec::new();
        stream.cutter.feed(some, &mut |cut| cuts.push(cut));
        for cut in cuts {
            if EVENTS + stream.n_raw < cut.number {
                is_lost = true;
                break;
            }
            let torn = std::mem::take(&mut stream.torn);
            event(core, open, stream, &cut, place, FrameEnd::Newline, torn, sink);
        }
        if is_lost && EVENTS + stream.n_raw < stream.cutter.n_events() {
            break;
        }
    }
    if is_lost {
        stream.is_lost = true;
        open.facts_mut().undecodable = true;
        core.silent(open, HttpEvent::Lost { stream: Stream::ToClient, n_bytes: 0 }, sink);
    }
}

#[expect(clippy::too_many_arguments, reason = "all of them are different things, and this is called from two places")]
fn event(
    core: &mut Core,
    open: &mut Open,
    stream: &EventStream,
    cut: &CutEvent,
    place: Place,
    end: FrameEnd,
    torn: bool,
    sink: &mut Sink<'_>,
) {
    let compressed = stream.decoder.is_some();
    let data = cut.event.data.clone().unwrap_or_default();
    let is_sound = end == FrameEnd::Newline && (!torn || is_whole_json(&data));
    open.may_be_resumed |= cut.event.id.is_some();
    if data.is_empty() {
        if is_sound {
            core.silent(open, HttpEvent::Event(&cut.event), sink);
        }
        return;
    }
    let source = Source {
        part: HttpPart::ResponseBody,
        raw_length: if compressed { stream.n_raw } else { cut.end - cut.start },
        event: Some(cut.number),
        compressed,
    };
    let made = Made {
        stream: Stream::ToClient,
        origin: Origin::Wire,
        bytes: data,
        place: if compressed { stream.start.unwrap_or(place) } else { place },
        end: if cut.event.lost_bytes > 0 { FrameEnd::TooLong } else { end },
        source: Some(source),
    };
    let told = is_sound.then_some(HttpEvent::Event(&cut.event));
    core.answer(open, made, told, cut.event.event.as_deref(), cut.event.lost_bytes > 0, sink);
    if let Some(seq) = open.answer_seq {
        if GIVEN <= open.given.len() {
            open.given.pop_front();
        }
        open.given.push_back((cut.start, seq));
    }
}

/// Gives out all that is held of an exchange: it is over, or the recording is. `end` is how its answer ended.
fn give_up(core: &mut Core, open: &mut Open, end: FrameEnd, sink: &mut Sink<'_>) {
    let place = Place { segment: 0, offset: 0 };
    let cut_off = if end == FrameEnd::RecordingEnd { end } else { FrameEnd::StreamEnd };
    request(core, open, place, cut_off, sink);
    match std::mem::replace(&mut open.answer, Answer::None) {
        Answer::None | Answer::Unknown => {}
        Answer::Whole(mut body, codings) => whole(core, open, body.complete(&codings), end, sink),
        Answer::Stream(mut stream) => {
            compressed(core, open, &mut stream, place, None, sink);
            if let (Some(cut), false) = (stream.cutter.finish(), stream.is_lost) {
                let place = stream.open.unwrap_or(place);
                event(core, open, &stream, &cut, place, cut_off, false, sink);
            }
        }
    }
    acts(core, open, true, sink);
}

/// A body that is no event stream.
fn whole(core: &mut Core, open: &mut Open, body: crate::open::WholeBody, end: FrameEnd, sink: &mut Sink<'_>) {
    if body.undecodable {
        open.facts_mut().undecodable = true;
    }
    if body.bytes.is_empty() && body.lost == 0 {
        return;
    }
    let place = body.place.unwrap_or(Place { segment: 0, offset: 0 });
    let is_whole = end == FrameEnd::Newline || is_whole_json(&body.bytes);
    let told = (body.is_sound() && is_whole).then(|| HttpEvent::Body(body.bytes.clone()));
    let is_unknown = body.undecodable || body.cut > 0;
    core.answer(open, Made::body(Stream::ToClient, &body, place, end), told, None, is_unknown, sink);
}

/// What the cutter met on stderr.
fn line(core: &mut Core, gatherer: &mut Gatherer, cut: Cut<'_>, sink: &mut Sink<'_>) {
    let head = match &cut {
        Cut::Frame(head) => Some(*head),
        Cut::Part { .. } | Cut::Act { .. } | Cut::End { .. } => None,
    };
    let (Some(head), Some(Recorded::Frame(frame))) = (head, gatherer.take(cut)) else {
        return;
    };
    let FrameHead { stream, origin, start: place, end, .. } = head;
    let made = Made { stream, origin, bytes: frame.bytes, place, end, source: None };
    let frame = core.frame(made, None);
    let row = match origin {
        Origin::Wire | Origin::Act(_) => row(&frame.frame, RowKind::Stderr),
        Origin::Gap(lost) => tap_session::MessageRow { lost_bytes: Some(lost), ..row(&frame.frame, RowKind::Gap) },
    };
    sink(Read { events: vec![Event::Row(row)], frame: Some(frame), ..Read::default() }, &core.follower);
}

#[cfg(test)]
mod tests;
