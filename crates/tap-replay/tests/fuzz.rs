//! What must hold for every input, without a fuzzer: the bodies of the fuzz targets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"\n>",
    b"\n<",
    b"\"id\":1,",
    b"\"id\":2,",
    b"\"method\":\"tools/call\",",
    b"\"method\":\"ping\",",
    b"\"result\":{},",
    b"\"error\":{},",
    b"\"_meta\":{\"progressToken\":1},",
    b"\"cursor\":\"x\",",
    b"\xc2\xabuuid\xc2\xbb",
    b"\xc2\xabsecret 1\xc2\xbb",
];

#[test]
fn play_holds_for_the_corpus_and_mutations() {
    corpus::run("play", bodies::play, &[corpus::JSON_WORDS, WORDS]);
}
