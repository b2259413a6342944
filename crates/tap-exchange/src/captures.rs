//! Real traffic over HTTP, where it is at hand: what is read of its pieces is what a follower says that is told directly.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use bytes::Bytes;
use tap_frame::{HttpEnd, HttpPart, Segment};
use tap_jsonrpc::{Node, SseSplitter};
use tap_session::{Event, Headers, HttpEvent, HttpFollower, HttpMeaning, HttpMoment, HttpRequest, Lens, RowKind};

use crate::HttpReading;
use crate::traffic::head;

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Known(usize),
    Chunked,
    UntilClosed,
}

struct Head {
    start: Vec<String>,
    fields: Vec<(String, String)>,
    length: Length,
}

impl Head {
    fn take(buffer: &mut Vec<u8>) -> Option<Self> {
        let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let text = String::from_utf8(buffer.drain(..end + 4).collect()).unwrap();
        let mut lines = text.trim_end().split("\r\n");
        let start = lines.next().unwrap().splitn(3, ' ').map(str::to_owned).collect();
        let fields: Vec<_> = lines
            .map(|line| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned())).unwrap())
            .collect();
        let get =
            |wanted: &str| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| &**value);
        let length = match (get("transfer-encoding"), get("content-length")) {
            (Some("chunked"), _) => Length::Chunked,
            (_, Some(length)) => Length::Known(length.parse().unwrap()),
            _ => Length::UntilClosed,
        };
        Some(Self { start, fields, length })
    }

    fn borrowed(&self) -> Vec<(&str, &str)> {
        self.fields.iter().map(|(name, value)| (&**name, &**value)).collect()
    }
}

/// Takes what is there of a body, and says whether that was all of it.
fn take_body(buffer: &mut Vec<u8>, length: &mut Length, body: &mut Vec<u8>) -> bool {
    loop {
        match length {
            Length::UntilClosed => {
                body.append(buffer);
                return false;
            }
            Length::Known(rest) => {
                let n_bytes = (*rest).min(buffer.len());
                body.extend(buffer.drain(..n_bytes));
                *rest -= n_bytes;
                return *rest == 0;
            }
            Length::Chunked => {
                let Some(end) = buffer.windows(2).position(|window| window == b"\r\n") else {
                    return false;
                };
                let size = std::str::from_utf8(&buffer[..end]).unwrap().split(';').next().unwrap();
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                if buffer.len() < end + 4 + size {
                    return false;
                }
                body.extend_from_slice(&buffer[end + 2..end + 2 + size]);
                buffer.drain(..end + 4 + size);
                if size == 0 {
                    return true;
                }
            }
        }
    }
}

/// An exchange that is being answered.
struct Answer {
    number: u64,
    seq: u64,
    is_head_request: bool,
    length: Option<Length>,
    is_stream: bool,
    body: Vec<u8>,
    splitter: SseSplitter,
}

#[derive(Default)]
struct Connection {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    open: VecDeque<Answer>,
}

/// Makes pieces of a capture, and tells a follower what is in it.
#[derive(Default)]
struct Both {
    segment: Segment,
    follower: HttpFollower,
    meanings: Vec<HttpMeaning>,
    lens: Lens,
    connections: BTreeMap<u64, Connection>,
    n_exchanges: u64,
    n_frames: u64,
    at_ns: u64,
}

impl Both {
    fn piece(&mut self, number: u64, part: HttpPart, bytes: &[u8]) {
        self.segment.push_http(number, part, self.at_ns, self.at_ns, bytes);
    }

    fn follow(&mut self, seq: u64, number: u64, event: HttpEvent<'_>) {
        let moment = HttpMoment { seq, wall_ns: self.at_ns, at_ns: self.at_ns };
        self.follower.follow(moment, number, event, &mut self.lens, &mut self.meanings);
    }

    fn asked(&mut self, connection: u64, bytes: &[u8]) {
        let mut this = self.connections.remove(&connection).unwrap_or_default();
        this.to_server.extend_from_slice(bytes);
        loop {
            let mut rest = this.to_server.clone();
            let Some(request) = Head::take(&mut rest) else { break };
            let mut length = if request.length == Length::UntilClosed { Length::Known(0) } else { request.length };
            let mut body = Vec::new();
            if !take_body(&mut rest, &mut length, &mut body) {
                break;
            }
            this.to_server = rest;
            (self.n_exchanges, self.n_frames) = (self.n_exchanges + 1, self.n_frames + 1);
            let (number, seq) = (self.n_exchanges, self.n_frames);
            let [verb, target, version] = &request.start[..] else { panic!("{:?}", request.start) };
            let text = head(&format!("{connection} {verb} {target} {version}"), &request.borrowed());
            self.piece(number, HttpPart::Request, &text);
            self.piece(number, HttpPart::RequestBody, &body);
            self.piece(number, HttpPart::RequestEnd, b"");
            let fields: Vec<_> = request.borrowed().into_iter().map(|(name, value)| (name, value.as_bytes())).collect();
            let (headers, body) = (Headers(&fields), Bytes::from(body));
            self.follow(seq, number, HttpEvent::Opened(HttpRequest { connection, verb, target, headers, body }));
            this.open.push_back(Answer {
                number,
                seq,
                is_head_request: verb == "HEAD",
                length: None,
                is_stream: false,
                body: Vec::new(),
                splitter: SseSplitter::default(),
            });
        }
        self.connections.insert(connection, this);
    }

    fn answered(&mut self, connection: u64, bytes: &[u8]) {
        let mut this = self.connections.remove(&connection).unwrap_or_default();
        this.to_client.extend_from_slice(bytes);
        while let Some(mut answer) = this.open.pop_front() {
            if answer.length.is_none() {
                let Some(response) = Head::take(&mut this.to_client) else {
                    this.open.push_front(answer);
                    break;
                };
                let status: u16 = response.start[1].parse().unwrap();
                if status < 200 {
                    this.open.push_front(answer);
                    continue;
                }
                let has_none = matches!(status, 204 | 304) || answer.is_head_request;
                answer.length = Some(if has_none { Length::Known(0) } else { response.length });
                self.piece(
                    answer.number,
                    HttpPart::Response,
                    &head(&format!("HTTP/1.1 {status}"), &response.borrowed()),
                );
                let fields: Vec<_> =
                    response.borrowed().into_iter().map(|(name, value)| (name, value.as_bytes())).collect();
                answer.is_stream = Headers(&fields).is_of_type("text/event-stream");
                self.follow(answer.seq, answer.number, HttpEvent::Head { status, headers: Headers(&fields) });
            }
            let mut some = Vec::new();
            let is_whole = take_body(&mut this.to_client, answer.length.as_mut().unwrap(), &mut some);
            if !some.is_empty() {
                self.piece(answer.number, HttpPart::ResponseBody, &some);
            }
            if answer.is_stream {
                let mut events = Vec::new();
                answer.splitter.feed(&some, &mut |event| events.push(event));
                for event in &events {
                    let has_data = event.data.as_ref().is_some_and(|data| !data.is_empty());
                    self.n_frames += u64::from(has_data);
                    let seq = if has_data { self.n_frames } else { answer.seq };
                    self.follow(seq, answer.number, HttpEvent::Event(event));
                }
            } else {
                answer.body.append(&mut some);
            }
            if !is_whole {
                this.open.push_front(answer);
                break;
            }
            self.end(answer, HttpEnd::Whole);
        }
        self.connections.insert(connection, this);
    }

    fn end(&mut self, mut answer: Answer, end: HttpEnd) {
        self.piece(answer.number, HttpPart::End, &[end.code()]);
        let rest = answer.splitter.finish().and_then(|event| event.data).unwrap_or_default();
        self.n_frames += u64::from(!answer.body.is_empty() || !rest.is_empty());
        if !answer.body.is_empty() {
            self.follow(self.n_frames, answer.number, HttpEvent::Body(Bytes::from(answer.body)));
        }
        self.follow(answer.seq, answer.number, HttpEvent::Ended(end));
    }

    fn closed(&mut self, connection: u64, by_client: bool) {
        for answer in self.connections.remove(&connection).unwrap_or_default().open {
            let end = match (by_client, answer.length == Some(Length::UntilClosed)) {
                (true, _) => HttpEnd::ByClient,
                (false, true) => HttpEnd::Whole,
                (false, false) => HttpEnd::ByServer,
            };
            self.end(answer, end);
        }
    }

    fn play(text: &str) -> Self {
        let mut this = Self::default();
        for line in text.lines() {
            let [seconds, connection, direction, data, event] =
                Node::new(line.as_bytes()).pick(["t", "conn", "dir", "data", "ev"]);
            this.at_ns = (seconds.unwrap().as_f64().unwrap() * 1e9) as u64;
            let (Some(connection), Some(direction)) = (connection.and_then(Node::as_i64), direction) else {
                continue;
            };
            let (connection, by_client) = (connection as u64, direction.is_text("c2s"));
            match (data.and_then(Node::text), event) {
                (Some(data), _) if by_client => this.asked(connection, data.as_bytes()),
                (Some(data), _) => this.answered(connection, data.as_bytes()),
                (None, Some(_)) => this.closed(connection, by_client),
                (None, None) => {}
            }
        }
        this.follower.finish(&mut this.meanings);
        this
    }
}

/// Rows of messages, what was answered by one, findings and links, in order of their kind.
fn told(events: Vec<Event>, meanings: Vec<HttpMeaning>) -> BTreeMap<&'static str, Vec<String>> {
    let mut told = BTreeMap::<_, Vec<String>>::new();
    for event in events {
        match event {
            Event::Row(row) if matches!(row.kind, RowKind::Exchange | RowKind::Body) => {}
            Event::Row(row) => told.entry("rows").or_default().push(format!("{row:?}")),
            // What a status says is known to the reading alone.
            Event::Answered { request, answer, .. } if request == answer => {}
            Event::Answered { ref error_code, .. }
                if error_code.as_deref().is_some_and(|code| code.starts_with("HTTP")) => {}
            event => told.entry("answers").or_default().push(format!("{event:?}")),
        }
    }
    for HttpMeaning { session, meaning } in meanings {
        for finding in meaning.findings {
            told.entry("findings").or_default().push(format!("{session:?} {finding:?}"));
        }
        for link in meaning.links {
            told.entry("links").or_default().push(format!("{session:?} {link:?}"));
        }
    }
    told
}

#[test]
fn what_is_read_of_captures_is_what_a_follower_says_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let (mut n_files, mut n_frames, mut n_bytes) = (0, 0, 0);
    for path in files.map(|file| file.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !(name.starts_with("http-") || name.contains("-http--") || name.contains("-sse--")) {
            continue;
        }
        let mut both = Both::play(&std::fs::read_to_string(&path).unwrap());
        let mut events = Vec::new();
        for this in &mut both.meanings {
            events.append(&mut this.meaning.events);
        }
        let expected = told(events, both.meanings);
        let (mut reading, mut events, mut meanings) = (HttpReading::new(), Vec::new(), Vec::new());
        let mut sink = |read: crate::Read, _: &HttpFollower| {
            events.extend(read.events);
            meanings.extend(read.meanings);
        };
        reading.feed(&both.segment, &mut sink).unwrap();
        reading.finish(&mut sink);
        assert_eq!(told(events, meanings), expected, "{name}");
        assert!(reading.follower().states().eq(both.follower.states()), "{name}");
        (n_files, n_frames, n_bytes) = (n_files + 1, n_frames + reading.n_frames(), n_bytes + both.segment.bytes.len());
    }
    println!("{n_frames} frames, {n_bytes} bytes in {n_files} captures");
    assert!(n_files == 0 || 1_000 < n_frames, "the reader sees nothing");
}
