//! Who said what to whom: what is remembered of that view besides the rows, which are those of the timeline.

/// How the view stands.
#[derive(Debug, Default)]
pub(crate) struct Sequence {}
