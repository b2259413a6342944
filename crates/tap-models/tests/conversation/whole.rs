//! Answers that come as a whole, and failures.

use tap_models::{Format, read_answer, read_failure};

use crate::told::told;

#[test]
fn answers_are_read() {
    let table: &[(Format, &str, &str)] = &[
        (
            Format::OpenAiChat,
            r#"{"choices":[{"message":{"role":"assistant","content":"hi","refusal":null,"annotations":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}"#,
            r#""hi" end 3+2 of 1 cached"#,
        ),
        (
            Format::OpenAiChat,
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{\"n\":1e400}"}},{"id":"d","function":{"name":"b","arguments":"[1"}}]},"finish_reason":"stop"}]}"#,
            r#""" c=a{"n":1e400} (the arguments for `b` are no JSON object: [1) tool_calls"#,
        ),
        (
            Format::OpenAiChat,
            r#"{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}"#,
            r#""no" refused"#,
        ),
        (Format::OpenAiChat, r#"{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}"#, r#""x" length"#),
        (Format::OpenAiChat, r#"{"choices":[{"message":{"content":"x"},"finish_reason":"odd"}]}"#, r#""x" odd"#),
        (Format::OpenAiChat, r#"{"choices":[]}"#, "the provider's answer cannot be read: there is no choice in it"),
        (Format::OpenAiChat, "<html>", "the provider's answer cannot be read: it is no JSON"),
        (
            Format::OpenAiChat,
            r#"{"error":{"message":"too busy","type":"server_error","code":null}}"#,
            "the provider reports an error (server_error): too busy",
        ),
        (
            Format::OpenAiResponses,
            r#"{"status":"completed","error":null,"output":[{"type":"reasoning","id":"rs"},{"type":"message","content":[{"type":"output_text","text":"h"},{"type":"output_text","text":"i"}]},{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}],"usage":{"input_tokens":5,"output_tokens":6,"input_tokens_details":{"cached_tokens":4}}}"#,
            r#""hi" c=a{} tool_calls 5+6 of 4 cached"#,
        ),
        (
            Format::OpenAiResponses,
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#,
            r#""" length"#,
        ),
        (
            Format::OpenAiResponses,
            r#"{"output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}"#,
            r#""no" refused"#,
        ),
        (
            Format::OpenAiResponses,
            r#"{"status":"failed","error":{"code":"server_error","message":"oh"},"output":[]}"#,
            "the provider reports an error (server_error): oh",
        ),
        (
            Format::Anthropic,
            r#"{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"a","input":{"n":1.0}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"cache_read_input_tokens":10,"cache_creation_input_tokens":100,"output_tokens":7}}"#,
            r#""hi" t=a{"n":1.0} tool_calls 111+7 of 10 cached"#,
        ),
        (Format::Anthropic, r#"{"content":[],"stop_reason":"refusal"}"#, r#""" refused"#),
        (Format::Anthropic, r#"{"content":[],"stop_reason":"pause_turn"}"#, r#""" pause_turn"#),
        (
            Format::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "the provider reports an error (overloaded_error): Overloaded",
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"hi"},{"functionCall":{"name":"a","args":{}},"thoughtSignature":"s"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":1}}"#,
            r#""hi" -=a{} tool_calls 4+5 of 1 cached"#,
        ),
        (Format::Gemini, r#"{"candidates":[{"finishReason":"SAFETY"}]}"#, r#""" refused"#),
        (Format::Gemini, r#"{"promptFeedback":{"blockReason":"OTHER"}}"#, r#""The request is blocked: OTHER" refused"#),
        (
            Format::Gemini,
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            r#""" MALFORMED_FUNCTION_CALL"#,
        ),
        (Format::Gemini, "{}", "the provider's answer cannot be read: there is no candidate in it"),
    ];
    for (format, body, expected) in table {
        let said = read_answer(*format, body.as_bytes());
        assert_eq!(said.map_or_else(|failure| failure.to_string(), |turn| told(&turn)), *expected, "{body}");
    }
}

#[test]
fn failures_are_told_whatever_they_are_written_in() {
    let long = "x".repeat(600);
    let clipped = format!("the provider answers 500: {}…", "x".repeat(500));
    for (status, body, expected) in [
        (
            401,
            r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            "the provider answers 401: bad key",
        ),
        (404, r#"{"error":"model not found"}"#, "the provider answers 404: model not found"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "the provider answers 529: Overloaded",
        ),
        (400, r#"[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]"#, "the provider answers 400: no"),
        (422, r#"{"detail":[{"loc":"x"}]}"#, r#"the provider answers 422: {"detail":[{"loc":"x"}]}"#),
        (
            502,
            "<html><head><title>502 Bad Gateway</title></head>",
            "the provider answers 502: a web page: 502 Bad Gateway",
        ),
        (503, "", "the provider answers 503: it does not say why"),
        (500, long.as_str(), clipped.as_str()),
    ] {
        assert_eq!(read_failure(status, body.as_bytes()).to_string(), expected);
    }
}
