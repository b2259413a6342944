//! Frames of a text recording, one after another, without a database: for whoever plays a large one and cannot wait until
//! all of it was read.

use std::io::{BufRead, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use tap_frame::Frame;
use tap_session::Recorded;

use super::Profile;
use super::import::{Found, Reading, Record, body};
use super::records::Records;
use crate::error::StoreError;
use crate::writer::Transport;

/// Where in a text file a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    /// The line on which its record begins, from 1.
    pub line: u64,
    /// Where its record begins, bytes from the beginning of the file.
    pub at: u64,
}

/// A frame of a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFrame {
    /// The frame.
    pub frame: Frame,
    /// Where it is.
    pub place: TextPlace,
    /// Whether what looks like a placeholder in it is text.
    pub is_literal: bool,
    /// Of what a debugger did: the number of the message that it did it to.
    pub of: Option<u64>,
}

/// Reads the frames of a recording over stdio in order. They have the numbers that they would have after an
/// [import](super::import).
pub struct TextFrames<'a, R> {
    reading: Reading<'a, R>,
    found: Found,
    transport: Transport,
    profile: Profile,
    rules: Option<String>,
    has_acts: bool,
}

impl<'a, R: BufRead + Seek> TextFrames<'a, R> {
    /// Reads the header. `name` is the file's, for errors. A fixture is read once to its end, for its times.
    ///
    /// # Errors
    ///
    /// [`StoreError::Text`] when it is no recording, or of a format that this version does not know.
    pub fn open(input: R, name: &'a Path) -> Result<Self, StoreError> {
        let (opened, reading) = Reading::open(input, name)?;
        let found = Found::new(opened.start.opened_unix_ns);
        let (transport, profile, rules) = (opened.start.transport, opened.profile, opened.rules);
        Ok(Self { reading, found, transport, profile, rules, has_acts: opened.has_acts })
    }

    /// What the session was recorded over. Of one over HTTP there are no frames here.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// How much of its session the file holds.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What the header has as `rules`, JSON.
    #[must_use]
    pub fn rules(&self) -> Option<&str> {
        self.rules.as_deref()
    }

    /// Whether a debugger did something that is in it.
    #[must_use]
    pub fn has_acts(&self) -> bool {
        self.has_acts
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`StoreError::Text`] names the line that makes no sense.
    pub fn next_frame(&mut self) -> Result<Option<TextFrame>, StoreError> {
        while let Some(recorded) = self.reading.next_recorded(&mut self.found)? {
            if let Recorded::Frame(frame) = recorded {
                let (line, at) = self.reading.place();
                let is_literal = self.reading.is_literal();
                let of = frame.act().and_then(|_| self.reading.act_of());
                return Ok(Some(TextFrame { frame, place: TextPlace { line, at }, is_literal, of }));
            }
        }
        Ok(None)
    }
}

/// The bytes of the frame whose record begins at a place of a text recording, once more.
///
/// # Errors
///
/// When the file cannot be read, or has changed.
pub fn text_frame(mut input: impl BufRead + Seek, name: &Path, place: TextPlace) -> Result<Bytes, StoreError> {
    input.seek(SeekFrom::Start(place.at)).map_err(|source| StoreError::Io { path: name.into(), source })?;
    let mut records = Records::new(input, name);
    let has_changed = || StoreError::Text {
        path: name.into(),
        line: place.line,
        problem: "the file has changed since it was read".into(),
    };
    if !records.advance()? {
        return Err(has_changed());
    }
    let record: Record<'_> = serde_json::from_slice(records.record()).map_err(|_| has_changed())?;
    match body(&record) {
        Ok(Some(body)) => Ok(body.bytes.into()),
        Ok(None) | Err(_) => Err(has_changed()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const TEXT: &str = "{\"mcp-tap\":\"recording/1\",\"profile\":\"lossless\",\"rules\":{\"ignore\":[\"arg.a\"]}}\n\
        {\"to\":\"server\",\"at\":0.5,\"literal\":true,\"msg\":{\"id\":1}}\n\
        {\"stderr\":\"x\"}\n\
        {\"to\":\"client\",\"msg\":{\n \"id\":1,\n \"result\":{}\n}}\n\
        {\"end\":\"exited\",\"exit\":0}\n";

    #[test]
    fn frames_come_with_their_places_and_can_be_read_again() {
        let name = Path::new("x.jsonl");
        let mut frames = TextFrames::open(Cursor::new(TEXT), name).expect("a recording");
        assert_eq!(frames.rules(), Some("{\"ignore\":[\"arg.a\"]}"));
        let mut found = Vec::new();
        while let Some(TextFrame { frame, place, is_literal, .. }) = frames.next_frame().expect("records") {
            let again = text_frame(Cursor::new(TEXT), name, place).expect("the same file");
            assert_eq!(again, frame.bytes);
            found.push((frame.seq, place.line, String::from_utf8_lossy(&frame.bytes).into_owned()));
            assert_eq!(is_literal, frame.seq == 1);
        }
        let expected = [(1, 2, "{\"id\":1}\n"), (2, 3, "x\n"), (3, 4, "{\"id\":1,\"result\":{}}\n")];
        assert_eq!(found, expected.map(|(seq, line, text)| (seq, line, text.to_owned())));
        assert!(text_frame(Cursor::new("{}"), name, TextPlace { line: 2, at: 1 }).is_err());
    }
}
