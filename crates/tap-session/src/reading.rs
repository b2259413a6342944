//! Reading a session's segments: cut, scanned and observed, without ever holding a frame's bytes.

use tap_frame::{Act, Origin, Segment, SegmentError, Stream, sent_offset};
use tap_jsonrpc::{Scanned, Scanner};

use crate::cut::{Cut, Cutter, FrameHead, Position};
use crate::observer::{Event, Identity, Observer, WATCHES};

/// Reads a session's segments: cuts, scans and observes them, without ever holding a frame's bytes.
#[derive(Debug)]
pub struct Reading {
    cutter: Cutter,
    scanners: [Scanner; 2],
    observer: Observer,
    /// Scanned in place of what is not scanned.
    nothing: Scanned,
}

impl Default for Reading {
    fn default() -> Self {
        Self::resume(Position::default(), Observer::default())
    }
}

impl Reading {
    /// A reading that goes on where another one stood. See [`Cutter::resume`] for what to feed it.
    #[must_use]
    pub fn resume(position: Position, observer: Observer) -> Self {
        let scanner = || Scanner::new(WATCHES);
        Self {
            cutter: Cutter::resume(position),
            scanners: [scanner(), scanner()],
            observer,
            nothing: tap_jsonrpc::scan(b"", WATCHES),
        }
    }

    /// The number of the segment to be fed next.
    #[must_use]
    pub fn first_segment_needed(&self) -> u64 {
        self.cutter.first_segment_needed()
    }

    /// Where the reading stands.
    #[must_use]
    pub fn position(&self) -> Position {
        self.cutter.position()
    }

    /// Who talks, as far as it is known.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.observer.identity()
    }

    /// Takes the next segment; hands each frame that it completes, with what it meant, to `sink`.
    ///
    /// # Errors
    ///
    /// When the segment is damaged. The reading goes on with the next one.
    pub fn feed(
        &mut self,
        segment: &Segment,
        sink: &mut impl FnMut(&FrameHead, &mut Vec<Event>),
    ) -> Result<(), SegmentError> {
        let Self { cutter, scanners, observer, nothing } = self;
        let mut events = Vec::new();
        cutter.feed(segment, &mut |cut| take(scanners, observer, nothing, &cut, &mut events, sink))
    }

    /// Says that no segment will follow.
    pub fn finish(&mut self, sink: &mut impl FnMut(&FrameHead, &mut Vec<Event>)) {
        let Self { cutter, scanners, observer, nothing } = self;
        let mut events = Vec::new();
        cutter.finish(&mut |cut| take(scanners, observer, nothing, &cut, &mut events, sink));
    }
}

fn take(
    scanners: &mut [Scanner; 2],
    observer: &mut Observer,
    nothing: &Scanned,
    cut: &Cut<'_>,
    events: &mut Vec<Event>,
    sink: &mut impl FnMut(&FrameHead, &mut Vec<Event>),
) {
    match cut {
        Cut::Part { stream, bytes } => {
            if let Some(scanner) = scanner_of(scanners, *stream) {
                scanner.feed(bytes);
            }
        }
        Cut::Frame(head) => {
            events.clear();
            match scanner_of(scanners, head.stream).filter(|_| head.origin == Origin::Wire) {
                Some(scanner) => observer.observe(&head.into(), &scanner.finish(), events),
                None => observer.observe(&head.into(), nothing, events),
            }
            sink(head, events);
        }
        Cut::Act { head, text } => {
            events.clear();
            // Of the stream's own scanner it must not take part: a message may be open there.
            let sent = sent_offset(text).and_then(|offset| text.get(offset..)).unwrap_or_default();
            if let Some(act) = Act::read_head(text) {
                let head_bytes = (text.len() - sent.len()) as u64;
                observer.observe_act(&head.into(), &act, None, head_bytes, &tap_jsonrpc::scan(sent, WATCHES), events);
            }
            sink(head, events);
        }
        Cut::End { .. } => {}
    }
}

fn scanner_of(scanners: &mut [Scanner; 2], stream: Stream) -> Option<&mut Scanner> {
    scanners.get_mut(usize::from(stream.code()))
}
