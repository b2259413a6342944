//! A small reader of HTTP/1.1, for captures of raw connections: what an HTTP tap would see of them.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use tap_jsonrpc::SseSplitter;

use crate::follow::Lens;
use tap_frame::HttpEnd;

use crate::http::{Headers, HttpEvent, HttpFollower, HttpMeaning, HttpMoment, HttpRequest};

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Known(usize),
    Chunked,
    UntilClosed,
}

struct Head {
    start: String,
    fields: Vec<(String, String)>,
    length: Length,
}

impl Head {
    /// The head at the start of a buffer, and how long it is.
    fn read(buffer: &[u8]) -> Option<(Self, usize)> {
        let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let text = String::from_utf8(buffer[..end].to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap().to_owned();
        let field = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no field: {line}"));
            (name.to_owned(), value.trim().to_owned())
        };
        let fields: Vec<_> = lines.map(field).collect();
        let get =
            |wanted: &str| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value);
        let length = match (get("transfer-encoding"), get("content-length")) {
            (Some(encoding), _) if encoding.eq_ignore_ascii_case("chunked") => Length::Chunked,
            (_, Some(length)) => Length::Known(length.parse().unwrap()),
            _ => Length::UntilClosed,
        };
        Some((Self { start, fields, length }, end + 4))
    }

    fn borrowed(&self) -> Vec<(&str, &[u8])> {
        self.fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect()
    }
}

/// Takes what is there of a body out of a buffer, and says whether that was all of it.
fn take_body(buffer: &mut Vec<u8>, length: &mut Length, body: &mut Vec<u8>) -> bool {
    loop {
        match *length {
            Length::UntilClosed => {
                body.append(buffer);
                return false;
            }
            Length::Known(rest) => {
                let n_bytes = rest.min(buffer.len());
                body.extend(buffer.drain(..n_bytes));
                *length = Length::Known(rest - n_bytes);
                return rest == n_bytes;
            }
            Length::Chunked => {
                let Some(end) = buffer.windows(2).position(|window| window == b"\r\n") else {
                    return false;
                };
                let size = std::str::from_utf8(&buffer[..end]).unwrap().split(';').next().unwrap();
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let whole = end + 2 + size + 2;
                if buffer.len() < whole {
                    return false;
                }
                body.extend_from_slice(&buffer[end + 2..end + 2 + size]);
                buffer.drain(..whole);
                if size == 0 {
                    return true;
                }
            }
        }
    }
}

/// What is being answered.
struct Answer {
    exchange: u64,
    is_head_request: bool,
    head: Option<(Head, Length)>,
    is_sse: bool,
    body: Vec<u8>,
    splitter: SseSplitter,
}

#[derive(Default)]
struct Connection {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    open: VecDeque<Answer>,
}

/// Follows all connections of one capture.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) follower: HttpFollower,
    pub(super) meanings: Vec<HttpMeaning>,
    lens: Lens,
    connections: HashMap<u64, Connection>,
    seq: u64,
    at_ns: u64,
    n_exchanges: u64,
}

impl Reader {
    fn follow(&mut self, exchange: u64, event: HttpEvent<'_>) {
        self.seq += 1;
        let moment = HttpMoment { seq: self.seq, wall_ns: self.at_ns, at_ns: self.at_ns };
        // What was known before must not change when what follows is known.
        let before = self.follower.clone();
        self.follower.follow(moment, exchange, event, &mut self.lens, &mut self.meanings);
        drop(before);
    }

    /// Bytes from the client.
    pub(super) fn asked(&mut self, connection: u64, at_ns: u64, bytes: &[u8]) {
        self.at_ns = at_ns;
        let mut this = self.connections.remove(&connection).unwrap_or_default();
        this.to_server.extend_from_slice(bytes);
        while let Some((head, n_bytes)) = Head::read(&this.to_server) {
            let mut rest = this.to_server[n_bytes..].to_vec();
            let mut length = if head.length == Length::UntilClosed { Length::Known(0) } else { head.length };
            let mut body = Vec::new();
            if !take_body(&mut rest, &mut length, &mut body) {
                break;
            }
            this.to_server = rest;
            self.n_exchanges += 1;
            let exchange = self.n_exchanges;
            let mut start = head.start.split(' ');
            let (verb, target) = (start.next().unwrap(), start.next().unwrap());
            let fields = head.borrowed();
            let request = HttpRequest { connection, verb, target, headers: Headers(&fields), body: Bytes::from(body) };
            self.follow(exchange, HttpEvent::Opened(request));
            this.open.push_back(Answer {
                exchange,
                is_head_request: verb == "HEAD",
                head: None,
                is_sse: false,
                body: Vec::new(),
                splitter: SseSplitter::default(),
            });
        }
        self.connections.insert(connection, this);
    }

    /// Bytes from the server.
    pub(super) fn answered(&mut self, connection: u64, at_ns: u64, bytes: &[u8]) {
        self.at_ns = at_ns;
        let mut this = self.connections.remove(&connection).unwrap_or_default();
        this.to_client.extend_from_slice(bytes);
        while let Some(mut answer) = this.open.pop_front() {
            if answer.head.is_none() {
                let Some((head, n_bytes)) = Head::read(&this.to_client) else {
                    this.open.push_front(answer);
                    break;
                };
                this.to_client.drain(..n_bytes);
                let status: u16 = head.start.split(' ').nth(1).unwrap().parse().unwrap();
                if status < 200 {
                    this.open.push_front(answer);
                    continue;
                }
                let fields = head.borrowed();
                answer.is_sse = Headers(&fields).is_of_type("text/event-stream");
                let has_none = matches!(status, 204 | 304) || answer.is_head_request;
                let length = if has_none { Length::Known(0) } else { head.length };
                self.follow(answer.exchange, HttpEvent::Head { status, headers: Headers(&fields) });
                answer.head = Some((head, length));
            }
            let (_, length) = answer.head.as_mut().unwrap();
            let is_whole = take_body(&mut this.to_client, length, &mut answer.body);
            if answer.is_sse {
                let mut events = Vec::new();
                answer.splitter.feed(&std::mem::take(&mut answer.body), &mut |event| events.push(event));
                for event in &events {
                    self.follow(answer.exchange, HttpEvent::Event(event));
                }
            }
            if !is_whole {
                this.open.push_front(answer);
                break;
            }
            self.end(answer, HttpEnd::Whole);
        }
        self.connections.insert(connection, this);
    }

    fn end(&mut self, answer: Answer, end: HttpEnd) {
        if !answer.body.is_empty() {
            self.follow(answer.exchange, HttpEvent::Body(Bytes::from(answer.body)));
        }
        self.follow(answer.exchange, HttpEvent::Ended(end));
    }

    /// One side has closed a connection.
    pub(super) fn closed(&mut self, connection: u64, at_ns: u64, by_client: bool) {
        self.at_ns = at_ns;
        let Some(this) = self.connections.remove(&connection) else {
            return;
        };
        for answer in this.open {
            let until_closed = answer.head.as_ref().is_some_and(|(_, length)| *length == Length::UntilClosed);
            let end = match (by_client, until_closed) {
                (true, _) => HttpEnd::ByClient,
                (false, true) => HttpEnd::Whole,
                (false, false) => HttpEnd::ByServer,
            };
            self.end(answer, end);
        }
    }
}
