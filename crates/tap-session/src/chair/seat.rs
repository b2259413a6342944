//! What both chairs sit on: the follower, the judging of what is about to be said, and the calls.

use std::collections::VecDeque;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::{Node, RawId, TOKEN_LIMIT_BYTES};
use tap_protocol::{Side, meta, method};

use super::calls::{CallId, Calls, OnProgress, OwnCall, RequestOptions, Waits};
use super::{Misuse, Outcome, Output, write};
use crate::follow::{Follower, Lens, Meaning};
use crate::observer::Event;
use crate::row::{At, MessageRow, RowKind};
use crate::rule::Severity;
use crate::state::{Kept, SessionState};

#[derive(Debug)]
pub(super) struct Seat {
    side: Side,
    follower: Follower,
    lens: Lens,
    n_frames: u64,
    outputs: VecDeque<Output>,
    pub(super) calls: Calls,
}

/// A message of the peer, or a member of its batch.
pub(super) struct Heard<'a> {
    pub(super) row: &'a MessageRow,
    /// The line that it stands in.
    pub(super) line: &'a Bytes,
    pub(super) node: Node<'a>,
}

impl Heard<'_> {
    /// A part of the message, without copying it.
    pub(super) fn keep(&self, part: Node<'_>) -> Kept {
        Kept(self.line.slice_ref(part.bytes()))
    }

    pub(super) fn method(&self) -> &str {
        self.row.method.as_deref().unwrap_or_default()
    }

    pub(super) fn param(&self, path: &[&str]) -> Option<Node<'_>> {
        self.node.get("params")?.at(path)
    }

    /// What an answer says, even if it says too much.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        let [result, error] = self.node.pick(["result", "error"]);
        match (self.row.kind, result, error) {
            (RowKind::Result, Some(result), _) => Some(Outcome::Result(self.keep(result))),
            (_, _, Some(error)) => Some(Outcome::Error(self.keep(error))),
            _ => None,
        }
    }

    /// Its id, if an answer can have it: a string or a whole number, and one that is not too long to be known whole.
    pub(super) fn usable_id(&self) -> Option<&RawId> {
        let raw_id = self.row.raw_id.as_ref()?;
        let node = Node::new(raw_id.as_bytes());
        let usable = (node.is_string() || node.is_integer())
            && raw_id.as_bytes().len() < TOKEN_LIMIT_BYTES
            && std::str::from_utf8(raw_id.as_bytes()).is_ok();
        usable.then_some(raw_id)
    }
}

impl Seat {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            follower: Follower::new(),
            lens: Lens::default(),
            n_frames: 0,
            outputs: VecDeque::new(),
            calls: Calls::default(),
        }
    }

    pub(super) fn state(&self) -> &SessionState {
        self.follower.state()
    }

    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn frame(&self, side: Side, bytes: Bytes, now_ns: u64) -> Frame {
        let stream = if side == Side::Client { Stream::ToServer } else { Stream::ToClient };
        Frame { seq: self.n_frames + 1, wall_ns: 0, at_ns: now_ns, stream, origin: Origin::Wire, bytes }
    }

    /// Sends a message, if it breaks no rule.
    ///
    /// It is tried on a copy of all that is known, which costs next to nothing, and the copy is kept if it went well.
    pub(super) fn say(&mut self, mut message: Vec<u8>, now_ns: u64) -> Result<At, Misuse> {
        // A text of the user may be printed over several lines: between tokens, as strings have no line ends in them.
        for byte in &mut message {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        message.push(b'\n');
        let bytes = Bytes::from(message);
        let mut next = self.follower.clone();
        let mut meaning = Meaning::default();
        next.follow(&self.frame(self.side, bytes.clone(), now_ns), &mut self.lens, &mut meaning);
        let broken = |finding: &&crate::rule::Finding| finding.by == self.side && finding.severity == Severity::Error;
        if let Some(finding) = meaning.findings.iter().find(broken) {
            return Err(Misuse::Rule(Box::new(finding.clone())));
        }
        let Some(Event::Row(row)) = meaning.events.first() else {
            return Err(Misuse::BadText { what: "message" });
        };
        if !matches!(row.kind, RowKind::Request | RowKind::Notification | RowKind::Result | RowKind::Error) {
            return Err(Misuse::BadText { what: "message" });
        }
        let at = row.at;
        self.follower = next;
        self.n_frames += 1;
        self.outputs.extend(meaning.findings.into_iter().map(Output::Finding));
        self.outputs.push_back(Output::Send(bytes.slice(..bytes.len() - 1)));
        Ok(at)
    }

    /// Takes what the peer wrote. What is given back are its messages; what they broke is among the outputs.
    pub(super) fn hear(&mut self, line: &Bytes, now_ns: u64) -> Vec<MessageRow> {
        let frame = self.frame(self.side.other(), line.clone(), now_ns);
        self.n_frames += 1;
        let mut meaning = Meaning::default();
        self.follower.follow(&frame, &mut self.lens, &mut meaning);
        self.outputs.extend(meaning.findings.into_iter().map(Output::Finding));
        let rows = meaning.events.into_iter().filter_map(|event| match event {
            Event::Row(row) => Some(row),
            Event::Answered { .. } | Event::Done { .. } => None,
        });
        rows.collect()
    }

    /// The peer went away.
    pub(super) fn end(&mut self) {
        let mut meaning = Meaning::default();
        self.follower.finish(&mut meaning);
        self.outputs.extend(meaning.findings.into_iter().map(Output::Finding));
        for call in self.calls.ids() {
            self.calls.take(call);
            self.push(Output::Dropped { call });
        }
        self.push(Output::Ended);
    }

    /// Sends a request that is no call of the user's.
    pub(super) fn ask(&mut self, method: &str, params: &[u8], now_ns: u64) -> Result<At, Misuse> {
        let number = self.calls.n_ids + 1;
        let at = self.say(write::question(Some(number.to_string().as_bytes()), method, Some(params)), now_ns)?;
        self.calls.n_ids = number;
        Ok(at)
    }

    /// Sends a request of the user's: a new one, or another round of `earlier`. `params` are the ones to be sent, and
    /// `more` what is to be in their `_meta`.
    pub(super) fn call(
        &mut self,
        earlier: Option<CallId>,
        mut call: OwnCall,
        params: Option<Node<'_>>,
        mut more: Vec<(&str, Vec<u8>)>,
        now_ns: u64,
    ) -> Result<CallId, Misuse> {
        if params.and_then(|params| params.get("_meta")).is_some_and(|meta| !meta.is_object()) {
            return Err(Misuse::BadText { what: "_meta" });
        }
        let number = self.calls.n_ids + 1;
        let wire_id = number.to_string().into_bytes();
        if call.options.on_progress != OnProgress::NotAsked {
            more.push((meta::PROGRESS_TOKEN, wire_id.clone()));
        }
        let params = match (params, more.is_empty()) {
            (params, false) => Some(write::with_meta(params, &more)?),
            (params, true) => params.map(|params| params.bytes().to_vec()),
        };
        let at = self.say(write::question(Some(&wire_id), &call.method, params.as_deref()), now_ns)?;
        self.calls.n_ids = number;
        if let Waits::Answer { at: request, number: id, limit_ns, until_ns, ceiling_ns } = &mut call.waits {
            (*request, *id) = (at, number);
            *ceiling_ns = match call.options.on_progress {
                OnProgress::Extend { ceiling_ns } => now_ns.saturating_add(ceiling_ns),
                OnProgress::NotAsked | OnProgress::Tell => u64::MAX,
            };
            *until_ns = now_ns.saturating_add(*limit_ns).min(*ceiling_ns);
        }
        let id = earlier.unwrap_or(CallId(number));
        self.calls.put(id, call);
        Ok(id)
    }

    /// A call of the user's that waits for an answer for at most so long.
    pub(super) fn new_call(
        &self,
        name: &str,
        params: Option<&str>,
        options: RequestOptions,
        default_limit_ns: u64,
    ) -> OwnCall {
        // A subscription is answered when it ends.
        let limit_ns = match name {
            "subscriptions/listen" => u64::MAX,
            _ => options.limit_ns.unwrap_or(default_limit_ns),
        };
        let at = At { seq: 0, member: 0 };
        OwnCall {
            method: name.into(),
            known: method(name),
            params: params.map(Into::into),
            options,
            waits: Waits::Answer { at, number: 0, limit_ns, until_ns: 0, ceiling_ns: 0 },
        }
    }

    /// Gives up a call of the user's, and says so to the peer.
    pub(super) fn cancel(&mut self, call_id: CallId, reason: Option<&str>, now_ns: u64) -> Result<(), Misuse> {
        let call = self.calls.get(call_id).ok_or(Misuse::NoSuchCall(call_id))?;
        if let Waits::Answer { number, .. } = call.waits {
            let id = number.to_string();
            let params = write::Object::new().member("requestId", id.as_bytes()).maybe_text("reason", reason).done();
            self.say(write::question(None, "notifications/cancelled", Some(&params)), now_ns)?;
        }
        self.calls.take(call_id);
        Ok(())
    }

    /// Gives up the calls that have waited too long.
    pub(super) fn time_out(&mut self, now_ns: u64) {
        while let Some(call) = self.calls.late(now_ns) {
            // What must not be cancelled, such as a request that became a task, is only waited for no more.
            if self.cancel(call, Some("not answered in time"), now_ns).is_err() {
                self.calls.take(call);
            }
            self.push(Output::TimedOut { call });
        }
    }

    /// Tells progress of a call of the user's; `None` when it is not of one.
    pub(super) fn progress(&mut self, heard: &Heard<'_>, now_ns: u64) -> Option<()> {
        let [token, progress, total, message] =
            heard.node.get("params")?.pick(["progressToken", "progress", "total", "message"]);
        let direction = heard.row.stream.direction().reversed();
        let request = self.state().call_of_token(direction, &RawId::from_token(token?.bytes()))?.at;
        let call = self.calls.of_request(request)?;
        let progress = progress?.as_f64()?;
        self.calls.extend(call, now_ns);
        let total = total.and_then(Node::as_f64);
        let message = message.and_then(|message| Some(message.text()?.into_owned()));
        self.push(Output::Progress { call, progress, total, message });
        Some(())
    }
}
