//! The body of the fuzz target: what must hold for every schema and every value, or else it panics.
//!
//! One module for three users: `fuzz_targets/judge.rs` runs it for as long as one likes, `tests/it/corpus.rs` runs it
//! over the corpus and mutations of it in every test run, and `tests/it/property.rs` over generated JSON.

use serde_json::Value;
use tap_schema::{Checked, MAX_MESSAGE_BYTES, MAX_VIOLATIONS, Schema};

/// Target `judge`: the first line is a schema, the rest a value.
pub(crate) fn judge(input: &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    judge_by(&input[..end], input.get(end + 1..).unwrap_or_default());
}

/// Judges, and compares the verdict with the evaluator's own.
pub(crate) fn judge_by(schema: &[u8], instance: &[u8]) {
    let compiled = match Schema::compile(schema) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert_ne!(error, tap_schema::SchemaError::Failed);
            // Everything that is quoted is shortened, and nothing else is long.
            assert!(error.to_string().len() <= 8 * MAX_MESSAGE_BYTES, "{error}");
            return;
        }
    };
    let found = compiled.check(instance);
    assert_eq!(found, compiled.check(instance));
    match &found {
        Checked::Valid => agrees(schema, instance, &compiled, true),
        Checked::Invalid(violations) => {
            assert!((1..=MAX_VIOLATIONS).contains(&violations.len()));
            let value: Value = serde_json::from_slice(instance).unwrap();
            for violation in violations {
                assert!(violation.message.len() <= MAX_MESSAGE_BYTES);
                assert!(value.pointer(&violation.instance).is_some(), "{violation:?}");
            }
            agrees(schema, instance, &compiled, false);
        }
        Checked::NotChecked(why) => assert_ne!(*why, tap_schema::NotChecked::Failed),
    }
}

/// What the evaluator says of the schema as it is written, where it can be asked without risk.
fn agrees(schema: &[u8], instance: &[u8], compiled: &Schema, expected: bool) {
    let text = String::from_utf8_lossy(schema);
    // Names are what it takes hours for; content and formats it has its own mind on, and private names are private.
    if ["\"id", "\"$id", "ontent", "\\u", "serde_json"].iter().any(|word| text.contains(word)) {
        return;
    }
    if !compiled.ignored_patterns().is_empty() {
        return;
    }
    let (schema, instance): (Value, Value) =
        (serde_json::from_slice(schema).unwrap(), serde_json::from_slice(instance).unwrap());
    let options = jsonschema::options().offline().should_validate_formats(false);
    // It looks into what is never reached as well.
    if let Ok(validator) = options.build(&schema) {
        assert_eq!(validator.is_valid(&instance), expected, "{schema} and {instance}");
    }
}
