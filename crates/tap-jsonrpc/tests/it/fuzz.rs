//! The fuzz targets without a fuzzer: over the corpus, and over mutations of it for a little while.

use crate::{bodies, corpus};

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"\xef\xbb\xbf",
    b"\0",
    b"\\ude00",
    b"\"id\":1,",
    b"\"method\":\"a\",",
    b"\"result\":null,",
    b"\"error\":{}",
    b"data: ",
    b"id:",
    b"event: ",
    b"retry: 5",
    b"\n\n",
    b"\r",
];

#[test]
fn lines_hold_for_the_corpus_and_mutations() {
    corpus::run("line", bodies::line, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn scans_hold_for_the_corpus_and_mutations() {
    corpus::run("scan", bodies::scan, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn nodes_hold_for_the_corpus_and_mutations() {
    corpus::run("node", bodies::node, &[corpus::JSON_WORDS, WORDS]);
}

#[test]
fn events_hold_for_the_corpus_and_mutations() {
    corpus::run("sse", bodies::sse, &[corpus::JSON_WORDS, WORDS]);
}
