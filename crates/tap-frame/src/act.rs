//! What a person or a rule did to the traffic, and how that is written down.
//!
//! What was received is recorded as always, at the read, before anything is done to it. An act stands beside it: it says
//! which message it was done to, what went on in its place, and who did it, so that both versions are kept.
//!
//! Its text is part of the database format and of that of text recordings:
//!
//! ```text
//! act/1 edited to-server
//! message: 1234
//! held: 2000000000
//! by: breakpoint 2
//!
//! {"jsonrpc":"2.0","id":7,"method":"tools/call", ...}
//! ```
//!
//! A first line (version, [name](Deed::name) of the deed, stream), fields a line each, an empty line, and the bytes that
//! were sent. Fields that are not known are passed over, so that later ones can be added; what changes the meaning of the
//! known ones gets a new version.

use std::fmt::Write as _;

use bytes::Bytes;

use crate::Stream;

/// What the first line begins with.
const VERSION: &str = "act/1";

/// What was done.
///
/// A message that is not named by any act went on as it came. Of several acts on one message the last one says what became
/// of it; all but [`Held`](Self::Held), [`Slowed`](Self::Slowed) and [`Duplicated`](Self::Duplicated) are the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deed {
    /// It is held: nothing has gone on yet. Another act says what became of it; if none follows, it never went on.
    Held,
    /// It went on as it came, after it was held by hand or at a breakpoint.
    Released,
    /// [`bytes`](Act::bytes) went on in its place.
    Edited,
    /// It did not go on.
    Dropped,
    /// It did not go on; [`bytes`](Act::bytes) went back to whoever sent it, in the other side's place.
    Answered,
    /// [`bytes`](Act::bytes) went out that nobody had sent.
    Injected,
    /// It went on as it came, later, because a rule says so.
    Delayed,
    /// It went on as it came, and [`bytes`](Act::bytes), which are the same, went besides.
    Duplicated,
    /// It went on as it came, but after messages that had come later.
    Reordered,
    /// [`bytes`](Act::bytes), the beginning of it, went on in its place.
    Truncated,
    /// [`bytes`](Act::bytes), damaged, went on in its place.
    Corrupted,
    /// It went on as it came, a little at a time.
    Slowed,
    /// The stream, or over HTTP the exchange, was closed by us. What it was done to, if anything, did not go on.
    Closed,
    /// The server was killed by us. What it was done to, if anything, did not go on.
    Crashed,
}

/// What became of the message that something was done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Became {
    /// Not known yet.
    Waiting,
    /// It went on as it came.
    WentOn,
    /// Something else went on in its place.
    Replaced,
    /// It did not go on.
    Stopped,
}

impl Deed {
    /// All deeds, in the order of their codes.
    pub const ALL: [Self; 14] = [
        Self::Held,
        Self::Released,
        Self::Edited,
        Self::Dropped,
        Self::Answered,
        Self::Injected,
        Self::Delayed,
        Self::Duplicated,
        Self::Reordered,
        Self::Truncated,
        Self::Corrupted,
        Self::Slowed,
        Self::Closed,
        Self::Crashed,
    ];

    /// The number that stands for the deed in stored data. Never changes its meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The deed with this [`code`](Self::code), if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// What it is called, in the text of an act and in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Released => "released",
            Self::Edited => "edited",
            Self::Dropped => "dropped",
            Self::Answered => "answered",
            Self::Injected => "injected",
            Self::Delayed => "delayed",
            Self::Duplicated => "duplicated",
            Self::Reordered => "reordered",
            Self::Truncated => "truncated",
            Self::Corrupted => "corrupted",
            Self::Slowed => "slowed",
            Self::Closed => "closed",
            Self::Crashed => "crashed",
        }
    }

    /// The deed with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|deed| deed.name() == name)
    }

    /// What became of the message that it was done to.
    #[must_use]
    pub fn became(self) -> Became {
        match self {
            Self::Held => Became::Waiting,
            Self::Released | Self::Injected | Self::Delayed | Self::Duplicated | Self::Reordered | Self::Slowed => {
                Became::WentOn
            }
            Self::Edited | Self::Truncated | Self::Corrupted => Became::Replaced,
            Self::Dropped | Self::Answered | Self::Closed | Self::Crashed => Became::Stopped,
        }
    }

    /// Whether bytes went out that nobody had sent: there is something to see of it besides the message it was done to.
    #[must_use]
    pub fn sends(self) -> bool {
        matches!(
            self,
            Self::Edited | Self::Answered | Self::Injected | Self::Duplicated | Self::Truncated | Self::Corrupted
        )
    }

    /// Whether it is there to see how others take it: something that goes wrong on purpose.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Delayed
                | Self::Duplicated
                | Self::Reordered
                | Self::Truncated
                | Self::Corrupted
                | Self::Slowed
                | Self::Closed
                | Self::Crashed
        )
    }
}

/// Something that was done to the traffic by a person or a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What was done.
    pub deed: Deed,
    /// The stream of the message that it was done to; without one, the stream that [`bytes`](Self::bytes) went out on. Never
    /// stderr, which has no messages.
    pub stream: Stream,
    /// Where in the received stream the message begins: how many bytes were read from the stream before it since the
    /// session began, lost ones included. Over HTTP in the body that it is in, decoded where that is compressed. `None`
    /// where nothing was received.
    pub message: Option<u64>,
    /// How long the message was kept from going on, nanoseconds; 0 where it was not.
    pub held_ns: u64,
    /// Who did it, as it is to be shown: `breakpoint 2`, `fault tool:x -> delay:2s`, `mcp-tap release`. One line.
    pub by: String,
    /// Over HTTP: the status that was sent in place of the server's.
    pub status: Option<u16>,
    /// What was sent: one message, over stdio with its line ending. Empty where the deed does not [send](Deed::sends).
    pub bytes: Bytes,
    /// Bytes that were sent and found no room in the recording; [`bytes`](Self::bytes) is empty then.
    pub lost_bytes: u64,
}

impl Act {
    /// An act on `stream` by somebody, with nothing more to say.
    #[must_use]
    pub fn new(deed: Deed, stream: Stream, by: impl Into<String>) -> Self {
        Self {
            deed,
            stream,
            message: None,
            held_ns: 0,
            by: by.into(),
            status: None,
            bytes: Bytes::new(),
            lost_bytes: 0,
        }
    }

    /// The stream that [`bytes`](Self::bytes) went out on: that of the message, or back where it was answered.
    #[must_use]
    pub fn sent_on(&self) -> Stream {
        match (self.deed, self.stream) {
            (Deed::Answered, Stream::ToServer) => Stream::ToClient,
            (Deed::Answered, Stream::ToClient) => Stream::ToServer,
            (_, stream) => stream,
        }
    }

    /// Whether it was done by a rule that makes things go wrong, whatever it did.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.deed.is_fault() || self.by.starts_with("fault ")
    }

    /// Appends the text of the act to `out`, without the bytes: they follow it as they are.
    pub fn write_head(&self, out: &mut Vec<u8>) {
        let mut text = format!("{VERSION} {} {}\n", self.deed.name(), stream_name(self.stream));
        let mut field = |name: &str, number: u64| {
            let _ = writeln!(text, "{name}: {number}");
        };
        if let Some(message) = self.message {
            field("message", message);
        }
        if self.held_ns > 0 {
            field("held", self.held_ns);
        }
        if let Some(status) = self.status {
            field("status", status.into());
        }
        if self.lost_bytes > 0 {
            field("lost", self.lost_bytes);
        }
        if !self.by.is_empty() {
            text.push_str("by: ");
            text.extend(self.by.chars().map(|char| if char.is_control() { ' ' } else { char }));
            text.push('\n');
        }
        text.push('\n');
        out.extend_from_slice(text.as_bytes());
    }

    /// The text of the act.
    #[must_use]
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write_head(&mut text);
        text.extend_from_slice(&self.bytes);
        text
    }

    /// Reads the text of an act. `None` where it is none, or is of a version that is not known.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut act = Self::read_head(text)?;
        act.bytes = Bytes::copy_from_slice(text.get(sent_offset(text)?..)?);
        Some(act)
    }

    /// The same without the bytes that were sent, which may be many.
    #[must_use]
    pub fn read_head(text: &[u8]) -> Option<Self> {
        let head = text.get(..sent_offset(text)?)?;
        let mut lines = std::str::from_utf8(head).ok()?.lines();
        let mut words = lines.next()?.split(' ');
        let (version, deed, stream) = (words.next()?, words.next()?, words.next()?);
        if version != VERSION || words.next().is_some() {
            return None;
        }
        let mut act = Self::new(Deed::from_name(deed)?, stream_named(stream)?, "");
        for line in lines {
            let Some((name, value)) = line.split_once(": ") else {
                continue;
            };
            match name {
                "message" => act.message = Some(value.parse().ok()?),
                "held" => act.held_ns = value.parse().ok()?,
                "status" => act.status = Some(value.parse().ok()?),
                "lost" => act.lost_bytes = value.parse().ok()?,
                "by" => act.by = value.into(),
                _ => {}
            }
        }
        Some(act)
    }
}

/// Where in the text of an act the bytes begin that were sent.
#[must_use]
pub fn sent_offset(text: &[u8]) -> Option<usize> {
    Some(text.windows(2).position(|pair| pair == b"\n\n")? + 2)
}

fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::ToServer => "to-server",
        Stream::ToClient => "to-client",
        Stream::Stderr => "stderr",
    }
}

fn stream_named(name: &str) -> Option<Stream> {
    // stderr has no messages.
    [Stream::ToServer, Stream::ToClient].into_iter().find(|stream| stream_name(*stream) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn acts() -> impl Strategy<Value = Act> {
        let sent = prop_oneof![
            Just((Vec::new(), 0)),
            prop::collection::vec(any::<u8>(), 1..60).prop_map(|bytes| (bytes, 0)),
            (1..u64::MAX).prop_map(|lost| (Vec::new(), lost)),
        ];
        let what = (prop::sample::select(&Deed::ALL[..]), prop::sample::select(&Stream::ALL[..2]));
        let numbers = (any::<Option<u64>>(), any::<u64>(), any::<Option<u16>>());
        (what, numbers, "[^\\p{Cc}]{0,40}", sent).prop_map(
            |((deed, stream), (message, held_ns, status), by, (bytes, lost_bytes))| Act {
                deed,
                stream,
                message,
                held_ns,
                by,
                status,
                bytes: bytes.into(),
                lost_bytes,
            },
        )
    }

    proptest! {
        #[test]
        fn an_act_is_read_as_it_was_written(act in acts()) {
            let text = act.to_text();
            prop_assert_eq!(sent_offset(&text).map(|offset| &text[offset..]), Some(&act.bytes[..]));
            prop_assert_eq!(Act::read(&text), Some(act));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), cut in 0..200usize, act in acts()) {
            prop_assert_eq!(Act::read(&bytes), None);
            let text = act.to_text();
            let _ = Act::read(&text[..cut.min(text.len())]);
        }

        #[test]
        fn who_did_it_stays_on_one_line(by in any::<String>()) {
            let act = Act { message: Some(3), ..Act::new(Deed::Dropped, Stream::ToServer, by) };
            let read = Act::read(&act.to_text()).unwrap();
            prop_assert_eq!((read.deed, read.message, read.bytes.len()), (Deed::Dropped, Some(3), 0));
        }
    }

    #[test]
    fn the_text_is_as_it_is_documented() {
        let act = Act {
            message: Some(1234),
            held_ns: 2_000_000_000,
            bytes: Bytes::from_static(b"{}\n"),
            ..Act::new(Deed::Edited, Stream::ToServer, "breakpoint 2")
        };
        let text = "act/1 edited to-server\nmessage: 1234\nheld: 2000000000\nby: breakpoint 2\n\n{}\n";
        assert_eq!(String::from_utf8(act.to_text()).unwrap(), text);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        for (text, expected) in [
            ("act/1 held to-server\nlater: 5\nby: x\n\n", Some(Act::new(Deed::Held, Stream::ToServer, "x"))),
            ("act/2 held to-server\n\n", None),
            ("act/1 praised to-server\n\n", None),
            ("act/1 held to-nobody\n\n", None),
            ("act/1 held to-server more\n\n", None),
            ("act/1 held to-server\nmessage: -1\n\n", None),
            ("act/1 held to-server\n", None),
        ] {
            assert_eq!(Act::read(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn codes_and_names_are_for_ever() {
        let all: Vec<_> = Deed::ALL.iter().map(|deed| format!("{} {}", deed.code(), deed.name())).collect();
        let expected = "0 held, 1 released, 2 edited, 3 dropped, 4 answered, 5 injected, 6 delayed, 7 duplicated, \
                        8 reordered, 9 truncated, 10 corrupted, 11 slowed, 12 closed, 13 crashed";
        assert_eq!(all.join(", "), expected);
        for deed in Deed::ALL {
            assert_eq!((Deed::from_code(deed.code()), Deed::from_name(deed.name())), (Some(deed), Some(deed)));
        }
    }

    #[test]
    fn an_answer_in_the_other_sides_place_goes_back() {
        for (deed, stream, sent_on) in [
            (Deed::Answered, Stream::ToServer, Stream::ToClient),
            (Deed::Answered, Stream::ToClient, Stream::ToServer),
            (Deed::Edited, Stream::ToServer, Stream::ToServer),
        ] {
            assert_eq!(Act::new(deed, stream, "").sent_on(), sent_on, "{deed:?}");
        }
    }
}
