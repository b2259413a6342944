//! What happened while a recording was played.

use serde_json::{Value, json};

use crate::miss::Miss;

/// Something that is worth a word, and no miss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What kind of thing.
    pub kind: NoteKind,
    /// In words, on one line. Names in it are as they were recorded: whoever prints it makes them safe.
    pub text: String,
}

/// What a [`Note`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A request of the server's was left out: the client has not declared that it can take it.
    MissingCapability,
    /// The client answered a request of the server's otherwise than recorded.
    OtherReply,
    /// The client answered what it was not asked.
    UnknownReply,
    /// The client sent what is no message.
    NotAMessage,
    /// An answer was not recorded, and the time it was waited for is over.
    GaveUpWaiting,
    /// The recording is of another revision than the client.
    OtherRevision,
    /// The real server was asked, or had something to say.
    RealServer,
}

impl NoteKind {
    const fn name(self) -> &'static str {
        match self {
            Self::MissingCapability => "missing capability",
            Self::OtherReply => "other reply",
            Self::UnknownReply => "unknown reply",
            Self::NotAMessage => "not a message",
            Self::GaveUpWaiting => "gave up waiting",
            Self::OtherRevision => "other revision",
            Self::RealServer => "real server",
        }
    }
}

/// A recorded request that nobody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The recording that it is in.
    pub recording: String,
    /// Its line in a text file.
    pub line: Option<u64>,
    /// The number of its frame in the recording.
    pub number: u64,
    /// The method, with the name if there is one.
    pub what: String,
}

/// Of each kind of thing so many are told one by one; all are counted.
pub(crate) const TOLD: usize = 1_000;

/// What happened while a recording was played: misses and what else is worth a word, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages of the client's.
    pub n_received: u64,
    /// Requests of the client's in the order in which they came: the method, with the name if there is one. The first 1,000.
    pub asked: Vec<String>,
    /// Requests that got a recorded answer, by the recording that it is from.
    pub answered: Vec<(String, u64)>,
    /// Those of them whose answer had been given before.
    pub n_repeated: u64,
    /// Requests that the real server was asked, by method and name; the first 1,000.
    pub passed_on: Vec<String>,
    /// How many there were.
    pub n_passed_on: u64,
    /// Progress that was not sent, because the client gave no token for it.
    pub n_progress_left_out: u64,
    /// Requests without a recorded answer, the first 1,000.
    pub misses: Vec<Miss>,
    /// How many there were.
    pub n_misses: u64,
    /// What else is worth a word, the first 1,000.
    pub notes: Vec<Note>,
    /// Recorded requests that nobody made, the first 1,000.
    pub unused: Vec<Unused>,
    /// How many there are.
    pub n_unused: u64,
    /// Whether all of the recording was looked through for [`unused`](Self::unused).
    pub looked_at_all: bool,
}

impl Report {
    /// Whether the client did what was recorded: nothing missed, nothing left over.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.n_misses == 0 && self.n_unused == 0
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let answered = self.answered.iter().map(|(recording, n)| json!({ "recording": recording, "answered": n }));
        let unused = self.unused.iter().map(|unused| {
            json!({ "recording": unused.recording, "line": unused.line, "message": unused.number, "what": unused.what })
        });
        let misses = self.misses.iter().map(|miss| {
            let mut data = miss.data();
            data["text"] = miss.text().into();
            data
        });
        json!({
            "clean": self.is_clean(),
            "received": self.n_received,
            "asked": self.asked,
            "answered": answered.collect::<Vec<_>>(),
            "repeated": self.n_repeated,
            "passed_on": self.passed_on,
            "n_passed_on": self.n_passed_on,
            "progress_left_out": self.n_progress_left_out,
            "n_misses": self.n_misses,
            "n_unused": self.n_unused,
            "misses": misses.collect::<Vec<_>>(),
            "notes": self.notes.iter().map(|note| json!({ "kind": note.kind.name(), "text": note.text })).collect::<Vec<_>>(),
            "unused": unused.collect::<Vec<_>>(),
        })
    }
}
