//! Fuzz targets without a fuzzer: over the corpus, and over mutations of it for a little while.
//!
//! Part of the tests of each crate that has a `fuzz` folder of this shape. `cargo +nightly fuzz run TARGET` there does the
//! same with more patience.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "in a test a panic is the report, and the clock only says how long to go on"
)]

use std::path::Path;
use std::time::{Duration, Instant};

/// What mutations put in where JSON is read: what it is made of, and what readers of it trip over.
pub(crate) const JSON_WORDS: &[&[u8]] = &[
    b"\"", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r\n", b"\xff", b"\xc3", b"null", b"1e400", b"-0",
    b"\\u0069", b"\\ud83d",
];

/// How long mutations of one corpus are tried, in every run of the tests.
const MUTATION_TIME: Duration = Duration::from_secs(3);

/// Seeds that a corpus has at least.
const N_SEEDS: usize = 10;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The order of a folder is nobody's promise, and the mutations depend on it.
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// A generator of numbers that are the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn mutate(&mut self, seeds: &[Vec<u8>], words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = bytes.len().min(at + self.below(12));
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    let until = other.len().min(from + self.below(60));
                    bytes.splice(at..at, other[from..until].iter().copied());
                }
                way => {
                    // After a bracket, a word keeps JSON what it is more often than not.
                    let bracket = || bytes[..at].iter().rposition(|byte| b"{[".contains(byte));
                    let at = if way == 4 { at } else { bracket().map_or(at, |bracket| bracket + 1) };
                    bytes.splice(at..at, words[self.below(words.len())].iter().copied());
                }
            }
        }
        bytes
    }
}

/// Runs a target over its corpus and mutations of it, into which the words of all lists are put. The clock only says how
/// long to go on; what is tried does not depend on it.
pub(crate) fn run(target: &str, body: fn(&[u8]), lists: &[&[&[u8]]]) {
    let words = lists.concat();
    let seeds = seeds(target);
    assert!(N_SEEDS <= seeds.len(), "the corpus of {target} is gone");
    for seed in &seeds {
        body(seed);
    }
    let mut dice = Dice(0x2026_0728);
    let started = Instant::now();
    while started.elapsed() < MUTATION_TIME {
        for _ in 0..20 {
            let bytes = dice.mutate(&seeds, &words);
            let found = std::panic::catch_unwind(|| body(&bytes));
            assert!(found.is_ok(), "target {target} failed for {:?}", bytes.escape_ascii().to_string());
        }
    }
}
