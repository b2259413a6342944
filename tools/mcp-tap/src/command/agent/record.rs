//! A run as it is recorded and read again: a session of its own, whose messages are those of JSON-RPC.
//!
//! The agent is the client. How the run is bounded, what the person says and how it ended are notifications (`agent/begin`, `agent/user`, `agent/end`), asking the
//! model is a request (`agent/model`, `agent/sampling`), and so is a call of a tool, in MCP's own words.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde_json::{Value, json};
use tap_agent::{read_turn, write_turn};
use tap_frame::{Origin, Stream};
use tap_jsonrpc::Node;
use tap_models::ModelTurn;
use tap_peer::quoted;
use tap_relay::Copies;
use tap_router::canonical;

use crate::failure::Failure;
use crate::reference::Found;

/// The revision in whose words calls are recorded.
const REVISION: &str = "2025-11-25";

/// The code of what has no answer.
const FAILED: i64 = -32000;

/// Records a run.
#[derive(Clone)]
pub(super) struct Record {
    copies: Arc<Copies>,
    n_requests: Arc<AtomicU64>,
}

impl Record {
    /// Begins, with who takes part.
    pub(super) fn begin(copies: Arc<Copies>, model: &str) -> Self {
        let record = Self { copies, n_requests: Arc::new(AtomicU64::new(1)) };
        let client = json!({"name": "mcp-tap agent", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": REVISION, "capabilities": {"experimental": {"agent": {}}}, "clientInfo": client});
        record.line(
            Stream::ToServer,
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string(),
        );
        let result = json!({"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": {"name": model, "version": ""}});
        record.line(Stream::ToClient, &json!({"jsonrpc": "2.0", "id": 0, "result": result}).to_string());
        record.line(Stream::ToServer, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        record
    }

    fn line(&self, stream: Stream, text: &str) {
        let line = Bytes::from(format!("{}\n", on_one_line(text)));
        self.copies.offer(stream, self.copies.clock().at_ns(), &line);
    }

    /// Something is said that has no answer.
    pub(super) fn note(&self, method: &str, params: &Value) {
        self.line(Stream::ToServer, &json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Something is asked. `params` is the text of a JSON object. Gives what is to be told of what comes back.
    pub(super) fn asked(&self, method: &str, params: &str) -> Open<'_> {
        let id = self.n_requests.fetch_add(1, Ordering::Relaxed);
        self.line(
            Stream::ToServer,
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{},\"params\":{params}}}", quoted(method)),
        );
        Open { record: self, id, is_over: false }
    }
}

/// A request in the record that has an end, whatever becomes of the task in which it is made.
pub(super) struct Open<'a> {
    record: &'a Record,
    id: u64,
    is_over: bool,
}

impl Open<'_> {
    /// A result came back, the text of a JSON object.
    pub(super) fn came(mut self, result: &str) {
        self.is_over = true;
        self.record.line(Stream::ToClient, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", self.id));
    }

    /// The model's turn came back.
    pub(super) fn turn(self, turn: &ModelTurn) {
        self.came(&write_turn(turn));
    }

    /// Nothing came back.
    pub(super) fn failed(mut self, what: &str) {
        self.end(what);
    }

    fn end(&mut self, what: &str) {
        self.is_over = true;
        let error = format!("{{\"code\":{FAILED},\"message\":{}}}", quoted(what));
        self.record.line(Stream::ToClient, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", self.id));
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.end("given up");
        }
    }
}

/// JSON on one line, as messages are. Line ends in it are white space: inside of a text they are written as escapes.
pub(super) fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// A run that was recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// What the person said.
    pub(super) said: Vec<String>,
    /// What the model answered, or why it did not.
    pub(super) turns: VecDeque<Result<ModelTurn, String>>,
    /// The same of what servers asked it.
    pub(super) samplings: VecDeque<Result<ModelTurn, String>>,
    /// What calls came back with, by name and arguments, in their order.
    pub(super) calls: HashMap<(String, String), VecDeque<String>>,
    /// How each question ended.
    pub(super) endings: Vec<String>,
    /// What bounded it, where that is known.
    pub(super) bounds: Option<Bounds>,
}

/// What bounds a run, as it is recorded: a run that is replayed is bounded as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) rounds: u32,
    pub(super) calls: u32,
    pub(super) tokens: Option<u64>,
    pub(super) goes_on_when_refused: bool,
}

impl Bounds {
    pub(super) fn to_json(self) -> Value {
        json!({"rounds": self.rounds, "calls": self.calls, "tokens": self.tokens, "goesOnWhenRefused": self.goes_on_when_refused})
    }

    fn read(params: Node<'_>) -> Option<Self> {
        let number = |member: &str| u32::try_from(params.get(member)?.as_i64()?).ok();
        Some(Self {
            rounds: number("rounds")?,
            calls: number("calls")?,
            tokens: params.get("tokens").and_then(Node::as_i64).and_then(|tokens| u64::try_from(tokens).ok()),
            goes_on_when_refused: params.get("goesOnWhenRefused").and_then(Node::as_bool)?,
        })
    }
}

/// A call as it is found again: the order of members means nothing.
pub(super) fn key(name: &str, arguments: &[u8]) -> (String, String) {
    (name.to_owned(), canonical(Node::new(arguments)))
}

impl Recorded {
    /// Reads a session.
    pub(super) fn read(found: &Found) -> Result<Self, Failure> {
        let mut recorded = Self::default();
        let mut asked: HashMap<u64, (String, (String, String))> = HashMap::new();
        for piece in found.store.recorded(found.session.id) {
            let tap_session::Recorded::Frame(frame) = piece? else { continue };
            if frame.origin == Origin::Wire {
                recorded.take(&frame.bytes, &mut asked);
            }
        }
        if recorded.said.is_empty() {
            return Err(Failure::new(format!("{} is no run of an agent: nobody said anything in it", found.reference))
                .hint("`mcp-tap ls` lists runs by the name that --name gave them, which is `agent` if nobody said otherwise"));
        }
        Ok(recorded)
    }

    fn take(&mut self, bytes: &[u8], asked: &mut HashMap<u64, (String, (String, String))>) {
        let node = Node::new(bytes);
        let [method, id, params, result, error] = node.pick(["method", "id", "params", "result", "error"]);
        let id = id.and_then(Node::as_i64).and_then(|id| u64::try_from(id).ok());
        let text = |node: Node<'_>| String::from_utf8_lossy(node.bytes()).into_owned();
        let member = |name: &str| params.and_then(|params| params.get(name)?.text()).unwrap_or_default().into_owned();
        match (method.and_then(Node::text).as_deref(), id) {
            (Some("agent/user"), _) => self.said.push(member("text")),
            (Some("agent/begin"), _) => self.bounds = params.and_then(Bounds::read),
            (Some("agent/end"), _) => self.endings.push(member("ending")),
            (Some(method), Some(id)) => {
                let arguments = params.and_then(|params| params.get("arguments")).map_or(&b"{}"[..], Node::bytes);
                asked.insert(id, (method.to_owned(), key(&member("name"), arguments)));
            }
            (None, Some(id)) => {
                let Some((method, key)) = asked.remove(&id) else { return };
                let failure = || error.and_then(|error| error.get("message")?.text()).unwrap_or_default().into_owned();
                let turn = || result.and_then(|result| read_turn(result.bytes())).ok_or_else(failure);
                match (method.as_str(), result) {
                    ("agent/model", _) => self.turns.push_back(turn()),
                    ("agent/sampling", _) => self.samplings.push_back(turn()),
                    ("tools/call", Some(result)) => self.calls.entry(key).or_default().push_back(text(result)),
                    _ => {}
                }
            }
            (Some(_), None) | (None, None) => {}
        }
    }
}
