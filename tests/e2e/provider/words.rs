//! What the provider says, in each format: `Hello, world`, of 11 tokens asked and 7 answered.

use tap_models::Format;

fn named(event: &str, data: &str) -> String {
    format!("event: {event}\ndata: {data}\n\n")
}

fn data(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// The events of a stream.
pub(super) fn events(format: Format) -> Vec<String> {
    match format {
        Format::OpenAiChat => vec![
            data(
                r#"{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            ),
            data(r#"{"id":"x","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}"#),
            ": keep-alive\n\n".into(),
            data(r#"{"id":"x","choices":[{"index":0,"delta":{"content":", world"},"finish_reason":null}]}"#),
            data(r#"{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#),
            data(r#"{"id":"x","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}"#),
            data("[DONE]"),
        ],
        Format::OpenAiResponses => vec![
            named(
                "response.created",
                r#"{"type":"response.created","response":{"id":"r","status":"in_progress","error":null,"output":[]}}"#,
            ),
            named(
                "response.output_item.added",
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","content":[]}}"#,
            ),
            named(
                "response.output_text.delta",
                r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}"#,
            ),
            named(
                "response.output_text.delta",
                r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":", world"}"#,
            ),
            named("response.completed", &format!(r#"{{"type":"response.completed","response":{}}}"#, whole(format))),
        ],
        Format::Anthropic => vec![
            named(
                "message_start",
                r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":11,"output_tokens":1}}}"#,
            ),
            named(
                "content_block_start",
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            ),
            named("ping", r#"{"type":"ping"}"#),
            named(
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
            ),
            named(
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":", world"}}"#,
            ),
            named("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
            named(
                "message_delta",
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}"#,
            ),
            named("message_stop", r#"{"type":"message_stop"}"#),
        ],
        Format::Gemini => vec![
            format!(
                "data: {}\r\n\r\n",
                r#"{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}]}"#
            ),
            format!(
                "data: {}\r\n\r\n",
                r#"{"candidates":[{"content":{"parts":[{"text":", world"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}}"#
            ),
        ],
    }
}

/// The answer as a whole.
pub(super) fn whole(format: Format) -> String {
    match format {
        Format::OpenAiChat => r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, world","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}"#,
        Format::OpenAiResponses => r#"{"id":"r","object":"response","status":"completed","error":null,"output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hello, world","annotations":[]}]}],"usage":{"input_tokens":11,"output_tokens":7,"total_tokens":18}}"#,
        Format::Anthropic => r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Hello, world"}],"stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":7}}"#,
        Format::Gemini => r#"{"candidates":[{"content":{"parts":[{"text":"Hello, world"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}}"#,
    }
    .into()
}

/// The body of an answer that says no.
pub(super) fn failure(format: Format, status: u16, message: &str) -> String {
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => {
            format!(r#"{{"error":{{"message":"{message}","type":"some_error","param":null,"code":null}}}}"#)
        }
        Format::Anthropic => format!(r#"{{"type":"error","error":{{"type":"some_error","message":"{message}"}}}}"#),
        Format::Gemini => format!(r#"[{{"error":{{"code":{status},"message":"{message}","status":"SOME_STATUS"}}}}]"#),
    }
}

/// An error that comes where an event should be. It is one that passes.
pub(super) fn error_event(format: Format) -> String {
    match format {
        Format::OpenAiChat => data(r#"{"error":{"message":"too much to do","type":"server_error","code":null}}"#),
        Format::OpenAiResponses => {
            named("error", r#"{"type":"error","code":"server_error","message":"too much to do","param":null}"#)
        }
        Format::Anthropic => {
            named("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"too much to do"}}"#)
        }
        Format::Gemini => data(r#"{"error":{"code":503,"message":"too much to do","status":"UNAVAILABLE"}}"#),
    }
}

/// An answer as a whole that calls tools, all at once: names and arguments.
pub(super) fn calling(format: Format, calls: &[(&str, &str)]) -> String {
    let each = |form: fn(usize, &str, &str) -> String| {
        let each: Vec<String> =
            calls.iter().enumerate().map(|(index, (name, arguments))| form(index, name, arguments)).collect();
        each.join(",")
    };
    match format {
        Format::OpenAiChat => {
            let calls = each(|index, name, arguments| {
                let arguments = serde_json::Value::from(arguments);
                format!(
                    r#"{{"id":"call_{index}x","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}"#
                )
            });
            format!(
                r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":11,"completion_tokens":7}}}}"#
            )
        }
        Format::OpenAiResponses => {
            let calls = each(|index, name, arguments| {
                let arguments = serde_json::Value::from(arguments);
                format!(
                    r#"{{"type":"function_call","id":"fc_{index}","call_id":"call_{index}x","name":"{name}","arguments":{arguments},"status":"completed"}}"#
                )
            });
            format!(
                r#"{{"id":"r","status":"completed","error":null,"output":[{{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"sealed"}},{calls}],"usage":{{"input_tokens":11,"output_tokens":7}}}}"#
            )
        }
        Format::Anthropic => {
            let calls = each(|index, name, arguments| {
                format!(r#"{{"type":"tool_use","id":"toolu_{index}","name":"{name}","input":{arguments}}}"#)
            });
            format!(
                r#"{{"type":"message","role":"assistant","content":[{calls}],"stop_reason":"tool_use","usage":{{"input_tokens":11,"output_tokens":7}}}}"#
            )
        }
        Format::Gemini => {
            let calls = each(|_, name, arguments| {
                format!(r#"{{"functionCall":{{"name":"{name}","args":{arguments}}},"thoughtSignature":"signed"}}"#)
            });
            format!(
                r#"{{"candidates":[{{"content":{{"role":"model","parts":[{calls}]}},"finishReason":"STOP","index":0}}],"usageMetadata":{{"promptTokenCount":11,"candidatesTokenCount":7}}}}"#
            )
        }
    }
}

/// The same as a stream. Pieces of the arguments come in turns, where the format lets them.
pub(super) fn calling_events(format: Format, calls: &[(&str, &str)]) -> Vec<String> {
    let numbered = || calls.iter().enumerate();
    // Each is cut in the middle, between characters.
    let halves = |arguments: &str| {
        let (first, second) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
        [first, second].map(|half| serde_json::Value::from(half).to_string())
    };
    let mut events = Vec::new();
    match format {
        Format::OpenAiChat => {
            for (index, (name, _)) in numbered() {
                events.push(data(&format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"id":"call_{index}x","type":"function","function":{{"name":"{name}","arguments":""}}}}]}}}}]}}"#)));
            }
            for half in 0..2 {
                for (index, (_, arguments)) in numbered() {
                    let piece = &halves(arguments)[half];
                    events.push(data(&format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]}}}}]}}"#)));
                }
            }
            events.push(data(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#));
            events.push(data(r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}"#));
            events.push(data("[DONE]"));
        }
        Format::OpenAiResponses => {
            for (index, (name, arguments)) in numbered() {
                events.push(data(&format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","call_id":"call_{index}x","name":"{name}","arguments":""}}}}"#)));
                for piece in halves(arguments) {
                    events.push(data(&format!(
                        r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"delta":{piece}}}"#
                    )));
                }
            }
            events.push(data(&format!(r#"{{"type":"response.completed","response":{}}}"#, calling(format, calls))));
        }
        Format::Anthropic => {
            events.push(data(
                r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":11,"output_tokens":1}}}"#,
            ));
            for (index, (name, _)) in numbered() {
                events.push(data(&format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"toolu_{index}","name":"{name}","input":{{}}}}}}"#)));
            }
            for half in 0..2 {
                for (index, (_, arguments)) in numbered() {
                    let piece = &halves(arguments)[half];
                    events.push(data(&format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#)));
                }
            }
            events.push(data(
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
            ));
            events.push(data(r#"{"type":"message_stop"}"#));
        }
        // Calls come whole.
        Format::Gemini => events.push(data(&calling(format, calls))),
    }
    events
}
