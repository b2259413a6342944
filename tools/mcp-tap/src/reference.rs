//! References: how a session, or a part of it, is named on the command line.
//!
//! `last`, `last.2`, `github`, `github.2`, `@label`, the start of an id (4 characters or more), a file; then perhaps `/2` for the second
//! session of MCP in a recording over HTTP; then perhaps `:42`, `:10..40`, `:..42`, `:10..`, `:@name` for a bookmark, or
//! `:42.3` for the third message of a batch. None of them needs quoting in any shell. Messages are numbered over all of a recording. A path that exists is
//! that file, whatever it ends in.

mod found;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

use tap_session::At;
use tap_store::{Imported, Profile, Session, Store, StoreError, import, is_name};

use crate::arguments::{Global, Which};
use crate::failure::{Failure, nearest};
use crate::new_file::is_same;
use crate::paths::default_database;
use crate::text::shown;

pub(crate) use self::found::Found;

/// A reference as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// As it was written, for messages.
    written: String,
    place: Place,
    /// What it is if `place` is a file that does not exist: a place, and one session of MCP of the recording there.
    inside: Option<(Place, u64)>,
    /// Which part of the session.
    pub(crate) part: Part,
    /// The bookmark that is meant; which message it is on is known when the session was found.
    bookmark: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The newest session, the second newest, …, counted from 1.
    Last(usize),
    /// By what a person called it.
    Label(String),
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

    /// Whether a message is in it. The number of a batch means all of it.
    pub(crate) fn contains(self, at: At) -> bool {
        match self {
            Self::One(one) if one.member > 0 => at == one,
            Self::All | Self::One(_) | Self::Range { .. } => self.range().contains(&at.seq),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let mut bookmark = None;
        let (place, part) = match written.rsplit_once(':') {
            Some((place, part)) if part.starts_with('@') => {
                let name = part.trim_start_matches('@');
                if !is_name(name) {
                    return Err(format!("`{part}` is no bookmark's name, as in last:@here"));
                }
                bookmark = Some(name.to_owned());
                (place, Part::All)
            }
            Some((place, part)) if part.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
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
        Ok(Self { written: written.into(), place: parse_place(place)?, inside: parse_inside(place), part, bookmark })
    }
}

fn parse_part(part: &str) -> Result<Part, String> {
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
    if let Some(label) = place.strip_prefix('@').filter(|label| is_name(label)) {
        return Ok(Place::Label(label.into()));
    }
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

/// A place with a number behind a slash.
fn parse_inside(place: &str) -> Option<(Place, u64)> {
    let (place, number) = place.rsplit_once('/')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if place.is_empty() || !is_number {
        return None;
    }
    Some((parse_place(place).ok()?, number.parse().ok()?))
}

/// How a message is named on the command line: `last:7`, `last:7.3`.
pub(crate) fn place(reference: &str, at: At) -> String {
    match at.member {
        0 => format!("{reference}:{}", at.seq),
        member => format!("{reference}:{}.{member}", at.seq),
    }
}

/// The database that the command line, the environment, or the default names.
pub(crate) fn database(global: &Global) -> Result<PathBuf, Failure> {
    global.database().map_or_else(default_database, Ok)
}

/// Finds sessions one after another. A database stays open, and its sessions known, while they are in the same one.
pub(crate) struct Finder<'a> {
    global: &'a Global,
    open: Option<Database>,
}

/// A store whose sessions are known.
struct Database {
    path: PathBuf,
    store: Rc<Store>,
    sessions: Rc<[(Session, String)]>,
}

impl Database {
    fn new(path: PathBuf, store: Store) -> Result<Self, Failure> {
        let sessions = store.sessions()?;
        let references = shortest(&sessions);
        Ok(Self { path, store: Rc::new(store), sessions: sessions.into_iter().zip(references).collect() })
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(global: &'a Global) -> Self {
        Self { global, open: None }
    }

    fn open(&mut self, path: PathBuf) -> Result<&Database, Failure> {
        let open = match self.open.take().filter(|open| open.path == path) {
            Some(open) => open,
            None => {
                let store = Store::open(&path)?;
                Database::new(path, store)?
            }
        };
        Ok(self.open.insert(open))
    }

    /// Finds the session that a reference names.
    pub(crate) fn find(&mut self, reference: &Reference) -> Result<Found, Failure> {
        let text;
        let mut file = None;
        let mut first = 1;
        let (mut rules, mut profile) = (None, Profile::Lossless);
        let (meant, conversation) = reference.meant();
        let database = match meant {
            // A server may be called like a file.
            Place::File(path) if !path.exists() && path.components().count() == 1 => {
                self.open(database(self.global)?)?
            }
            Place::File(path) if is_database(path) => self.open(path.clone())?,
            Place::File(path) => {
                let (store, imported) = read_text(path)?;
                text = Database::new(path.clone(), store)?;
                (file, first) = (Some(path.clone()), imported.first);
                (rules, profile) = (imported.rules, imported.profile);
                &text
            }
            Place::Last(_) | Place::Named(..) | Place::Label(_) => self.open(database(self.global)?)?,
        };
        let Some((session, short)) = meant.choose(&database.sessions) else {
            return Err(reference.not_found(&database.store, &database.sessions));
        };
        let part = match &reference.bookmark {
            Some(name) => Part::One(bookmarked(&database.store, session, short, name)?),
            None => reference.part,
        };
        let session = session.clone();
        let (store, reference) = (database.store.clone(), short.clone());
        let found = Found { store, session, reference, part, conversation: None, file, first, rules, profile };
        match conversation {
            Some(number) => found.only(self.global, number),
            None => Ok(found),
        }
    }
}

impl Reference {
    /// The newest session.
    pub(crate) fn last() -> Self {
        Self { written: "last".into(), place: Place::Last(1), inside: None, part: Part::All, bookmark: None }
    }

    /// As it was written.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// The place that is meant, and which session of MCP there. A path that exists is a file, whatever it ends in.
    fn meant(&self) -> (&Place, Option<u64>) {
        match (&self.place, &self.inside) {
            (Place::File(path), Some((place, number))) if !path.exists() => (place, Some(*number)),
            (place, _) => (place, None),
        }
    }

    /// Finds the session.
    pub(crate) fn resolve(&self, global: &Global) -> Result<Found, Failure> {
        Finder::new(global).find(self)
    }

    /// The file that it is read from, where it names one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self.meant() {
            (Place::File(path), _) => Some(path),
            (Place::Last(_) | Place::Named(..) | Place::Label(_), _) => None,
        }
    }

    /// Whether all of a recording is meant.
    pub(crate) fn is_whole(&self) -> bool {
        self.part == Part::All && self.meant().1.is_none() && self.bookmark.is_none()
    }

    fn not_found(&self, store: &Store, sessions: &[(Session, String)]) -> Failure {
        if sessions.is_empty() {
            return Failure::new(format!("{} has no sessions", store.path().display()))
                .hint("record one: `mcp-tap run -- COMMAND`, or try `mcp-tap demo`");
        }
        let count = |name: &str| sessions.iter().filter(|(session, _)| session.start.name == name).count();
        // It could have been the path of a file.
        let no_file = match (&self.place, &self.inside) {
            (Place::File(path), Some(_)) => format!("there is no file {}, and ", path.display()),
            _ => "there is ".into(),
        };
        match self.meant().0 {
            Place::File(path) if !path.exists() => {
                Failure::new(format!("there is no file {}, and no session of that name", path.display()))
            }
            Place::Label(label) => {
                let labels = sessions.iter().filter_map(|(session, _)| session.label.as_deref());
                let failure = Failure::new(format!("no session has the label @{label}"));
                match nearest(label, labels) {
                    Some(known) => failure.hint(format!("did you mean `@{known}`?")),
                    None => failure.hint("L in `mcp-tap inspect` gives one"),
                }
            }
            Place::Last(_) | Place::File(_) => {
                Failure::new(format!("there is no session {}; there are {}", self.written, sessions.len()))
            }
            Place::Named(name, _) if count(name) > 0 => {
                Failure::new(format!("there is no session {}; {name} has {}", self.written, count(name)))
            }
            Place::Named(name, _) => {
                let names = sessions.iter().map(|(session, _)| session.start.name.as_str()).chain(["last"]);
                let failure = Failure::new(format!("{no_file}no session `{name}` in {}", store.path().display()));
                match nearest(name, names) {
                    Some(known) => failure.hint(format!("did you mean `{known}`?")),
                    None => failure.hint("`mcp-tap ls` lists them"),
                }
            }
        }
    }
}

impl Place {
    fn choose<'a>(&self, sessions: &'a [(Session, String)]) -> Option<&'a (Session, String)> {
        let named =
            |name: &str, count: usize| sessions.iter().filter(|(this, _)| this.start.name == name).nth(count - 1);
        match self {
            Self::Last(count) => sessions.get(count - 1),
            Self::Label(label) => sessions.iter().find(|(this, _)| this.label.as_deref() == Some(label)),
            Self::File(path) if !path.exists() => named(&path.to_string_lossy(), 1),
            Self::File(_) => sessions.first(),
            // A name may end like a count: `gpt4.1`.
            Self::Named(name, count) => {
                named(name, *count).or_else(|| named(&format!("{name}.{count}"), 1)).or_else(|| by_id(sessions, name))
            }
        }
    }
}

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "db")
}

/// The sessions that are named, or all of the database, one at a time: what was read from a file is gone with its session.
pub(crate) fn sessions<'a>(
    global: &'a Global,
    which: &'a Which,
) -> Result<Box<dyn Iterator<Item = Result<Found, Failure>> + 'a>, Failure> {
    if let Some((word, problem)) = which.problem() {
        return Err(Failure::new(format!("`{}` names no session: {problem}", shown(word, false))));
    }
    let mut finder = Finder::new(global);
    if which.all {
        let Database { store, sessions, .. } = finder.open(database(global)?)?;
        let (store, sessions) = (store.clone(), sessions.clone());
        return Ok(Box::new((0..sessions.len()).map(move |index| {
            let (session, reference) = sessions[index].clone();
            let store = store.clone();
            Ok(Found::of(store, session, reference))
        })));
    }
    let named: Vec<Cow<'_, Reference>> = if which.is_default() {
        vec![Cow::Owned(Reference::last())]
    } else {
        which.named().map(Cow::Borrowed).collect()
    };
    Ok(Box::new(named.into_iter().map(move |reference| finder.find(&reference))))
}

/// Says so when output would be written over something that is read.
pub(crate) fn must_not_be_read<'a>(
    global: &Global,
    output: &Path,
    mut references: impl Iterator<Item = &'a Reference>,
) -> Result<(), Failure> {
    let is_read = references.any(|reference| reference.file().is_some_and(|file| is_same(file, output)));
    if is_read || database(global).is_ok_and(|database| is_same(&database, output)) {
        return Err(Failure::new(format!("cannot write {}: it is what is read", output.display()))
            .hint("choose another file with -o"));
    }
    Ok(())
}

/// The message that has a bookmark of this name.
fn bookmarked(store: &Store, session: &Session, reference: &str, name: &str) -> Result<At, Failure> {
    let marks = store.bookmarks(session.id)?;
    let at = marks.iter().find(|mark| mark.name.as_deref() == Some(name)).map(|mark| mark.at);
    at.ok_or_else(|| {
        let failure = Failure::new(format!("{reference} has no bookmark @{name}"));
        match nearest(name, marks.iter().filter_map(|mark| mark.name.as_deref())) {
            Some(known) => failure.hint(format!("did you mean `{reference}:@{known}`?")),
            None => failure.hint("b in `mcp-tap inspect` makes one"),
        }
    })
}

/// The one session whose id starts so.
fn by_id<'a>(sessions: &'a [(Session, String)], start: &str) -> Option<&'a (Session, String)> {
    if start.len() < 4 {
        return None;
    }
    let mut found = sessions.iter().filter(|(session, _)| session.start.uuid.starts_with(start));
    found.next().filter(|_| found.next().is_none())
}

/// A text recording that is larger is not held in memory, bytes.
const IN_MEMORY_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text recording into a store that is gone with us.
pub(crate) fn read_text(path: &Path) -> Result<(Store, Imported), Failure> {
    let is_large = path.metadata().is_ok_and(|metadata| metadata.len() > IN_MEMORY_BYTES);
    let store = if is_large { Store::temporary()? } else { Store::in_memory()? };
    let imported = import_file(&store, path)?;
    Ok((store, imported))
}

/// Reads a text recording into a store.
pub(crate) fn import_file(store: &Store, path: &Path) -> Result<Imported, StoreError> {
    let failed = |source| StoreError::Io { path: path.into(), source };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_file() {
        return import(store, std::io::BufReader::new(file), path, &new_uuid());
    }
    // A pipe, which cannot be read twice.
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut text).map_err(failed)?;
    import(store, std::io::Cursor::new(text), path, &new_uuid())
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
