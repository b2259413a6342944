//! Recordings to play: text files are read as they are played, sessions of a database too.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use bytes::Bytes;
use tap_compare::Rules;
use tap_exchange::{HttpReading, Read};
use tap_frame::{Became, Channel, Frame, Origin};
use tap_protocol::Side;
use tap_replay::{Recording, Source, Unit};
use tap_session::{At, Recorded, sender};
use tap_store::{Profile, SessionId, Store, StoreError, TextFrame, TextFrames, TextPlace, Transport, text_frame};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::recording::say;
use crate::reference::{Found, Part, Reference};

/// The recording that a reference names, as `seen_by` saw it where a debugger changed what went on: what it sent, and what
/// reached it. A playback in the server's place says what the client got; one in the client's place what the server got.
pub(in crate::command) fn source(global: &Global, reference: &Reference, seen_by: Side) -> Result<Source, Failure> {
    if let Some(path) = reference.file().filter(|path| is_text(path)) {
        // The player needs it for as long as we run.
        let path: &'static Path = Box::leak(path.to_path_buf().into_boxed_path());
        let frames = TextFrames::open(open(path)?, path)?;
        if frames.transport() == Transport::Stdio {
            let name = path.to_string_lossy().into_owned();
            let rules = rules(&name, frames.rules())?;
            let is_fixture = frames.profile() == Profile::Fixture;
            let again =
                BufReader::new(File::open(path).map_err(|source| StoreError::Io { path: path.into(), source })?);
            let seen = Seen { by: seen_by, kept_back: kept_back_in(&frames, path)? };
            let recording = Text { path, frames: Some(frames), again, places: Vec::new(), part: reference.part, seen };
            return Ok(Source { name, rules, is_fixture, recording: Box::new(recording) });
        }
    }
    let found = reference.resolve(global)?;
    let name = found.name();
    let rules = rules(&name, found.rules.as_deref())?;
    let is_fixture = found.is_fixture();
    let recording: Box<dyn Recording> = match found.is_http() {
        true => Box::new(StoredHttp::new(found, seen_by)?),
        false => Box::new(Stored::new(found, seen_by)?),
    };
    Ok(Source { name, rules, is_fixture, recording })
}

/// Whether a file is there that is no database.
fn is_text(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|extension| extension != "db")
}

fn open(path: &Path) -> Result<BufReader<File>, StoreError> {
    let file = File::open(path).map_err(|source| StoreError::Io { path: path.into(), source })?;
    Ok(BufReader::with_capacity(256 * 1024, file))
}

fn rules(name: &str, rules: Option<&str>) -> Result<Rules, Failure> {
    let Some(rules) = rules else {
        return Ok(Rules::default());
    };
    Rules::parse(rules).map_err(|error| {
        Failure::new(format!("the rules in {name} cannot be used: {error}"))
            .hint("docs/diff.md has the rules there are")
    })
}

/// What one side saw of a recording.
struct Seen {
    by: Side,
    /// The messages that did not get to the other side as they were.
    kept_back: BTreeSet<u64>,
}

impl Seen {
    /// Whether that side sent the frame, or got it.
    fn has(&self, frame: &Frame) -> bool {
        let is_receiver = sender(frame.direction()) != self.by;
        match frame.origin {
            Origin::Wire => !is_receiver || !self.kept_back.contains(&frame.seq),
            Origin::Act(deed) => is_receiver && deed.sends(),
            Origin::Gap(_) => false,
        }
    }
}

/// The messages of a text file that did not get to the other side as they were: it says so behind them, so it is read once
/// for that, if a debugger did something in it.
fn kept_back_in(frames: &TextFrames<'_, BufReader<File>>, path: &Path) -> Result<BTreeSet<u64>, Failure> {
    let mut kept_back = BTreeSet::new();
    if !frames.has_acts() {
        return Ok(kept_back);
    }
    let mut frames = TextFrames::open(open(path)?, path)?;
    while let Some(TextFrame { frame, of, .. }) = frames.next_frame()? {
        if let (Some(of), Origin::Act(deed)) = (of, frame.origin)
            && matches!(deed.became(), Became::Replaced | Became::Stopped)
        {
            kept_back.insert(of);
        }
    }
    Ok(kept_back)
}

fn unit(frame: Frame, line: Option<u64>, seen: &Seen) -> Option<Unit> {
    let is_said = frame.channel() == Channel::Message && seen.has(&frame);
    is_said.then(|| Unit {
        direction: frame.direction(),
        number: frame.seq,
        line,
        at_ns: frame.at_ns,
        conversation: 0,
        exchange: None,
        is_literal: false,
        bytes: frame.message(),
    })
}

/// A text file.
struct Text {
    path: &'static Path,
    frames: Option<TextFrames<'static, BufReader<File>>>,
    /// The same file, for what is read once more: another may have its name by then.
    again: BufReader<File>,
    /// Where each frame is, the first at 0, from the one on that is named first.
    places: Vec<(u64, u64)>,
    part: Part,
    seen: Seen,
}

impl Recording for Text {
    fn next(&mut self) -> Option<Unit> {
        loop {
            match self.frames.as_mut()?.next_frame() {
                Ok(Some(TextFrame { frame, place: TextPlace { line, at }, is_literal, .. })) => {
                    let index = usize::try_from(frame.seq.saturating_sub(1)).ok()?;
                    if self.places.len() <= index {
                        self.places.resize(index + 1, (0, 0));
                    }
                    if let Some(place) = self.places.get_mut(index) {
                        *place = (line, at);
                    }
                    if self.part.contains(At { seq: frame.seq, member: 0 })
                        && let Some(unit) = unit(frame, Some(line), &self.seen)
                    {
                        return Some(Unit { is_literal, ..unit });
                    }
                }
                Ok(None) => self.frames = None,
                Err(error) => {
                    say(&format!("{error}; the recording is played up to there"));
                    self.frames = None;
                }
            }
        }
    }

    fn bytes(&mut self, number: u64) -> Option<Bytes> {
        let (line, at) = *self.places.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
        let read = text_frame(&mut self.again, self.path, TextPlace { line, at });
        read.map_err(|error| say(&error.to_string())).ok()
    }

    fn is_one_conversation(&self) -> bool {
        true
    }
}

/// A session of a database, over stdio.
struct Stored {
    store: &'static Store,
    session: SessionId,
    part: Part,
    recorded: Option<Box<dyn Iterator<Item = Result<Recorded, StoreError>>>>,
    is_caught_up: bool,
    seen: Seen,
}

impl Stored {
    fn new(found: Found, seen_by: Side) -> Result<Self, Failure> {
        // The player needs it for as long as we run.
        let store: &'static Store = Box::leak(Box::new(found.store));
        let session = found.session.id;
        store.catch_up(session, |_| {})?;
        let seen = Seen { by: seen_by, kept_back: store.kept_back(session)? };
        let recorded = Box::new(store.recorded(session));
        Ok(Self { store, session, part: found.part, recorded: Some(recorded), is_caught_up: true, seen })
    }
}

impl Recording for Stored {
    fn next(&mut self) -> Option<Unit> {
        loop {
            match self.recorded.as_mut()?.next() {
                Some(Ok(Recorded::Frame(frame))) => {
                    if self.part.contains(At { seq: frame.seq, member: 0 })
                        && let Some(unit) = unit(frame, None, &self.seen)
                    {
                        return Some(unit);
                    }
                }
                Some(Ok(Recorded::End { .. })) => {}
                Some(Err(error)) => {
                    say(&format!("{error}; the recording is played up to there"));
                    self.recorded = None;
                }
                None => self.recorded = None,
            }
        }
    }

    fn bytes(&mut self, number: u64) -> Option<Bytes> {
        let read = || {
            if !self.is_caught_up {
                self.store.catch_up(self.session, |_| {})?;
            }
            self.store.frame(self.session, number)
        };
        let frame = read().map_err(|error| say(&error.to_string())).ok()?;
        self.is_caught_up = true;
        frame.map(|frame| frame.message())
    }

    fn is_one_conversation(&self) -> bool {
        true
    }
}

/// A session of a database over HTTP, or one conversation in it: read segment by segment.
struct StoredHttp {
    found: Found,
    reading: HttpReading,
    /// What was read and not asked for yet.
    units: VecDeque<Unit>,
    /// Whether what belongs to no session of MCP is left out: it is no conversation of its own where there is one.
    has_conversations: bool,
    has_ended: bool,
    seen: Seen,
}

impl StoredHttp {
    fn new(found: Found, seen_by: Side) -> Result<Self, StoreError> {
        found.store.catch_up(found.session.id, |_| {})?;
        let seen = Seen { by: seen_by, kept_back: found.store.kept_back(found.session.id)? };
        let has_conversations = !found.store.conversations(found.session.id)?.is_empty();
        let (reading, units) = (HttpReading::new(), VecDeque::new());
        Ok(Self { found, reading, units, has_conversations, has_ended: false, seen })
    }

    /// Reads the next segment, or what the end of the recording makes of what is open.
    fn read_on(&mut self) {
        let Self { found, reading, units, has_conversations, has_ended, seen } = self;
        let mut take = |read: Read| {
            if let Some(read) = read.frame
                && found.wants(read.conversation)
                && found.part.contains(At { seq: read.frame.seq, member: 0 })
                && !read.frame.bytes.is_empty()
                && let Some(unit) = unit(read.frame, None, seen)
            {
                let conversation = read.conversation.map_or(0, |number| number.0);
                if conversation != 0 || !*has_conversations {
                    units.push_back(Unit { conversation, exchange: read.exchange, ..unit });
                }
            }
        };
        match found.store.feed_http(found.session.id, reading, &mut |read, _| take(read)) {
            Ok(true) => {}
            Ok(false) => {
                *has_ended = true;
                if !found.store.is_live(found.session.id) {
                    reading.finish(&mut |read, _| take(read));
                }
            }
            Err(error) => {
                say(&format!("{error}; the recording is played up to there"));
                *has_ended = true;
            }
        }
    }
}

impl Recording for StoredHttp {
    fn next(&mut self) -> Option<Unit> {
        while self.units.is_empty() && !self.has_ended {
            self.read_on();
        }
        self.units.pop_front()
    }

    fn bytes(&mut self, number: u64) -> Option<Bytes> {
        let frame = self.found.store.frame(self.found.session.id, number);
        frame.map_err(|error| say(&error.to_string())).ok()?.map(|frame| frame.message())
    }
}
