//! What goes out: questions to whoever has the recordings, and what is to be done outside.

use std::sync::Arc;

use tap_filter::Filter;
use tap_session::{At, Link};

use crate::about::{About, AboutPart};
use crate::compare::{CompareQuery, Compared, LineDifferences};
use crate::data::{FindingLine, MarkLine, MessageParts, Moment, Row, SessionKey, SessionLine, StatedFacts};
use crate::overview::Overview;
use crate::picture::{Picture, PictureQuery};
use crate::search::Hits;
use crate::sessions::SessionSummary;
use crate::stats::{StatsAnswer, StatsQuery};
use crate::tools::ToolsAnswer;

/// Which question an answer belongs to. Later questions have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something to be done outside.
#[derive(Debug)]
pub enum Effect {
    /// Answer a question, in parts if it takes long.
    Ask(Ticket, Query),
    /// The answer to this one is of no use any more.
    Cancel(Ticket),
    /// Put a text where it can be pasted from.
    Copy(String),
    /// Put bytes where they can be pasted from, or, if they are too many for that, into a new file of this name.
    CopyBytes {
        /// What.
        bytes: Vec<u8>,
        /// The file's name.
        name: String,
    },
    /// Show bytes in the pager (`false`) or the editor (`true`); the terminal is theirs meanwhile.
    Open {
        /// What.
        bytes: Vec<u8>,
        /// How the file is to be called, so that its kind is known.
        name: String,
        /// In the editor.
        edit: bool,
    },
    /// Write bytes into a new file of this name.
    Write {
        /// What.
        bytes: Vec<u8>,
        /// The file's name.
        name: String,
    },
    /// Show the bundled demonstration in place of the recordings.
    Demo,
    /// Let the shell have the terminal for a while.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// The end.
    Quit,
}

/// A question.
#[derive(Debug, Clone)]
pub enum Query {
    /// Which sessions there are.
    Sessions,
    /// What is beside the list of sessions: the last problem of one, its slowest tools, its last calls.
    Summary(SessionKey),
    /// How many rules these sessions broke, one after the other, when there is nothing else to do.
    Judge(Vec<SessionKey>),
    /// Give a session a label, or take it away.
    Label(SessionKey, Option<String>),
    /// Delete a session.
    Delete(SessionKey),
    /// Which messages of a session have marks.
    Marks(SessionKey),
    /// Put a mark on a message in place of the one that it has, or take it away; answered with all marks.
    Mark(SessionKey, At, Option<MarkLine>),
    /// To be told when a session grows, until another one is watched.
    Watch(SessionKey),
    /// Some rows once more: those of calls that were waiting.
    Again(SessionKey, Vec<At>),
    /// Some rows of a session.
    Rows(RowsQuery),
    /// A message whole, with the other half of its call.
    Message(SessionKey, At),
    /// What is known around a message.
    About(SessionKey, At, AboutPart),
    /// What was true after a message, and what it changed; with all that is in one of the lists, if one is named.
    State(SessionKey, u64, Option<String>),
    /// Which message was the first at a moment or after it.
    At(SessionKey, Moment),
    /// Which rules were broken; told in parts.
    Findings(SessionKey),
    /// Figures of a session; of the messages that fit, if a filter is given. Told in parts.
    Stats(StatsQuery),
    /// What the server of a session offers, and how that changed; up to a message.
    Tools(SessionKey, u64),
    /// Which messages belong to which others, of those between these two.
    Links(SessionKey, At, At),
    /// The requests that came before this message and were not answered before it.
    Begun(SessionKey, At),
    /// All of a session in one line; told in parts.
    Overview(SessionKey),
    /// How two sessions differ; told in parts.
    Compare(CompareQuery),
    /// What differs of one line of that, by its place among all lines.
    CompareLine(CompareQuery, usize),
    /// All of that as the text that `mcp-tap diff` writes.
    CompareReport(CompareQuery),
    /// What fits in all sessions, the newest first; told in parts.
    Search(Arc<Filter>),
    /// The pixels of an image.
    Picture(PictureQuery),
}

/// Which rows are wanted.
#[derive(Debug, Clone)]
pub struct RowsQuery {
    /// Of which session.
    pub session: SessionKey,
    /// One row a call, and what is no call though it should be one; else one a frame.
    pub calls: bool,
    /// Only those that fit.
    pub filter: Option<Arc<Filter>>,
    /// From where.
    pub part: RowsPart,
    /// At most so many.
    pub limit: usize,
}

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsPart {
    /// The first ones from this number on.
    From(u64),
    /// The first ones behind this row.
    After(At),
    /// The last ones before this row.
    Before(At),
    /// The last ones of all.
    Last,
    /// Half of them up to this number, half behind it.
    Around(u64),
}

/// Rows that were asked for.
#[derive(Debug, Clone, Default)]
pub struct RowsAnswer {
    /// In rising order.
    pub rows: Vec<Row>,
    /// There is nothing before them.
    pub at_begin: bool,
    /// There is nothing behind them, for now.
    pub at_end: bool,
    /// No more will come for this question.
    pub complete: bool,
    /// How far a search came, as the number of a message; of use while it goes on.
    pub searched_to: Option<u64>,
    /// The number of the newest message of the session.
    pub last_seq: u64,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Which.
    pub session: SessionKey,
    /// The number of its newest message that is known.
    pub last_seq: u64,
    /// It goes on.
    pub live: bool,
    /// What all of it meant was worked out, up to where it was when it was looked at: there are no more messages than this.
    pub complete: bool,
}

/// An answer.
#[derive(Debug)]
pub enum Answer {
    /// The sessions, live ones first; `true` when their figures are up to date.
    Sessions(Vec<SessionLine>, bool),
    /// What is beside the list of sessions.
    Summary(Box<SessionSummary>),
    /// How many rules a session broke, errors, warnings and notes, if that is known now; and whether it was the last one.
    Judged(SessionKey, Option<[u64; 3]>, bool),
    /// Marks of a session, all of them; what was changed, if anything was, in words.
    Marks(Vec<MarkLine>, String),
    /// Something was changed in the recordings, in words; the sessions are to be looked at anew.
    Changed(String),
    /// Rows.
    Rows(RowsAnswer),
    /// Rows that are there already, as they are now.
    Again(Vec<Row>),
    /// A message.
    Message(Box<MessageParts>),
    /// What is known around a message.
    About(Box<About>),
    /// A state.
    State(Box<StatedFacts>),
    /// A message; `None` when there is none so late.
    At(Option<At>),
    /// Findings up to the message with this number; `true` when that is all.
    Findings(Vec<FindingLine>, u64, bool),
    /// Figures.
    Stats(Box<StatsAnswer>),
    /// What a server offers.
    Tools(Box<ToolsAnswer>),
    /// Which messages belong to which, as far as the session was followed.
    Links(Vec<Link>),
    /// Requests that were in flight.
    Begun(Vec<Row>),
    /// All of a session, as far as it was worked out.
    Overview(Box<Overview>),
    /// How two sessions differ.
    Compared(Box<Compared>),
    /// What differs of a line.
    Differences(Box<LineDifferences>),
    /// A report.
    Report(Vec<u8>),
    /// What was found in all sessions, since the last part.
    Hits(Box<Hits>),
    /// An image.
    Picture(Box<Picture>),
    /// A session has grown, is over, or all of it was worked out.
    Grown(Growth),
}
