//! The reverse proxy between a client and a server that are nothing but sockets here, so that every byte is known.

mod breaks;
mod endpoint;
mod errors;
mod faults;
mod heads;
mod many;
pub(crate) mod peer;
mod secrets;
mod shared;
mod streams;
pub(crate) mod tls;
