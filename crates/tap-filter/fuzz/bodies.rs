//! The body of the fuzz target: what must hold for every filter that somebody types, or else it panics.
//!
//! One module for two users: `fuzz_targets/filter.rs` runs it for as long as one likes, `tests/fuzz.rs` runs it over the
//! corpus and mutations of it in every test run.

use tap_filter::{Context, Filter, complete};

/// Target `filter`: the text of a filter.
pub(crate) fn filter(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let context = Context { now_unix_ns: 1_800_000_000_000_000_000, utc_offset_seconds: 3_600 };
    // A saved filter may name itself.
    let saved = |name: &str| match name {
        "slow" => Some("latency>2s and @slow".to_owned()),
        "danger" => Some(text.clone().into_owned()),
        _ => None,
    };
    match Filter::parse(&text, &context, &saved) {
        Ok(filter) => {
            assert_eq!(filter.text(), text);
            let _ = (filter.cost(), filter.plan(), filter.asks_findings());
        }
        Err(error) => assert!(error.to_string().len() < 10_000 + 20 * text.len(), "{error}"),
    }
    for cursor in 0..=text.len() {
        let _ = complete(&text, cursor);
    }
}
