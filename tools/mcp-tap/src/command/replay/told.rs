//! What people are told of a playback: misses at once, and at the end what nobody asked for.

use std::io::Write;

use tap_replay::{Miss, Note, Report};

use crate::arguments::{Dials, Global};
use crate::failure::Failure;
use crate::new_file::{NewFile, Readers};
use crate::recording::say;
use crate::text::{counted, shown};

/// Misses that are told whole; of more only how many there were is told.
const TOLD_MISSES: usize = 20;

/// Unused requests that are named.
const TOLD_UNUSED: usize = 5;

/// Tells on stderr.
pub(super) struct Told {
    quiet: bool,
    n_misses: usize,
    notes: crate::telling::Told,
}

impl Told {
    pub(super) fn new(global: &Global) -> Self {
        Self { quiet: global.quiet, n_misses: 0, notes: crate::telling::Told::default() }
    }

    pub(super) fn miss(&mut self, miss: &Miss) {
        self.n_misses += 1;
        if self.n_misses <= TOLD_MISSES {
            let text = miss.text();
            let text = text.strip_prefix("mcp-tap ").unwrap_or(&text);
            say(shown(text, true).trim_end());
        }
    }

    pub(super) fn note(&mut self, note: &Note) {
        if !self.quiet {
            self.notes.tell(&shown(&format!("replay: {}", note.text), false));
        }
    }

    pub(super) fn end(&mut self, report: &Report, dials: &Dials) -> Result<(), Failure> {
        let more = self.n_misses.saturating_sub(TOLD_MISSES);
        if more > 0 {
            say(&format!("replay: {} more had no recorded answer", counted(more as u64, "request")));
        }
        if !report.unused.is_empty() && dials.report_in.is_none() && (!self.quiet || dials.strict) {
            let unused = report.unused.iter().map(|unused| {
                let place =
                    unused.line.map_or_else(|| format!("message {}", unused.number), |line| format!("line {line}"));
                format!("{place} of {}  {}", unused.recording, unused.what)
            });
            tell_unused(report.n_unused, report.looked_at_all, unused);
        }
        let in_folder = dials.report_in.as_ref().map(|folder| super::sessions::file_in(folder));
        let Some(path) = dials.report.as_ref().or(in_folder.as_ref()) else {
            return Ok(());
        };
        let file = NewFile::create(path, Readers::Usual)?;
        let mut out = file.writer()?;
        let json = report.json();
        writeln!(out, "{json:#}").map_err(|error| crate::new_file::cannot_write(path, &error))?;
        file.finish()
    }
}

/// Tells which recorded requests nobody made: how many, and the first of them.
pub(super) fn tell_unused(n: u64, looked_at_all: bool, unused: impl Iterator<Item = String>) {
    let at_least = if looked_at_all { "" } else { "at least " };
    let mut text = format!("replay: {at_least}{} nobody made", counted(n, "recorded request"));
    let mut n_told = 0;
    for unused in unused.take(TOLD_UNUSED) {
        text.push_str(&format!("\n  {unused}"));
        n_told += 1;
    }
    if n > n_told {
        text.push_str(&format!("\n  and {} more", n - n_told));
    }
    say(&shown(&text, true));
}
