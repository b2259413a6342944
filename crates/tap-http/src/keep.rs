//! What of a head may be kept: values of fields that are known to be no secrets, and stand-ins for the rest.
//!
//! A list of what is secret is never complete, so this is a list of what is not. A stand-in is made with a key of this
//! process alone: equal values have equal stand-ins, and nobody can find the value again.

use std::borrow::Cow;

use http::Uri;
use ring::hmac;
use ring::rand::SystemRandom;

/// Fields whose values are kept as they are, in lower case and in order.
const KEPT: &[&str] = &[
    "accept",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "connection",
    "date",
    "etag",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "last-event-id",
    "last-modified",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "origin",
    "retry-after",
    "server",
    "server-timing",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "x-accel-buffering",
    "x-content-type-options",
    "x-frame-options",
    "x-powered-by",
    "x-request-id",
];

/// What the names of others begin with whose values are kept.
const KEPT_BEGINNINGS: &[&str] =
    &["accept-", "access-control-", "content-", "mcp-param-", "mcp-tap-", "sec-fetch-", "x-ratelimit-"];

/// Stands for a value that is not kept.
const REDACTED: &str = "redacted";

/// A part of a path that is as long as this may be a secret: 16 random bytes in base64 are 22 characters, in hexadecimal 32.
const LONG_PART: usize = 20;

/// The same of one with digits in it.
const LONG_PART_WITH_DIGITS: usize = 12;

/// Long parts of paths that are names (RFC 9728, RFC 8414, OpenID Connect Discovery).
const LONG_NAMES: &[&str] = &["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"];

/// Parameters of challenges whose values are kept: what a client is told to ask for, and where.
///
/// Source: RFC 6750, 3; RFC 9728, 5.1; RFC 9449, 7.1.
const KEPT_PARAMETERS: &[&str] =
    &["algs", "charset", "error", "error_description", "error_uri", "realm", "resource_metadata", "scope"];

/// Decides what of a head is kept.
#[derive(Debug)]
pub struct Keeper {
    key: hmac::Key,
}

impl Keeper {
    /// A keeper with a key of its own.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn new() -> Result<Self, ring::error::Unspecified> {
        Ok(Self { key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())? })
    }

    /// What is kept of a field's value.
    pub(crate) fn value<'a>(&self, name: &str, value: &'a [u8]) -> Cow<'a, [u8]> {
        match name {
            "mcp-session-id" => Cow::Owned(self.session_id(value)),
            "location" | "content-location" => Cow::Owned(self.address(value)),
            "www-authenticate" | "proxy-authenticate" => Cow::Owned(self.challenges(value)),
            // Neither has a user and a password, unless somebody made a mistake.
            "host" | "origin" if value.contains(&b'@') => Cow::Borrowed(REDACTED.as_bytes()),
            _ if is_kept(name) => Cow::Borrowed(value),
            _ => Cow::Borrowed(REDACTED.as_bytes()),
        }
    }

    /// What is kept of a request's target.
    pub(crate) fn target(&self, uri: &Uri) -> String {
        let mut target = self.path(uri.path());
        if let Some(query) = uri.query() {
            target.push('?');
            target.push_str(&self.query(query));
        }
        target
    }

    /// What may be told of a server's URL: without user, password, and the values of its query.
    #[must_use]
    pub fn url(&self, uri: &Uri) -> String {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{}://{authority}{}", uri.scheme_str().unwrap_or("http"), self.target(uri))
    }

    fn path(&self, path: &str) -> String {
        let parts =
            path.split('/').map(|part| if is_name(part) { part.into() } else { self.stand_in(part.as_bytes()) });
        parts.collect::<Vec<_>>().join("/")
    }

    fn query(&self, query: &str) -> String {
        let name_of = |name: &str| if is_name(name) { name.into() } else { self.stand_in(name.as_bytes()) };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, "")) => format!("{}=", name_of(name)),
            Some((name, value)) => format!("{}={}", name_of(name), self.stand_in(value.as_bytes())),
            // A value without a name may be a key; nobody would miss a name.
            None if pair.is_empty() => String::new(),
            None => self.stand_in(pair.as_bytes()),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    fn address(&self, value: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(value).ok().and_then(|text| text.parse::<Uri>().ok()) {
            Some(uri) if uri.authority().is_some() => self.url(&uri).into_bytes(),
            Some(uri) => self.target(&uri).into_bytes(),
            None => REDACTED.into(),
        }
    }

    /// A session's id is as good as a password where a server asks for no other. What is wrong about it is kept: it may
    /// hold visible ASCII alone (MCP 2025-11-25, Streamable HTTP, Session Management).
    fn session_id(&self, value: &[u8]) -> Vec<u8> {
        let mut kept = self.stand_in(value).into_bytes();
        kept.extend(value.iter().filter(|byte| !(0x21..=0x7e).contains(*byte)));
        kept
    }

    /// What an authorization server asks for is no secret, but some schemes put tokens there: kept are schemes, and the
    /// values of parameters that are known.
    fn challenges(&self, value: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(value) else {
            return REDACTED.into();
        };
        let kept = split_outside_quotes(text).into_iter().map(|part| {
            let part = part.trim();
            let is_scheme = |text: &str| !text.is_empty() && text.len() < LONG_PART && text.bytes().all(is_token);
            // A scheme stands before its first parameter, with a space between.
            let (scheme, parameter) = match part.split_once(' ') {
                Some((scheme, rest)) if is_scheme(scheme) && !rest.trim_start().starts_with('=') => {
                    (scheme, rest.trim())
                }
                _ if is_scheme(part) => return part.to_owned(),
                _ => ("", part),
            };
            let kept = match parameter.split_once('=') {
                Some((name, value)) if KEPT_PARAMETERS.contains(&name.trim().to_ascii_lowercase().as_str()) => {
                    format!("{}={}", name.trim(), self.parameter(value.trim()))
                }
                Some((name, value)) if is_scheme(name.trim()) && !value.trim_matches('=').is_empty() => {
                    format!("{}={REDACTED}", name.trim())
                }
                _ => REDACTED.to_owned(),
            };
            if scheme.is_empty() { kept } else { format!("{scheme} {kept}") }
        });
        kept.collect::<Vec<_>>().join(", ").into_bytes()
    }

    /// A known parameter's value: as it is, but addresses without what may be secret in them.
    fn parameter(&self, value: &str) -> String {
        let inner = value.trim_matches('"');
        match inner.parse::<Uri>() {
            Ok(uri) if uri.authority().is_some() && uri.scheme().is_some() => format!("\"{}\"", self.url(&uri)),
            _ => value.into(),
        }
    }

    fn stand_in(&self, value: &[u8]) -> String {
        let tag = hmac::sign(&self.key, value);
        let digits = tag.as_ref().iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        format!("{REDACTED}-{digits:016x}")
    }
}

fn is_kept(name: &str) -> bool {
    KEPT.binary_search(&name).is_ok() || KEPT_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a part of a path or a name in a query is one that somebody thought of, as far as can be told.
fn is_name(part: &str) -> bool {
    let has_digits = part.bytes().any(|byte| byte.is_ascii_digit());
    part.len() < if has_digits { LONG_PART_WITH_DIGITS } else { LONG_PART } || LONG_NAMES.contains(&part)
}

/// Cuts at commas that are not in quotes.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut in_quotes, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_quotes => is_escaped = true,
            b'"' => in_quotes = !in_quotes,
            b',' if !in_quotes => {
                parts.push(text.get(begin..at).unwrap_or_default());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(begin..).unwrap_or_default());
    parts
}

/// Whether a byte may be in a token (RFC 9110, 5.6.2), but for the marks that tokens of the other kind have.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(KEPT.is_sorted());
        assert!(KEPT.iter().all(|name| is_kept(name)));
    }

    const SECRET: &str = "s3cr3t-Zx81Qp77Lm02Vb55Tn19";

    fn kept(name: &str, value: &str) -> String {
        String::from_utf8_lossy(&Keeper::new().unwrap().value(name, value.as_bytes())).into_owned()
    }

    #[test]
    fn fields_that_hold_no_secrets_are_kept_as_they_are() {
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-param-region", "eu"),
            ("access-control-allow-origin", "*"),
            ("host", "127.0.0.1:7000"),
            ("location", "https://example.com/mcp"),
            ("www-authenticate", "Bearer"),
            (
                "www-authenticate",
                "Bearer realm=\"a, b\", error=\"invalid_token\", resource_metadata=\"https://x.example/.well-known/oauth-protected-resource/mcp\"",
            ),
            ("www-authenticate", "DPoP algs=\"ES256 PS256\", Bearer scope=\"a b\""),
        ] {
            assert_eq!(kept(name, value), value, "{name}");
        }
    }

    #[test]
    fn no_field_keeps_a_secret() {
        for (name, value) in [
            ("authorization", format!("Bearer {SECRET}")),
            ("proxy-authorization", format!("Basic {SECRET}")),
            ("cookie", format!("a={SECRET}")),
            ("set-cookie", format!("a={SECRET}; Path=/")),
            ("x-api-key", SECRET.into()),
            ("x-anything-else", SECRET.into()),
            ("api-key", SECRET.into()),
            ("mcp-session-id", SECRET.into()),
            ("referer", format!("https://x.example/?k={SECRET}")),
            ("host", format!("user:{SECRET}@x.example")),
            ("location", format!("https://u:{SECRET}@x.example/{SECRET}?code={SECRET}#{SECRET}")),
            ("location", format!("/cb?{SECRET}")),
            ("location", format!("cursor://callback?code={SECRET}&state={SECRET}")),
            ("location", format!("app:/callback?code={SECRET}")),
            ("content-location", format!("?a={SECRET}&{SECRET}=1")),
            ("www-authenticate", format!("Negotiate {SECRET}=")),
            ("www-authenticate", format!("Negotiate {SECRET}==, Bearer realm=\"x\"")),
            ("www-authenticate", format!("Bearer realm=\"x\", Negotiate {SECRET}")),
            ("www-authenticate", format!("Bearer realm=\"x\", NTLM {SECRET}=")),
            ("www-authenticate", format!("Bearer token=\"{SECRET}\", error=\"x\"")),
            ("www-authenticate", format!("Digest realm=\"x\", nonce=\"{SECRET}\", opaque={SECRET}")),
            ("www-authenticate", format!("{SECRET} realm=\"x\"")),
            ("www-authenticate", SECRET.into()),
            ("www-authenticate", format!("Bearer resource_metadata=\"https://x.example/?k={SECRET}\"")),
            ("proxy-authenticate", format!("Custom \"{SECRET}\"")),
            ("www-authenticate", format!("Custom x=\"a\\\", {SECRET}\"")),
        ] {
            let kept = kept(name, &value);
            assert!(!kept.contains(SECRET), "{name}: {value} is kept as {kept}");
        }
    }

    #[test]
    fn no_target_keeps_a_secret() {
        let keeper = Keeper::new().unwrap();
        for target in [
            format!("/{SECRET}/mcp"),
            format!("/mcp/{}", &SECRET[..20]),
            format!("/mcp?key={SECRET}"),
            format!("/mcp?{SECRET}"),
            format!("/mcp?a=1&{SECRET}=2"),
            format!("https://user:{SECRET}@x.example/mcp"),
        ] {
            let uri: Uri = target.parse().unwrap();
            assert!(!keeper.target(&uri).contains(&SECRET[..20]), "{target}");
            assert!(!keeper.url(&uri).contains(&SECRET[..20]), "{target}");
        }
        assert_eq!(
            keeper.target(&"/.well-known/oauth-protected-resource/mcp".parse().unwrap()),
            "/.well-known/oauth-protected-resource/mcp"
        );
        assert_eq!(keeper.url(&"https://u:p@x.example:1/mcp".parse().unwrap()), "https://x.example:1/mcp");
    }

    #[test]
    fn equal_values_have_equal_stand_ins_and_another_process_has_others() {
        let (one, other) = (Keeper::new().unwrap(), Keeper::new().unwrap());
        let of = |keeper: &Keeper, value: &str| keeper.value("mcp-session-id", value.as_bytes()).into_owned();
        assert_eq!(of(&one, "abc"), of(&one, "abc"));
        assert_ne!(of(&one, "abc"), of(&one, "abd"));
        assert_ne!(of(&one, "abc"), of(&other, "abc"));
    }

    proptest! {
        #[test]
        fn whatever_stands_around_it_a_long_secret_in_a_challenge_is_not_kept(
            before in "[A-Za-z=,\" ]{0,12}", after in "[A-Za-z=,\" ]{0,12}",
        ) {
            // Where it is the value of a parameter that is kept, it was no secret.
            prop_assume!(!before.contains('='));
            let kept = kept("www-authenticate", &format!("{before}{SECRET}{after}"));
            prop_assert!(!kept.contains(SECRET), "{}", kept);
        }

        #[test]
        fn no_value_of_an_unknown_field_is_kept(name in "[a-z][a-z-]{1,20}", value in "[!-~]{8,40}") {
            prop_assume!(!is_kept(&name) && !name.contains("location") && !name.ends_with("-authenticate"));
            prop_assert!(!kept(&name, &value).contains(&value));
        }

        #[test]
        fn no_value_of_a_query_is_kept(value in "[A-Za-z0-9_.~%-]{9,40}", name in "[a-z]{1,8}") {
            prop_assume!(!name.contains(&value) && !"redacted".contains(&value));
            let uri: Uri = format!("/mcp?{name}={value}").parse().unwrap();
            prop_assert!(!Keeper::new().unwrap().target(&uri).contains(&value));
        }
    }
}
