//! Which model is meant, and how it is reached.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueHint};
use http::Uri;
use tap_models::{Format, Prices};

use super::proxy::parse_url;
use super::replay::parse_seconds;

/// A model, by its provider and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelName {
    /// How it is spoken to. `None` where no provider is named: then it is at `--base-url`, in OpenAI's format.
    pub(crate) format: Option<Format>,
    /// The provider's name for it.
    pub(crate) name: String,
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, name) = match text.split_once(':') {
            Some((provider, name)) => match Format::ALL.into_iter().find(|format| format.name() == provider) {
                Some(format) => (Some(format), name),
                // Names of local models have such a sign too, as in `qwen3:8b`.
                None => (None, text),
            },
            None => (None, text),
        };
        if name.is_empty() || name.contains(|character: char| character.is_control() || character.is_whitespace()) {
            return Err("the name of a model is missing, such as openai:NAME or anthropic:NAME".into());
        }
        Ok(Self { format, name: name.into() })
    }
}

/// Which model, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct ModelOptions {
    /// The model: openai:NAME, openai-responses:NAME, anthropic:NAME or gemini:NAME; with --base-url NAME alone will do
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<ModelName>,
    /// Where the model is asked, such as http://127.0.0.1:11434/v1 [default: where the provider is]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, value_parser = parse_url, requires = "model")]
    pub(crate) base_url: Option<Uri>,
    /// The variable of the environment that holds the key [default: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY]
    #[arg(long, value_name = "VARIABLE", requires = "model")]
    pub(crate) key_env: Option<String>,
    /// For the model's provider: trust the certificates in this file (PEM) beside the system's; may be given several times
    #[arg(long, value_name = "FILE", requires = "model", value_hint = ValueHint::FilePath)]
    pub(crate) model_cacert: Vec<PathBuf>,
    /// How long the provider may say nothing, before its answer and in the middle of it
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = parse_seconds)]
    pub(crate) model_timeout: Duration,
    /// How often a request is tried again that the provider was too busy for
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) model_retries: u32,
    /// Have the answer as a whole and not as it comes
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// What a million tokens of input cost, in any currency
    #[arg(long, value_name = "PRICE", value_parser = parse_price, requires = "price_output")]
    pub(crate) price_input: Option<f64>,
    /// What a million tokens of output cost, in the same
    #[arg(long, value_name = "PRICE", value_parser = parse_price, requires = "price_input")]
    pub(crate) price_output: Option<f64>,
}

impl ModelOptions {
    /// The prices, where both are given.
    pub(crate) fn prices(&self) -> Option<Prices> {
        Some(Prices { input: self.price_input?, output: self.price_output? })
    }
}

fn parse_price(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(price) if f64::is_finite(price) && 0.0 <= price => Ok(price),
        _ => Err("a price is a number from 0 on".into()),
    }
}

/// Options of `ask`.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// What the model is told before the question
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// How much it may answer, tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) output_limit: Option<u64>,
    /// One JSON object a line for each thing that happens
    #[arg(long)]
    pub(crate) json: bool,
    /// What to ask
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_with_and_without_their_provider() {
        for (text, expected) in [
            ("openai:m", Some((Some(Format::OpenAiChat), "m"))),
            ("openai:ft:m:x", Some((Some(Format::OpenAiChat), "ft:m:x"))),
            ("openai-responses:m", Some((Some(Format::OpenAiResponses), "m"))),
            ("anthropic:m", Some((Some(Format::Anthropic), "m"))),
            ("gemini:m", Some((Some(Format::Gemini), "m"))),
            ("qwen3:8b", Some((None, "qwen3:8b"))),
            ("m", Some((None, "m"))),
            ("openai:", None),
            ("", None),
            ("a b", None),
        ] {
            let read = text.parse::<ModelName>().ok();
            assert_eq!(read, expected.map(|(format, name)| ModelName { format, name: name.into() }), "{text}");
        }
    }
}
