//! Exchanges of HTTP in the text form: pieces to records, and back.
//!
//! Bodies may come in other pieces than they did; what is in them, and when each frame was complete, stays. So the bytes of a
//! body are held until they make a message, and are written where the last of them passed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tap_exchange::{BODY_LIMIT_BYTES, BodyDecoder, EventCutter, HttpReading};
use tap_frame::{Act, HttpHead, HttpPart, Origin, Piece, Segment, Stream, sent_offset};
use tap_session::{Cut, Cutter, Gatherer, Moment, Recorded};

use super::chosen::Chosen;
use super::words::{content, member_of, members_of};
use super::write::Entry;
use super::{body, stands_verbatim};

/// Which frames of which exchanges are wanted.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// How many frames there are in all.
    pub(super) n_frames: u64,
    /// Exchanges of which there is one in the part that is wanted: the numbers of the frames of their answers.
    exchanges: BTreeMap<u64, Vec<u64>>,
    /// All is wanted, also what belongs to no exchange.
    all: bool,
}

/// Finds out which exchanges have frames in a range.
#[derive(Default)]
pub(super) struct Search {
    reading: HttpReading,
    answers: BTreeMap<u64, Vec<u64>>,
    hit: BTreeSet<u64>,
    n_frames: u64,
}

impl Search {
    pub(super) fn feed(&mut self, segment: &Segment, range: &Chosen) -> Result<(), tap_frame::SegmentError> {
        let Self { reading, answers, hit, n_frames } = self;
        reading.feed(segment, &mut |read, _| take(read, range, answers, hit, n_frames))
    }

    pub(super) fn finish(mut self, range: &Chosen) -> Wanted {
        let Self { reading, answers, hit, n_frames } = &mut self;
        reading.finish(&mut |read, _| take(read, range, answers, hit, n_frames));
        let all = range.is_all(reading.n_frames());
        let exchanges = self.answers.into_iter().filter(|(number, _)| self.hit.contains(number));
        Wanted { n_frames: self.n_frames, exchanges: exchanges.collect(), all }
    }
}

fn take(
    read: tap_exchange::Read,
    range: &Chosen,
    answers: &mut BTreeMap<u64, Vec<u64>>,
    hit: &mut BTreeSet<u64>,
    n_frames: &mut u64,
) {
    let Some(read) = read.frame else {
        return;
    };
    let is_wanted = range.contains(read.frame.seq);
    *n_frames += u64::from(is_wanted);
    if let Some(number) = read.exchange {
        let answers = answers.entry(number).or_default();
        if read.frame.stream == Stream::ToClient && !matches!(read.frame.origin, Origin::Act(_)) {
            answers.push(read.frame.seq);
        }
        if is_wanted {
            hit.insert(number);
        }
    }
}

/// What is held of the bodies of an exchange.
#[derive(Default)]
struct Held {
    /// Of which part.
    part: Option<HttpPart>,
    bytes: Vec<u8>,
    /// Something of this body was written.
    is_begun: bool,
    is_requested: bool,
    /// Where the answer is an event stream that is not compressed.
    events: Option<EventCutter>,
    /// The answer is an event stream that is: nobody knows here which of its bytes complete an event.
    is_opaque: bool,
    /// How many frames of the answer were complete.
    n_answers: usize,
    /// Of a body that is written decoded: what decodes it.
    decoder: Option<BodyDecoder>,
    /// No frame of an answer that cannot be taken apart is wanted.
    is_left_out: bool,
}

/// Makes records of pieces.
pub(super) struct ToText<'a> {
    wanted: &'a Wanted,
    range: &'a Chosen,
    opened_unix_ns: u64,
    now: Moment,
    held: BTreeMap<u64, Held>,
    stderr: Cutter,
    gatherer: Gatherer,
    n_segments: u64,
    /// Bodies are written as they were before they were compressed.
    is_decoded: bool,
}

impl<'a> ToText<'a> {
    pub(super) fn new(wanted: &'a Wanted, range: &'a Chosen, opened_unix_ns: u64, is_decoded: bool) -> Self {
        Self {
            is_decoded,
            wanted,
            range,
            opened_unix_ns,
            now: Moment::default(),
            held: BTreeMap::new(),
            stderr: Cutter::default(),
            gatherer: Gatherer::default(),
            n_segments: 0,
        }
    }

    pub(super) fn feed(&mut self, segment: &Segment, out: &mut Vec<Entry>) -> Result<(), tap_frame::SegmentError> {
        let number = self.n_segments;
        self.n_segments += 1;
        for piece in segment {
            let piece = piece?;
            let at_ns = piece.at_ns().max(self.now.at_ns);
            let wall_ns = segment.wall_ns.saturating_add(at_ns.saturating_sub(segment.at_ns));
            self.now = Moment { at_ns, wall_ns };
            match piece {
                Piece::Http { exchange, part, bytes, .. } => self.http(exchange, part, Ok(bytes), out),
                Piece::HttpGap { exchange, part, n_bytes, .. } => self.http(exchange, part, Err(n_bytes), out),
                Piece::Chunk { stream: Stream::Stderr, .. }
                | Piece::Gap { stream: Stream::Stderr, .. }
                | Piece::End { stream: Stream::Stderr, .. } => {
                    let Self { stderr, gatherer, now, .. } = self;
                    let (now, mut lines) = (*now, Vec::new());
                    stderr.take(number, now, &piece, &mut |cut: Cut<'_>| lines.extend(gatherer.take(cut)));
                    self.lines(lines, out);
                }
                Piece::Act { exchange: Some(exchange), bytes, .. } => self.act(exchange, bytes, out),
                Piece::Chunk { .. } | Piece::Gap { .. } | Piece::End { .. } | Piece::Act { exchange: None, .. } => {}
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Entry>) {
        for (number, mut held) in std::mem::take(&mut self.held) {
            self.finish_decoder(number, &mut held, out);
            if self.is_decoded {
                // Said by others by leaving it out: that it ended as it should.
                self.flush(number, &mut held, out);
                self.write(number, &[("http_end", "open".into())], None, out);
            }
            self.flush(number, &mut held, out);
        }
        let Self { stderr, gatherer, .. } = self;
        let mut lines = Vec::new();
        stderr.finish(&mut |cut: Cut<'_>| lines.extend(gatherer.take(cut)));
        self.lines(lines, out);
    }

    fn lines(&mut self, lines: Vec<Recorded>, out: &mut Vec<Entry>) {
        for line in lines {
            let mut record = self.record();
            let message = match line {
                Recorded::Frame(frame) => body(&frame, &mut record),
                Recorded::End { .. } => {
                    record.insert("eof".into(), "stderr".into());
                    None
                }
            };
            if self.wanted.all {
                out.push(Entry::new(record, self.now.at_ns, message));
            }
        }
    }

    /// A record of now.
    fn record(&self) -> Map<String, Value> {
        let mut record = Map::new();
        if self.now.wall_ns != self.opened_unix_ns.saturating_add(self.now.at_ns) {
            record.insert("wall_ns".into(), self.now.wall_ns.into());
        }
        record
    }

    fn write(&self, number: u64, members: &[(&str, Value)], message: Option<&str>, out: &mut Vec<Entry>) {
        let mut record = Map::new();
        record.insert("http".into(), number.into());
        record.extend(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        record.extend(self.record());
        out.push(Entry::new(record, self.now.at_ns, message.map(str::to_owned)));
    }

    /// Something that was done, behind what it was done to.
    fn act(&mut self, number: u64, text: &[u8], out: &mut Vec<Entry>) {
        if !self.wanted.all && !self.wanted.exchanges.contains_key(&number) {
            return;
        }
        let Some(act) = Act::read_head(text) else {
            return;
        };
        if let Some(mut held) = self.held.remove(&number) {
            self.flush(number, &mut held, out);
            self.held.insert(number, held);
        }
        let mut members = vec![("to", Value::from(super::side(act.sent_on())))];
        members.extend(super::acts::members_of(&act));
        if let Some(begins) = act.message {
            members.push(("of_byte", begins.into()));
        }
        let sent = text.get(sent_offset(text).unwrap_or(text.len())..).unwrap_or_default();
        let message = std::str::from_utf8(sent).ok().filter(|sent| stands_verbatim(sent));
        if act.deed.sends() && act.lost_bytes == 0 && message.is_none() {
            members.push(content(sent));
        }
        self.write(number, &members, message, out);
    }

    fn http(&mut self, number: u64, part: HttpPart, bytes: Result<&[u8], u64>, out: &mut Vec<Entry>) {
        if !self.wanted.all && !self.wanted.exchanges.contains_key(&number) {
            return;
        }
        // Of an exchange that did not begin, or is over, nobody reads anything.
        if self.is_decoded && part != HttpPart::Request && !self.held.contains_key(&number) {
            return;
        }
        let mut held = self.held.remove(&number).unwrap_or_default();
        if self.is_decoded {
            self.decoded(number, part, bytes, &mut held, out);
        } else {
            self.part(number, part, bytes, &mut held, out);
        }
        if part != HttpPart::End {
            self.held.insert(number, held);
        }
    }

    /// The same without compression. What cannot be decoded becomes a gap: nobody could look for secrets in it.
    fn decoded(
        &mut self,
        number: u64,
        part: HttpPart,
        bytes: Result<&[u8], u64>,
        held: &mut Held,
        out: &mut Vec<Entry>,
    ) {
        if part == HttpPart::Connected {
            return;
        }
        let is_body = matches!(part, HttpPart::RequestBody | HttpPart::ResponseBody);
        if !is_body {
            self.finish_decoder(number, held, out);
        }
        match (&mut held.decoder, bytes) {
            (Some(decoder), Ok(bytes)) if is_body => match decoder.feed(bytes) {
                Some(decoded) if decoded.is_empty() => {}
                Some(decoded) => self.part(number, part, Ok(&decoded), held, out),
                None => self.part(number, part, Err(bytes.len() as u64), held, out),
            },
            _ => self.part(number, part, bytes, held, out),
        }
        if let (HttpPart::Request | HttpPart::Response, Ok(head)) = (part, bytes) {
            held.decoder = BodyDecoder::of(head);
        }
    }

    /// Writes what a decoder kept back until the end of its body.
    fn finish_decoder(&mut self, number: u64, held: &mut Held, out: &mut Vec<Entry>) {
        let rest = held.decoder.take().and_then(|mut decoder| decoder.finish()).unwrap_or_default();
        if !rest.is_empty() {
            let part = if held.is_requested { HttpPart::ResponseBody } else { HttpPart::RequestBody };
            self.part(number, part, Ok(&rest), held, out);
        }
    }

    fn part(&mut self, number: u64, part: HttpPart, bytes: Result<&[u8], u64>, held: &mut Held, out: &mut Vec<Entry>) {
        if held.part != Some(part) || bytes.is_err() {
            self.flush(number, held, out);
            (held.part, held.is_begun) = (Some(part), held.is_begun && held.part == Some(part));
        }
        match (part, bytes) {
            (HttpPart::RequestBody | HttpPart::ResponseBody, Ok(bytes)) => {
                self.some_of_body(number, part, bytes, held, out);
            }
            (part, Err(lost)) => {
                if let Some(events) = &mut held.events {
                    events.tear();
                }
                let is_answer = matches!(part, HttpPart::Response | HttpPart::ResponseBody);
                if !is_answer || self.is_wanted(number, held) {
                    self.write(number, &[member_of(part), ("gap", lost.into())], None, out);
                }
            }
            (part, Ok(bytes)) => {
                held.is_requested |= part == HttpPart::RequestEnd;
                if part == HttpPart::Response {
                    let (is_stream, is_compressed) = kind_of_answer(bytes);
                    let is_compressed = is_compressed && !self.is_decoded;
                    held.events = (is_stream && !is_compressed).then(EventCutter::new);
                    held.is_opaque = is_stream && is_compressed;
                    held.is_left_out = held.events.is_none() && !self.is_any_wanted(number);
                }
                let members = members_of(part, bytes).unwrap_or_else(|| vec![member_of(part), content(bytes)]);
                self.write(number, &members, None, out);
            }
        }
    }

    /// Whether any frame of an answer is wanted, or there is none.
    fn is_any_wanted(&self, number: u64) -> bool {
        let answers = self.wanted.exchanges.get(&number).map(Vec::as_slice).unwrap_or_default();
        self.wanted.all || answers.is_empty() || answers.iter().any(|seq| self.range.contains(*seq))
    }

    /// Whether the next frame of an answer is wanted.
    fn is_wanted(&self, number: u64, held: &mut Held) -> bool {
        let seq = self.wanted.exchanges.get(&number).and_then(|answers| answers.get(held.n_answers));
        held.n_answers += 1;
        self.wanted.all || seq.is_none_or(|seq| self.range.contains(*seq))
    }

    fn some_of_body(&mut self, number: u64, part: HttpPart, bytes: &[u8], held: &mut Held, out: &mut Vec<Entry>) {
        if part == HttpPart::ResponseBody && held.is_left_out {
            return;
        }
        let before = out.len();
        // What comes before its time is counted by those who read it.
        let is_early = part == HttpPart::ResponseBody && !held.is_requested && !self.is_decoded;
        if part == HttpPart::ResponseBody
            && let Some(mut events) = held.events.take()
        {
            let base = events.n_bytes();
            let mut ends = Vec::new();
            events.feed(bytes, &mut |cut| {
                let is_frame = cut.event.data.as_ref().is_some_and(|data| !data.is_empty());
                ends.push((usize::try_from(cut.end.saturating_sub(base)).unwrap_or(usize::MAX), is_frame));
            });
            held.events = Some(events);
            let mut from = 0;
            for (mut end, is_frame) in ends {
                if bytes.get(end.wrapping_sub(1)) == Some(&b'\r') && bytes.get(end) == Some(&b'\n') {
                    end += 1;
                }
                held.bytes.extend_from_slice(bytes.get(from..end).unwrap_or_default());
                from = end;
                let event = std::mem::take(&mut held.bytes);
                if !is_frame || self.is_wanted(number, held) {
                    self.write_body(number, part, &event, true, out);
                }
            }
            held.bytes.extend_from_slice(bytes.get(from..).unwrap_or_default());
            if is_early {
                self.flush(number, held, out);
            }
        } else {
            held.bytes.extend_from_slice(bytes);
            let is_message = held.bytes.len() == bytes.len() && std::str::from_utf8(bytes).is_ok_and(stands_verbatim);
            let is_opaque = part == HttpPart::ResponseBody && held.is_opaque;
            if is_early || is_opaque || is_message || BODY_LIMIT_BYTES < held.bytes.len() {
                self.flush(number, held, out);
            }
        }
        if out.len() == before && !held.is_begun {
            // When the first byte came.
            self.write(number, &[member_of(part), ("raw", "".into())], None, out);
        }
        held.is_begun = true;
    }

    fn flush(&mut self, number: u64, held: &mut Held, out: &mut Vec<Entry>) {
        let Some(part @ (HttpPart::RequestBody | HttpPart::ResponseBody)) = held.part else {
            return;
        };
        if held.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut held.bytes);
        self.write_body(number, part, &bytes, held.events.is_some() && part == HttpPart::ResponseBody, out);
    }

    /// Writes some of a body, as a message if it is one.
    fn write_body(&self, number: u64, part: HttpPart, bytes: &[u8], is_event: bool, out: &mut Vec<Entry>) {
        let text = std::str::from_utf8(bytes).ok();
        let place = text.and_then(|text| if is_event { data_in(text) } else { trimmed_in(text) });
        let cut = text.zip(place).and_then(|(text, place)| {
            let message = text.get(place.clone()).filter(|message| stands_verbatim(message))?;
            Some((text.get(..place.start)?, message, text.get(place.end..)?))
        });
        let mut members = vec![member_of(part)];
        match cut {
            Some((before, message, after)) => {
                if !before.is_empty() {
                    members.push(("before", before.into()));
                }
                if !after.is_empty() {
                    members.push(("after", after.into()));
                }
                self.write(number, &members, Some(message), out);
            }
            None => {
                members.push(content(bytes));
                self.write(number, &members, None, out);
            }
        }
    }
}

/// Where in an event the value of its one `data` stands.
fn data_in(text: &str) -> Option<std::ops::Range<usize>> {
    let mut found = None;
    let mut at = 0;
    for line in text.split_inclusive(['\r', '\n']) {
        if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            let start = at + line.len() - value.len();
            let end = start + value.trim_end_matches(['\r', '\n']).len();
            if found.replace(start..end).is_some() {
                return None;
            }
        }
        at += line.len();
    }
    found
}

fn trimmed_in(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.len() - text.trim_start().len();
    Some(start..text.trim_end().len().max(start))
}

/// Whether this is the head of an answer that is an event stream, and whether it is compressed.
fn kind_of_answer(text: &[u8]) -> (bool, bool) {
    let fields: Vec<_> = HttpHead::read(text).into_iter().flat_map(HttpHead::fields).collect();
    let headers = tap_session::Headers(&fields);
    (headers.is_of_type("text/event-stream"), headers.has("content-encoding"))
}
