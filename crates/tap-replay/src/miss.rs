//! A miss: a request that no recorded one matches, what is near, and what would accept it.

use std::fmt::{self, Write};

use serde_json::{Map, Value, json};
use tap_compare::{Reason as Difference, Side};

/// The code of the error that a request gets which nothing matches.
///
/// Outside of what JSON-RPC keeps for itself, and so outside of what the specification reserves (2026-07-28, basic/index,
/// Error Codes).
pub const NO_RECORDED_ANSWER: i64 = -31001;

/// How much of a value is shown, characters.
const SHOWN: usize = 200;

/// Differences that are told of a near request.
const SHOWN_DIFFERENCES: usize = 8;

/// Why a request has no recorded answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No recorded request is the same.
    NoMatch,
    /// All answers were given.
    UsedUp,
    /// Another request is next in the recording.
    OutOfOrder,
    /// The recording is of another revision, and what it says cannot be said in this one.
    OtherRevision,
    /// It was recorded without an answer.
    Unanswered,
    /// The client answered a request of the server's otherwise than recorded.
    OtherReply,
    /// The server asked the client for something here that this one has not declared.
    MissingCapability,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoMatch => "no match",
            Self::UsedUp => "used up",
            Self::OutOfOrder => "out of order",
            Self::OtherRevision => "other revision",
            Self::Unanswered => "unanswered in the recording",
            Self::OtherReply => "other reply",
            Self::MissingCapability => "missing capability",
        })
    }
}

/// A recorded request that is near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closest {
    /// The recording that it is in.
    pub recording: String,
    /// Its line in a text file.
    pub line: Option<u64>,
    /// The number of its frame in the recording.
    pub number: u64,
    /// The tool, prompt or resource, if it names one.
    pub name: Option<String>,
    /// What was asked with, as JSON.
    pub arguments: String,
    /// How many requests like this one there are.
    pub n_alike: usize,
    /// How many of them were used.
    pub n_used: usize,
    /// Where it differs.
    pub differences: Vec<Difference>,
}

/// A request that has no recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Which message of the client's it was, counted from 1.
    pub number: u64,
    /// The method.
    pub method: String,
    /// The tool, prompt or resource, if it names one.
    pub name: Option<String>,
    /// What was asked with, as JSON.
    pub arguments: String,
    /// Why.
    pub reason: Reason,
    /// More about why, in words.
    pub detail: Option<String>,
    /// The nearest recorded requests, the nearest first.
    pub closest: Vec<Closest>,
    /// Whether the answer to the nearest was given all the same.
    pub served_closest: bool,
}

impl Miss {
    /// The method with the name, if there is one.
    #[must_use]
    pub fn what(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.method),
            None => self.method.clone(),
        }
    }

    /// One line: what was asked, why nothing answers it, and in what the nearest differs.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = format!("mcp-tap replay: no recorded answer for {}: {}", self.what(), self.reason);
        if let Some(detail) = &self.detail {
            let _ = write!(text, ": {detail}");
        } else if let Some(difference) = self.closest.first().and_then(|closest| closest.differences.first()) {
            let _ = write!(
                text,
                "; {} recorded {}, got {}",
                difference.path.dotted(Side::Request),
                shown(difference.recorded.as_deref()),
                shown(difference.got.as_deref())
            );
        }
        text
    }

    /// The same with everything that is near, for people. Values in it are as they were recorded: whoever prints it makes
    /// them safe.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("mcp-tap replay: no recorded answer for #{}  {}\n", self.number, self.what());
        let _ = writeln!(text, "  {}", cut(&format!("{} {}", self.carries(), self.arguments)));
        let _ = match &self.detail {
            Some(detail) => writeln!(text, "  {}: {detail}", self.reason),
            None => writeln!(text, "  {}", self.reason),
        };
        let mut recording = None;
        for (index, closest) in self.closest.iter().enumerate() {
            if recording != Some(&closest.recording) {
                recording = Some(&closest.recording);
                let _ = writeln!(text, "\nclosest in {}", closest.recording);
            }
            let place = closest.place();
            let name = closest.name.as_deref().unwrap_or_default();
            let used = match (closest.n_used, closest.n_alike) {
                (0, _) => "unused".to_owned(),
                (used, alike) => format!("used {used} of {alike}"),
            };
            let _ =
                writeln!(text, "  {}. {place}  {}    {used}", index + 1, cut(&format!("{name} {}", closest.arguments)));
            for difference in closest.differences.iter().take(SHOWN_DIFFERENCES) {
                let _ = writeln!(
                    text,
                    "       {}    recorded {}    got {}    {}",
                    difference.path.dotted(Side::Request),
                    shown(difference.recorded.as_deref()),
                    shown(difference.got.as_deref()),
                    difference.why
                );
            }
            let more = closest.differences.len().saturating_sub(SHOWN_DIFFERENCES);
            if more > 0 {
                let _ = writeln!(text, "       and {more} more");
            }
        }
        if self.served_closest {
            let _ = writeln!(text, "\nthe answer to the first of these was given (--unmatched closest)");
        }
        let ways = self.ways_out();
        if !ways.is_empty() {
            let _ = writeln!(text, "\nwhat to do");
            for way in ways {
                let _ = writeln!(text, "  {way}");
            }
        }
        text
    }

    fn carries(&self) -> &'static str {
        if matches!(self.method.as_str(), "tools/call" | "prompts/get") { "arguments" } else { "params" }
    }

    /// Options that would accept it, the narrowest first.
    #[must_use]
    pub fn accepted_by(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        let mut add = |option: String| {
            if !options.contains(&option) {
                options.push(option);
            }
        };
        match self.reason {
            Reason::NoMatch => {
                let differences = self.closest.first().into_iter().flat_map(|closest| &closest.differences);
                for accept in differences.flat_map(|difference| &difference.accepted_by) {
                    add(accept.to_string());
                }
            }
            Reason::UsedUp => add("--repeat all".into()),
            Reason::OutOfOrder => add("--order any".into()),
            Reason::MissingCapability => add("--missing-capability skip".into()),
            Reason::OtherReply => add("--replies any".into()),
            Reason::Unanswered => add("--unanswered hang".into()),
            Reason::OtherRevision => {}
        }
        options
    }

    fn ways_out(&self) -> Vec<String> {
        let mut ways = Vec::new();
        if matches!(self.reason, Reason::NoMatch | Reason::UsedUp) {
            let recording = self.closest.first().map_or("FILE", |closest| closest.recording.as_str());
            ways.push(format!(
                "it changed on purpose        record it:   mcp-tap replay --record new {recording} -- COMMAND"
            ));
        }
        for option in self.accepted_by() {
            ways.push(match (option.split_once(' '), self.reason) {
                (Some(("--ignore", path)), _) => format!(
                    "it changes on every run      ignore it:   {option}     or \"rules\":{{\"ignore\":[{}]}} in line 1",
                    Value::from(path)
                ),
                (Some(("--loose", _)), _) => format!("both mean the same           {option}"),
                (_, Reason::UsedUp) => format!("it may be asked again        {option}"),
                _ => format!("it does not matter           {option}"),
            });
        }
        ways
    }

    /// The same for programs: the `data` of the error.
    #[must_use]
    pub fn data(&self) -> Value {
        let closest = self.closest.iter().map(|closest| {
            let differences = closest.differences.iter().map(|difference| {
                json!({
                    "path": difference.path.dotted(Side::Request),
                    "recorded": difference.recorded.as_deref().map(|_| shown(difference.recorded.as_deref())),
                    "got": difference.got.as_deref().map(|_| shown(difference.got.as_deref())),
                    "why": difference.why.to_string(),
                    "accepted_by": difference.accepted_by.iter().map(ToString::to_string).collect::<Vec<_>>(),
                })
            });
            let mut members = Map::new();
            members.insert("recording".into(), closest.recording.as_str().into());
            if let Some(line) = closest.line {
                members.insert("line".into(), line.into());
            }
            members.insert("message".into(), closest.number.into());
            members.insert("name".into(), closest.name.as_deref().into());
            members.insert("arguments".into(), cut(&closest.arguments).into());
            members.insert("used".into(), closest.n_used.into());
            members.insert("of".into(), closest.n_alike.into());
            members.insert("differences".into(), differences.collect());
            Value::Object(members)
        });
        json!({
            "reason": self.reason.to_string(),
            "detail": self.detail,
            "number": self.number,
            "method": self.method,
            "name": self.name,
            "closest": closest.collect::<Vec<_>>(),
            "accepted_by": self.accepted_by(),
        })
    }

    /// The error for the request with this id.
    pub(crate) fn error(&self, id: &[u8]) -> Vec<u8> {
        let error = json!({ "code": NO_RECORDED_ANSWER, "message": self.message(), "data": self.data() });
        [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat()
    }
}

impl Closest {
    /// Where it is: a line of a file, else a message of a recording.
    #[must_use]
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}"),
            None => format!("message {}", self.number),
        }
    }
}

fn shown(json: Option<&[u8]>) -> String {
    json.map_or_else(|| "nothing".into(), |json| cut(&String::from_utf8_lossy(json)))
}

/// The beginning of a text, where it is long.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
