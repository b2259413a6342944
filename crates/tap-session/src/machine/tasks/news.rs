//! What a message says of a task, what is wrong with that, and what it changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_protocol::{Era, Side, TASK_STATUSES, is_terminal};

use super::kept::{INPUTS_KEPT, Task, TaskInput, TimeToLive, UNLINKED_KEPT};
use crate::machine::{LinkKind, Out, Seen};
use crate::row::At;
use crate::rule::{Severity, clipped, quoted};
use crate::rules::tasks as rule;
use crate::state::SessionState;

/// How much of a status message is kept, bytes.
const STATUS_MESSAGE_BYTES: usize = 1_000;

/// How much of a status or of a time is kept, bytes.
const WORD_BYTES: usize = 100;

/// A task object, as both eras have it.
#[derive(Clone, Copy)]
pub(super) struct News<'a> {
    pub(super) id: Node<'a>,
    pub(super) status: Option<Node<'a>>,
    status_message: Option<Node<'a>>,
    pub(super) created: Option<Node<'a>>,
    pub(super) updated: Option<Node<'a>>,
    time_to_live: Option<Node<'a>>,
    poll_interval: Option<Node<'a>>,
    input_requests: Option<Node<'a>>,
    /// In the modern era: what came of it, or why nothing did.
    has_result: bool,
}

impl<'a> News<'a> {
    /// Reads a task object; `None` where it names no task.
    pub(super) fn read(task: Node<'a>) -> Option<Self> {
        let [id, status, status_message, created, updated] =
            task.pick(["taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt"]);
        let id = id.filter(|id| id.is_string())?;
        let [ttl, ttl_ms, interval, interval_ms, input_requests, result, error] =
            task.pick(["ttl", "ttlMs", "pollInterval", "pollIntervalMs", "inputRequests", "result", "error"]);
        Some(Self {
            id,
            status,
            status_message,
            created,
            updated,
            time_to_live: ttl_ms.or(ttl),
            poll_interval: interval_ms.or(interval),
            input_requests,
            has_result: result.or(error).is_some(),
        })
    }

    /// Takes over what it says, whatever that was before.
    pub(super) fn apply(&self, task: &mut Task, at: At) {
        if keep(&mut task.status, self.status, WORD_BYTES) {
            task.status_at = Some(at);
        }
        keep(&mut task.status_message, self.status_message, STATUS_MESSAGE_BYTES);
        keep(&mut task.created, self.created, WORD_BYTES);
        keep(&mut task.updated, self.updated, WORD_BYTES);
        let milliseconds = |node: Node<'_>| u64::try_from(node.as_i64()?).ok();
        task.time_to_live = match self.time_to_live {
            Some(node) if node.is_null() => Some(TimeToLive::Unlimited),
            Some(node) => milliseconds(node).map(TimeToLive::Milliseconds),
            None => None,
        };
        task.poll_interval_ms = self.poll_interval.and_then(milliseconds);
        if task.says_it_ended() {
            task.ended = task.ended.or(Some(at));
        } else if self.status.is_some() {
            (task.ended, task.lost, task.result) = (None, None, None);
        }
        if self.has_result && task.says_it_ended() {
            task.result = task.result.or(Some(at));
        }
    }
}

/// Keeps a text, and tells whether it is another one than before. Texts mostly stay the same from poll to poll.
fn keep(slot: &mut Option<Arc<str>>, text: Option<Node<'_>>, limit: usize) -> bool {
    let same = match (&slot, text) {
        (Some(known), Some(text)) => text.is_text(known),
        (known, None) => known.is_none(),
        (None, Some(_)) => false,
    };
    if !same {
        *slot = text.and_then(|text| Some(clipped(&text.text()?, limit).into()));
    }
    !same
}

/// Whether the task is of the extension: by its revision, or else by the names that it has there.
pub(super) fn era_of(seen: &Seen<'_>, is_flat: bool) -> Era {
    if seen.is_modern() || (!seen.is_legacy() && is_flat) { Era::Modern } else { Era::Legacy }
}

/// Takes what a message says of a task that `owner` runs, and that it belongs to it. `asked` is the request that it
/// answers.
pub(super) fn observe(
    state: &mut SessionState,
    seen: &Seen<'_>,
    owner: Side,
    asked: Option<At>,
    task: Node<'_>,
    out: &mut Out<'_>,
) {
    if let Some(id) = learn(state, seen, owner, asked, task, out) {
        link(state, seen.at(), owner, &id, out);
    }
}

/// Takes what a list says of a task. A long list does not drive out tasks that are followed.
pub(super) fn listed(
    state: &mut SessionState,
    seen: &Seen<'_>,
    owner: Side,
    asked: At,
    task: Node<'_>,
    out: &mut Out<'_>,
) {
    let known = |id: Node<'_>| super::known_id(id).is_some_and(|id| state.tasks.of(owner, &id).is_some());
    if state.tasks.has_room() || task.get("taskId").is_some_and(known) {
        learn(state, seen, owner, Some(asked), task, out);
    }
}

/// Takes what a message says of a task, and gives back the task's id.
fn learn(
    state: &mut SessionState,
    seen: &Seen<'_>,
    owner: Side,
    asked: Option<At>,
    task: Node<'_>,
    out: &mut Out<'_>,
) -> Option<Arc<str>> {
    let news = News::read(task)?;
    let id = super::known_id(news.id)?;
    if state.tasks.of(owner, &id).is_none() {
        let is_flat = task.get("ttlMs").is_some();
        state.tasks.begin(Task::new(&id, owner, era_of(seen, is_flat)));
    }
    let known = state.tasks.of(owner, &id).cloned()?;
    let is_news = transition(seen, &known, asked, &news, out);
    input_requests(state, seen, &known, &news, out);
    state.tasks.change(owner, &id, |task| {
        if is_news {
            news.apply(task, seen.at());
        }
        task.has_news |= asked.is_none();
    });
    Some(known.id.clone())
}

/// Says that a message belongs to the request that made the task, now or when that is known.
pub(super) fn link(state: &mut SessionState, from: At, owner: Side, id: &str, out: &mut Out<'_>) {
    let Some(task) = state.tasks.of(owner, id) else {
        return;
    };
    match task.made_by {
        Some(to) => out.link(from, to, LinkKind::Task),
        None if task.unlinked.len() < UNLINKED_KEPT => {
            state.tasks.change(owner, id, |task| task.unlinked.push_back(from));
        }
        None => {}
    }
}

/// Judges the step from the status that is known to the one that is told; tells whether that is news at all.
fn transition(seen: &Seen<'_>, known: &Task, asked: Option<At>, news: &News<'_>, out: &mut Out<'_>) -> bool {
    let Some(status) = news.status.and_then(Node::text) else {
        return true;
    };
    let same = known.status.as_deref() == Some(&*status);
    if same && (known.says_it_ended() || known.result.is_none()) {
        return true;
    }
    if !same && !TASK_STATUSES.contains(&&*status) {
        out.find(&rule::TSK_003, seen, format!("there is no status {}", quoted(&status)));
        return true;
    }
    // What was asked before the end was told may have been answered before it came.
    let since = if known.says_it_ended() { known.status_at } else { known.result.filter(|_| !is_terminal(&status)) };
    let Some(since) = since else {
        return true;
    };
    if asked.is_some_and(|asked| asked < since) {
        return false;
    }
    if !known.says_it_ended() {
        // Its result was given, and that is the end of it.
        if asked.is_none() {
            return false;
        }
        let detail = format!("it is {} afterwards", quoted(&status));
        if let Some(finding) = out.find_at(&rule::TSK_005, seen.revisions, since, seen.side, detail) {
            finding.others.push(seen.at());
        }
        return true;
    }
    let was = known.status.as_deref().unwrap_or_default();
    let stale = asked.is_none() && is_older(news.updated, known.updated.as_deref());
    if let Some(finding) = out.find(&rule::TSK_003, seen, format!("from `{was}` to `{status}`")) {
        finding.others.push(since);
        if stale {
            finding.severity = Severity::Warning;
            finding.detail.push_str(", by its `lastUpdatedAt` a notification that came late");
        }
    }
    !stale
}

/// Whether a time is not after the one that is known. Times that are written in two ways are not compared.
fn is_older(time: Option<Node<'_>>, known: Option<&str>) -> bool {
    match (time.and_then(Node::text), known) {
        (Some(time), Some(known)) => time.len() == known.len() && *time <= *known,
        _ => false,
    }
}

/// What a task of the extension asks for.
fn input_requests(state: &mut SessionState, seen: &Seen<'_>, known: &Task, news: &News<'_>, out: &mut Out<'_>) {
    for (key, request) in news.input_requests.into_iter().flat_map(Node::members) {
        let key = key.text();
        let fingerprint = fingerprint(request);
        match known.inputs.get(&*key) {
            Some(input) if input.fingerprint == fingerprint => {}
            Some(input) => {
                let detail = match input.answered {
                    Some(_) => format!("key {}, which was answered", quoted(&key)),
                    None => format!("key {}", quoted(&key)),
                };
                if let Some(finding) = out.find(&rule::TSK_010, seen, detail) {
                    finding.others.push(input.asked);
                }
            }
            None if known.inputs.len() < INPUTS_KEPT && key.len() <= super::kept::ID_LIMIT_BYTES => {
                let method = request.get("method").and_then(Node::text).unwrap_or_default();
                let key: Arc<str> = clipped(&key, super::kept::ID_LIMIT_BYTES).into();
                let method = clipped(&method, WORD_BYTES).into();
                let input = TaskInput { key, method, asked: seen.at(), answered: None, fingerprint };
                state.tasks.change(known.owner, &known.id, |task| super::ask(task, input));
            }
            None => {}
        }
    }
}

/// A number for what a value says: the same however it is spaced and its members are ordered, as servers may write the
/// same request anew for each poll.
fn fingerprint(value: Node<'_>) -> u64 {
    let (bytes, mut depth, mut sum, mut index) = (value.bytes(), 0_u32, 0_u64, 0);
    while let Some(&byte) = bytes.get(index) {
        let rest = bytes.get(index..).unwrap_or_default();
        let length = match byte {
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                1
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                1
            }
            b'"' => string_length(rest),
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => {
                index += 1;
                continue;
            }
            _ => rest.iter().take_while(|byte| !b" \t\r\n,:{}[]\"".contains(byte)).count(),
        };
        let mut hasher = DefaultHasher::new();
        (depth, rest.get(..length)).hash(&mut hasher);
        sum = sum.wrapping_add(hasher.finish());
        index += length;
    }
    sum
}

/// How long a string is, with both quotes.
fn string_length(bytes: &[u8]) -> usize {
    let mut index = 1;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => return index + 1,
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_of_what_is_said_and_not_of_how() {
        let of = |text: &str| fingerprint(Node::new(text.as_bytes()));
        let one = r#"{"method":"elicitation/create","params":{"message":"a \" b","n":[1,2]}}"#;
        assert_eq!(of(one), of(r#"{ "params": {"n":[1, 2], "message":"a \" b"}, "method":"elicitation/create" }"#));
        for other in [
            r#"{"method":"elicitation/create","params":{"message":"a \" c","n":[1,2]}}"#,
            r#"{"method":"elicitation/create","params":{"message":"a \" b","n":[1,2,2]}}"#,
            r#"{"method":"elicitation/create","params":{"message":"a \" b"},"n":[1,2]}"#,
            r#"{"method":"elicitation/create","params":{"message":"a \" b","n":[12]}}"#,
            "",
        ] {
            assert_ne!(of(one), of(other), "{other}");
        }
        // Bytes that are no JSON end as well.
        for hostile in ["\"", "\"\\", "{\"a\\", "]]]]", "[[[", "\u{0}\u{1}"] {
            fingerprint(Node::new(hostile.as_bytes()));
        }
    }
}
