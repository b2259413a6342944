//! The recorder: keeps what passed, whatever becomes of the database. It never fails and never makes anybody wait.
//!
//! | the database is | then |
//! | --- | --- |
//! | slower than the traffic | copies go to a spill file, which is written at the speed of the disk's cache; they get in when the traffic rests |
//! | locked | the same |
//! | too new, damaged, somebody else's, read-only | a side database beside it, or in the temporary folder |
//! | full | copies wait in memory; what finds no room there becomes a gap; it is tried again every second |
//!
//! Each of these is told once. The session is marked: `lost_bytes` counts what became a gap.

mod target;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior::Immediate;
use tap_frame::{HttpPart, Piece, Segment, Stream};

use crate::derive::{Derived, Deriver, Step, prepare};
use crate::error::StoreError;
use crate::schema::{CHECKPOINT_BYTES, checkpoint, log_bytes, open_for_writing};
use crate::spill::Spill;
use crate::writer::{SessionEnd, SessionStart, Writer};
use target::{Target, temporary_folder};

/// How long one attempt waits for another writer. Short, because copies have to be looked after in between.
const ATTEMPT: Duration = Duration::from_millis(10);

/// How long a locked database is tried before anybody is told.
const QUIETLY_TRIED: Duration = Duration::from_secs(2);

/// How long copies wait in memory for a locked database before they go to the spill file.
const IN_MEMORY: Duration = Duration::from_millis(40);

/// How often a full disk is tried again.
const FULL_DISK_RETRY: Duration = Duration::from_secs(1);

/// What may wait in memory, bytes.
const BACKLOG_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What one transaction takes at most, bytes.
const TRANSACTION_BYTES: usize = 8 * 1024 * 1024;

/// When more than this comes at once, bytes, traffic is too fast to be put into the database beside it on a machine that
/// has other things to do: some 50 MiB a second.
const TOO_FAST_BYTES: usize = 1024 * 1024;

/// How long [`Recorder::finish`] may move a spill file into the database. What is left then, a reader moves.
const LAST_MOVING: Duration = Duration::from_millis(100);

/// From here on writing waits for the checkpoint, so that the log cannot grow for ever, bytes.
const FORCED_CHECKPOINT_BYTES: u64 = 256 * 1024 * 1024;

/// How long [`Recorder::finish`] tries a database that is locked. Hosts kill after two seconds.
const LAST_ATTEMPTS: Duration = Duration::from_millis(1000);

/// Of how many bytes [`Recorder::finish`] works out what they meant. More would keep the host waiting.
const LAST_DERIVED_BYTES: u64 = 64 * 1024;

/// Something that the user should be told, once.
pub type Tell = Box<dyn FnMut(String) + Send>;

/// Keeps one session's traffic.
pub struct Recorder {
    start: SessionStart,
    target: Target,
    writer: Option<Writer>,
    deriver: Option<Deriver>,
    /// The derived tables are there.
    prepared: bool,
    backlog: VecDeque<(u64, Segment)>,
    backlog_bytes: usize,
    next_number: u64,
    spill: Option<Spill>,
    lost_bytes: u64,
    trouble: Option<Trouble>,
    tell: Tell,
    emptied: Vec<Segment>,
    written_since_checkpoint: u64,
    checkpointing: Arc<AtomicBool>,
}

/// What keeps copies from getting into the database at the moment.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    full: bool,
    told: bool,
    next_attempt: Instant,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("target", &self.target).field("trouble", &self.trouble).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder that will begin the session in the database at `path` as soon as it can. `tell` is given whole
    /// sentences, each once.
    #[must_use]
    pub fn new(path: PathBuf, start: SessionStart, tell: Tell) -> Self {
        Self {
            start,
            target: Target::Given(path),
            writer: None,
            deriver: None,
            prepared: false,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            next_number: 0,
            spill: None,
            lost_bytes: 0,
            trouble: None,
            tell,
            emptied: Vec::new(),
            written_since_checkpoint: 0,
            checkpointing: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Whether copies wait for the database, so that [`record`](Self::record) should be called again soon.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.target != Target::Nowhere && (!self.backlog.is_empty() || self.spill.is_some() || self.writer.is_none())
    }

    /// Keeps these segments, and whatever waited before them. Gives back segments that are no longer needed.
    pub fn record(&mut self, segments: Vec<Segment>) -> Vec<Segment> {
        for mut segment in segments {
            if self.trouble.is_some() {
                // It may have to wait for long, and it holds far more room than it fills.
                segment.shrink();
            }
            self.backlog_bytes += segment.weight();
            self.backlog.push_back((self.next_number, segment));
            self.next_number += 1;
        }
        if self.target == Target::Nowhere {
            self.lose_backlog();
        }
        let too_fast = self.backlog_bytes > TOO_FAST_BYTES;
        // What waits in memory is gone when the tap is killed.
        let stuck = self.trouble.as_ref().is_some_and(|trouble| !trouble.full && trouble.since.elapsed() > IN_MEMORY);
        if too_fast || stuck || self.spill.is_some() {
            // Behind what was spilled before, for the order. Where that fails the database is tried after all.
            let _ = self.spill_backlog();
        }
        let may_try = self.trouble.as_ref().is_none_or(|trouble| trouble.next_attempt <= Instant::now());
        if may_try && !(too_fast && self.backlog.is_empty()) {
            self.flush();
        }
        if self.backlog_bytes > BACKLOG_LIMIT_BYTES {
            self.relieve();
        }
        std::mem::take(&mut self.emptied)
    }

    /// Uses a quiet moment to work out what the newest frames meant. False when there is nothing left to do.
    pub fn work_behind(&mut self) -> bool {
        self.spill.is_none() && matches!(self.derive(u64::MAX, false), Some(Step::More))
    }

    /// Works out what some of the frames meant, if there is a place for that and no more than `most_bytes` are left to do.
    fn derive(&mut self, most_bytes: u64, over: bool) -> Option<Step> {
        let (writer, deriver) = (self.writer.as_mut()?, self.deriver.as_mut()?);
        let path = writer.path().to_path_buf();
        if !self.prepared {
            // Where the derived tables cannot be made now, they are made in the next quiet moment, or by a reader.
            self.prepared = matches!(prepare(writer.connection(), &path, true), Ok(Derived::InDatabase));
        }
        let is_little = most_bytes == u64::MAX || deriver.n_bytes_left(writer.connection()).ok()? < most_bytes;
        if !self.prepared || !is_little {
            return None;
        }
        deriver.step(writer.connection(), &path, over, Immediate).ok()
    }

    /// Keeps what is left and how the session ended. Takes about a second at most.
    pub fn finish(mut self, mut end: SessionEnd) {
        let began = Instant::now();
        loop {
            self.flush();
            let (patience, pause) = match &self.trouble {
                Some(trouble) if trouble.full => break,
                // tidy: sleeps because SQLite does not always wait itself where it finds the file locked.
                Some(_) => (LAST_ATTEMPTS, Duration::from_millis(5)),
                None => (LAST_MOVING, Duration::ZERO),
            };
            if !self.is_behind() || began.elapsed() > patience {
                break;
            }
            std::thread::sleep(pause); // tidy: sleeps because of the lock, see above.
        }
        end.lost_bytes += self.lost_bytes;
        if self.is_behind() && !self.leave_spill(&end) {
            return;
        }
        let Some(writer) = &mut self.writer else {
            return;
        };
        while let Err(error) = writer.end(&end) {
            if !matches!(error, StoreError::Locked { .. }) || began.elapsed() > LAST_ATTEMPTS {
                return;
            }
        }
        if self.spill.is_some() {
            return;
        }
        // Only a little, and only if nobody else wants to write: a reader can do it as well.
        let _ = writer.connection().busy_timeout(Duration::ZERO);
        let _ = self.derive(LAST_DERIVED_BYTES, true);
    }

    /// Puts what waits into the database: a part of the spill file, or, when there is none, all of the backlog.
    fn flush(&mut self) {
        if self.writer.is_none() && !self.begin() {
            return;
        }
        let done = match self.spill.is_some() {
            true => self.move_spilled(),
            false => self.write_backlog(),
        };
        match done {
            Ok(()) => {
                self.trouble = None;
                self.checkpoint_if_due();
            }
            Err(error) => self.take_trouble(error),
        }
    }

    fn move_spilled(&mut self) -> Result<(), StoreError> {
        let (Some(writer), Some(spill)) = (&mut self.writer, &mut self.spill) else {
            return Ok(());
        };
        let peeked = spill.peek();
        let (segments, read_to) = peeked.map_err(|source| StoreError::Io { path: spill.path().into(), source })?;
        writer.append(&segments)?;
        self.written_since_checkpoint += segments.iter().map(|(_, segment)| segment.weight() as u64).sum::<u64>();
        spill.forget(read_to);
        if spill.is_empty()
            && let Some(spill) = self.spill.take()
        {
            spill.remove();
        }
        Ok(())
    }

    fn write_backlog(&mut self) -> Result<(), StoreError> {
        while let (n_segments @ 1.., Some(writer)) = (self.first_of_backlog(), &mut self.writer) {
            writer.append(self.backlog.iter().take(n_segments))?;
            for (_, segment) in self.backlog.drain(..n_segments) {
                self.backlog_bytes -= segment.weight();
                self.written_since_checkpoint += segment.weight() as u64;
                self.emptied.push(segment);
            }
        }
        Ok(())
    }

    /// How many segments of the backlog fit into one transaction.
    fn first_of_backlog(&self) -> usize {
        let mut n_bytes = 0;
        let fits = self.backlog.iter().take_while(|(_, segment)| {
            let fits = n_bytes < TRANSACTION_BYTES;
            n_bytes += segment.weight();
            fits
        });
        fits.count()
    }

    /// Begins the session in the first place that takes it. False when none does now.
    fn begin(&mut self) -> bool {
        while let Some(path) = self.target.path() {
            match Writer::begin(path, &self.start, ATTEMPT) {
                Ok(writer) => {
                    self.deriver = Some(Deriver::new(writer.session(), self.start.transport));
                    self.writer = Some(writer);
                    return true;
                }
                Err(error @ (StoreError::Locked { .. } | StoreError::DiskFull { .. })) => {
                    self.take_trouble(error);
                    return false;
                }
                Err(error) => {
                    self.move_on(&error);
                    self.take_spill_along();
                }
            }
        }
        false
    }

    fn take_trouble(&mut self, error: StoreError) {
        let full = match error {
            StoreError::Locked { .. } => false,
            StoreError::DiskFull { .. } => true,
            other => {
                // The database cannot be used any more; what it has stays in it.
                self.writer = None;
                self.deriver = None;
                self.prepared = false;
                self.begin_anew();
                self.move_on(&other);
                return;
            }
        };
        let now = Instant::now();
        let trouble = self.trouble.get_or_insert(Trouble { since: now, full, told: false, next_attempt: now });
        trouble.full = full;
        trouble.next_attempt = if full { now + FULL_DISK_RETRY } else { now };
        if !trouble.told && (full || trouble.since.elapsed() > QUIETLY_TRIED) {
            trouble.told = true;
            (self.tell)(match full {
                true => format!("{error}; traffic goes on, and what cannot be recorded is counted"),
                false => format!("{error}; traffic goes on, and the recording is kept until the lock is free"),
            });
        }
    }

    /// Goes to the next place to record to.
    fn move_on(&mut self, error: &StoreError) {
        let name = format!("tap-{}.db", self.start.uuid);
        self.target = match &self.target {
            Target::Given(path) => Target::Beside(path.with_file_name(name)),
            Target::Beside(_) => match temporary_folder() {
                Ok(folder) => Target::Temporary(folder.join(name)),
                Err(_) => Target::Nowhere,
            },
            Target::Temporary(_) | Target::Nowhere => Target::Nowhere,
        };
        match (self.target.path(), &self.target) {
            (Some(path), Target::Beside(_)) => {
                (self.tell)(format!("{error}; this session is recorded to {} instead", path.display()));
            }
            (Some(path), _) => (self.tell)(format!("{error}; trying {}", path.display())),
            (None, _) => (self.tell)(format!("{error}; traffic goes on, but this session is not recorded")),
        }
    }

    /// Has the session begin anew in the next place, with what is not in the old one. A spill file stays with that.
    fn begin_anew(&mut self) {
        self.spill = None;
        self.next_number = 0;
        for (number, _) in &mut self.backlog {
            *number = self.next_number;
            self.next_number += 1;
        }
    }

    /// Moves the spill file to where the session will be recorded, when nothing of it is in the old place but that.
    fn take_spill_along(&mut self) {
        let (Some(spill), Some(path)) = (self.spill.take(), self.target.path()) else {
            return;
        };
        match spill.move_beside(path, &self.start) {
            Ok(spill) => self.spill = Some(spill),
            Err(_) => self.begin_anew(),
        }
    }

    /// Makes room in memory: into the spill file if the database is only locked, or else by a gap.
    fn relieve(&mut self) {
        let full = self.trouble.as_ref().is_some_and(|trouble| trouble.full);
        let spilled = !full && self.spill_backlog().is_ok();
        if !spilled {
            self.lose_backlog();
        }
    }

    fn spill_backlog(&mut self) -> std::io::Result<()> {
        let Some(path) = self.target.path() else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        if self.spill.is_none() {
            self.spill = Some(Spill::create(path, &self.start)?);
        }
        while let (Some(spill), Some((number, segment))) = (&mut self.spill, self.backlog.front()) {
            spill.push(*number, segment)?;
            self.backlog_bytes -= segment.weight();
            if let Some((_, segment)) = self.backlog.pop_front() {
                self.emptied.push(segment);
            }
        }
        Ok(())
    }

    /// Replaces the backlog by a note of how much it was.
    fn lose_backlog(&mut self) {
        let (mut lost, mut ended) = ([0u64; 3], [false; 3]);
        let mut lost_http: BTreeMap<(u64, HttpPart), u64> = BTreeMap::new();
        let mut ended_http: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut gap = Segment::default();
        let Some((first, _)) = self.backlog.front() else {
            return;
        };
        let first = *first;
        let (mut at_ns, mut wall_ns) = (0, 0);
        for (_, segment) in self.backlog.drain(..) {
            (at_ns, wall_ns) = (segment.at_ns, segment.wall_ns);
            for piece in segment.iter().flatten() {
                match piece {
                    Piece::Chunk { stream, bytes, .. } => {
                        lost[usize::from(stream.code())] += bytes.len() as u64;
                        self.lost_bytes += bytes.len() as u64;
                    }
                    Piece::Gap { stream, n_bytes, .. } => lost[usize::from(stream.code())] += n_bytes,
                    Piece::End { stream, .. } => ended[usize::from(stream.code())] = true,
                    Piece::Http { exchange, part: HttpPart::End, bytes, .. } => {
                        ended_http.insert(exchange, bytes.to_vec());
                    }
                    Piece::Http { exchange, part, bytes, .. } => {
                        *lost_http.entry((exchange, part)).or_default() += bytes.len() as u64;
                        self.lost_bytes += bytes.len() as u64;
                    }
                    Piece::HttpGap { exchange, part, n_bytes, .. } => {
                        *lost_http.entry((exchange, part)).or_default() += n_bytes;
                    }
                    // What it was done to is lost with it.
                    Piece::Act { bytes, .. } => self.lost_bytes += bytes.len() as u64,
                }
            }
            self.emptied.push(segment);
        }
        for stream in Stream::ALL {
            let n_bytes = lost[usize::from(stream.code())];
            if n_bytes > 0 {
                gap.push_gap(stream, at_ns, wall_ns, n_bytes);
            }
            if ended[usize::from(stream.code())] {
                gap.push_end(stream, at_ns, wall_ns);
            }
        }
        for ((exchange, part), n_bytes) in lost_http {
            gap.push_http_gap(exchange, part, at_ns, wall_ns, n_bytes);
        }
        for (exchange, end) in ended_http {
            gap.push_http(exchange, HttpPart::End, at_ns, wall_ns, &end);
        }
        self.backlog_bytes = gap.weight();
        self.next_number = first + 1;
        self.backlog.push_back((first, gap));
    }

    /// Leaves behind what the database did not take, for whoever opens it next. True when the database can be written,
    /// so that there is more to do.
    fn leave_spill(&mut self, end: &SessionEnd) -> bool {
        let left = self.spill_backlog().is_ok() && self.spill.as_mut().is_some_and(|spill| spill.push_end(end).is_ok());
        match (&self.spill, left, &self.trouble) {
            (Some(_), true, None) => return self.writer.is_some(),
            (Some(spill), true, Some(_)) => (self.tell)(format!(
                "the recording is kept in {}; the next mcp-tap command takes it into the database",
                spill.path().display()
            )),
            _ => {
                (self.tell)(
                    "the end of this session is not recorded: the disk is full or the database is locked".into(),
                );
            }
        }
        false
    }

    /// Has the write-ahead log moved into the database when it has grown. By another thread and another connection,
    /// because it waits for the disk.
    fn checkpoint_if_due(&mut self) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        if self.written_since_checkpoint < CHECKPOINT_BYTES / 2 {
            return;
        }
        self.written_since_checkpoint = 0;
        let log_bytes = log_bytes(writer.path());
        if log_bytes < CHECKPOINT_BYTES || self.checkpointing.swap(true, Ordering::SeqCst) {
            return;
        }
        let mode = if log_bytes < FORCED_CHECKPOINT_BYTES { "PASSIVE" } else { "RESTART" };
        let (path, running) = (writer.path().to_path_buf(), self.checkpointing.clone());
        let started = std::thread::Builder::new().name("checkpoint".into()).spawn(move || {
            let _ = open_for_writing(&path, ATTEMPT).map(|connection| checkpoint(&connection, mode));
            running.store(false, Ordering::SeqCst);
        });
        if started.is_err() {
            self.checkpointing.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;
