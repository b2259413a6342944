//! The ends of the wire over HTTP: a listener, an upstream, and a proxy between them that keeps a copy.
//!
//! May know: frames, the queue of copies, how a message's envelope is read (for the id of an error that we answer
//! ourselves). Must not know: sessions, the store, what anything meant. Nothing here waits for a recorder.
//!
//! Start reading at [`Reverse`] (one exchange from end to end), then [`Recording`] (what of it is kept, and what never).

mod additions;
mod answer;
mod authority;
mod body;
mod ending;
mod endpoint;
mod events;
mod exchange;
mod first_event;
mod forward;
mod gate;
mod gated;
mod guard;
mod headers;
mod judged;
mod keep;
mod listen;
mod origins;
mod prepare;
mod record;
mod reverse;
mod route;
mod send;
mod serve;
mod streams;
mod tunnel;
mod upload;
mod upstream;
mod wire;

pub use additions::{Additions, NotAllowed};
pub use answer::{causes, own_error};
pub use authority::{AuthorityError, LocalAuthority};
pub use body::{Body, BodyError, empty, full};
pub use forward::{Forward, Hosts, Told, forward};
pub use gate::{Gates, Judge, Place, Told as GateTold};
pub use guard::{Guard, Refused};
pub use keep::Keeper;
pub use listen::{ListenError, Listener};
pub use origins::Sessions;
pub use record::{Exchange, Recording};
pub use reverse::{Notices, Reverse};
pub use serve::{Handle, ServeOptions, serve};
pub use upstream::{
    HEADER_LIMIT_BYTES, Resolve, SMALLEST_HEADER_LIMIT_BYTES, Upstream, UpstreamError, UpstreamOptions,
};
