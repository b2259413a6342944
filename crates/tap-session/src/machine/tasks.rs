//! Tasks: those of 2025-11-25 and those of the extension.

use std::sync::Arc;

use super::{Out, Seen};
use crate::state::{Call, SessionState};

/// Tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {}

/// A request.
pub(crate) fn request(_state: &mut SessionState, _seen: &Seen<'_>, _call: &mut Call, _out: &mut Out<'_>) {}

/// A notification.
pub(crate) fn notification(_state: &mut SessionState, _seen: &Seen<'_>, _out: &mut Out<'_>) {}

/// An answer, and its request.
pub(crate) fn answer(_state: &mut SessionState, _seen: &Seen<'_>, _call: &mut Arc<Call>, _out: &mut Out<'_>) {}

/// The recording is over.
pub(crate) fn end(_state: &SessionState, _out: &mut Out<'_>) {}
