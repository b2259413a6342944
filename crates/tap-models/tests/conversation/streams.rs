//! Answers that come in pieces.

use proptest::prelude::*;
use tap_models::{Format, ModelEvent};

use crate::told::{end, read, told};

/// Streams: the format, the events' data, what comes of it.
const STREAMS: &[(Format, &[&str], &str)] = &[
    (
        Format::OpenAiChat,
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"h"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"m"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"so \ud83d"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"\ude00"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"a","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"b","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"1e400}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
            "[DONE]",
        ],
        r#""so 😀" c=a{"n":1e400} d=b{} tool_calls 9+4 of 0 cached"#,
    ),
    // Whole calls with one index, as others write them; no `[DONE]`.
    (
        Format::OpenAiChat,
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"d","function":{"name":"a","arguments":{"n":1}}}]},"finish_reason":"stop"}]}"#,
        ],
        r#""" c=a{} d=a{"n":1} tool_calls"#,
    ),
    (
        Format::OpenAiChat,
        &[
            r#"{"choices":[{"delta":{"refusal":"I will "}}]}"#,
            r#"{"choices":[{"delta":{"refusal":"not"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        r#""I will not" refused"#,
    ),
    (Format::OpenAiChat, &[r#"{"choices":[{"delta":{"content":"so"}}]}"#], "the answer ended before it was complete"),
    (
        Format::OpenAiChat,
        &[r#"{"choices":[{"delta":{"content":"so"}}]}"#, r#"{"error":{"message":"oh","code":"server_error"}}"#],
        "the provider reports an error (server_error): oh",
    ),
    (
        Format::OpenAiChat,
        &[r#"{"choices":[{"delta":{"content":"so"}"#],
        "the provider's answer cannot be read: an event holds no JSON: {\"choices\":[{\"delta\":{\"content\":\"so\"}",
    ),
    (
        Format::OpenAiResponses,
        &[
            r#"{"type":"response.created","response":{"error":null,"output":[]}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","encrypted_content":"E"}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"so"}"#,
            r#"{"type":"response.something.new"}"#,
            r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"a"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"reasoning","id":"rs","encrypted_content":"E"},{"type":"message","id":"m","content":[{"type":"output_text","text":"so"}]},{"type":"function_call","id":"fc","call_id":"c","name":"a","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
        ],
        r#""so" c=a{} tool_calls 1+2 of 0 cached"#,
    ),
    // The last event without what was said before.
    (
        Format::OpenAiResponses,
        &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"so"}]}}"#,
            r#"{"type":"response.incomplete","response":{"output":[],"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        ],
        r#""so" length"#,
    ),
    (
        Format::OpenAiResponses,
        &[r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"oh"}}}"#],
        "the provider reports an error (server_error): oh",
    ),
    (
        Format::OpenAiResponses,
        &[r#"{"type":"error","code":"rate_limit_exceeded","message":"slow"}"#],
        "the provider reports an error (rate_limit_exceeded): slow",
    ),
    (
        Format::OpenAiResponses,
        &[r#"{"type":"response.output_text.delta","output_index":0,"delta":"so"}"#],
        "the answer ended before it was complete",
    ),
    (
        Format::Anthropic,
        &[
            r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S="}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"s"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"a","input":{}}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"u","name":"b","input":{}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1.0}"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"o"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"new_delta","text":"o"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":8}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        r#""so" t=a{"n":1.0} (the arguments for `b` are no JSON object: {"x":) tool_calls 5+8 of 2 cached"#,
    ),
    (
        Format::Anthropic,
        &[
            r#"{"type":"message_start","message":{"content":[]}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ],
        "the provider reports an error (overloaded_error): Overloaded",
    ),
    (
        Format::Anthropic,
        &[r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"s"}}"#],
        "the answer ended before it was complete",
    ),
    (
        Format::Gemini,
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"h","thought":true}],"role":"model"}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"m","thought":true}],"role":"model"}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"s"}],"role":"model"}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"o"},{"functionCall":{"name":"a","args":{"n":1e400}},"thoughtSignature":"S"}],"role":"model"}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"T"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}"#,
        ],
        r#""so" -=a{"n":1e400} tool_calls 1+2 of 0 cached"#,
    ),
    (
        Format::Gemini,
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"s"}]}}]}"#,
            r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#,
        ],
        "the provider reports an error (UNAVAILABLE): busy",
    ),
    (
        Format::Gemini,
        &[r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#],
        r#""The request is blocked: SAFETY" refused"#,
    ),
    (
        Format::Gemini,
        &[r#"{"candidates":[{"content":{"parts":[{"text":"s"}]}}]}"#],
        "the answer ended before it was complete",
    ),
];

fn stream(events: &[&str]) -> Vec<u8> {
    let mut out = String::from(": a comment\n\n");
    for data in events {
        out.push_str(&format!("event: x\r\ndata: {data}\r\n\r\n"));
    }
    out.into_bytes()
}

#[test]
fn streams_are_read() {
    for (format, events, expected) in STREAMS {
        let said = read(*format, &stream(events), || usize::MAX);
        let (end, shown) = end(&said);
        assert_eq!(end.map_or_else(ToString::to_string, told), *expected, "{events:?}");
        if let Ok(turn) = end {
            assert_eq!(turn.text, shown, "all of the text is shown, and nothing else");
        }
    }
}

#[test]
fn what_is_thought_is_kept_to_be_sent_back() {
    for (index, expected) in [
        (
            0,
            r#"{"role":"assistant","content":"so 😀","reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{\"n\":1e400}"}},{"id":"d","type":"function","function":{"name":"b","arguments":"{}"}}]}"#,
        ),
        (
            6,
            r#"[{"type":"reasoning","id":"rs","encrypted_content":"E"},{"type":"message","id":"m","content":[{"type":"output_text","text":"so"}]},{"type":"function_call","id":"fc","call_id":"c","name":"a","arguments":"{}"}]"#,
        ),
        (
            11,
            r#"[{"type":"thinking","thinking":"hm","signature":"S="},{"type":"text","text":"so"},{"type":"tool_use","id":"t","name":"a","input":{"n":1.0}},{"type":"tool_use","id":"u","name":"b","input":{}}]"#,
        ),
        (
            14,
            r#"{"role":"model","parts":[{"text":"hm","thought":true},{"text":"so"},{"functionCall":{"name":"a","args":{"n":1e400}},"thoughtSignature":"S"},{"text":"","thoughtSignature":"T"}]}"#,
        ),
    ] {
        let (format, events, _) = STREAMS[index];
        let said = read(format, &stream(events), || usize::MAX);
        let turn = end(&said).0.unwrap();
        assert_eq!(turn.verbatim.as_ref().unwrap().content, expected);
        let thought = said.iter().filter_map(|event| match event {
            ModelEvent::ThinkingDelta(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(thought.collect::<String>(), "hm");
        let started = said.iter().filter(|event| matches!(event, ModelEvent::CallStarted { .. })).count();
        assert_eq!(started, turn.calls.len());
    }
}

proptest! {
    /// However a stream is cut into pieces, the same comes of it.
    #[test]
    fn pieces_say_what_the_whole_says(cuts in prop::collection::vec(1_usize..40, 1..60)) {
        for (format, events, _) in STREAMS {
            let bytes = stream(events);
            let whole = read(*format, &bytes, || usize::MAX);
            let mut cuts = cuts.iter().cycle();
            let pieces = read(*format, &bytes, || *cuts.next().unwrap());
            prop_assert_eq!(pieces, whole);
        }
    }

    /// A stream that is cut off says so, or says what was complete; it is never taken for another answer.
    #[test]
    fn a_stream_that_breaks_off_is_told(index in 0..STREAMS.len(), part in 0.0..1.0_f64) {
        let (format, events, _) = STREAMS[index];
        let bytes = stream(events);
        let whole = read(format, &bytes, || usize::MAX);
        let end_at = (bytes.len() as f64 * part) as usize;
        let broken = read(format, &bytes[..end_at], || usize::MAX);
        if let (Ok(turn), _) = end(&broken) {
            let whole = end(&whole).0.unwrap();
            prop_assert_eq!((&turn.text, &turn.calls, &turn.stop), (&whole.text, &whole.calls, &whole.stop));
        }
    }
}
