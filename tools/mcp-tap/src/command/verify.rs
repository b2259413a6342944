//! `mcp-tap verify`: a recording as a client of a live server, and what has changed.
//!
//! What is said and what the verdict is are decided by `tap_replay`'s client alone. `verify/server.rs` starts the server,
//! `verify/play.rs` carries lines, `verify/text.rs`, `json.rs` and `junit.rs` write the report, `verify/update.rs` writes what
//! a recording would be now.

mod age;
mod interrupt;
mod json;
mod junit;
mod play;
pub(super) mod server;
mod text;
mod update;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::Path;

use tap_compare::Rules;
use tap_filter::Filter;
use tap_jsonrpc::Node;
use tap_protocol::Side;
use tap_replay::{Check, Client, ClientOptions, NoAnswer, NotSent, Outcome, Recording, Script, Verdict, read_scripts};
use tap_store::Chosen;

use self::interrupt::Interrupt;
use self::play::{Asking, Played, last_words, play, stay};
use self::server::{Server, events, words};
pub(super) use self::update::{NEW, new_of};
use super::diff::{add_rules, format_of};
use super::replay::source::source;
use super::transfer::fitting;
use crate::arguments::{DiffFormat, Global, Update, Verify};
use crate::failure::{Failure, NO};
use crate::filtering;
use crate::new_file::{NewFile, Readers};
use crate::output::Output;
use crate::reference::{Reference, must_not_be_read};
use crate::text::shown;

/// Lines of the server's stderr that are told.
const TOLD_LINES: usize = 20;

/// A conversation that was played, and what came of it.
struct Checked {
    /// What it is called: the recording, and which conversation of it where it has several.
    name: String,
    verdict: Verdict,
    notes: Vec<String>,
    /// The last lines of the server's stderr, safe to show, where something went wrong with the server itself.
    stderr: Vec<String>,
    /// Names of tools that were not called because they do not say that they only read.
    refused: Vec<String>,
    /// The tap's process, by which its session is known.
    pid: u32,
    /// Whether all of the recording was played.
    is_whole: bool,
    /// That the recording is older than was wanted, in words.
    too_old: Option<String>,
}

impl Checked {
    /// Whether all is as it should be.
    fn is_fine(&self) -> bool {
        self.verdict.is_same() && self.too_old.is_none()
    }
}

/// What is known of a recording before it is played.
struct Recorded {
    name: String,
    rules: Rules,
    /// The rules of its own header.
    own_rules: Rules,
    is_fixture: bool,
    scripts: Vec<(u64, Script)>,
    /// Frames that are wanted; `None` for all.
    only: Option<BTreeSet<u64>>,
    too_old: Option<String>,
}

pub(crate) fn verify(global: &Global, verify: &Verify) -> Result<u8, Failure> {
    let output = verify.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = output {
        must_not_be_read(global, path, verify.recordings.iter())?;
    }
    if verify.stay && verify.recordings.len() > 1 {
        return Err(Failure::new("--stay leaves one session open, and there are several recordings"));
    }
    if verify.step && !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Failure::new("--step asks before each message, and there is no terminal to ask on")
            .hint("without a terminal, --until N stops somewhere, and --stay leaves the session open"));
    }
    let mut rules = Rules::default();
    add_rules(&verify.comparing, &mut rules)?;
    // What cannot be read is told before a server is started.
    let filter = verify.only.as_ref().map(|only| filtering::read(std::slice::from_ref(only))).transpose()?.flatten();
    let recorded = verify.recordings.iter().map(|reference| read(global, verify, reference, &rules, filter.as_ref()));
    let recorded = recorded.collect::<Result<Vec<_>, _>>()?;
    let interrupt = Interrupt::new()?;
    let mut all = Vec::new();
    for (reference, recorded) in verify.recordings.iter().zip(recorded) {
        let Recorded { name, rules, own_rules, is_fixture, scripts, only, too_old } = recorded;
        let n_scripts = scripts.len();
        let mut of_file = Vec::new();
        for (number, script) in scripts {
            if interrupt.is_asked() {
                return Err(Failure::new("stopped"));
            }
            let name = if n_scripts > 1 { format!("{name}/{number}") } else { name.clone() };
            let client = Client::new(script, options(verify, rules.clone(), is_fixture, only.clone()));
            of_file.push(Checked { too_old: too_old.clone(), ..check(global, verify, &name, client, &interrupt)? });
        }
        if let Some(how) = how_to_update(verify, reference)? {
            update::update(global, how, reference, &own_rules, &of_file)?;
        }
        all.extend(of_file);
    }
    if !verify.stay {
        write(global, verify, output, &all)?;
    }
    let mut refused: Vec<&str> = all.iter().flat_map(|this| &this.refused).map(String::as_str).collect();
    refused.sort_unstable();
    refused.dedup();
    if !refused.is_empty() {
        let names: Vec<String> = refused.iter().map(|name| shown(name, false)).collect();
        let _ = writeln!(
            std::io::stderr(),
            "mcp-tap: not called, because they do not say that they only read: {}\n  --allow-mutations calls them too",
            names.join(", ")
        );
    }
    Ok(if all.iter().all(Checked::is_fine) { 0 } else { NO })
}

fn read(
    global: &Global,
    verify: &Verify,
    reference: &Reference,
    of_command_line: &Rules,
    filter: Option<&Filter>,
) -> Result<Recorded, Failure> {
    let too_old = verify.max_age.map(|limit| age::too_old(global, reference, limit)).transpose()?.flatten();
    let only = filter.map(|filter| wanted(global, reference, filter)).transpose()?;
    // What the server was asked is what reached it.
    let source = source(global, reference, Side::Server)?;
    let mut rules = source.rules.clone();
    rules.extend(of_command_line);
    let mut recording = source.recording;
    let mut scripts = read_scripts(std::iter::from_fn(|| Recording::next(&mut *recording)));
    scripts.retain(|(_, script)| !script.interactions().is_empty());
    if scripts.is_empty() {
        return Err(Failure::new(format!("{} has no requests that could be sent", source.name)));
    }
    let (own_rules, is_fixture) = (source.rules, source.is_fixture);
    Ok(Recorded { name: source.name, rules, own_rules, is_fixture, scripts, only, too_old })
}

/// The frames of a recording that are wanted.
fn wanted(global: &Global, reference: &Reference, filter: &Filter) -> Result<BTreeSet<u64>, Failure> {
    let found = reference.resolve(global)?;
    match fitting(global, &found, filter)? {
        Chosen::Some(frames) if frames.is_empty() => {
            Err(Failure::new(format!("nothing in {} fits the filter of --only", found.name())))
        }
        Chosen::Some(frames) => Ok(frames),
        Chosen::Range(range) => Ok(range.collect()),
    }
}

/// Plays one conversation.
fn check(
    global: &Global,
    verify: &Verify,
    name: &str,
    client: Client,
    interrupt: &Interrupt,
) -> Result<Checked, Failure> {
    let (sender, events) = events();
    interrupt.goes_to(sender.clone());
    let words = words(global, verify, &label(verify, name));
    let mut server = Server::start(&words, sender, events).map_err(|(failure, _)| failure)?;
    let pid = server.pid;
    let mut asking = verify.step.then(|| Asking::new(server.sender()));
    let Played { client, notes, has_spoken, is_stopped } = play(&mut server, client, asking.as_mut());
    let verdict = client.verdict();
    let refused = client.refused();
    let mut checked = Checked {
        name: name.into(),
        verdict,
        notes,
        stderr: Vec::new(),
        refused,
        pid,
        is_whole: verify.until.is_none() && verify.only.is_none(),
        too_old: None,
    };
    let mut stayed = Ok(());
    if verify.stay && !is_stopped {
        // What came of it is told first: what follows is somebody else's.
        let mut out = Output::new(global);
        text::write(&mut out, std::slice::from_ref(&checked), verify.limit)?;
        out.finish()?;
        let mut stderr = std::io::stderr();
        if !global.quiet {
            let _ = writeln!(stderr, "the session is open: a line is a message for the server; Ctrl-D ends it");
        }
        stayed = stay(&mut server, verify.timeout, asking.is_some());
    }
    let ended = server.end();
    stayed?;
    if is_stopped {
        return Err(Failure::new("stopped before all was said"));
    }
    let is_missing = |check: &Check| match check.outcome {
        Outcome::NoAnswer(_) | Outcome::NotSent(NotSent::ServerGone) => true,
        Outcome::Same | Outcome::Differs | Outcome::NotSent(_) | Outcome::NotCompared => false,
    };
    if !has_spoken && checked.verdict.checks.iter().any(is_missing) {
        // It never was a server: that says nothing of the recording.
        let words = last_words(&ended, TOLD_LINES);
        let how = ended.says().map_or(String::new(), |how| format!("; {how}"));
        let mut failure = Failure::new(format!("the server said nothing{how}"));
        if !words.is_empty() {
            failure = failure.hint(format!("it wrote on stderr:\n  {}", words.join("\n  ")));
        }
        return Err(failure);
    }
    if let Some(why) = out_of_reach(verify, &client) {
        return Err(Failure::new(format!("the server could not be reached: {why}")));
    }
    // What the tap itself has to say, such as that it could not record.
    let of_tap = ended.stderr.lines().filter_map(|line| line.strip_prefix("mcp-tap: "));
    checked.notes.extend(of_tap.map(str::to_owned));
    let has_died = checked.verdict.checks.iter().any(|check| {
        matches!(check.outcome, Outcome::NoAnswer(NoAnswer::ServerEnded) | Outcome::NotSent(NotSent::ServerGone))
    });
    if has_died {
        checked.notes.extend(ended.says());
        checked.stderr = last_words(&ended, TOLD_LINES);
    }
    Ok(checked)
}

/// Why a server at an address was never reached: all answers are the bridge's own.
fn out_of_reach(verify: &Verify, client: &Client) -> Option<String> {
    verify.url.as_ref()?;
    let own = |answer: &[u8]| {
        let message = Node::new(answer).at(&["error", "message"])?.text()?;
        message.strip_prefix("mcp-tap: ").map(str::to_owned)
    };
    let own: Option<Vec<String>> = client.answers().map(own).collect();
    own?.into_iter().next()
}

/// What the session is called that is recorded: by it `inspect` and `diff` find it.
fn label(verify: &Verify, name: &str) -> String {
    if let Some(name) = &verify.name {
        return name.clone();
    }
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    let stem = file.trim_end_matches(".mcprec").trim_end_matches(".jsonl").trim_end_matches(".db");
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    format!("{}-verify", stem.chars().map(plain).collect::<String>())
}

fn options(verify: &Verify, rules: Rules, is_fixture: bool, only: Option<BTreeSet<u64>>) -> ClientOptions {
    let home = std::env::var("HOME").ok().filter(|home| !home.is_empty());
    ClientOptions {
        rules,
        is_fixture,
        hide_looks: verify.comparing.hide_volatile,
        answer_limit_ns: u64::try_from(verify.timeout.as_nanos()).unwrap_or(u64::MAX),
        correlate: !verify.no_correlate,
        read_only: verify.url.is_some() && !verify.allow_mutations,
        until: verify.until,
        only,
        stand_ins: home.map(|home| ("«home»".to_owned(), home)).into_iter().collect(),
        max_slowdown: verify.max_slowdown,
        ..ClientOptions::default()
    }
}

/// Whether and how a file is written that differs.
fn how_to_update(verify: &Verify, reference: &Reference) -> Result<Option<Update>, Failure> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
    let is_file = reference.file().is_some_and(Path::is_file);
    match verify.update {
        Some(Update::Never) => Ok(None),
        Some(_) if is_ci => {
            let _ = writeln!(std::io::stderr(), "mcp-tap: CI is set: nothing is written");
            Ok(None)
        }
        Some(_) if !is_file => {
            Err(Failure::new("--update writes files, and this is a session")
                .hint("`mcp-tap export` makes a file of it"))
        }
        Some(how) => Ok(Some(how)),
        None => {
            let is_asked_for = std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
            Ok((is_asked_for && !is_ci && is_file).then_some(Update::New))
        }
    }
}

fn write(global: &Global, verify: &Verify, output: Option<&Path>, all: &[Checked]) -> Result<(), Failure> {
    let format = match (verify.format, output.and_then(format_of)) {
        _ if verify.json => DiffFormat::Json,
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => DiffFormat::Text,
    };
    let mut out = match output {
        Some(path) => Output::file(NewFile::create(path, Readers::Usual)?)?,
        None if format == DiffFormat::Text => Output::paged(global),
        None => Output::new(global),
    };
    match format {
        DiffFormat::Text => text::write(&mut out, all, verify.limit)?,
        DiffFormat::Json => json::write(&mut out, all)?,
        DiffFormat::Junit => junit::write(&mut out, all)?,
    }
    out.finish()
}
