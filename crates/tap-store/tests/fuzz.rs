//! What must hold for every input, without a fuzzer: the bodies of the fuzz targets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"{\"to\":\"server\",\"msg\":{}}",
    b"\"literal\":true,",
    b"{\"gaps_us\":[1]}",
    b"\"at\":0.1,",
    b"{\"end\":\"exited\"}",
    b"{\"http\":1,\"status\":200}",
    b"\"style\":\"spaced\",",
];

#[test]
fn recording_holds_for_the_corpus_and_mutations() {
    corpus::run("recording", bodies::recording, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn message_holds_for_the_corpus_and_mutations() {
    corpus::run("message", bodies::message, &[corpus::JSON_WORDS, WORDS]);
}
