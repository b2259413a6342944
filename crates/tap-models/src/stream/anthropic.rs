//! Anthropic: blocks that start, grow and stop, within a message.

use super::grow::Growing;
use super::{PIECES, Pieces, Step, too_many};
use crate::conversation::{ModelEvent, ModelFailure};
use crate::tree::Tree;

#[derive(Default)]
pub(super) struct Anthropic {
    blocks: Vec<Block>,
    n_calls: usize,
    stop: Option<Tree>,
    usage: Option<Tree>,
}

struct Block {
    index: String,
    start: Tree,
    /// Which call it is, if it is one.
    call: Option<usize>,
    /// Members that grow.
    grown: Vec<(&'static str, Growing)>,
    /// The arguments of a call.
    input: Growing,
}

impl Block {
    fn grow(&mut self, member: &'static str, piece: Option<&Tree>) -> Option<String> {
        let piece = piece?;
        let at = self.grown.iter().position(|(known, _)| *known == member).unwrap_or_else(|| {
            let mut begun = Growing::default();
            if let Some(start) = self.start.get(member) {
                begun.push(start);
            }
            self.grown.push((member, begun));
            self.grown.len() - 1
        });
        self.grown.get_mut(at)?.1.push(piece)
    }

    fn whole(mut self) -> Tree {
        for (member, mut text) in self.grown {
            self.start.set(member, Tree::text(&text.take()));
        }
        let input = self.input.take();
        if !input.trim().is_empty() {
            // What cannot be read stays a text, and is told as a call that is none.
            self.start.set("input", Tree::read(input.as_bytes()).unwrap_or_else(|| Tree::text(&input)));
        }
        self.start
    }
}

impl Pieces for Anthropic {
    fn take(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<Step, ModelFailure> {
        let kind = data.get("type").and_then(Tree::as_text).unwrap_or_default();
        match kind.as_str() {
            "message_start" => {
                if let Some(message) = data.get("message") {
                    self.count(message.get("usage"));
                }
            }
            "content_block_start" => self.start(data, out)?,
            "content_block_delta" => self.delta(data, out),
            "message_delta" => {
                if let Some(reason) = data.get("delta").and_then(|delta| delta.get("stop_reason"))
                    && reason.as_text().is_some()
                {
                    self.stop = Some(reason.clone());
                }
                self.count(data.get("usage"));
            }
            "message_stop" => return Ok(Step::Complete),
            _ => {}
        }
        Ok(Step::More)
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn whole(&mut self) -> Tree {
        let null = || Tree::Token("null".into());
        let blocks = self.blocks.drain(..).map(Block::whole).collect();
        Tree::object([
            ("content", Tree::Array(blocks)),
            ("stop_reason", self.stop.take().unwrap_or_else(null)),
            ("usage", self.usage.take().unwrap_or_else(null)),
        ])
    }
}

impl Anthropic {
    /// Takes in how much it took: each number counts all until now.
    fn count(&mut self, usage: Option<&Tree>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let known = self.usage.get_or_insert_with(|| Tree::Object(Vec::new()));
        for (key, value) in usage.members().iter().filter(|(_, value)| !value.is_token("null")) {
            known.set(key, value.clone());
        }
    }

    fn start(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let Some(start) = data.get("content_block").filter(|block| block.is_object()) else {
            return Ok(());
        };
        if PIECES <= self.blocks.len() {
            return Err(too_many());
        }
        let is = |kind: &str| start.get("type").is_some_and(|known| known.is_text(kind));
        let call = is("tool_use").then_some(self.n_calls);
        if let Some(index) = call {
            self.n_calls += 1;
            let name = start.get("name").and_then(Tree::as_text).unwrap_or_default();
            out.push(ModelEvent::CallStarted { index, name });
        }
        if is("text")
            && let Some(text) = start.get("text").and_then(Tree::as_text).filter(|text| !text.is_empty())
        {
            out.push(ModelEvent::TextDelta(text));
        }
        self.blocks.push(Block {
            index: data.get("index").map(Tree::write).unwrap_or_default(),
            start: start.clone(),
            call,
            grown: Vec::new(),
            input: Growing::default(),
        });
        Ok(())
    }

    fn delta(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) {
        let index = data.get("index").map(Tree::write).unwrap_or_default();
        let (Some(block), Some(delta)) =
            (self.blocks.iter_mut().rev().find(|block| block.index == index), data.get("delta"))
        else {
            return;
        };
        match delta.get("type").and_then(Tree::as_text).as_deref() {
            Some("text_delta") => out.extend(block.grow("text", delta.get("text")).map(ModelEvent::TextDelta)),
            Some("thinking_delta") => {
                out.extend(block.grow("thinking", delta.get("thinking")).map(ModelEvent::ThinkingDelta));
            }
            Some("signature_delta") => drop(block.grow("signature", delta.get("signature"))),
            Some("input_json_delta") => {
                let more = delta.get("partial_json").and_then(|piece| block.input.push(piece));
                if let (Some(text), Some(index)) = (more, block.call) {
                    out.push(ModelEvent::ArgumentsDelta { index, text });
                }
            }
            Some("citations_delta") => {
                if let Some(citation) = delta.get("citation") {
                    let mut known = match block.start.take("citations") {
                        Some(Tree::Array(known)) => known,
                        _ => Vec::new(),
                    };
                    known.push(citation.clone());
                    block.start.set("citations", Tree::Array(known));
                }
            }
            _ => {}
        }
    }
}
