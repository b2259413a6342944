//! The agent with real servers and a provider over HTTP, in each format.

use tap_models::Format;

use super::fake::{Fake, Way};
use super::keys::{KEY, files_with};
use super::text;
use crate::agent::servers;
use crate::support::{Scratch, talk};

const TWO_CALLS: Way =
    Way::Calls(&[("office__add", r#"{"a":12,"b":30}"#), ("office__get_weather", r#"{"city":"Beijing"}"#)]);

#[test]
fn a_run_asks_calls_and_answers_in_each_format_and_keeps_no_key() {
    for (format, variable, sent_back) in [
        (Format::OpenAiChat, "OPENAI_API_KEY", r#""tool_calls":[{"id":"call_0x""#),
        (Format::OpenAiResponses, "OPENAI_API_KEY", r#""encrypted_content":"sealed""#),
        (Format::Anthropic, "ANTHROPIC_API_KEY", r#""id":"toolu_1""#),
        (Format::Gemini, "GEMINI_API_KEY", r#""thoughtSignature":"signed""#),
    ] {
        // The last: what was shown of the second answer stands, and the run fails.
        for (ways, code, n_requests) in [
            (&[TWO_CALLS, Way::Answers][..], 0, 2),
            (&[Way::Status(529, "retry-after: 0"), TWO_CALLS, Way::CutAtOnce, Way::Answers], 0, 4),
            (&[TWO_CALLS, Way::FailsInside], 1, 2),
        ] {
            let scratch = Scratch::new();
            let fake = Fake::start(ways);
            let model = format!("{}:some-model", format.name());
            let config = servers(&scratch);
            let mut tap = scratch.tap(["agent", "--config", &config, "--yes", "--model", &model]);
            tap.args(["--base-url", &fake.base(format), "12 + 30, and Beijing?"]).env(variable, KEY);
            let output = talk(tap, b"");
            let told = format!("{} {ways:?}: {output:?}", format.name());
            assert_eq!(output.status.code(), Some(code), "{told}");
            assert!(text(&output.stdout).contains("Hello"), "{told}");
            let requests = fake.requests();
            assert_eq!(requests.len(), n_requests, "{told}");
            // Tools are offered, and what the model said goes back to it with both results.
            assert!(requests[0].body.contains("office__get_weather"), "{told}");
            let last = &requests.last().unwrap().body;
            for expected in [sent_back, "42", "Beijing: 21 degrees, sunny"] {
                assert!(last.contains(expected), "{expected}: {last}");
            }
            // The record holds the requests, in files of the database or beside them; none of them holds the key.
            assert_ne!(files_with(&scratch.path(""), "12 + 30, and Beijing?"), Vec::<String>::new());
            assert_eq!(files_with(&scratch.path(""), KEY), Vec::<String>::new());
            assert!(!text(&output.stderr).contains(KEY) && !text(&output.stdout).contains(KEY), "{told}");
        }
    }
}
