//! `cargo +nightly fuzz run judge`: see `bodies.rs`.

#![no_main]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::judge(input));
