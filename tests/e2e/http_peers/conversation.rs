//! One conversation over HTTP: directly, and through a tap between two witnesses.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::programs::{Server, Tap, run};
use super::wire::{Exchange, differences, exchanges};
use super::witness::{Fault, Witness};
use crate::support::{LIMIT, Scratch};

/// What is between a client and its server.
pub(super) enum Between<'a> {
    Nothing,
    Tap(&'a Scratch),
    Broken(Fault),
}

/// Who talks with whom, about what.
pub(super) struct Conversation<'a> {
    pub(super) scratch: &'a Scratch,
    pub(super) server: &'a Server,
    /// Of the server's URL.
    pub(super) path: &'a str,
    /// A program that takes a script's path and a URL.
    pub(super) client: Vec<OsString>,
    /// See `tests/peers/node/client.mjs`.
    pub(super) script: Value,
}

/// What a conversation was.
pub(super) struct Outcome {
    /// The lines that the client printed; nothing if it did not end.
    pub(super) told: Option<Vec<Value>>,
    /// What was said between the client and what is between.
    near: Vec<Exchange>,
    /// What was said between that and the server.
    far: Vec<Exchange>,
}

impl Outcome {
    /// What became of each step, each a line: method, target, outcome.
    pub(super) fn steps(&self) -> Vec<String> {
        self.told.iter().flatten().filter_map(step).collect()
    }

    /// The server's name, if the client got to know it.
    pub(super) fn server_name(&self) -> Option<&str> {
        let server = self.told.iter().flatten().map(|line| &line["server"]).find(|server| !server.is_null())?;
        server.as_str().or_else(|| server["name"].as_str())
    }

    /// What reached the client, and what the server had sent by then: more, if the client left while more came.
    pub(super) fn exchanges(&self) -> [&[Exchange]; 2] {
        [&self.near, &self.far]
    }

    /// What is not as it is with nothing between, or not the same on both sides.
    pub(super) fn differences(&self, direct: &Self) -> Vec<String> {
        let mut found = differences(&self.near, &self.far);
        let (direct, told) = (ordered(direct.told.as_deref()), ordered(self.told.as_deref()));
        let length = direct.len().max(told.len());
        let line = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_else(|| "nothing more".into());
        let first = (0..length).map(|at| (line(&direct, at), line(&told, at))).find(|(direct, told)| direct != told);
        found.extend(first.map(|(direct, told)| {
            format!("the client told directly\n  {}\nand now\n  {}", shortened(&direct), shortened(&told))
        }));
        found
    }
}

impl Conversation<'_> {
    /// Has the conversation.
    #[track_caller]
    pub(super) fn through(&self, between: &Between<'_>) -> Outcome {
        match between {
            Between::Nothing => Outcome { told: self.talk_to(self.server.address, LIMIT), near: vec![], far: vec![] },
            Between::Tap(scratch) => {
                let far = Witness::before(self.server.address);
                let tap = Tap::before(scratch, &self.url(far.address));
                assert!(tap.url.ends_with(self.path), "{} for {}", tap.url, self.path);
                let near = Witness::before(tap.address());
                let told = self.talk_to(near.address, LIMIT);
                let near = exchanges(&near.saw());
                tap.stop();
                Outcome { told, near, far: exchanges(&far.saw()) }
            }
            Between::Broken(fault) => {
                let far = Witness::before(self.server.address);
                let broken = Witness::broken(far.address, *fault);
                let near = Witness::before(broken.address);
                let limit = match fault {
                    // Long enough for everything but to wait for what does not come.
                    Fault::HoldsBack => Duration::from_secs(5),
                    Fault::LosesRequestHeader | Fault::LosesResponseHeader | Fault::ChangesLineEnds => LIMIT,
                };
                let told = self.talk_to(near.address, limit);
                let near = exchanges(&near.saw());
                Outcome { told, near, far: exchanges(&far.saw()) }
            }
        }
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("http://{address}{}", self.path)
    }

    #[track_caller]
    fn talk_to(&self, address: SocketAddr, limit: Duration) -> Option<Vec<Value>> {
        let script = self.scratch.path("script.json");
        fs::write(&script, self.script.to_string()).unwrap();
        let mut client = Command::new(&self.client[0]);
        client.args(&self.client[1..]).arg(script).arg(self.url(address));
        // Nothing is to stand between besides what the test puts there.
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            client.env_remove(variable);
        }
        let output = run(client, limit)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the client {:?} gave up: {stderr}", self.client);
        let stdout = String::from_utf8(output.stdout).unwrap();
        Some(stdout.lines().map(|line| serde_json::from_str(&anywhere(line)).unwrap()).collect())
    }
}

/// Ports are others each time.
fn anywhere(line: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let mut pieces = line.split(HOST);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces
        .fold(first, |text, piece| text + HOST + piece.trim_start_matches(|character: char| character.is_ascii_digit()))
}

/// The lines in an order that does not depend on which of several streams was faster: those in which a server speaks of
/// its own accord come last, sorted, and each once.
fn ordered(told: Option<&[Value]>) -> Vec<String> {
    let Some(told) = told else { return vec!["it did not end".into()] };
    let (mut unasked, in_order): (Vec<Value>, Vec<Value>) = told.iter().cloned().partition(is_unasked);
    // Whether the client listens already when a server says that its tools are others now is a matter of moments.
    unasked.retain(|line| !line["message"]["method"].as_str().is_some_and(|method| method.ends_with("/list_changed")));
    for line in &mut unasked {
        // A server counts its questions over all its clients.
        line["message"]["id"] = Value::Null;
    }
    let mut unasked: Vec<String> = unasked.iter().map(Value::to_string).collect();
    unasked.sort();
    unasked.dedup();
    in_order.iter().map(Value::to_string).chain(unasked).collect()
}

fn is_unasked(line: &Value) -> bool {
    line["message"]["method"].as_str().is_some_and(|method| method != "notifications/progress")
}

fn shortened(line: &str) -> String {
    line.chars().take(400).collect()
}

/// `tools/call add: ok`.
fn step(line: &Value) -> Option<String> {
    let method = line["step"].as_str()?;
    let target = line["target"].as_str().map(|target| format!(" {target}")).unwrap_or_default();
    let outcome = match &line["error"]["code"] {
        Value::Null if line["error"].is_object() => "no answer".to_owned(),
        Value::Null if line["result"]["isError"] == true => "tool error".to_owned(),
        Value::Null => "ok".to_owned(),
        code => format!("error {code}"),
    };
    Some(format!("{method}{target}: {outcome}"))
}
