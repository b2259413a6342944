//! Real clients and real servers of others over HTTP, with and without a tap between them.
//!
//! What is shown: the official conformance suite finds the same through the tap as directly, scenario by scenario; a
//! client sees the same; and in one and the same conversation what was said before the tap is what was said behind it,
//! header by header and byte by byte. `tests/peers` has the programs.

pub(crate) mod conformance;
mod conversation;
pub(crate) mod programs;
mod recording;
mod wire;
mod witness;

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::peers;
use crate::support::{Scratch, TAP};
use conformance::{check_same, run_client_scenarios, run_server_scenarios};
use conversation::{Between, Conversation};
use programs::{Server, Tap};
use witness::Fault;

/// A client, and how it opens a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    TypeScript1,
    /// `legacy`, `auto`, or a revision.
    TypeScript2(&'static str),
    Python1,
    /// `legacy`, `auto`, or a revision.
    Python2(&'static str),
    /// `legacy` or `modern`.
    Rust(&'static str),
}

/// What becomes of one client at one server: the revision that they agree on, nothing if they do not agree, and the
/// rules that one of them really breaks badly, each with the method of the message that shows it.
struct Pair {
    client: Client,
    revision: Option<&'static str>,
    breaks: &'static [(&'static str, &'static str)],
}

const LEGACY: Option<&str> = Some("2025-11-25");
const MODERN: Option<&str> = Some("2026-07-28");

const fn pair(client: Client, revision: Option<&'static str>) -> Pair {
    Pair { client, revision, breaks: &[] }
}

/// The same pairs, of which some break rules.
fn breaking(
    mut pairs: Vec<Pair>,
    which: impl Fn(Client) -> bool,
    breaks: &'static [(&'static str, &'static str)],
) -> Vec<Pair> {
    for pair in pairs.iter_mut().filter(|pair| which(pair.client)) {
        pair.breaks = breaks;
    }
    pairs
}

impl Pair {
    /// The client's command and what of the script is its own, or nothing where this one has to be left out.
    #[track_caller]
    fn client(&self, test: &str) -> Option<(Vec<OsString>, Option<&'static str>)> {
        let what = format!("{test} and {:?}", self.client);
        Some(match self.client {
            Client::TypeScript1 => (peers::node(&what)?.client(), None),
            Client::TypeScript2(mode) => (peers::node(&what)?.script("client2.mjs", &[]), Some(mode)),
            Client::Python1 => (peers::python1(&what)?.client(), None),
            Client::Python2(mode) => (peers::python(&what)?.client(), Some(mode)),
            Client::Rust(mode) => (peers::rust(&what)?.program("client"), Some(mode)),
        })
    }
}

/// Has each pair's conversation with one server, directly and through a tap, and compares.
#[track_caller]
fn check(test: &str, server: &[OsString], path: &str, script: &Value, pairs: &[Pair]) {
    let server = Server::start(server);
    let mut found = Vec::new();
    for pair in pairs {
        let Some((client, mode)) = pair.client(test) else { continue };
        let scratch = Scratch::new();
        let mut script = script.clone();
        script["mode"] = mode.into();
        script["transport"] = path.strip_prefix("/sse").map(|_| "sse").into();
        let conversation = Conversation { scratch: &scratch, server: &server, path, client, script };
        let direct = conversation.through(&Between::Nothing);
        let tapped = conversation.through(&Between::Tap(&scratch));
        let differences = tapped.differences(&direct);
        let mistakes = recording::mistakes(&scratch, &tapped, pair.revision, pair.breaks);
        let client = pair.client;
        found.extend([differences, mistakes].concat().into_iter().map(|what| format!("{test} and {client:?}: {what}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Every client and what it comes to with a server that speaks both eras.
fn with_both_eras() -> Vec<Pair> {
    vec![
        pair(Client::TypeScript1, LEGACY),
        pair(Client::TypeScript2("legacy"), LEGACY),
        pair(Client::TypeScript2("auto"), MODERN),
        pair(Client::TypeScript2("2026-07-28"), MODERN),
        pair(Client::Python1, LEGACY),
        pair(Client::Python2("legacy"), LEGACY),
        pair(Client::Python2("auto"), MODERN),
        pair(Client::Python2("2026-07-28"), MODERN),
        pair(Client::Rust("legacy"), LEGACY),
        pair(Client::Rust("modern"), MODERN),
    ]
}

/// Every client and what it comes to with a server that speaks the legacy era alone.
fn with_the_legacy_era() -> Vec<Pair> {
    vec![
        pair(Client::TypeScript1, LEGACY),
        pair(Client::TypeScript2("legacy"), LEGACY),
        pair(Client::TypeScript2("auto"), LEGACY),
        pair(Client::TypeScript2("2026-07-28"), None),
        pair(Client::Python1, LEGACY),
        pair(Client::Python2("legacy"), LEGACY),
        pair(Client::Python2("auto"), LEGACY),
        pair(Client::Rust("legacy"), LEGACY),
        pair(Client::Rust("modern"), None),
    ]
}

/// The clients that know the older transport.
fn with_the_older_transport() -> Vec<Pair> {
    vec![pair(Client::TypeScript1, LEGACY), pair(Client::Python1, LEGACY), pair(Client::Python2("legacy"), LEGACY)]
}

/// What every client asks a server of the conformance suite's kind.
fn suite_script() -> Value {
    json!({
        "capabilities": {},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "test_simple_text"}],
            ["tools/call", {"name": "test_image_content"}],
            ["tools/call", {"name": "test_error_handling"}],
            ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
            ["tools/call", {"name": "no-such-tool"}],
            ["resources/list"],
            ["resources/read", {"uri": "test://static-binary"}],
            ["resources/read", {"uri": "test://nowhere"}],
            ["prompts/get", {"name": "test_simple_prompt"}],
        ],
    })
}

/// What every client asks one of the Python servers.
fn python_script() -> Value {
    json!({
        "capabilities": {"elicitation": {"form": {}}},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}}],
            ["tools/call", {"name": "fail"}],
            ["tools/call", {"name": "progress", "arguments": {"n": 3}}, {"progress": true}],
            ["tools/call", {"name": "log", "arguments": {"text": "☃ \u{2028} \"quoted\" \\"}}],
            ["tools/call", {"name": "order"}],
            ["resources/read", {"uri": "note://snowman"}],
            ["resources/read", {"uri": "note://nowhere"}],
            ["prompts/get", {"name": "greet", "arguments": {"name": "Bo"}}],
        ],
    })
}

/// What every client asks the everything server.
fn everything_script() -> Value {
    json!({
        "capabilities": {},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "echo", "arguments": {"message": "☃ \u{0} \"quoted\" \u{2028} \\"}}],
            ["tools/call", {"name": "get-sum", "arguments": {"a": "x"}}],
            ["tools/call", {"name": "get-tiny-image"}],
            [
                "tools/call",
                {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 4}},
                {"progress": true},
            ],
            ["resources/list"],
            ["resources/read", {"uri": "demo://nowhere"}],
            ["prompts/get", {"name": "args-prompt", "arguments": {"city": "Paris"}}],
        ],
    })
}

/// What a client asks that can answer what the everything server asks back.
fn everything_script_with_answers() -> Value {
    json!({
        "capabilities": {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}},
        "roots": ["file:///somewhere"],
        "steps": [
            // The server asks a while after the handshake, on a timer of its own.
            ["wait", "roots/list"],
            ["tools/list"],
            ["tools/call", {"name": "get-structured-content", "arguments": {"location": "New York"}}],
            // No call is given up: whether its answer is faster than that is another each time, with a connection for each.
            ["tools/call", {"name": "trigger-sampling-request", "arguments": {"prompt": "say"}}],
            ["tools/call", {"name": "trigger-elicitation-request"}],
            ["tools/call", {"name": "get-roots-list"}],
            ["logging/setLevel", {"level": "debug"}],
            ["resources/read", {"uri": "demo://resource/dynamic/text/1"}],
            ["completion/complete", {
                "ref": {"type": "ref/prompt", "name": "completable-prompt"},
                "argument": {"name": "department", "value": "E"},
            }],
        ],
    })
}

#[test]
fn the_everything_server_over_streamable_http() {
    let test = "everything server over Streamable HTTP";
    let Some(node) = peers::node(test) else { return };
    let server = node.server("everything", &["streamableHttp"]);
    check(test, &server, "/mcp", &everything_script(), &with_the_legacy_era());
    check(test, &server, "/mcp", &everything_script_with_answers(), &[pair(Client::TypeScript1, LEGACY)]);
}

#[test]
fn the_everything_server_over_the_older_transport() {
    let test = "everything server over HTTP with server-sent events";
    let Some(node) = peers::node(test) else { return };
    let server = node.server("everything", &["sse"]);
    check(test, &server, "/sse", &everything_script(), &with_the_older_transport());
    check(test, &server, "/sse", &everything_script_with_answers(), &[pair(Client::TypeScript1, LEGACY)]);
}

#[test]
fn a_server_on_the_first_typescript_sdk() {
    let test = "server on the first TypeScript SDK";
    let Some(node) = peers::node(test) else { return };
    check(test, &node.script("server1.mjs", &["http"]), "/mcp", &suite_script(), &with_the_legacy_era());
}

#[test]
fn a_server_on_the_first_typescript_sdk_without_sessions() {
    let test = "server on the first TypeScript SDK, without sessions";
    let Some(node) = peers::node(test) else { return };
    check(test, &node.script("server1.mjs", &["json"]), "/mcp", &suite_script(), &with_the_legacy_era());
}

#[test]
fn a_server_on_the_first_typescript_sdk_over_the_older_transport() {
    let test = "server on the first TypeScript SDK over HTTP with server-sent events";
    let Some(node) = peers::node(test) else { return };
    check(test, &node.script("server1.mjs", &["sse"]), "/sse", &suite_script(), &with_the_older_transport());
}

#[test]
fn a_server_on_the_second_typescript_sdk() {
    let test = "server on the second TypeScript SDK";
    let Some(node) = peers::node(test) else { return };
    check(test, &node.script("server2.mjs", &[]), "/mcp", &suite_script(), &with_both_eras());
}

#[test]
fn a_server_on_the_first_python_sdk() {
    let test = "server on the first Python SDK";
    let Some(python) = peers::python1(test) else { return };
    // It answers what it does not understand, such as the question for its revisions, with an id of its own.
    let asks_for_revisions = |client| match client {
        Client::TypeScript1 | Client::Python1 => false,
        Client::TypeScript2(mode) | Client::Python2(mode) | Client::Rust(mode) => mode != "legacy",
    };
    let pairs = breaking(with_the_legacy_era(), asks_for_revisions, &[("RPC-006", "")]);
    // It asks whoever is there, also one that did not say that it can be asked.
    let pairs = breaking(pairs, |client| client == Client::Rust("legacy"), &[("CAP-002", "elicitation/create")]);
    check(test, &python.script("server.py", &["streamable-http"]), "/mcp", &python_script(), &pairs);
    check(test, &python.script("server.py", &["sse"]), "/sse", &python_script(), &with_the_older_transport());
}

#[test]
fn a_server_on_the_second_python_sdk() {
    let test = "server on the second Python SDK";
    let Some(python) = peers::python(test) else { return };
    check(test, &python.script("server.py", &["streamable-http"]), "/mcp", &python_script(), &with_both_eras());
    check(test, &python.script("server.py", &["sse"]), "/sse", &python_script(), &with_the_older_transport());
}

#[test]
fn a_server_on_the_rust_sdk() {
    let test = "server on the Rust SDK";
    let Some(rust) = peers::rust(test) else { return };
    let script = json!({
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}}],
            ["tools/call", {"name": "fail"}],
            ["tools/call", {"name": "progress", "arguments": {"n": 3}}, {"progress": true}],
        ],
    });
    check(test, &rust.program("server"), "/mcp", &script, &with_both_eras());
}

/// What the suite's scenarios need of a proxy is what the spec needs, so that one that keeps to itself changes none.
#[test]
fn a_server_that_conforms_conforms_through_the_tap() {
    let test = "conformance of servers";
    let (Some(suite), Some(node)) = (peers::conformance(test), peers::node(test)) else { return };
    for (server, revision, n_scenarios) in
        [(node.script("server1.mjs", &["http"]), "2025-11-25", 33), (node.script("server2.mjs", &[]), "2026-07-28", 50)]
    {
        let scratch = Scratch::new();
        let server = Server::start(&server);
        let url = format!("http://{}/mcp", server.address);
        check_same(
            &scratch,
            n_scenarios,
            |_| false,
            |is_through, folder| {
                if is_through {
                    let tap = Tap::before(&scratch, &url);
                    run_server_scenarios(&suite, &tap.url, revision, folder);
                    tap.stop();
                } else {
                    run_server_scenarios(&suite, &url, revision, folder);
                }
            },
        );
    }
}

/// What a client does behind a reverse proxy: it compares the server's own name for itself (`resource`, RFC 9728) with
/// the URL that it was given, which is another one, and stops. That is what it must do.
const STOPS_BEFORE_ANOTHER_RESOURCE: &str = "auth/";

/// Scenarios of authorization in which a client stops anyway, or does not compare.
const SAME_WITH_ANOTHER_RESOURCE: &[&str] = &["auth/resource-mismatch", "auth/metadata-issuer-mismatch"];

#[test]
fn a_client_that_conforms_conforms_through_the_tap() {
    let is_other = |scenario: &str| {
        scenario.starts_with(STOPS_BEFORE_ANOTHER_RESOURCE) && !SAME_WITH_ANOTHER_RESOURCE.contains(&scenario)
    };
    check_client_scenarios("conformance of clients", "reverse", is_other);
}

/// Nothing changes for a client behind a forward proxy, authorization included: it is given the server's own URL.
#[test]
fn a_client_that_conforms_conforms_through_the_forward_proxy() {
    check_client_scenarios("conformance of clients through the forward proxy", "forward", |_| false);
}

/// Has the suite's client scenarios directly, and with a tap that is a `reverse` or a `forward` proxy.
#[track_caller]
fn check_client_scenarios(test: &str, way: &str, is_other: impl Fn(&str) -> bool) {
    let (Some(suite), Some(node)) = (peers::conformance(test), peers::node(test)) else { return };
    for (client, revision, n_scenarios) in
        [("conformance-client1.mjs", "2025-11-25", 25), ("conformance-client2.mjs", "2026-07-28", 39)]
    {
        let scratch = Scratch::new();
        // The tap makes it, but not while many of them start at once and none is there.
        let newer_node = OsString::from(suite.node());
        let client = [newer_node.clone(), node.script(client, &[]).remove(1)];
        check_same(&scratch, n_scenarios, &is_other, |is_through, folder| {
            let way = if is_through { way } else { "nothing" };
            let through = [newer_node.clone(), suite.through().into(), way.into(), TAP.into(), scratch.db().into()];
            run_client_scenarios(&suite, &[&through[..], &client[..]].concat(), revision, folder);
        });
    }
}

/// What this file compares is only worth something if a proxy that does wrong is seen.
#[test]
fn a_proxy_that_changes_something_is_seen() {
    let test = "proxies that change something";
    let Some(node) = peers::node(test) else { return };
    let server = Server::start(&node.script("server1.mjs", &["http"]));
    let scratch = Scratch::new();
    let conversation = Conversation {
        scratch: &scratch,
        server: &server,
        path: "/mcp",
        client: node.client(),
        script: json!({
            "capabilities": {"elicitation": {"form": {}}},
            "steps": [
                ["tools/list"],
                ["tools/call", {"name": "test_tool_with_progress"}, {"progress": true}],
                ["tools/call", {"name": "test_elicitation", "arguments": {"message": "?"}}],
            ],
        }),
    };
    let direct = conversation.through(&Between::Nothing);
    for (fault, expected) in [
        (Fault::LosesRequestHeader, "request: mcp-protocol-version: \"2025-11-25\" only before"),
        (Fault::LosesResponseHeader, "response: cache-control: \"no-cache, no-transform\" only behind"),
        (Fault::ChangesLineEnds, "event: message\\r"),
        (Fault::HoldsBack, "it did not end"),
    ] {
        let differences = conversation.through(&Between::Broken(fault)).differences(&direct).join("\n");
        assert!(differences.contains(expected), "{fault:?}: {differences}");
    }
}
