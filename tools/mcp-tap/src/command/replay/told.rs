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
        if !report.unused.is_empty() && (!self.quiet || dials.strict) {
            let n = report.n_unused;
            let at_least = if report.looked_at_all { "" } else { "at least " };
            let mut text = format!("replay: {at_least}{} nobody made", counted(n, "recorded request"));
            for unused in report.unused.iter().take(TOLD_UNUSED) {
                let place =
                    unused.line.map_or_else(|| format!("message {}", unused.number), |line| format!("line {line}"));
                text.push_str(&format!("\n  {place} of {}  {}", unused.recording, unused.what));
            }
            let told = report.unused.len().min(TOLD_UNUSED) as u64;
            if n > told {
                text.push_str(&format!("\n  and {} more", n - told));
            }
            say(&shown(&text, true));
        }
        let Some(path) = &dials.report else {
            return Ok(());
        };
        let file = NewFile::create(path, Readers::Usual)?;
        let mut out = file.writer()?;
        let json = report.json();
        writeln!(out, "{json:#}").map_err(|error| crate::new_file::cannot_write(path, &error))?;
        file.finish()
    }
}
