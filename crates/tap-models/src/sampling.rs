//! What a server asks of a model through its client, and the model's answer to it.
//!
//! Source: MCP, client/sampling, all revisions: content is one block up to 2025-06-18, and may be a list since 2025-11-25, where
//! there are tools too. The same is embedded in results in 2026-07-28.

use crate::conversation::{ModelRequest, ModelTurn, Part, Stop, ToolChoice, Turn};
use crate::tree::{Tree, number, sound};
use crate::{Call, Format, Tool, Written, tool};

/// What a server asks, as a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Its `systemPrompt`; may be empty.
    pub system: String,
    /// Its `messages`.
    pub turns: Vec<Turn>,
    /// Its `tools`, in the format asked for.
    pub tools: Vec<Written>,
    /// Its `toolChoice`.
    pub tool_choice: ToolChoice,
    /// Its `maxTokens`.
    pub output_limit_tokens: Option<u64>,
    /// Its `temperature`, as written.
    pub temperature: Option<String>,
    /// Its `stopSequences`.
    pub stop_sequences: Vec<String>,
    /// The models that it would like, by its `modelPreferences`; they need not be followed.
    pub hints: Vec<String>,
    /// What the model is not told, or not in the same words.
    pub notes: Vec<String>,
}

/// That a server's request is none of this kind: the answer is an error with the code -32602.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSampling {
    /// They are no object.
    #[error("the parameters of sampling/createMessage are no JSON object")]
    NotAnObject,
    /// There is nothing to answer.
    #[error("there are no messages in sampling/createMessage")]
    NoMessages,
    /// Whose it is is not said.
    #[error("message {0} of sampling/createMessage is neither the user's nor the assistant's")]
    Role(usize),
    /// A result is of no call.
    #[error("`{0}` of sampling/createMessage is the result of no call")]
    Result(String),
}

/// Reads the `params` of `sampling/createMessage`.
///
/// # Errors
///
/// When they are none.
pub fn sampling(format: Format, params: &[u8]) -> Result<Sampling, NotSampling> {
    let params = Tree::read(params).filter(Tree::is_object).ok_or(NotSampling::NotAnObject)?;
    let items = |member: &str| params.get(member).map(Tree::items).unwrap_or_default();
    let messages = items("messages");
    if messages.is_empty() {
        return Err(NotSampling::NoMessages);
    }
    let mut notes = Vec::new();
    let mut turns = Vec::new();
    let mut calls: Vec<Call> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = match message.get("content") {
            Some(Tree::Array(blocks)) => blocks.as_slice(),
            Some(block) => std::slice::from_ref(block),
            None => &[],
        };
        match message.get("role").and_then(Tree::as_text).as_deref() {
            Some("user") => users(blocks, &calls, &mut turns, &mut notes)?,
            Some("assistant") => {
                let turn = models(blocks, &mut notes);
                calls.extend(turn.to_answer());
                turns.push(Turn::Model(turn));
            }
            _ => return Err(NotSampling::Role(index + 1)),
        }
    }
    let mut tools = Vec::new();
    for declared in items("tools") {
        let name = declared.get("name").and_then(Tree::as_text).unwrap_or_default();
        let description = declared.get("description").and_then(Tree::as_text);
        let schema = declared.get("inputSchema").map_or_else(|| "{}".into(), Tree::write);
        let written =
            tool(format, Tool { name: &name, description: description.as_deref(), input_schema: schema.as_bytes() });
        notes.extend(written.findings.iter().map(|finding| format!("`{name}`: {}", finding.what)));
        tools.push(written);
    }
    let mode = params.get("toolChoice").and_then(|choice| choice.get("mode")?.as_text());
    let hints = params.get("modelPreferences").and_then(|preferences| preferences.get("hints"));
    Ok(Sampling {
        system: params.get("systemPrompt").and_then(Tree::as_text).unwrap_or_default(),
        turns,
        tools,
        tool_choice: match mode.as_deref() {
            Some("required") => ToolChoice::Required,
            Some("none") => ToolChoice::None,
            _ => ToolChoice::Auto,
        },
        output_limit_tokens: params.get("maxTokens").and_then(number).filter(|limit| *limit > 0),
        temperature: params.get("temperature").map(Tree::write),
        stop_sequences: items("stopSequences").iter().filter_map(Tree::as_text).collect(),
        hints: hints
            .map(Tree::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|hint| hint.get("name")?.as_text())
            .collect(),
        notes,
    })
}

impl Sampling {
    /// The request to a model.
    #[must_use]
    pub fn request<'a>(&'a self, model: &'a str) -> ModelRequest<'a> {
        ModelRequest {
            system: &self.system,
            tools: &self.tools,
            tool_choice: self.tool_choice,
            output_limit_tokens: self.output_limit_tokens,
            temperature: self.temperature.as_deref(),
            stop_sequences: &self.stop_sequences,
            ..ModelRequest::new(model, &self.turns)
        }
    }
}

fn kind(block: &Tree) -> String {
    block.get("type").and_then(Tree::as_text).unwrap_or_default()
}

fn text(block: &Tree, member: &str) -> String {
    block.get(member).and_then(Tree::as_text).unwrap_or_default()
}

/// A user's message: results, and what else is said.
fn users(blocks: &[Tree], calls: &[Call], turns: &mut Vec<Turn>, notes: &mut Vec<String>) -> Result<(), NotSampling> {
    let mut results = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        match kind(block).as_str() {
            "tool_result" => {
                let id = text(block, "toolUseId");
                let call = calls.iter().rev().find(|call| call.id.as_ref() == Some(&id));
                let call = call.ok_or(NotSampling::Result(id))?;
                // Its members are those of a result of `tools/call`.
                results.push((call.clone(), block.write().into_bytes()));
            }
            "text" => parts.push(Part::Text(text(block, "text"))),
            "image" => parts.push(Part::Image { data: text(block, "data"), media_type: text(block, "mimeType") }),
            other => {
                let note = format!("[{other} {}: not passed on]", text(block, "mimeType"));
                parts.push(Part::Text(note.clone()));
                notes.push(note);
            }
        }
    }
    if !results.is_empty() {
        turns.push(Turn::Results(results));
    }
    if !parts.is_empty() {
        turns.push(Turn::User(parts));
    }
    Ok(())
}

/// A message of the model's.
fn models(blocks: &[Tree], notes: &mut Vec<String>) -> ModelTurn {
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match kind(block).as_str() {
            "text" => said.push(text(block, "text")),
            "tool_use" => {
                let arguments = block.get("input").filter(|input| input.is_object()).map(Tree::write);
                calls.push(Ok(Call {
                    id: block.get("id").and_then(Tree::as_text),
                    name: text(block, "name"),
                    arguments: arguments.unwrap_or_else(|| "{}".into()),
                }));
            }
            other => notes.push(format!("[{other} of the model's: not passed on]")),
        }
    }
    let stop = if calls.is_empty() { Stop::End } else { Stop::ToolCalls };
    ModelTurn { text: said.join("\n"), calls, stop, usage: None, verbatim: None }
}

/// The `result` of `sampling/createMessage`: a block where the model calls nothing, which every revision takes, else a list.
/// Calls that are none are left out.
///
/// Where a model stopped at a text, this says that its turn ended.
#[must_use]
pub fn sampling_result(turn: &ModelTurn, model: &str) -> String {
    let calls = turn.calls.iter().flatten().enumerate().map(|(index, call)| {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{index}"));
        Tree::object([
            ("type", Tree::text("tool_use")),
            ("id", Tree::text(&id)),
            ("name", Tree::text(&call.name)),
            ("input", Tree::read(call.arguments.as_bytes()).unwrap_or(Tree::Object(Vec::new()))),
        ])
    });
    let calls: Vec<Tree> = calls.collect();
    let stop_reason = match &turn.stop {
        Stop::ToolCalls if calls.is_empty() => "endTurn",
        Stop::End => "endTurn",
        Stop::ToolCalls => "toolUse",
        Stop::Length => "maxTokens",
        Stop::Refused => "refusal",
        Stop::Other(word) => word,
    };
    let said = Tree::object([("type", Tree::text("text")), ("text", Tree::text(&turn.text))]);
    let content = match (calls.is_empty(), turn.text.is_empty()) {
        (true, _) => said,
        (false, true) => Tree::Array(calls),
        (false, false) => Tree::Array(std::iter::once(said).chain(calls).collect()),
    };
    let result = Tree::object([
        ("role", Tree::text("assistant")),
        ("content", content),
        ("model", Tree::text(model)),
        ("stopReason", Tree::text(stop_reason)),
    ]);
    sound(result.write())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NotACall, request_body};

    #[test]
    fn every_revision_s_request_is_a_request_to_a_model() {
        let one = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":7,"systemPrompt":"be","temperature":0.50,"stopSequences":["x"],"modelPreferences":{"hints":[{"name":"small"}]}}"#;
        let many = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a?"},{"type":"audio","data":"AA==","mimeType":"audio/wav"}]},{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"add","input":{"n":1e400}},{"type":"tool_use","id":"t2","name":"add","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"t2","content":[{"type":"text","text":"two"}],"isError":true},{"type":"tool_result","toolUseId":"t1","content":[{"type":"text","text":"one"}]}]}],"maxTokens":9,"tools":[{"name":"add","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"}}"#;
        for (format, params, expected) in [
            (
                Format::OpenAiChat,
                one,
                r#"{"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"hi"}],"max_completion_tokens":7,"temperature":0.50,"stop":["x"]}"#,
            ),
            (
                Format::Anthropic,
                many,
                r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a?"},{"type":"text","text":"[audio audio/wav: not passed on]"}]},{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"add","input":{"n":1e400}},{"type":"tool_use","id":"t2","name":"add","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"two"}],"is_error":true}]}],"tools":[{"name":"add","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"any"}}"#,
            ),
        ] {
            let sampling = sampling(format, params.as_bytes()).unwrap();
            assert_eq!(request_body(format, &sampling.request("m"), false), expected);
        }
        let told = sampling(Format::Gemini, one.as_bytes()).unwrap();
        assert_eq!((told.hints, told.notes), (vec!["small".to_owned()], Vec::new()));
        assert_eq!(sampling(Format::Gemini, many.as_bytes()).unwrap().notes[0], "[audio audio/wav: not passed on]");
    }

    #[test]
    fn what_is_no_request_is_told() {
        for (params, expected) in [
            ("[]", NotSampling::NotAnObject),
            ("{", NotSampling::NotAnObject),
            (r#"{"messages":[]}"#, NotSampling::NoMessages),
            (
                r#"{"messages":[{"role":"user","content":{"type":"text","text":""}},{"role":"system"}]}"#,
                NotSampling::Role(2),
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"t","content":[]}]}]}"#,
                NotSampling::Result("t".into()),
            ),
        ] {
            assert_eq!(sampling(Format::Anthropic, params.as_bytes()), Err(expected), "{params}");
        }
    }

    #[test]
    fn an_answer_is_a_result_of_every_revision() {
        let call = |id: Option<&str>| {
            Ok(Call { id: id.map(str::to_owned), name: "a".into(), arguments: r#"{"n":1.0}"#.into() })
        };
        let wrong = || Err(NotACall::NoName { id: None });
        for (text, calls, stop, expected) in [
            ("hi", vec![], Stop::End, r#""content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn""#),
            (
                "",
                vec![wrong()],
                Stop::ToolCalls,
                r#""content":{"type":"text","text":""},"model":"m","stopReason":"endTurn""#,
            ),
            (
                "so",
                vec![call(Some("c")), wrong(), call(None)],
                Stop::ToolCalls,
                r#""content":[{"type":"text","text":"so"},{"type":"tool_use","id":"c","name":"a","input":{"n":1.0}},{"type":"tool_use","id":"call_1","name":"a","input":{"n":1.0}}],"model":"m","stopReason":"toolUse""#,
            ),
            ("h", vec![], Stop::Length, r#""stopReason":"maxTokens""#),
            ("no", vec![], Stop::Refused, r#""stopReason":"refusal""#),
            ("", vec![], Stop::Other("pause_turn".into()), r#""stopReason":"pause_turn""#),
        ] {
            let turn = ModelTurn { text: text.into(), calls, stop, usage: None, verbatim: None };
            let result = sampling_result(&turn, "m");
            assert!(result.starts_with(r#"{"role":"assistant","#) && result.contains(expected), "{result}");
        }
    }
}
