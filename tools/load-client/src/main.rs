//! Load client: measures an MCP server over stdio, or a tap in front of one, and prints one JSON object.
//!
//! COMMAND must speak MCP on stdin and stdout, with `tap-echo-server` behind it. Each phase starts COMMAND afresh;
//! one that fails leaves `{"error": …}` in the report, and status 1. Start reading at [`arguments::Arguments`] for what
//! can be asked, and at [`phase`] for what is measured. It judges nothing: `cargo xtask bench` compares the figures with
//! their targets.

mod arguments;
mod error;
mod phase;
mod session;
mod tally;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use serde_json::{Map, Value, json};
use tap_load_client::{affinity, message, processes, statistics};

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut report = Map::new();
    report.insert("label".to_owned(), json!(arguments.label.as_ref().unwrap_or(&arguments.command[0])));
    report.insert("command".to_owned(), json!(arguments.command));
    if arguments.one_cpu {
        match affinity::stay_on_one_cpu() {
            Ok(cpu) => report.insert("cpu".to_owned(), json!(cpu)),
            Err(error) => {
                let _ = writeln!(io::stderr(), "tap-load-client: cannot stay on one CPU: {error}");
                return ExitCode::from(2);
            }
        };
    }
    let mut all_measured = true;
    for phase in &arguments.phases {
        let outcome = phase.run(&arguments).unwrap_or_else(|error| {
            all_measured = false;
            json!({"error": error.to_string()})
        });
        report.insert(phase.to_string(), outcome);
    }
    match writeln!(io::stdout(), "{}", Value::Object(report)) {
        Ok(()) if all_measured => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
