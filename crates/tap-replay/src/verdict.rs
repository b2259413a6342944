//! The verdict: what a live server answered, held against what was recorded.

use std::collections::BTreeMap;

use bytes::Bytes;
use tap_compare::{
    Comparison, Dials, Drift, ListKind, Markers, MatchKey, Options, PathPattern, Side, Status, compare, drift,
};
use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_protocol::meta;

use crate::client::{Client, Correlated, Fate, NoAnswer, NotSent, list_of, method_of};
use crate::message::{Message, Nature, Role};

/// Differences that are kept of one message; all are counted.
const LISTED: usize = 200;

/// Differences that are kept of all of them.
const LISTED_IN_ALL: usize = 50_000;

/// What an answer may take longer than recorded in any case, nanoseconds: less is noise.
const NOISE_NS: u64 = 100_000_000;

/// What servers ask for whenever they like: when and how often means nothing.
const ANY_TIME: [&str; 2] = ["ping", "roots/list"];

/// What became of a recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The answer is the same, but for what rules hide.
    Same,
    /// The answer is another.
    Differs,
    /// An answer was recorded, and none came.
    NoAnswer(NoAnswer),
    /// It was not sent.
    NotSent(NotSent),
    /// There is nothing to hold it against: it was cancelled, or no answer was recorded.
    NotCompared,
}

/// A recorded call, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The number of the request's frame in the recording.
    pub number: u64,
    /// The line of the text file that it is in.
    pub line: Option<u64>,
    /// The method.
    pub method: String,
    /// The tool, the prompt, or the address of the resource.
    pub name: Option<String>,
    /// The request as it was recorded.
    pub request: Bytes,
    /// What became of it.
    pub outcome: Outcome,
    /// What the recorded answer was.
    pub recorded: Status,
    /// What the live answer was.
    pub live: Status,
    /// In what they differ: A is the recorded one.
    pub comparison: Comparison,
    /// How long the answer took when it was recorded, as far as that is known, nanoseconds.
    pub recorded_ns: Option<u64>,
    /// How long it took now, nanoseconds.
    pub live_ns: Option<u64>,
    /// Whether that is more than was wanted.
    pub is_too_slow: bool,
}

impl Check {
    /// Whether it is not as recorded.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let is_other = match self.outcome {
            Outcome::Same | Outcome::NotCompared => false,
            Outcome::NotSent(NotSent::ListIsShorter | NotSent::Beyond) => false,
            Outcome::Differs | Outcome::NoAnswer(_) | Outcome::NotSent(_) => true,
        };
        is_other || self.is_too_slow
    }
}

/// What became of a recorded request of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionOutcome {
    /// The live server asked the same.
    Same,
    /// It asked something else.
    Differs,
    /// It did not ask.
    NotAsked,
    /// It asked, and the recorded one had not.
    New,
}

/// A request of the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionCheck {
    /// The number of its frame in the recording, of one that was recorded.
    pub number: Option<u64>,
    /// The line of the text file that it is in.
    pub line: Option<u64>,
    /// The method.
    pub method: String,
    /// What became of it.
    pub outcome: QuestionOutcome,
    /// In what they differ: A is the recorded one.
    pub comparison: Comparison,
}

/// A list of what the server offers, all of its pages together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCheck {
    /// Of what.
    pub kind: ListKind,
    /// The number of the frame that asked for it first.
    pub number: u64,
    /// What has changed.
    pub drift: Drift,
}

/// How often the server told something on its own. When and how often is up to it: this is no difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellingCheck {
    /// The method.
    pub method: String,
    /// How often when it was recorded.
    pub n_recorded: u64,
    /// How often now.
    pub n_live: u64,
}

/// What a live server did, held against a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Calls, in recorded order.
    pub checks: Vec<Check>,
    /// What the server asked, in recorded order, and then what it asked beyond that.
    pub questions: Vec<QuestionCheck>,
    /// What the server offers.
    pub lists: Vec<ListCheck>,
    /// How often it told what.
    pub tellings: Vec<TellingCheck>,
    /// What it made up, and was handed back.
    pub correlated: Vec<Correlated>,
    /// Name and version of the recorded server, as far as they were said.
    pub recorded_server: Option<String>,
    /// Name and version of the live server.
    pub live_server: Option<String>,
}

impl Verdict {
    /// Whether all is as recorded.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let as_asked = |this: &QuestionCheck| this.outcome == QuestionOutcome::Same;
        !self.checks.iter().any(Check::has_failed)
            && self.questions.iter().all(as_asked)
            && self.lists.iter().all(|list| list.drift.items.is_empty())
    }

    /// How many differences rules hide.
    #[must_use]
    pub fn n_hidden(&self) -> usize {
        let calls = self.checks.iter().map(|check| &check.comparison);
        let questions = self.questions.iter().map(|question| &question.comparison);
        let lists: usize = self.lists.iter().map(|list| list.drift.n_hidden).sum();
        calls.chain(questions).map(|comparison| comparison.n_hidden).sum::<usize>() + lists
    }
}

/// What goes along from one comparison to the next.
struct Comparing {
    markers: Markers,
    /// Differences that may still be kept.
    n_left: usize,
}

impl Client {
    /// What is to be said of the live server, as far as it was played to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut comparing = Comparing { markers: Markers::new(), n_left: LISTED_IN_ALL };
        let lists = self.lists(&mut comparing.markers);
        let checks = (0..self.fates.len()).filter_map(|interaction| self.check(interaction, &mut comparing)).collect();
        let questions = self.questions(&mut comparing);
        let live = |interaction: usize| match self.fates.get(interaction) {
            Some(Fate::Answered { bytes, .. }) => Some(bytes.as_ref()),
            _ => None,
        };
        let opening = self.script.initialize().or(self.script.discover());
        Verdict {
            checks,
            questions,
            lists,
            tellings: self.tellings(),
            correlated: self.correlations.listed(),
            recorded_server: opening.and_then(|opening| server_of(self.recorded_answer(opening)?)),
            live_server: opening.and_then(|opening| server_of(live(opening)?)),
        }
    }

    fn message_of(&self, interaction: usize) -> Option<&Message> {
        self.script.messages().get(self.script.interactions().get(interaction)?.request)
    }

    fn recorded_answer(&self, interaction: usize) -> Option<&[u8]> {
        let answer = self.script.interactions().get(interaction)?.answer?;
        self.script.messages().get(answer)?.body.as_deref()
    }

    fn check(&self, interaction: usize, comparing: &mut Comparing) -> Option<Check> {
        // Of what nobody wanted nothing is said.
        if matches!(self.fates.get(interaction), Some(Fate::NotSent(NotSent::NotWanted))) {
            return None;
        }
        let request = self.message_of(interaction)?;
        let body = request.body.clone()?;
        let method = request.method().to_owned();
        let key = MatchKey::of(&body, &self.options.rules);
        let name = key.as_ref().and_then(MatchKey::name).map(str::to_owned);
        let recorded = self.recorded_answer(interaction);
        let recorded_status = Status::of(recorded.map(Node::new));
        let answer = self.script.interactions().get(interaction).and_then(|this| this.answer);
        let answer = answer.and_then(|answer| self.script.messages().get(answer));
        let recorded_ns = answer.map(|answer| answer.at_ns.saturating_sub(request.at_ns)).filter(|took| *took > 0);
        let mut check = Check {
            number: request.number,
            line: request.line,
            method,
            name,
            request: body,
            outcome: Outcome::NotCompared,
            recorded: recorded_status,
            live: Status::Unanswered,
            comparison: Comparison::default(),
            recorded_ns,
            live_ns: None,
            is_too_slow: false,
        };
        match (self.fates.get(interaction)?, recorded) {
            (Fate::Answered { bytes, took_ns }, recorded) => {
                check.live = Status::of(Some(Node::new(bytes)));
                check.live_ns = Some(*took_ns);
                if let (Some(factor), Some(recorded_ns)) = (self.options.max_slowdown, check.recorded_ns) {
                    check.is_too_slow = *took_ns > recorded_ns.saturating_add(NOISE_NS)
                        && *took_ns as f64 > recorded_ns as f64 * factor;
                }
                let Some(recorded) = recorded else {
                    return Some(check);
                };
                let are_lists =
                    list_of(&check.method).is_some() && (&check.recorded, &check.live) == (&Status::Ok, &Status::Ok);
                if !are_lists {
                    let dials = dials_for(self.options.rules.dials(check.name.as_deref()), &check.method);
                    let is_literal = answer.is_some_and(|answer| answer.is_literal);
                    check.comparison = self.compared(recorded, bytes, &dials, Side::Response, is_literal, comparing);
                }
                let is_same = check.comparison.is_same() && check.recorded == check.live;
                check.outcome = if is_same { Outcome::Same } else { Outcome::Differs };
            }
            (Fate::Lost(why), Some(_)) => check.outcome = Outcome::NoAnswer(*why),
            (Fate::NotSent(why), _) => check.outcome = Outcome::NotSent(*why),
            (Fate::Lost(_) | Fate::Waiting | Fate::Open { .. } | Fate::Cancelled, _) => {}
        }
        Some(check)
    }

    fn compared(
        &self,
        recorded: &[u8],
        live: &[u8],
        dials: &Dials,
        side: Side,
        is_literal: bool,
        comparing: &mut Comparing,
    ) -> Comparison {
        let placeholders = self.options.is_fixture && !is_literal;
        let hide_looks = self.options.hide_looks;
        let options =
            Options { placeholders, hide_looks, n_listed: LISTED.min(comparing.n_left), ..Options::new(dials, side) };
        let found = compare(&self.correlations.as_live(recorded, live), live, &options, &mut comparing.markers);
        comparing.n_left -= found.differences.len();
        found
    }

    fn questions(&self, comparing: &mut Comparing) -> Vec<QuestionCheck> {
        let mut checks = Vec::new();
        for question in &self.asked.questions {
            let Some(message) = self.script.messages().get(question.message) else {
                continue;
            };
            if ANY_TIME.contains(&message.method()) {
                continue;
            }
            let mut check = QuestionCheck {
                number: Some(message.number),
                line: message.line,
                method: message.method().to_owned(),
                outcome: QuestionOutcome::NotAsked,
                comparison: Comparison::default(),
            };
            match (&question.live, message.body.as_deref()) {
                (Some(live), Some(recorded)) => {
                    let dials = self.options.rules.dials(None);
                    check.comparison =
                        self.compared(recorded, live, &dials, Side::Request, message.is_literal, comparing);
                    let is_same = check.comparison.is_same();
                    check.outcome = if is_same { QuestionOutcome::Same } else { QuestionOutcome::Differs };
                }
                // Of a call that came to nothing no question is missed.
                _ if !self.could_be_asked(message) => continue,
                _ => {}
            }
            checks.push(check);
        }
        let more = self.asked.more.iter().filter(|(method, _)| !ANY_TIME.contains(&method.as_str()));
        checks.extend(more.map(|(method, _)| QuestionCheck {
            number: None,
            line: None,
            method: method.clone(),
            outcome: QuestionOutcome::New,
            comparison: Comparison::default(),
        }));
        checks
    }

    /// Whether what it was asked because of was said, and was not broken off.
    fn could_be_asked(&self, message: &Message) -> bool {
        let is_within = self.options.until.is_none_or(|until| message.number <= until);
        match message.role {
            Role::Inside(interaction) => matches!(self.fates.get(interaction), Some(Fate::Answered { .. })),
            // It may have been asked because of what was not wanted.
            _ => is_within && self.options.only.is_none() && !self.is_server_gone_early(),
        }
    }

    fn is_server_gone_early(&self) -> bool {
        self.fates.iter().any(|fate| matches!(fate, Fate::NotSent(NotSent::ServerGone)))
    }

    fn lists(&self, markers: &mut Markers) -> Vec<ListCheck> {
        let mut found: Vec<ListCheck> = Vec::new();
        for kind in ListKind::ALL {
            for walk in self.walks(kind) {
                let Some(recorded) = walk.iter().map(|page| self.recorded_answer(*page)).collect::<Option<Vec<_>>>()
                else {
                    continue;
                };
                let Some(live) = self.live_pages(&walk) else {
                    continue;
                };
                let all_of = |pages: &[&[u8]]| pages.iter().all(|page| Node::new(page).get("result").is_some());
                if !all_of(&recorded) || !all_of(&live) {
                    continue;
                }
                let (a, b) = (elements(kind, &recorded), elements(kind, &live));
                let drift = drift(kind, &a, &b, &self.options.rules.dials(None), markers);
                let number = walk.first().and_then(|page| self.message_of(*page)).map_or(0, |message| message.number);
                // What is asked for again and again is told once.
                if !found.iter().any(|this| this.kind == kind && this.drift.items == drift.items) {
                    found.push(ListCheck { kind, number, drift });
                }
            }
        }
        found
    }

    /// Walks through the pages of a kind of list, each as its interactions.
    fn walks(&self, kind: ListKind) -> Vec<Vec<usize>> {
        let mut walks: Vec<Vec<usize>> = Vec::new();
        for interaction in 0..self.fates.len() {
            if method_of(&self.script, interaction) != kind.method() {
                continue;
            }
            let cursor = self.request_body(interaction).and_then(|body| Node::new(body).at(&["params", "cursor"]));
            match walks.last_mut() {
                Some(walk) if cursor.is_some_and(|cursor| !cursor.is_null()) => walk.push(interaction),
                _ => walks.push(vec![interaction]),
            }
        }
        walks
    }

    /// What the live server answered to a walk, and to what was asked beyond it; `None` if it did not to all of it.
    fn live_pages(&self, walk: &[usize]) -> Option<Vec<&[u8]>> {
        let mut pages: Vec<&[u8]> = Vec::new();
        for interaction in walk {
            match self.fates.get(*interaction)? {
                Fate::Answered { bytes, .. } => pages.push(bytes),
                Fate::NotSent(NotSent::ListIsShorter) => {}
                _ => return None,
            }
            pages.extend(self.more_pages.get(interaction).into_iter().flatten().map(|page| &page[..]));
        }
        Some(pages)
    }

    fn tellings(&self) -> Vec<TellingCheck> {
        if self.options.only.is_some() {
            // What they were told because of is not all there.
            return Vec::new();
        }
        let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for message in self.script.messages() {
            let is_within = self.options.until.is_none_or(|until| message.number <= until);
            if message.direction == Direction::ToClient && message.nature == Nature::Notification && is_within {
                counts.entry(message.method()).or_default().0 += 1;
            }
        }
        for (method, n) in &self.n_told {
            counts.entry(method).or_default().1 += n;
        }
        let each = counts.into_iter();
        each.map(|(method, (n_recorded, n_live))| TellingCheck { method: method.to_owned(), n_recorded, n_live })
            .collect()
    }
}

/// Elements of a list, all pages together.
fn elements<'a>(kind: ListKind, pages: &[&'a [u8]]) -> Vec<Node<'a>> {
    let lists = pages.iter().filter_map(|page| Node::new(page).at(&["result", kind.member()]));
    lists.flat_map(Node::elements).collect()
}

/// What is another at every moment, or with every version, is no part of what is answered.
fn dials_for(mut dials: Dials, method: &str) -> Dials {
    let paths: &[&str] = match method {
        // Which server it is stands in the verdict itself.
        "initialize" => &["result.serverInfo"],
        "tasks/get" | "tasks/cancel" => &[
            "result.status",
            "result.statusMessage",
            "result.createdAt",
            "result.lastUpdatedAt",
            "result.ttl",
            "result.pollInterval",
        ],
        "tasks/list" => &["result.tasks"],
        _ => &["result.task.status", "result.task.statusMessage", "result.task.createdAt", "result.task.lastUpdatedAt"],
    };
    let server = format!("result._meta.\"{}\"", meta::SERVER_INFO);
    let paths = paths.iter().copied().chain([server.as_str()]);
    dials.ignore.extend(paths.filter_map(|path| PathPattern::parse(path).ok()));
    dials
}

/// Name and version of the server that answered `initialize` or `server/discover`.
fn server_of(answer: &[u8]) -> Option<String> {
    let result = Node::new(answer).get("result")?;
    let named = result.get("serverInfo").or_else(|| result.at(&["_meta", meta::SERVER_INFO]))?;
    let parts = named.pick(["name", "version"]).into_iter().flatten().filter_map(Node::text);
    let text = parts.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
