//! Which fields of a head go on to the other side.

use http::header::{
    ACCEPT, CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Takes out what is between two neighbours only: the fields that `Connection` names, and those that always are.
///
/// `Trailer` stays, since without it no trailers could be passed on; and of `TE` the one word that says they are wanted.
///
/// Source: RFC 9110, 7.6.1 Connection.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let wants_trailers = words(headers, &TE).any(|word| word.eq_ignore_ascii_case("trailers"));
    let named: Vec<HeaderName> = words(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    let always = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        PROXY_CONNECTION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&always) {
        headers.remove(name);
    }
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

pub(crate) const EVENT_STREAM: &[u8] = b"text/event-stream";
pub(crate) const JSON: &[u8] = b"application/json";

/// Whether a client says that it takes this media type. `*/*` does not say so.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &[u8]) -> bool {
    has(headers, &ACCEPT, media_type)
}

/// Whether a field has this text somewhere, in capitals or not.
pub(crate) fn has(headers: &HeaderMap, name: &HeaderName, text: &[u8]) -> bool {
    let holds = |value: &[u8]| value.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text));
    headers.get_all(name).iter().any(|value| holds(value.as_bytes()))
}

/// The comma-separated words of a field.
fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_neighbours_is_taken_out_and_everything_else_stays() {
        for (fields, expected) in [
            (&[("connection", "close, X-Hop"), ("x-hop", "1"), ("x-end", "2")][..], &[("x-end", "2")][..]),
            (&[("connection", "a"), ("connection", "B"), ("a", "1"), ("b", "2"), ("c", "3")], &[("c", "3")]),
            (&[("keep-alive", "timeout=5"), ("upgrade", "h2c"), ("transfer-encoding", "chunked")], &[]),
            (&[("te", "gzip, trailers"), ("trailer", "x-sum")], &[("trailer", "x-sum"), ("te", "trailers")]),
            (&[("te", "gzip")], &[]),
            (&[("proxy-authorization", "Basic x"), ("proxy-connection", "keep-alive")], &[]),
            (&[("set-cookie", "a"), ("set-cookie", "b")], &[("set-cookie", "a"), ("set-cookie", "b")]),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, HeaderValue::from_static(value));
            }
            strip_hop_by_hop(&mut headers);
            let left: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default())).collect();
            assert_eq!(left, expected, "{fields:?}");
        }
    }
}
