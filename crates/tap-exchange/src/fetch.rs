//! A frame's bytes from those of its exchange, long after it was read.

use bytes::Bytes;
use tap_frame::HttpPart;
use tap_jsonrpc::SseEvent;

use crate::coding::Codings;
use crate::events::EventCutter;
use crate::exchange::{Exchange, Head, Source};

/// The bytes of a frame, from those of its part of the exchange, of which `raw` holds [`Source::raw_length`] from the frame's
/// place on. The exchange is asked how they are compressed, if they are. Of a `raw` that is shorter, or of another exchange,
/// comes as much as can be made of it.
#[must_use]
pub fn frame_bytes(raw: &[u8], source: &Source, exchange: Option<&Exchange>) -> Bytes {
    let decoded;
    let mut raw = raw;
    if source.compressed {
        let nothing = Head::default();
        let head = match source.part {
            HttpPart::ResponseBody => exchange.and_then(|exchange| exchange.response.as_ref()),
            _ => exchange.map(|exchange| &exchange.request),
        };
        decoded = Codings::of(head.unwrap_or(&nothing)).decode(raw).map(|(decoded, _)| decoded).unwrap_or_default();
        raw = &decoded;
    }
    let Some(number) = source.event else {
        return Bytes::copy_from_slice(raw);
    };
    let mut cutter = EventCutter::new();
    let wanted = if source.compressed { number } else { 1 };
    let mut found: Option<SseEvent> = None;
    let mut take = |cut: crate::events::CutEvent| {
        if cut.number == wanted {
            found = Some(cut.event);
        }
    };
    if !source.compressed && 1 < number {
        // So that a byte order mark is not taken for that of the stream.
        cutter.feed(b"\n", &mut take);
    }
    cutter.feed(raw, &mut take);
    if let Some(cut) = cutter.finish() {
        take(cut);
    }
    found.and_then(|event| event.data).unwrap_or_default()
}
