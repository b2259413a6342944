//! The bodies of the fuzz targets: what must hold for every message and line in which secrets are looked for, or else they
//! panic.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/fuzz.rs` runs it over the corpus
//! and mutations of it in every test run.

use serde_json::Value;
use tap_redact::Redactor;

/// With the secrets replaced, as a recording is written: read until all is known, then written.
fn redacted(text: &str, redact: impl Fn(&mut Redactor, &str) -> Option<String>) -> (String, Redactor) {
    let mut redactor = Redactor::new(Vec::new(), vec!["/home/alice".into()]);
    loop {
        redact(&mut redactor, text);
        if !redactor.looks_again() {
            break;
        }
    }
    redactor.settle();
    let redacted = redact(&mut redactor, text).unwrap_or_else(|| text.to_owned());
    (redacted, redactor)
}

/// Whether two values have the same structure: the same names in the same order, the same lengths, the same types.
fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.values().zip(b.values()).all(|(a, b)| same_shape(a, b))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b)),
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => true,
        _ => false,
    }
}

/// Target `json`: a message. It stays one, of the same shape, and says the same the next time.
pub(crate) fn json(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let is_json = serde_json::from_str::<Value>(text).is_ok();
    let mut finder = Redactor::new(Vec::new(), Vec::new());
    for finding in finder.record(text, &["at"]) {
        assert!(finding.at <= text.len());
    }
    // What is no JSON is nobody's message: it is only not to do harm.
    let (once, _) = redacted(text, |redactor, text| redactor.message(text));
    let (again, _) = redacted(text, |redactor, text| redactor.message(text));
    assert_eq!(once, again);
    if is_json {
        let (before, after): (Value, Value) =
            (serde_json::from_str(text).unwrap_or_default(), serde_json::from_str(&once).expect("it stays JSON"));
        assert!(same_shape(&before, &after), "{once}");
    }
}

/// Target `line`: what is no message, each line of it.
pub(crate) fn line(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut redactor = Redactor::new(Vec::new(), Vec::new());
    for line in text.lines() {
        redactor.line("stderr", "stderr", line);
        redactor.bytes("stderr", line);
    }
    redactor.settle();
    for line in text.lines() {
        if let Some(redacted) = redactor.line("stderr", "stderr", line) {
            assert!(!redacted.contains('\n'), "{redacted}");
        }
    }
}
