//! Answers to a host's requests.

use std::time::Duration;

use bytes::Bytes;
use tap_jsonrpc::Node;
use tap_peer::ListKind;
use tap_protocol::{INVALID_PARAMS, METHOD_NOT_FOUND};
use tap_session::{ErrorReply, Kept};

use crate::host::{HostCall, Router};

/// The levels of log messages.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Answers a request of the host's.
pub(super) async fn answer(
    router: &Router,
    method: &str,
    params: Option<&Kept>,
    call: HostCall,
    startup_limit: Duration,
) -> Result<String, ErrorReply> {
    let empty = Kept(Bytes::from_static(b"{}"));
    let params = params.unwrap_or(&empty).node();
    // What servers offer that are slow to start is known to nobody yet. What is known need not wait for them.
    if !is_known(router, method, params) {
        router.settled(startup_limit).await;
    }
    let revision = call.revision;
    if let Some(kind) = ListKind::ALL.into_iter().find(|kind| kind.method() == method) {
        if params.get("cursor").is_some() {
            return Err(ErrorReply::new(INVALID_PARAMS, "there is one page alone, and no cursor was given out"));
        }
        return Ok(router.list(kind, revision));
    }
    let uri = || params.get("uri").and_then(Node::text).unwrap_or_default().into_owned();
    let done = |()| "{}".to_owned();
    match method {
        "tools/call" => router.call_tool(params, call).await,
        "prompts/get" => router.get_prompt(params, call).await,
        "resources/read" => router.read_resource(params, call).await,
        "completion/complete" => router.complete(params, call).await,
        "resources/subscribe" => router.subscribe(&uri()).await.map(done),
        "resources/unsubscribe" => {
            router.unsubscribe(&uri()).await;
            Ok("{}".into())
        }
        "logging/setLevel" => {
            let level = params.get("level").and_then(Node::text).unwrap_or_default();
            let Some(level) = LEVELS.into_iter().find(|known| *known == level) else {
                return Err(ErrorReply::new(INVALID_PARAMS, format!("there is no level `{level}`")));
            };
            router.set_log_level(level).await;
            Ok("{}".into())
        }
        _ => Err(ErrorReply::new(METHOD_NOT_FOUND, format!("there is no `{method}`"))),
    }
}

/// Whether it is known already which server a request is for.
fn is_known(router: &Router, method: &str, params: Node<'_>) -> bool {
    let text = |member: &str| params.get(member).and_then(Node::text).unwrap_or_default();
    let catalog = router.catalog();
    match method {
        "tools/call" => catalog.find(ListKind::Tools, &text("name")).is_some(),
        "prompts/get" => catalog.find(ListKind::Prompts, &text("name")).is_some(),
        "resources/read" => catalog.server_of_resource(&text("uri")).is_some(),
        "logging/setLevel" => true,
        _ => false,
    }
}
