//! One recorded conversation played to a live server, and the session that is left open.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tap_jsonrpc::{Content, Kind, RawId, scan};
use tap_replay::{Client, ClientOutput};

use super::server::{Ended, Event, Server};
use crate::recording::say;
use crate::text::shown;

/// How much of a message is shown to somebody who is asked, characters.
const SHOWN: usize = 400;

/// How a session went.
pub(super) struct Played {
    pub(super) client: Client,
    /// What was worth a word.
    pub(super) notes: Vec<String>,
    /// Whether the server said anything at all.
    pub(super) has_spoken: bool,
    pub(super) is_stopped: bool,
}

/// Plays until all is said and answered, or given up.
pub(super) fn play(server: &mut Server, mut client: Client, mut asking: Option<&mut Asking>) -> Played {
    let mut begun = Instant::now();
    // What happened while a person was asked, to be looked at after.
    let mut happened: VecDeque<Event> = VecDeque::new();
    let mut notes = Vec::new();
    let (mut has_spoken, mut is_stopped) = (false, false);
    loop {
        client.time(since(begun));
        while let Some(output) = client.poll() {
            match output {
                ClientOutput::Send(line) => {
                    if let Some(asking) = &mut asking {
                        let before = Instant::now();
                        let goes_on = asking.ask(server, &line, &mut happened);
                        // Nobody is late because a person thinks.
                        begun += before.elapsed();
                        if !goes_on {
                            is_stopped = true;
                            client.stop();
                            break;
                        }
                    }
                    server.send(line);
                }
                ClientOutput::Note(note) => notes.push(note.to_string()),
            }
        }
        if client.is_done() {
            break;
        }
        let until = client.deadline_ns().map(|deadline_ns| begun + Duration::from_nanos(deadline_ns));
        match happened.pop_front().or_else(|| server.next(until)) {
            Some(Event::Line(line)) => {
                has_spoken = true;
                if let Some(asking) = &asking {
                    asking.tell(&line);
                }
                client.time(since(begun));
                client.receive(&line);
            }
            Some(Event::Ended) => client.server_ended(),
            Some(Event::Stop) => {
                is_stopped = true;
                client.stop();
            }
            // What it wrote before is still to come.
            Some(Event::Exited | Event::Typed(_) | Event::TypedAll) | None => {}
        }
    }
    Played { client, notes, has_spoken, is_stopped }
}

fn since(begun: Instant) -> u64 {
    u64::try_from(Instant::now().saturating_duration_since(begun).as_nanos()).unwrap_or(u64::MAX)
}

/// Reads what is typed, on a thread of its own, and says it where the server says what happened.
fn read_typed(typed: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match stdin.read_until(b'\n', &mut line) {
                Ok(n) if n > 0 => drop(typed.send(Event::Typed(line))),
                _ => break,
            }
        }
        let _ = typed.send(Event::TypedAll);
    });
}

/// A person who is asked before each message.
pub(super) struct Asking {
    /// No longer: all that is left is said.
    runs: bool,
}

impl Asking {
    /// `typed` is where it is said what was typed.
    pub(super) fn new(typed: SyncSender<Event>) -> Self {
        read_typed(typed);
        Self { runs: false }
    }

    /// Whether to say a message. What else happens meanwhile is kept for later.
    fn ask(&mut self, server: &mut Server, line: &[u8], happened: &mut VecDeque<Event>) -> bool {
        if self.runs {
            return true;
        }
        let mut stderr = std::io::stderr();
        loop {
            let _ = write!(stderr, "▸ {}\n  say it: Enter, all that is left: r, stop: q ", one_line(line));
            let _ = stderr.flush();
            loop {
                match server.next(None) {
                    Some(Event::Typed(answer)) => match answer.trim_ascii() {
                        b"" | b"." | b"y" => return true,
                        b"r" => {
                            self.runs = true;
                            return true;
                        }
                        b"q" => return false,
                        _ => break,
                    },
                    Some(Event::TypedAll | Event::Stop) | None => return false,
                    Some(other) => happened.push_back(other),
                }
            }
        }
    }

    /// Says what the server said.
    fn tell(&self, line: &[u8]) {
        if !self.runs {
            let _ = writeln!(std::io::stderr(), "◂ {}", one_line(line));
        }
    }
}

/// The beginning of a message, safe to show.
fn one_line(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let beginning: String = text.trim_end().chars().take(SHOWN).collect();
    let more = if text.trim_end().chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("{}{more}", shown(&beginning, false))
}

/// Leaves the session to a person: what is typed goes to the server, what that says is printed, until there is no more to
/// type and everything is answered.
pub(super) fn stay(server: &mut Server, timeout: Duration, is_read_already: bool) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal();
    if !is_read_already {
        read_typed(server.sender());
    }
    let mut asked: BTreeSet<RawId> = BTreeSet::new();
    // Once nothing more is typed: until when answers are waited for.
    let mut until = None;
    loop {
        if until.is_some() && asked.is_empty() {
            return Ok(());
        }
        match server.next(until) {
            Some(Event::Line(line)) => {
                if let Some((Kind::Result | Kind::Error, Some(id))) = read(&line) {
                    asked.remove(&id);
                }
                let text = String::from_utf8_lossy(&line);
                match is_terminal {
                    true => writeln!(stdout, "{}", shown(text.trim_end(), false))?,
                    false => stdout.write_all(&line)?,
                }
                stdout.flush()?;
            }
            Some(Event::Typed(line)) => {
                let line = line.trim_ascii().to_vec();
                if line.is_empty() {
                    continue;
                }
                match read(&line) {
                    Some((Kind::Request, Some(id))) => drop(asked.insert(id)),
                    Some(_) => {}
                    None => say("that is no message of JSON-RPC; it goes to the server all the same"),
                }
                server.send(line);
            }
            Some(Event::TypedAll) => until = Some(Instant::now() + timeout),
            Some(Event::Ended) => {
                say("the server has ended");
                return Ok(());
            }
            Some(Event::Stop) => return Ok(()),
            Some(Event::Exited) => {}
            None => {
                say("not everything was answered in time");
                return Ok(());
            }
        }
    }
}

fn read(line: &[u8]) -> Option<(Kind, Option<RawId>)> {
    match scan(line, &[]).content {
        Content::Message(envelope) => Some((envelope.kind, envelope.id)),
        _ => None,
    }
}

/// The last lines of a server's stderr, to be shown.
pub(super) fn last_words(ended: &Ended, n: usize) -> Vec<String> {
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n)..].iter().map(|line| shown(line, false)).collect()
}
