//! Scripts of HTTP: exchanges as text. How they are written is said at [`Rule`](crate::Rule).

use std::collections::HashMap;

use bytes::Bytes;
use tap_frame::HttpEnd;
use tap_jsonrpc::{Node, SseSplitter};

use super::{META, MILLISECOND_NS, handshake};
use crate::follow::Lens;
use crate::http::{Headers, HttpEvent, HttpFollower, HttpMeaning, HttpMoment, HttpRequest};

/// Whether a script is one of HTTP.
pub(crate) fn is_http(script: &str) -> bool {
    script.trim_start().starts_with("# http")
}

/// An exchange that the script has opened.
struct Open {
    number: u64,
    has_head: bool,
    /// What a server answers that has nothing to say: the body has no request.
    only_others: bool,
    splitter: SseSplitter,
    is_sse: bool,
}

/// Plays a script.
pub(crate) struct Player {
    pub(crate) follower: HttpFollower,
    pub(crate) meanings: Vec<HttpMeaning>,
    lens: Lens,
    seq: u64,
    at_ns: u64,
    n_exchanges: u64,
    /// By label; the one without is "".
    open: HashMap<String, Open>,
    labels: Vec<String>,
    revision: String,
}

type Fields = Vec<(String, String)>;

/// Plays a script to its end.
#[track_caller]
pub(crate) fn play(script: &str) -> Player {
    let mut player = Player {
        follower: HttpFollower::new(),
        meanings: Vec::new(),
        lens: Lens::default(),
        seq: 0,
        at_ns: 0,
        n_exchanges: 0,
        open: HashMap::new(),
        labels: Vec::new(),
        revision: String::new(),
    };
    let script = script.replace("META", META);
    let lines: Vec<&str> = script.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut rest = &lines[..];
    while let Some((first, after)) = rest.split_first() {
        let (arrow, text) = first.split_once(' ').unwrap_or((first, ""));
        let (kind, label) = arrow.split_at(arrow.len().min(2));
        if matches!(kind, ">>" | "<<") {
            let n_more = after.iter().take_while(|line| line.split(' ').next() == Some(arrow)).count();
            let block: Vec<&str> =
                rest[..=n_more].iter().map(|line| line.get(arrow.len() + 1..).unwrap_or("")).collect();
            let n_used = if kind == ">>" { player.request(label, &block) } else { player.response(label, &block) };
            rest = &rest[n_used..];
            continue;
        }
        match kind {
            "#" => player.begin(text),
            "++" => player.at_ns += text.parse::<u64>().unwrap() * MILLISECOND_NS,
            "<|" => player.end(label, HttpEnd::Whole),
            "<!" => player.end(label, HttpEnd::ByServer),
            ">|" => player.end(label, HttpEnd::ByClient),
            other => panic!("no such arrow: {other}"),
        }
        rest = after;
    }
    player.end_current();
    player.follower.finish(&mut player.meanings);
    player
}

impl Player {
    fn begin(&mut self, text: &str) {
        let revision = text.strip_prefix("http").unwrap_or(text).trim().to_owned();
        if revision.is_empty() || revision == "2026-07-28" {
            self.revision = revision;
            return;
        }
        let [initialize, answer, initialized] = handshake(&revision).map(|(_, line)| line.trim().to_owned());
        if revision == "2024-11-05" {
            self.request("sse", &["GET /sse"]);
            self.response("sse", &["event: endpoint", "data: /message?s=1"]);
            self.revision = revision;
            self.request("", &[&initialize]);
            self.response("", &["202"]);
            self.response("sse", &[&format!("data: {answer}")]);
        } else {
            self.request("", &[&initialize]);
            self.response("", &["200", "Content-Type: application/json", "Mcp-Session-Id: s1", "", &answer]);
            self.revision = revision;
        }
        self.request("", &[&initialized]);
    }

    fn follow(&mut self, exchange: u64, event: HttpEvent<'_>) {
        self.seq += 1;
        let moment = HttpMoment { seq: self.seq, wall_ns: self.at_ns, at_ns: self.at_ns };
        self.follower.follow(moment, exchange, event, &mut self.lens, &mut self.meanings);
    }

    fn connection(&mut self, label: &str) -> u64 {
        if !self.labels.iter().any(|known| known == label) {
            self.labels.push(label.to_owned());
        }
        self.labels.iter().position(|known| known == label).unwrap() as u64
    }

    /// A request: how many lines of the block it has taken.
    fn request(&mut self, label: &str, block: &[&str]) -> usize {
        if label.is_empty() {
            self.end_current();
        }
        let mut n_used = 0;
        let (mut verb, mut target) = ("POST", None);
        if let Some((first, second)) = block[0].split_once(" /") {
            (verb, target) = (first, Some(format!("/{second}")));
            n_used = 1;
        }
        let (mut given, mut body) = (Fields::new(), String::new());
        let mut removed = Vec::new();
        while let Some(line) = block.get(n_used) {
            if line.contains(" /") && !line.starts_with('{') && !line.contains(": ") {
                break;
            }
            n_used += 1;
            if line.is_empty() {
                body = block[n_used..].join("\n");
                n_used = block.len();
            } else if line.starts_with(['{', '[']) {
                body = (*line).to_owned();
                break;
            } else if let Some(name) = line.strip_prefix('-') {
                removed.push(name.to_ascii_lowercase());
            } else {
                let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line}"));
                given.push((name.to_owned(), value.trim().to_owned()));
            }
        }
        let body = body.replace('␍', "\r");
        let mut fields = self.defaults(verb, &body);
        fields.retain(|(name, _)| {
            let lower = name.to_ascii_lowercase();
            !removed.contains(&lower) && !given.iter().any(|(given, _)| given.eq_ignore_ascii_case(&lower))
        });
        fields.extend(given);
        let target =
            target.unwrap_or_else(|| if self.revision == "2024-11-05" { "/message?s=1" } else { "/mcp" }.to_owned());
        self.at_ns += MILLISECOND_NS;
        self.n_exchanges += 1;
        let (number, connection) = (self.n_exchanges, self.connection(label));
        let borrowed: Vec<_> = fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
        let node = Node::new(body.as_bytes());
        let only_others = node.is_object() && (node.get("id").is_none() || node.get("method").is_none());
        let request =
            HttpRequest { connection, verb, target: &target, headers: Headers(&borrowed), body: Bytes::from(body) };
        self.follow(number, HttpEvent::Opened(request));
        let open = Open { number, has_head: false, only_others, splitter: SseSplitter::default(), is_sse: false };
        self.open.insert(label.to_owned(), open);
        n_used
    }

    /// The headers that a request has unless it says otherwise.
    fn defaults(&self, verb: &str, body: &str) -> Fields {
        let mut fields = Fields::new();
        let mut field = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
        match verb {
            "POST" => {
                field("Accept", "application/json, text/event-stream");
                field("Content-Type", "application/json");
            }
            "GET" => field("Accept", "text/event-stream"),
            _ => {}
        }
        match &*self.revision {
            "" | "2024-11-05" => {}
            "2026-07-28" => {
                field("MCP-Protocol-Version", "2026-07-28");
                let node = Node::new(body.as_bytes());
                let text = |path: &[&str]| node.at(path).and_then(Node::text);
                if let Some(method) = text(&["method"]) {
                    field("Mcp-Method", &method);
                    let member = match &*method {
                        "tools/call" | "prompts/get" => "name",
                        "resources/read" => "uri",
                        _ => "",
                    };
                    if let Some(name) = text(&["params", member]) {
                        field("Mcp-Name", &name);
                    }
                }
            }
            revision => {
                field("Mcp-Session-Id", "s1");
                field("MCP-Protocol-Version", revision);
            }
        }
        fields
    }

    fn response(&mut self, label: &str, block: &[&str]) -> usize {
        let open = self.open.get_mut(label).unwrap_or_else(|| panic!("no exchange {label:?} for {block:?}"));
        let (number, had_head) = (open.number, std::mem::replace(&mut open.has_head, true));
        let mut lines = block;
        let mut fields = Fields::new();
        let mut status = 200;
        if let Some(code) = block[0].split(' ').next().and_then(|code| code.parse().ok()) {
            status = code;
            lines = &block[1..];
            while let Some((line, after)) = lines.split_first() {
                if line.starts_with(['{', '[']) {
                    break;
                }
                lines = after;
                let Some((name, value)) = line.split_once(':') else {
                    break;
                };
                fields.push((name.to_owned(), value.trim().to_owned()));
            }
        }
        let has_type = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let is_json = lines.first().is_some_and(|line| line.starts_with(['{', '[']));
        if !had_head && !has_type && !lines.is_empty() {
            let kind = if is_json { "application/json" } else { "text/event-stream" };
            fields.push(("Content-Type".into(), kind.into()));
            if !is_json {
                fields.push(("X-Accel-Buffering".into(), "no".into()));
            }
        }
        self.at_ns += MILLISECOND_NS;
        if !had_head {
            let borrowed: Vec<_> = fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
            self.follow(number, HttpEvent::Head { status, headers: Headers(&borrowed) });
            let is_sse = fields.iter().any(|(_, value)| value == "text/event-stream");
            self.open.get_mut(label).unwrap().is_sse = is_sse;
        }
        if lines.is_empty() {
            return block.len();
        }
        let open = self.open.get_mut(label).unwrap();
        if open.is_sse {
            let mut events = Vec::new();
            open.splitter.feed((lines.join("\n") + "\n\n").as_bytes(), &mut |event| events.push(event));
            for event in &events {
                self.follow(number, HttpEvent::Event(event));
            }
        } else {
            self.follow(number, HttpEvent::Body(Bytes::from(lines.join("\n"))));
        }
        block.len()
    }

    fn end(&mut self, label: &str, end: HttpEnd) {
        let open = self.open.remove(label).unwrap_or_else(|| panic!("no exchange {label:?} to end"));
        self.at_ns += MILLISECOND_NS;
        self.follow(open.number, HttpEvent::Ended(end));
    }

    /// The exchange without a label ends where the next one begins; what asks for nothing is accepted.
    fn end_current(&mut self) {
        let Some(open) = self.open.get("") else {
            return;
        };
        let (has_head, only_others) = (open.has_head, open.only_others);
        if !has_head && only_others {
            self.response("", &["202"]);
        }
        let end = if has_head || only_others { HttpEnd::Whole } else { HttpEnd::ByServer };
        self.end("", end);
    }
}
