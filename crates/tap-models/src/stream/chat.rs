//! Chat completions: choices with deltas, calls by their index, `[DONE]`.

use super::grow::Growing;
use super::{PIECES, Pieces, Step, too_many};
use crate::conversation::{ModelEvent, ModelFailure};
use crate::tree::Tree;

/// Members of a message in which servers of this format say what the model thinks.
const THOUGHTS: &[&str] = &["reasoning_content", "reasoning", "thinking"];

#[derive(Default)]
pub(super) struct Chat {
    content: Growing,
    refusal: Growing,
    calls: Vec<Piece>,
    /// Members of a provider's own, in the order in which they came.
    others: Vec<(String, Other)>,
    finish: Option<Tree>,
    usage: Option<Tree>,
}

/// A call that comes in pieces.
#[derive(Default)]
struct Piece {
    index: Option<String>,
    id: String,
    name: String,
    arguments: Growing,
    /// Members of a provider's own, such as signatures.
    others: Vec<(String, Tree)>,
}

enum Other {
    Text(Growing),
    Value(Tree),
}

impl Pieces for Chat {
    fn take(&mut self, data: &Tree, out: &mut Vec<ModelEvent>) -> Result<Step, ModelFailure> {
        if let Some(usage) = data.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let choices = data.get("choices").map(Tree::items).unwrap_or_default();
        // One answer was asked for.
        let is_first = |choice: &&Tree| choice.get("index").is_none_or(|index| index.is_token("0"));
        for choice in choices.iter().filter(is_first) {
            if let Some(reason) = choice.get("finish_reason").filter(|reason| reason.as_text().is_some()) {
                self.finish = Some(reason.clone());
            }
            // Some say a whole message at once.
            let delta = choice.get("delta").or_else(|| choice.get("message"));
            for (key, value) in delta.map(Tree::members).unwrap_or_default() {
                self.member(key, value, out)?;
            }
        }
        Ok(Step::More)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn whole(&mut self) -> Tree {
        let null = || Tree::Token("null".into());
        let content = self.content.take();
        let has_calls = !self.calls.is_empty();
        let content = if content.is_empty() && has_calls { null() } else { Tree::text(&content) };
        let mut message = Tree::object([("role", Tree::text("assistant")), ("content", content)]);
        let refusal = self.refusal.take();
        if !refusal.is_empty() {
            message.set("refusal", Tree::text(&refusal));
        }
        for (key, other) in self.others.drain(..) {
            let value = match other {
                Other::Text(mut text) => Tree::text(&text.take()),
                Other::Value(value) => value,
            };
            message.set(&key, value);
        }
        if has_calls {
            let calls = self.calls.drain(..).map(|mut piece| {
                let mut call = Tree::Object(piece.others);
                if !piece.id.is_empty() {
                    call.set("id", Tree::text(&piece.id));
                }
                call.set("type", Tree::text("function"));
                let mut function = call.take("function").filter(Tree::is_object).unwrap_or(Tree::Object(Vec::new()));
                function.set("name", Tree::text(&piece.name));
                function.set("arguments", Tree::text(&piece.arguments.take()));
                call.set("function", function);
                call
            });
            message.set("tool_calls", Tree::Array(calls.collect()));
        }
        let choice = Tree::object([("message", message), ("finish_reason", self.finish.take().unwrap_or_else(null))]);
        Tree::object([("choices", Tree::Array(vec![choice])), ("usage", self.usage.take().unwrap_or_else(null))])
    }
}

impl Chat {
    fn member(&mut self, key: &str, value: &Tree, out: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        match key {
            "role" | "function_call" | "annotations" | "audio" => {}
            "content" => out.extend(self.content.push(value).map(ModelEvent::TextDelta)),
            "refusal" => {
                let words = self.refusal.push(value);
                // Its words are the text where there is no other.
                out.extend(words.filter(|_| self.content.so_far().is_empty()).map(ModelEvent::TextDelta));
            }
            "tool_calls" => {
                for piece in value.items() {
                    self.call(piece, out)?;
                }
            }
            _ if value.is_token("null") => {}
            _ => self.other(key, value, out)?,
        }
        Ok(())
    }

    fn other(&mut self, key: &str, value: &Tree, out: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let n_known = self.others.len();
        let known = self.others.iter_mut().find(|(known, _)| known == key).map(|(_, other)| other);
        match (known, value) {
            (Some(Other::Text(text)), value) if value.as_text().is_some() => {
                let more = text.push(value).filter(|_| THOUGHTS.contains(&key));
                out.extend(more.map(ModelEvent::ThinkingDelta));
            }
            (Some(Other::Value(Tree::Array(items))), Tree::Array(more)) => items.extend(more.iter().cloned()),
            (Some(known), value) => *known = Other::Value(value.clone()),
            (None, _) if PIECES <= n_known => return Err(too_many()),
            (None, value) if value.as_text().is_some() => {
                let mut text = Growing::default();
                let more = text.push(value).filter(|_| THOUGHTS.contains(&key));
                out.extend(more.map(ModelEvent::ThinkingDelta));
                self.others.push((key.to_owned(), Other::Text(text)));
            }
            (None, value) => self.others.push((key.to_owned(), Other::Value(value.clone()))),
        }
        Ok(())
    }

    fn call(&mut self, piece: &Tree, out: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let index = piece.get("index").map(Tree::write);
        let id = piece.get("id").and_then(Tree::as_text).unwrap_or_default();
        // Some give each call the same index, or none: then another id is another call.
        let is_same = |known: &Piece| {
            let is_other = !id.is_empty() && !known.id.is_empty() && known.id != id;
            !is_other && (index.is_none() || known.index == index)
        };
        let at = match self.calls.iter().rposition(is_same) {
            Some(at) => at,
            None if PIECES <= self.calls.len() => return Err(too_many()),
            None => {
                self.calls.push(Piece { index, ..Piece::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        if call.id.is_empty() {
            call.id = id;
        }
        for (key, value) in piece.members() {
            let is_known = matches!(key.as_str(), "index" | "id" | "type" | "function");
            if !is_known && !value.is_token("null") {
                call.others.retain(|(known, _)| known != key);
                call.others.push((key.clone(), value.clone()));
            }
        }
        let Some(function) = piece.get("function") else {
            return Ok(());
        };
        let name = function.get("name").and_then(Tree::as_text).unwrap_or_default();
        // Some repeat the name with each piece.
        if !name.is_empty() && call.name != name {
            let is_new = call.name.is_empty();
            call.name.push_str(&name);
            if is_new {
                out.push(ModelEvent::CallStarted { index: at, name });
            }
        }
        let more = match function.get("arguments") {
            // Some write the object itself.
            Some(object @ Tree::Object(_)) => call.arguments.push(&Tree::text(&object.write())),
            Some(text) => call.arguments.push(text),
            None => None,
        };
        out.extend(more.map(|text| ModelEvent::ArgumentsDelta { index: at, text }));
        Ok(())
    }
}
