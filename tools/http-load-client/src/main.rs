//! Load client: measures an MCP server over Streamable HTTP, or a proxy in front of one, and prints one JSON object.
//!
//! `tap-http-echo-server` must be behind the URL. A phase that fails leaves `{"error": …}`, and status 1. Start reading at
//! [`arguments::Arguments`] for what can be asked, and at [`phase`] for what is measured. It judges nothing:
//! `cargo xtask bench http` compares the figures with their targets.

mod arguments;
mod connection;
mod error;
mod events;
mod phase;
mod proxy;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::arguments::Arguments;
use crate::error::PhaseError;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = run(&arguments);
    let is_measured = outcome.is_ok();
    let report = outcome.unwrap_or_else(|error| json!({"error": error.to_string()}));
    match writeln!(io::stdout(), "{report}") {
        Ok(()) if is_measured => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// On one thread: many connections of a client that does little are quickest so, and leave a CPU to who is measured.
fn run(arguments: &Arguments) -> Result<Value, PhaseError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(PhaseError::Runtime)?;
    let limit = arguments.limit();
    let measured = runtime.block_on(async { timeout(limit, arguments.phase.run(arguments)).await });
    measured.unwrap_or(Err(PhaseError::TimedOut { limit }))
}
