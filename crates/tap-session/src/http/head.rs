//! Heads of HTTP: header fields as a borrowed list, and what the few that matter say.

use tap_protocol::{Era, Revision};

/// A part of a path that is as long as this may be an id.
const ID_BYTES: usize = 16;

/// Header fields in the order in which they came, with those that share a name. Names in any case.
///
/// A view: nothing of a head is kept, credentials least of all.
#[derive(Clone, Copy)]
pub struct Headers<'a>(pub &'a [(&'a str, &'a [u8])]);

/// The names alone: values may be credentials.
impl std::fmt::Debug for Headers<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl<'a> Headers<'a> {
    /// The values of a field, in order.
    pub fn all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_ascii())
    }

    /// The first value of a field, without whitespace around it.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The first value of a field, if it is UTF-8.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Whether the field is there.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The fields whose name begins like this, with the rest of their names.
    pub(super) fn with_prefix(self, prefix: &str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.0.iter().filter_map(move |(name, value)| {
            let (start, rest) = name.split_at_checked(prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then_some((rest, value.trim_ascii()))
        })
    }

    /// The media type of the body, without parameters.
    #[must_use]
    pub fn media_type(self) -> Option<&'a str> {
        Some(self.text("content-type")?.split(';').next()?.trim())
    }

    /// Whether the body is said to be of this type.
    #[must_use]
    pub fn is_of_type(self, wanted: &str) -> bool {
        self.media_type().is_some_and(|media_type| media_type.eq_ignore_ascii_case(wanted))
    }

    /// How `Accept` takes a media type.
    pub(super) fn accepts(self, wanted: &str) -> Acceptance {
        let mut found = Acceptance::No;
        for range in
            self.all("accept").filter_map(|value| std::str::from_utf8(value).ok()).flat_map(|text| text.split(','))
        {
            let mut parts = range.split(';').map(str::trim);
            let media_range = parts.next().unwrap_or_default();
            let refused = parts.any(|parameter| {
                let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
                weight.is_some_and(|weight| weight.parse() == Ok(0.0))
            });
            let whole_type = wanted.split_once('/').map(|(kind, _)| kind);
            let by_wildcard = media_range == "*/*"
                || media_range
                    .strip_suffix("/*")
                    .is_some_and(|kind| whole_type.is_some_and(|whole| whole.eq_ignore_ascii_case(kind)));
            if refused {
                continue;
            }
            if media_range.eq_ignore_ascii_case(wanted) {
                return Acceptance::Listed;
            }
            if by_wildcard {
                found = Acceptance::ByWildcard;
            }
        }
        found
    }

    /// The era of the revision that the head names.
    pub(super) fn era(self) -> Option<Era> {
        Some(Revision::nearest(self.text("mcp-protocol-version")?)?.era())
    }

    /// Whether a browser's page asks that does not lie where the server does, as far as the head shows.
    pub(super) fn is_of_foreign_origin(self) -> bool {
        let Some(origin) = self.text("origin") else {
            return false;
        };
        let host_of = |authority: &str| {
            let host = match authority.rsplit_once(':') {
                Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
                _ => authority,
            };
            host.to_ascii_lowercase()
        };
        let origin = origin.split_once("://").map_or(origin, |(_, authority)| authority);
        let origin = host_of(origin);
        let is_local = matches!(&*origin, "localhost" | "127.0.0.1" | "[::1]") || origin.ends_with(".localhost");
        !is_local && self.text("host").is_some_and(|host| host_of(host) != origin)
    }
}

/// How a media type is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// It is in the list.
    Listed,
    /// A range with a star covers it.
    ByWildcard,
    /// It is not.
    No,
}

/// The path of a target, without query, scheme and authority.
pub(super) fn path_of(target: &str) -> &str {
    let target = local_part(target);
    target.split(['?', '#']).next().unwrap_or(target)
}

/// A path as it stands in a detail: parts that are as long as the ids of sessions are left out, since whoever knows such an
/// id can use the session.
pub(super) fn shown_path(target: &str) -> String {
    let parts = path_of(target).split('/').map(|part| if ID_BYTES <= part.len() { "…" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Path and query of a target or URI.
pub(super) fn local_part(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    }
}

/// Path and query of a URI that was met in a document at `base`.
pub(super) fn resolved(base: &str, uri: &str) -> String {
    let uri = uri.trim();
    if uri.starts_with("//") {
        return local_part(&format!("http:{uri}")).to_owned();
    }
    let local = local_part(uri);
    if local.starts_with('/') {
        return local.to_owned();
    }
    let folder = path_of(base).rsplit_once('/').map_or("", |(folder, _)| folder);
    match local.starts_with('?') {
        true => format!("{}{local}", path_of(base)),
        false => format!("{folder}/{}", local.trim_start_matches("./")),
    }
}

/// Whether the query of a target has an access token.
pub(super) fn has_token_in_query(target: &str) -> bool {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.split('=').next() == Some("access_token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_lists_types_in_any_spelling() {
        for (accept, json, events) in [
            ("application/json, text/event-stream", Acceptance::Listed, Acceptance::Listed),
            ("Application/JSON;q=0.5,TEXT/event-stream; charset=utf-8", Acceptance::Listed, Acceptance::Listed),
            ("application/json", Acceptance::Listed, Acceptance::No),
            ("text/event-stream", Acceptance::No, Acceptance::Listed),
            ("*/*", Acceptance::ByWildcard, Acceptance::ByWildcard),
            ("application/*, text/event-stream;q=0", Acceptance::ByWildcard, Acceptance::No),
            ("application/jsonx", Acceptance::No, Acceptance::No),
            ("", Acceptance::No, Acceptance::No),
        ] {
            let fields = [("ACCEPT", accept.as_bytes())];
            let headers = Headers(&fields);
            assert_eq!(headers.accepts("application/json"), json, "{accept}");
            assert_eq!(headers.accepts("text/event-stream"), events, "{accept}");
        }
        let fields = [("accept", &b"application/json"[..]), ("Accept", b"text/event-stream")];
        assert_eq!(Headers(&fields).accepts("text/event-stream"), Acceptance::Listed, "in two lines");
    }

    #[test]
    fn endpoints_are_resolved_against_the_stream() {
        for (base, uri, expected) in [
            ("/sse", "/message?s=1", "/message?s=1"),
            ("/sse", "http://127.0.0.1:80/message?s=1", "/message?s=1"),
            ("/sse", "//host/message", "/message"),
            ("/a/sse?x=1", "message?s=1", "/a/message?s=1"),
            ("/a/sse", "./message", "/a/message"),
            ("/a/sse?x=1", "?s=1", "/a/sse?s=1"),
            ("/sse", "https://host", "/"),
            ("", "", "/"),
        ] {
            assert_eq!(resolved(base, uri), expected, "{uri} at {base}");
        }
    }

    #[test]
    fn paths_are_shown_without_what_may_be_an_id() {
        for (target, expected) in [
            ("/message?sessionId=secret", "/message"),
            ("http://host/sse/messages", "/sse/messages"),
            ("/messages/0f8fad5b-d9cb-469f-a165-70867728950e/", "/messages/…/"),
            ("", ""),
        ] {
            assert_eq!(shown_path(target), expected, "{target}");
        }
    }

    #[test]
    fn foreign_origins_are_those_of_other_hosts() {
        for (origin, host, expected) in [
            ("http://evil.example", "127.0.0.1:80", true),
            ("null", "127.0.0.1:80", true),
            ("http://localhost:5173", "127.0.0.1:80", false),
            ("https://mcp.example", "MCP.example:443", false),
            ("http://[::1]:80", "localhost", false),
        ] {
            let fields = [("Origin", origin.as_bytes()), ("Host", host.as_bytes())];
            assert_eq!(Headers(&fields).is_of_foreign_origin(), expected, "{origin} at {host}");
        }
        assert!(!Headers(&[]).is_of_foreign_origin());
    }

    #[test]
    fn debug_does_not_show_credentials() {
        let fields = [("Authorization", &b"Bearer secret"[..])];
        assert_eq!(format!("{:?}", Headers(&fields)), "[\"Authorization\"]");
    }
}
