//! Is this message that message? Match keys, rules, differences, and how what a server offers has drifted.
//!
//! May know: JSON, the names of MCP's methods and members that matter for matching. Must not know: files, clocks, SQLite, where
//! messages come from, terminals. Used where two recordings are compared, where a recording is played, and where one is held
//! against a real server, so that all of these agree on what is the same.
//!
//! Numbers are the same by value, exactly: `1`, `1.0` and `1e0` are, 2^53 and 2^53+1 are not. Strings by what they say. Keys
//! that are there twice are told apart by which of them they are. Everything is bounded, and what a bound kept from being done
//! is in the result.
//!
//! What there is:
//!
//! - [`Rules`]: the dials, as in the header of a recording; [`Rules::dials`] is what holds for one tool.
//! - [`compare`]: two messages, to a [`Comparison`]: differences with [`Path`]s, and what was hidden.
//! - [`MatchKey`], and [`Walks`] which knows pages and rounds: which request is which again.
//! - [`nearest`]: of a request that nothing matches, what is near, why it does not match, what would accept it.
//! - [`align_calls`]: two lists of calls side by side.
//! - [`drift()`]: two lists of tools, prompts, resources: what was added, removed or changed, and whom it breaks.
//! - [`Markers`]: what `«secret 1»` stood for. One for each pair of sessions.
//!
//! Start reading at [`compare`], then `path.rs` and `canonical.rs`.

mod align;
mod array;
mod canonical;
mod compare;
mod difference;
mod drift;
mod key;
mod nearest;
mod path;
mod placeholder;
mod rules;
mod scalar;
mod schema;
mod status;
mod words;

pub use align::{PairedBy, Pairing, align_calls};
pub use compare::{Options, compare, compare_values};
pub use difference::{Bound, Change, Comparison, Difference, Hidden, HiddenBy};
pub use drift::{Drift, DriftChange, DriftClass, DriftItem, ItemState, drift};
pub use key::{MatchKey, Place, Walks};
pub use nearest::{Accept, Candidate, Near, Nearest, Reason, Why, distance, nearest, reasons};
pub use path::{Path, PathError, PathPattern, Side, Step};
pub use placeholder::{Looks, Markers, has_placeholder, placeholder_problem};
pub use rules::{Depth, Dials, Loose, Rules, RulesError, ToolRules};
pub use status::Status;
pub use tap_protocol::ListKind;
pub use words::{Piece, PieceOf, compare_lines, compare_words};
