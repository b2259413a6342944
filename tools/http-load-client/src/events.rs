//! Cutting the body of an event stream into events.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tap_http_echo_server::event::END;

use crate::error::PhaseError;

/// The events of one stream, in the form in which the echo server writes them.
#[derive(Debug)]
pub(crate) struct Events {
    body: Incoming,
    buffer: Buffer,
    doing: &'static str,
}

impl Events {
    pub(crate) fn new(body: Incoming, doing: &'static str) -> Self {
        Self { body, buffer: Buffer::default(), doing }
    }

    /// The next event with the empty line that ends it; `None` at the end of the stream. What comes after the last
    /// whole event is given as one.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, PhaseError> {
        loop {
            if let Some(event) = self.buffer.take_event() {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.0.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(source)) => return Err(PhaseError::Http { doing: self.doing, source }),
                None => return Ok(self.buffer.take_rest()),
            }
        }
    }
}

/// What came and is not yet taken.
#[derive(Debug, Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn take_event(&mut self) -> Option<Vec<u8>> {
        let end = self.0.windows(END.len()).position(|window| window == END)? + END.len();
        let rest = self.0.split_off(end);
        Some(std::mem::replace(&mut self.0, rest))
    }

    fn take_rest(&mut self) -> Option<Vec<u8>> {
        (!self.0.is_empty()).then(|| std::mem::take(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_wherever_the_chunks_end() {
        let input = b"data: a\n\nid: 1\ndata: b\n\nrest";
        for chunk in 1..=input.len() {
            let (mut buffer, mut events) = (Buffer::default(), Vec::new());
            for piece in input.chunks(chunk) {
                buffer.0.extend_from_slice(piece);
                while let Some(event) = buffer.take_event() {
                    events.push(String::from_utf8(event).unwrap());
                }
            }
            assert_eq!(events, ["data: a\n\n", "id: 1\ndata: b\n\n"], "chunks of {chunk}");
            assert_eq!(buffer.take_rest().as_deref(), Some(&b"rest"[..]));
            assert_eq!(buffer.take_rest(), None);
        }
    }
}
