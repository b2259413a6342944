//! What must hold for every input, without a fuzzer: the bodies of the fuzz targets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"\xc2\xab",
    b"\xc2\xbb",
    b"\xc2\xabuuid\xc2\xbb",
    b"\xc2\xabre:.*\xc2\xbb",
    b"arg.",
    b"**",
    b"[*]",
    b"\"ignore\":[\"a\"],",
    b"\"method\":\"tools/call\",",
];

#[test]
fn rules_holds_for_the_corpus_and_mutations() {
    corpus::run("rules", bodies::rules, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn messages_holds_for_the_corpus_and_mutations() {
    corpus::run("messages", bodies::messages, &[corpus::JSON_WORDS, WORDS]);
}
