//! A state as facts: a part, a name and a text each, so that two states can be compared.

use serde_json::{Value, json};
use tap_frame::Direction;
use tap_protocol::Side;
use tap_session::{Call, Filter, List, Party, SessionState, Severity};

use crate::text::{counted, duration, size};

/// Requests in flight that are shown one by one.
const SHOWN_IN_FLIGHT: usize = 20;

/// Names of a list that are shown.
const SHOWN_NAMES: usize = 12;

/// One thing that was true.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// Facts of one part stand together.
    pub(crate) part: &'static str,
    pub(crate) name: String,
    /// For a person.
    pub(crate) text: String,
    /// What goes on by itself, such as how long ago something was; no change of the state.
    pub(crate) aside: String,
    /// For a program, where that is more than the text.
    pub(crate) value: Option<Value>,
}

/// Gathers facts.
struct Facts {
    part: &'static str,
    facts: Vec<Fact>,
}

impl Facts {
    fn say(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.facts.push(Fact {
            part: self.part,
            name: name.into(),
            text: text.into(),
            aside: String::new(),
            value: None,
        });
    }

    fn say_as(&mut self, name: impl Into<String>, text: impl Into<String>, value: Value) {
        self.say(name, text);
        if let Some(fact) = self.facts.last_mut() {
            fact.value = Some(value);
        }
    }

    /// Adds something that goes on by itself to the fact that was said last.
    fn aside(&mut self, aside: String) {
        if let Some(fact) = self.facts.last_mut() {
            fact.aside = aside;
        }
    }

    fn perhaps(&mut self, name: &str, text: Option<impl Into<String>>) {
        if let Some(text) = text {
            self.say(name, text);
        }
    }
}

/// All facts of a state, in the order in which they are shown. `began_at_ns` is when the session began, on the clock of the
/// state.
pub(crate) fn of(state: &SessionState, began_at_ns: u64) -> Vec<Fact> {
    let mut facts = Facts { part: "session", facts: Vec::new() };
    session(state, &mut facts);
    facts.part = "parties";
    for side in [Side::Client, Side::Server] {
        party(state, side, &mut facts);
    }
    facts.part = "lists";
    lists(state, &mut facts);
    facts.part = "open";
    open(state, &mut facts);
    facts.part = "in flight";
    in_flight(state, &mut facts);
    facts.part = "so far";
    so_far(state, began_at_ns, &mut facts);
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
    if state.ended {
        facts.say("ended", "after this message");
    }
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

fn lists(state: &SessionState, facts: &mut Facts) {
    let all = &state.lists;
    list("tools", &all.tools, |tool| tool.name.to_string(), facts);
    list("prompts", &all.prompts, |item| item.name.to_string(), facts);
    list("resources", &all.resources, |item| item.name.to_string(), facts);
    list("resource templates", &all.resource_templates, |item| item.name.to_string(), facts);
    list("roots", &all.roots, |item| item.name.to_string(), facts);
}

fn list<T>(name: &'static str, list: &List<T>, item_name: impl Fn(&T) -> String, facts: &mut Facts) {
    let names: Vec<String> = list.items.iter().map(|item| item_name(item)).collect();
    let Some(as_of) = list.as_of else {
        if let Some(at) = list.changed {
            facts.say(name, format!("never listed, changed by message {}", at.seq));
        }
        return;
    };
    let mut text = format!("{} as of message {}", list.n_items, as_of.seq);
    if !list.complete {
        text += ", more pages to come";
    }
    if list.n_pages > 1 {
        text += &format!(", {} pages", list.n_pages);
    }
    text += &format!(", {}", size(list.n_bytes));
    if let Some(at) = list.changed {
        text += &format!(", changed by message {}", at.seq);
    }
    let shown: Vec<&str> = names.iter().take(SHOWN_NAMES).map(String::as_str).collect();
    if !shown.is_empty() {
        let more = if names.len() > shown.len() { ", …" } else { "" };
        text += &format!(": {}{more}", shown.join(", "));
    }
    let value = json!({
        "as_of": as_of.seq,
        "complete": list.complete,
        "pages": list.n_pages,
        "bytes": list.n_bytes,
        "changed_by": list.changed.map(|at| at.seq),
        "ttl_ms": list.ttl_ms,
        "cache_scope": list.cache_scope.as_deref(),
        "names": names,
    });
    facts.say_as(name, text, value);
}

fn open(state: &SessionState, facts: &mut Facts) {
    if let Some(level) = state.logging.level {
        let at = state.logging.set_at.map(|at| format!(" (message {})", at.seq)).unwrap_or_default();
        facts.say("log level", format!("{level}{at}"));
    }
    for subscription in state.modern.open_subscriptions() {
        let acknowledged = match &subscription.acknowledged {
            Some((at, filter)) => format!("{}, acknowledged by message {}", filter_text(filter), at.seq),
            None => format!("{}, not acknowledged", filter_text(&subscription.asked)),
        };
        let n_delivered: u64 = subscription.n_delivered.values().sum();
        facts.say(format!("subscription {}", subscription.raw_id), format!("{acknowledged}, {n_delivered} delivered"));
    }
    let subscribed: Vec<&str> = sorted(state.lists.subscribed.keys().map(|uri| &**uri));
    if !subscribed.is_empty() {
        facts.say_as("subscribed", names_text(&subscribed), json!(subscribed));
    }
    for round in state.modern.waiting_rounds() {
        let target = round.target.as_deref().map(|target| format!(" {target}")).unwrap_or_default();
        facts.say(
            format!("input for {}", round.raw_id),
            format!("{}{target} of message {} waits for input, round {}", round.method, round.first.seq, round.number),
        );
    }
    let tasks: Vec<_> = state.tasks.open().take(SHOWN_IN_FLIGHT).collect();
    for task in &tasks {
        let what = task.method.as_deref().unwrap_or("unknown request");
        let target = task.target.as_deref().map(|target| format!(" {target}")).unwrap_or_default();
        let status = task.status.as_deref().unwrap_or("unknown");
        facts.say(format!("task {}", task.id), format!("{what}{target}, {status}, {} polls", task.n_polls));
    }
    let n_more = state.tasks.n_open().saturating_sub(tasks.len());
    if n_more > 0 {
        facts.say("more tasks", n_more.to_string());
    }
    if state.tasks.n_ended() > 0 {
        facts.say("tasks that ended", state.tasks.n_ended().to_string());
    }
}

/// What a subscription delivers.
fn filter_text(filter: &Filter) -> String {
    let lists = [
        ("tools", filter.tools_list_changed),
        ("prompts", filter.prompts_list_changed),
        ("resources", filter.resources_list_changed),
    ];
    let mut parts: Vec<String> =
        lists.into_iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name} list")).collect();
    let uris: Vec<&str> = filter.resource_subscriptions.iter().map(|uri| &**uri).collect();
    if !uris.is_empty() {
        parts.push(names_text(&uris));
    }
    if !filter.task_ids.is_empty() {
        parts.push(format!("{} tasks", filter.task_ids.len()));
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}

fn names_text(names: &[&str]) -> String {
    let more = if names.len() > SHOWN_NAMES { ", …" } else { "" };
    format!("{}{more}", names.iter().take(SHOWN_NAMES).copied().collect::<Vec<_>>().join(", "))
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
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
            // Two may have the same id.
            format!("{} {} id {}", call.at.seq, call.direction.arrow(), call.raw_id),
            in_flight_text(call),
            call_json(state, call),
        );
        facts.aside(ago(state.at_ns.saturating_sub(call.at_ns)));
    }
    if calls.len() > SHOWN_IN_FLIGHT {
        facts.say("and more", (calls.len() - SHOWN_IN_FLIGHT).to_string());
    }
}

fn in_flight_text(call: &Call) -> String {
    let mut text = call.method.to_string();
    if let Some(target) = &call.target {
        text += &format!(" {target}");
    }
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

fn so_far(state: &SessionState, began_at_ns: u64, facts: &mut Facts) {
    let totals = &state.totals;
    facts.say("time", "");
    facts.aside(duration(state.at_ns.saturating_sub(began_at_ns)));
    facts.say(
        "answers",
        format!(
            "{} ok, {}, {}",
            totals.n_ok,
            counted(totals.n_tool_errors, "tool error"),
            counted(totals.n_errors, "error")
        ),
    );
    facts.say("notifications", totals.n_notifications.to_string());
    for side in [Side::Client, Side::Server] {
        let party = state.party(side);
        let who = if side == Side::Client { "from the client" } else { "from the server" };
        facts.say(who, format!("{}, {}", counted(party.n_messages, "message"), size(party.n_bytes)));
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
        .map(|severity| counted(totals.n_findings_of(severity), severity.name()));
    facts.say("findings", findings.join(", "));
    if state.logging.n_messages() > 0 {
        facts.say("log messages", state.logging.n_messages().to_string());
    }
    if totals.lost_bytes > 0 {
        facts.say("not recorded", format!("{} bytes", totals.lost_bytes));
    }
}

fn ago(ns: u64) -> String {
    if ns == 0 { "now".into() } else { format!("{} ago", duration(ns)) }
}
