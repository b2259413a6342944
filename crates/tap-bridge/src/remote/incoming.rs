//! What the server answers, and what becomes of it.

use bytes::Bytes;
use tap_jsonrpc::{Kind, Node, RawId, SseEvent, other_type, same_number};

use super::exchange::{Exchange, Purpose, Waiting};
use super::streams::Shape;
use super::{Ending, Head, RemoteServer};
use crate::answer::{one_line, with_id};
use crate::message::{Incoming, Message, Nature};
use crate::notice::Notice;

/// What of a body that is no message is quoted, bytes.
const QUOTED_BYTES: usize = 200;

impl RemoteServer {
    /// The server has begun to answer.
    pub fn head(&mut self, number: u64, head: Head) {
        let Some(exchange) = self.exchanges.get_mut(&number) else {
            return;
        };
        (exchange.sent, exchange.accepted) = (true, true);
        // Servers send fresh ids with refusals too.
        if head.is_success() && exchange.waiting.iter().any(|waiting| waiting.is_initialize) {
            self.session = head.session_id.clone().or(self.session.take());
        }
        let is_taken = head.is_success();
        let listens = is_taken && exchange.is_initialized && self.shape == Shape::Streamable;
        exchange.head = Some(head);
        let exchange_is_post = exchange.purpose == Purpose::Messages;
        if exchange_is_post && is_taken && self.shape == Shape::OldStream {
            let waiting = std::mem::take(&mut exchange.waiting);
            let stream = self.exchanges.values_mut().find(|exchange| exchange.purpose == Purpose::OldStream);
            match stream {
                Some(stream) => stream.waiting.extend(waiting),
                None => self.fail(waiting, "the server has ended the stream on which it would answer"),
            }
        }
        if listens && self.ending == Ending::No {
            self.listen();
        }
        self.pump();
    }

    /// An event of an answer that is an event stream.
    pub fn event(&mut self, number: u64, event: &SseEvent) {
        let Some(exchange) = self.exchanges.get_mut(&number) else {
            return;
        };
        exchange.cursor.note(event);
        let Some(data) = event.data.as_ref().filter(|data| !data.is_empty()) else {
            return;
        };
        if event.lost_bytes > 0 {
            return self.tell(Notice::EventTooLarge);
        }
        match event.name() {
            b"message" => self.deliver(number, data),
            b"endpoint" => {
                let endpoint = String::from_utf8_lossy(data).into_owned();
                self.endpoint(number, &endpoint);
            }
            _ => {}
        }
        self.pump();
    }

    /// The exchange is over. `body` is the whole of an answer that is no event stream; `failure` is why it broke off, if it
    /// did.
    pub fn ended(&mut self, number: u64, body: &Bytes, failure: Option<&str>) {
        let Some(mut exchange) = self.exchanges.remove(&number) else {
            return;
        };
        match exchange.purpose {
            Purpose::Messages | Purpose::Resume => {
                if !exchange.is_stream() && failure.is_none() {
                    self.answered(&mut exchange, body);
                }
                self.unanswered(exchange, body, failure);
            }
            Purpose::Listen => {
                // A server need not have such a stream.
                if exchange.is_stream() || failure.is_some() {
                    self.resume_later(exchange);
                }
            }
            Purpose::OldStream => {
                let cause = cause(&exchange, body, failure);
                self.fail(std::mem::take(&mut exchange.waiting), &cause);
                match self.shape {
                    Shape::Opening(_) => self.opening_failed(&cause),
                    Shape::Streamable | Shape::OldStream => {
                        self.tell(Notice::SessionOver { status: exchange.status() });
                    }
                }
            }
            Purpose::Delete => {
                if matches!(self.ending, Ending::Deleting { exchange, .. } if exchange == number) {
                    self.finished();
                }
            }
        }
        self.pump();
    }

    /// Takes a body for what it is.
    fn answered(&mut self, exchange: &mut Exchange, body: &Bytes) {
        let incoming = Incoming::read(body);
        let is_refusal = !exchange.head.as_ref().is_some_and(Head::is_success);
        let error =
            incoming.only().filter(|message| message.kind == Kind::Error).and_then(|_| Node::new(body).get("error"));
        match error {
            // Who refuses a request may not have read its id.
            Some(_) if !exchange.waiting.is_empty() && !answers_any(&incoming, exchange) => {
                for waiting in std::mem::take(&mut exchange.waiting) {
                    self.say_to_host(&one_line(&with_id(body, waiting.id.as_bytes())));
                }
            }
            _ if matches!(incoming.nature, Nature::Message | Nature::Batch) => {
                self.take_in(&incoming, body, (&mut exchange.waiting, exchange.purpose));
            }
            _ => {}
        }
        if is_refusal && exchange.head.as_ref().is_some_and(|head| head.status == 404) && self.session.is_some() {
            self.tell(Notice::SessionUnknown);
        }
    }

    /// What is to be done about requests that an exchange leaves without answers.
    fn unanswered(&mut self, mut exchange: Exchange, body: &Bytes, failure: Option<&str>) {
        let status = exchange.head.as_ref().map_or(0, |head| head.status);
        let is_success = (200..300).contains(&status);
        if exchange.waiting.is_empty() {
            if exchange.is_notice && (failure.is_some() || !is_success) {
                self.tell(Notice::NotTaken { status: exchange.status() });
            }
            return;
        }
        let told = cause(&exchange, body, failure);
        if let (400 | 404 | 405, Some(initialize), None) = (status, exchange.initialize.take(), failure) {
            return self.open_old_stream(initialize, exchange.waiting, told);
        }
        let left = if exchange.is_stream() { self.resume_later(exchange) } else { exchange.waiting };
        self.fail(left, &told);
    }

    /// Hands the data of an event to the host.
    fn deliver(&mut self, number: u64, data: &Bytes) {
        let incoming = Incoming::read(data);
        if incoming.nature == Nature::NotJson {
            return self.tell(Notice::EventNotJson);
        }
        let Some(exchange) = self.exchanges.get_mut(&number) else {
            return;
        };
        let (mut waiting, purpose) = (std::mem::take(&mut exchange.waiting), exchange.purpose);
        self.take_in(&incoming, data, (&mut waiting, purpose));
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.waiting = waiting;
        }
    }

    /// Passes on what the server said on an exchange. Who waits for an answer in it is first looked for among those who wait
    /// there.
    fn take_in(&mut self, incoming: &Incoming, bytes: &Bytes, waiting: (&mut Vec<Waiting>, Purpose)) {
        let (waiting, purpose) = waiting;
        let mut line = one_line(bytes);
        for message in incoming.messages.iter().filter(|message| message.is_answer()) {
            let id = message.id.as_ref().filter(|id| !id.is_null());
            let here = id.and_then(|id| taken(waiting, id));
            if let Some(answered) = here.or_else(|| self.taken_anywhere(id?)) {
                self.learn(&answered, message, bytes);
            } else if let Some(answered) = taken_by_place(waiting, purpose, id, message.kind) {
                if incoming.only().is_some() && id.is_none_or(|id| !same_number(id, &answered.id)) {
                    // The host would not find its question.
                    line = one_line(&with_id(bytes, answered.id.as_bytes()));
                }
                self.learn(&answered, message, bytes);
            }
        }
        self.say_to_host(&line);
    }

    fn taken_anywhere(&mut self, id: &RawId) -> Option<Waiting> {
        let of_retries = self.retries.iter_mut().map(|retry| &mut retry.waiting);
        self.exchanges
            .values_mut()
            .map(|exchange| &mut exchange.waiting)
            .chain(of_retries)
            .find_map(|all| taken(all, id))
    }

    /// What follows from an answer for what is sent later.
    fn learn(&mut self, answered: &Waiting, message: &Message, bytes: &Bytes) {
        if answered.is_initialize && message.kind == Kind::Result {
            self.revision = message.answered_version();
        }
        if answered.is_tool_list
            && let Some(result) = Node::new(bytes).get("result")
        {
            self.mirrored.listed(result, self.now_ns);
        }
    }
}

fn taken(waiting: &mut Vec<Waiting>, id: &RawId) -> Option<Waiting> {
    let exact = waiting.iter().position(|waiting| waiting.id == *id);
    let index = exact.or_else(|| waiting.iter().position(|waiting| same_number(&waiting.id, id)))?;
    Some(waiting.remove(index))
}

/// The one request that an answer without its id must be for, if there is such a one.
fn taken_by_place(waiting: &mut Vec<Waiting>, purpose: Purpose, id: Option<&RawId>, kind: Kind) -> Option<Waiting> {
    let [only] = waiting.as_slice() else {
        return None;
    };
    let is_its = match id {
        // Who refuses a request may not have read its id.
        None => kind == Kind::Error,
        Some(id) if other_type(id, &only.id) => true,
        // What an exchange says on which one request was sent is the answer to that. On the stream of HTTP+SSE it may be a
        // late answer to another.
        Some(_) => purpose != Purpose::OldStream,
    };
    if is_its { waiting.pop() } else { None }
}

fn answers_any(incoming: &Incoming, exchange: &Exchange) -> bool {
    let ids = incoming.messages.iter().filter_map(|message| message.id.as_ref());
    ids.into_iter().any(|id| exchange.waiting.iter().any(|waiting| waiting.id == *id || same_number(&waiting.id, id)))
}

/// Why there is no answer, for the host's user.
fn cause(exchange: &Exchange, body: &Bytes, failure: Option<&str>) -> String {
    let Some(head) = &exchange.head else {
        return failure.unwrap_or("the server closed the connection before it answered").to_owned();
    };
    if let Some(failure) = failure {
        return format!("the answer broke off: {failure}");
    }
    if head.is_success() {
        return match (exchange.is_stream(), body.is_empty()) {
            (true, _) => "the server ended the stream before it answered".into(),
            (false, true) => format!("the server answered with HTTP {} and nothing else", head.status),
            (false, false) => {
                format!("the server answered with no JSON-RPC message ({}): {}", head.media_type, quoted(body))
            }
        };
    }
    let mut told = format!("the server answered with HTTP {}", head.status);
    if let Some(challenge) = &head.challenge {
        told += &format!(", WWW-Authenticate: {challenge}");
    }
    if let Some(location) = &head.location {
        told += &format!(", and points to {location}");
    }
    if !body.is_empty() {
        told += &format!(": {}", quoted(body));
    }
    told
}

fn quoted(bytes: &[u8]) -> String {
    let start = bytes.get(..QUOTED_BYTES).unwrap_or(bytes);
    let words = String::from_utf8_lossy(start).split_whitespace().collect::<Vec<_>>().join(" ");
    let more = if start.len() < bytes.len() { "…" } else { "" };
    format!("{words}{more}")
}
