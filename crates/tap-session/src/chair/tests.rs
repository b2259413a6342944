//! Tests of both chairs: talking to each other before a witness, and to peers that say anything.

mod real;

use std::collections::VecDeque;

use proptest::prelude::*;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::Node;
use tap_protocol::{Revisions, Side};

use super::*;
use crate::follow::{Follower, Lens, Meaning};
use crate::rule::Severity;

/// An observer of what passes between chairs, which is another machine than theirs.
#[derive(Default)]
struct Witness {
    follower: Follower,
    lens: Lens,
    meaning: Meaning,
    n_frames: u64,
}

impl Witness {
    /// Takes a message, with its newline or without.
    fn see(&mut self, side: Side, message: &[u8]) {
        let message = message.strip_suffix(b"\n").unwrap_or(message);
        self.n_frames += 1;
        let stream = if side == Side::Client { Stream::ToServer } else { Stream::ToClient };
        let (seq, at_ns) = (self.n_frames, self.n_frames * 1_000_000);
        let bytes = [message, b"\n"].concat().into();
        let frame = Frame { seq, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes };
        self.follower.follow(&frame, &mut self.lens, &mut self.meaning);
    }

    fn errors(&self) -> Vec<String> {
        let errors = self.meaning.findings.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(crate::script::told).collect()
    }
}

/// A client and a server that hear each other.
struct Pair {
    client: Client,
    server: Server,
    witness: Witness,
    now_ns: u64,
}

const CLIENT: &str = r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#;
const SERVER: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}"#;

impl Pair {
    fn new(client: Revisions, server: Revisions) -> Self {
        let client = ClientOptions { revisions: client, capabilities: CLIENT.into(), ..ClientOptions::default() };
        let server = ServerOptions { revisions: server, capabilities: SERVER.into(), ..ServerOptions::default() };
        Self {
            client: Client::new(client),
            server: Server::new(server).unwrap(),
            witness: Witness::default(),
            now_ns: 0,
        }
    }

    /// Carries what they say until nobody says anything more; gives back what else they told, the client first.
    fn talk(&mut self) -> (Vec<Output>, Vec<Output>) {
        let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
        loop {
            self.now_ns += 1_000_000;
            let sent: VecDeque<_> = std::iter::from_fn(|| self.client.poll_output()).collect();
            let answered: VecDeque<_> = std::iter::from_fn(|| self.server.poll_output()).collect();
            if sent.is_empty() && answered.is_empty() {
                return (to_client, to_server);
            }
            for output in sent {
                match output {
                    Output::Send(message) => {
                        self.witness.see(Side::Client, &message);
                        self.server.step(Input::Line([&message[..], b"\n"].concat().into()), self.now_ns);
                    }
                    other => to_client.push(other),
                }
            }
            for output in answered {
                match output {
                    Output::Send(message) => {
                        self.witness.see(Side::Server, &message);
                        self.client.step(Input::Line([&message[..], b"\n"].concat().into()), self.now_ns);
                    }
                    other => to_server.push(other),
                }
            }
        }
    }

    fn open(&mut self) -> Option<Revision> {
        self.client.open(self.now_ns).unwrap();
        self.talk();
        self.client.revision()
    }

    /// The request that the server was just given.
    fn asked(&mut self) -> At {
        let (_, told) = self.talk();
        let request = told.iter().find_map(|output| match output {
            Output::Request(request) => Some(request.request),
            _ => None,
        });
        request.unwrap_or_else(|| panic!("no request: {told:?}"))
    }
}

/// Every set of revisions that a peer is likely to have.
fn likely() -> Vec<Revisions> {
    let mut all = vec![Revisions::ALL, Revisions::LEGACY, Revisions::until(Revision::V2025_06_18)];
    all.extend(Revision::ALL.map(Revisions::only));
    all
}

#[test]
fn a_client_and_a_server_agree_wherever_they_can() {
    for client in likely() {
        for server in likely() {
            let common = client.intersection(server);
            let legacy = common.intersection(Revisions::LEGACY);
            let asked = client.intersection(Revisions::LEGACY).iter().next_back();
            let offered = server.intersection(Revisions::LEGACY).iter().next_back();
            let expected = match (asked, offered) {
                _ if !common.intersection(Revisions::MODERN).is_empty() => Some(Revision::V2026_07_28),
                // What the client asks for if the server has it; otherwise the server's newest if the client has it.
                (Some(asked), Some(offered)) if server.contains(asked) => Some(asked.min(offered)),
                (Some(_), Some(offered)) if legacy.contains(offered) => Some(offered),
                _ => None,
            };
            let mut pair = Pair::new(client, server);
            let agreed = pair.open();
            assert_eq!(agreed, expected, "client {client}, server {server}");
            assert_eq!(pair.witness.errors(), [""; 0], "client {client}, server {server}");
            if let Some(agreed) = agreed {
                assert_eq!(pair.witness.follower.state().revision, Some(agreed));
                assert_eq!(pair.client.state().revision, Some(agreed));
                assert_eq!(pair.server.state().revision, Some(agreed));
            }
        }
    }
}

#[test]
fn a_whole_session_of_every_revision_breaks_no_rule() {
    for revision in Revision::ALL {
        let mut pair = Pair::new(Revisions::only(revision), Revisions::ALL);
        assert_eq!(pair.open(), Some(revision));
        let options = || RequestOptions { on_progress: OnProgress::Tell, ..RequestOptions::default() };
        let list = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
        let content = r#"{"content":[{"type":"text","text":"x"}]}"#;

        pair.client.request("tools/list", None, options(), pair.now_ns).unwrap();
        let request = pair.asked();
        pair.server.progress(request, 1.0, Some(2.0), Some("half"), pair.now_ns).unwrap();
        pair.server.progress(request, 2.0, Some(2.0), None, pair.now_ns).unwrap();
        pair.server.answer(request, list, pair.now_ns).unwrap();
        let (told, _) = pair.talk();
        assert!(matches!(told[..], [.., Output::Progress { .. }, Output::Answer { .. }]), "{revision}: {told:?}");

        let call = pair.client.request("tools/call", Some(r#"{"name":"t"}"#), options(), pair.now_ns).unwrap();
        let request = pair.asked();
        if revision.era() == Era::Modern {
            let question = ("who", "roots/list", None);
            pair.server.require_input(request, &[question], Some("state"), pair.now_ns).unwrap();
            let (told, _) = pair.talk();
            assert!(matches!(told[..], [.., Output::InputRequired { .. }]), "{told:?}");
            pair.client.retry(call, &[("who", r#"{"roots":[]}"#)], pair.now_ns).unwrap();
            let request = pair.asked();
            pair.server.answer(request, content, pair.now_ns).unwrap();
        } else {
            let asked = pair.server.ask("roots/list", None, RequestOptions::default(), pair.now_ns).unwrap();
            let (told, _) = pair.talk();
            let [.., Output::Request(Request { request: roots, .. })] = told[..] else { panic!("{told:?}") };
            pair.client.respond(roots, Ok(r#"{"roots":[]}"#), pair.now_ns).unwrap();
            let (_, told) = pair.talk();
            assert!(matches!(told[..], [.., Output::Answer { call, .. }] if call == asked), "{told:?}");
            pair.server.answer(request, content, pair.now_ns).unwrap();
        }
        let (told, _) = pair.talk();
        assert!(matches!(told[..], [.., Output::Answer { .. }]), "{revision}: {told:?}");

        let slow = pair.client.request("tools/call", Some(r#"{"name":"t"}"#), options(), pair.now_ns).unwrap();
        let request = pair.asked();
        pair.client.cancel(slow, Some("enough"), pair.now_ns).unwrap();
        let (_, told) = pair.talk();
        assert!(told.contains(&Output::Withdrawn { request }), "{revision}: {told:?}");

        if revision.era() == Era::Modern {
            let filter = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}"#;
            pair.client.request("subscriptions/listen", Some(filter), RequestOptions::default(), pair.now_ns).unwrap();
            pair.talk();
        } else {
            let uri = Some(r#"{"uri":"file:///a"}"#);
            pair.client.request("resources/subscribe", uri, RequestOptions::default(), pair.now_ns).unwrap();
            let request = pair.asked();
            pair.server.answer(request, "{}", pair.now_ns).unwrap();
        }
        for change in [Change::Tools, Change::Resource { uri: "file:///a" }] {
            assert_eq!(pair.server.changed(change, pair.now_ns), Ok(1), "{revision}");
        }
        let (told, _) = pair.talk();
        let n_told = told.iter().filter(|output| matches!(output, Output::Notification { .. })).count();
        let of_a_call = told.iter().all(|output| !matches!(output, Output::Notification { call: None, .. }));
        assert_eq!((n_told, of_a_call), (2, revision.era() == Era::Modern), "{revision}: {told:?}");

        let open: Vec<_> = pair.server.subscriptions().collect();
        for subscription in open {
            pair.server.unsubscribe(subscription, pair.now_ns).unwrap();
        }
        pair.talk();
        assert_eq!(pair.witness.errors(), [""; 0], "{revision}");
        for state in [pair.client.state(), pair.server.state()] {
            let seen = pair.witness.follower.state();
            assert_eq!(
                (state.phase, state.revision, state.n_in_flight()),
                (seen.phase, seen.revision, 1),
                "{revision}"
            );
        }
    }
}

#[test]
fn what_would_break_a_rule_is_not_said_and_changes_nothing() {
    for revision in Revision::ALL {
        let mut pair = Pair::new(Revisions::only(revision), Revisions::ALL);
        pair.open();
        pair.client.request("tools/call", Some(r#"{"name":"t"}"#), RequestOptions::default(), pair.now_ns).unwrap();
        let request = pair.asked();
        let (client, server) = (pair.client.state().clone(), pair.server.state().clone());
        let now_ns = pair.now_ns;
        for (method, params) in [
            ("notifications/initialized", None),
            ("initialize", None),
            ("roots/list", None),
            ("notifications/roots/list_changed", None),
            ("tools/call", Some("[]")),
            ("tools/call", Some("{")),
            ("tools/call", Some("{},\"id\":7")),
            ("tools/call", Some(r#"{"_meta":7}"#)),
        ] {
            let refused = pair.client.request(method, params, RequestOptions::default(), now_ns);
            assert!(refused.is_err(), "{revision} {method} {params:?}");
        }
        let handshake = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
        let refused = pair.client.request("initialize", Some(handshake), RequestOptions::default(), now_ns);
        assert_eq!(refused, Err(Misuse::Reserved { method: "initialize".into() }), "{revision}");
        assert_eq!(pair.client.open(now_ns), Err(Misuse::AlreadyOpen), "{revision}");
        for result in ["[]", "", "{}}", "7"] {
            assert!(pair.server.answer(request, result, now_ns).is_err(), "{revision} {result}");
        }
        assert!(pair.server.ask("tools/list", None, RequestOptions::default(), now_ns).is_err());
        assert!(pair.server.notify("notifications/roots/list_changed", None, now_ns).is_err());
        assert!(pair.server.progress(request, 1.0, None, None, now_ns).is_err(), "it has no token");
        assert_eq!((pair.client.poll_output(), pair.server.poll_output()), (None, None), "{revision}");
        assert!(*pair.server.state() == server, "{revision}");
        assert!(*pair.client.state() == client, "{revision}");
        pair.server.answer(request, r#"{"content":[]}"#, now_ns).unwrap();
    }
}

#[test]
fn what_a_peer_does_wrong_is_told_and_the_session_goes_on() {
    let mut pair = Pair::new(Revisions::ALL, Revisions::ALL);
    pair.open();
    for (step, by) in [(true, Side::Server), (false, Side::Client)] {
        let line = Input::Line("hello\n".into());
        let output = match step {
            true => {
                pair.client.step(line, pair.now_ns);
                pair.client.poll_output()
            }
            false => {
                pair.server.step(line, pair.now_ns);
                pair.server.poll_output()
            }
        };
        let Some(Output::Finding(finding)) = output else { panic!("{output:?}") };
        assert_eq!((finding.by, finding.severity), (by, Severity::Error));
    }
    assert!(pair.client.request("tools/list", None, RequestOptions::default(), pair.now_ns).is_ok());
}

/// What a peer may say: nonsense, and things that are nearly right.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let id =
        prop::sample::select(vec!["1", "2", "3", "\"1\"", "null", "1.5", "{}", "\"\\ud800\"", "-0", "1e2", "\"a\""]);
    let method = prop::sample::select(vec![
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "roots/list",
        "sampling/createMessage",
        "subscriptions/listen",
        "resources/subscribe",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "no/such",
        "\\u0000",
    ]);
    let value = prop::sample::select(vec![
        "{}".to_owned(),
        "[]".into(),
        "7".into(),
        "null".into(),
        format!("{{{}}}", crate::script::META),
        format!(r#"{{"name":"t",{}}}"#, crate::script::META),
        format!(r#"{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["a",7]}},{}}}"#, crate::script::META),
        r#"{"protocolVersion":"2025-03-26","capabilities":{"tools":{},"roots":{}},"clientInfo":{"name":"c","version":"1"},"serverInfo":{"name":"s","version":"1"}}"#.into(),
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"},"serverInfo":{}}"#.into(),
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#.into(),
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"\ud800":{"method":"b"}},"requestState":7}"#.into(),
        r#"{"requestId":1,"progressToken":1,"progress":1,"uri":"a"}"#.into(),
        r#"{"requestId":"a","progressToken":"a","progress":1e400}"#.into(),
        r#"{"code":-32601,"message":"?"}"#.into(),
        r#"{"code":-32022,"message":"?","data":{"supported":["2026-07-28"]}}"#.into(),
        r#"{"code":-32022,"message":"?","data":{"supported":["2025-06-18"]}}"#.into(),
    ]);
    let message = (id, method, value, 0..8).prop_map(|(id, method, value, shape)| match shape {
        0 | 1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{value}}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{value}}}"#),
        3 | 4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{value}}}"#),
        6 => format!(r#"{{"id":{id},"result":{value},"error":{value}}}"#),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#),
    });
    let batch = prop::collection::vec(message.clone(), 0..4).prop_map(|members| format!("[{}]", members.join(",")));
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..40),
        10 => message.clone().prop_map(String::into_bytes),
        1 => batch.prop_map(String::into_bytes),
        1 => (message, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(message, index, byte)| {
            let mut bytes = message.into_bytes();
            let index = index.index(bytes.len());
            bytes[index] = byte;
            bytes
        }),
    ]
}

/// What happens to a chair.
#[derive(Debug, Clone)]
enum Step {
    Line(Vec<u8>),
    Later,
    User(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => line().prop_map(Step::Line),
        1 => Just(Step::Later),
        3 => any::<u8>().prop_map(Step::User),
    ];
    prop::collection::vec(step, 0..30)
}

/// What was said is one line, and no error of the side that said it.
fn check_said(witness: &mut Witness, side: Side, message: &[u8]) {
    witness.see(side, message);
    let found = witness.meaning.findings.iter().find(|found| found.by == side && found.severity == Severity::Error);
    assert!(found.is_none(), "{found:?}: {}", String::from_utf8_lossy(message));
    assert!(!message.contains(&b'\n') && std::str::from_utf8(message).is_ok() && Node::new(message).is_object());
}

proptest! {
    #[test]
    fn a_client_never_fails_and_never_says_anything_wrong(steps in steps()) {
        let options = ClientOptions { capabilities: CLIENT.into(), ..ClientOptions::default() };
        let (mut client, mut witness, mut now_ns) = (Client::new(options), Witness::default(), 0);
        let (mut requests, mut calls) = (Vec::new(), Vec::new());
        client.open(now_ns).unwrap();
        for step in steps {
            now_ns += 1_000_000;
            match step {
                Step::Line(bytes) => {
                    // Two machines are given the same line, and the witness is to see it first, as it would be recorded.
                    witness.see(Side::Server, &bytes);
                    client.step(Input::Line([&bytes[..], b"\n"].concat().into()), now_ns);
                }
                Step::Later => {
                    now_ns = client.poll_timeout().unwrap_or(now_ns);
                    client.handle_timeout(now_ns);
                    prop_assert!(client.poll_timeout().is_none_or(|at_ns| now_ns < at_ns));
                }
                Step::User(choice) => match choice % 6 {
                    0 => drop(client.request("tools/call", Some(r#"{"name":"t"}"#), RequestOptions { on_progress: OnProgress::Extend { ceiling_ns: 100 }, ..RequestOptions::default() }, now_ns)),
                    1 => drop(client.request("tools/list", None, RequestOptions::default(), now_ns)),
                    2 => drop(requests.pop().map(|request| client.respond(request, Ok("{}"), now_ns))),
                    3 => drop(requests.pop().map(|request| client.respond(request, Err(&ErrorReply::new(-1, "no")), now_ns))),
                    4 => drop(calls.pop().map(|call| client.retry(call, &[("a", "{}")], now_ns))),
                    _ => drop(calls.pop().map(|call| client.cancel(call, None, now_ns))),
                },
            }
            for output in std::iter::from_fn(|| client.poll_output()) {
                match output {
                    Output::Send(message) => check_said(&mut witness, Side::Client, &message),
                    Output::Request(request) => requests.push(request.request),
                    Output::InputRequired { call, .. } | Output::Progress { call, .. } => calls.push(call),
                    _ => {}
                }
            }
        }
        client.step(Input::End, now_ns);
        client.step(Input::End, now_ns);
        let ends = std::iter::from_fn(|| client.poll_output()).filter(|output| *output == Output::Ended).count();
        prop_assert_eq!(ends, 1);
    }

    #[test]
    fn a_server_never_fails_and_never_says_anything_wrong(steps in steps()) {
        let options = ServerOptions { capabilities: SERVER.into(), ..ServerOptions::default() };
        let (mut server, mut witness, mut now_ns) = (Server::new(options).unwrap(), Witness::default(), 0);
        let mut requests = Vec::new();
        for step in steps {
            now_ns += 1_000_000;
            match step {
                Step::Line(bytes) => {
                    witness.see(Side::Client, &bytes);
                    server.step(Input::Line([&bytes[..], b"\n"].concat().into()), now_ns);
                }
                Step::Later => {
                    now_ns = server.poll_timeout().unwrap_or(now_ns);
                    server.handle_timeout(now_ns);
                }
                Step::User(choice) => match choice % 8 {
                    0 => drop(server.ask("roots/list", None, RequestOptions::default(), now_ns)),
                    1 => drop(requests.pop().map(|request| server.answer(request, r#"{"tools":[],"content":[]}"#, now_ns))),
                    2 => drop(requests.pop().map(|request| server.fail(request, &ErrorReply::new(-32602, "no"), now_ns))),
                    3 => drop(requests.last().map(|request| server.progress(*request, f64::from(choice), None, None, now_ns))),
                    4 => drop(requests.pop().map(|request| server.require_input(request, &[("a", "roots/list", None)], None, now_ns))),
                    5 => drop(server.changed(Change::Tools, now_ns)),
                    6 => drop(server.changed(Change::Resource { uri: "a" }, now_ns)),
                    _ => {
                        let open = server.subscriptions().next();
                        drop(open.map(|request| server.unsubscribe(request, now_ns)));
                    },
                },
            }
            for output in std::iter::from_fn(|| server.poll_output()) {
                match output {
                    Output::Send(message) => check_said(&mut witness, Side::Server, &message),
                    Output::Request(request) => requests.push(request.request),
                    _ => {}
                }
            }
        }
    }
}
