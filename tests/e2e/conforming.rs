//! The official conformance suite: our client in its scenarios for clients, and our router in those for servers.

use serde_json::json;

use crate::http_peers::conformance::{Expected, check_verdicts, run_client_scenarios, run_server_scenarios};
use crate::http_peers::programs::{Server, Tap};
use crate::peers;
use crate::router::configured;
use crate::support::{Scratch, TAP};

/// What our client does not do.
const OF_CLIENTS: Expected =
    &[("auth/", "a token is given to `mcp-tap`, which asks no authorization server for one (`--bearer-env`)")];

/// What our router does not do, of 2026-07-28.
const OF_SERVERS: Expected = &[
    ("server-stateless", "`initialize` has to be unknown there, and the router speaks either era"),
    ("tasks-capability", NO_TASKS),
    ("tasks-dispatch", NO_TASKS),
    ("tasks-lifecycle", NO_TASKS),
    ("tasks-mrtr", NO_TASKS),
    ("tasks-request", NO_TASKS),
    ("tasks-required", NO_TASKS),
    ("tasks-wire", NO_TASKS),
];

const NO_TASKS: &str = "tasks, an extension, are not passed on, and not declared";

#[test]
fn our_client_passes_all_scenarios_but_those_of_authorization() {
    let Some(suite) = peers::conformance("conformance of our client") else { return };
    for (revision, n_scenarios) in [("2025-11-25", 25), ("2026-07-28", 39)] {
        let scratch = Scratch::new();
        let client = [suite.node().into(), suite.tap_client().into(), TAP.into(), scratch.db().into()];
        let verdicts = run_client_scenarios(&suite, &client, revision, &scratch.path("results"));
        check_verdicts(&verdicts, n_scenarios, OF_CLIENTS);
    }
}

#[test]
fn a_server_that_conforms_conforms_behind_the_router() {
    let test = "conformance of the router";
    let (Some(suite), Some(node)) = (peers::conformance(test), peers::node(test)) else { return };
    for (server, revision, n_scenarios, failing) in [
        (node.script("server1.mjs", &["http"]), "2025-11-25", 33, &[][..]),
        (node.script("server2.mjs", &[]), "2026-07-28", 50, OF_SERVERS),
    ] {
        let scratch = Scratch::new();
        let server = Server::start(&server);
        let file = configured(&scratch, &json!({"s": {"url": format!("http://{}/mcp", server.address)}}));
        let words = ["route", "--http", "127.0.0.1:0", "--plain-names", "--config", &file];
        let router = Tap::start(scratch.tap(words));
        let verdicts = run_server_scenarios(&suite, &router.url, revision, &scratch.path("results"));
        router.stop();
        check_verdicts(&verdicts, n_scenarios, failing);
    }
}
