//! Models over HTTP: each format against a provider of ours, which fails as providers do.

mod agent;
pub(crate) mod fake;
mod keys;
mod words;

use std::process::Output;

use tap_models::Format;

use self::fake::{Fake, Way};
use crate::http::tls::serve_few;
use crate::support::{Scratch, talk};

/// What is asked with `ask`, beside the model.
const FAST: [&str; 4] = ["--model-retries", "2", "--model-timeout", "2s"];

/// Asks the provider, and waits for the end.
fn ask(scratch: &Scratch, fake: &Fake, format: Format, more: &[&str]) -> Output {
    let model = format!("{}:some-model", format.name());
    let mut tap = scratch.tap(["ask", "--model", &model, "--base-url", &fake.base(format)]);
    for variable in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        tap.env_remove(variable);
    }
    tap.args(FAST).args(more).arg("what is the weather?");
    talk(tap, b"")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a provider does, one way a request; the exit code; what is told on stdout, and what on stderr; how many requests come.
type Row<'a> = (&'a [Way], i32, &'a str, &'a str, usize);

#[test]
fn each_format_is_read_however_its_provider_fails() {
    let table: &[Row<'_>] = &[
        (&[Way::Answers], 0, "Hello, world\n", "11 tokens in, 7 out", 1),
        (&[Way::AnswersAsAWhole], 0, "Hello, world\n", "11 tokens in, 7 out", 1),
        // What passes is tried again.
        (&[Way::Status(429, "retry-after: 0"), Way::Answers], 0, "Hello, world\n", "tried again in 0.0 s", 2),
        (
            &[Way::Status(500, "retry-after-ms: 1"), Way::Status(529, "retry-after: 0"), Way::Answers],
            0,
            "Hello, world\n",
            "answers 529",
            3,
        ),
        (
            &[Way::Status(429, "retry-after: Tue, 28 Jul 2020 10:00:00 GMT"), Way::Answers],
            0,
            "Hello, world\n",
            "0.0 s",
            2,
        ),
        (&[Way::Status(503, "retry-after: 0")], 2, "", "answers 503: no, not now", 3),
        (&[Way::Page(502, "retry-after: 0"), Way::Answers], 0, "Hello, world\n", "a web page: Bad Gateway", 2),
        (&[Way::ClosesFirst, Way::Answers], 0, "Hello, world\n", "tried again", 2),
        // What does not is told at once, and so is a wait that is too long.
        (&[Way::Status(429, "retry-after: 3600")], 2, "", "answers 429: no, not now", 1),
        (&[Way::Status(400, "")], 2, "", "answers 400: no, not now", 1),
        (&[Way::Page(200, "")], 2, "", "it is text/html", 1),
        (&[Way::WrongType], 2, "", "it is text/plain", 1),
        (&[Way::SaysNothing], 2, "", "nothing came from the provider for 2 s", 1),
        (&[Way::Redirects], 2, "", "answers 302", 1),
        // Once something was shown, nothing is tried again.
        (&[Way::Cut], 2, "Hello", "the answer ended before it was complete", 1),
        (&[Way::EndsEarly], 2, "Hello", "the answer ended before it was complete", 1),
        (&[Way::BrokenChunk], 2, "Hello", "the answer ended before it was complete", 1),
        (&[Way::BrokenEvent], 2, "Hello", "an event holds no JSON", 1),
        (&[Way::Stalls], 2, "Hello", "nothing came from the provider for 2 s", 1),
        (&[Way::FailsInside], 2, "Hello", "too much to do", 1),
        // Before that it is.
        (&[Way::FailsAtOnce, Way::Answers], 0, "Hello, world\n", "too much to do", 2),
        (&[Way::CutAtOnce, Way::Answers], 0, "Hello, world\n", "ended before it was complete", 2),
    ];
    // Several at once, for some of them wait.
    std::thread::scope(|scope| {
        for format in Format::ALL {
            scope.spawn(move || {
                for (ways, code, stdout, stderr, n_requests) in table {
                    let scratch = Scratch::new();
                    let fake = Fake::start(ways);
                    let output = ask(&scratch, &fake, format, &[]);
                    let told = format!("{} {ways:?}: {output:?}", format.name());
                    assert_eq!(output.status.code(), Some(*code), "{told}");
                    assert_eq!(text(&output.stdout), *stdout, "{told}");
                    assert!(text(&output.stderr).contains(stderr), "{told}");
                    assert_eq!(fake.requests().len(), *n_requests, "{told}");
                }
            });
        }
    });
}

#[test]
fn requests_are_those_of_the_format() {
    for (format, path, body) in [
        (
            Format::OpenAiChat,
            "/v1/chat/completions",
            r#"{"model":"some-model","messages":[{"role":"system","content":"be"},{"role":"user","content":"what is the weather?"}],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}"#,
        ),
        (
            Format::OpenAiResponses,
            "/v1/responses",
            r#"{"model":"some-model","instructions":"be","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"what is the weather?"}]}],"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":9,"stream":true}"#,
        ),
        (
            Format::Anthropic,
            "/v1/messages",
            r#"{"model":"some-model","max_tokens":9,"system":"be","messages":[{"role":"user","content":[{"type":"text","text":"what is the weather?"}]}],"stream":true}"#,
        ),
        (
            Format::Gemini,
            "/v1beta/models/some-model:streamGenerateContent?alt=sse",
            r#"{"contents":[{"role":"user","parts":[{"text":"what is the weather?"}]}],"systemInstruction":{"parts":[{"text":"be"}]},"generationConfig":{"maxOutputTokens":9}}"#,
        ),
    ] {
        let scratch = Scratch::new();
        let fake = Fake::start(&[Way::Answers]);
        let output = ask(&scratch, &fake, format, &["--system", "be", "--output-limit", "9", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let requests = fake.requests();
        assert_eq!((requests[0].target.as_str(), requests[0].body.as_str()), (path, body));
        assert_eq!(requests[0].field("content-type"), "application/json");
        let version = if format == Format::Anthropic { "2023-06-01" } else { "" };
        assert_eq!(requests[0].field("anthropic-version"), version);
        // What was sent and received can be looked at.
        let stdout = text(&output.stdout);
        assert!(stdout.starts_with(&format!("{{\"sent\":{body}}}\n{{\"received\":")), "{stdout}");
    }
}

#[test]
fn an_answer_can_be_had_as_a_whole_and_be_paid_for() {
    for format in Format::ALL {
        let scratch = Scratch::new();
        let fake = Fake::start(&[Way::Answers]);
        let prices = ["--no-stream", "--price-input", "1000", "--price-output", "100000"];
        let output = ask(&scratch, &fake, format, &prices);
        assert_eq!(text(&output.stdout), "Hello, world\n", "{output:?}");
        // 11 × 0.001 + 7 × 0.1
        assert!(text(&output.stderr).contains("11 tokens in, 7 out, 0.7110"), "{output:?}");
        let request = &fake.requests()[0];
        assert!(!request.body.contains("stream") && !request.target.contains("stream"), "{request:?}");
        assert!(ask(&scratch, &fake, format, &["--price-input", "1"]).status.code() == Some(2));
    }
}

#[test]
fn calls_of_several_tools_at_once_are_read() {
    const CALLS: &[(&str, &str)] = &[("add", r#"{"a":1.0,"b":"é"}"#), ("get_time", "{}"), ("add", r#"{"a":1e400}"#)];
    for format in Format::ALL {
        for more in [&["--json"][..], &["--json", "--no-stream"]] {
            let scratch = Scratch::new();
            let fake = Fake::start(&[Way::Calls(CALLS)]);
            let output = ask(&scratch, &fake, format, more);
            // Nobody is there to make them.
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let stdout = text(&output.stdout);
            let done: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
            let calls: Vec<(&str, &str)> = done["calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|call| (call["name"].as_str().unwrap(), call["arguments"].as_str().unwrap()))
                .collect();
            assert_eq!(calls, CALLS, "{stdout}");
            assert_eq!((done["done"].as_str(), done["output_tokens"].as_u64()), (Some("tool_calls"), Some(7)));
        }
    }
}

#[test]
fn a_model_that_seals_no_reasoning_is_asked_without() {
    let scratch = Scratch::new();
    let fake = Fake::start(&[Way::RefusesToSeal, Way::Answers]);
    let output = ask(&scratch, &fake, Format::OpenAiResponses, &[]);
    assert_eq!(text(&output.stdout), "Hello, world\n", "{output:?}");
    let asked: Vec<bool> = fake.requests().iter().map(|request| request.body.contains("encrypted")).collect();
    assert_eq!(asked, [true, false]);
}

#[test]
fn a_provider_that_is_not_there_is_tried_and_told() {
    let scratch = Scratch::new();
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base = format!("http://{address}/v1");
    let tap = scratch.tap(["ask", "--model", "m", "--base-url", &base, "--model-retries", "1", "hi"]);
    let output = talk(tap, b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.matches("cannot connect").count(), 2, "{stderr}");
    assert_eq!(stderr.matches("tried again in").count(), 1, "{stderr}");
}

#[test]
fn whoever_stops_waiting_lets_go_of_the_request() {
    for way in [Way::SaysNothing, Way::Stalls] {
        let scratch = Scratch::new();
        let fake = Fake::start(&[way]);
        let base = fake.base(Format::Anthropic);
        let mut child =
            crate::support::piped(scratch.tap(["ask", "--model", "anthropic:m", "--base-url", &base, "hi"]))
                .spawn()
                .unwrap();
        crate::support::wait_until("the request is there", || !fake.requests().is_empty());
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        crate::support::wait_until("the provider sees that nobody waits", || fake.n_left() == 1);
        assert_eq!(crate::support::wait_for(&mut child).code(), Some(2));
    }
}

#[test]
fn a_provider_is_trusted_by_the_certificates_that_are_named() {
    let scratch = Scratch::new();
    let server = serve_few(&scratch, "localhost", false, &["http/1.1"], 1);
    let base = format!("https://localhost:{}/v1", server.address.port());
    let authority = server.authority.display().to_string();
    for (more, expected) in [
        (&["--model-retries", "0"][..], "its issuer is unknown; --model-cacert FILE or SSL_CERT_FILE"),
        // It is understood, and says something else than a provider.
        (&["--model-cacert", &authority], "the provider's answer cannot be read"),
    ] {
        let mut tap = scratch.tap(["ask", "--model", "m", "--base-url", &base, "hi"]);
        let stderr = text(
            &talk(
                {
                    tap.args(more);
                    tap
                },
                b"",
            )
            .stderr,
        );
        assert!(stderr.contains(expected), "{stderr}");
    }
}
