//! From a request to what the server does about it.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tap_echo_server::answer as echo;

/// What the server does about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One JSON body.
    Json {
        /// Its bytes.
        body: Vec<u8>,
        /// Whether a new session begins with it.
        begins_session: bool,
    },
    /// An event stream.
    Stream(Stream),
    /// Nothing is owed: a notification, or an answer.
    Accepted,
    /// The session is over.
    Ended,
    /// No such method of HTTP.
    NotAllowed,
}

/// An event stream: notifications, one at once and then one each interval, and the answer last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// What the notifications call the stream, as JSON.
    pub name: String,
    /// How many notifications.
    pub n_events: usize,
    /// From one notification to the next.
    pub interval: Duration,
    /// What comes last.
    pub end: End,
}

/// How an event stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With the answer to a call.
    Answer {
        /// The call's id, as JSON.
        id: String,
        /// The text that is answered, as JSON with its quotes.
        text: String,
    },
    /// With the last notification.
    Notification,
    /// Never: it stays open and is silent.
    Never,
}

/// A call that asks for an event stream is shorter than this, so that long messages are parsed once only.
const LONGEST_LOOKED_INTO_BYTES: usize = 4096;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    events: usize,
    #[serde(default)]
    interval_ms: u64,
}

/// What is done about a POST with this body.
#[must_use]
pub fn answer(body: &[u8]) -> Answer {
    let message = match body.len() {
        0..LONGEST_LOOKED_INTO_BYTES => serde_json::from_slice::<Message<'_>>(body).ok(),
        _ => None,
    };
    let mut begins_session = false;
    if let Some(Message { id: Some(id), method: Some(method), params }) = &message {
        begins_session = method == "initialize";
        let call = params.filter(|_| method == "tools/call").and_then(|params| serde_json::from_str(params.get()).ok());
        if let Some(call @ Call { .. }) = call
            && call.name == "stream"
        {
            return Answer::Stream(stream_of_call(id.get(), call.arguments.unwrap_or_default()));
        }
    }
    let mut answer = Vec::new();
    // The tool `exit` of the echo server answers here, and nothing more.
    let _ = echo::answer(body, &mut answer);
    match answer.is_empty() {
        true => Answer::Accepted,
        false => Answer::Json { body: answer, begins_session },
    }
}

fn stream_of_call(id: &str, arguments: Arguments<'_>) -> Stream {
    let text = arguments.text.map_or("\"\"", RawValue::get).to_owned();
    Stream {
        name: id.to_owned(),
        n_events: arguments.events,
        interval: Duration::from_millis(arguments.interval_ms),
        end: End::Answer { id: id.to_owned(), text },
    }
}

/// What is done about a GET with this query: `stream=NUMBER&events=NUMBER&interval_ms=NUMBER`, and without `events`
/// a stream that never says anything.
#[must_use]
pub fn stream_of_query(query: &str) -> Stream {
    let number = |wanted: &str| -> Option<u64> {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == wanted).then(|| value.parse().ok())?)
    };
    let n_events = number("events").and_then(|n_events| usize::try_from(n_events).ok());
    Stream {
        name: number("stream").unwrap_or(0).to_string(),
        n_events: n_events.unwrap_or(0),
        interval: Duration::from_millis(number("interval_ms").unwrap_or(0)),
        end: if n_events.is_some() { End::Notification } else { End::Never },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(body: &str, begins_session: bool) -> Answer {
        Answer::Json { body: body.into(), begins_session }
    }

    #[test]
    fn a_call_is_answered_as_over_stdio_and_only_initialize_begins_a_session() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#, json(r#"{"jsonrpc":"2.0","id":1e2,"result":{}}"#, false)),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Answer::Accepted),
            (
                r#"{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}}}"#,
                json(
                    r#"{"jsonrpc":"2.0","id":"é","result":{"content":[{"type":"text","text":"\ud800"}],"isError":false}}"#,
                    false,
                ),
            ),
        ] {
            assert_eq!(answer(body.as_bytes()), expected, "body: {body}");
        }
        let Answer::Json { begins_session, .. } = answer(br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#) else {
            panic!("no JSON");
        };
        assert!(begins_session);
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{}"}}}}}}"#,
            "x".repeat(LONGEST_LOOKED_INTO_BYTES)
        );
        assert!(matches!(answer(long.as_bytes()), Answer::Json { begins_session: false, .. }));
    }

    #[test]
    fn a_call_of_the_tool_stream_is_answered_with_one() {
        let body = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"stream","arguments":{"events":3,"interval_ms":20,"text":"x"}}}"#;
        let expected = Stream {
            name: "\"a\"".to_owned(),
            n_events: 3,
            interval: Duration::from_millis(20),
            end: End::Answer { id: "\"a\"".to_owned(), text: "\"x\"".to_owned() },
        };
        assert_eq!(answer(body), Answer::Stream(expected));
    }

    #[test]
    fn a_query_asks_for_events_or_for_silence() {
        let stream = |name: &str, n_events, interval_ms, end| Stream {
            name: name.to_owned(),
            n_events,
            interval: Duration::from_millis(interval_ms),
            end,
        };
        for (query, expected) in [
            ("", stream("0", 0, 0, End::Never)),
            ("stream=7", stream("7", 0, 0, End::Never)),
            ("stream=7&events=2&interval_ms=10", stream("7", 2, 10, End::Notification)),
            ("events=x", stream("0", 0, 0, End::Never)),
        ] {
            assert_eq!(stream_of_query(query), expected, "query: {query}");
        }
    }
}
