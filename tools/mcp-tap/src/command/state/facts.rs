//! A state as facts: a part, a name and a text each, so that two states can be compared.

use serde_json::{Value, json};
use tap_frame::Direction;
use tap_protocol::Side;
use tap_session::{Call, Party, SessionState, Severity};

use crate::text::{duration, size};

/// Requests in flight that are shown one by one.
const SHOWN_IN_FLIGHT: usize = 20;

/// One thing that was true.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    /// Facts of one part stand together.
    pub(super) part: &'static str,
    pub(super) name: String,
    /// For a person.
    pub(super) text: String,
    /// For a program, where that is more than the text.
    pub(super) value: Option<Value>,
}

/// Gathers facts.
struct Facts {
    part: &'static str,
    facts: Vec<Fact>,
}

impl Facts {
    fn say(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.facts.push(Fact { part: self.part, name: name.into(), text: text.into(), value: None });
    }

    fn say_as(&mut self, name: impl Into<String>, text: impl Into<String>, value: Value) {
        self.facts.push(Fact { part: self.part, name: name.into(), text: text.into(), value: Some(value) });
    }

    fn perhaps(&mut self, name: &str, text: Option<impl Into<String>>) {
        if let Some(text) = text {
            self.say(name, text);
        }
    }
}

/// All facts of a state, in the order in which they are shown.
pub(super) fn of(state: &SessionState) -> Vec<Fact> {
    let mut facts = Facts { part: "session", facts: Vec::new() };
    session(state, &mut facts);
    facts.part = "parties";
    for side in [Side::Client, Side::Server] {
        party(state, side, &mut facts);
    }
    facts.part = "in flight";
    in_flight(state, &mut facts);
    facts.part = "so far";
    so_far(state, &mut facts);
    facts.facts
}

fn session(state: &SessionState, facts: &mut Facts) {
    facts.perhaps("era", state.era.map(|era| era.to_string()));
    let revision = match (&state.revision_text, &state.asked_revision) {
        (Some(text), Some(asked)) if text != asked => Some(format!("{text} (asked for {asked})")),
        (Some(text), _) => Some(text.to_string()),
        (None, Some(asked)) => Some(format!("not agreed (asked for {asked})")),
        (None, None) => None,
    };
    facts.perhaps("revision", revision);
    let since = state.phase_at.map(|at| format!(" since message {}", at.seq)).unwrap_or_default();
    facts.say("phase", format!("{}{since}", state.phase.name()));
    if !state.supported.is_empty() {
        let supported: Vec<&str> = state.supported.iter().map(|text| &**text).collect();
        facts.say_as("server supports", supported.join(", "), json!(supported));
    }
    if let Some(instructions) = &state.instructions {
        facts.say_as("instructions", format!("{} characters", instructions.chars().count()), json!(**instructions));
    }
    if !state.whole {
        facts.say("recording", "not whole: something before this is missing");
    }
}

fn party(state: &SessionState, side: Side, facts: &mut Facts) {
    let Party { name, version, capabilities, declared_at, .. } = state.party(side);
    let who = match side {
        Side::Client => "client",
        Side::Server => "server",
    };
    let names = match (name, version) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        (Some(name), None) => Some(name.to_string()),
        (None, _) => None,
    };
    facts.perhaps(who, names);
    if let Some(kept) = capabilities {
        let declared = declared(kept);
        let text = if declared.is_empty() { "none declared".to_owned() } else { declared.join(", ") };
        let at = declared_at.map(|at| format!(" (message {})", at.seq)).unwrap_or_default();
        let value = serde_json::from_slice(&kept.0).unwrap_or_else(|_| json!(declared));
        facts.say_as(format!("{who} capabilities"), format!("{text}{at}"), value);
    }
}

/// The names of what was declared, two levels deep: `tools.listChanged`.
fn declared(kept: &tap_session::Kept) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in kept.node().members() {
        let members = value.is_object().then(|| value.members());
        let parts: Vec<String> = members
            .into_iter()
            .flatten()
            .filter(|(_, value)| value.as_bool() != Some(false) && !value.is_null())
            .map(|(key, _)| key.text().into_owned())
            .collect();
        names.push(if parts.is_empty() {
            key.text().into_owned()
        } else {
            format!("{}({})", key.text(), parts.join(" "))
        });
    }
    names
}

fn in_flight(state: &SessionState, facts: &mut Facts) {
    let calls = state.in_flight();
    for (name, direction) in [("to the server", Direction::ToServer), ("to the client", Direction::ToClient)] {
        let n = calls.iter().filter(|call| call.direction == direction).count();
        facts.say(name, n.to_string());
    }
    for call in calls.iter().take(SHOWN_IN_FLIGHT) {
        facts.say_as(
            format!("{} {}", call.direction.arrow(), call.raw_id),
            in_flight_text(state, call),
            call_json(state, call),
        );
    }
    if calls.len() > SHOWN_IN_FLIGHT {
        facts.say("and more", (calls.len() - SHOWN_IN_FLIGHT).to_string());
    }
}

fn in_flight_text(state: &SessionState, call: &Call) -> String {
    let mut text = call.method.to_string();
    if let Some(target) = &call.target {
        text += &format!(" {target}");
    }
    text += &format!("  message {}, {} ago", call.at.seq, duration(state.at_ns.saturating_sub(call.at_ns)));
    if let Some(token) = &call.progress_token {
        let progress = call.progress.map(|number| format!(" at {}", number.0)).unwrap_or_default();
        text += &format!(", progress token {token}{progress}");
    }
    if let Some(at) = call.cancelled {
        text += &format!(", cancelled by message {}", at.seq);
    }
    if let Some(task) = &call.task {
        text += &format!(", task {task}");
    }
    text
}

fn call_json(state: &SessionState, call: &Call) -> Value {
    json!({
        "seq": call.at.seq,
        "member": call.at.member,
        "id": call.raw_id.to_string(),
        "method": *call.method,
        "target": call.target.as_deref(),
        "age_ns": state.at_ns.saturating_sub(call.at_ns),
        "progress_token": call.progress_token.as_ref().map(ToString::to_string),
        "progress": call.progress.map(|number| number.0),
        "cancelled_by": call.cancelled.map(|at| at.seq),
        "task": call.task.as_deref(),
    })
}

fn so_far(state: &SessionState, facts: &mut Facts) {
    let totals = &state.totals;
    facts.say("time", duration(state.at_ns));
    facts.say(
        "answers",
        format!("{} ok, {} tool errors, {} errors", totals.n_ok, totals.n_tool_errors, totals.n_errors),
    );
    facts.say("notifications", totals.n_notifications.to_string());
    for side in [Side::Client, Side::Server] {
        let party = state.party(side);
        let who = if side == Side::Client { "from the client" } else { "from the server" };
        facts.say(who, format!("{} messages, {}", party.n_messages, size(party.n_bytes)));
        let used = state.used_ids_of(side);
        let runs = used.runs();
        let run = |(first, last): &(i64, i64)| {
            if first == last { first.to_string() } else { format!("{first}..{last}") }
        };
        let mut ids: Vec<String> = runs.iter().take(5).map(run).collect();
        let n_more_runs = runs.len().saturating_sub(ids.len());
        if used.n_others() > 0 {
            ids.push(format!("{} that are no whole numbers", used.n_others()));
        }
        if n_more_runs > 0 {
            ids.push(format!("{n_more_runs} more runs"));
        }
        if !ids.is_empty() {
            let who = if side == Side::Client { "client's ids" } else { "server's ids" };
            facts.say(who, ids.join(", "));
        }
    }
    let findings = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| format!("{} {severity}s", totals.n_findings_of(severity)));
    facts.say("findings", findings.join(", "));
    if totals.lost_bytes > 0 {
        facts.say("not recorded", format!("{} bytes", totals.lost_bytes));
    }
}
