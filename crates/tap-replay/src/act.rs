//! Acts: one recorded conversation while it is played. Which requests are there, which were used, how far the client is.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use tap_compare::{Markers, MatchKey, Options as CompareOptions, Rules, Side, Walks, compare};
use tap_jsonrpc::{Node, RawId};

use crate::message::{Nature, Opening, Role, Unit};
use crate::recording::Recording;
use crate::script::Script;

/// Bodies of a recording that are kept in memory, bytes. What is more is read again when it is needed.
const KEPT_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// A longer body is never kept.
const KEPT_BODY_LIMIT_BYTES: usize = 1024 * 1024;

/// What two requests have in common when one is the other again. Tasks have their ids back as the recording has them.
pub(crate) type Key = (MatchKey, Option<RawId>);

/// One recording of those that are played: all of its conversations.
pub(crate) struct Layer {
    /// What it is called.
    pub(crate) name: String,
    pub(crate) rules: Rules,
    /// Whether placeholders in what the server said stand for something.
    pub(crate) has_placeholders: bool,
    pub(crate) acts: Vec<Act>,
    /// Which page or round the live client is at.
    pub(crate) walks: Walks,
    recording: Box<dyn Recording>,
    has_ended: bool,
    kept_bytes: usize,
}

/// A recorded conversation, and what of it was played.
pub(crate) struct Act {
    conversation: u64,
    pub(crate) script: Script,
    /// The furthest message of the recorded client that the live one has reached.
    pub(crate) reached: Option<usize>,
    queues: HashMap<Rc<Key>, Queue>,
    /// The key of each interaction.
    keys: Vec<Option<Rc<Key>>>,
    /// Interactions whose requests hold placeholders.
    patterns: Vec<usize>,
    n_uses: Vec<u32>,
    walks: Walks,
    markers: Markers,
    n_indexed: usize,
    next_free: usize,
    notices: HashMap<String, VecDeque<usize>>,
    /// Tools that say that they only read.
    read_only: HashSet<String>,
    /// The first interaction that may be unused.
    first_unused: usize,
}

/// Interactions with one key, in recorded order.
#[derive(Default)]
struct Queue {
    interactions: Vec<usize>,
    /// The first of them that may be unused.
    next: usize,
}

impl Layer {
    pub(crate) fn new(name: String, rules: Rules, has_placeholders: bool, recording: Box<dyn Recording>) -> Self {
        let (acts, walks) = (Vec::new(), Walks::new());
        Self { name, rules, has_placeholders, acts, walks, recording, has_ended: false, kept_bytes: 0 }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(crate) fn is_one_conversation(&self) -> bool {
        self.recording.is_one_conversation()
    }

    /// Reads on. Whether there was more.
    pub(crate) fn grow(&mut self) -> bool {
        if self.has_ended {
            return false;
        }
        let Some(unit) = self.recording.next() else {
            self.has_ended = true;
            return false;
        };
        let place = self.acts.iter().position(|act| act.conversation == unit.conversation);
        let place = place.unwrap_or_else(|| {
            self.acts.push(Act::new(unit.conversation));
            self.acts.len() - 1
        });
        if let Some(act) = self.acts.get_mut(place) {
            act.push(&unit, &self.rules, &mut self.kept_bytes);
        }
        true
    }

    /// Reads on while nothing else is to be done, as long as what is read can be kept. Whether there was more.
    pub(crate) fn read_ahead(&mut self) -> bool {
        self.kept_bytes < KEPT_LIMIT_BYTES / 2 && self.grow()
    }

    /// Reads on until the end.
    pub(crate) fn read_all(&mut self) {
        while self.grow() {}
    }

    /// Reads on until an interaction is over, or nothing more comes.
    pub(crate) fn read_until_over(&mut self, act: usize, interaction: usize) {
        while self.acts.get(act).is_some_and(|act| !act.script.is_over(interaction)) && self.grow() {}
    }

    /// Reads on until everything is there that the server said before the next message of the client's.
    pub(crate) fn read_around(&mut self, act: usize) {
        let is_there = |act: &Act| act.reached.is_none_or(|reached| act.script.is_known_behind(reached));
        while self.acts.get(act).is_some_and(|act| !is_there(act)) && self.grow() {}
    }

    /// What was on the wire in a message.
    pub(crate) fn body(&mut self, act: usize, message: usize) -> Bytes {
        let Some(message) = self.acts.get(act).and_then(|act| act.script.messages().get(message)) else {
            return Bytes::new();
        };
        if let Some(body) = &message.body {
            return body.clone();
        }
        let bytes = self.recording.bytes(message.number).unwrap_or_default();
        match message.member.checked_sub(1) {
            None => {
                let bytes = bytes.strip_suffix(b"\n").map_or_else(|| bytes.clone(), |line| bytes.slice_ref(line));
                bytes.strip_suffix(b"\r").map_or_else(|| bytes.clone(), |line| bytes.slice_ref(line))
            }
            Some(index) => {
                let member = Node::new(&bytes).elements().nth(index as usize);
                member.map_or_else(Bytes::new, |member| bytes.slice_ref(member.bytes()))
            }
        }
    }

    /// The first unused interaction whose request a live one matches, as far as was read. Its key is `key`.
    pub(crate) fn unused(&mut self, act: usize, key: &Key, request: &[u8]) -> Option<usize> {
        let this = self.acts.get_mut(act)?;
        if let Some(found) = this.unused_exactly(key) {
            return Some(found);
        }
        self.pattern(act, key, request, false)
    }

    /// The last used interaction whose request a live one matches.
    pub(crate) fn used(&mut self, act: usize, key: &Key, request: &[u8]) -> Option<usize> {
        let this = self.acts.get(act)?;
        let of_key = this.queues.get(key).and_then(|queue| queue.interactions.last());
        of_key.copied().or_else(|| self.pattern(act, key, request, true))
    }

    /// An interaction with placeholders in its request that stand for what a live one says.
    fn pattern(&mut self, act: usize, key: &Key, request: &[u8], is_used: bool) -> Option<usize> {
        let patterns = self.acts.get(act)?.patterns.clone();
        let dials = self.rules.dials(key.0.name());
        for interaction in patterns {
            let this = self.acts.get(act)?;
            let recorded = this.keys.get(interaction)?.as_ref()?;
            let may_be = (this.n_uses(interaction) > 0) == is_used
                && recorded.0.method() == key.0.method()
                && recorded.0.place() == key.0.place()
                && recorded.1 == key.1;
            if !may_be {
                continue;
            }
            let mut markers = this.markers.clone();
            let message = this.script.interactions().get(interaction)?.request;
            let body = self.body(act, message);
            if compare(&body, request, &CompareOptions::new(&dials, Side::Request), &mut markers).is_same() {
                self.acts.get_mut(act)?.markers = markers;
                return Some(interaction);
            }
        }
        None
    }
}

impl Act {
    fn new(conversation: u64) -> Self {
        Self {
            conversation,
            script: Script::new(),
            reached: None,
            queues: HashMap::new(),
            keys: Vec::new(),
            patterns: Vec::new(),
            n_uses: Vec::new(),
            walks: Walks::new(),
            markers: Markers::new(),
            n_indexed: 0,
            next_free: 0,
            notices: HashMap::new(),
            read_only: HashSet::new(),
            first_unused: 0,
        }
    }

    fn push(&mut self, unit: &Unit, rules: &Rules, kept_bytes: &mut usize) {
        self.script.push(unit);
        for index in self.n_indexed..self.script.messages().len() {
            self.index(index, rules);
            let length = self.script.messages()[index].body.as_ref().map_or(0, Bytes::len);
            if length > KEPT_BODY_LIMIT_BYTES || *kept_bytes + length > KEPT_LIMIT_BYTES {
                self.script.let_go(index);
            } else {
                *kept_bytes += length;
            }
        }
        self.n_indexed = self.script.messages().len();
    }

    fn index(&mut self, index: usize, rules: &Rules) {
        let message = &self.script.messages()[index];
        let Some(body) = &message.body else {
            return;
        };
        match message.role {
            Role::Request(interaction) => {
                let task = self.script.interactions()[interaction].task.clone();
                let key = self.walks.key(body, rules).map(|key| Rc::new((key, task)));
                self.n_uses.push(0);
                if let Some(key) = &key {
                    if key.0.is_pattern() && !message.is_literal {
                        self.patterns.push(interaction);
                    }
                    self.queues.entry(key.clone()).or_default().interactions.push(interaction);
                }
                self.keys.push(key);
            }
            Role::Answer(interaction) => {
                let Some(Some(key)) = self.keys.get(interaction) else {
                    return;
                };
                if Walks::goes_on(body) {
                    self.walks.answered(&key.0, body);
                }
                if key.0.method() == "tools/list" {
                    self.read_only.extend(read_only_tools(body));
                }
            }
            Role::Notice if message.nature == Nature::Notification => {
                let method = message.method().to_owned();
                self.notices.entry(method).or_default().push_back(index);
            }
            Role::Notice | Role::Reply(_) | Role::Inside(_) | Role::Free => {}
        }
    }

    fn unused_exactly(&mut self, key: &Key) -> Option<usize> {
        let queue = self.queues.get_mut(key)?;
        while let Some(interaction) = queue.interactions.get(queue.next) {
            if self.n_uses.get(*interaction).is_some_and(|n_uses| *n_uses == 0) {
                return Some(*interaction);
            }
            queue.next += 1;
        }
        None
    }

    /// How often the answer of an interaction was given.
    pub(crate) fn n_uses(&self, interaction: usize) -> u32 {
        self.n_uses.get(interaction).copied().unwrap_or_default()
    }

    /// How many interactions have the key of this one, and how many of them were used.
    pub(crate) fn n_alike(&self, interaction: usize) -> (usize, usize) {
        let key = self.keys.get(interaction).and_then(Option::as_ref);
        let alike = key.and_then(|key| self.queues.get(key)).map(|queue| queue.interactions.as_slice());
        let alike = alike.unwrap_or_default();
        (alike.iter().filter(|this| self.n_uses(**this) > 0).count(), alike.len())
    }

    /// An interaction is played.
    pub(crate) fn uses(&mut self, interaction: usize) {
        if let Some(n_uses) = self.n_uses.get_mut(interaction) {
            *n_uses += 1;
        }
    }

    /// The first interaction that was not used; signs of life do not count.
    pub(crate) fn first_unused(&mut self) -> Option<usize> {
        while self.first_unused < self.script.interactions().len() {
            if self.n_uses(self.first_unused) == 0 && self.method_of(self.first_unused) != "ping" {
                return Some(self.first_unused);
            }
            self.first_unused += 1;
        }
        None
    }

    /// The method of an interaction's request.
    pub(crate) fn method_of(&self, interaction: usize) -> &str {
        let request = self.script.interactions().get(interaction).map(|this| this.request);
        request.and_then(|request| self.script.messages().get(request)).map_or("", |message| message.method())
    }

    /// Whether a tool says of itself that it only reads.
    pub(crate) fn is_read_only(&self, tool: Option<&str>) -> bool {
        tool.is_some_and(|tool| self.read_only.contains(tool))
    }

    /// The live client has reached a message of the recorded one.
    pub(crate) fn reach(&mut self, message: usize) {
        self.reached = self.reached.max(Some(message));
    }

    /// Where more can stand in the recording: behind all that was played, where nothing that was asked is open. The number of
    /// a frame, 0 for the beginning. Subscriptions stay open, and do not count.
    pub(crate) fn quiet_behind(&self) -> u64 {
        let Some(mut place) = self.reached else {
            return 0;
        };
        for (index, interaction) in self.script.interactions().iter().enumerate() {
            if interaction.request > place {
                break;
            }
            if self.method_of(index) != "subscriptions/listen" {
                let end = interaction.steps.last().copied().max(interaction.cancelled_by);
                place = place.max(end.unwrap_or_default());
            }
        }
        self.script.messages().get(place).map_or(0, |message| message.number)
    }

    /// Ids that the recorded client has used for requests.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &RawId> {
        let messages = self.script.messages();
        let requests = self.script.interactions().iter().filter_map(|interaction| messages.get(interaction.request));
        requests.filter_map(|request| request.id.as_ref())
    }

    /// Whether something that was recorded after a message of the client's may be said now.
    pub(crate) fn may_say(&self, after: Option<usize>) -> bool {
        after <= self.reached
    }

    /// What the server says next on its own, if it may be said now.
    pub(crate) fn free(&self) -> Option<usize> {
        let free = *self.script.free().get(self.next_free)?;
        let after = self.script.messages().get(free)?.after;
        self.may_say(after).then_some(free)
    }

    /// What the server says next on its own is said.
    pub(crate) fn pass_free(&mut self) {
        self.next_free += 1;
    }

    /// Takes the first notification of the recorded client with a method that was not taken yet, as far as was read.
    pub(crate) fn take_notice(&mut self, method: &str) -> Option<usize> {
        self.notices.get_mut(method)?.pop_front()
    }

    /// How well it fits a client that begins like this: 0 is best; from 2 on another conversation may fit better.
    pub(crate) fn fit(&self, opening: Opening) -> u8 {
        let Some(own) = self.script.opening() else {
            return 3;
        };
        let is_near = match opening {
            Opening::Initialize => self.script.initialize().is_some(),
            Opening::Discover => own == Opening::Modern,
            Opening::Modern => own == Opening::Discover && self.script.discover().is_some(),
            Opening::Other => true,
        };
        match own == opening {
            true => 0,
            false if is_near => 1,
            false => 2,
        }
    }
}

/// The tools of an answer to `tools/list` that say that they only read.
fn read_only_tools(answer: &[u8]) -> Vec<String> {
    let tools = Node::new(answer).at(&["result", "tools"]);
    let tools = tools.into_iter().flat_map(Node::elements);
    let read_only =
        tools.filter(|tool| tool.at(&["annotations", "readOnlyHint"]).and_then(Node::as_bool) == Some(true));
    read_only.filter_map(|tool| Some(tool.get("name")?.text()?.into_owned())).collect()
}
