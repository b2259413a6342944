//! The fuzz target without a fuzzer: over the corpus, and over mutations of it for a little while.
//!
//! `cargo +nightly fuzz run judge` in `fuzz/` does the same with more patience.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::bodies;
use crate::show::with_little_stack;

/// How long mutations of the corpus are tried, in every run of the tests.
const MUTATION_TIME: Duration = Duration::from_secs(3);

/// What mutations put in, beside bytes of other seeds.
const WORDS: [&str; 40] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "#",
    "/",
    "null",
    "true",
    "false",
    "1e400",
    "-0",
    "1.0",
    "\"a\"",
    "{}",
    "[]",
    "\"$ref\":\"#\",",
    "\"$ref\":\"#/$defs/a\",",
    "{\"$ref\":\"#\"},",
    "{\"$ref\":\"#/$defs/a\"},",
    "\"allOf\":[{}],",
    "\"anyOf\":[{\"type\":\"null\"}],",
    "\"oneOf\":[true],",
    "\"not\":{},",
    "\"items\":{\"$ref\":\"#\"},",
    "\"properties\":{\"a\":{\"$ref\":\"#\"}},",
    "\"additionalProperties\":{\"$ref\":\"#\"},",
    "\"unevaluatedProperties\":false,",
    "\"unevaluatedItems\":false,",
    "\"pattern\":\"(a*)*b\",",
    "\"enum\":[1,2],",
    "\"if\":{\"minimum\":1},",
    "\"then\":false,",
    "\"contains\":{},",
    "\"uniqueItems\":true,",
    "\"$anchor\":\"a\",",
];

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/judge");
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

    fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(3) {
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
                    let until = other.len().min(from + self.below(40));
                    bytes.splice(at..at, other[from..until].iter().copied());
                }
                // After a bracket, a word keeps the text JSON more often than not.
                _ => {
                    let at =
                        bytes[..at].iter().rposition(|byte| b"{[".contains(byte)).map_or(at, |bracket| bracket + 1);
                    let word = WORDS[self.below(WORDS.len())];
                    bytes.splice(at..at, word.bytes());
                }
            }
        }
        bytes
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock only says how long to go on; what is tried does not depend on it"
)]
fn run() {
    let seeds = seeds();
    assert!(10 <= seeds.len(), "the corpus is gone");
    for seed in &seeds {
        bodies::judge(seed);
    }
    let mut dice = Dice(0x2026_0728);
    let started = Instant::now();
    while started.elapsed() < MUTATION_TIME {
        for _ in 0..20 {
            let bytes = dice.mutate(&seeds);
            let found = std::panic::catch_unwind(|| bodies::judge(&bytes));
            assert!(found.is_ok(), "judge failed for {:?}", bytes.escape_ascii().to_string());
        }
    }
}

#[test]
fn judging_holds_for_the_corpus_and_mutations() {
    with_little_stack(run);
}
