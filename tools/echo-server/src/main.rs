//! A minimal, fast MCP server over stdio, for measuring what sits in front of it.
//!
//! Methods: `initialize`, `ping`, `tools/list`, `resources/list`, `prompts/list`, `tools/call`. Tools:
//!
//! | tool | what it does |
//! | --- | --- |
//! | `echo {text}` | answers the text, byte for byte as it was written in JSON |
//! | `blob {size}` | answers `size` bytes of text |
//! | `rawhash {..}` | answers the FNV-1a of the whole request line as it arrived |
//! | `odd {}` | answers JSON that a tap which parses and prints again cannot keep |
//! | `stderr {lines}` | writes that many lines on stderr, then answers |
//! | `exit {code}` | answers, then exits with that status |
//! | `sleep {ms}` | answers after that time |
//!
//! Environment: `TAP_ECHO_EXIT=N` is the exit status at the end of input (0 without it); `TAP_ECHO_TRAP=FILE` makes
//! SIGTERM and SIGINT append their number to FILE and exit with 40 + number.

use std::env;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::process;

use tap_echo_server::answer::{Next, answer};
use tap_echo_server::line::read_line;
use tap_echo_server::trap;

const BUFFER_BYTES: usize = 256 * 1024;

fn main() -> io::Result<()> {
    if let Some(path) = env::var_os("TAP_ECHO_TRAP") {
        trap::install(Path::new(&path))?;
    }
    let status = serve()?;
    process::exit(status)
}

/// Answers until the input ends, or a call asks for the end; gives back the exit status.
fn serve() -> io::Result<i32> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock());
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    let (mut line, mut reply) = (Vec::new(), Vec::new());
    while read_line(&mut input, &mut line)? {
        if line.is_empty() {
            continue;
        }
        reply.clear();
        let next = answer(&line, &mut reply);
        if !reply.is_empty() {
            reply.push(b'\n');
            output.write_all(&reply)?;
        }
        if let Next::Exit(status) = next {
            output.flush()?;
            return Ok(status);
        }
        // Flush only when no whole request is waiting: pipelined requests are answered in batches.
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(env::var("TAP_ECHO_EXIT").ok().and_then(|status| status.parse().ok()).unwrap_or(0))
}
