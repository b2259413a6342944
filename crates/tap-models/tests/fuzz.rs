//! What must hold for every answer of a provider, without a fuzzer: the body of the fuzz target.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test a panic is the report")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"\n\ndata: ",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b"\"error\":{\"message\":\"m\"},",
    b"\"index\":0,",
    b"\"finish_reason\":\"stop\",",
    b"\"type\":\"tool_use\",",
    b"\"type\":\"text\",",
    b"\"text\":\"\",",
    b"\"content\":[],",
    b"\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}],",
    b"\"thoughtSignature\":\"S\",",
];

#[test]
fn answer_holds_for_the_corpus_and_mutations() {
    corpus::run("answer", bodies::answer, &[corpus::JSON_WORDS, WORDS]);
}
