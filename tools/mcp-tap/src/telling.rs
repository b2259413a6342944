//! What people are told on stderr: bounded, whether or not somebody reads it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use crate::recording::say;

/// Lines that wait for whoever reads them. What comes beyond that is counted and dropped.
const WAITING_LINES: usize = 64;

/// One thread that writes what cannot be written at once.
pub(crate) struct Teller {
    lines: Option<SyncSender<Left>>,
    counts: Arc<Counts>,
}

/// What is left with the thread.
enum Left {
    Line(Vec<u8>),
    /// Somebody wants to know when all before it is written.
    Mark(Sender<()>),
}

#[derive(Default)]
struct Counts {
    /// Lines that are not written yet.
    n_waiting: AtomicUsize,
    /// Lines that were dropped since the last one that was written.
    n_dropped: AtomicU64,
}

impl Teller {
    /// Starts the thread. `write` may wait for as long as it likes.
    pub(crate) fn start(write: impl Fn(&[u8]) + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel(WAITING_LINES);
        let counts = Arc::<Counts>::default();
        let theirs = counts.clone();
        let thread = std::thread::Builder::new().name("tell".into()).spawn(move || {
            for left in waiting {
                match left {
                    Left::Line(line) => write(&line),
                    Left::Mark(reached) => {
                        let _ = reached.send(());
                        continue;
                    }
                }
                let n_dropped = theirs.n_dropped.swap(0, Ordering::Relaxed);
                if 0 < n_dropped {
                    write(format!("mcp-tap: {n_dropped} more lines were dropped, since nobody read them\n").as_bytes());
                }
                theirs.n_waiting.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Self { lines: thread.is_ok().then_some(lines), counts }
    }

    /// Whether nothing waits, so that what is written now comes after all that was told before.
    pub(crate) fn is_idle(&self) -> bool {
        self.counts.n_waiting.load(Ordering::Relaxed) == 0
    }

    /// Leaves a line. Never waits.
    pub(crate) fn leave(&self, line: Vec<u8>) {
        self.counts.n_waiting.fetch_add(1, Ordering::Relaxed);
        let left = self.lines.as_ref().is_some_and(|lines| lines.try_send(Left::Line(line)).is_ok());
        if !left {
            self.counts.n_waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Teller {
    /// Waits until what was left before is written, or nobody has read it for so long.
    pub(crate) fn finish(&self, limit: Duration) {
        let (reached, is_reached) = channel();
        // Where there is no room for a mark nobody reads.
        if self.lines.as_ref().is_some_and(|lines| lines.try_send(Left::Mark(reached)).is_ok()) {
            let _ = is_reached.recv_timeout(limit);
        }
    }
}

/// What went wrong in a session: each kind of thing is told when it first happens, and at the end how often it did.
#[derive(Debug, Default)]
pub(crate) struct Told(BTreeMap<String, u64>);

impl Told {
    /// Tells something, if it was not told before. `kind` names the kind, of which there are few.
    pub(crate) fn tell(&mut self, kind: &str) {
        if let Some(text) = self.count(kind) {
            say(text);
        }
    }

    fn count<'a>(&mut self, kind: &'a str) -> Option<&'a str> {
        if let Some(n_times) = self.0.get_mut(kind) {
            *n_times += 1;
            return None;
        }
        self.0.insert(kind.to_owned(), 1);
        Some(kind)
    }

    /// What is to be told at the end.
    fn summary(&self) -> impl Iterator<Item = String> {
        self.0
            .iter()
            .filter(|(_, n_times)| 1 < **n_times)
            .map(|(kind, n_times)| format!("{kind}: {n_times} times in all"))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        for text in self.summary() {
            say(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn what_nobody_reads_is_dropped_and_counted_and_the_rest_comes_in_order() {
        let (go, may_write) = channel::<()>();
        let (written, lines) = channel();
        let (begun, begins) = channel();
        let teller = Teller::start({
            let may_write = Mutex::new(may_write);
            move |line| {
                let _ = begun.send(());
                let _ = may_write.lock().unwrap().recv();
                let _ = written.send(String::from_utf8(line.to_vec()).unwrap());
            }
        });
        assert!(teller.is_idle());
        let n_told = 1000;
        teller.leave(b"0\n".to_vec());
        begins.recv_timeout(Duration::from_secs(30)).unwrap();
        for number in 1..n_told {
            teller.leave(format!("{number}\n").into_bytes());
        }
        assert!(!teller.is_idle());
        drop(go);
        drop(teller);
        let (mut next, mut n_dropped) = (0, 0);
        while let Ok(line) = lines.recv_timeout(Duration::from_secs(30)) {
            if let Some(told) = line.strip_prefix("mcp-tap: ") {
                n_dropped += told.split(' ').next().unwrap().parse::<usize>().unwrap();
            } else {
                assert_eq!(line, format!("{next}\n"));
                next += 1;
            }
        }
        // One is in the thread's hands besides those that wait.
        assert_eq!(next, WAITING_LINES + 1);
        assert_eq!(next + n_dropped, n_told);
    }

    #[test]
    fn at_the_end_what_was_left_is_waited_for_but_not_for_ever() {
        let (written, lines) = channel();
        let teller = Teller::start(move |line| {
            let _ = written.send(line.to_vec());
        });
        for number in 0..50_u8 {
            teller.leave(vec![number]);
        }
        teller.finish(Duration::from_secs(30));
        assert_eq!(lines.try_iter().flatten().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        let (go, may_write) = channel::<()>();
        let may_write = Mutex::new(may_write);
        let teller = Teller::start(move |_| {
            let _ = may_write.lock().unwrap().recv();
        });
        for number in 0..50 {
            teller.leave(vec![number]);
            teller.finish(Duration::ZERO);
        }
        drop(go);
    }

    #[test]
    fn each_kind_is_told_once_and_how_often_at_the_end() {
        let mut told = Told::default();
        let texts: Vec<_> = ["a", "b", "a", "a"].into_iter().filter_map(|kind| told.count(kind)).collect();
        assert_eq!(texts, ["a", "b"]);
        assert_eq!(told.summary().collect::<Vec<_>>(), ["a: 3 times in all"]);
    }
}
