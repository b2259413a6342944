//! What is read while it comes: an answer as an event stream.
//!
//! Each format gathers its pieces into the answer that would have come as a whole, which is then read in the same way: so
//! that both say the same.

mod anthropic;
mod chat;
mod gemini;
mod grow;
mod responses;

use tap_jsonrpc::{SseEvent, SseSplitter};

use crate::answer::{clipped, reported, turn};
use crate::conversation::{ModelEvent, ModelFailure};
use crate::tree::Tree;
use crate::{ANSWER_LIMIT_BYTES, Format};

/// How many calls or blocks one answer may have: whoever sends more does not mean it.
const PIECES: usize = 1_000;

/// What comes of one event of a stream.
enum Step {
    /// There is more to come.
    More,
    /// The answer is complete.
    Complete,
}

/// The pieces of an answer.
trait Pieces {
    /// Takes an event in.
    fn take(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<Step, ModelFailure>;

    /// Whether it can be told that the answer is complete when the stream ends here.
    fn is_complete(&self) -> bool;

    /// The answer as it would be without a stream.
    fn whole(&mut self) -> Tree;
}

/// Reads the event stream of an answer, whatever pieces it comes in.
///
/// After [`ModelEvent::Done`] or [`ModelEvent::Failed`] nothing more comes out. Events that are not known are passed over.
pub struct Reader {
    format: Format,
    splitter: SseSplitter,
    pieces: Box<dyn Pieces + Send>,
    /// What was told of the text, so that the rest can be when it comes with the end alone.
    shown: String,
    n_bytes: usize,
    is_over: bool,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Reader {
    /// A reader of one answer.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let pieces: Box<dyn Pieces + Send> = match format {
            Format::OpenAiChat => Box::<chat::Chat>::default(),
            Format::OpenAiResponses => Box::<responses::Responses>::default(),
            Format::Anthropic => Box::<anthropic::Anthropic>::default(),
            Format::Gemini => Box::<gemini::Gemini>::default(),
        };
        let splitter = SseSplitter::with_limit(ANSWER_LIMIT_BYTES);
        Self { format, splitter, pieces, shown: String::new(), n_bytes: 0, is_over: false }
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if self.is_over {
            return out;
        }
        let room = ANSWER_LIMIT_BYTES.saturating_sub(self.n_bytes);
        let mut events = Vec::new();
        // What fits is read: an answer may end in it.
        self.splitter.feed(bytes.get(..room).unwrap_or(bytes), &mut |event| events.push(event));
        for event in events {
            self.event(&event, &mut out);
        }
        self.n_bytes = self.n_bytes.saturating_add(bytes.len());
        if room < bytes.len() && !self.is_over {
            self.fail(ModelFailure::TooLarge, &mut out);
        }
        out
    }

    /// The body has ended.
    pub fn finish(&mut self) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if self.is_over {
            return out;
        }
        // Not everybody ends the last event with an empty line.
        if let Some(event) = self.splitter.finish() {
            self.last(&event, &mut out);
        }
        if !self.is_over {
            match self.pieces.is_complete() {
                true => self.done(&mut out),
                false => self.fail(ModelFailure::Cut, &mut out),
            }
        }
        out
    }

    fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) {
        let Some(data) = event.data.as_deref().filter(|_| !self.is_over) else {
            return;
        };
        let data = data.trim_ascii();
        if data.is_empty() {
            return;
        }
        if data == b"[DONE]" {
            // Whatever else is missing, nothing more comes.
            return match self.pieces.is_complete() || self.format == Format::OpenAiChat {
                true => self.done(out),
                false => self.fail(ModelFailure::Cut, out),
            };
        }
        let Some(tree) = Tree::read(data) else {
            let text = clipped(&String::from_utf8_lossy(data));
            return self.fail(ModelFailure::Malformed(format!("an event holds no JSON: {text}")), out);
        };
        self.tree(&tree, out);
    }

    /// An event that nothing ended: half of one is none.
    fn last(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) {
        let data = event.data.as_deref().map(<[u8]>::trim_ascii).unwrap_or_default();
        if data == b"[DONE]" || Tree::read(data).is_some() {
            self.event(event, out);
        }
    }

    fn tree(&mut self, tree: &Tree, out: &mut Vec<ModelEvent>) {
        if let Some(failure) = reported(tree) {
            return self.fail(failure, out);
        }
        let before = out.len();
        let step = self.pieces.take(tree, out);
        for event in out.iter().skip(before) {
            if let ModelEvent::TextDelta(text) = event {
                self.shown.push_str(text);
            }
        }
        match step {
            Ok(Step::More) => {}
            Ok(Step::Complete) => self.done(out),
            Err(failure) => self.fail(failure, out),
        }
    }

    fn done(&mut self, out: &mut Vec<ModelEvent>) {
        match turn(self.format, &self.pieces.whole()) {
            Ok(turn) => {
                if let Some(rest) = turn.text.strip_prefix(&self.shown).filter(|rest| !rest.is_empty()) {
                    out.push(ModelEvent::TextDelta(rest.to_owned()));
                }
                out.push(ModelEvent::Done(Box::new(turn)));
                self.is_over = true;
            }
            Err(failure) => self.fail(failure, out),
        }
    }

    fn fail(&mut self, failure: ModelFailure, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::Failed(failure));
        self.is_over = true;
    }
}

fn too_many() -> ModelFailure {
    ModelFailure::Malformed(format!("there are more than {PIECES} parts in it"))
}
