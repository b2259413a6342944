//! The scanner: reads one unit, in any pieces, and says what it is.

use crate::collect::Collector;
use crate::envelope::{Content, Scanned};
use crate::grammar::{Machine, Progress};
use crate::notes::Notes;
use crate::watch::Path;

/// Reads units one after the other: [`feed`](Self::feed) the bytes of one, then [`finish`](Self::finish) it.
///
/// How the bytes are cut into pieces makes no difference. The body is never kept: memory is bounded by what the watches
/// capture, whatever the length of the unit, and one bit an open bracket. Nothing that a peer sends makes it fail.
#[derive(Debug, Clone)]
pub struct Scanner {
    machine: Machine,
    collector: Collector,
    length: u64,
    /// The last two bytes, where the line ending is.
    last_two: [u8; 2],
}

impl Scanner {
    /// Looks for the members in `watch`, and captures them by their index there: see [`Path`] for what can be found.
    ///
    /// Make one scanner and use it for many units: making it allocates a tree of the watches.
    #[must_use]
    pub fn new(watch: &'static [Path]) -> Self {
        Self { machine: Machine::new(), collector: Collector::new(watch), length: 0, last_two: [0; 2] }
    }

    /// Takes the next bytes of the unit, its line ending included. Costs next to nothing after a byte that is not JSON.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        match bytes {
            [] => return,
            [byte] => self.last_two = [self.last_two[1], *byte],
            [.., last_but_one, last] => self.last_two = [*last_but_one, *last],
        }
        self.machine.feed(bytes, &mut self.collector);
    }

    /// How far the unit is. Feeding line after line until this is not [`Progress::Inside`] finds the end of a message that
    /// was printed over several lines, in linear time.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.machine.progress()
    }

    /// Ends the unit and says what it was. The scanner is then ready for the next one.
    pub fn finish(&mut self) -> Scanned {
        let mut notes = self.machine.notes();
        if let [_, b'\r'] | [b'\r', b'\n'] = self.last_two {
            notes.insert(Notes::CARRIAGE_RETURN);
        }
        let content = match self.machine.finish(&mut self.collector) {
            Ok(()) => {
                let (content, member_notes) = self.collector.finish();
                notes.insert(member_notes);
                content
            }
            Err(error) => {
                self.collector.reset();
                notes = notes.without(Notes::CONTROL_CHARACTER);
                Content::NotJson(error)
            }
        };
        let length = std::mem::take(&mut self.length);
        self.last_two = [0; 2];
        Scanned { content, notes, length }
    }
}

/// Reads one unit that is all there. For many units, make one [`Scanner`].
#[must_use]
pub fn scan(bytes: &[u8], watch: &'static [Path]) -> Scanned {
    let mut scanner = Scanner::new(watch);
    scanner.feed(bytes);
    scanner.finish()
}
