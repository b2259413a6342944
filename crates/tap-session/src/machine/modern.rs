//! The modern era: what each request says of itself, rounds, subscriptions, cache hints.

use super::{Out, Seen};
use crate::state::{Call, SessionState};

/// What is open in the modern era.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modern {}

/// A request.
pub(crate) fn request(_state: &mut SessionState, _seen: &Seen<'_>, _call: &mut Call, _out: &mut Out<'_>) {}

/// A notification.
pub(crate) fn notification(_state: &mut SessionState, _seen: &Seen<'_>, _out: &mut Out<'_>) {}

/// An answer, and its request.
pub(crate) fn answer(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}

/// The recording is over.
pub(crate) fn end(_state: &SessionState, _out: &mut Out<'_>) {}
