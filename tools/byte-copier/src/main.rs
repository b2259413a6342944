//! The least that a stdio tap can do: starts the server and copies bytes both ways, on two threads.
//!
//! `tap-byte-copier [--log PREFIX] -- COMMAND [ARGUMENTS..]`. With `--log`, each direction is also written to a file,
//! `PREFIX.to-server` and `PREFIX.to-client`. It is what a process in the middle costs by itself, so it stays as plain
//! as it is: no parsing, no queue, no thread that it could do without.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{self, Command, Stdio};
use std::thread;

const BUFFER_BYTES: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let arguments = parse(env::args().skip(1)).map_err(io::Error::other)?;
    let status = run(&arguments)?;
    process::exit(status)
}

#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    log_prefix: Option<String>,
    program: String,
    program_arguments: Vec<String>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut log_prefix = None;
    loop {
        match arguments.next().as_deref() {
            Some("--log") => log_prefix = Some(arguments.next().ok_or("--log needs a prefix")?),
            Some("--") => break,
            Some(unknown) => return Err(format!("unknown argument {unknown}")),
            None => return Err("no command: say `tap-byte-copier [--log PREFIX] -- COMMAND`".to_owned()),
        }
    }
    let program = arguments.next().ok_or("no command after --")?;
    Ok(Arguments { log_prefix, program, program_arguments: arguments.collect() })
}

/// Runs the command with a copy thread a direction; gives back its exit status, 1 when a signal ended it.
fn run(arguments: &Arguments) -> io::Result<i32> {
    let log = |direction: &str| -> io::Result<Option<File>> {
        arguments.log_prefix.as_ref().map(|prefix| File::create(format!("{prefix}.{direction}"))).transpose()
    };
    let (to_server_log, to_client_log) = (log("to-server")?, log("to-client")?);
    let mut child = Command::new(&arguments.program)
        .args(&arguments.program_arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // Files of our own descriptors, not Stdin and Stdout: no lock, no line buffering.
    let from_client = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let to_client = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    if let Some(to_server) = child.stdin.take() {
        // Never joined: it may wait for a client that has nothing more to say, when the server is long gone.
        thread::spawn(move || copy(from_client, to_server, to_server_log));
    }
    if let Some(from_server) = child.stdout.take() {
        copy(from_server, to_client, to_client_log)?;
    }
    Ok(child.wait()?.code().unwrap_or(1))
}

fn copy(mut from: impl Read, mut to: impl Write, mut log: Option<File>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n_bytes = from.read(&mut buffer)?;
        if n_bytes == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n_bytes])?;
        to.flush()?;
        if let Some(log) = log.as_mut() {
            log.write_all(&buffer[..n_bytes])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_starts_after_the_dashes_and_keeps_its_own_options() {
        assert_eq!(
            parsed("--log here -- server --log there -- x"),
            Ok(Arguments {
                log_prefix: Some("here".to_owned()),
                program: "server".to_owned(),
                program_arguments: ["--log", "there", "--", "x"].map(str::to_owned).to_vec(),
            })
        );
    }

    #[test]
    fn a_wrong_command_line_says_what_is_missing() {
        for (line, expected) in [
            ("", "no command: say `tap-byte-copier [--log PREFIX] -- COMMAND`"),
            ("--", "no command after --"),
            ("--log", "--log needs a prefix"),
            ("server", "unknown argument server"),
        ] {
            assert_eq!(parsed(line), Err(expected.to_owned()), "line: {line:?}");
        }
    }

    #[test]
    fn copying_loses_nothing_and_logs_the_same() {
        let input: Vec<u8> = (0..3 * BUFFER_BYTES + 7).map(|index| (index % 251) as u8).collect();
        let (mut output, mut log) = (Vec::new(), tempfile::tempfile().unwrap());
        copy(&input[..], &mut output, Some(log.try_clone().unwrap())).unwrap();
        assert_eq!(output, input);
        let mut logged = Vec::new();
        io::Seek::rewind(&mut log).unwrap();
        log.read_to_end(&mut logged).unwrap();
        assert_eq!(logged, input);
    }
}
