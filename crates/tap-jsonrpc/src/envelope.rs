//! Envelopes: what one unit turned out to be.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::notes::Notes;
use memchr::memchr;

use crate::text::{decode_string, resolve_escapes};
use crate::value::{Captures, clip};

/// What a scan found out about one unit, usually a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// What the unit says.
    pub content: Content,
    /// Everything that was odd about it, the notes of its messages included.
    pub notes: Notes,
    /// How many bytes it has, line ending and byte order mark included.
    pub length: u64,
}

/// What a unit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing, or whitespace alone.
    Blank,
    /// One message.
    Message(Envelope),
    /// An array, which JSON-RPC calls a batch. Allowed in revision 2025-03-26 alone.
    Batch(Batch),
    /// One JSON value that is no message.
    NotAMessage(NotAMessage),
    /// Not one JSON value.
    NotJson(EnvelopeError),
}

/// What a message says to whoever carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Which of the four messages of JSON-RPC it is.
    pub kind: Kind,
    /// The id. Absent from a notification and perhaps from an error; also when it is an object or an array, which is noted.
    pub id: Option<RawId>,
    /// The method, decoded; there for requests and notifications.
    pub method: Option<String>,
    /// Whether there is a member `params`, whatever its value.
    pub has_params: bool,
    /// The watched members that are there.
    pub captures: Captures,
    /// What is odd about this message. Notes about text, such as invalid UTF-8, are with the unit.
    pub notes: Notes,
}

/// The four messages of JSON-RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `method` and `id`, even an id of `null`.
    Request,
    /// `method` and no `id`.
    Notification,
    /// `result` and `id`, no `method`.
    Result,
    /// `error`, no `method`. The id may be `null` or absent: whoever could not read the question cannot name it.
    Error,
}

/// A JSON value that is none of the four messages, with what could be told all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAMessage {
    /// Why it is none.
    pub why: Misfit,
    /// The id, if there is one.
    pub id: Option<RawId>,
    /// The method, if it is a string.
    pub method: Option<String>,
    /// The watched members that are there.
    pub captures: Captures,
    /// What else is odd about it.
    pub notes: Notes,
}

/// Why a JSON value is no message. Where several reasons hold, the first of these is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misfit {
    /// A number, string or literal; in a batch also an array.
    #[error("not an object")]
    NotAnObject,
    /// There is a method, and it is not a string.
    #[error("the method is not a string")]
    MethodNotAString,
    /// A method beside a result or an error other than `null`: question and answer at once.
    #[error("has a method and also a result or an error")]
    MethodAndOutcome,
    /// A result and an error, neither of them `null`.
    #[error("has both a result and an error")]
    ResultAndError,
    /// None of method, result and error: most likely somebody's log line.
    #[error("has no method, result or error")]
    NoMember,
    /// A result that answers nothing.
    #[error("has a result but no id")]
    ResultWithoutId,
    /// `error` is no object and there is no id either: most likely somebody's log line.
    #[error("has no id, and its error is not an object")]
    ErrorNotAnObject,
}

/// The members of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The members from the first on, so that the index in here is the index in the array.
    ///
    /// At most 10,000, and no more after one with which 16 MiB of ids, methods and captures are kept.
    pub members: Vec<Member>,
    /// How many members the array has, those that are not kept included.
    pub n_members: u64,
}

/// One member of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// A message.
    Message(Envelope),
    /// Something else.
    NotAMessage(NotAMessage),
}

/// Why a unit is not one JSON value. Offsets count bytes from the start of the unit, a byte order mark included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum EnvelopeError {
    /// A byte that cannot follow those before it.
    #[error("not JSON from byte {offset} on")]
    NotJson {
        /// The first bad byte.
        offset: u64,
    },
    /// The start of a value without its end.
    #[error("a JSON value is cut off at byte {offset}")]
    Truncated {
        /// The length of the unit.
        offset: u64,
    },
    /// A whole value, and more that is JSON as well.
    #[error("a second JSON value starts at byte {offset}")]
    SeveralValues {
        /// The first byte of the second value.
        offset: u64,
    },
    /// More than a million objects and arrays inside one another.
    #[error("nested deeper than 1000000 levels at byte {offset}")]
    TooDeep {
        /// The bracket that is one too many.
        offset: u64,
    },
}

/// An id as it was written: `1`, `1.0`, `1e0` and `"1"` are four different ids.
///
/// A peer that answers with another spelling of the same number broke the rule that ids come back as they were; whoever
/// pairs messages decides what to do about it. A text, though, is the same with any escapes: `"a\/b"` is `"a/b"` and
/// `"\u00e9"` is `"é"`, since encoders differ in what they escape and no peer can tell. Ids are ordered by their bytes,
/// escapes resolved, which is no order of numbers.
#[derive(Clone)]
pub struct RawId(Repr);

/// Short ids, which nearly all are, lie where the id lies: an id is cloned several times a message.
#[derive(Clone)]
enum Repr {
    Short { length: u8, bytes: [u8; SHORT_BYTES] },
    Long(Box<[u8]>),
    Escaped(Box<EscapedText>),
}

/// A text with escapes, and the same without those that need not be.
#[derive(Clone)]
struct EscapedText {
    written: Box<[u8]>,
    resolved: Box<[u8]>,
}

/// With its length and its kind it takes as much room as a boxed slice and a bit: 24 bytes.
const SHORT_BYTES: usize = 22;

impl RawId {
    /// Keeps `token`, a JSON scalar without whitespace around it, or its first
    /// [`TOKEN_LIMIT_BYTES`](crate::TOKEN_LIMIT_BYTES).
    #[must_use]
    pub fn from_token(token: &[u8]) -> Self {
        if token.starts_with(b"\"") && memchr(b'\\', token).is_some() {
            let token = clip(token);
            let resolved = resolve_escapes(token).into();
            return Self(Repr::Escaped(Box::new(EscapedText { written: token.into(), resolved })));
        }
        let mut bytes = [0; SHORT_BYTES];
        match (bytes.get_mut(..token.len()), u8::try_from(token.len())) {
            (Some(part), Ok(length)) => {
                part.copy_from_slice(token);
                Self(Repr::Short { length, bytes })
            }
            _ => Self(Repr::Long(clip(token).into())),
        }
    }

    /// The token, quotes included.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Repr::Long(bytes) => bytes,
            Repr::Escaped(text) => &text.written,
        }
    }

    /// What ids are compared by.
    fn resolved(&self) -> &[u8] {
        match &self.0 {
            Repr::Short { .. } | Repr::Long(_) => self.as_bytes(),
            Repr::Escaped(text) => &text.resolved,
        }
    }

    /// Whether it is `null`, with which no two messages can be paired.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_bytes() == b"null"
    }

    /// The text of a string id, decoded as [`decode_string`] does; `None` for a number.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.as_bytes().starts_with(b"\"").then(|| decode_string(self.as_bytes()).into_owned())
    }
}

impl PartialEq for RawId {
    fn eq(&self, other: &Self) -> bool {
        self.resolved() == other.resolved()
    }
}

impl Eq for RawId {}

impl Hash for RawId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.resolved().hash(state);
    }
}

impl PartialOrd for RawId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RawId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.resolved().cmp(other.resolved())
    }
}

/// As written, so that `92` and `"92"` look different. Bytes that are not UTF-8 become U+FFFD and control characters are
/// escaped.
impl fmt::Display for RawId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in String::from_utf8_lossy(self.as_bytes()).chars() {
            if character.is_control() {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                write!(formatter, "{character}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RawId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RawId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_compared_as_written() {
        let spellings: Vec<_> =
            ["1", "1.0", "1e0", "\"1\"", "\"\\u0032\"", "null"].map(|token| RawId::from_token(token.as_bytes())).into();
        let different: std::collections::BTreeSet<_> = spellings.iter().collect();
        assert_eq!(different.len(), spellings.len());
        assert_eq!(RawId::from_token(b"1"), spellings[0]);
        assert!(spellings[5].is_null() && !spellings[0].is_null());
        assert!(!RawId::from_token(b"\"null\"").is_null());
    }

    #[test]
    fn an_id_is_shown_as_written_without_control_characters() {
        for (token, shown) in [
            (&b"92"[..], "92"),
            (b"\"92\"", "\"92\""),
            (b"12345678901234567890123", "12345678901234567890123"),
            (b"\"a\\n\"", "\"a\\n\""),
            (b"\"a\x1b[2J\n\"", "\"a\\u{1b}[2J\\n\""),
            (b"\"\xff\"", "\"\u{fffd}\""),
            ("\"\u{9b}2J\"".as_bytes(), "\"\\u{9b}2J\""),
        ] {
            assert_eq!(RawId::from_token(token).to_string(), shown);
        }
    }

    #[test]
    fn a_text_is_the_same_with_any_escapes() {
        for (one, other, same) in [
            (r#""a/b""#, r#""a\/b""#, true),
            ("\"é\"", r#""\u00e9""#, true),
            (r#""\u0031""#, r#""1""#, true),
            (r#""\u0031""#, "1", false),
            (r#""\ud83d\ude00""#, "\"😀\"", true),
            (r#""\ud83d""#, "\"\u{fffd}\"", false),
            (r#""\ud83d""#, r#""\uD83D""#, true),
            (r#""\ud83d""#, r#""\ude00""#, false),
            (r#""\n""#, r#""\u000a""#, true),
            (r#""\\n""#, r#""\n""#, false),
            (r#""\"""#, r#""\u0022""#, true),
        ] {
            let [one, other] = [one, other].map(|token| RawId::from_token(token.as_bytes()));
            assert_eq!(one == other, same, "{one} and {other}");
            assert_eq!(one.cmp(&other) == Ordering::Equal, same);
        }
        assert_eq!(RawId::from_token(br#""a\/b""#).to_string(), r#""a\/b""#, "shown as written");
    }

    #[test]
    fn an_id_is_the_same_whatever_its_length() {
        for length in 0..60 {
            let token = vec![b'7'; length];
            let id = RawId::from_token(&token);
            assert_eq!(id.as_bytes(), token);
            assert_eq!(id, id.clone());
            assert!(id < RawId::from_token(&[&token[..], b"7"].concat()));
        }
        assert_eq!(RawId::from_token(&[b'1'; 10_000]).as_bytes().len(), crate::TOKEN_LIMIT_BYTES);
        assert_eq!(size_of::<RawId>(), 24);
    }

    #[test]
    fn a_string_id_has_a_text() {
        assert_eq!(RawId::from_token(b"\"\\u0061\"").text().as_deref(), Some("a"));
        assert_eq!(RawId::from_token(b"7").text(), None);
    }
}
