//! Rules that look inside messages: tools, resources, prompts, elicitation, sampling, roots.

use super::{Out, Seen};
use crate::state::{Call, SessionState};

/// A request.
pub(crate) fn request(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}

/// A notification.
pub(crate) fn notification(_state: &mut SessionState, _seen: &Seen<'_>, _out: &mut Out<'_>) {}

/// An answer, and its request.
pub(crate) fn answer(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}
