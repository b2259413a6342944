//! `mcp-tap check`: which rules of the protocol were broken, by whom, and what to do.

mod github;
mod junit;
mod sarif;
mod text;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tap_filter::Filter;
use tap_protocol::Side;
use tap_session::{At, Finding, HttpSessionNumber, MessageRow, Rule, SessionState, Severity};
use tap_store::ListKind;

use crate::arguments::{Check, CheckFormat, Global, Level};
use crate::command::log::what;
use crate::failure::{Failure, NO};
use crate::filtering;
use crate::following::{Followed, Seen, follow};
use crate::new_file::{NewFile, Readers};
use crate::output::Output;
use crate::reference::{Found, Part, must_not_be_read, place, sessions};
use crate::subject::Findings;
use crate::text::{counted, shown};

/// Findings of one rule that are kept of a session; all are counted.
const KEPT_A_RULE: usize = 1_000;

/// What was found in one session.
struct Verdict {
    reference: String,
    /// Which session of MCP of the recording it is, where there are several; 0 for what is of none of them.
    inside: Option<u64>,
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

/// What was found, by rule.
#[derive(Default)]
struct Gathered {
    rules: BTreeMap<&'static str, Broken>,
    n_hidden: [u64; 3],
}

impl Gathered {
    fn add(&mut self, other: Self) {
        for (id, broken) in other.rules {
            match self.rules.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert(broken)),
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.worst = known.worst.max(broken.worst);
                    known.n_findings += broken.n_findings;
                    let room = KEPT_A_RULE.saturating_sub(known.findings.len());
                    known.findings.extend(broken.findings.into_iter().take(room));
                }
            }
        }
        for (sum, n) in self.n_hidden.iter_mut().zip(other.n_hidden) {
            *sum += n;
        }
    }
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
    /// Only what is wrong with messages that fit.
    filter: Option<&'a Filter>,
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
    let filter = filtering::read(&check.which.filter())?;
    let wanted = Wanted { level, filter: filter.as_ref(), deny: &check.deny, allow: &check.allow };
    let on_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| !value.is_empty());
    let output = check.output.as_deref().filter(|path| *path != Path::new("-"));
    let format = match (check.format, output.and_then(format_of)) {
        _ if check.json => CheckFormat::Json,
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) if on_github => CheckFormat::Github,
        (None, None) => CheckFormat::Text,
    };
    let mut out = match output {
        Some(path) => {
            must_not_be_read(global, path, check.which.named())?;
            Output::file(NewFile::create(path, Readers::Usual)?)?
        }
        None if format == CheckFormat::Text => Output::paged(global),
        None => Output::new(global),
    };
    let mut verdicts = Vec::new();
    let mut silent = None;
    let mut n_silent = 0;
    for found in sessions(global, &check.which)? {
        let found = found?;
        let judged = judge(global, &found, &wanted, |line| {
            if format == CheckFormat::Json { out.json(&line).map_err(Failure::from) } else { Ok(()) }
        })?;
        if !judged.is_empty() {
            verdicts.extend(judged);
        } else if !check.which.all {
            // That nothing is wrong with nothing is no verdict for who asked for this one.
            return Err(nothing_said(&found)?);
        } else {
            n_silent += 1;
            if silent.is_none() {
                silent = Some(nothing_said(&found)?);
            }
        }
    }
    if let Some(failure) = silent {
        if verdicts.is_empty() {
            return Err(failure);
        }
        if !global.quiet {
            let left_out = counted(n_silent, "session");
            let _ = writeln!(std::io::stderr(), "{left_out} left out; {}", shown(&failure.message, false));
        }
    }
    match format {
        CheckFormat::Json => {}
        CheckFormat::Text => text::write(&mut out, &verdicts, &wanted, check.limit)?,
        CheckFormat::Junit => junit::write(&mut out, &verdicts)?,
        CheckFormat::Sarif => sarif::write(&mut out, &verdicts)?,
        CheckFormat::Github => github::write(&mut out, &verdicts)?,
    }
    out.finish()?;
    let found = verdicts.iter().any(|verdict| !verdict.rules.is_empty());
    Ok(if found { NO } else { 0 })
}

/// The format that a file's name asks for.
fn format_of(path: &Path) -> Option<CheckFormat> {
    match path.extension()?.to_str()? {
        "sarif" => Some(CheckFormat::Sarif),
        "xml" => Some(CheckFormat::Junit),
        "json" | "jsonl" => Some(CheckFormat::Json),
        "txt" => Some(CheckFormat::Text),
        _ => None,
    }
}

/// That there is nothing to judge.
fn nothing_said(found: &Found) -> Result<Failure, Failure> {
    let name = found.name();
    // What was known when the session was found may have been too little.
    let sessions = found.store.sessions()?;
    let digest = sessions.iter().find(|this| this.id == found.session.id).map(|this| &this.digest);
    let came_through = digest.filter(|this| found.is_http() && found.conversation.is_none() && this.n_frames > 0);
    if let Some(digest) = came_through {
        let what = match digest.n_messages {
            0 => format!("none of {} is a message of MCP", counted(digest.n_frames, "frame")),
            1 => "1 message, but no session came of it".into(),
            n => format!("{n} messages, but no session came of them"),
        };
        return Ok(Failure::new(format!("{name}: {what}"))
            .hint(format!("`mcp-tap log -s {name} --frames` lists what came through the proxy")));
    }
    Ok(Failure::new(format!("{name}: nothing was said ({})", found.end()))
        .hint(found.hint_when_empty().unwrap_or("there is no verdict on a session without messages")))
}

/// Follows a recording and gathers what is wanted of what was found, for each session in it that has messages. `line` gets
/// each finding as JSON, as it comes.
fn judge(
    global: &Global,
    found: &Found,
    wanted: &Wanted<'_>,
    mut line: impl FnMut(Value) -> Result<(), Failure>,
) -> Result<Vec<Verdict>, Failure> {
    let mut gathered: BTreeMap<Option<HttpSessionNumber>, Gathered> = BTreeMap::new();
    let all_findings = match wanted.filter {
        Some(filter) => filtering::findings_for(global, found, filter)?,
        None => Findings::new(),
    };
    let fits = |at: At| -> Result<bool, Failure> {
        let Some(filter) = wanted.filter else {
            return Ok(true);
        };
        let Some(listed) = found.store.row(found.session.id, at)? else {
            return Ok(false);
        };
        Ok(filtering::fits(filter, &found.store, &found.session, ListKind::Frames, &listed, &all_findings)?)
    };
    // What the newest messages are about, so that most findings need no look into the store.
    let mut newest: HashMap<At, String> = HashMap::new();
    // Also of a part all is followed: some of what a message broke is known only later, such as that nobody answered it.
    let followed = follow(global, found, u64::MAX, |Seen { meaning, state, conversation, .. }| {
        if meaning.findings.is_empty() || !found.wants(conversation) {
            return Ok(());
        }
        newest.clear();
        newest.extend(meaning.events.iter().filter_map(|event| match event {
            tap_session::Event::Row(row) => Some((row.at, about(row))),
            tap_session::Event::Answered { .. } | tap_session::Event::Done { .. } => None,
        }));
        let Gathered { rules, n_hidden } = gathered.entry(conversation).or_default();
        for finding in meaning.findings.iter().filter(|finding| found.part.contains(finding.at)) {
            let Some(severity) = wanted.severity(finding) else {
                continue;
            };
            if !fits(finding.at)? {
                continue;
            }
            if severity < wanted.level {
                n_hidden[severity as usize] += 1;
                continue;
            }
            let finding = Finding { severity, ..finding.clone() };
            line(as_json(&finding, found, conversation, state))?;
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
    let inside = sessions_of(found, &followed)?;
    let several = inside.len() > 1;
    let n_all: u64 = inside.iter().map(|inside| inside.n_messages).sum();
    let is_silent = inside.iter().all(|inside| inside.n_messages == 0);
    if is_silent && gathered.values().all(|gathered| gathered.rules.is_empty()) {
        return Ok(Vec::new());
    }
    found.must_exist()?;
    let file = found.file.clone();
    // Over HTTP a frame may be in many lines, and a line in no frame.
    let lines = file.as_deref().filter(|_| !found.is_http()).map(lines_of_frames).unwrap_or_default();
    let goes_on = found.session.live && !followed.over;
    let verdict = |inside: Option<u64>, spoken: String, messages: String, incomplete, gathered: Gathered| Verdict {
        reference: found.reference.clone(),
        inside,
        session: found.session.start.uuid.clone(),
        file: file.clone(),
        lines: lines.clone(),
        spoken,
        messages,
        live: goes_on,
        incomplete,
        rules: gathered.rules,
        n_hidden: gathered.n_hidden,
    };
    let mut verdicts = Vec::new();
    for this in inside.into_iter().filter(|inside| inside.n_messages > 0) {
        let found_here = gathered.remove(&this.number).unwrap_or_default();
        let number = this.number.filter(|_| several || found.conversation.is_some());
        let messages = messages(found.part, this.n_messages, if several { n_all } else { this.n_messages });
        let messages = match wanted.filter {
            Some(filter) => format!("{messages}, of which those that fit {}", shown(filter.text(), false)),
            None => messages,
        };
        let all = verdict(number.map(|number| number.0), this.spoken, messages, this.incomplete, found_here);
        verdicts.push(Verdict { live: goes_on && !this.ended, ..all });
    }
    // What is left is of sessions that were refused.
    let mut refused = Gathered::default();
    gathered.into_values().for_each(|gathered| refused.add(gathered));
    if !refused.rules.is_empty() {
        verdicts.push(verdict(Some(0), "no session came of it".into(), "refused".into(), None, refused));
    }
    Ok(verdicts)
}

/// How much of how many messages was judged.
fn messages(part: Part, n_messages: u64, n_all: u64) -> String {
    match part {
        Part::All => counted(n_messages, "message"),
        Part::One(at) => format!("message {} of {n_all}", place("", at).trim_start_matches(':')),
        Part::Range { first, last } => {
            let text = |bound: Option<u64>| bound.map(|seq| seq.to_string()).unwrap_or_default();
            format!("{}..{} of {}", text(first), text(last), counted(n_all, "message"))
        }
    }
}

/// A session of MCP that is judged.
struct Inside {
    number: Option<HttpSessionNumber>,
    spoken: String,
    n_messages: u64,
    /// Whether it is over, though its recording may go on.
    ended: bool,
    incomplete: Option<String>,
}

/// The sessions of a recording of which something is wanted: over HTTP also those that were over so long ago that their
/// states are forgotten.
fn sessions_of(found: &Found, followed: &Followed) -> Result<Vec<Inside>, Failure> {
    let of_state = |number: Option<HttpSessionNumber>, state: &SessionState| Inside {
        number,
        spoken: spoken(state),
        n_messages: state.client.n_messages + state.server.n_messages,
        ended: state.ended,
        incomplete: match (state.totals.lost_bytes, state.whole) {
            (0, true) => None,
            (0, false) if state.gap_at.is_some() => {
                Some("some of it could not be decoded: rules that need all of it were not judged behind that".into())
            }
            (0, false) => Some("its beginning is missing: rules that need it were not judged".into()),
            (lost, _) => {
                Some(format!("{lost} bytes were not recorded: rules that need all of it were not judged behind that"))
            }
        },
    };
    let known = followed.states.iter().filter(|(number, _)| found.wants(*number));
    let mut known: Vec<Inside> = known.map(|(number, state)| of_state(*number, state)).collect();
    if found.is_http() {
        let listed = found.store.conversations(found.session.id)?;
        let over = listed.iter().filter(|this| this.ended_at_ns.is_some()).map(|this| Some(this.number));
        let over: BTreeSet<_> = over.collect();
        known.iter_mut().for_each(|inside| inside.ended |= over.contains(&inside.number));
        let is_known: BTreeSet<_> = known.iter().map(|inside| inside.number).collect();
        let forgotten =
            listed.into_iter().filter(|this| found.wants(Some(this.number)) && !is_known.contains(&Some(this.number)));
        known.extend(forgotten.map(|this| Inside {
            number: Some(this.number),
            spoken: this.revision.or(this.era).map_or_else(|| "revision unknown".into(), |text| shown(&text, false)),
            n_messages: this.n_messages,
            ended: this.ended_at_ns.is_some(),
            incomplete: None,
        }));
        known.sort_by_key(|inside| inside.number);
    }
    Ok(known)
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

    /// What the recording is called: its file, or its reference.
    fn recording(&self) -> String {
        let name = self.file.as_ref().map(|file| file.to_string_lossy());
        shown(name.as_deref().unwrap_or(&self.reference), false)
    }

    /// What the session is called: its recording, and its number there if it is one of several.
    fn name(&self) -> String {
        match self.inside {
            None => self.recording(),
            Some(0) => format!("{}, outside of sessions", self.recording()),
            Some(number) => format!("{}/{number}", self.recording()),
        }
    }

    /// How a message is named on the command line.
    fn at(&self, at: At) -> String {
        place(&self.recording(), at)
    }
}

/// A file's path without what says nothing: `./` at its beginning.
fn relative(file: &Path) -> &Path {
    let mut path = file;
    while let Ok(rest) = path.strip_prefix(".") {
        path = rest;
    }
    path
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

fn as_json(finding: &Finding, found: &Found, conversation: Option<HttpSessionNumber>, state: &SessionState) -> Value {
    json!({
        "rule": finding.rule.id,
        "name": finding.rule.name,
        "severity": finding.severity.name(),
        "by": by(finding.by),
        "reference": found.place(finding.at),
        "session": found.session.start.uuid,
        "conversation": conversation.map(|number| number.0),
        "seq": finding.at.seq,
        "member": finding.at.member,
        "others": finding.others.iter().map(|at| found.place(*at)).collect::<Vec<_>>(),
        "detail": finding.detail,
        "title": finding.rule.title,
        "advice": finding.rule.advice,
        "section": finding.rule.section,
        "revision": state.revision_text.as_deref(),
    })
}
