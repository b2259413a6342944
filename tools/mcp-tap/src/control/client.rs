//! The other end of the control sockets: what commands ask of live taps.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::place;
use crate::failure::{Failure, nearest};
use crate::text::shown;

/// How long a tap may take to answer. It takes less than a millisecond; one that is stopped takes for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// A live tap that answers.
pub(crate) struct Tap {
    stream: BufReader<UnixStream>,
    n_asked: u64,
    /// What it said of itself.
    pub(crate) status: Value,
}

/// What a tap says to a question that it does not do.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl Tap {
    fn connect(stream: UnixStream) -> Option<Self> {
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        if !place::is_same_user(&stream) {
            return None;
        }
        let mut tap = Self { stream: BufReader::new(stream), n_asked: 0, status: Value::Null };
        tap.status = tap.ask("status", json!({})).ok()?.ok()?;
        Some(tap)
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        self.status.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The id of its session.
    pub(crate) fn session(&self) -> &str {
        self.status.get("session").and_then(Value::as_str).unwrap_or_default()
    }

    /// Lets an answer take as long as it takes.
    pub(crate) fn wait_for_answers(&mut self, limit: Option<Duration>) {
        let _ = self.stream.get_ref().set_read_timeout(limit);
    }

    /// Asks something, and waits for the answer.
    ///
    /// # Errors
    ///
    /// When the tap is gone; inside, when it does not do what is asked.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> std::io::Result<Result<Value, Refusal>> {
        self.n_asked += 1;
        let id = self.n_asked;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes())?;
        loop {
            let mut line = Vec::new();
            if self.stream.read_until(b'\n', &mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let mut answer: Value = serde_json::from_slice(&line)?;
            if answer.get("id").and_then(Value::as_u64) != Some(id) {
                continue;
            }
            if let Some(error) = answer.get_mut("error").map(Value::take) {
                let message = error.get("message").and_then(Value::as_str).unwrap_or("it was refused").to_owned();
                return Ok(Err(Refusal { message, data: error.get("data").cloned().unwrap_or(Value::Null) }));
            }
            return Ok(Ok(answer.get_mut("result").map(Value::take).unwrap_or(Value::Null)));
        }
    }

    /// The same for a command, that tells a person what is wrong.
    pub(crate) fn command(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let asked = self.ask(method, params);
        let name = self.name().to_owned();
        match asked {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(refusal)) => Err(Failure::new(format!("{name}: {}", refusal.message))),
            Err(error) => Err(Failure::new(format!("{name} does not answer: {error}"))
                .hint("it has ended, or is stopped; `mcp-tap taps` lists those that run")),
        }
    }

    /// Whether it is meant by this: its name, the start of its session's id, or its process.
    fn is_called(&self, name: &str) -> bool {
        let pid = self.status.get("pid").and_then(Value::as_u64);
        self.name() == name
            || (name.len() >= 4 && self.session().starts_with(name))
            || pid.is_some_and(|pid| pid.to_string() == name)
    }
}

/// All live taps, the one that has run longest first.
pub(crate) fn taps() -> Result<Vec<Tap>, Failure> {
    let connections = place::connections().map_err(|error| {
        Failure::new(format!("cannot look for live taps: {error}")).hint("remove that folder, or set XDG_RUNTIME_DIR")
    })?;
    let mut taps: Vec<_> = connections.into_iter().filter_map(Tap::connect).collect();
    taps.sort_by_key(|tap| std::cmp::Reverse(tap.status.get("since_ms").and_then(Value::as_u64)));
    Ok(taps)
}

/// Those that are meant: with a name those of that name, `last` for the one that was started last, else all.
pub(crate) fn taps_on(name: Option<&str>) -> Result<Vec<Tap>, Failure> {
    let taps = taps()?;
    if taps.is_empty() {
        return Err(Failure::new("no tap is running that can be debugged")
            .hint("start one: mcp-tap run -- COMMAND, or mcp-tap proxy URL"));
    }
    let Some(name) = name else {
        return Ok(taps);
    };
    if name == "last" {
        return Ok(taps.into_iter().last().into_iter().collect());
    }
    let names: Vec<String> = taps.iter().map(|tap| tap.name().to_owned()).collect();
    let found: Vec<_> = taps.into_iter().filter(|tap| tap.is_called(name)).collect();
    if found.is_empty() {
        let failure = Failure::new(format!("no running tap is called `{}`", shown(name, false)));
        return Err(match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => failure.hint(format!("did you mean `{near}`? `mcp-tap taps` lists them")),
            None => failure.hint("`mcp-tap taps` lists them"),
        });
    }
    Ok(found)
}

/// The one that is meant; of several that one has to be named.
pub(crate) fn tap_on(name: Option<&str>) -> Result<Tap, Failure> {
    let mut taps = taps_on(name)?;
    match taps.len() {
        1 => Ok(taps.remove(0)),
        n_taps => Err(Failure::new(format!("{n_taps} taps are running")).hint(format!(
            "name one with --on: {}",
            taps.iter()
                .map(|tap| format!("{} ({})", shown(tap.name(), false), tap.session().get(..8).unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}
