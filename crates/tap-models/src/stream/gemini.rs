//! Gemini: answers with more parts each; there is no event that says the end.

use super::{PIECES, Pieces, Step, too_many};
use crate::conversation::{ModelEvent, ModelFailure};
use crate::tree::Tree;

#[derive(Default)]
pub(super) struct Gemini {
    parts: Vec<Tree>,
    n_calls: usize,
    finish: Option<Tree>,
    feedback: Option<Tree>,
    usage: Option<Tree>,
    has_candidate: bool,
    /// The text of the last part, while it grows.
    growing: Option<String>,
}

impl Pieces for Gemini {
    fn take(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<Step, ModelFailure> {
        if let Some(usage) = data.get("usageMetadata").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        if let Some(feedback) = data.get("promptFeedback").filter(|feedback| feedback.get("blockReason").is_some()) {
            self.feedback = Some(feedback.clone());
        }
        let candidates = data.get("candidates").map(Tree::items).unwrap_or_default();
        let is_first = |candidate: &&Tree| candidate.get("index").is_none_or(|index| index.is_token("0"));
        for candidate in candidates.iter().filter(is_first) {
            self.has_candidate = true;
            let content = candidate.get("content").and_then(|content| content.get("parts"));
            for part in content.map(Tree::items).unwrap_or_default() {
                self.part(part, out)?;
            }
            if let Some(reason) = candidate.get("finishReason").filter(|reason| reason.as_text().is_some()) {
                self.finish = Some(reason.clone());
            }
        }
        Ok(Step::More)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some() || self.feedback.is_some()
    }

    fn whole(&mut self) -> Tree {
        self.settle();
        let mut whole = Tree::Object(Vec::new());
        if self.has_candidate {
            let parts = Tree::Array(std::mem::take(&mut self.parts));
            let mut candidate =
                Tree::object([("content", Tree::object([("role", Tree::text("model")), ("parts", parts)]))]);
            if let Some(reason) = self.finish.take() {
                candidate.set("finishReason", reason);
            }
            whole.set("candidates", Tree::Array(vec![candidate]));
        }
        if let Some(feedback) = self.feedback.take() {
            whole.set("promptFeedback", feedback);
        }
        if let Some(usage) = self.usage.take() {
            whole.set("usageMetadata", usage);
        }
        whole
    }
}

impl Gemini {
    fn part(&mut self, part: &Tree, out: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let text = part.get("text").and_then(Tree::as_text);
        if let Some(text) = text.clone().filter(|text| !text.is_empty()) {
            out.push(if is_thought(part) { ModelEvent::ThinkingDelta(text) } else { ModelEvent::TextDelta(text) });
        }
        // A part with a signature is sent back as it came.
        if let (Some(text), Some(last)) = (&text, self.parts.last())
            && let Some(growing) = &mut self.growing
            && is_plain(part)
            && is_thought(last) == is_thought(part)
        {
            growing.push_str(text);
            return Ok(());
        }
        self.settle();
        if PIECES <= self.parts.len() {
            return Err(too_many());
        }
        self.growing = text.filter(|_| is_plain(part));
        self.parts.push(part.clone());
        if let Some(call) = part.get("functionCall") {
            let index = self.n_calls;
            self.n_calls += 1;
            let name = call.get("name").and_then(Tree::as_text).unwrap_or_default();
            out.push(ModelEvent::CallStarted { index, name });
            let text = call.get("args").map_or_else(|| "{}".into(), Tree::write);
            out.push(ModelEvent::ArgumentsDelta { index, text });
        }
        Ok(())
    }

    /// Writes the text that grew into its part.
    fn settle(&mut self) {
        if let (Some(text), Some(last)) = (self.growing.take(), self.parts.last_mut()) {
            last.set("text", Tree::text(&text));
        }
    }
}

fn is_thought(part: &Tree) -> bool {
    part.get("thought").is_some_and(|thought| thought.is_token("true"))
}

fn is_plain(part: &Tree) -> bool {
    part.members().iter().all(|(key, _)| matches!(key.as_str(), "text" | "thought"))
}
