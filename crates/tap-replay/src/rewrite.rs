//! What is written otherwise than it was recorded: ids and tokens, which are the live client's, placeholders, and what two
//! eras write differently. Everything else stays as it was, byte for byte.

use std::collections::BTreeSet;

use tap_jsonrpc::{Node, splice};
use tap_protocol::{Era, Revision, meta, method};

/// From which era to which a message has to be translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Translation {
    ToLegacy,
    ToModern,
}

const ID: &[&str] = &["id"];
const TOKEN: &[&str] = &["params", meta::PROGRESS_TOKEN];
const CANCELLED: &[&str] = &["params", "requestId"];
const SUBSCRIPTION: &[&str] = &["params", "_meta", meta::SUBSCRIPTION_ID];
const SUBSCRIPTION_OF_RESULT: &[&str] = &["result", "_meta", meta::SUBSCRIPTION_ID];
const TIME_TO_LIVE: &[&str] = &["result", "ttlMs"];

/// Members of results that the legacy era does not have.
const MODERN_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// What a server says of a time in a fixture.
const FIXED_TIME: &str = "1970-01-01T00:00:00Z";

/// An answer for the live request with this id. An id of `null`, from a server that could not read the request, stays.
pub(crate) fn answer(recorded: &[u8], id: &[u8], no_cache: bool) -> Vec<u8> {
    let is_null = Node::new(recorded).get("id").is_some_and(Node::is_null);
    let mut replaced: Vec<(&[&str], &[u8])> = vec![(SUBSCRIPTION_OF_RESULT, id)];
    if !is_null {
        replaced.push((ID, id));
    }
    if no_cache {
        replaced.push((TIME_TO_LIVE, b"0"));
    }
    splice(recorded, &replaced)
}

/// Progress of the live request with this token.
pub(crate) fn progress(recorded: &[u8], token: &[u8]) -> Vec<u8> {
    splice(recorded, &[(TOKEN, token)])
}

/// A request of the server's with another id.
pub(crate) fn with_id(recorded: &[u8], id: &[u8]) -> Vec<u8> {
    splice(recorded, &[(ID, id)])
}

/// Something about a subscription: it carries the id of the live request.
pub(crate) fn of_subscription(recorded: &[u8], id: &[u8]) -> Vec<u8> {
    splice(recorded, &[(SUBSCRIPTION, id), (CANCELLED, id)])
}

/// Puts fixed values where placeholders for what is never the same twice stand. Never random ones.
pub(crate) fn fixed(message: Vec<u8>, number: u64) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&message) else {
        return message;
    };
    if !text.contains('«') {
        return message;
    }
    let uuid = format!("00000000-0000-4000-8000-{:012x}", number & 0xffff_ffff_ffff);
    text.replace("«time»", FIXED_TIME).replace("«uuid»", &uuid).into_bytes()
}

/// A result as the other era writes it. `None` where that has nothing to write: more is asked of the client in it.
pub(crate) fn translated(answer: &[u8], request_method: &str, translation: Translation) -> Option<Vec<u8>> {
    let Some(result) = Node::new(answer).get("result").filter(|result| result.is_object()) else {
        return Some(answer.to_vec());
    };
    let kind = result.get("resultType");
    if kind.is_some_and(|kind| !kind.is_text("complete")) {
        return None;
    }
    let members = result
        .members()
        .filter(|(key, _)| translation == Translation::ToModern || !MODERN_MEMBERS.iter().any(|member| key.is(member)));
    let mut members: Vec<Vec<u8>> = members.map(|(key, value)| [key.bytes(), b":", value.bytes()].concat()).collect();
    if translation == Translation::ToModern {
        if kind.is_none() {
            members.insert(0, br#""resultType":"complete""#.to_vec());
        }
        let [time, scope] = result.pick(["ttlMs", "cacheScope"]);
        if method(request_method).is_some_and(|method| method.cacheable) {
            members.extend(time.is_none().then(|| br#""ttlMs":0"#.to_vec()));
            members.extend(scope.is_none().then(|| br#""cacheScope":"private""#.to_vec()));
        }
    }
    let result = [&b"{"[..], &members.join(&b","[..]), b"}"].concat();
    Some(splice(answer, &[(&["result"], &result)]))
}

/// An answer to `server/discover` where none was recorded, which every server of the modern era has: what is known of the
/// server is the revision, what it was asked for, and perhaps its name. `information` is a result's `serverInfo`.
pub(crate) fn discovered(id: &[u8], revision: &str, methods: &BTreeSet<String>, information: Option<&[u8]>) -> Vec<u8> {
    let offered =
        [("completions", "completion/"), ("prompts", "prompts/"), ("resources", "resources/"), ("tools", "tools/")];
    let offered = offered.iter().filter(|(_, start)| methods.iter().any(|method| method.starts_with(start)));
    let capabilities: Vec<String> = offered.map(|(name, _)| format!("\"{name}\":{{}}")).collect();
    let capabilities = capabilities.join(",");
    let revision = serde_json::Value::from(revision);
    let result = format!(
        r#","result":{{"resultType":"complete","supportedVersions":[{revision}],"capabilities":{{{capabilities}}},"ttlMs":0,"cacheScope":"private""#
    );
    let mut answer = [br#"{"jsonrpc":"2.0","id":"#, id, result.as_bytes()].concat();
    if let Some(information) = information {
        answer.extend_from_slice(format!(r#","_meta":{{"{}":"#, meta::SERVER_INFO).as_bytes());
        answer.extend_from_slice(information);
        answer.push(b'}');
    }
    answer.extend_from_slice(b"}}");
    answer
}

/// The answer to `initialize` that says what an answer to `server/discover` says. `None` where that holds no capabilities.
pub(crate) fn initialize_of(discovered: &[u8], id: &[u8], offered: &str) -> Option<Vec<u8>> {
    let [capabilities, instructions, information] =
        Node::new(discovered).get("result")?.pick(["capabilities", "instructions", "_meta"]);
    let named = information.and_then(|information| information.get(meta::SERVER_INFO)).map(Node::bytes);
    let named = named.unwrap_or(br#"{"name":"mcp-tap replay","version":"0"}"#);
    let known = Revision::from_text(offered).filter(|revision| revision.era() == Era::Legacy);
    let version = known.unwrap_or(Revision::LATEST_LEGACY).as_str();
    let mut answer = [
        br#"{"jsonrpc":"2.0","id":"#,
        id,
        br#","result":{"protocolVersion":""#,
        version.as_bytes(),
        br#"","capabilities":"#,
        capabilities?.bytes(),
        br#","serverInfo":"#,
        named,
    ]
    .concat();
    if let Some(instructions) = instructions {
        answer.extend_from_slice(br#","instructions":"#);
        answer.extend_from_slice(instructions.bytes());
    }
    answer.extend_from_slice(b"}}");
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<Vec<u8>>) -> String {
        bytes.map_or_else(|| "nothing".into(), |bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn an_answer_gets_the_id_and_keeps_everything_else() {
        for (recorded, expected) in [
            (r#"{ "result" : {"a":1e0}, "id" : 7 }"#, r#"{ "result" : {"a":1e0}, "id" : "x" }"#),
            (r#"{"id":null,"error":{}}"#, r#"{"id":null,"error":{}}"#),
            (r#"{"id":7,"result":{"id":7}}"#, r#"{"id":"x","result":{"id":7}}"#),
            (
                r#"{"id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#,
                r#"{"id":"x","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}}"#,
            ),
        ] {
            assert_eq!(text(Some(answer(recorded.as_bytes(), b"\"x\"", false))), expected);
        }
        assert_eq!(
            text(Some(answer(br#"{"id":1,"result":{"ttlMs":500}}"#, b"2", true))),
            r#"{"id":2,"result":{"ttlMs":0}}"#
        );
    }

    #[test]
    fn results_are_translated_where_both_eras_can_say_them() {
        for (answer, method, translation, expected) in [
            (
                r#"{"id":1,"result":{"tools":[]}}"#,
                "tools/list",
                Translation::ToModern,
                r#"{"id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#,
            ),
            (
                r#"{"id":1,"result":{}}"#,
                "tools/call",
                Translation::ToModern,
                r#"{"id":1,"result":{"resultType":"complete"}}"#,
            ),
            (
                r#"{"id":1,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}}"#,
                "tools/list",
                Translation::ToLegacy,
                r#"{"id":1,"result":{"tools":[]}}"#,
            ),
            (r#"{"id":1,"result":{"resultType":"input_required"}}"#, "tools/call", Translation::ToLegacy, "nothing"),
            (r#"{"id":1,"error":{"code":1}}"#, "tools/call", Translation::ToLegacy, r#"{"id":1,"error":{"code":1}}"#),
        ] {
            assert_eq!(text(translated(answer.as_bytes(), method, translation)), expected);
        }
    }

    #[test]
    fn placeholders_of_answers_are_fixed_values() {
        let message = r#"{"at":"«time»","job":"job-«uuid»","who":"«secret 1»"}"#;
        assert_eq!(
            text(Some(fixed(message.into(), 10))),
            r#"{"at":"1970-01-01T00:00:00Z","job":"job-00000000-0000-4000-8000-00000000000a","who":"«secret 1»"}"#
        );
        assert_eq!(fixed(vec![0xff], 1), [0xff]);
    }
}
