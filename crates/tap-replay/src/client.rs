//! Playback as a client: what a recorded client said is said to a live server, and what that answers is kept.
//!
//! A fold as well: what is said, and every byte of it, is a function of the recording, the options, and what the server has
//! said so far. Time only ends waiting. A request goes out when every answer recorded before it has come or failed, so what
//! was in flight together is again, and nothing sleeps. The client adapts nothing but ids, and what the server has made up
//! for it to hand back.
//!
//! `client/send.rs` has what is said, `client/heard.rs` what is made of what is heard, `client/asked.rs` the server's own
//! requests, `client/correlate.rs` what is handed back. [`Client::verdict`] is in `verdict.rs`.

mod asked;
mod correlate;
mod edit;
mod heard;
mod send;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;

use bytes::Bytes;
use tap_compare::{ListKind, Rules};
use tap_jsonrpc::{Node, RawId, Scanner};

use crate::message::{Nature, Role};
use crate::script::Script;

use self::asked::AskedFor;
use self::correlate::Correlations;

pub use self::correlate::Correlated;

/// Pages of a list that are asked for beyond those that were recorded.
const MORE_PAGES_LIMIT: usize = 1_000;

/// How a recording is played to a live server.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// What counts as the same, on top of what the recording says of that.
    pub rules: Rules,
    /// Whether placeholders in what was recorded stand for something: it is a fixture.
    pub is_fixture: bool,
    /// Whether values that look as if they changed on every run are hidden: UUIDs, times.
    pub hide_looks: bool,
    /// How long an answer may take, nanoseconds.
    pub answer_limit_ns: u64,
    /// How long the server may take to ask what it asked on its own when it was recorded, before what the client said after
    /// its reply is said anyway, nanoseconds.
    pub asked_limit_ns: u64,
    /// Whether values that the server made up are handed back as the live one made them up. Cursors, states and tasks always
    /// are.
    pub correlate: bool,
    /// Whether calls of tools are left out that do not say that they only read.
    pub read_only: bool,
    /// The number of the recording's last frame that is said.
    pub until: Option<u64>,
    /// The frames whose requests are said; `None` for all. How a session begins, and notifications, are said all the same.
    pub only: Option<BTreeSet<u64>>,
    /// Texts that are written otherwise in all that is said: a marker of redaction, and what it stands for here.
    pub stand_ins: Vec<(String, String)>,
    /// How many times as long as recorded an answer may take. `None` for any time.
    pub max_slowdown: Option<f64>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            is_fixture: false,
            hide_looks: false,
            answer_limit_ns: 30_000_000_000,
            asked_limit_ns: 5_000_000_000,
            correlate: true,
            read_only: false,
            until: None,
            only: None,
            stand_ins: Vec::new(),
            max_slowdown: None,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientOutput {
    /// Say this to the server.
    Send(Vec<u8>),
    /// Something is worth a word.
    Note(ClientNote),
}

/// Something that is worth a word, and no difference of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientNote {
    /// The server wrote what is no message of JSON-RPC. Told once.
    NotAMessage,
    /// The server answered what it was not asked. Told once.
    UnknownAnswer,
    /// The server asked what it had not asked when it was recorded, and got an error.
    NothingRecorded {
        /// The method.
        method: String,
    },
    /// The server asked something else than recorded, and got the reply to what was nearest.
    NearestReply {
        /// The method.
        method: String,
    },
    /// The server did not ask in time what it had asked when it was recorded: what was said after the reply is said anyway.
    NotAskedInTime {
        /// The method.
        method: String,
    },
    /// What is said holds a marker of redaction, and it is not known what that stands for.
    Marker {
        /// The number of the frame in the recording.
        number: u64,
        /// The marker.
        marker: String,
    },
}

impl fmt::Display for ClientNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMessage => formatter.write_str("the server writes lines that are no messages of JSON-RPC"),
            Self::UnknownAnswer => formatter.write_str("the server answered what it was not asked"),
            Self::NothingRecorded { method } => {
                write!(formatter, "the server asked for {method}, to which no reply was recorded; it got an error")
            }
            Self::NearestReply { method } => {
                write!(
                    formatter,
                    "the server asked another {method} than recorded; it got the reply to the nearest one"
                )
            }
            Self::NotAskedInTime { method } => {
                write!(
                    formatter,
                    "the server did not ask for {method} in time; what came after the reply is said anyway"
                )
            }
            Self::Marker { number, marker } => {
                write!(formatter, "message {number} was redacted when it was exported: {marker} is sent as it stands")
            }
        }
    }
}

/// Why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotSent {
    /// The live list has fewer pages: there was nothing more to ask for.
    ListIsShorter,
    /// It goes on from what an earlier answer gave, and the live server gave nothing.
    NothingToGoOnFrom,
    /// It calls a tool that does not say that it only reads.
    NotReadOnly,
    /// It comes behind the place at which to stop.
    Beyond,
    /// It was not wanted.
    NotWanted,
    /// The server was gone.
    ServerGone,
}

impl NotSent {
    /// Why, in a few words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::ListIsShorter => "the list ended before this page",
            Self::NothingToGoOnFrom => "what it goes on from did not come",
            Self::NotReadOnly => "the tool does not say that it only reads",
            Self::Beyond => "it comes later than what was wanted",
            Self::NotWanted => "it was not wanted",
            Self::ServerGone => "the server was gone",
        }
    }
}

/// Why no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoAnswer {
    /// Not in time.
    InTime,
    /// The server ended first.
    ServerEnded,
    /// Whoever plays the recording stopped.
    Stopped,
}

impl NoAnswer {
    /// Why, in a few words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::InTime => "no answer in time",
            Self::ServerEnded => "the server ended without an answer",
            Self::Stopped => "stopped before the answer came",
        }
    }
}

/// What became of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not its turn yet.
    Waiting,
    /// It was sent.
    Open { id: RawId, sent_ns: u64 },
    /// It was answered.
    Answered { bytes: Bytes, took_ns: u64 },
    /// Its answer did not come.
    Lost(NoAnswer),
    /// It was cancelled, as when it was recorded.
    Cancelled,
    /// It was not sent.
    NotSent(NotSent),
}

/// Whose answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// A recorded request's, an interaction.
    Recorded(usize),
    /// That of one more page of a list, which belongs to this interaction.
    Page(usize),
}

/// Plays a recorded conversation as a client, to one live server.
pub struct Client {
    pub(crate) script: Script,
    pub(crate) options: ClientOptions,
    pub(crate) fates: Vec<Fate>,
    pub(crate) correlations: Correlations,
    pub(crate) asked: AskedFor,
    /// What was answered with more pages than were recorded, by the last recorded page's interaction.
    pub(crate) more_pages: BTreeMap<usize, Vec<Bytes>>,
    /// Notifications of the live server, by method.
    pub(crate) n_told: BTreeMap<String, u64>,
    /// Whether the live server's tools say that they only read, as far as they were listed.
    read_only: HashMap<String, bool>,
    /// The next message of the script.
    next: usize,
    n_ids: u64,
    sent: HashMap<RawId, Sent>,
    /// Interactions that are open, and pages.
    open: Vec<(RawId, Sent, u64)>,
    /// Interactions that hold up what comes behind their answers.
    awaited: Vec<usize>,
    /// Recorded requests of the server's that hold up what comes behind their replies: messages.
    awaited_questions: Vec<usize>,
    /// Since when nothing but those holds it up.
    held_since_ns: Option<u64>,
    now_ns: u64,
    outputs: VecDeque<ClientOutput>,
    scanner: Scanner,
    has_told_nonsense: bool,
    has_told_unknown: bool,
    is_server_gone: bool,
}

impl Client {
    /// A client that plays a script, all of which is there with its bodies.
    #[must_use]
    pub fn new(script: Script, options: ClientOptions) -> Self {
        let correlations = Correlations::of(&script);
        let asked = AskedFor::new(&script, &options.rules);
        let mut read_only = HashMap::new();
        for (index, interaction) in script.interactions().iter().enumerate() {
            let answer = interaction.answer.and_then(|answer| script.messages().get(answer)?.body.as_deref());
            if let Some(answer) = answer.filter(|_| method_of(&script, index) == "tools/list") {
                read_only.extend(read_only_hints(answer));
            }
        }
        Self {
            fates: vec![Fate::Waiting; script.interactions().len()],
            script,
            options,
            correlations,
            asked,
            more_pages: BTreeMap::new(),
            n_told: BTreeMap::new(),
            read_only,
            next: 0,
            n_ids: 0,
            sent: HashMap::new(),
            open: Vec::new(),
            awaited: Vec::new(),
            awaited_questions: Vec::new(),
            held_since_ns: None,
            now_ns: 0,
            outputs: VecDeque::new(),
            scanner: Scanner::new(&[]),
            has_told_nonsense: false,
            has_told_unknown: false,
            is_server_gone: false,
        }
    }

    /// What is to be done next; `None` while nothing is until something is heard or time passes.
    pub fn poll(&mut self) -> Option<ClientOutput> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// It is now so many nanoseconds after the beginning.
    pub fn time(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        let limit = self.options.answer_limit_ns;
        let is_late = |sent_ns: u64| self.now_ns >= sent_ns.saturating_add(limit);
        let late: Vec<RawId> =
            self.open.iter().filter(|(.., sent_ns)| is_late(*sent_ns)).map(|(id, ..)| id.clone()).collect();
        for id in late {
            self.lose(&id, NoAnswer::InTime);
        }
        if let Some(since_ns) = self.held_since_ns
            && self.now_ns >= since_ns.saturating_add(self.options.asked_limit_ns)
        {
            self.held_since_ns = None;
            for question in std::mem::take(&mut self.awaited_questions) {
                let method = self.script.messages().get(question).map_or("", |message| message.method()).to_owned();
                self.outputs.push_back(ClientOutput::Note(ClientNote::NotAskedInTime { method }));
            }
        }
    }

    /// When [`time`](Self::time) is to be called at the latest, nanoseconds after the beginning.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let answers = self.open.iter().map(|(.., sent_ns)| sent_ns.saturating_add(self.options.answer_limit_ns));
        let held = self.held_since_ns.map(|since_ns| since_ns.saturating_add(self.options.asked_limit_ns));
        answers.chain(held).min()
    }

    /// Whether all was said, and everything came that was recorded or was given up.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let all_said = self.is_server_gone || self.next_of_client().is_none();
        all_said && !self.open.iter().any(|(_, sent, _)| self.is_expected(*sent)) && self.outputs.is_empty()
    }

    /// The server says nothing more.
    pub fn server_ended(&mut self) {
        self.give_up(NoAnswer::ServerEnded);
    }

    /// Whoever drives it stops here.
    pub fn stop(&mut self) {
        self.give_up(NoAnswer::Stopped);
    }

    /// The script that is played.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// What calls were not sent because their tools do not say that they only read: names, each once.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        let refused = self.fates.iter().enumerate().filter(|(_, fate)| **fate == Fate::NotSent(NotSent::NotReadOnly));
        let mut names: Vec<String> = Vec::new();
        for (interaction, _) in refused {
            let name = self.request_body(interaction).and_then(tool_of).unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// What the live server answered to recorded requests, so far.
    pub fn answers(&self) -> impl Iterator<Item = &[u8]> {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Answered { bytes, .. } => Some(&bytes[..]),
            _ => None,
        })
    }

    fn give_up(&mut self, why: NoAnswer) {
        self.is_server_gone = true;
        for (id, ..) in self.open.clone() {
            self.lose(&id, why);
        }
        for fate in &mut self.fates {
            if *fate == Fate::Waiting {
                *fate = Fate::NotSent(NotSent::ServerGone);
            }
        }
        self.outputs.retain(|output| matches!(output, ClientOutput::Note(_)));
    }

    /// An answer is given up.
    fn lose(&mut self, id: &RawId, why: NoAnswer) {
        self.open.retain(|(this, ..)| this != id);
        match self.sent.get(id) {
            Some(Sent::Recorded(interaction)) => {
                let interaction = *interaction;
                if let Some(fate @ Fate::Open { .. }) = self.fates.get_mut(interaction) {
                    *fate = Fate::Lost(why);
                    self.correlations.learn(&self.script, interaction, None, false);
                }
            }
            Some(Sent::Page(_)) | None => {}
        }
    }

    /// Whether what was recorded lets an answer be expected. A subscription's comes when all is over.
    fn is_expected(&self, sent: Sent) -> bool {
        let Sent::Recorded(interaction) = sent else {
            return true;
        };
        let answer = self.script.interactions().get(interaction).and_then(|this| this.answer);
        let answer = answer.and_then(|answer| self.script.messages().get(answer));
        answer.is_some_and(|answer| {
            answer.nature == Nature::Error || method_of(&self.script, interaction) != "subscriptions/listen"
        })
    }

    /// The next of the client's messages that is to be said.
    fn next_of_client(&self) -> Option<usize> {
        let messages = self.script.messages();
        let is_to_be_said = |index: &usize| {
            let message = &messages[*index];
            let is_within = self.options.until.is_none_or(|until| message.number <= until);
            message.is_of_client() && !matches!(message.role, Role::Reply(_)) && is_within
        };
        (self.next..messages.len()).find(is_to_be_said)
    }

    pub(crate) fn request_body(&self, interaction: usize) -> Option<&[u8]> {
        let request = self.script.interactions().get(interaction)?.request;
        self.script.messages().get(request)?.body.as_deref()
    }
}

/// The method of an interaction's request.
pub(crate) fn method_of(script: &Script, interaction: usize) -> &str {
    let request = script.interactions().get(interaction).map(|this| this.request);
    request.and_then(|request| script.messages().get(request)).map_or("", |message| message.method())
}

/// The kind of list that a method asks for.
pub(crate) fn list_of(method: &str) -> Option<ListKind> {
    ListKind::ALL.into_iter().find(|kind| kind.method() == method)
}

/// The tool that a request calls.
fn tool_of(request: &[u8]) -> Option<String> {
    let name = Node::new(request).at(&["params", "name"])?;
    Some(name.text()?.into_owned())
}

/// The tools of an answer to `tools/list`, and whether they say that they only read.
fn read_only_hints(answer: &[u8]) -> Vec<(String, bool)> {
    let tools = Node::new(answer).at(&["result", "tools"]);
    let tools = tools.into_iter().flat_map(Node::elements);
    let named = tools.filter_map(|tool| {
        let name = tool.get("name")?.text()?.into_owned();
        Some((name, tool.at(&["annotations", "readOnlyHint"]).and_then(Node::as_bool) == Some(true)))
    });
    named.collect()
}

#[cfg(test)]
mod tests;
