//! Progress, cancellation, pings, logging, completion.

use super::{Out, Seen};
use crate::state::{Call, SessionState};

/// The log level, and what was logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logging {}

/// A request.
pub(crate) fn request(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}

/// A notification.
pub(crate) fn notification(_state: &mut SessionState, _seen: &Seen<'_>, _out: &mut Out<'_>) {}

/// An answer, and its request.
pub(crate) fn answer(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}
