//! What is sent.

use tap_models::{
    Call, ChatLimit, Format, ModelRequest, ModelTurn, NotACall, Part, Prices, Stop, Tool, ToolChoice, Turn, Usage,
    Verbatim, read_answer, request_body, tool,
};

fn call(id: Option<&str>, name: &str) -> Call {
    Call {
        id: id.map(str::to_owned),
        name: name.into(),
        arguments: r#"{"n":12345678901234567890123,"s":"\ud800"}"#.into(),
    }
}

fn said(text: &str, calls: Vec<Result<Call, NotACall>>) -> Turn {
    Turn::Model(ModelTurn { text: text.into(), calls, stop: Stop::End, usage: None, verbatim: None })
}

fn result(text: &str, failed: bool) -> Vec<u8> {
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":{failed}}}"#).into_bytes()
}

fn user(text: &str) -> Turn {
    Turn::User(vec![Part::Text(text.into())])
}

/// A person, calls at once of which one fails and one is not answered, and a picture.
fn conversation(with_ids: bool) -> Vec<Turn> {
    let [a, b, c] = ["c1", "c2", "c3"].map(|id| Some(id).filter(|_| with_ids));
    vec![
        Turn::User(vec![Part::Text("look".into()), Part::Resource { uri: "x:y".into(), text: "inside".into() }]),
        said("so", vec![Ok(call(a, "one")), Ok(call(b, "two")), Ok(call(c, "two"))]),
        Turn::Results(vec![(call(b, "two"), result("no", true)), (call(a, "one"), result("yes", false))]),
        Turn::User(vec![Part::Image { data: "AA==".into(), media_type: "image/png".into() }]),
    ]
}

#[test]
fn a_conversation_is_written_as_each_format_wants_it() {
    let tools = |format| vec![tool(format, Tool { name: "one", description: None, input_schema: b"{}" })];
    for format in Format::ALL {
        let turns = conversation(format != Format::Gemini);
        let tools = tools(format);
        let stop = ["stop".to_owned()];
        let request = ModelRequest {
            system: "be",
            tools: &tools,
            tool_choice: ToolChoice::Required,
            output_limit_tokens: Some(100),
            temperature: Some("0.10"),
            stop_sequences: &stop,
            ..ModelRequest::new("m", &turns)
        };
        let body = request_body(format, &request, true);
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        // Everybody's reader takes it, numbers are as they were, and there is no half of a character.
        assert!(body.contains("12345678901234567890123") && body.contains("0.10") && !body.contains("ud800"), "{body}");
        let name = format!("request_{}", format.name());
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!(name, readable(&value)));
    }
}

fn readable(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    let turns = [user("hi")];
    for (format, expected) in [
        (Format::OpenAiChat, r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#),
        (
            Format::OpenAiResponses,
            r#"{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"store":false,"include":["reasoning.encrypted_content"]}"#,
        ),
        (
            Format::Anthropic,
            r#"{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#,
        ),
        (Format::Gemini, r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#),
    ] {
        let request = ModelRequest { tool_choice: ToolChoice::Required, ..ModelRequest::new("m", &turns) };
        assert_eq!(request_body(format, &request, false), expected);
    }
    let compatible = ModelRequest {
        output_limit_tokens: Some(5),
        chat_limit: ChatLimit::MaxTokens,
        temperature: Some("warm"),
        ..ModelRequest::new("m", &turns)
    };
    let body = request_body(Format::OpenAiChat, &compatible, false);
    assert_eq!(body, r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5}"#);
}

#[test]
fn what_a_provider_said_is_sent_back_to_it_and_told_to_others() {
    for (format, answer, expected) in [
        (
            Format::OpenAiChat,
            r#"{"choices":[{"message":{"role":"assistant","content":null,"refusal":null,"annotations":[],"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{"},"extra_content":{"google":{"thought_signature":"S"}}}]}}]}"#,
            // What cannot be read is not sent back: servers that put it into a template fail.
            r#"{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","extra_content":{"google":{"thought_signature":"S"}},"function":{"name":"a","arguments":"{}"}}]}"#,
        ),
        (
            Format::OpenAiResponses,
            r#"{"output":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"E"},{"type":"reasoning","id":"rs2","summary":[]},{"type":"function_call","id":"fc","call_id":"c","name":"a","arguments":"{}","status":"completed"}]}"#,
            r#"{"type":"reasoning","summary":[],"encrypted_content":"E"},{"type":"function_call","call_id":"c","name":"a","arguments":"{}","status":"completed"}"#,
        ),
        (
            Format::Anthropic,
            r#"{"content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"text","text":""},{"type":"tool_use","id":"c","name":"a","input":{}}]}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"tool_use","id":"c","name":"a","input":{}}]}"#,
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"S"}],"role":"model"}}]}"#,
            r#"{"parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"S"}],"role":"model"}"#,
        ),
    ] {
        let turn = read_answer(format, answer.as_bytes()).unwrap();
        let results: Vec<(Call, Vec<u8>)> = turn.to_answer().map(|call| (call, result("done", false))).collect();
        let turns = [user("hi"), Turn::Model(turn), Turn::Results(results)];
        for to in Format::ALL {
            let body = request_body(to, &ModelRequest::new("m", &turns), false);
            assert_eq!(body.contains(expected), to == format, "{} to {}: {body}", format.name(), to.name());
            assert!(body.contains("done") && !body.contains("not carried out"), "{body}");
            // Nobody is told what only another provider can read.
            assert!(to == format || !body.contains("\"S\"") && !body.contains("\"E\""), "{body}");
        }
    }
}

#[test]
fn ids_that_are_missing_or_not_taken_are_made_good() {
    let turns = [
        user("hi"),
        said("", vec![Ok(call(None, "a")), Ok(call(None, "a")), Err(NotACall::NoName { id: Some("fn.x:0".into()) })]),
        Turn::Results(vec![
            (call(None, "a"), result("first", false)),
            (call(None, "a"), result("second", false)),
            (call(Some("fn.x:0"), ""), result("third", true)),
            (call(Some("nobody"), "b"), result("fourth", true)),
        ]),
    ];
    for (format, ids) in [
        (Format::OpenAiChat, ["call_1_0", "call_1_1", "fn.x:0"]),
        (Format::OpenAiResponses, ["call_1_0", "call_1_1", "fn.x:0"]),
        (Format::Anthropic, ["call_1_0", "call_1_1", "fn_x_0"]),
    ] {
        let body = request_body(format, &ModelRequest::new("m", &turns), false);
        for id in ids {
            assert_eq!(body.matches(&format!("\"{id}\"")).count(), 2, "{id} {body}");
        }
        assert!(!body.contains("fourth") && body.find("first") < body.find("second"), "{body}");
    }
    // Calls that nobody answered, at the end and before the person goes on.
    let open = [
        user("hi"),
        said("", vec![Ok(call(Some("c"), "a"))]),
        user("never mind"),
        said("", vec![Ok(call(Some("d"), "a"))]),
    ];
    for format in Format::ALL {
        let body = request_body(format, &ModelRequest::new("m", &open), false);
        assert_eq!(body.matches("not carried out").count(), 2, "{body}");
    }
    // Results may come one turn each.
    let split = [
        said("", vec![Ok(call(Some("c"), "a")), Ok(call(Some("d"), "a"))]),
        Turn::Results(vec![(call(Some("c"), "a"), result("first", false))]),
        Turn::Results(vec![(call(Some("d"), "a"), result("second", false))]),
    ];
    let body = request_body(Format::Anthropic, &ModelRequest::new("m", &split), false);
    assert!(body.contains("first") && body.contains("second") && !body.contains("not carried out"), "{body}");
}

#[test]
fn empty_turns_are_left_out_where_they_are_refused() {
    let turns = [user("hi"), said("", Vec::new()), user(" "), user("go on")];
    for (format, expected) in [
        (
            Format::OpenAiChat,
            r#""messages":[{"role":"user","content":"hi"},{"role":"user","content":" "},{"role":"user","content":"go on"}]"#,
        ),
        (
            Format::Anthropic,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"go on"}]}]"#,
        ),
    ] {
        let body = request_body(format, &ModelRequest::new("m", &turns), false);
        assert!(body.contains(expected), "{body}");
    }
    let of_another = Turn::Model(ModelTurn {
        text: "x".into(),
        calls: Vec::new(),
        stop: Stop::End,
        usage: None,
        verbatim: Some(Verbatim { format: Format::Gemini, content: "{".into() }),
    });
    let body = request_body(Format::Gemini, &ModelRequest::new("m", &[of_another]), false);
    assert_eq!(body, r#"{"contents":[{"role":"model","parts":[{"text":"x"}]}]}"#);
}

#[test]
fn what_it_costs_is_counted_by_the_prices_given() {
    let prices = Prices { input: 3.0, output: 15.0 };
    let mut all = Usage { input_tokens: 1_000, output_tokens: 100, cached_tokens: 10 };
    all += Usage { input_tokens: 1_000_000, output_tokens: u64::MAX, cached_tokens: 0 };
    assert_eq!(all, Usage { input_tokens: 1_001_000, output_tokens: u64::MAX, cached_tokens: 10 });
    let cost = prices.cost(Usage { input_tokens: 2_000_000, output_tokens: 100_000, cached_tokens: 0 });
    assert!((cost - 7.5).abs() < 1e-9, "{cost}");
}
