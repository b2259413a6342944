//! What a session's frames meant: cutting them, pairing answers with requests, and the rows that lists show.
//!
//! May know: frames, envelopes. Must not know: files, clocks, SQLite, how anything is shown. Live tap, import, inspector
//! and replay all get their meaning from here, so that nobody reads the same bytes in two ways.
//!
//! Start reading at [`Cutter`] (segments to frames), then [`Observer`] (frames to [`Event`]s and [`MessageRow`]s), then
//! [`Follower`] (frames to what is true, and which rules were broken). [`Client`] and [`Server`] are the two that take part
//! themselves, on the same machine.

#[cfg(test)]
mod captures;
mod chair;
mod cut;
mod follow;
mod gather;
mod http;
mod machine;
mod map;
mod observer;
mod passed;
mod reading;
mod row;
mod rule;
mod rules;
#[cfg(test)]
mod script;
mod state;
mod timeline;
#[cfg(test)]
mod traffic;
mod view;

pub use chair::{
    CacheScope, CallId, Change, Client, ClientOptions, ErrorReply, Implementation, Input, InputRequest, Misuse,
    OnProgress, Outcome, Output, Refusal, Request, RequestOptions, Server, ServerOptions,
};
pub use cut::{Cut, Cutter, FrameEnd, FrameHead, Moment, OpenFrame, Place, Position, STDERR_FRAME_BYTES};
pub use follow::{Follower, Lens, Meaning};
pub use gather::{Gatherer, Recorded, segments_of};
pub use http::{
    HTTP_EXCHANGES, HTTP_SESSIONS, Headers, HttpEvent, HttpFollower, HttpMeaning, HttpMoment, HttpRequest, HttpSession,
    HttpSessionKind, HttpSessionNumber, MirroredHeaders, wrong_parameter_headers,
};
pub use machine::features::verdict::fits_schema;
pub use machine::lists::{LIST_LIMIT_BYTES, LIST_LIMIT_ITEMS, List, Listed, Lists, Tool};
pub use machine::modern::{Filter, Modern, Round, Subscription, SubscriptionEnd};
pub use machine::progress::logging::Logging;
pub use machine::tasks::{Task, TaskInput, Tasks, TimeToLive};
pub use machine::{KEPT_LIMIT_BYTES, Link, LinkKind};
pub use observer::{Event, Identity, Observer, Stamp, WAITING_LIMIT, WaitingRequest};
pub use passed::{Answered, PASSED_LIMIT, PassedMessage};
pub use reading::Reading;
pub use row::{At, Done, MessageRow, RowKind, Status};
pub use rule::{DETAIL_LIMIT_BYTES, Finding, Rule, Severity};
pub use rules::{rule, rules};
pub use state::{Call, Kept, Number, Party, Phase, SessionState, Totals, UsedIds, sender};
pub use timeline::{CHECKPOINT_FRAMES, CHECKPOINTS, Timeline};
