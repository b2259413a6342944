//! Writing JSON: objects member by member. What others wrote stays as they wrote it.

use tap_jsonrpc::{Content, Node, scan};
use tap_protocol::Revision;

use super::{ErrorReply, Implementation, Misuse};

/// The text of an object, in the making.
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn new() -> Self {
        Self(vec![b'{'])
    }

    /// A member whose value is a JSON text.
    pub(super) fn member(self, key: &str, value: &[u8]) -> Self {
        self.written(&quoted(key), value)
    }

    /// A member whose value is this string.
    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.member(key, &quoted(value))
    }

    /// The same, if there is one.
    pub(super) fn maybe_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// A member whose key is a JSON text too.
    pub(super) fn written(mut self, key: &[u8], value: &[u8]) -> Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    /// The members of another object, as written, but for those with these keys.
    pub(super) fn all_of(mut self, node: Node<'_>, without: &[&str]) -> Self {
        for (key, value) in node.members() {
            if !without.iter().any(|name| key.is(name)) {
                self = self.written(key.bytes(), value.bytes());
            }
        }
        self
    }

    pub(super) fn done(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

/// Strings as a JSON array.
pub(super) fn array<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let elements: Vec<_> = texts.map(quoted).collect();
    [&b"["[..], &elements.join(&b','), b"]"].concat()
}

/// A text of the user as the one JSON value that it has to be. What is spliced into a message must not end it.
pub(super) fn value<'a>(text: &'a str, what: &'static str) -> Result<Node<'a>, Misuse> {
    match scan(text.as_bytes(), &[]).content {
        Content::Blank | Content::NotJson(_) => Err(Misuse::BadText { what }),
        Content::Message(_) | Content::Batch(_) | Content::NotAMessage(_) => Ok(Node::new(text.as_bytes())),
    }
}

/// The same where it has to be an object.
pub(super) fn object<'a>(text: &'a str, what: &'static str) -> Result<Node<'a>, Misuse> {
    Some(value(text, what)?).filter(|node| node.is_object()).ok_or(Misuse::BadText { what })
}

/// An object with more members in its `_meta`, where they are not yet; the rest as written.
///
/// # Errors
///
/// When its `_meta` is no object.
pub(super) fn with_meta(outer: Option<Node<'_>>, more: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, Misuse> {
    let all = outer.map_or_else(Object::new, |outer| Object::new().all_of(outer, &["_meta"]));
    let meta = outer.and_then(|outer| outer.get("_meta"));
    if meta.is_some_and(|meta| !meta.is_object()) {
        return Err(Misuse::BadText { what: "_meta" });
    }
    let mut inner = meta.map_or_else(Object::new, |meta| Object::new().all_of(meta, &[]));
    for (key, value) in more {
        if meta.is_none_or(|meta| meta.get(key).is_none()) {
            inner = inner.member(key, value);
        }
    }
    Ok(all.member("_meta", &inner.done()).done())
}

/// A request or, without an id, a notification.
pub(super) fn question(id: Option<&[u8]>, method: &str, params: Option<&[u8]>) -> Vec<u8> {
    let mut message = Object::new().text("jsonrpc", "2.0");
    if let Some(id) = id {
        message = message.member("id", id);
    }
    message = message.text("method", method);
    match params {
        Some(params) => message.member("params", params).done(),
        None => message.done(),
    }
}

/// A result for a request.
pub(super) fn result(id: &[u8], result: &[u8]) -> Vec<u8> {
    Object::new().text("jsonrpc", "2.0").member("id", id).member("result", result).done()
}

/// An error for a request, or for what could not be read.
pub(super) fn error(id: &[u8], reply: &ErrorReply) -> Result<Vec<u8>, Misuse> {
    let mut error = Object::new().member("code", reply.code.to_string().as_bytes()).text("message", &reply.message);
    if let Some(data) = &reply.data {
        error = error.member("data", value(data, "data")?.bytes());
    }
    Ok(Object::new().text("jsonrpc", "2.0").member("id", id).member("error", &error.done()).done())
}

/// What a side is, in the words that a revision has.
pub(super) fn implementation(who: &Implementation, revision: Revision) -> Vec<u8> {
    let title = who.title.as_deref().filter(|_| Revision::V2025_06_18 <= revision);
    let since_2025_11_25 = |text: &'_ Option<String>| text.clone().filter(|_| Revision::V2025_11_25 <= revision);
    Object::new()
        .text("name", &who.name)
        .maybe_text("title", title)
        .text("version", &who.version)
        .maybe_text("description", since_2025_11_25(&who.description).as_deref())
        .maybe_text("websiteUrl", since_2025_11_25(&who.website_url).as_deref())
        .done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_as_written() {
        let more = [("a", b"1".to_vec()), ("b", b"2".to_vec())];
        for (params, expected) in [
            ("{}", r#"{"_meta":{"a":1,"b":2}}"#),
            (
                r#"{"n":1e400,"n":12345678901234567890123}"#,
                r#"{"n":1e400,"n":12345678901234567890123,"_meta":{"a":1,"b":2}}"#,
            ),
            (r#"{ "_meta" : {"b":"mine"}, "\u0061": "\ud800" }"#, r#"{"\u0061":"\ud800","_meta":{"b":"mine","a":1}}"#),
        ] {
            let written = with_meta(Some(Node::new(params.as_bytes())), &more).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn a_text_that_would_end_the_message_is_no_value() {
        for (text, is_object) in [
            ("{}", true),
            (" {\n} ", true),
            ("[]", false),
            ("7", false),
            ("", false),
            ("{}}", false),
            (r#"{},"id":7"#, false),
            ("{} {}", false),
            ("{", false),
        ] {
            assert_eq!(object(text, "params").is_ok(), is_object, "{text}");
        }
    }

    #[test]
    fn a_string_is_escaped_as_json_wants_it() {
        assert_eq!(String::from_utf8(quoted("a\"b\\c\n\u{1f}é")).unwrap(), "\"a\\\"b\\\\c\\u000a\\u001fé\"");
        assert_eq!(array(["a", "b"].into_iter()), b"[\"a\",\"b\"]");
        assert_eq!(array(std::iter::empty()), b"[]");
    }
}
