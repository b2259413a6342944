//! What a debugger did, in the text form: records of acts, and back.
//!
//! A record names the message that something was done to by its number in the file, not by its place in the stream: a
//! secret that was replaced has another length. Over HTTP by where it begins in its body, which holds as long as what is
//! before it in that body is as it was.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};
use tap_frame::{Act, Deed, Frame, Origin, Stream};

use super::{body, side};

/// Deeds after which everything is as it would have been without them, but for the time: a fixture does without them.
pub(super) const ONLY_TIME: [Deed; 5] = [Deed::Held, Deed::Released, Deed::Delayed, Deed::Reordered, Deed::Slowed];

/// The members of an act. The rest of its record is what was sent, as of any message.
#[derive(Debug, Deserialize)]
pub(super) struct ActRecord {
    act: String,
    pub(super) of: Option<u64>,
    of_byte: Option<u64>,
    #[serde(default)]
    held_ns: u64,
    #[serde(default)]
    by: String,
    #[serde(rename = "sent_status")]
    status: Option<u16>,
    #[serde(default)]
    sent_lost: u64,
}

impl ActRecord {
    /// The act, without the bytes; `to` is where they went. `place` says where a message of the file is.
    pub(super) fn act(self, to: Stream, place: impl Fn(u64) -> Option<(Stream, u64)>) -> Result<Act, String> {
        let deed = Deed::from_name(&self.act).ok_or("`act` must be what was done: held, edited, dropped, …")?;
        // What was answered went the other way.
        let stream = Act::new(deed, to, "").sent_on();
        let place = match self.of {
            Some(number) => {
                let (of, begins) = place(number).ok_or("`of` must be the number of a record before this one")?;
                if of != stream {
                    return Err("`of` is a message that went another way than `to` says".into());
                }
                Some(begins)
            }
            None => self.of_byte,
        };
        Ok(Act {
            message: place,
            held_ns: self.held_ns,
            status: self.status,
            lost_bytes: self.sent_lost,
            ..Act::new(deed, stream, self.by)
        })
    }
}

/// Adds what was done to a record; what was sent is given back where it stands verbatim. `original` is the message that it
/// was done to: its number in the recording, and in the file if it is there.
pub(super) fn record_of(
    frame: &Frame,
    act: &Act,
    original: Option<(u64, Option<u64>)>,
    record: &mut Map<String, Value>,
) -> Option<String> {
    record.insert("to".into(), side(act.sent_on()).into());
    for (name, value) in members_of(act) {
        record.insert(name.into(), value);
    }
    match (original, act.message) {
        (Some((_, Some(number))), _) => drop(record.insert("of".into(), number.into())),
        // It is not in the file.
        (Some((_, None)), _) | (None, None) => {}
        // Nothing is known that begins there.
        (None, Some(begins)) => drop(record.insert("of_byte".into(), begins.into())),
    }
    if !act.deed.sends() || act.lost_bytes > 0 {
        return None;
    }
    body(&Frame { origin: Origin::Wire, bytes: frame.message(), ..frame.clone() }, record)
}

/// What is said of an act over any transport.
pub(super) fn members_of(act: &Act) -> Vec<(&'static str, Value)> {
    let mut members = vec![("act", Value::from(act.deed.name()))];
    if act.held_ns > 0 {
        members.push(("held_ns", act.held_ns.into()));
    }
    if let Some(status) = act.status {
        members.push(("sent_status", status.into()));
    }
    if act.lost_bytes > 0 {
        members.push(("sent_lost", act.lost_bytes.into()));
    }
    if !act.by.is_empty() {
        members.push(("by", act.by.clone().into()));
    }
    members
}

/// The act of a record, with what was sent.
pub(super) fn with_sent(act: Act, sent: Vec<u8>) -> Act {
    let sends = act.deed.sends() && act.lost_bytes == 0;
    Act { bytes: if sends { sent.into() } else { Bytes::new() }, ..act }
}

/// Where the messages of a file, or of a recording, begin in what was received, by their numbers in the file.
#[derive(Debug, Default)]
pub(super) struct Places {
    received: [u64; 3],
    /// Of each frame of the file, the first at 0: its stream and where it begins.
    frames: Vec<(Stream, u64)>,
    /// By stream code, in rising order: where a frame begins, its number in the recording, and in the file if it is there.
    by_place: [Vec<(u64, u64, Option<u64>)>; 3],
}

impl Places {
    /// One more frame. `number` is its number in the file, if it is there.
    pub(super) fn pass(&mut self, frame: &Frame, number: Option<u64>) {
        let received = &mut self.received[usize::from(frame.stream.code())];
        if number.is_some() {
            self.frames.push((frame.stream, *received));
        }
        let length = match frame.origin {
            Origin::Wire => frame.bytes.len() as u64,
            Origin::Gap(lost) => lost,
            Origin::Act(_) => return,
        };
        self.by_place[usize::from(frame.stream.code())].push((*received, frame.seq, number));
        *received = received.saturating_add(length);
    }

    /// Where a frame of the file begins.
    pub(super) fn place(&self, number: u64) -> Option<(Stream, u64)> {
        self.frames.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
    }

    /// The message that an act was done to: its number in the recording, and in the file.
    pub(super) fn original(&self, act: &Act) -> Option<(u64, Option<u64>)> {
        let places = &self.by_place[usize::from(act.stream.code())];
        let begins = act.message?;
        // Of two at one place the first is a gap of nothing.
        let index = places.partition_point(|(at, ..)| *at <= begins).checked_sub(1)?;
        let (at, seq, number) = *places.get(index)?;
        (at == begins).then_some((seq, number))
    }
}
