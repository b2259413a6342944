//! Keys: from the environment, to the provider, and nowhere else.

use tap_models::Format;

use super::fake::{Fake, Way};
use super::text;
use crate::support::{Scratch, talk};

pub(super) const KEY: &str = "sk-a-key-that-nobody-else-may-see-0123456789";

#[test]
fn a_key_goes_to_the_provider_and_nowhere_else() {
    for (format, variable, field, expected) in [
        (Format::OpenAiChat, "OPENAI_API_KEY", "authorization", format!("Bearer {KEY}")),
        (Format::OpenAiResponses, "OPENAI_API_KEY", "authorization", format!("Bearer {KEY}")),
        (Format::Anthropic, "ANTHROPIC_API_KEY", "x-api-key", KEY.to_owned()),
        (Format::Gemini, "GEMINI_API_KEY", "x-goog-api-key", KEY.to_owned()),
        (Format::Gemini, "GOOGLE_API_KEY", "x-goog-api-key", KEY.to_owned()),
        (Format::OpenAiChat, "OTHER_KEY", "authorization", format!("Bearer {KEY}")),
    ] {
        for way in [Way::Answers, Way::SaysTheKey, Way::Status(500, "retry-after: 0"), Way::ClosesFirst] {
            let scratch = Scratch::new();
            let fake = Fake::start(&[way]);
            let model = format!("{}:m", format.name());
            let mut tap =
                scratch.tap(["ask", "--model", &model, "--base-url", &fake.base(format), "--model-retries", "1"]);
            for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"] {
                tap.env_remove(name);
            }
            if variable == "OTHER_KEY" {
                tap.args(["--key-env", variable]);
            }
            tap.args(["--json", "hi"]).env(variable, KEY).env("MCP_TAP_LOG", "trace");
            let output = talk(tap, b"");
            assert_eq!(fake.requests()[0].field(field), expected, "{output:?}");
            if way == Way::SaysTheKey {
                assert!(text(&output.stderr).contains("wrong key"), "{output:?}");
                assert!(text(&output.stderr).contains("[key]"), "{output:?}");
            }
            assert!(!text(&output.stderr).contains(KEY), "{output:?}");
            assert!(scratch.path("state/mcp-tap/log/mcp-tap.log").exists(), "there is a log to look into");
            assert_eq!(files_with(&scratch.path(""), KEY), Vec::<String>::new());
            assert!(!text(&output.stdout).contains(KEY), "{output:?}");
        }
    }
}

/// The files in a folder, however deep, that hold a text.
pub(super) fn files_with(folder: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn what_is_missing_is_told_and_not_asked_for() {
    for (arguments, expected) in [
        (&["ask", "hi"][..], "no model is named"),
        (&["ask", "--model", "m", "hi"], "nothing says who provides the model m"),
        (&["ask", "--model", "openai:m", "hi"], "the environment has no OPENAI_API_KEY"),
        (&["ask", "--model", "gemini:m", "hi"], "no GEMINI_API_KEY or GOOGLE_API_KEY"),
        (&["ask", "--model", "anthropic:m", "--key-env", "NO_SUCH_KEY", "hi"], "no NO_SUCH_KEY"),
        (&["ask", "--model", "m", "--base-url", "http://user:word@127.0.0.1:1/v1", "hi"], "holds a user or a password"),
    ] {
        let scratch = Scratch::new();
        let mut tap = scratch.tap(arguments);
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"] {
            tap.env_remove(name);
        }
        let output = talk(tap, b"");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("user:word"), "{stderr}");
    }
}
