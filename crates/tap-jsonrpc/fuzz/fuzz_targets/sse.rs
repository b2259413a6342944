//! The target `sse`. What it asserts is in `../bodies.rs`.

#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "the other targets use the rest")]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::sse(input));
