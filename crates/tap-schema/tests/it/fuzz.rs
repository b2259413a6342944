//! The fuzz target without a fuzzer: over the corpus, and over mutations of it for a little while.

use crate::show::with_little_stack;
use crate::{bodies, corpus};

/// What mutations put in, beside the words of JSON and bytes of other seeds.
const WORDS: &[&[u8]] = &[
    b"#",
    b"/",
    b"true",
    b"false",
    b"1.0",
    b"\"a\"",
    b"{}",
    b"[]",
    b"\"$ref\":\"#\",",
    b"\"$ref\":\"#/$defs/a\",",
    b"{\"$ref\":\"#\"},",
    b"{\"$ref\":\"#/$defs/a\"},",
    b"\"allOf\":[{}],",
    b"\"anyOf\":[{\"type\":\"null\"}],",
    b"\"oneOf\":[true],",
    b"\"not\":{},",
    b"\"items\":{\"$ref\":\"#\"},",
    b"\"properties\":{\"a\":{\"$ref\":\"#\"}},",
    b"\"additionalProperties\":{\"$ref\":\"#\"},",
    b"\"unevaluatedProperties\":false,",
    b"\"unevaluatedItems\":false,",
    b"\"pattern\":\"(a*)*b\",",
    b"\"enum\":[1,2],",
    b"\"if\":{\"minimum\":1},",
    b"\"then\":false,",
    b"\"contains\":{},",
    b"\"uniqueItems\":true,",
    b"\"$anchor\":\"a\",",
];

#[test]
fn judging_holds_for_the_corpus_and_mutations() {
    with_little_stack(|| corpus::run("judge", bodies::judge, &[corpus::JSON_WORDS, WORDS]));
}
