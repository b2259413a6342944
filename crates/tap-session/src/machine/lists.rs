//! What was listed: tools, prompts, resources, templates, roots; and the pages of a list.

use super::{Out, Seen};
use crate::state::{Call, SessionState};

/// What was listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {}

/// A request.
pub(crate) fn request(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}

/// A notification.
pub(crate) fn notification(_state: &mut SessionState, _seen: &Seen<'_>, _out: &mut Out<'_>) {}

/// An answer, and its request.
pub(crate) fn answer(_state: &mut SessionState, _seen: &Seen<'_>, _call: &Call, _out: &mut Out<'_>) {}
