//! What a model said, as a text that can be read again: for records of runs.

use serde_json::{Map, Value, json};
use tap_models::{Call, Format, ModelTurn, NotACall, Stop, Usage, Verbatim};

/// Writes a turn as a JSON object. Arguments of calls stay the text that the model wrote.
#[must_use]
pub fn write_turn(turn: &ModelTurn) -> String {
    let mut object = Map::new();
    object.insert("text".into(), json!(turn.text));
    if !turn.calls.is_empty() {
        object.insert("calls".into(), turn.calls.iter().map(write_call).collect());
    }
    object.insert("stop".into(), json!(turn.stop.name()));
    if let Some(usage) = turn.usage {
        object.insert(
            "usage".into(),
            json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cached_tokens": usage.cached_tokens}),
        );
    }
    if let Some(verbatim) = &turn.verbatim {
        object.insert("verbatim".into(), json!({"format": verbatim.format.name(), "content": verbatim.content}));
    }
    Value::Object(object).to_string()
}

fn write_call(call: &Result<Call, NotACall>) -> Value {
    match call {
        Ok(call) => json!({"id": call.id, "name": call.name, "arguments": call.arguments}),
        Err(wrong) => {
            let told = wrong.to_answer();
            json!({"id": told.id, "name": told.name, "arguments": told.arguments, "wrong": wrong.to_string()})
        }
    }
}

/// Reads what [`write_turn`] wrote. `None` where it is something else.
#[must_use]
pub fn read_turn(text: &[u8]) -> Option<ModelTurn> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let object = value.as_object()?;
    let text = |value: &Value, member: &str| value.get(member).and_then(Value::as_str).map(str::to_owned);
    let calls = object.get("calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| {
        let (id, name) = (text(call, "id"), text(call, "name")?);
        let arguments = text(call, "arguments")?;
        Some(match call.get("wrong") {
            None => Ok(Call { id, name, arguments }),
            Some(_) => Err(NotACall::Arguments { id, name, arguments }),
        })
    };
    let number = |member: &str| object.get("usage")?.get(member)?.as_u64();
    let usage = number("input_tokens").map(|input_tokens| Usage {
        input_tokens,
        output_tokens: number("output_tokens").unwrap_or_default(),
        cached_tokens: number("cached_tokens").unwrap_or_default(),
    });
    let verbatim = object.get("verbatim").and_then(|verbatim| {
        let name = text(verbatim, "format")?;
        let format = Format::ALL.into_iter().find(|format| format.name() == name)?;
        Some(Verbatim { format, content: text(verbatim, "content")? })
    });
    let stop = match object.get("stop")?.as_str()? {
        "end" => Stop::End,
        "tool_calls" => Stop::ToolCalls,
        "length" => Stop::Length,
        "refused" => Stop::Refused,
        word => Stop::Other(word.into()),
    };
    Some(ModelTurn {
        text: object.get("text")?.as_str()?.to_owned(),
        calls: calls.iter().map(call).collect::<Option<_>>()?,
        stop,
        usage,
        verbatim,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_as_it_was_written() {
        let call = Call { id: Some("c1".into()), name: "add".into(), arguments: r#"{"a":1.10,"b":1e400}"#.into() };
        for turn in [
            ModelTurn { text: "ü\n".into(), calls: Vec::new(), stop: Stop::End, usage: None, verbatim: None },
            ModelTurn {
                text: String::new(),
                calls: vec![Ok(call), Ok(Call { id: None, name: "x".into(), arguments: "{}".into() })],
                stop: Stop::ToolCalls,
                usage: Some(Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3 }),
                verbatim: Some(Verbatim { format: Format::Gemini, content: r#"{"parts":[]}"#.into() }),
            },
            ModelTurn {
                text: "x".into(),
                calls: Vec::new(),
                stop: Stop::Other("pause_turn".into()),
                usage: None,
                verbatim: None,
            },
        ] {
            assert_eq!(read_turn(write_turn(&turn).as_bytes()), Some(turn));
        }
        for text in ["", "[]", "{}", r#"{"text":"x"}"#, r#"{"text":"x","stop":"end","calls":[{}]}"#] {
            assert_eq!(read_turn(text.as_bytes()), None, "{text}");
        }
    }
}
