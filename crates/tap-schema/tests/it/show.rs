//! One line for what was found, and running something where the stack is short.

use tap_schema::{Checked, NotChecked, Schema, SchemaError};

/// Judges one value by one schema; what is found is a line.
pub(crate) fn judge(schema: &str, instance: &str) -> String {
    match Schema::compile(schema.as_bytes()) {
        Ok(schema) => verdict(&schema.check(instance.as_bytes())),
        Err(error) => refusal(&error),
    }
}

/// The verdict in a word or two.
pub(crate) fn verdict(checked: &Checked) -> String {
    match checked {
        Checked::Valid => "valid".to_owned(),
        Checked::Invalid(violations) => {
            assert!(!violations.is_empty(), "a reason is always told");
            "invalid".to_owned()
        }
        Checked::NotChecked(why) => format!("not checked: {}", name(why)),
    }
}

fn name(why: &NotChecked) -> String {
    format!("{why:?}")
}

/// The refusal without what it quotes.
pub(crate) fn refusal(error: &SchemaError) -> String {
    let debug = format!("{error:?}");
    format!("refused: {}", debug.split([' ', '{']).next().unwrap_or_default())
}

/// Runs `body` in a thread with 512 KiB of stack: a quarter of what threads usually have, in an unoptimized build.
pub(crate) fn with_little_stack<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(body).unwrap().join().unwrap()
}
