//! A program that was started and says its URL.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that was started. It is killed when this goes.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    pub(super) url: String,
}

/// Where a program says its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    OnStdout,
    OnStderr,
}

const PATIENCE: Duration = Duration::from_secs(20);

impl Started {
    /// Starts a program and waits for the first URL that it says, other than those that its command names.
    pub(super) fn saying_its_url(mut command: Command, says: Says) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let named: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        command.stdin(Stdio::null());
        match says {
            Says::OnStdout => command.stdout(Stdio::piped()).stderr(Stdio::inherit()),
            Says::OnStderr => command.stdout(Stdio::null()).stderr(Stdio::piped()),
        };
        let mut child = command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let output: Option<Box<dyn Read + Send>> = match says {
            Says::OnStdout => child.stdout.take().map(|stdout| Box::new(stdout) as _),
            Says::OnStderr => child.stderr.take().map(|stderr| Box::new(stderr) as _),
        };
        let mut started = Self { child, url: String::new() };
        let lines = lines_of(output);
        let (end, mut said) = (Instant::now() + PATIENCE, Vec::new());
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(url) = urls_in(&line).find(|url| !named.iter().any(|word| word == url)) {
                        started.url = url.to_owned();
                        return Ok(started);
                    }
                    said.push(line);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    return Err(format!("{program} said no URL in {} s: {}", PATIENCE.as_secs(), said.join(" ")));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(format!("{program} ended and said no URL: {}", said.join(" ")));
                }
            }
        }
    }

    /// Starts a program that says nothing, and waits until somebody listens at this URL's address.
    pub(super) fn listening_at(mut command: Command, address: &str, url: String) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut started = Self { child: child.map_err(|error| format!("cannot run {program}: {error}"))?, url };
        let end = Instant::now() + PATIENCE;
        while std::net::TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = started.child.try_wait() {
                return Err(format!("{program} ended with {status}"));
            }
            if end < Instant::now() {
                return Err(format!("{program} does not listen at {address}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(started)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the program to end, and gives back how long that took. Not as Ctrl-C does: who is started in the background
    /// by a shell ignores that, unless it says otherwise.
    pub(super) fn stop(mut self) -> Result<Duration, String> {
        let asked_at = Instant::now();
        let pid = i32::try_from(self.child.id()).map_err(|error| error.to_string())?;
        kill(Pid::from_raw(pid), Signal::SIGTERM).map_err(|error| format!("cannot stop it: {error}"))?;
        while asked_at.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(Some(_)) => return Ok(asked_at.elapsed()),
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(format!("cannot wait for it: {error}")),
            }
        }
        Err(format!("it did not end in {} s", PATIENCE.as_secs()))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Of one that has ended there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines as they come. All are read, also when nobody takes them, so that the program never waits for us.
fn lines_of(output: Option<Box<dyn Read + Send>>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = output {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    receiver
}

fn urls_in(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|character: char| character.is_whitespace() || "\"'`<>(),".contains(character));
    words.filter(|word| word.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script, "http://upstream/mcp"]);
        command
    }

    #[test]
    fn the_url_is_the_first_that_the_command_does_not_name() {
        let script = "echo starting; echo 'http://upstream/mcp is at `http://here:1/mcp`, http://x'; exec sleep 600";
        let started = Started::saying_its_url(shell(script), Says::OnStdout).unwrap();
        assert_eq!(started.url, "http://here:1/mcp");
        started.stop().unwrap();
    }

    #[test]
    fn a_program_that_ends_first_is_an_error_with_what_it_said() {
        let error = Started::saying_its_url(shell("echo 'no proxy' >&2"), Says::OnStderr).unwrap_err();
        assert_eq!(error, "sh ended and said no URL: no proxy");
    }
}
