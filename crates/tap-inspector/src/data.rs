//! What is shown: sessions, rows, messages, states, as they come from outside.

use std::sync::Arc;

use tap_frame::Direction;
use tap_session::{At, MessageRow, RowKind, Severity, Status};

/// A session, by its number in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(pub i64);

/// When something began, as people write it where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Began {
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// In the year that it is now: `Nov 30 12:00`.
    pub this_year: String,
    /// In another one: `2025-11-30 12:00`.
    pub other_year: String,
}

impl Began {
    /// As it is written now.
    pub(crate) fn told(&self, now_unix_ns: u64, utc_offset_seconds: i32) -> &str {
        let year = |unix_ns: u64| year_of((unix_ns / 1_000_000_000).cast_signed() + i64::from(utc_offset_seconds));
        if year(self.unix_ns) == year(now_unix_ns) { &self.this_year } else { &self.other_year }
    }
}

/// The year of a moment, seconds since 1970, in the Gregorian calendar.
fn year_of(unix_s: i64) -> i64 {
    // Years are counted from March, so that the day that comes every four years is the last one; 400 of them repeat.
    let days = unix_s.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // January is the 307th day from March on.
    era * 400 + year + i64::from(day_of_year >= 306)
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    /// It goes on.
    Live,
    /// It ended as it should.
    Well,
    /// The server failed, or never started.
    Badly,
    /// The tap was killed, or nobody knows.
    Unknown,
}

/// A line of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// Which one.
    pub key: SessionKey,
    /// How it is named on the command line.
    pub reference: String,
    /// What a person calls it.
    pub label: Option<String>,
    /// What the server is called.
    pub name: String,
    /// Its command line, or its address.
    pub command: String,
    /// Who asked: name and version.
    pub client: Option<String>,
    /// Who answered: name and version.
    pub server: Option<String>,
    /// The revision that was agreed.
    pub revision: Option<String>,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// When it began.
    pub began: Began,
    /// How long it lasted, nanoseconds.
    pub lasted_ns: u64,
    /// How it stands.
    pub end: EndKind,
    /// The same in words.
    pub end_words: String,
    /// Messages.
    pub n_messages: u64,
    /// Requests.
    pub n_calls: u64,
    /// Calls that failed, and lines that are no message.
    pub n_errors: u64,
    /// Bytes.
    pub n_bytes: u64,
    /// Bytes that passed and were not recorded.
    pub lost_bytes: u64,
    /// Sessions of MCP in a recording over HTTP.
    pub n_conversations: u64,
}

/// How good something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// Of less interest.
    Dim,
    /// As it should be.
    Good,
    /// Failed.
    Bad,
    /// Waiting, or doubtful.
    Warning,
}

/// What a message says, in a few words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digested {
    /// Of a request: its arguments.
    pub arguments: String,
    /// Of a call: what came back, when it failed; of a line that is no message: its beginning.
    pub outcome: String,
}

/// A row of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub row: MessageRow,
    /// Length of its frame, bytes.
    pub length: u64,
    /// Of a call that was answered: length of the answer's frame, bytes.
    pub answer_length: Option<u64>,
    /// When it was, as people write it here.
    pub clock: String,
    /// What it says.
    pub digest: Digested,
    /// Its exchange, where it came over HTTP.
    pub exchange: Option<u64>,
    /// Its session of MCP, in a recording that can hold many.
    pub conversation: Option<u64>,
    /// What became of it, in a few words, and how good that is.
    pub status: (Tone, String),
    /// Nothing more will be known of it.
    pub settled: bool,
}

impl Row {
    /// Which message it is.
    #[must_use]
    pub fn at(&self) -> At {
        self.row.at
    }

    /// Whether something is wrong with it that every list must show.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        matches!(self.row.status, Some(Status::Error | Status::ToolError))
            || matches!(self.row.kind, RowKind::NotJson | RowKind::NotAMessage | RowKind::Gap)
    }

    /// Which way it went.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.row.stream.direction()
    }
}

/// A rule that a message broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingLine {
    /// The message.
    pub at: At,
    /// The rule's id.
    pub rule: &'static str,
    /// What it says.
    pub title: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What exactly was seen.
    pub detail: String,
    /// `client` or `server`.
    pub by: &'static str,
}

/// One message with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Its row.
    pub row: Row,
    /// Its bytes, or the beginning of them where they are very many.
    pub bytes: Arc<[u8]>,
}

/// A request of HTTP, as far as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `POST`, `GET`, …
    pub verb: String,
    /// Where to.
    pub url: String,
    /// Names and values of its fields; a value is `None` where it was not recorded, for it may be a secret.
    pub fields: Vec<(String, Option<String>)>,
    /// Its body as it was on the wire; `None` where that is too large to be copied.
    pub body: Option<Vec<u8>>,
}

/// A message that was asked for, with the other half of its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageParts {
    /// The one that was asked for.
    pub this: Whole,
    /// Of a request its answer, of an answer its request.
    pub other: Option<Whole>,
    /// Of HTTP: head and times of its exchange, a line each.
    pub exchange: Vec<(String, String)>,
    /// Of HTTP: the request of its exchange.
    pub request: Option<HttpRequest>,
}

/// Something that is true of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it belongs to: `protocol`, `tools`, …
    pub part: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub text: String,
    /// The message changed it; what it was before, if it was anything.
    pub changed: Option<Option<String>>,
}

/// What was true after a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedFacts {
    /// The message's number.
    pub seq: u64,
    /// The message, as a row; `None` where there is none with that number.
    pub row: Option<Row>,
    /// How long after the session's beginning that was, nanoseconds.
    pub since_ns: u64,
    /// Of which session of MCP, in a recording that can hold many.
    pub conversation: Option<u64>,
    /// What was true.
    pub facts: Vec<Fact>,
    /// What the message ended: what it was called, and what it was.
    pub gone: Vec<(String, String)>,
    /// The list of which all was wanted: `tools`, …
    pub list: Option<String>,
    /// What is in that list, or the beginning of it: name, and what is known of it.
    pub items: Vec<(String, String)>,
    /// How much is in it.
    pub n_items: u64,
}

/// A mark on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkLine {
    /// The message.
    pub at: At,
    /// What it is called on the command line, if it has a name.
    pub name: Option<String>,
    /// What was written about it.
    pub note: Option<String>,
}

/// A moment to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// So long after the session's beginning, nanoseconds.
    Since(u64),
    /// This time of day where the person is, the first time that it was in the session: nanoseconds since midnight.
    Clock(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_year_is_told() {
        let began = Began { unix_ns: 1_764_504_000_000_000_000, this_year: "Nov 30".into(), other_year: "2025".into() };
        for (now_unix_s, offset, expected) in [
            (1_764_504_000, 0, "Nov 30"),
            (1_767_225_599, 0, "Nov 30"),
            (1_767_225_600, 0, "2025"),
            (1_767_225_600, -3_600, "Nov 30"),
            (1_735_689_600, 0, "Nov 30"),
            (1_735_689_599, 0, "2025"),
            (0, 0, "2025"),
        ] {
            assert_eq!(began.told(now_unix_s * 1_000_000_000, offset), expected, "{now_unix_s} {offset}");
        }
        for (unix_s, year) in [(0, 1970), (951_782_400, 2000), (4_107_542_399, 2100), (-1, 1969), (68_169_600, 1972)] {
            assert_eq!(year_of(unix_s), year, "{unix_s}");
        }
    }
}
