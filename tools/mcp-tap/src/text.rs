//! Text for a terminal. Everything recorded is untrusted: this is the only way from a recording to the screen.

pub(crate) use tap_text::{column, counted, cut, duration, is_hidden, pretty, shown, size, thousands, wrapped};
