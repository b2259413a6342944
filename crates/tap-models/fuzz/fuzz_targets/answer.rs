//! `cargo +nightly fuzz run answer`: see `bodies.rs`.

#![no_main]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::answer(input));
