//! `--record new`: the real server behind a recording, and the file that learns from it.
//!
//! The server is started as `verify` starts one, when it is first needed. The file is written on a thread of its own, whole
//! each time, so that no client waits for it, and what was learned is there even if we are killed.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{BufReader, BufWriter, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tap_redact::Redactor;
use tap_replay::Learned;
use tap_store::{Addition, FOLD_COLUMNS, Profile, StoreError, TextFrames, Transport, add};

use super::super::verify::server::{Event, Server};
use super::input::Input;
use super::record::is_url;
use crate::arguments::{Global, Replay};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::recording::say;
use crate::text::shown;

/// Who is listened to: the client alone, or the real server as well.
enum Ears {
    /// There is no real server.
    Stdin(Input),
    /// It may be started yet.
    Client(Receiver<Event>),
    Both(Server),
    Nobody,
}

/// The real server, once it is needed, and the file.
pub(super) struct Real {
    words: Vec<OsString>,
    sender: Option<SyncSender<Event>>,
    ears: Ears,
    began: Instant,
    writer: Option<Writer>,
}

impl Real {
    /// Of a playback that records nothing.
    pub(super) fn none(input: Input) -> Self {
        Self { words: Vec::new(), sender: None, ears: Ears::Stdin(input), began: Instant::now(), writer: None }
    }

    /// Behind the recording that is played.
    pub(super) fn new(
        global: &Global,
        replay: &Replay,
        sender: SyncSender<Event>,
        events: Receiver<Event>,
    ) -> Result<Self, Failure> {
        let path = replay.recordings.first().and_then(|reference| reference.file()).unwrap_or(Path::new(""));
        let (words, writer) = (words(global, path, &replay.command), Some(Writer::start(path)?));
        Ok(Self { words, sender: Some(sender), ears: Ears::Client(events), began: Instant::now(), writer })
    }

    /// Whether nothing has happened, so that there is time for other things. Of a client that is read on another thread that is
    /// not known.
    pub(super) fn is_idle(&self) -> bool {
        match &self.ears {
            Ears::Stdin(input) => !input.is_ready(),
            Ears::Client(_) | Ears::Both(_) | Ears::Nobody => false,
        }
    }

    /// Whether the client's next line is there already, so that what was said to it can wait for more.
    pub(super) fn has_more(&self) -> bool {
        match &self.ears {
            Ears::Stdin(input) => input.has_more(),
            Ears::Client(_) | Ears::Both(_) | Ears::Nobody => false,
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The next thing that happens; `None` when nothing does for so long.
    pub(super) fn next(&mut self, limit: Duration) -> Option<Event> {
        match &mut self.ears {
            Ears::Stdin(input) => input.next(limit),
            Ears::Client(events) => match events.recv_timeout(limit) {
                Ok(event) => Some(event),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Some(Event::TypedAll),
            },
            Ears::Both(server) => server.next(Some(Instant::now() + limit)),
            Ears::Nobody => Some(Event::TypedAll),
        }
    }

    /// Says a line to the real server, which is started for the first. Why that cannot be is given.
    pub(super) fn send(&mut self, line: Vec<u8>) -> Result<(), String> {
        if let Ears::Client(_) = &self.ears {
            let Ears::Client(events) = std::mem::replace(&mut self.ears, Ears::Nobody) else {
                return Ok(());
            };
            let Some(sender) = self.sender.clone() else {
                return Ok(());
            };
            let started = Server::start(&self.words, sender, events);
            self.ears = match started {
                Ok(server) => Ears::Both(server),
                Err((failure, events)) => {
                    self.ears = Ears::Client(events);
                    return Err(failure.message);
                }
            };
        }
        if let Ears::Both(server) = &self.ears {
            server.send(line);
        }
        Ok(())
    }

    /// Why the real server is gone.
    pub(super) fn why_it_ended(&self) -> String {
        let word = match &self.ears {
            Ears::Both(server) => server.last_word(),
            Ears::Stdin(_) | Ears::Client(_) | Ears::Nobody => None,
        };
        match word {
            Some(word) => format!("the real server has ended; it wrote: {}", shown(&word, false)),
            None => "the real server has ended".into(),
        }
    }

    /// Something was learned.
    pub(super) fn learned(&self, learned: Vec<Learned>) {
        if let Some(writer) = &self.writer {
            let _ = writer.learned.send(learned);
        }
    }

    /// Ends the real server and waits for the file.
    pub(super) fn finish(self) {
        if let Ears::Both(server) = self.ears {
            server.end();
        }
        if let Some(Writer { learned, thread }) = self.writer {
            drop(learned);
            let _ = thread.join();
        }
    }
}

/// How a tap for the real server is started.
fn words(global: &Global, recording: &Path, command: &[OsString]) -> Vec<OsString> {
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name = format!("{}-new", stem.chars().map(plain).collect::<String>());
    let is_url = is_url(command);
    let mut words: Vec<OsString> =
        vec![if is_url { "proxy".into() } else { "run".into() }, "--name".into(), name.into()];
    if let Some(path) = global.database() {
        words.extend(["--db".into(), path.into_os_string()]);
    }
    words.push(if is_url { "--stdio".into() } else { "--".into() });
    words.extend(command.iter().cloned());
    words
}

/// Writes the file.
struct Writer {
    learned: std::sync::mpsc::Sender<Vec<Learned>>,
    thread: JoinHandle<()>,
}

impl Writer {
    fn start(path: &Path) -> Result<Self, Failure> {
        let open = |path: &Path| File::open(path).map_err(|source| StoreError::Io { path: path.into(), source });
        let frames = TextFrames::open(BufReader::new(open(path)?), path)?;
        if frames.transport() != Transport::Stdio {
            return Err(Failure::new(format!(
                "--record new adds to recordings over stdio, and {} was recorded over HTTP",
                path.display()
            ))
            .hint("--record all records it anew, on stdio"));
        }
        let profile = frames.profile();
        // Whether it can be written is better known now than when something was learned.
        drop(NewFile::create(path, readers(profile))?);
        let base = open(path)?;
        let metadata = base.metadata().map_err(|error| cannot_write(path, &error))?;
        let mut file = Growing {
            path: path.into(),
            base,
            profile,
            additions: Vec::new(),
            written: stamp(&metadata),
            is_given_up: false,
        };
        let (learned, waiting) = channel::<Vec<Learned>>();
        let thread = std::thread::Builder::new().name("write".into()).spawn(move || {
            while let Ok(first) = waiting.recv() {
                // What came meanwhile is written with it.
                let all = std::iter::once(first).chain(waiting.try_iter()).flatten();
                file.additions.extend(all.map(|learned| Addition {
                    behind: learned.behind,
                    direction: learned.direction,
                    bytes: learned.bytes.into(),
                    gap_ns: learned.gap_ns,
                }));
                file.write();
            }
        });
        let thread = thread.map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        Ok(Self { learned, thread })
    }
}

/// A recording that more is added to.
struct Growing {
    path: PathBuf,
    /// The file as it was when the playback began.
    base: File,
    profile: Profile,
    additions: Vec<Addition>,
    /// The file as we left it.
    written: (u64, u64, i64, i64),
    is_given_up: bool,
}

impl Growing {
    /// Writes the file anew. What cannot be written is told once.
    fn write(&mut self) {
        if self.is_given_up {
            return;
        }
        if let Err(failure) = self.try_write() {
            self.is_given_up = true;
            say(&format!("what was learned is not added: {}", failure.message));
            say("it is in the database all the same");
        }
    }

    fn try_write(&mut self) -> Result<(), Failure> {
        let path = &self.path;
        let failed = |error| cannot_write(path, &error);
        if path.metadata().ok().as_ref().map(stamp) != Some(self.written) {
            return Err(Failure::new(format!("{} was changed by somebody else while it was played", path.display())));
        }
        let mut base = self.base.try_clone().map_err(failed)?;
        base.seek(SeekFrom::Start(0)).map_err(failed)?;
        let homes: Vec<String> = std::env::var("HOME").into_iter().collect();
        let mut redactor = (self.profile == Profile::Fixture).then(|| Redactor::new(Vec::new(), homes));
        let is_folded = path.extension().is_some_and(|extension| extension == "mcprec");
        let fold_columns = if is_folded { FOLD_COLUMNS } else { 0 };
        let mut out = BufWriter::new(NewFile::create(path, readers(self.profile))?);
        add(BufReader::new(base), path, &self.additions, fold_columns, redactor.as_mut(), &mut out)?;
        let file = out.into_inner().map_err(|error| cannot_write(path, error.error()))?;
        file.finish()?;
        self.written = path.metadata().as_ref().map(stamp).map_err(|error| Failure::new(error.to_string()))?;
        Ok(())
    }
}

/// By what a change of a file is seen.
fn stamp(metadata: &Metadata) -> (u64, u64, i64, i64) {
    (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn readers(profile: Profile) -> Readers {
    if profile == Profile::Fixture { Readers::Usual } else { Readers::Owner }
}
