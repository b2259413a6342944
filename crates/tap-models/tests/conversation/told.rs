//! Turns and events in a few words, as the tables have them.

use tap_models::{Format, ModelEvent, ModelFailure, ModelTurn, Reader};

/// A turn: its text, calls, why it stopped, what it took.
pub(crate) fn told(turn: &ModelTurn) -> String {
    let calls = turn.calls.iter().map(|call| match call {
        Ok(call) => format!(" {}={}{}", call.id.as_deref().unwrap_or("-"), call.name, call.arguments),
        Err(wrong) => format!(" ({wrong})"),
    });
    let usage = turn
        .usage
        .map(|usage| format!(" {}+{} of {} cached", usage.input_tokens, usage.output_tokens, usage.cached_tokens));
    format!("{:?}{} {}{}", turn.text, calls.collect::<String>(), turn.stop.name(), usage.unwrap_or_default())
}

/// What comes of a stream that comes in pieces, each as long as `cut` says.
pub(crate) fn read(format: Format, stream: &[u8], mut cut: impl FnMut() -> usize) -> Vec<ModelEvent> {
    let mut reader = Reader::new(format);
    let mut events = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut().clamp(1, rest.len()));
        events.extend(reader.push(piece));
        rest = after;
    }
    events.extend(reader.finish());
    events
}

/// How a stream ended, and what was shown of its text.
pub(crate) fn end(events: &[ModelEvent]) -> (Result<&ModelTurn, &ModelFailure>, String) {
    let shown = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    let end = match events.last().expect("a stream has an end") {
        ModelEvent::Done(turn) => Ok(&**turn),
        ModelEvent::Failed(failure) => Err(failure),
        other => panic!("{other:?} is no end"),
    };
    (end, shown.collect())
}
