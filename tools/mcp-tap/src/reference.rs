//! References: how a session, or a part of it, is named on the command line.
//!
//! `last`, `last.2`, `github`, `github.2`, the start of an id (4 characters or more), a file; then perhaps `:42`,
//! `:10..40`, `:..42`, `:10..`, or `:42.3` for the third message of a batch. None of them needs quoting in any shell.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tap_session::At;
use tap_store::{Session, Store, StoreError, import};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::paths::default_database;

/// A reference as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// As it was written, for messages.
    written: String,
    place: Place,
    /// Which part of the session.
    pub(crate) part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The newest session, the second newest, …, counted from 1.
    Last(usize),
    /// By name, counted from the newest; or by the start of an id.
    Named(String, usize),
    /// A text recording or a database.
    File(PathBuf),
}

/// Which part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    One(At),
    Range { first: Option<u64>, last: Option<u64> },
}

impl Part {
    /// The frames' numbers, inclusive.
    pub(crate) fn range(self) -> std::ops::RangeInclusive<u64> {
        match self {
            Self::All => 1..=u64::MAX,
            Self::One(at) => at.seq..=at.seq,
            Self::Range { first, last } => first.unwrap_or(1)..=last.unwrap_or(u64::MAX),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let (place, part) = match written.rsplit_once(':') {
            Some((place, part)) if part.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '@') => {
                (place, parse_part(part)?)
            }
            Some((place, "")) if !place.is_empty() => {
                return Err("a message's number is missing after the colon, as in last:42 or last:10..40".into());
            }
            _ => (written, Part::All),
        };
        if place.is_empty() {
            return Err("a session is missing, as in last or github.2".into());
        }
        Ok(Self { written: written.into(), place: parse_place(place)?, part })
    }
}

fn parse_part(part: &str) -> Result<Part, String> {
    if part.starts_with('@') {
        return Err("bookmarks are not known to this version; use a number, as in last:42".into());
    }
    let number = |text: &str| match text.parse::<u64>() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no message number; they count from 1")),
        Ok(number) => Ok(number),
    };
    if let Some((first, last)) = part.split_once("..") {
        let bound = |text: &str| (!text.is_empty()).then(|| number(text)).transpose();
        let (first, last) = (bound(first)?, bound(last.trim_start_matches('='))?);
        if let (Some(first), Some(last)) = (first, last)
            && last < first
        {
            return Err(format!("the range {part} ends before it begins"));
        }
        return Ok(Part::Range { first, last });
    }
    let (seq, member) = match part.split_once('.') {
        Some((seq, member)) => (number(seq)?, number(member)?),
        None => (number(part)?, 0),
    };
    Ok(Part::One(At { seq, member }))
}

fn parse_place(place: &str) -> Result<Place, String> {
    let known_suffix = [".jsonl", ".db", ".mcprec"].iter().any(|suffix| place.ends_with(suffix));
    if place.contains('/') || known_suffix {
        return Ok(Place::File(place.into()));
    }
    let (name, count) = match place.rsplit_once('.') {
        Some((name, count)) if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) => {
            match count.parse() {
                Ok(0) | Err(_) => return Err(format!("`{count}` is no count; {name}.1 is the newest")),
                Ok(count) => (name, count),
            }
        }
        _ => (place, 1),
    };
    Ok(if name == "last" { Place::Last(count) } else { Place::Named(name.into(), count) })
}

/// A session that was found, and the store that it is in.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) store: Store,
    pub(crate) session: Session,
    pub(crate) part: Part,
    /// The text recording that it was read from.
    pub(crate) file: Option<PathBuf>,
}

impl Found {
    /// The shortest way to name the session.
    pub(crate) fn reference(&self) -> Result<String, Failure> {
        let sessions = self.store.sessions()?;
        let named = sessions.iter().zip(shortest(&sessions)).find(|(session, _)| session.id == self.session.id);
        Ok(named.map(|(_, reference)| reference).unwrap_or_default())
    }
}

/// The database that the command line, the environment, or the default names.
pub(crate) fn database(global: &Global) -> Result<PathBuf, Failure> {
    global.database().map_or_else(default_database, Ok)
}

impl Reference {
    /// Finds the session.
    pub(crate) fn resolve(&self, global: &Global) -> Result<Found, Failure> {
        let store = match &self.place {
            // A server may be called like a file.
            Place::File(path) if !path.exists() && path.components().count() == 1 => Store::open(&database(global)?)?,
            Place::File(path) if is_database(path) => Store::open(path)?,
            Place::File(path) => read_text(path)?,
            Place::Last(_) | Place::Named(..) => Store::open(&database(global)?)?,
        };
        let sessions = store.sessions()?;
        let named =
            |name: &str, count: usize| sessions.iter().filter(|session| session.start.name == name).nth(count - 1);
        let found = match &self.place {
            Place::Last(count) => sessions.get(count - 1),
            Place::File(path) if !path.exists() => named(&path.to_string_lossy(), 1),
            Place::File(_) => sessions.first(),
            // A name may end like a count: `gpt4.1`.
            Place::Named(name, count) => {
                named(name, *count).or_else(|| named(&format!("{name}.{count}"), 1)).or_else(|| by_id(&sessions, name))
            }
        };
        match found.cloned() {
            Some(session) => {
                let file = match &self.place {
                    Place::File(path) if !is_database(path) && path.exists() => Some(path.clone()),
                    Place::File(_) | Place::Last(_) | Place::Named(..) => None,
                };
                Ok(Found { store, session, part: self.part, file })
            }
            None => Err(self.not_found(&store, &sessions)),
        }
    }

    fn not_found(&self, store: &Store, sessions: &[Session]) -> Failure {
        if sessions.is_empty() {
            return Failure::new(format!("{} has no sessions", store.path().display()))
                .hint("record one: `mcp-tap run -- COMMAND`, or try `mcp-tap demo`");
        }
        let count = |name: &str| sessions.iter().filter(|session| session.start.name == name).count();
        match &self.place {
            Place::File(path) if !path.exists() => {
                Failure::new(format!("there is no file {}, and no session of that name", path.display()))
            }
            Place::Last(_) | Place::File(_) => {
                Failure::new(format!("there is no session {}; there are {}", self.written, sessions.len()))
            }
            Place::Named(name, _) if count(name) > 0 => {
                Failure::new(format!("there is no session {}; {name} has {}", self.written, count(name)))
            }
            Place::Named(name, _) => {
                let names = sessions.iter().map(|session| session.start.name.as_str()).chain(["last"]);
                let near =
                    names.map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
                let failure = Failure::new(format!("there is no session `{name}` in {}", store.path().display()));
                match near {
                    Some((likeness, known)) if likeness > 0.7 => failure.hint(format!("did you mean `{known}`?")),
                    _ => failure.hint("`mcp-tap ls` lists them"),
                }
            }
        }
    }
}

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "db")
}

/// The sessions that are named, or all of the database.
pub(crate) fn sessions(global: &Global, references: &[Reference], all: bool) -> Result<Vec<Found>, Failure> {
    if !all {
        return references.iter().map(|reference| reference.resolve(global)).collect();
    }
    let path = database(global)?;
    let sessions = Store::open(&path)?.sessions()?;
    let found = sessions
        .into_iter()
        .map(|session| Ok(Found { store: Store::open(&path)?, session, part: Part::All, file: None }));
    found.collect()
}

/// The one session whose id starts so.
fn by_id<'a>(sessions: &'a [Session], start: &str) -> Option<&'a Session> {
    if start.len() < 4 {
        return None;
    }
    let mut found = sessions.iter().filter(|session| session.start.uuid.starts_with(start));
    found.next().filter(|_| found.next().is_none())
}

fn read_text(path: &Path) -> Result<Store, Failure> {
    if path.extension().is_some_and(|extension| extension == "mcprec") {
        return Err(Failure::new(format!("cannot read {}: this version reads .jsonl recordings only", path.display())));
    }
    let file = std::fs::File::open(path).map_err(|source| StoreError::Io { path: path.into(), source })?;
    let store = Store::in_memory()?;
    import(&store, std::io::BufReader::new(file), path, &new_uuid())?;
    Ok(store)
}

/// An id that no other session has.
pub(crate) fn new_uuid() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// A short way to name each of these sessions, which are in the order in which the store lists them.
pub(crate) fn shortest(sessions: &[Session]) -> Vec<String> {
    let mut counts = std::collections::HashMap::new();
    let mut name = |session: &Session| {
        let name = &session.start.name;
        let known = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        if !known || name.is_empty() || name == "last" {
            // Its name would be read as something else.
            return session.start.uuid.chars().take(8).collect();
        }
        let count = counts.entry(session.start.name.clone()).and_modify(|count| *count += 1).or_insert(1);
        match *count {
            1 => session.start.name.clone(),
            count => format!("{}.{count}", session.start.name),
        }
    };
    sessions.iter().map(&mut name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, place: Place, part: Part) {
        let reference: Reference = written.parse().unwrap();
        assert_eq!((reference.place, reference.part), (place, part), "{written}");
    }

    #[test]
    fn every_form_of_a_reference_is_understood() {
        let named = |name: &str, count| Place::Named(name.into(), count);
        let one = |seq, member| Part::One(At { seq, member });
        check("last", Place::Last(1), Part::All);
        check("last.2", Place::Last(2), Part::All);
        check("last:7", Place::Last(1), one(7, 0));
        check("github.2:42", named("github", 2), one(42, 0));
        check("github:10..40", named("github", 1), Part::Range { first: Some(10), last: Some(40) });
        check("github:..42", named("github", 1), Part::Range { first: None, last: Some(42) });
        check("github:10..", named("github", 1), Part::Range { first: Some(10), last: None });
        check("last:7.3", Place::Last(1), one(7, 3));
        check("7f3a", named("7f3a", 1), Part::All);
        check("recordings/a.jsonl:3", Place::File("recordings/a.jsonl".into()), one(3, 0));
        check("x.jsonl", Place::File("x.jsonl".into()), Part::All);
        check("other.db:5", Place::File("other.db".into()), one(5, 0));
        check("./a:b/x", Place::File("./a:b/x".into()), Part::All);
    }

    #[test]
    fn a_wrong_reference_says_what_would_be_right() {
        for (written, says) in [
            ("", "a session is missing"),
            (":7", "a session is missing"),
            ("last:", "number is missing"),
            ("last:0", "count from 1"),
            ("last:9..3", "ends before it begins"),
            ("last:@here", "bookmarks"),
            ("last:1.0", "count from 1"),
            ("last.0", "last.1 is the newest"),
            ("last:99999999999999999999", "no message number"),
        ] {
            let error = written.parse::<Reference>().unwrap_err();
            assert!(error.contains(says), "{written}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_reference_or_told_why_not(text in r"([a-z0-9.:@/]|\PC){0,20}") {
            match text.parse::<Reference>() {
                Ok(reference) => proptest::prop_assert!(!reference.written.is_empty()),
                Err(why) => proptest::prop_assert!(!why.is_empty()),
            }
        }
    }
}
