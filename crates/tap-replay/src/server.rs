//! Playback as a server.
//!
//! The player is a fold: what it says is a function of the recording, the options, and what the client has said so far. It
//! has no clock; how long a message took when it was recorded is said with the message, for whoever sends it.
//!
//! `find.rs` has which recorded request a live one is, `play.rs` what is said because of it and when, `handshake.rs` how two
//! eras meet, `real.rs` what is asked of a real server where the recording has no answer.

mod find;
mod handshake;
mod play;
mod real;

use std::collections::BTreeMap;

use bytes::Bytes;
use tap_compare::Rules;
use tap_frame::Direction;
use tap_jsonrpc::{Content, Envelope, Kind, Member, Node, Path, RawId, Scanner, Value};
use tap_protocol::{Era, INVALID_REQUEST, Revision, meta};

use crate::act::Layer;
use crate::miss::Miss;
use crate::options::Options;
use crate::recording::Recording;
use crate::report::{Note, NoteKind, Report, TOLD, Unused};
use crate::rewrite::Translation;

const TOKEN: usize = 0;
const REQUEST_ID: usize = 1;
const VERSION: usize = 2;
const TASK: usize = 3;
const OFFERED: usize = 4;

const WATCH: &[Path] = &[
    Path(&["params", "_meta", meta::PROGRESS_TOKEN]),
    Path(&["params", "requestId"]),
    Path(&["params", "_meta", meta::PROTOCOL_VERSION]),
    Path(&["params", "taskId"]),
    Path(&["params", "protocolVersion"]),
];

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the client.
    Send {
        /// What to send, on one line, without a line ending.
        bytes: Vec<u8>,
        /// How long after what caused it the server said it when it was recorded, nanoseconds.
        gap_ns: u64,
    },
    /// A request has no recorded answer. What it gets in its place is sent.
    Miss(Miss),
    /// Something is worth a word.
    Note(Note),
    /// A request has no recorded answer, and that was to be the end.
    Exit,
    /// Say this to the real server: one line, without a line ending. Only with [`Options::pass_on`].
    ToServer(Vec<u8>),
    /// What the real server was asked and what came of it: for the recording.
    Learned(Vec<Learned>),
}

/// A message that a recording did not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// The number of the recording's frame behind which it belongs; 0 for the beginning.
    pub behind: u64,
    /// Which way it went.
    pub direction: Direction,
    /// What was said, with ids that the recording does not have yet.
    pub bytes: Vec<u8>,
    /// How long after the message before it, nanoseconds.
    pub gap_ns: u64,
}

/// One recording that is played: where it is read from, what it is called, and what it says of itself.
pub struct Source {
    /// What it is called, in words for people: its file.
    pub name: String,
    /// The rules of its header.
    pub rules: Rules,
    /// Whether it is a fixture, in whose answers placeholders stand for something.
    pub is_fixture: bool,
    /// Where it is read from.
    pub recording: Box<dyn Recording>,
}

/// Where a recorded conversation is: in which recording, and which it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    layer: usize,
    act: usize,
}

/// A request of the live client's.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// Which message of the client's it was, counted from 1.
    number: u64,
    id: RawId,
    method: String,
    token: Option<RawId>,
    task: Option<RawId>,
    /// Whether the revision that it names is of the modern era.
    is_modern: bool,
    /// The revision that it names itself, as requests of the modern era do.
    version: Option<String>,
    /// The revision that a handshake offers.
    offered: Option<String>,
    /// The batch that its answer is part of.
    batch: Option<u64>,
    bytes: Bytes,
}

/// An interaction that is played.
#[derive(Debug)]
pub(crate) struct Playing {
    place: Place,
    interaction: usize,
    live: Live,
    /// The next of the interaction's steps.
    next: usize,
    /// The message after which the next one came.
    cause: usize,
    /// The server's request whose answer it waits for.
    waits_for: Option<RawId>,
    is_answered: bool,
    translation: Option<Translation>,
}

/// A request of the server's that the live client has not answered.
#[derive(Debug)]
pub(crate) struct Asked {
    place: Place,
    message: usize,
    playing: Option<u64>,
}

/// Plays recordings as a server, for one client.
pub struct Player {
    layers: Vec<Layer>,
    options: Options,
    /// The conversation that the live one is, once the client has begun.
    chosen: Option<Place>,
    playing: BTreeMap<u64, Playing>,
    asked: BTreeMap<RawId, Asked>,
    batches: BTreeMap<u64, Batch>,
    n_played: u64,
    n_ids: u64,
    /// What the live client declared when it began.
    capabilities: Option<Bytes>,
    real: real::Real,
    report: Report,
    scanner: Scanner,
    has_ended: bool,
}

/// Answers to a batch, which go together.
#[derive(Debug, Default)]
struct Batch {
    n_open: usize,
    answers: Vec<Vec<u8>>,
}

impl Player {
    /// A player of recordings, the first of which is asked first.
    #[must_use]
    pub fn new(sources: Vec<Source>, options: Options) -> Self {
        let layers = sources.into_iter().map(|source| {
            let mut rules = source.rules;
            rules.extend(&options.rules);
            Layer::new(source.name, rules, source.is_fixture, source.recording)
        });
        Self {
            layers: layers.collect(),
            options,
            chosen: None,
            playing: BTreeMap::new(),
            asked: BTreeMap::new(),
            batches: BTreeMap::new(),
            n_played: 0,
            n_ids: 0,
            capabilities: None,
            real: real::Real::default(),
            report: Report::default(),
            scanner: Scanner::new(WATCH),
            has_ended: false,
        }
    }

    /// Takes what the client said on one line, or in one body: what is to be done now, in order.
    pub fn receive(&mut self, line: &[u8]) -> Vec<Output> {
        let mut outputs = Vec::new();
        self.scanner.feed(line);
        match self.scanner.finish().content {
            Content::Blank => {}
            Content::Message(envelope) => {
                self.report.n_received += 1;
                self.message(Bytes::copy_from_slice(Node::new(line).bytes()), envelope, None, &mut outputs);
            }
            Content::Batch(batch) => {
                self.report.n_received += 1;
                let number = self.report.n_received;
                // Open until all of it was taken, so that it is not answered in parts.
                self.batches.insert(number, Batch { n_open: 1, answers: Vec::new() });
                for (bytes, member) in Node::new(line).elements().zip(batch.members) {
                    let bytes = Bytes::copy_from_slice(bytes.bytes());
                    match member {
                        Member::Message(envelope) => self.message(bytes, envelope, Some(number), &mut outputs),
                        Member::NotAMessage(misfit) => self.misfit(misfit.id.as_ref(), &mut outputs),
                    }
                }
                self.part_is_answered(number, None, 0, &mut outputs);
            }
            Content::NotAMessage(misfit) => {
                self.report.n_received += 1;
                self.misfit(misfit.id.as_ref(), &mut outputs);
            }
            Content::NotJson(error) => {
                self.report.n_received += 1;
                self.note(NoteKind::NotAMessage, format!("the client sent what is not JSON: {error}"), &mut outputs);
            }
        }
        outputs
    }

    /// Reads on in the recordings, a little, while there is nothing else to do: what is asked next is found sooner then. Whether
    /// there is more to read. It makes no difference to what is said.
    pub fn read_ahead(&mut self) -> bool {
        self.layers.iter_mut().any(Layer::read_ahead)
    }

    /// The client says nothing more: what waits for it is answered.
    pub fn end(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        if !std::mem::replace(&mut self.has_ended, true) {
            self.give_up(&mut outputs);
            self.end_learning(&mut outputs);
        }
        outputs
    }

    /// Whether something waits for what the client has not said: its answer to a request of the server's, or that it cancels.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.playing.values().any(|playing| playing.waits_for.is_some() || self.is_held(playing))
    }

    /// Ends that: every call that waits goes on as recorded. For a last resort, after a time that nobody should need.
    pub fn stop_waiting(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        if self.is_waiting() {
            let text = "the client did not say what was waited for; what waited for it goes on";
            self.note(NoteKind::GaveUpWaiting, text.into(), &mut outputs);
            self.give_up(&mut outputs);
        }
        outputs
    }

    /// What happened. Where all of it matters, the rest of the recording is read to see what nobody asked for.
    pub fn report(&mut self, all: bool) -> &Report {
        if all {
            self.layers.iter_mut().for_each(Layer::read_all);
        } else {
            // How far was read ahead is a matter of time, and what is told is not.
            while self.read_ahead() {}
        }
        self.report.looked_at_all = self.layers.iter().all(Layer::has_ended);
        self.report.unused.clear();
        self.report.n_unused = 0;
        // Who has said nothing has left out the first conversation, at least.
        let chosen = self.chosen.unwrap_or(Place { layer: 0, act: 0 });
        for (index, layer) in self.layers.iter_mut().enumerate() {
            for act in 0..layer.acts.len() {
                let is_chosen = chosen == Place { layer: index, act };
                let this = &layer.acts[act];
                let n = this.script.interactions().len();
                if !is_chosen && (0..n).all(|interaction| this.n_uses(interaction) == 0) {
                    continue;
                }
                for interaction in 0..n {
                    let this = &layer.acts[act];
                    if this.n_uses(interaction) > 0 || this.method_of(interaction) == "ping" {
                        continue;
                    }
                    self.report.n_unused += 1;
                    if self.report.unused.len() == TOLD {
                        continue;
                    }
                    let request = this.script.interactions()[interaction].request;
                    let message = &this.script.messages()[request];
                    let (line, number) = (message.line, message.number);
                    let what = find::what(&layer.body(act, request));
                    self.report.unused.push(Unused { recording: layer.name.clone(), line, number, what });
                }
            }
        }
        &self.report
    }

    fn message(&mut self, bytes: Bytes, envelope: Envelope, batch: Option<u64>, outputs: &mut Vec<Output>) {
        let Envelope { kind, id, method, captures, .. } = envelope;
        let token =
            |index: usize| Some(RawId::from_token(captures.get(index)?.token()?.bytes())).filter(|id| !id.is_null());
        match (kind, id) {
            (Kind::Request, Some(id)) => {
                let method = method.unwrap_or_default();
                let version = captures.get(VERSION).and_then(Value::text);
                let era = |version: &str| Revision::nearest(version).map_or(Era::Modern, Revision::era);
                let live = Live {
                    number: self.report.n_received,
                    id,
                    is_modern: method != "initialize" && version.as_deref().map(era) == Some(Era::Modern),
                    version: version.as_deref().map(str::to_owned),
                    offered: captures.get(OFFERED).and_then(Value::text).map(std::borrow::Cow::into_owned),
                    method,
                    token: token(TOKEN),
                    task: token(TASK),
                    batch,
                    bytes,
                };
                if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
                    batch.n_open += 1;
                }
                if self.report.asked.len() < TOLD {
                    self.report.asked.push(crate::miss::cut(&find::what(&live.bytes)));
                }
                self.request(live, outputs);
            }
            (Kind::Result | Kind::Error, Some(id)) => self.reply(&id, &bytes, outputs),
            (Kind::Result | Kind::Error, None) => {
                self.note(NoteKind::UnknownReply, "the client answered without an id".into(), outputs);
            }
            (Kind::Request | Kind::Notification, _) => {
                let method = method.unwrap_or_default();
                let cancelled = token(REQUEST_ID).filter(|_| method == "notifications/cancelled");
                match cancelled {
                    Some(id) => self.cancel(&id, &bytes, outputs),
                    None => {
                        self.tell_real(&method, &bytes, outputs);
                        self.notice(&method, outputs);
                    }
                }
            }
        }
    }

    /// What is no message, and could have been a request.
    fn misfit(&mut self, id: Option<&RawId>, outputs: &mut Vec<Output>) {
        self.note(NoteKind::NotAMessage, "the client sent what is no message of JSON-RPC".into(), outputs);
        if let Some(id) = id {
            let bytes = error(id.as_bytes(), INVALID_REQUEST, "Invalid Request");
            outputs.push(Output::Send { bytes, gap_ns: 0 });
        }
    }

    fn note(&mut self, kind: NoteKind, text: String, outputs: &mut Vec<Output>) {
        let note = Note { kind, text };
        if self.report.notes.len() < TOLD {
            self.report.notes.push(note.clone());
        }
        outputs.push(Output::Note(note));
    }

    /// An answer goes to the client; in a batch with the others.
    fn send_answer(&mut self, batch: Option<u64>, bytes: Vec<u8>, gap_ns: u64, outputs: &mut Vec<Output>) {
        match batch {
            Some(batch) => self.part_is_answered(batch, Some(bytes), gap_ns, outputs),
            None => outputs.push(Output::Send { bytes, gap_ns }),
        }
    }

    /// A request of a batch needs no answer any more, or has this one.
    fn part_is_answered(&mut self, number: u64, answer: Option<Vec<u8>>, gap_ns: u64, outputs: &mut Vec<Output>) {
        let Some(batch) = self.batches.get_mut(&number) else {
            return;
        };
        batch.answers.extend(answer);
        batch.n_open = batch.n_open.saturating_sub(1);
        if batch.n_open > 0 {
            return;
        }
        let answers = self.batches.remove(&number).map(|batch| batch.answers).unwrap_or_default();
        if !answers.is_empty() {
            let bytes = [&b"["[..], &answers.join(&b","[..]), b"]"].concat();
            outputs.push(Output::Send { bytes, gap_ns });
        }
    }

    fn layer(&mut self, place: Place) -> &mut Layer {
        // Places are made of layers that there are, and none ever goes.
        &mut self.layers[place.layer]
    }
}

/// A JSON-RPC error of our own.
fn error(id: &[u8], code: i64, cause: &str) -> Vec<u8> {
    let error = format!(r#","error":{{"code":{code},"message":{}}}}}"#, serde_json::Value::from(cause));
    [br#"{"jsonrpc":"2.0","id":"#, id, error.as_bytes()].concat()
}

#[cfg(test)]
pub(crate) mod tests;
