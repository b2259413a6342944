//! Asking a person on the terminal whether a call is to be made.
//!
//! What is asked about is a model's and a server's words: nothing of it reaches the terminal as it is.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::poll::{PollFd, PollFlags, poll};

use tap_router::{Ask, Consent, Question};

use crate::text::{pretty, shown};

/// How much of the arguments is shown, lines and characters.
const SHOWN_LINES: usize = 40;
const SHOWN_CHARACTERS: usize = 4_000;

/// How often it is looked whether somebody still waits for the answer, milliseconds.
const LOOK_MS: u16 = 100;

/// Whose turn it is at the terminal: an answer must not reach another question.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for the turn at the terminal. Whoever waits for a line there has to have it.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks something that is answered with yes or no, on the controlling terminal. `text` is shown as it is. Anything but a clear yes, and
/// nobody there, is no.
pub(crate) async fn yes_or_no(text: String) -> bool {
    let waits = Waits::default();
    let given_up = waits.0.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let _turn = turn();
        let Some((terminal, mut from)) = terminal(given_up) else { return false };
        let asked = (&terminal).write_all(text.as_bytes()).and_then(|()| (&terminal).flush());
        let mut line = String::new();
        asked.and_then(|()| from.read_line(&mut line)).is_ok()
            && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
    });
    let is_yes = asked.await.unwrap_or(false);
    drop(waits);
    is_yes
}

/// The controlling terminal. Not stdin and stderr: these may be pipes, and somebody may sit there all the same.
fn terminal(given_up: Arc<AtomicBool>) -> Option<(File, BufReader<Terminal>)> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    let file = terminal.try_clone().ok()?;
    Some((terminal, BufReader::new(Terminal { file, given_up })))
}

/// Asks on the controlling terminal, one question after the other. Where there is none, there is nobody to ask.
pub(crate) fn on_the_terminal() -> Ask {
    Arc::new(move |question| {
        Box::pin(async move {
            let waits = Waits::default();
            let given_up = waits.0.clone();
            // Reading a line waits, so that it is done by a thread that may.
            let asked = tokio::task::spawn_blocking(move || {
                let _turn = turn();
                ask(&question, given_up)
            });
            let consent = asked.await.unwrap_or(Consent::Nobody);
            drop(waits);
            consent
        })
    })
}

/// Somebody waits for the answer. Dropped, nobody does: what is typed then is for somebody else.
#[derive(Default)]
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A terminal that is read only while somebody waits for that.
struct Terminal {
    file: File,
    given_up: Arc<AtomicBool>,
}

impl Read for Terminal {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.given_up.load(Ordering::Relaxed) {
                return Ok(0);
            }
            let mut polled = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut polled, LOOK_MS) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return self.file.read(buffer),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

fn ask(question: &Question, given_up: Arc<AtomicBool>) -> Consent {
    match terminal(given_up) {
        Some((terminal, mut from)) => put(question, &mut from, &mut &terminal),
        None => Consent::Nobody,
    }
}

/// Asks until the answer is clear.
fn put(question: &Question, from: &mut impl BufRead, to: &mut impl Write) -> Consent {
    let mut text = format!(
        "\n{} wants to be called, of the server {}\n",
        shown(&question.tool, false),
        shown(&question.server, false)
    );
    let arguments = pretty(&question.arguments);
    let short: String =
        arguments.lines().take(SHOWN_LINES).collect::<Vec<_>>().join("\n").chars().take(SHOWN_CHARACTERS).collect();
    for line in shown(&short, true).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if short.len() < arguments.len() {
        text.push_str(&format!("  … {} bytes in all\n", question.arguments.len()));
    }
    if let Some(annotations) = &question.annotations {
        text.push_str(&format!("  the server says of it (which may not be true): {}\n", shown(annotations, false)));
    }
    if let Some(because) = &question.because {
        text.push_str(&format!("  asked because: {}\n", shown(because, false)));
    }
    if to.write_all(text.as_bytes()).is_err() {
        return Consent::Nobody;
    }
    loop {
        let asked = to.write_all(b"  call it? [y]es, [n]o, [a]lways in this session: ").and_then(|()| to.flush());
        let mut answer = String::new();
        match asked.and_then(|()| from.read_line(&mut answer)) {
            // The end of input is no consent.
            Ok(0) | Err(_) => return Consent::No,
            Ok(_) => {}
        }
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Consent::Yes,
            "a" | "always" => return Consent::Always,
            "n" | "no" => return Consent::No,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(arguments: &str) -> Question {
        Question {
            server: "files\u{1b}[2J".into(),
            tool: "write".into(),
            arguments: arguments.into(),
            because: Some("it changes files".into()),
            annotations: Some(r#"{"readOnlyHint":true}"#.into()),
            tag: 0,
        }
    }

    #[test]
    fn only_a_clear_answer_is_one_and_nothing_reaches_the_terminal_as_it_is() {
        for (typed, expected, n_asked) in [
            ("y\n", Consent::Yes, 1),
            ("YES\n", Consent::Yes, 1),
            ("\nmaybe\na\n", Consent::Always, 3),
            ("n\n", Consent::No, 1),
            ("", Consent::No, 1),
            ("y", Consent::Yes, 1),
        ] {
            let mut out = Vec::new();
            let question = question("{\"path\":\"/a\u{1b}]0;x\u{7}\u{202e}\"}");
            assert_eq!(put(&question, &mut typed.as_bytes(), &mut out), expected, "{typed:?}");
            let out = String::from_utf8(out).unwrap();
            assert!(!out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{out:?}");
            assert_eq!(out.matches("call it?").count(), n_asked, "{typed:?}");
            for part in
                ["write wants to be called, of the server files\\u{1b}[2J", "which may not be true", "it changes files"]
            {
                assert!(out.contains(part), "{part} in {out}");
            }
        }
        let mut out = Vec::new();
        put(&question(&format!("{{\"a\":\"{}\"}}", "x".repeat(10_000))), &mut "n\n".as_bytes(), &mut out);
        assert!(String::from_utf8(out).unwrap().contains("… 10008 bytes in all"));
    }
}
