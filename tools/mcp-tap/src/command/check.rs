//! `mcp-tap check`: which rules of the protocol were broken, by whom, and what to do.

mod github;
mod junit;
mod sarif;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tap_protocol::Side;
use tap_session::{At, Finding, MessageRow, Rule, SessionState, Severity};

use crate::arguments::{Check, CheckFormat, Global, Level};
use crate::command::log::what;
use crate::failure::{Failure, NO};
use crate::following::follow;
use crate::output::Output;
use crate::reference::{Found, Part};
use crate::text::shown;

/// Findings of one rule that are kept of a session; all are counted.
const KEPT_A_RULE: usize = 1_000;

/// What was found in one session.
struct Verdict {
    reference: String,
    session: String,
    /// The text recording that was judged.
    file: Option<PathBuf>,
    /// On which line of the file each frame is, from the first.
    lines: Vec<u64>,
    /// What is spoken, as far as is known.
    spoken: String,
    /// What was judged: all, or a part.
    messages: String,
    /// Whether the session goes on, so that what is missing may still come.
    live: bool,
    /// Why not everything could be judged.
    incomplete: Option<String>,
    rules: BTreeMap<&'static str, Broken>,
    /// Findings below the level, by severity.
    n_hidden: [u64; 3],
}

/// A rule that was broken.
struct Broken {
    rule: &'static Rule,
    worst: Severity,
    n_findings: u64,
    findings: Vec<Shown>,
}

/// A finding with what its message is about.
struct Shown {
    finding: Finding,
    what: String,
}

/// What is asked for.
struct Wanted<'a> {
    level: Severity,
    deny: &'a [&'static Rule],
    allow: &'a [&'static Rule],
}

impl Wanted<'_> {
    /// How bad a finding is for who asks; `None` for one that he does not want to see.
    fn severity(&self, finding: &Finding) -> Option<Severity> {
        if self.allow.contains(&finding.rule) {
            None
        } else if self.deny.contains(&finding.rule) {
            Some(Severity::Error)
        } else {
            Some(finding.severity)
        }
    }
}

pub(crate) fn check(global: &Global, check: &Check) -> Result<u8, Failure> {
    let level = match check.level {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Note => Severity::Note,
    };
    let wanted = Wanted { level, deny: &check.deny, allow: &check.allow };
    let on_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| !value.is_empty());
    let format = match check.format {
        _ if check.json => CheckFormat::Json,
        Some(format) => format,
        None if on_github => CheckFormat::Github,
        None => CheckFormat::Text,
    };
    let mut out = match &check.output {
        Some(path) => Output::file(File::create(path).map_err(|error| cannot_write(path, &error))?),
        None if format == CheckFormat::Text => Output::paged(global),
        None => Output::new(global),
    };
    let sessions = crate::reference::sessions(global, &check.sessions, check.all)?;
    let mut verdicts = Vec::new();
    for found in &sessions {
        let verdict = judge(global, found, &wanted, |line| {
            if format == CheckFormat::Json { writeln!(out, "{line}").map_err(Failure::from) } else { Ok(()) }
        })?;
        verdicts.push(verdict);
    }
    match format {
        CheckFormat::Json => {}
        CheckFormat::Text => text::write(&mut out, &verdicts, &wanted, check.limit)?,
        CheckFormat::Junit => junit::write(&mut out, &verdicts)?,
        CheckFormat::Sarif => sarif::write(&mut out, &verdicts)?,
        CheckFormat::Github => github::write(&mut out, &verdicts)?,
    }
    out.flush()?;
    let found = verdicts.iter().any(|verdict| !verdict.rules.is_empty());
    Ok(if found { NO } else { 0 })
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

/// Follows a session and gathers what is wanted of what was found. `line` gets each finding as JSON, as it comes.
fn judge(
    global: &Global,
    found: &Found,
    wanted: &Wanted<'_>,
    mut line: impl FnMut(String) -> Result<(), Failure>,
) -> Result<Verdict, Failure> {
    let reference = found.reference()?;
    let range = found.part.range();
    let mut rules: BTreeMap<&'static str, Broken> = BTreeMap::new();
    let mut n_hidden = [0; 3];
    // What the newest messages are about, so that most findings need no look into the store.
    let mut newest: HashMap<At, String> = HashMap::new();
    // Also of a part all is followed: some of what a message broke is known only later, such as that nobody answered it.
    let followed = follow(global, found, u64::MAX, |_, meaning, follower| {
        if meaning.findings.is_empty() {
            return Ok(());
        }
        newest.clear();
        newest.extend(meaning.events.iter().filter_map(|event| match event {
            tap_session::Event::Row(row) => Some((row.at, about(row))),
            tap_session::Event::Answered { .. } => None,
        }));
        for finding in meaning.findings.iter().filter(|finding| range.contains(&finding.at.seq)) {
            let Some(severity) = wanted.severity(finding) else {
                continue;
            };
            if severity < wanted.level {
                n_hidden[severity as usize] += 1;
                continue;
            }
            let finding = Finding { severity, ..finding.clone() };
            line(as_json(&finding, &reference, &found.session.start.uuid, follower.state()))?;
            let broken = rules.entry(finding.rule.id).or_insert_with(|| Broken {
                rule: finding.rule,
                worst: severity,
                n_findings: 0,
                findings: Vec::new(),
            });
            broken.worst = broken.worst.max(severity);
            broken.n_findings += 1;
            if broken.findings.len() < KEPT_A_RULE {
                let what = match newest.get(&finding.at) {
                    Some(what) => what.clone(),
                    None => {
                        let row = found.store.row(found.session.id, finding.at)?;
                        row.map(|listed| about(&listed.row)).unwrap_or_default()
                    }
                };
                broken.findings.push(Shown { finding, what });
            }
        }
        Ok(())
    })?;
    let state = followed.follower.state();
    let incomplete = match (state.totals.lost_bytes, state.whole) {
        (0, true) => None,
        (0, false) => Some("its beginning is missing: rules that need it were not judged".into()),
        (lost, _) => {
            Some(format!("{lost} bytes were not recorded: rules that need all of it were not judged behind that"))
        }
    };
    let n_messages = state.client.n_messages + state.server.n_messages;
    let messages = match found.part {
        Part::All => format!("{n_messages} messages"),
        Part::One(at) => format!("message {} of {n_messages}", at.seq),
        Part::Range { first, last } => {
            let text = |bound: Option<u64>| bound.map(|seq| seq.to_string()).unwrap_or_default();
            format!("{}..{} of {n_messages} messages", text(first), text(last))
        }
    };
    let file = found.file.clone();
    let lines = file.as_deref().map(lines_of_frames).unwrap_or_default();
    Ok(Verdict {
        spoken: spoken(state),
        reference,
        session: found.session.start.uuid.clone(),
        file,
        lines,
        messages,
        live: found.session.live && !followed.over,
        incomplete,
        rules,
        n_hidden,
    })
}

/// A message in a few words: its direction and what it is about.
fn about(row: &MessageRow) -> String {
    format!("{} {}", row.stream.direction().arrow(), what(row))
}

/// The revision that a session speaks, in words.
pub(crate) fn spoken(state: &SessionState) -> String {
    match (&state.revision_text, state.era) {
        (Some(text), _) => shown(text, false),
        (None, Some(era)) => format!("{era} era"),
        (None, None) => "revision unknown".into(),
    }
}

/// The line of each frame in a text recording; empty for a database, or when it cannot be read again.
fn lines_of_frames(path: &Path) -> Vec<u64> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let lines = std::io::BufRead::lines(std::io::BufReader::new(file));
    let is_frame = |line: &str| {
        let record = tap_jsonrpc::Node::new(line.as_bytes());
        let frames = ["msg", "raw", "base64", "gap", "stderr", "stderr_base64", "stderr_gap"];
        record.members().any(|(key, _)| frames.iter().any(|frame| key.is(frame)))
    };
    let numbered = (1..).zip(lines.map_while(Result::ok)).skip(1);
    numbered.filter(|(_, line)| is_frame(line)).map(|(number, _)| number).collect()
}

impl Verdict {
    /// The line of a message in the file that was judged.
    fn line(&self, at: At) -> Option<u64> {
        self.lines.get(usize::try_from(at.seq).ok()?.checked_sub(1)?).copied()
    }

    /// How a message is named on the command line.
    fn at(&self, at: At) -> String {
        let reference = match &self.file {
            Some(file) => file.display().to_string(),
            None => self.reference.clone(),
        };
        place(&reference, at)
    }
}

fn place(reference: &str, at: At) -> String {
    match at.member {
        0 => format!("{reference}:{}", at.seq),
        member => format!("{reference}:{}.{member}", at.seq),
    }
}

fn by(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

/// One sentence about a finding, with what exactly was seen.
fn sentence(finding: &Finding) -> String {
    let title = finding.rule.title.trim_end_matches('.');
    if finding.detail.is_empty() { format!("{title}.") } else { format!("{title}: {}.", shown(&finding.detail, false)) }
}

fn as_json(finding: &Finding, reference: &str, session: &str, state: &SessionState) -> String {
    json!({
        "rule": finding.rule.id,
        "name": finding.rule.name,
        "severity": finding.severity.name(),
        "by": by(finding.by),
        "reference": place(reference, finding.at),
        "session": session,
        "seq": finding.at.seq,
        "member": finding.at.member,
        "others": finding.others.iter().map(|at| place(reference, *at)).collect::<Vec<_>>(),
        "detail": finding.detail,
        "title": finding.rule.title,
        "advice": finding.rule.advice,
        "section": finding.rule.section,
        "revision": state.revision_text.as_deref(),
    })
    .to_string()
}
