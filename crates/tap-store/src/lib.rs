//! Recordings in SQLite: the recorder, the reader, and the text form.
//!
//! May know: frames, sessions, SQLite. Must not know: processes, terminals, who talks to whom. Its ground tables hold raw
//! traffic in segments, appended as they come; what the frames meant is worked out behind the recording, into derived
//! tables that can be dropped.
//!
//! Start reading at `migrations/0001_ground.sql` and `src/derived.sql` (the tables), then [`Recorder`] (how traffic gets
//! in whatever happens) and [`Store`] (how it gets out).

mod about;
mod acts;
mod audit;
mod bookmarks;
mod derive;
mod error;
mod exchanges;
mod fetched;
mod frames;
#[cfg(test)]
#[path = "../../tap-exchange/src/traffic.rs"]
mod http_traffic;
mod in_flight;
mod marks;
mod reader;
mod recorder;
mod retention;
mod schema;
mod search;
mod spill;
mod stored;
mod text;
#[cfg(test)]
mod traffic;
mod writer;

pub use about::Called;
pub use audit::{AuditLog, AuditRow};
pub use bookmarks::{Bookmark, NAME_CHARS, NOTE_CHARS, Refused, is_name};
pub use error::StoreError;
pub use marks::Mark;
pub use reader::{Digest, ListKind, Listed, Part, Session, SessionId, Store};
pub use recorder::{Recorder, Tell};
pub use retention::{Goes, KeepersLock, Limits, Merged};
pub use schema::SCHEMA_VERSION;
pub use search::{Column, Condition, FitsText, Hit, Search, Stretch};
pub use text::{
    Addition, Chosen, ExportOptions, Exported, FOLD_COLUMNS, Imported, Profile, Rewritten, TextFrame, TextFrames,
    TextPlace, add, export, find_secrets, import, put_rules, rewrite, text_frame,
};
pub use writer::{EndReason, SessionEnd, SessionStart, Transport};
