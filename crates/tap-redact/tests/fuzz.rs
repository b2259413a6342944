//! What must hold for every input, without a fuzzer: the bodies of the fuzz targets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"\"password\":\"abcdefg1\",",
    b"\"name\":\"token\",\"value\":\"abcdefg1\",",
    b"Bearer abcdefgh12345678",
    b"-----BEGIN PRIVATE KEY-----",
    b"-----END PRIVATE KEY-----",
    b"\xc2\xabsecret 1\xc2\xbb",
    b"/home/alice/",
    b"--password ",
    b"sk-ant-api03-",
];

#[test]
fn json_holds_for_the_corpus_and_mutations() {
    corpus::run("json", bodies::json, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn line_holds_for_the_corpus_and_mutations() {
    corpus::run("line", bodies::line, &[corpus::JSON_WORDS, WORDS]);
}
