//! Words on the screen that others wait for: who drives the inspector through a terminal, as the benchmark does, knows by
//! them how far it is.

/// Over the list of keys.
pub const KEYS_HERE: &str = "keys here";

/// In a list in which nothing fits a filter, once all was looked at.
pub const NOTHING_FITS: &str = "nothing fits";

/// The same before all was looked at; the number of a message follows.
pub const NOTHING_UP_TO: &str = "nothing up to";

/// In the head of a session until all of its rules are judged; how far follows.
pub const JUDGED: &str = "judged";

/// In the head of a live session, while the cursor stays at its end.
pub const FOLLOWS: &str = "live, follows";

/// In the head of a session, before the filter that is set.
pub const FILTERED: &str = "  / ";
