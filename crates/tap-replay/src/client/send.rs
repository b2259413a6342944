//! What is said, and when.

use std::ops::Range;

use tap_compare::has_placeholder;
use tap_jsonrpc::{Node, RawId};

use super::correlate::{Given, Handle};
use super::edit::{Edits, json_text};
use super::{Client, ClientNote, ClientOutput, Fate, NotSent, Sent, method_of, tool_of};
use crate::message::{Nature, Role};

/// Where a request hands a task back.
const TASKS: [&[&str]; 2] = [&["params", "taskId"], &["params", "_meta", RELATED_TASK, "taskId"]];

const RELATED_TASK: &str = tap_protocol::meta::RELATED_TASK;

impl Client {
    /// Goes on by one message of the script, if it can.
    pub(super) fn advance(&mut self) -> bool {
        if self.is_server_gone {
            return false;
        }
        let index = self.next;
        let Some(message) = self.script.messages().get(index) else {
            return false;
        };
        if self.options.until.is_some_and(|until| message.number > until) {
            self.leave_the_rest();
            return false;
        }
        match message.role {
            Role::Answer(interaction) => {
                if self.is_expected(Sent::Recorded(interaction)) {
                    self.awaited.push(interaction);
                }
            }
            Role::Reply(question) => {
                // What a server asks on its own it may ask because of what is not wanted.
                let is_free = self.script.messages().get(question).is_some_and(|asked| asked.role == Role::Free);
                if self.options.only.is_none() || !is_free {
                    self.awaited_questions.push(question);
                }
            }
            // Whoever cancels because of a question was asked it first.
            Role::Inside(_) if message.nature == Nature::Request && message.reply.is_none() => {
                self.awaited_questions.push(index);
            }
            Role::Inside(_) | Role::Free => {}
            Role::Request(_) | Role::Notice => {
                if !self.may_say() {
                    return false;
                }
                let n = self.say(index);
                self.next += n;
                return true;
            }
        }
        self.next += 1;
        true
    }

    /// Whether everything has come that was recorded before what is said next.
    fn may_say(&mut self) -> bool {
        let fates = &self.fates;
        self.awaited.retain(|interaction| matches!(fates.get(*interaction), Some(Fate::Open { .. })));
        let is_more_of_a_list = self.open.iter().any(|(_, sent, _)| matches!(sent, Sent::Page(_)));
        if !self.awaited.is_empty() || is_more_of_a_list {
            self.held_since_ns = None;
            return false;
        }
        let (script, asked) = (&self.script, &self.asked);
        self.awaited_questions.retain(|question| {
            // Of a call that is over nothing more is asked.
            let is_over = match script.messages().get(*question).map(|message| message.role) {
                Some(Role::Inside(interaction)) => !matches!(fates.get(interaction), Some(Fate::Open { .. })),
                _ => false,
            };
            !asked.was_asked(*question) && !is_over
        });
        if self.awaited_questions.is_empty() {
            self.held_since_ns = None;
            return true;
        }
        self.held_since_ns.get_or_insert(self.now_ns);
        false
    }

    /// Says a message, or the batch that begins with it. Returns how many messages that were.
    fn say(&mut self, index: usize) -> usize {
        let batch = self.batch(index);
        let mut parts = Vec::new();
        for index in batch.clone() {
            parts.extend(self.written(index));
        }
        let is_batch = self.script.messages().get(index).is_some_and(|message| message.member > 0);
        if !parts.is_empty() {
            let bytes = if is_batch { [&b"["[..], &parts.join(&b","[..]), b"]"].concat() } else { parts.concat() };
            self.outputs.push_back(ClientOutput::Send(bytes));
        }
        batch.len()
    }

    /// The messages that were one batch, from this one on.
    fn batch(&self, index: usize) -> Range<usize> {
        let messages = self.script.messages();
        let Some(first) = messages.get(index).filter(|first| first.member > 0) else {
            return index..index + 1;
        };
        let rest = messages.iter().skip(index);
        index..index + rest.take_while(|this| this.number == first.number && this.member > 0).count().max(1)
    }

    /// What is said in place of a recorded message; `None` if nothing is.
    fn written(&mut self, index: usize) -> Option<Vec<u8>> {
        let message = self.script.messages().get(index)?;
        let body = message.body.clone()?;
        match message.role {
            Role::Request(interaction) => self.request(index, interaction, &body),
            Role::Notice if message.nature == Nature::Notification => self.notification(index, &body),
            // What is no message is said as it was, but for empty lines.
            Role::Notice if message.nature == Nature::Other && !body.is_empty() => Some(body.to_vec()),
            _ => None,
        }
    }

    fn is_wanted(&self, index: usize, method: &str) -> bool {
        let number = self.script.messages().get(index).map(|message| message.number);
        let is_opening = matches!(method, "initialize" | "server/discover");
        is_opening || self.options.only.as_ref().zip(number).is_none_or(|(only, number)| only.contains(&number))
    }

    fn request(&mut self, index: usize, interaction: usize, body: &[u8]) -> Option<Vec<u8>> {
        let method = method_of(&self.script, interaction).to_owned();
        let is_wanted = self.is_wanted(index, &method);
        let not_wanted = (!is_wanted).then_some(NotSent::NotWanted);
        if let Some(why) = not_wanted.or_else(|| self.why_not(&method, body)) {
            self.fates[interaction] = Fate::NotSent(why);
            self.correlations.learn(&self.script, interaction, None, false);
            return None;
        }
        let node = Node::new(body);
        let mut edits = Edits::new(body);
        let id = self.next_id(node.get("id"));
        if let Some(recorded) = node.get("id") {
            edits.replace(recorded.bytes(), id.as_bytes().to_vec());
        }
        self.hand_back(&method, node, &mut edits);
        self.stand_in(node, &mut edits);
        let bytes = edits.finish();
        self.tell_markers(index, &bytes);
        self.fates[interaction] = Fate::Open { id: id.clone(), sent_ns: self.now_ns };
        self.begin(id, Sent::Recorded(interaction));
        Some(bytes)
    }

    fn begin(&mut self, id: RawId, sent: Sent) {
        self.sent.insert(id.clone(), sent);
        if self.is_expected(sent) {
            self.open.push((id, sent, self.now_ns));
        }
    }

    /// Why a request is not sent, if it is not.
    fn why_not(&self, method: &str, body: &[u8]) -> Option<NotSent> {
        for (handle, path) in handles() {
            let Some(recorded) = Node::new(body).at(path).and_then(Node::text) else {
                continue;
            };
            match self.correlations.handle(handle, method, &recorded) {
                Some(Given::Nothing) if handle == Handle::Cursor => return Some(NotSent::ListIsShorter),
                Some(Given::Nothing | Given::NoResult) => return Some(NotSent::NothingToGoOnFrom),
                Some(Given::Value(_)) | None => {}
            }
        }
        if self.options.read_only && method == "tools/call" {
            let is_read_only = tool_of(body).and_then(|tool| self.read_only.get(&tool).copied());
            return (is_read_only != Some(true)).then_some(NotSent::NotReadOnly);
        }
        None
    }

    /// Hands back what the live server made up.
    fn hand_back(&self, method: &str, node: Node<'_>, edits: &mut Edits<'_>) {
        for (handle, path) in handles() {
            if let Some(place) = node.at(path)
                && let Some(recorded) = place.text()
                && let Some(Given::Value(live)) = self.correlations.handle(handle, method, &recorded)
                && *live != recorded
            {
                edits.replace(place.bytes(), json_text(live));
            }
        }
        let [arguments, uri] = node.get("params").map_or([None, None], |params| params.pick(["arguments", "uri"]));
        for place in [arguments, uri].into_iter().flatten() {
            edits.texts(place, &mut |text| self.correlations.value(text).map(json_text));
        }
    }

    /// Writes what markers stand for.
    pub(super) fn stand_in(&self, node: Node<'_>, edits: &mut Edits<'_>) {
        let stand_ins = &self.options.stand_ins;
        if self.options.is_fixture && !stand_ins.is_empty() {
            edits.texts(node, &mut |text| {
                stand_ins.iter().any(|(marker, _)| text.contains(marker)).then(|| {
                    let new = stand_ins.iter().fold(text.to_owned(), |text, (marker, by)| text.replace(marker, by));
                    json_text(&new)
                })
            });
        }
    }

    fn tell_markers(&mut self, index: usize, bytes: &[u8]) {
        let Some(message) = self.script.messages().get(index).filter(|_| self.options.is_fixture) else {
            return;
        };
        let text = String::from_utf8_lossy(bytes);
        let marker = text.split_once('«').and_then(|(_, rest)| Some(format!("«{}»", rest.split_once('»')?.0)));
        if let Some(marker) = marker.filter(|marker| has_placeholder(marker) && !message.is_literal) {
            let number = message.number;
            self.outputs.push_back(ClientOutput::Note(ClientNote::Marker { number, marker }));
        }
    }

    fn notification(&mut self, index: usize, body: &[u8]) -> Option<Vec<u8>> {
        let node = Node::new(body);
        let mut edits = Edits::new(body);
        let is_cancel = node.get("method").is_some_and(|method| method.is_text("notifications/cancelled"));
        let interactions = self.script.interactions().iter().take(if is_cancel { usize::MAX } else { 0 });
        let cancelled = interactions.enumerate().find(|(_, this)| this.cancelled_by == Some(index)).map(|(at, _)| at);
        if let Some(interaction) = cancelled {
            let id = match self.fates.get(interaction) {
                Some(Fate::Open { id, .. }) => id.clone(),
                // Whoever was answered needs not be stopped, as far as it was sent at all.
                _ => return None,
            };
            if let Some(place) = node.at(&["params", "requestId"]) {
                edits.replace(place.bytes(), id.as_bytes().to_vec());
            }
            self.fates[interaction] = Fate::Cancelled;
            self.open.retain(|(this, ..)| *this != id);
        }
        for path in TASKS {
            if let Some(place) = node.at(path)
                && let Some(recorded) = place.text()
                && let Some(Given::Value(live)) = self.correlations.handle(Handle::Task, "", &recorded)
            {
                edits.replace(place.bytes(), json_text(live));
            }
        }
        self.stand_in(node, &mut edits);
        Some(edits.finish())
    }

    /// One more page of a list that has more of them than were recorded.
    pub(super) fn ask_for_more(&mut self, interaction: usize, cursor: &[u8]) {
        let Some(body) = self.request_body(interaction).map(<[u8]>::to_vec) else {
            return;
        };
        let node = Node::new(&body);
        let id = self.next_id(node.get("id"));
        let mut edits = Edits::new(&body);
        if let Some(recorded) = node.get("id") {
            edits.replace(recorded.bytes(), id.as_bytes().to_vec());
        }
        let member = [br#""cursor":"#, cursor].concat();
        let params = node.get("params").filter(|params| params.is_object());
        match params.map(|params| (params, params.get("cursor"))) {
            Some((_, Some(place))) => edits.replace(place.bytes(), cursor.to_vec()),
            Some((params, None)) => {
                let comma: &[u8] = if params.members().next().is_some() { b"," } else { b"" };
                edits.insert_behind(params.bytes().get(..1).unwrap_or_default(), [&member, comma].concat());
            }
            None => {
                if let Some(method) = node.get("method") {
                    edits.insert_behind(method.bytes(), [b",\"params\":{", &member[..], b"}"].concat());
                }
            }
        }
        self.outputs.push_back(ClientOutput::Send(edits.finish()));
        self.begin(id, Sent::Page(interaction));
    }

    /// The next id, of the type of the recorded one.
    fn next_id(&mut self, recorded: Option<Node<'_>>) -> RawId {
        self.n_ids += 1;
        let number = self.n_ids.to_string();
        match recorded {
            Some(recorded) if recorded.is_string() => RawId::from_token(format!("\"{number}\"").as_bytes()),
            _ => RawId::from_token(number.as_bytes()),
        }
    }

    fn leave_the_rest(&mut self) {
        for fate in &mut self.fates {
            if *fate == Fate::Waiting {
                *fate = Fate::NotSent(NotSent::Beyond);
            }
        }
    }
}

/// Where requests hand back what a server made up.
fn handles() -> impl Iterator<Item = (Handle, &'static [&'static str])> {
    let first: [(Handle, &[&str]); 2] =
        [(Handle::Cursor, &["params", "cursor"]), (Handle::State, &["params", "requestState"])];
    first.into_iter().chain(TASKS.map(|path| (Handle::Task, path)))
}
