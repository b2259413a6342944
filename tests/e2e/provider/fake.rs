//! A provider of models on this machine: speaks the four formats, streamed and not, and fails as it is told to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tap_models::Format;

use super::words::{calling, calling_events, error_event, events, failure, whole};
use crate::support::LIMIT;

/// What it does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Answers as it was asked to.
    Answers,
    /// Calls these tools, all at once: names and arguments.
    Calls(&'static [(&'static str, &'static str)]),
    /// Answers as a whole although a stream was asked for.
    AnswersAsAWhole,
    /// Says no, with this status and header.
    Status(u16, &'static str),
    /// The same in a page for people.
    Page(u16, &'static str),
    /// Sends elsewhere.
    Redirects,
    /// Says no and the key back.
    SaysTheKey,
    /// Says that it cannot seal reasoning.
    RefusesToSeal,
    /// Answers with a stream that it calls a text.
    WrongType,
    /// Closes the connection without a word.
    ClosesFirst,
    /// Never answers.
    SaysNothing,
    /// Closes the connection in the middle of a stream.
    Cut,
    /// The same before anything is said.
    CutAtOnce,
    /// Ends a stream well that is not complete.
    EndsEarly,
    /// Breaks the form of HTTP in the middle of a stream.
    BrokenChunk,
    /// Breaks JSON in the middle of a stream.
    BrokenEvent,
    /// Says nothing more in the middle of a stream.
    Stalls,
    /// Reports an error in the middle of a stream.
    FailsInside,
    /// The same before anything is said.
    FailsAtOnce,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) target: String,
    fields: HashMap<String, String>,
    pub(crate) body: String,
}

impl Asked {
    /// A header, or nothing.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    fn format(&self) -> Format {
        match self.target.as_str() {
            "/v1/chat/completions" => Format::OpenAiChat,
            "/v1/responses" => Format::OpenAiResponses,
            "/v1/messages" => Format::Anthropic,
            other => {
                assert!(other.starts_with("/v1beta/models/"), "nobody asks at {other}");
                Format::Gemini
            }
        }
    }

    fn wants_stream(&self) -> bool {
        self.target.contains(":streamGenerateContent") || self.body.contains(r#""stream":true"#)
    }
}

#[derive(Debug, Default)]
struct Heard {
    requests: Vec<Asked>,
    /// How many clients went away while they waited.
    n_left: usize,
}

/// Such a provider.
pub(crate) struct Fake {
    address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

impl Fake {
    /// Starts one that does this with the requests that come, one after the other; the last with all that come then.
    pub(crate) fn start(ways: &[Way]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Mutex<Heard>>::default();
        let (ways, shared) = (ways.to_vec(), heard.clone());
        // It ends with the test.
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (ways, heard) = (ways.clone(), shared.clone());
                std::thread::spawn(move || serve(stream, &ways, &heard));
            }
        });
        Self { address, heard }
    }

    /// Where it is, as a base.
    pub(crate) fn base(&self, format: Format) -> String {
        match format {
            Format::OpenAiChat | Format::OpenAiResponses => format!("http://{}/v1", self.address),
            Format::Anthropic => format!("http://{}", self.address),
            Format::Gemini => format!("http://{}/v1beta/", self.address),
        }
    }

    /// What was asked until now.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.heard.lock().unwrap().requests.clone()
    }

    /// How many clients went away while they waited.
    pub(crate) fn n_left(&self) -> usize {
        self.heard.lock().unwrap().n_left
    }
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut fields = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; fields.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { target, fields, body: String::from_utf8(body).ok()? })
}

fn serve(mut stream: TcpStream, ways: &[Way], heard: &Mutex<Heard>) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Some(asked) = read(&mut reader) else { return };
    let index = {
        let mut heard = heard.lock().unwrap();
        heard.requests.push(asked.clone());
        heard.requests.len() - 1
    };
    let way = ways.get(index).or(ways.last()).copied().unwrap_or(Way::Answers);
    let answer = answer(way, &asked);
    let _ = stream.write_all(answer.as_bytes());
    if matches!(way, Way::SaysNothing | Way::Stalls) {
        // Whoever goes away ends the connection.
        let n_read = reader.read(&mut [0; 16]);
        if matches!(n_read, Ok(0) | Err(_)) {
            heard.lock().unwrap().n_left += 1;
        }
    }
}

fn head(status: u16, media_type: &str, field: &str) -> String {
    let field = if field.is_empty() { String::new() } else { format!("{field}\r\n") };
    format!("HTTP/1.1 {status} Status\r\ncontent-type: {media_type}\r\n{field}connection: close\r\n")
}

fn sized(head: &str, body: &str) -> String {
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// A stream in chunks; how it ends is the caller's.
fn chunks(media_type: &str, events: &[String]) -> String {
    let mut out = format!("{}transfer-encoding: chunked\r\n\r\n", head(200, media_type, ""));
    for event in events {
        out.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    out
}

fn answer(way: Way, asked: &Asked) -> String {
    const STREAM: &str = "text/event-stream; charset=utf-8";
    const END: &str = "0\r\n\r\n";
    let format = asked.format();
    let events = events(format);
    // The first half says `Hello`.
    let half = || events[..events.iter().position(|event| event.contains("Hello")).unwrap() + 1].to_vec();
    let and = |more: String| [half(), vec![more]].concat();
    let whole = || sized(&head(200, "application/json", ""), &whole(format));
    match way {
        Way::Answers if asked.wants_stream() => chunks(STREAM, &events) + END,
        Way::Answers | Way::AnswersAsAWhole => whole(),
        Way::Calls(calls) if asked.wants_stream() => chunks(STREAM, &calling_events(format, calls)) + END,
        Way::Calls(calls) => sized(&head(200, "application/json", ""), &calling(format, calls)),
        Way::Status(status, field) => {
            sized(&head(status, "application/json", field), &failure(format, status, "no, not now"))
        }
        Way::Page(status, field) => {
            let page = "<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body>…</body></html>";
            sized(&head(status, "text/html", field), page)
        }
        Way::Redirects => sized(&head(302, "text/plain", "location: http://127.0.0.1:1/"), ""),
        Way::SaysTheKey => {
            let keys = ["authorization", "x-api-key", "x-goog-api-key"].map(|name| asked.field(name));
            let message = format!("wrong key: {}", keys.concat());
            sized(&head(401, "application/json", ""), &failure(format, 401, &message))
        }
        Way::RefusesToSeal => {
            let message = "Encrypted content is not supported with this model.";
            sized(&head(400, "application/json", ""), &failure(format, 400, message))
        }
        Way::WrongType => chunks("text/plain", &events) + END,
        Way::ClosesFirst | Way::SaysNothing => String::new(),
        Way::Cut | Way::Stalls => chunks(STREAM, &half()),
        Way::CutAtOnce => chunks(STREAM, &[]),
        Way::EndsEarly => chunks(STREAM, &half()) + END,
        Way::BrokenChunk => chunks(STREAM, &half()) + "what?\r\n",
        Way::BrokenEvent => chunks(STREAM, &and("data: {\"choices\":[\n\n".into())) + END,
        Way::FailsInside => chunks(STREAM, &and(error_event(format))) + END,
        Way::FailsAtOnce => chunks(STREAM, &[error_event(format)]) + END,
    }
}
