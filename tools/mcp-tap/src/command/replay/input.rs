//! What a client says on stdin, read on the thread that answers it: to hand it over from another one takes longer than to
//! answer it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::super::verify::server::Event;
use crate::failure::Failure;

const BUFFER_BYTES: usize = 256 * 1024;

/// Lines of stdin, with waiting that ends.
pub(super) struct Input {
    reader: BufReader<File>,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Where it is said that we are to stop.
    stop: Option<UnixStream>,
}

impl Input {
    /// Reads stdin, which nobody else reads. On `stop` comes a byte when we are to stop.
    pub(super) fn new(stop: Option<UnixStream>) -> Result<Self, Failure> {
        let stdin = std::io::stdin().as_fd().try_clone_to_owned();
        let stdin = stdin.map_err(|error| Failure::new(format!("cannot read stdin: {error}")))?;
        Ok(Self { reader: BufReader::with_capacity(BUFFER_BYTES, stdin.into()), line: Vec::new(), stop })
    }

    /// Whether the next line is there already.
    pub(super) fn has_more(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Whether something has happened, or is about to.
    pub(super) fn is_ready(&self) -> bool {
        !self.reader.buffer().is_empty() || !matches!(self.wait(Instant::now()), Waited::Long)
    }

    /// The next thing that happens; `None` when nothing does for so long.
    pub(super) fn next(&mut self, limit: Duration) -> Option<Event> {
        let until = Instant::now() + limit;
        loop {
            if self.reader.buffer().is_empty() {
                match self.wait(until) {
                    Waited::Input => {}
                    Waited::Stop => return Some(Event::Stop),
                    Waited::Long => return None,
                }
            }
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // Whoever cannot be read says nothing more.
                buffer => buffer.unwrap_or_default(),
            };
            let (n_taken, is_whole) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.line.extend_from_slice(buffer.get(..n_taken).unwrap_or_default());
            self.reader.consume(n_taken);
            if is_whole {
                return Some(match std::mem::take(&mut self.line) {
                    line if line.is_empty() => Event::TypedAll,
                    line => Event::Typed(line),
                });
            }
        }
    }

    fn wait(&self, until: Instant) -> Waited {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up, so that it does not ask again and again at the end; no time at all only looks.
            let timeout = PollTimeout::try_from(left.as_micros().div_ceil(1_000)).unwrap_or(PollTimeout::MAX);
            let stdin = ready(self.reader.get_ref().as_fd());
            let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
            let polled = match &self.stop {
                None => poll(&mut [stdin], timeout).map(|n| (n, false)),
                Some(stop) => {
                    let mut both = [stdin, ready(stop.as_fd())];
                    poll(&mut both, timeout).map(|n| (n, n > 0 && is_ready(&both[1])))
                }
            };
            return match polled {
                Ok((_, true)) => Waited::Stop,
                Ok((0, _)) if until <= Instant::now() => Waited::Long,
                Ok((0, _)) | Err(nix::errno::Errno::EINTR) => continue,
                // What cannot be waited for is read: that says what is wrong.
                Ok(_) | Err(_) => Waited::Input,
            };
        }
    }
}

fn ready(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::POLLIN)
}

enum Waited {
    Input,
    Stop,
    Long,
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn lines_come_whole_and_waiting_ends() {
        let (mut client, ours) = UnixStream::pair().unwrap();
        let (mut stopper, stop) = UnixStream::pair().unwrap();
        let mut again = stop.try_clone().unwrap();
        let reader = BufReader::with_capacity(8, File::from(OwnedFd::from(ours)));
        let mut input = Input { reader, line: Vec::new(), stop: Some(stop) };
        let line = |event: Option<Event>| match event {
            Some(Event::Typed(line)) => String::from_utf8(line).unwrap(),
            Some(Event::TypedAll) => "the end".into(),
            Some(Event::Stop) => "stop".into(),
            None => "nothing".into(),
            Some(_) => "something else".into(),
        };
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(60));
        client.write_all(b"a\nb\nlonger than the buf").unwrap();
        assert_eq!(line(input.next(long)), "a\n");
        assert!(input.has_more());
        assert_eq!(line(input.next(long)), "b\n");
        assert!(!input.has_more());
        // The beginning of a line is no line.
        assert_eq!(line(input.next(short)), "nothing");
        client.write_all(b"fer\n").unwrap();
        assert_eq!(line(input.next(long)), "longer than the buffer\n");
        stopper.write_all(b"x").unwrap();
        assert_eq!(line(input.next(long)), "stop");
        // It is seen until somebody takes it.
        assert_eq!(again.read(&mut [0]).unwrap(), 1);
        client.write_all(b"last").unwrap();
        drop(client);
        assert_eq!(line(input.next(long)), "last");
        assert_eq!(line(input.next(long)), "the end");
    }
}
