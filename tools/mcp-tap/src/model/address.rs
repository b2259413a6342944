//! Where a provider is asked.

use http::Uri;
use http::uri::Scheme;
use tap_models::Format;

use crate::failure::Failure;

/// Where providers are.
const fn own(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => "https://api.openai.com/v1",
        Format::Anthropic => "https://api.anthropic.com/v1",
        Format::Gemini => "https://generativelanguage.googleapis.com/v1beta",
    }
}

/// The address that a request is sent to, for an answer as a whole and as a stream.
pub(super) fn addresses(format: Format, name: &str, base: Option<&Uri>) -> Result<[Uri; 2], Failure> {
    let base = match base {
        Some(base) => checked(format, base)?,
        None => own(format).to_owned(),
    };
    let paths = match format {
        Format::OpenAiChat => ["/chat/completions".to_owned(), "/chat/completions".to_owned()],
        Format::OpenAiResponses => ["/responses".to_owned(), "/responses".to_owned()],
        Format::Anthropic => ["/messages".to_owned(), "/messages".to_owned()],
        Format::Gemini => {
            let model = name.strip_prefix("models/").unwrap_or(name);
            let model = encoded(model);
            [format!("/models/{model}:generateContent"), format!("/models/{model}:streamGenerateContent?alt=sse")]
        }
    };
    let address = |path: &String| {
        format!("{base}{path}")
            .parse()
            .map_err(|_| Failure::new("--base-url and the name of the model make no address"))
    };
    let [whole, streamed] = &paths;
    Ok([address(whole)?, address(streamed)?])
}

/// A base as it was given, without an end that is one in any case.
fn checked(format: Format, base: &Uri) -> Result<String, Failure> {
    let failed = |what: &str| Failure::new(format!("--base-url {what}")).hint("such as http://127.0.0.1:11434/v1");
    let scheme = base.scheme().filter(|scheme| **scheme == Scheme::HTTP || **scheme == Scheme::HTTPS);
    let (Some(scheme), Some(authority)) = (scheme, base.authority()) else {
        return Err(failed("is no address of HTTP"));
    };
    if authority.as_str().contains('@') {
        return Err(failed("holds a user or a password; keys are taken from the environment alone"));
    }
    if base.query().is_some() {
        return Err(failed("has a query, which a base has not"));
    }
    let path = base.path().trim_end_matches('/');
    // Both are usual for this one.
    let version = if format == Format::Anthropic && !path.ends_with("/v1") { "/v1" } else { "" };
    Ok(format!("{scheme}://{authority}{path}{version}"))
}

/// Text as a part of a path; slashes stay, for names have them.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Whether nobody on the way can read what is sent there.
pub(super) fn is_private(address: &Uri) -> bool {
    let host = address.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    is_local || address.scheme() == Some(&Scheme::HTTPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_made_of_a_base_and_a_name() {
        for (format, name, base, expected) in [
            (Format::OpenAiChat, "m", None, "https://api.openai.com/v1/chat/completions"),
            (Format::OpenAiResponses, "m", Some("http://h:1/v1/"), "http://h:1/v1/responses"),
            (Format::Anthropic, "m", None, "https://api.anthropic.com/v1/messages"),
            (Format::Anthropic, "m", Some("http://h"), "http://h/v1/messages"),
            (Format::Anthropic, "m", Some("http://h/a/v1"), "http://h/a/v1/messages"),
            (Format::Gemini, "models/m?", Some("http://h/b"), "http://h/b/models/m%3F:streamGenerateContent?alt=sse"),
        ] {
            let base = base.map(|base| base.parse().unwrap());
            assert_eq!(addresses(format, name, base.as_ref()).unwrap()[1], expected);
        }
        for (base, why) in
            [("http://u:p@h/", "password"), ("ftp://h/", "no address"), ("http://h/?x", "query"), ("h", "no address")]
        {
            let failure = addresses(Format::OpenAiChat, "m", Some(&base.parse().unwrap())).unwrap_err();
            assert!(failure.message.contains(why), "{}", failure.message);
        }
    }

    #[test]
    fn keys_go_where_nobody_reads_along() {
        for (address, expected) in [
            ("https://example.com/", true),
            ("http://127.0.0.1:1/", true),
            ("http://[::1]:1/", true),
            ("http://localhost/", true),
            ("http://example.com/", false),
            ("http://192.168.0.1/", false),
        ] {
            assert_eq!(is_private(&address.parse().unwrap()), expected, "{address}");
        }
    }
}
