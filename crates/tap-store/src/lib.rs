//! Recordings in SQLite: the recorder, the reader, and the text form.
//!
//! May know: frames, sessions, SQLite. Must not know: processes, terminals, who talks to whom. Its ground tables hold raw
//! traffic in segments, appended as they come; what the frames meant is worked out behind the recording, into derived
//! tables that can be dropped.
//!
//! Start reading at `migrations/0001_ground.sql` and `src/derived.sql` (the tables), then [`Recorder`] (how traffic gets
//! in whatever happens) and [`Store`] (how it gets out).

mod derive;
mod error;
mod exchanges;
mod frames;
#[cfg(test)]
#[path = "../../tap-exchange/src/traffic.rs"]
mod http_traffic;
mod reader;
mod recorder;
mod schema;
mod spill;
mod stored;
mod text;
#[cfg(test)]
mod traffic;
mod writer;

pub use error::StoreError;
pub use reader::{Digest, ListKind, Listed, Part, Session, SessionId, Store};
pub use recorder::{Recorder, Tell};
pub use schema::SCHEMA_VERSION;
pub use text::{
    ExportOptions, Exported, FOLD_COLUMNS, Imported, Profile, Rewritten, TextFrames, TextPlace, export, find_secrets,
    import, rewrite, text_frame,
};
pub use writer::{EndReason, SessionEnd, SessionStart, Transport};
