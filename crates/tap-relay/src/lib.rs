//! The live tap's data path: moves bytes from one end to the other, and hands a copy to whoever records.
//!
//! May know: bytes, descriptors, threads. Must not know: JSON, MCP, SQLite, who records or whether anybody does. A crate
//! that cannot name the recorder cannot wait for it; `cargo xtask tidy` fails when this one starts to.
//!
//! Start reading at `pump.rs`, the loop that everything passes through; then [`Copies`], where the copy goes; then
//! [`relay`], which puts three pumps and a server together, and [`Doors`], where what passes can be judged.

mod clock;
mod copies;
mod cushion;
mod gate;
mod pump;
mod run;

pub use clock::Clock;
pub use copies::{Copies, Taken};
pub use gate::{Doors, Gate};
pub use run::relay;
