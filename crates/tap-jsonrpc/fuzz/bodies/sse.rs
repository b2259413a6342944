//! The body of the target `sse`.

use bytes::Bytes;
use tap_jsonrpc::{SseEvent, SseSplitter};

use super::cuts;

/// Target `sse`: no cutting into chunks changes the events, and they are those that a slow and simple reader finds.
pub(crate) fn sse(input: &[u8]) {
    let expected = slow_events(input);
    for limit_bytes in [usize::MAX, 10] {
        let mut splitter = SseSplitter::with_limit(limit_bytes);
        let mut events = Vec::new();
        splitter.feed(input, &mut |event| events.push(event));
        events.extend(splitter.finish());
        if limit_bytes == usize::MAX {
            assert_eq!(events, expected);
        }
        let kept = |part: &Option<Bytes>| part.as_ref().map_or(0, Bytes::len);
        for event in &events {
            // Two lines of data are joined by a byte that is on neither.
            let lines = event.data.iter().flat_map(|data| data.iter()).filter(|&&byte| byte == b'\n').count();
            assert!(kept(&event.event) + kept(&event.id) + kept(&event.data) - lines <= limit_bytes);
        }
        for chunks in cuts(input) {
            let mut again = Vec::new();
            for chunk in &chunks {
                splitter.feed(chunk, &mut |event| again.push(event));
            }
            again.extend(splitter.finish());
            assert_eq!(again, events, "chunks: {chunks:?}");
        }
    }
}

/// The events of a whole stream, the unfinished one included, in the words of the specification.
fn slow_events(input: &[u8]) -> Vec<SseEvent> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let mut lines = vec![Vec::new()];
    let mut bytes = input.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\n' | b'\r' => {
                if byte == b'\r' {
                    bytes.next_if(|&&next| next == b'\n');
                }
                lines.push(Vec::new());
            }
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    // The end of the stream ends the last event.
    lines.push(Vec::new());
    let (mut events, mut event, mut data) = (Vec::new(), SseEvent::default(), Vec::new());
    for line in lines {
        if line.is_empty() {
            if !data.is_empty() {
                event.data = Some(Bytes::from(data.join(&b'\n')));
            }
            if event != SseEvent::default() {
                events.push(event);
            }
            (event, data) = (SseEvent::default(), Vec::new());
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => data.push(value.to_vec()),
            b"event" => event.event = Some(Bytes::copy_from_slice(value)),
            b"id" if !value.contains(&0) => event.id = Some(Bytes::copy_from_slice(value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                event.retry_ms = Some(std::str::from_utf8(value).unwrap().parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    events
}
