//! Lists with a condition: the database sorts out what it can by itself, a stretch at a time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use tap_session::{At, HttpSessionNumber};

use crate::error::StoreError;
use crate::frames::{HEAD_COLUMNS, Head, head_from};
use crate::reader::{CALLS, ListKind, Listed, SessionId, Store};
use crate::stored::{LISTED_COLUMNS, columns, listed_from};
use crate::writer::{signed, unsigned};

/// Rows that one stretch holds: as many as a database goes through in some milliseconds. The members of a batch have rows
/// of their own, so it may end within one.
const STRETCH: u64 = 40_000;

/// Comparisons that one statement holds at most: SQLite takes no expression that is deeper than 1,000, and a chain is as
/// deep as it is long.
const COMPARISONS: usize = 400;

/// What is asked about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The number of its frame.
    Seq,
    /// The wall clock, nanoseconds since the Unix epoch.
    WallNs,
    /// Nanoseconds since the session opened.
    AtNs,
    /// The code of its stream.
    Stream,
    /// The code of what it is.
    Kind,
    /// Length of its frame, bytes.
    Length,
    /// The number of its request or answer.
    PairSeq,
    /// Its id as written.
    RawId,
    /// The exchange of HTTP that it was in.
    Exchange,
    /// The session of MCP that it belongs to.
    Conversation,
    /// Its method; of an answer, that of its request.
    Method,
    /// What it is about; of an answer, what its request is about.
    Target,
    /// The code of what became of the call.
    Status,
    /// The code of its error, as written.
    ErrorCode,
    /// How long the answer took, nanoseconds.
    LatencyNs,
    /// The code of what a debugger did.
    Deed,
    /// How long it was held, nanoseconds.
    HeldNs,
    /// Who did it.
    DoneBy,
    /// Whether a fault did it: 0 or 1.
    Fault,
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Seq => "seq",
            Self::WallNs => "wall_ns",
            Self::AtNs => "at_ns",
            Self::Stream => "stream",
            Self::Kind => "kind",
            Self::Length => "length",
            Self::PairSeq => "pair_seq",
            Self::RawId => "raw_id",
            Self::Exchange => "exchange",
            Self::Conversation => "conversation",
            Self::Method => "method",
            Self::Target => "target",
            Self::Status => "status",
            Self::ErrorCode => "error_code",
            Self::LatencyNs => "latency_ns",
            Self::Deed => "deed",
            Self::HeldNs => "held_ns",
            Self::DoneBy => "done_by",
            Self::Fault => "fault",
        }
    }

    /// Whether it is the same for a request and its answer.
    fn is_of_call(self) -> bool {
        matches!(self, Self::Method | Self::Target | Self::Status | Self::ErrorCode | Self::LatencyNs)
    }
}

/// Whether a text is one that is looked for.
pub type FitsText = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// A condition on rows. Where a row has no such thing, the answer to a question is no.
#[derive(Clone)]
pub enum Condition {
    /// All of these; none at all is what every row holds.
    All(Vec<Self>),
    /// One of these; none at all is what no row holds.
    Any(Vec<Self>),
    /// The number is in one of these ranges, ends included.
    Number(Column, Vec<(i64, i64)>),
    /// There is such a thing.
    Has(Column),
    /// The text, or the bytes, are looked for.
    Text(Column, FitsText),
    /// The answer to this question, which must not be made of others, is no.
    Not(Box<Self>),
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(all) => formatter.debug_tuple("All").field(all).finish(),
            Self::Any(any) => formatter.debug_tuple("Any").field(any).finish(),
            Self::Number(column, ranges) => formatter.debug_tuple("Number").field(column).field(ranges).finish(),
            Self::Has(column) => formatter.debug_tuple("Has").field(column).finish(),
            Self::Text(column, _) => formatter.debug_tuple("Text").field(column).finish(),
            Self::Not(inner) => formatter.debug_tuple("Not").field(inner).finish(),
        }
    }
}

/// Which rows are looked for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The session.
    pub session: SessionId,
    /// The session of MCP inside it, if one is meant.
    pub conversation: Option<HttpSessionNumber>,
    /// Of which list. In that of calls, a call is meant if its request or its answer holds the condition.
    pub kind: ListKind,
    /// What rows have to hold. Of a very long one a part is left out: then rows are found that do not hold it.
    pub condition: Condition,
}

/// A row that was found; of a request that was answered, with the answer.
#[derive(Debug)]
pub struct Hit {
    /// The row.
    pub listed: Listed,
    /// The row of the answer.
    pub answer: Option<Listed>,
    pub(crate) head: Head,
    pub(crate) answer_head: Option<Head>,
}

/// What one stretch of a list came to.
#[derive(Debug)]
pub struct Stretch {
    /// The rows that hold the condition, in the order of the search.
    pub hits: Vec<Hit>,
    /// Where the search goes on: behind this row, or before it. `None` at the end of the list.
    pub next: Option<At>,
}

/// Texts that are looked for now, by their number in the statement.
#[derive(Clone, Default)]
pub(crate) struct Texts(Arc<Mutex<Vec<FitsText>>>);

impl fmt::Debug for Texts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Texts")
    }
}

impl Texts {
    /// Lets statements of a connection ask about texts.
    pub(crate) fn register(&self, connection: &Connection) -> rusqlite::Result<()> {
        let texts = self.clone();
        connection.create_scalar_function("tap_fits", 2, FunctionFlags::SQLITE_UTF8, move |context| {
            let index = usize::try_from(context.get::<i64>(0)?).unwrap_or(usize::MAX);
            let texts = texts.0.lock().unwrap_or_else(PoisonError::into_inner);
            let text = match context.get_raw(1) {
                ValueRef::Text(text) | ValueRef::Blob(text) => text,
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Ok(false),
            };
            Ok(texts.get(index).is_some_and(|fits| fits(text)))
        })
    }
}

/// What every row holds, as it stands in a statement.
const EVERYTHING: &str = "1";

/// A condition as it stands in a statement.
#[derive(Default)]
struct Statement {
    texts: Vec<FitsText>,
    n_comparisons: usize,
}

impl Statement {
    /// For rows of these tables, of which one has to hold each question.
    fn write(&mut self, condition: &Condition, tables: &[&str]) -> String {
        let of = |column: &Column| if column.is_of_call() { &tables[..1] } else { tables };
        match condition {
            Condition::All(all) => {
                let mut parts: Vec<String> = all.iter().map(|part| self.write(part, tables)).collect();
                parts.retain(|part| part != EVERYTHING);
                joined(&parts, " AND ", EVERYTHING)
            }
            Condition::Any(any) => {
                let parts: Vec<String> = any.iter().map(|part| self.write(part, tables)).collect();
                match parts.iter().any(|part| part == EVERYTHING) {
                    true => EVERYTHING.into(),
                    false => joined(&parts, " OR ", "0"),
                }
            }
            Condition::Number(column, _) | Condition::Has(column) | Condition::Text(column, _) => {
                self.question(condition, column, of(column), true)
            }
            Condition::Not(inner) => match &**inner {
                Condition::Number(column, _) | Condition::Has(column) | Condition::Text(column, _) => {
                    self.question(inner, column, of(column), false)
                }
                // Nothing is lost by what is found beyond.
                Condition::All(_) | Condition::Any(_) | Condition::Not(_) => EVERYTHING.into(),
            },
        }
    }

    fn question(&mut self, question: &Condition, column: &Column, tables: &[&str], wanted: bool) -> String {
        let n_ranges = if let Condition::Number(_, ranges) = question { ranges.len().max(1) } else { 1 };
        let n_comparisons = self.n_comparisons.saturating_add(n_ranges.saturating_mul(tables.len()));
        // Nothing is lost by what is found beyond, as each question stands there by itself, or its opposite does.
        if COMPARISONS < n_comparisons {
            return EVERYTHING.into();
        }
        self.n_comparisons = n_comparisons;
        let text = match question {
            Condition::Text(_, fits) => {
                self.texts.push(fits.clone());
                self.texts.len() - 1
            }
            _ => 0,
        };
        let asked = tables.iter().map(|table| {
            let place = format!("{table}.{}", column.name());
            let question = match question {
                Condition::Number(_, ranges) if ranges.is_empty() => "0".into(),
                Condition::Number(_, ranges) => {
                    let ranges = ranges.iter().map(|(low, high)| format!("{place} BETWEEN {low} AND {high}"));
                    format!("coalesce({}, 0)", ranges.collect::<Vec<_>>().join(" OR "))
                }
                Condition::Text(..) => format!("({place} IS NOT NULL AND tap_fits({text}, {place}))"),
                _ => format!("{place} IS NOT NULL"),
            };
            // A call without an answer has no other half that could hold the opposite.
            match wanted {
                true => question,
                false if *table == "answer" => format!("(answer.seq IS NOT NULL AND NOT ({question}))"),
                false => format!("NOT ({question})"),
            }
        });
        format!("({})", asked.collect::<Vec<_>>().join(" OR "))
    }
}

fn joined(parts: &[String], by: &str, empty: &str) -> String {
    if parts.is_empty() { empty.into() } else { format!("({})", parts.join(by)) }
}

impl Store {
    /// Looks through the next stretch of a list, behind a row (`forward`) or before one, for at most `limit` rows. That
    /// takes some milliseconds, whatever the condition, however long the list is, and however many members a batch has.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn search(&self, search: &Search, from: At, forward: bool, limit: u64) -> Result<Stretch, StoreError> {
        let limit = limit.max(1);
        let last = self.last_of_stretch(search.session, from, forward)?;
        let (low, high) = match (forward, last) {
            (true, last) => (from, last.unwrap_or(At { seq: u64::MAX, member: u64::MAX })),
            (false, last) => (last.unwrap_or(At { seq: 0, member: 0 }), from),
        };
        let calls = search.kind == ListKind::Calls;
        let tables: &[&str] = if calls { &["message", "answer"] } else { &["message"] };
        let mut statement = Statement::default();
        let condition = statement.write(&search.condition, tables);
        let (edge, end, order) = if forward { (">", "<=", "ASC") } else { ("<", ">=", "DESC") };
        let end_at = if forward { high } else { low };
        let of =
            search.conversation.map_or_else(String::new, |number| format!("AND message.conversation = {}", number.0));
        // One that reads the table itself is quicker than one that finds each row by an index.
        let (listed, head) = (columns("message", LISTED_COLUMNS), columns("message", HEAD_COLUMNS));
        let (answer, answer_head) = (columns("answer", LISTED_COLUMNS), columns("answer", HEAD_COLUMNS));
        let kind = if calls { CALLS } else { "" };
        let text = format!(
            "SELECT {listed}, {head}, {answer}, {answer_head} FROM message NOT INDEXED
             LEFT JOIN message AS answer ON message.kind = 1 AND answer.session = message.session
                 AND answer.seq = message.pair_seq AND answer.member = message.pair_member
                 AND (answer.seq, answer.member) <> (message.seq, message.member)
             WHERE message.session = ? AND message.seq BETWEEN ? AND ?
                 AND (message.seq, message.member) {edge} (?, ?)
                 AND (message.seq, message.member) {end} (?, ?) {kind} {of} AND {condition}
             ORDER BY message.seq {order}, message.member {order} LIMIT ?"
        );
        *self.texts.0.lock().unwrap_or_else(PoisonError::into_inner) = statement.texts;
        let n_listed = LISTED_COLUMNS.len();
        let n_half = n_listed + HEAD_COLUMNS.len();
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Hit>> {
            let mut select = connection.prepare_cached(&text)?;
            let places = [low.seq, high.seq, from.seq, from.member, end_at.seq, end_at.member, limit];
            let numbers = std::iter::once(search.session.0).chain(places.map(signed));
            let found = select.query_map(params_from_iter(numbers), |row| {
                let mut hit = Hit {
                    listed: listed_from(row, 0)?,
                    answer: None,
                    head: head_from(row, n_listed)?,
                    answer_head: None,
                };
                if row.get_ref(n_half)? != ValueRef::Null {
                    let answer = listed_from(row, n_half)?;
                    hit.listed.answer_length = Some(answer.length);
                    hit.answer = Some(answer);
                    hit.answer_head = Some(head_from(row, n_half + n_listed)?);
                }
                Ok(hit)
            })?;
            found.collect()
        };
        let hits = read().map_err(|source| self.sort(source))?;
        let next = match hits.last() {
            Some(last) if hits.len() as u64 == limit => Some(last.listed.row.at),
            _ => last,
        };
        Ok(Stretch { hits, next })
    }

    /// The last row of the stretch that begins behind a row (`forward`) or before it; `None` where the list ends with it.
    fn last_of_stretch(&self, session: SessionId, from: At, forward: bool) -> Result<Option<At>, StoreError> {
        let (edge, order) = if forward { (">", "ASC") } else { ("<", "DESC") };
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Option<At>> {
            let mut select = connection.prepare_cached(&format!(
                "SELECT seq, member FROM message NOT INDEXED WHERE session = ? AND (seq, member) {edge} (?, ?)
                 ORDER BY seq {order}, member {order} LIMIT 2 OFFSET ?"
            ))?;
            let numbers = [session.0, signed(from.seq), signed(from.member), signed(STRETCH - 1)];
            let mut found = select.query(numbers)?;
            let Some(row) = found.next()? else {
                return Ok(None);
            };
            let last = At { seq: unsigned(row.get(0)?), member: unsigned(row.get(1)?) };
            Ok(found.next()?.is_some().then_some(last))
        };
        read().map_err(|source| self.sort(source))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tap_frame::{Segment, Stream};

    use super::*;
    use crate::traffic;

    fn stored(lines: impl Iterator<Item = String>) -> (Store, SessionId) {
        let mut segment = Segment::default();
        for (at_ns, line) in (1..).zip(lines) {
            segment.push_chunk(Stream::ToServer, at_ns, at_ns, (line + "\n").as_bytes());
        }
        traffic::stored(&[segment], None)
    }

    fn search(session: SessionId, condition: Condition) -> Search {
        Search { session, conversation: None, kind: ListKind::Frames, condition }
    }

    #[test]
    fn a_stretch_is_bounded_however_large_batches_are() {
        const MEMBERS: u64 = 9_000;
        let member = |n| format!(r#"{{"method":"m{}"}}"#, n % 4_500);
        let batch = format!("[{}]", (0..MEMBERS).map(member).collect::<Vec<_>>().join(","));
        let (store, session) = stored((0..10).map(|_| batch.clone()));
        let n_asked = Arc::new(AtomicU64::new(0));
        let fits: FitsText = {
            let n_asked = n_asked.clone();
            Arc::new(move |text| {
                n_asked.fetch_add(1, Ordering::Relaxed);
                text == b"m7"
            })
        };
        let search = search(session, Condition::Text(Column::Method, fits));
        let expected: Vec<At> = (1..=10).flat_map(|seq| [8, 4_508].map(|member| At { seq, member })).collect();
        for forward in [true, false] {
            let mut from = if forward { At { seq: 0, member: 0 } } else { At { seq: u64::MAX, member: u64::MAX } };
            let (mut found, mut n_stretches) = (Vec::new(), 0);
            loop {
                n_asked.store(0, Ordering::Relaxed);
                let stretch = store.search(&search, from, forward, 1_000).unwrap();
                assert!(n_asked.load(Ordering::Relaxed) <= STRETCH, "{n_asked:?}");
                n_stretches += 1;
                found.extend(stretch.hits.iter().map(|hit| hit.listed.row.at));
                match stretch.next {
                    Some(next) => from = next,
                    None => break,
                }
            }
            if !forward {
                found.reverse();
            }
            assert_eq!((found, n_stretches), (expected.clone(), 3), "{forward}");
        }
    }

    #[test]
    fn a_long_condition_loses_nothing() {
        let (store, session) = stored((0..30).map(|n| format!(r#"{{"method":"m{n}"}}"#)));
        let odd = |n: i64| (2 * n + 1, 2 * n + 1);
        let ranges = || Condition::Number(Column::Seq, (0..1_500).map(odd).collect());
        let chain = || (0..1_500).map(|n| Condition::Number(Column::Seq, vec![odd(n)])).collect::<Vec<_>>();
        let not = |condition| Condition::Not(Box::new(condition));
        let none = || Condition::Any(Vec::new());
        let short = || Condition::Number(Column::Seq, vec![(3, 7)]);
        for (name, condition, expected) in [
            ("ranges", ranges(), (1..=30).step_by(2).collect::<Vec<u64>>()),
            ("not the ranges", not(ranges()), (2..=30).step_by(2).collect()),
            ("one of many", Condition::Any(chain()), (1..=30).step_by(2).collect()),
            ("none of many", Condition::All(chain().into_iter().map(not).collect()), (2..=30).step_by(2).collect()),
            ("nothing", Condition::All(vec![none(), ranges()]), Vec::new()),
            ("beside a short one", Condition::All(vec![short(), ranges()]), vec![3, 5, 7]),
        ] {
            for kind in [ListKind::Frames, ListKind::Calls] {
                let search = Search { kind, ..search(session, condition.clone()) };
                let from = At { seq: 0, member: 0 };
                let found = store.search(&search, from, true, 1_000).unwrap_or_else(|error| panic!("{name}: {error}"));
                let found: Vec<u64> = found.hits.iter().map(|hit| hit.listed.row.at.seq).collect();
                if kind == ListKind::Frames {
                    assert!(expected.iter().all(|seq| found.contains(seq)), "{name}: {found:?}");
                }
                // What is short still narrows.
                assert!(!name.contains("short") || found.iter().all(|seq| (3..=7).contains(seq)), "{name}: {found:?}");
                assert!(name != "nothing" || found.is_empty(), "{found:?}");
            }
        }
    }
}
