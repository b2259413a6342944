//! What is kept of tasks: which there are, how far each is, and what it asked for.

use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use tap_frame::Direction;
use tap_jsonrpc::RawId;
use tap_protocol::{Era, Side, is_terminal};

use crate::row::At;

/// Tasks that are kept at once. A server that lists a million of them is not followed through all of these.
const TASKS_KEPT: usize = 1_000;

/// Ids that are longer are not followed, bytes: they are made by servers, and are keys here.
pub(super) const ID_LIMIT_BYTES: usize = 1_024;

/// Input requests of one task that are remembered.
pub(super) const INPUTS_KEPT: usize = 200;

/// Messages of one task that wait for the answer that says which request made it. A status that overtakes that answer is
/// one or two messages.
pub(super) const UNLINKED_KEPT: usize = 20;

/// How long a task is kept by whoever runs it, from when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeToLive {
    /// `null`: for ever.
    Unlimited,
    /// So many milliseconds.
    Milliseconds(u64),
}

/// Something that a task needs from the side that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInput {
    /// Its key in `inputRequests`; in 2025-11-25 the id of the request that asks for it, as written.
    pub key: Arc<str>,
    /// What it asks for: `elicitation/create`, say.
    pub method: Arc<str>,
    /// The message that asked first.
    pub asked: At,
    /// The message that answered.
    pub answered: Option<At>,
    /// What it asks, in a number that is the same however the members are ordered.
    pub(super) fingerprint: u64,
}

/// A task, as far as the wire shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: Arc<str>,
    /// The side that runs it and made up its id.
    pub owner: Side,
    /// Legacy: a task of 2025-11-25. Modern: one of the extension.
    pub era: Era,
    /// The request that became the task; `None` while that is unknown.
    pub made_by: Option<At>,
    /// The method of that request.
    pub method: Option<Arc<str>>,
    /// The tool, prompt or resource that it is about.
    pub target: Option<Arc<str>>,
    /// Its status as written: `working`.
    pub status: Option<Arc<str>>,
    /// The message that first said so.
    pub status_at: Option<At>,
    /// What it says about its status.
    pub status_message: Option<Arc<str>>,
    /// How long it is kept.
    pub time_to_live: Option<TimeToLive>,
    /// How long to wait between two polls, milliseconds.
    pub poll_interval_ms: Option<u64>,
    /// When it was made, as written.
    pub created: Option<Arc<str>>,
    /// When it last changed, as written.
    pub updated: Option<Arc<str>>,
    /// How often `tasks/get` asked for it.
    pub n_polls: u64,
    /// When that was last, nanoseconds since the session opened.
    pub last_poll_ns: Option<u64>,
    /// The newest `tasks/cancel`.
    pub cancel_asked: Option<At>,
    /// The message that first showed that it is over: by a terminal status, by its result, or because it is not known
    /// any more.
    pub ended: Option<At>,
    /// The message that holds its result, or the error that it ended with.
    pub result: Option<At>,
    /// The message that said that there is no such task any more.
    pub lost: Option<At>,
    /// What it asked for, by key.
    pub inputs: OrdMap<Arc<str>, TaskInput>,
    /// The progress token of the request that made it, which is good until the task is over.
    pub progress_token: Option<RawId>,
    /// Tasks are numbered in the order in which they showed up.
    pub(super) number: u64,
    /// Messages about it that came before it was known what made it.
    pub(super) unlinked: Vector<At>,
    /// News of it came since the newest poll, which is a reason to poll again at once.
    pub(super) has_news: bool,
    /// That it is polled too fast was said.
    pub(super) told_polls: bool,
    /// That its progress does not name it was said.
    pub(super) told_progress: bool,
}

impl Task {
    pub(super) fn new(id: &str, owner: Side, era: Era) -> Self {
        Self {
            id: id.into(),
            owner,
            era,
            made_by: None,
            method: None,
            target: None,
            status: None,
            status_at: None,
            status_message: None,
            time_to_live: None,
            poll_interval_ms: None,
            created: None,
            updated: None,
            n_polls: 0,
            last_poll_ns: None,
            cancel_asked: None,
            ended: None,
            result: None,
            lost: None,
            inputs: OrdMap::new(),
            progress_token: None,
            number: 0,
            unlinked: Vector::new(),
            has_news: false,
            told_polls: false,
            told_progress: false,
        }
    }

    /// Whether it is over: its status is terminal, its result was given, or it is not known any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether its status, as written, is one that it keeps for ever.
    pub(super) fn says_it_ended(&self) -> bool {
        self.status.as_deref().is_some_and(is_terminal)
    }
}

/// Tasks of both kinds and of both sides, the newest ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    /// By the side that runs them.
    by_id: [HashMap<Arc<str>, Arc<Task>>; 2],
    /// Those that are not over, by their number.
    open: OrdMap<u64, (Side, Arc<str>)>,
    /// Those that are.
    ended: OrdMap<u64, (Side, Arc<str>)>,
    /// By direction of the request that made it, and its progress token.
    by_token: HashMap<(Direction, RawId), (Side, Arc<str>)>,
    /// Tasks that showed up so far.
    pub n_seen: u64,
    /// Tasks that are not kept any more, because there were too many.
    pub n_forgotten: u64,
}

impl Tasks {
    /// The task with this id. Both sides make up ids; where both have it, the server's.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Task>> {
        self.of(Side::Server, id).or_else(|| self.of(Side::Client, id))
    }

    /// The task with this id that `owner` runs.
    #[must_use]
    pub fn of(&self, owner: Side, id: &str) -> Option<&Arc<Task>> {
        self.by_id[owner as usize].get(id)
    }

    /// The task whose request has this progress token; `direction` is that request's.
    #[must_use]
    pub fn of_token(&self, direction: Direction, token: &RawId) -> Option<&Arc<Task>> {
        if self.by_token.is_empty() {
            return None;
        }
        let (owner, id) = self.by_token.get(&(direction, token.clone()))?;
        self.of(*owner, id)
    }

    /// Those that are not over, in the order in which they showed up.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.open.values().filter_map(|(owner, id)| self.of(*owner, id))
    }

    /// Those that are over, in the order in which they showed up.
    pub fn ended(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.ended.values().filter_map(|(owner, id)| self.of(*owner, id))
    }

    /// How many are not over.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// How many of those that are kept are over.
    #[must_use]
    pub fn n_ended(&self) -> usize {
        self.ended.len()
    }

    /// Whether another one can be kept without forgetting one.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() + self.ended.len() < TASKS_KEPT
    }

    /// Changes a task, if it is there.
    pub(super) fn change(&mut self, owner: Side, id: &str, change: impl FnOnce(&mut Task)) {
        let Some(task) = self.by_id[owner as usize].get_mut(id) else {
            return;
        };
        let was_over = task.is_terminal();
        let task = Arc::make_mut(task);
        change(task);
        let (number, is_over) = (task.number, task.is_terminal());
        let (from, to) = match (was_over, is_over) {
            (false, true) => (&mut self.open, &mut self.ended),
            (true, false) => (&mut self.ended, &mut self.open),
            (false, false) | (true, true) => return,
        };
        if let Some(key) = from.remove(&number) {
            to.insert(number, key);
        }
    }

    /// Puts a task with the others, in the place of one with its id.
    pub(super) fn begin(&mut self, mut task: Task) {
        self.forget(task.owner, &task.id.clone());
        if !self.has_room()
            && let Some((owner, id)) = self.ended.values().next().or_else(|| self.open.values().next()).cloned()
        {
            self.forget(owner, &id);
            self.n_forgotten += 1;
        }
        self.n_seen += 1;
        task.number = self.n_seen;
        let list = if task.is_terminal() { &mut self.ended } else { &mut self.open };
        list.insert(task.number, (task.owner, task.id.clone()));
        self.by_id[task.owner as usize].insert(task.id.clone(), Arc::new(task));
    }

    /// Names the request that made a task.
    pub(super) fn name_token(&mut self, direction: Direction, owner: Side, id: &Arc<str>, token: &RawId) {
        self.by_token.insert((direction, token.clone()), (owner, id.clone()));
        self.change(owner, id, |task| task.progress_token = Some(token.clone()));
    }

    fn forget(&mut self, owner: Side, id: &str) {
        let Some(task) = self.by_id[owner as usize].remove(id) else {
            return;
        };
        self.open.remove(&task.number);
        self.ended.remove(&task.number);
        if let Some(token) = &task.progress_token {
            // The request went to the side that runs the task.
            let direction = match owner {
                Side::Client => Direction::ToClient,
                Side::Server => Direction::ToServer,
            };
            let key = (direction, token.clone());
            if self.by_token.get(&key).is_some_and(|(_, named)| **named == *id) {
                self.by_token.remove(&key);
            }
        }
    }
}
