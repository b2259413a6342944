//! The terminal user interface: model, update, view.
//!
//! May know: sessions, filters, JSON, how messages are compared, and the frame that it draws into. Must not know: files, clocks, SQLite, terminals. What
//! it wants done it says as [`Effect`]s, whose outcome comes back as [`Input`]; so that every screen is tested as text.
//!
//! ```text
//! key, mouse, resize, answer ─▶ Inspector::update ─▶ effects ─▶ (somebody carries them out) ─▶ answer …
//!                                     │
//!                              Inspector::view ─▶ ratatui's frame
//! ```
//!
//! The inspector holds the rows that are visible and a few around them, never a recording. An answer to a question that is
//! no longer of interest is dropped.
//!
//! Start reading at [`Inspector`] (`model.rs`), then `update.rs` and `view.rs`; `keymap.rs` is the one table of keys, from which
//! the help is made too.

mod about;
mod compare;
mod data;
mod detail;
mod effect;
mod findings;
mod fold;
mod input;
mod keymap;
mod list;
mod model;
mod open;
mod overview;
mod picture;
mod place;
mod prompt;
mod search;
mod sequence;
mod sessions;
mod settings;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod text;
mod theme;
mod tools;
mod tree;
mod update;
mod view;
pub mod words;

pub use about::{About, AboutLine, AboutPart, Pointed, Target};
pub use compare::{CompareLine, ComparePlace, CompareQuery, CompareSign, Compared, ComparedSide, LineDifferences};
pub use data::{
    Began, Digested, EndKind, Fact, FindingLine, HttpRequest, MarkLine, MessageParts, Moment, Row, SessionKey,
    SessionLine, StatedFacts, Tone, Whole,
};
pub use effect::{Answer, Effect, Growth, Query, RowsAnswer, RowsPart, RowsQuery, Ticket};
pub use input::{Input, Key, KeyCode, Mouse, MouseKind};
pub use keymap::{Action, Binding, KEYMAP, Scope};
pub use model::{Inspector, View};
pub use overview::{Overview, Part as OverviewPart};
pub use picture::{Colours, PICTURE_PIXELS, Picture, PictureQuery};
pub use search::{Hit, HitSession, Hits, KEPT_HITS, Snippet};
pub use sessions::{SessionSummary, Sort};
pub use settings::{HISTORY, Keys, Remembered};
pub use stats::{STATS_LINES, StatsAnswer, StatsBy, StatsLine, StatsQuery, StatsSpent};
pub use theme::Theme;
pub use tools::{Difference, OfferChange, OfferKind, OfferLine, ToolsAnswer};
