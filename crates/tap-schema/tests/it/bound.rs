//! The bounds: what lies at them is judged, and what lies past them says so.

use tap_schema::{Checked, MAX_DEPTH, MAX_INSTANCE_BYTES, MAX_SCHEMA_BYTES, NotChecked, Schema, SchemaError};

fn check(instance: &str) -> Checked {
    Schema::compile(b"{}").unwrap().check(instance.as_bytes())
}

#[test]
fn a_value_that_cannot_be_read_is_not_judged() {
    for (instance, expected) in [
        ("", NotChecked::NotJson),
        ("{", NotChecked::NotJson),
        ("1 2", NotChecked::NotJson),
        ("nul", NotChecked::NotJson),
        ("[1,]", NotChecked::NotJson),
        (r#""\ud800""#, NotChecked::NotJson),
        (r#"{"\udc00":1}"#, NotChecked::NotJson),
        ("1e400", NotChecked::NumberOutOfRange),
        ("-1e400", NotChecked::NumberOutOfRange),
        ("1e-400", NotChecked::NumberOutOfRange),
        ("18446744073709551616", NotChecked::NumberOutOfRange),
        ("[0.1234567890123456789]", NotChecked::NumberOutOfRange),
    ] {
        assert_eq!(check(instance), Checked::NotChecked(expected), "{instance}");
    }
    assert_eq!(Schema::compile(b"{}").unwrap().check(b"\"\xff\""), Checked::NotChecked(NotChecked::NotJson));
}

#[test]
fn a_schema_that_cannot_be_read_is_refused() {
    for text in ["", "{", r#"{"title":"\ud800"}"#, r#"{"maximum":1e400}"#] {
        assert_eq!(Schema::compile(text.as_bytes()).unwrap_err(), SchemaError::NotJson, "{text}");
    }
}

#[test]
fn sizes_are_bounded() {
    let padded = |n_bytes: usize| format!("1{}", " ".repeat(n_bytes - 1));
    assert_eq!(check(&padded(MAX_INSTANCE_BYTES)), Checked::Valid);
    assert_eq!(check(&padded(MAX_INSTANCE_BYTES + 1)), Checked::NotChecked(NotChecked::TooLarge));
    let padded = |n_bytes: usize| format!("{{}}{}", " ".repeat(n_bytes - 2));
    assert!(Schema::compile(padded(MAX_SCHEMA_BYTES).as_bytes()).is_ok());
    let bytes = MAX_SCHEMA_BYTES + 1;
    assert_eq!(Schema::compile(padded(bytes).as_bytes()).unwrap_err(), SchemaError::TooLarge { bytes });
}

#[test]
fn depths_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(check(&nested(MAX_DEPTH)), Checked::Valid);
    assert_eq!(check(&nested(MAX_DEPTH + 1)), Checked::NotChecked(NotChecked::TooDeep));
    assert_eq!(check(&"[".repeat(100_000)), Checked::NotChecked(NotChecked::TooDeep));
    let constant = |depth: usize| format!(r#"{{"const":{}}}"#, nested(depth - 1));
    assert!(Schema::compile(constant(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(Schema::compile(constant(MAX_DEPTH + 1).as_bytes()).unwrap_err(), SchemaError::TooDeep);
}

#[test]
fn a_schema_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync + std::fmt::Debug + 'static>() {}
    is_shared::<Schema>();
    assert!(format!("{:?}", Schema::compile(b"{}").unwrap()).starts_with("Schema { dialect: Draft202012"));
}
