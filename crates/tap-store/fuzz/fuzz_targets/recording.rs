//! `cargo +nightly fuzz run recording`: see `bodies.rs`.

#![no_main]

#[allow(dead_code, reason = "each target has its own body")]
#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::recording(input));
