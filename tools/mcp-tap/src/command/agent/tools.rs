//! What calls of a run come back with: from servers, or from a recording.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tap_agent::CallOutcome;
use tap_jsonrpc::Node;
use tap_models::{Call, Format, Written};
use tap_peer::{ListKind, quoted};
use tap_router::{REFUSED, Router, canonical, error_result};

use super::host_call;
use super::record::{Record, key, on_one_line};
use crate::command::bridge::written_for;

/// What of calls is known from a recording.
pub(super) type Known = Mutex<HashMap<(String, String), VecDeque<String>>>;

/// Who is called.
pub(super) enum Tools {
    /// Servers; and what they said before, where that is compared.
    Live { router: Arc<Router>, then: Option<Known> },
    /// A recording.
    Recorded(Known),
}

/// A call that came back, or could not be made.
pub(super) struct Came {
    pub(super) outcome: CallOutcome,
    /// What is not as it was, when a run is replayed.
    pub(super) differs: Option<String>,
}

fn taken(known: &Known, call: &Call) -> Option<String> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_mut(&key(&call.name, call.arguments.as_bytes()))?.pop_front()
}

impl Tools {
    /// The tools that there are now, as a model is told of them, and what it is not told.
    pub(super) fn written(&self, format: Format) -> (Vec<Written>, Vec<String>) {
        let Self::Live { router, .. } = self else { return (Vec::new(), Vec::new()) };
        let catalog = router.catalog();
        let mut notes = Vec::new();
        let entries = catalog.list(ListKind::Tools);
        let written: Vec<Written> = entries.iter().map(|entry| written_for(format, entry)).collect();
        for (entry, written) in entries.iter().zip(&written) {
            if written.text.is_none() {
                notes.push(format!(
                    "{} is left out: {}",
                    entry.name,
                    written.findings.first().map_or("", |finding| &finding.what)
                ));
            }
        }
        (written, notes)
    }

    /// Makes a call, and records it.
    pub(super) async fn call(&self, call: &Call, tag: u64, trace: &str, record: &Record) -> Came {
        // Some models write them over several lines.
        let arguments = on_one_line(if call.arguments.trim().is_empty() { "{}" } else { &call.arguments });
        let arguments = arguments.as_str();
        let params = format!("{{\"name\":{},\"arguments\":{arguments}}}", quoted(&call.name));
        let asked = record.asked("tools/call", &params);
        let (result, differs) = match self {
            Self::Recorded(known) => match taken(known, call) {
                Some(result) => (result, None),
                None => {
                    let what = format!("`{}` was not called with these arguments in the recording", call.name);
                    (error_result(&what), Some(format!("{what}: {arguments}")))
                }
            },
            Self::Live { router, then } => {
                let result = live(router, call, arguments, tag, trace).await;
                let differs = then.as_ref().and_then(|then| differs(taken(then, call), &result, call));
                (result, differs)
            }
        };
        asked.came(&result);
        let refused =
            Node::new(result.as_bytes()).at(&["_meta", REFUSED]).and_then(Node::text).map(|by| by.into_owned());
        Came { outcome: CallOutcome { result: result.into_bytes(), refused }, differs }
    }
}

async fn live(router: &Router, call: &Call, arguments: &str, tag: u64, trace: &str) -> String {
    // So that servers can join the trace (W3C Trace Context; the specification reserves the name in `_meta`).
    let params = format!(
        "{{\"name\":{},\"arguments\":{arguments},\"_meta\":{{\"traceparent\":\"00-{trace}-{tag:016x}-01\"}}}}",
        quoted(&call.name)
    );
    match router.call_tool(Node::new(params.as_bytes()), host_call(tag)).await {
        Ok(result) => result,
        // For the model it is a result as well: one that says what is wrong.
        Err(reply) => error_result(&reply.message),
    }
}

fn differs(then: Option<String>, now: &str, call: &Call) -> Option<String> {
    let Some(then) = then else {
        return Some(format!(
            "`{}` was not called with these arguments in the recording: {}",
            call.name, call.arguments
        ));
    };
    let same = canonical(Node::new(then.as_bytes())) == canonical(Node::new(now.as_bytes()));
    (!same).then(|| format!("`{}` {} says {now}, and said {then}", call.name, call.arguments))
}
