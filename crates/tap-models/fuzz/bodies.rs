//! The body of the fuzz target: what must hold for every answer of a provider, or else it panics.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/fuzz.rs` runs it over the corpus
//! and mutations of it in every test run.

use serde_json::value::RawValue;
use tap_models::{
    Format, ModelEvent, ModelRequest, ModelTurn, Part, Reader, Turn, read_answer, read_failure, request_body, sampling,
    sampling_result,
};

/// Target `answer`: a number, which says the format and how the stream is cut, and the bytes of an answer.
pub(crate) fn answer(input: &[u8]) {
    let Some((first, answer)) = input.split_first() else {
        return;
    };
    let format = Format::ALL[usize::from(first % 4)];
    let whole = read(format, answer, usize::MAX);
    let pieces = read(format, answer, usize::from(first / 4) + 1);
    assert_eq!(whole, pieces, "the same comes of a stream however it is cut");
    let n_ends = whole.iter().filter(|event| matches!(event, ModelEvent::Done(_) | ModelEvent::Failed(_))).count();
    assert!(n_ends == 1, "there is one end");
    if let Some(ModelEvent::Done(turn)) = whole.last() {
        told(turn);
        let shown = whole.iter().filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(text.as_str()),
            _ => None,
        });
        // What is shown need not be all of it where a provider contradicts itself, but none of it is lost.
        let shown: String = shown.collect();
        assert!(shown.len() >= turn.text.len() || !turn.text.starts_with(&shown), "{shown:?} of {:?}", turn.text);
    }
    if let Ok(turn) = read_answer(format, answer) {
        told(&turn);
    }
    let _ = read_failure(500, answer).to_string();
    if let Ok(sampling) = sampling(format, answer) {
        is_json(&request_body(format, &sampling.request("m"), false));
    }
}

fn read(format: Format, bytes: &[u8], size: usize) -> Vec<ModelEvent> {
    let mut reader = Reader::new(format);
    let mut events: Vec<ModelEvent> = Vec::new();
    for piece in bytes.chunks(size) {
        events.extend(reader.push(piece));
    }
    events.extend(reader.finish());
    assert!(reader.push(b"data: {}\n\n").is_empty() && reader.finish().is_empty(), "nothing comes after the end");
    events
}

/// Whatever was answered can be sent back, to anybody.
fn told(turn: &ModelTurn) {
    is_json(&sampling_result(turn, "m"));
    let results = turn.to_answer().map(|call| (call, b"{\"content\":[]}".to_vec())).collect();
    let turns = [
        Turn::User(vec![Part::Text("hi".into())]),
        Turn::Model(turn.clone()),
        Turn::Results(results),
        Turn::User(vec![Part::Text("and".into())]),
    ];
    for format in Format::ALL {
        for turns in [&turns[..], &turns[..2]] {
            is_json(&request_body(format, &ModelRequest::new("m", turns), true));
        }
    }
}

fn is_json(text: &str) {
    assert!(serde_json::from_str::<&RawValue>(text).is_ok(), "{text}");
}
