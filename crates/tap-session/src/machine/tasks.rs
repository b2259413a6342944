//! Tasks: those of 2025-11-25 and those of the extension, over all their polls.
//!
//! `tasks/kept.rs` has the state, `tasks/news.rs` what a message that holds a task says about it.
//!
//! Source: 2025-11-25, basic/utilities/tasks; ext-tasks 2026-07-28.

mod kept;
mod news;

use std::borrow::Cow;
use std::sync::Arc;

use tap_jsonrpc::{Node, RawId};
use tap_protocol::{Era, INVALID_PARAMS, Side, TASK_RESULT_TYPE, TASK_STATUSES, TASKS_EXTENSION, meta};

use super::features::calls::task_result;
use super::lifecycle::side_name;
use super::{Out, Seen};
use crate::row::At;
use crate::rule::{Severity, quoted};
use crate::rules::tasks as rule;
use crate::state::{Call, SessionState};

use kept::{ID_LIMIT_BYTES, INPUTS_KEPT};
pub use kept::{Task, TaskInput, Tasks, TimeToLive};
use news::{News, era_of, link, listed, observe};

/// How much earlier than its interval a poll may come: this part of the interval, and at least so many nanoseconds.
/// Timers are not exact, and what passes here was not sent at this very moment.
const POLL_TOLERANCE: (u64, u64) = (10, 50_000_000);

/// The task that a call became or asks about.
pub(crate) fn task_of<'a>(state: &'a SessionState, call: &Call) -> Option<&'a Arc<Task>> {
    state.tasks.of(call.side().other(), call.task.as_deref()?)
}

/// Whether a call became a task, other than a poll, which only names one.
pub(crate) fn became_a_task(call: &Call) -> bool {
    call.task.is_some() && !is_about_a_task(&call.method)
}

fn is_about_a_task(method: &str) -> bool {
    method.starts_with("tasks/")
}

/// The id of a task, if it is one and not too long to be followed.
fn known_id(id: Node<'_>) -> Option<Cow<'_, str>> {
    id.text().filter(|id| id.len() <= ID_LIMIT_BYTES)
}

/// The task that a message says it belongs to, in 2025-11-25.
fn related(related_task: Option<Node<'_>>) -> Option<Cow<'_, str>> {
    known_id(related_task?.get("taskId")?)
}

/// Remembers something that a task asks for.
fn ask(task: &mut Task, input: TaskInput) {
    if task.inputs.len() < INPUTS_KEPT {
        task.inputs.insert(input.key.clone(), input);
    }
}

/// Whether requests of this method can be made tasks in 2025-11-25, and what the side that runs them declares then.
fn capability_of(method: &str) -> Option<&'static [&'static str]> {
    match method {
        "tools/call" => Some(&["tasks", "requests", "tools", "call"]),
        "sampling/createMessage" => Some(&["tasks", "requests", "sampling", "createMessage"]),
        "elicitation/create" => Some(&["tasks", "requests", "elicitation", "create"]),
        _ => None,
    }
}

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    match seen.method_name() {
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => about_a_task(state, seen, call, out),
        "tasks/list" => {}
        name => {
            // In the modern era it is the server that decides, and requests of a task are no messages.
            if seen.is_modern() {
                return;
            }
            if let Some(path) = capability_of(name)
                && seen.parts.task.is_some_and(|task| !task.is_null())
            {
                wants_a_task(state, seen, path, out);
            }
            of_a_task(state, seen, call, out);
        }
    }
}

/// A request that is to become a task.
fn wants_a_task(state: &SessionState, seen: &Seen<'_>, path: &[&str], out: &mut Out<'_>) {
    let receiver = seen.side.other();
    let party = state.party(receiver);
    if party.capabilities.as_ref().is_none_or(|known| known.declares(path)) {
        no_support(state, seen, out);
        return;
    }
    let detail = format!("{} needs `{}` of the {}", quoted(seen.method_name()), path.join("."), side_name(receiver));
    if let Some(finding) = out.find(&rule::TSK_001, seen, detail) {
        finding.others.extend(party.declared_at);
        // A MUST NOT for tools, and a SHOULD for what servers ask.
        if seen.side == Side::Server {
            finding.severity = Severity::Warning;
        }
    }
}

/// Whether a tool that is to become a task was listed as one that cannot.
fn no_support(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let tools = &state.lists.tools;
    let tool = seen.row.target.as_deref().filter(|_| seen.method_name() == "tools/call");
    let Some(tool) = tool.and_then(|name| state.lists.tool(name)).filter(|_| tools.changed.is_none()) else {
        return;
    };
    let support = tool.text.node().at(&["execution", "taskSupport"]);
    if support.is_none_or(|support| support.is_null() || support.is_text("forbidden"))
        && let Some(finding) = out.find(&rule::TSK_001, seen, format!("tool {} does not offer it", quoted(&tool.name)))
    {
        // The list may have been on its way, and an older one have said otherwise.
        finding.severity = Severity::Warning;
        finding.others.extend(tools.as_of);
    }
}

/// A request that may belong to a task: what the task needs from the other side.
fn of_a_task(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if state.tasks.n_seen == 0 {
        return;
    }
    let Some(id) = related(seen.said.related_task) else {
        return;
    };
    let owner = if state.tasks.of(seen.side, &id).is_some() { seen.side } else { seen.side.other() };
    link(state, call.at, owner, &id, out);
    if owner == seen.side {
        let input = TaskInput {
            key: call.raw_id.to_string().into(),
            method: call.method.clone(),
            asked: call.at,
            answered: None,
            fingerprint: 0,
        };
        state.tasks.change(owner, &id, |task| ask(task, input));
    }
}

/// A poll, a question for the result, a cancellation, an answer to what a task asked.
fn about_a_task(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    let Some(id) = seen.param("taskId").and_then(known_id) else {
        return;
    };
    let owner = seen.side.other();
    let Some(task) = state.tasks.of(owner, &id).cloned() else {
        call.task = Some((*id).into());
        return;
    };
    call.task = Some(task.id.clone());
    link(state, call.at, owner, &id, out);
    let (at, at_ns) = (seen.at(), seen.at_ns());
    match seen.method_name() {
        "tasks/get" => {
            let too_fast = !task.told_polls && poll(seen, &task, out);
            state.tasks.change(owner, &id, |task| {
                task.n_polls += 1;
                task.last_poll_ns = Some(at_ns);
                task.has_news = false;
                task.told_polls |= too_fast;
            });
        }
        "tasks/cancel" => {
            if let Some(ended) = task.status_at.filter(|_| task.says_it_ended())
                && let Some(finding) = out.find(&rule::TSK_007, seen, "it may have been on its way when the task ended")
            {
                finding.severity = Severity::Note;
                finding.others.push(ended);
            }
            state.tasks.change(owner, &id, |task| task.cancel_asked = Some(at));
        }
        "tasks/update" => {
            let answers = seen.param("inputResponses");
            state.tasks.change(owner, &id, |task| {
                task.has_news = true;
                for (key, _) in answers.into_iter().flat_map(Node::members) {
                    if let Some(input) = task.inputs.get_mut(&*key.text()) {
                        input.answered = input.answered.or(Some(at));
                    }
                }
            });
        }
        _ => {}
    }
}

/// Whether a poll comes sooner than the side that runs the task wants. Told once a task.
fn poll(seen: &Seen<'_>, task: &Task, out: &mut Out<'_>) -> bool {
    let (Some(last_ns), Some(interval_ms)) = (task.last_poll_ns, task.poll_interval_ms) else {
        return false;
    };
    if task.has_news || task.is_terminal() {
        return false;
    }
    let elapsed_ns = seen.at_ns().saturating_sub(last_ns);
    let interval_ns = interval_ms.saturating_mul(1_000_000);
    let (part, least_ns) = POLL_TOLERANCE;
    if elapsed_ns.saturating_add((interval_ns / part).max(least_ns)) >= interval_ns {
        return false;
    }
    let detail = format!("{} ms after the last one, the interval is {interval_ms} ms", elapsed_ns / 1_000_000);
    out.find(&rule::TSK_006, seen, format!("{detail}; told once a task")).is_some()
}

/// A notification.
pub(crate) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    match seen.method_name() {
        "notifications/tasks/status" | "notifications/tasks" => {
            if let Some(params) = seen.params {
                observe(state, seen, seen.side, None, params, out);
            }
        }
        "notifications/progress" if !seen.is_modern() => progress(state, seen, out),
        _ => {}
    }
}

/// Progress of a request that became a task belongs to that task.
fn progress(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if state.tasks.n_open() + state.tasks.n_ended() == 0 {
        return;
    }
    let token = seen.param("progressToken").map(|token| RawId::from_token(token.bytes()));
    let Some(task) = token.and_then(|token| state.tasks.of_token(seen.direction().reversed(), &token)).cloned() else {
        return;
    };
    if task.told_progress || related(seen.said.related_task).is_some() {
        return;
    }
    if let Some(finding) = out.find(&rule::TSK_004, seen, "progress of a task; told once a task") {
        // Its token names the request, and with it the task.
        finding.severity = Severity::Warning;
        finding.others.extend(task.made_by);
        state.tasks.change(task.owner, &task.id, |task| task.told_progress = true);
    }
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &mut Arc<Call>, out: &mut Out<'_>) {
    let owner = seen.side;
    let Some(result) = seen.result else {
        refused(state, seen, call, out);
        return;
    };
    let is_task = !seen.is_legacy() && result_type(seen, call, out);
    match &*call.method {
        "tasks/get" => {
            observe(state, seen, owner, Some(call.at), result, out);
            count_first_poll(state, call);
            if let Some(result) = result.get("result") {
                result_of_a_call(state, seen, call, result, out);
            }
        }
        "tasks/list" => {
            for task in result.get("tasks").into_iter().flat_map(Node::elements) {
                listed(state, seen, owner, call.at, task, out);
            }
        }
        "tasks/cancel" => cancelled(state, seen, call, result, out),
        "tasks/result" => {
            given(state, seen, call, out);
            result_of_a_call(state, seen, call, result, out);
        }
        "tasks/update" => {
            if let Some(id) = &call.task {
                link(state, seen.at(), owner, id, out);
            }
        }
        name => {
            let nested = match capability_of(name) {
                Some(_) if !seen.is_modern() && call.param(&["task"]).is_some() => seen.parts.task,
                _ => None,
            };
            if let Some(task) = nested.or(is_task.then_some(result)) {
                created(state, seen, call, task, out);
            } else if 0 < state.tasks.n_seen
                && let Some(id) = related(call.meta(meta::RELATED_TASK))
            {
                answer_of_a_task(state, seen, call, &id, out);
            }
        }
    }
}

/// The result that a task came to is judged like that of a call which is answered at once.
fn result_of_a_call(state: &SessionState, seen: &Seen<'_>, call: &Call, result: Node<'_>, out: &mut Out<'_>) {
    let Some(task) = task_of(state, call).filter(|task| task.method.as_deref() == Some("tools/call")) else {
        return;
    };
    let made_by = task.made_by.unwrap_or(call.at);
    task_result(state, seen, made_by, task.target.as_deref(), result, out);
}

/// Judges `resultType` where it has to do with tasks; tells whether the result is one.
fn result_type(seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) -> bool {
    let Some(result_type) = seen.parts.result_type else {
        return false;
    };
    let is_task = result_type.is_text(TASK_RESULT_TYPE);
    match &*call.method {
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            if !result_type.is_text("complete")
                && let Some(text) = result_type.text()
            {
                out.find(&rule::TSK_009, seen, format!("{} answered with {}", quoted(&call.method), quoted(&text)));
            }
            false
        }
        "tools/call" if is_task => {
            let path = ["_meta", meta::CLIENT_CAPABILITIES, "extensions", TASKS_EXTENSION];
            if call.params.is_some()
                && call.param(&path).is_none_or(Node::is_null)
                && let Some(finding) = out.find(&rule::TSK_008, seen, "")
            {
                finding.others.push(call.at);
            }
            true
        }
        _ => {
            if is_task {
                out.find(&rule::TSK_009, seen, format!("{} answered with a task", quoted(&call.method)));
            }
            false
        }
    }
}

/// A request became a task.
fn created(state: &mut SessionState, seen: &Seen<'_>, call: &mut Arc<Call>, task: Node<'_>, out: &mut Out<'_>) {
    let Some(news) = News::read(task) else {
        return;
    };
    let Some(id) = known_id(news.id) else {
        return;
    };
    let (at, owner, era) = (seen.at(), seen.side, era_of(seen, task.get("ttlMs").is_some()));
    // Its status may be told before the answer that names what made it.
    if state.tasks.of(owner, &id).is_none_or(|known| known.made_by.is_some()) {
        state.tasks.begin(Task::new(&id, owner, era));
    }
    if state.tasks.of(owner, &id).is_none_or(|known| known.status.is_none()) {
        initial_status(seen, &news, out);
    }
    observe(state, seen, owner, Some(call.at), task, out);
    let mut early = Default::default();
    state.tasks.change(owner, &id, |task| {
        task.made_by = Some(call.at);
        task.method = Some(call.method.clone());
        task.target.clone_from(&call.target);
        early = std::mem::take(&mut task.unlinked);
    });
    for from in early.into_iter().filter(|from| *from != at) {
        out.link(from, call.at, super::LinkKind::Task);
    }
    let Some(id) = state.tasks.of(owner, &id).map(|task| task.id.clone()) else {
        return;
    };
    if let (Some(token), Era::Legacy) = (&call.progress_token, era) {
        state.tasks.name_token(call.direction, owner, &id, token);
    }
    Arc::make_mut(call).task = Some(id);
}

/// In 2025-11-25 a task begins as `working`. That a status is none at all is told elsewhere.
fn initial_status(seen: &Seen<'_>, news: &News<'_>, out: &mut Out<'_>) {
    let Some(status) = news.status.and_then(Node::text) else {
        return;
    };
    if status == "working" || !TASK_STATUSES.contains(&&*status) {
        return;
    }
    if let Some(finding) = out.find(&rule::TSK_002, seen, format!("it is {}", quoted(&status))) {
        // It may have begun so, and gone on before the answer was written.
        if news.created.map(Node::bytes) != news.updated.map(Node::bytes) {
            finding.severity = Severity::Warning;
        }
    }
}

/// A cancellation worked.
fn cancelled(state: &mut SessionState, seen: &Seen<'_>, call: &Call, result: Node<'_>, out: &mut Out<'_>) {
    let Some(id) = &call.task else {
        return;
    };
    let known = state.tasks.of(seen.side, id).filter(|task| task.says_it_ended());
    let ended = known.and_then(|task| task.status_at);
    if let Some(ended) = ended.filter(|ended| *ended < call.at) {
        if let Some(finding) = out.find(&rule::TSK_007, seen, "answered with a result and not with -32602") {
            finding.others.extend([ended, call.at]);
        }
        link(state, seen.at(), seen.side, id, out);
        return;
    }
    let Some(status) = result.get("status").and_then(Node::text) else {
        // An acknowledgement, as the extension has it: there a cancellation is a wish.
        link(state, seen.at(), seen.side, id, out);
        return;
    };
    if seen.is_legacy() && status != "cancelled" && TASK_STATUSES.contains(&&*status) {
        out.find(&rule::TSK_003, seen, format!("it was cancelled, and is {} afterwards", quoted(&status)));
    }
    observe(state, seen, seen.side, Some(call.at), result, out);
}

/// A result was given for a task of 2025-11-25.
fn given(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(id) = &call.task else {
        return;
    };
    names_its_task(seen, call, id, out);
    link(state, seen.at(), seen.side, id, out);
    let at = seen.at();
    state.tasks.change(seen.side, id, |task| {
        task.result = Some(at);
        task.ended = task.ended.or(Some(at));
    });
}

/// What a task needed was given.
fn answer_of_a_task(state: &mut SessionState, seen: &Seen<'_>, call: &Call, id: &str, out: &mut Out<'_>) {
    names_its_task(seen, call, id, out);
    let at = seen.at();
    for owner in [call.side(), call.side().other()] {
        if state.tasks.of(owner, id).is_some() {
            link(state, at, owner, id, out);
            state.tasks.change(owner, id, |task| {
                if let Some(input) =
                    task.inputs.get_mut(&*call.raw_id.to_string()).filter(|input| input.asked == call.at)
                {
                    input.answered = Some(at);
                }
            });
            return;
        }
    }
}

/// Whether a result says which task it belongs to.
fn names_its_task(seen: &Seen<'_>, call: &Call, id: &str, out: &mut Out<'_>) {
    let detail = match related(seen.said.related_task) {
        Some(named) if named == id => return,
        Some(named) => format!("it names {}, the request {}", quoted(&named), quoted(id)),
        None => format!("the answer to {}", quoted(&call.method)),
    };
    if let Some(finding) = out.find(&rule::TSK_004, seen, detail) {
        finding.others.push(call.at);
    }
}

/// A request that had to do with a task was answered with an error.
fn refused(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(id) = &call.task else {
        return;
    };
    let at: At = seen.at();
    if !is_about_a_task(&call.method) {
        return;
    }
    link(state, at, seen.side, id, out);
    let code = seen.error.and_then(|error| error.get("code")?.as_i64());
    match &*call.method {
        "tasks/get" if code == Some(INVALID_PARAMS) => state.tasks.change(seen.side, id, |task| {
            task.lost = Some(at);
            task.ended = task.ended.or(Some(at));
        }),
        // What a failed task answers is the error that it failed with.
        "tasks/result" => state.tasks.change(seen.side, id, |task| {
            if task.says_it_ended() {
                task.result = task.result.or(Some(at));
            }
        }),
        _ => {}
    }
}

/// A poll of a task that nobody knew was counted nowhere when it was sent.
fn count_first_poll(state: &mut SessionState, call: &Call) {
    let Some(id) = &call.task else {
        return;
    };
    state.tasks.change(call.side().other(), id, |task| {
        if task.n_polls == 0 {
            task.n_polls = 1;
            task.last_poll_ns = Some(call.at_ns);
        }
    });
}

#[cfg(test)]
mod tests;
