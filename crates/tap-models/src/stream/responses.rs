//! OpenAI's responses: events that are named for what they are, and the whole answer in the last one.

use super::{PIECES, Pieces, Step, too_many};
use crate::answer::reported;
use crate::conversation::{ModelEvent, ModelFailure};
use crate::stream::grow::Growing;
use crate::tree::Tree;

#[derive(Default)]
pub(super) struct Responses {
    /// Items that are complete.
    items: Vec<Tree>,
    /// The places of calls, in the order in which they began.
    calls: Vec<(String, Growing)>,
    text: Growing,
    thinking: Growing,
    response: Option<Tree>,
}

impl Pieces for Responses {
    fn take(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<Step, ModelFailure> {
        let place = || data.get("output_index").map(Tree::write).unwrap_or_default();
        let kind = data.get("type").and_then(Tree::as_text).unwrap_or_default();
        match kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                let more = data.get("delta").and_then(|piece| self.text.push(piece));
                out.extend(more.map(ModelEvent::TextDelta));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let more = data.get("delta").and_then(|piece| self.thinking.push(piece));
                out.extend(more.map(ModelEvent::ThinkingDelta));
            }
            "response.output_item.added" => {
                let item = data.get("item");
                if item.and_then(|item| item.get("type")).is_some_and(|kind| kind.is_text("function_call")) {
                    if PIECES <= self.calls.len() {
                        return Err(too_many());
                    }
                    let name = item.and_then(|item| item.get("name")?.as_text()).unwrap_or_default();
                    out.push(ModelEvent::CallStarted { index: self.calls.len(), name });
                    self.calls.push((place(), Growing::default()));
                }
            }
            "response.function_call_arguments.delta" => {
                let place = place();
                let call = self.calls.iter_mut().enumerate().find(|(_, (known, _))| *known == place);
                if let (Some((index, (_, arguments))), Some(piece)) = (call, data.get("delta")) {
                    out.extend(arguments.push(piece).map(|text| ModelEvent::ArgumentsDelta { index, text }));
                }
            }
            "response.output_item.done" => {
                if PIECES <= self.items.len() {
                    return Err(too_many());
                }
                if let Some(item) = data.get("item") {
                    self.items.push(item.clone());
                }
            }
            "response.completed" | "response.incomplete" => {
                self.response = data.get("response").filter(|response| response.is_object()).cloned();
                return Ok(Step::Complete);
            }
            "response.failed" => {
                let failure = data.get("response").and_then(reported);
                let unknown =
                    || ModelFailure::Reported { kind: "failed".into(), message: "it does not say why".into() };
                return Err(failure.unwrap_or_else(unknown));
            }
            "error" => {
                let text = |member: &str| data.get(member).and_then(Tree::as_text).unwrap_or_default();
                return Err(ModelFailure::Reported { kind: text("code"), message: text("message") });
            }
            _ => {}
        }
        Ok(Step::More)
    }

    fn is_complete(&self) -> bool {
        self.response.is_some()
    }

    fn whole(&mut self) -> Tree {
        let mut whole = self.response.take().unwrap_or(Tree::Object(Vec::new()));
        // Some leave out of the last event what was said before.
        if whole.get("output").is_none_or(|output| output.items().is_empty()) {
            whole.set("output", Tree::Array(std::mem::take(&mut self.items)));
        }
        whole
    }
}
