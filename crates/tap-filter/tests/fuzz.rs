//! What must hold for every input, without a fuzzer: the bodies of the fuzz targets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"and ",
    b"or ",
    b"not ",
    b"(",
    b")",
    b"/",
    b"~",
    b">",
    b"<=",
    b"!=",
    b"@slow",
    b"@danger",
    b"is:error",
    b"tool:",
    b"arg.",
    b"[0]",
    b"-5m",
    b"64k",
    b"*",
];

#[test]
fn filter_holds_for_the_corpus_and_mutations() {
    corpus::run("filter", bodies::filter, &[corpus::JSON_WORDS, WORDS]);
}
