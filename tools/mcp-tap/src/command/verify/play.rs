//! One recorded conversation played to a live server, and the session that is left open.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use tap_jsonrpc::{Content, Kind, RawId, scan};
use tap_replay::{Client, ClientOutput};

use super::server::{Ended, Event, Server};
use crate::recording::say;
use crate::text::shown;

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
pub(super) fn play(server: &mut Server, mut client: Client) -> Played {
    let begun = Instant::now();
    let now_ns = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut notes = Vec::new();
    let (mut has_spoken, mut is_stopped) = (false, false);
    loop {
        client.time(now_ns());
        while let Some(output) = client.poll() {
            match output {
                ClientOutput::Send(line) => server.send(line),
                ClientOutput::Note(note) => notes.push(note.to_string()),
            }
        }
        if client.is_done() {
            break;
        }
        let until = client.deadline_ns().map(|deadline_ns| begun + Duration::from_nanos(deadline_ns));
        match server.next(until) {
            Some(Event::Line(line)) => {
                has_spoken = true;
                client.time(now_ns());
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

/// Leaves the session to a person: what is typed goes to the server, what that says is printed, until there is no more to
/// type and everything is answered.
pub(super) fn stay(server: &mut Server, timeout: Duration) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal();
    let typed = server.sender();
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
