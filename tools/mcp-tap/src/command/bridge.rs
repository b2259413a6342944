//! `mcp-tap bridge`: the tools of servers in a model's format, as the router would hand them over.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tap_jsonrpc::Node;
use tap_models::{Format, Tool, Written, tool};
use tap_peer::ListKind;
use tap_router::{Entry, News, Router, ServerPlan};

use super::client::run_until_stopped;
use super::route::planned;
use crate::arguments::{Bridge, Global};
use crate::failure::{COULD_NOT, Failure};
use crate::output::Output;
use crate::recording::say;
use crate::text::{counted, shown};

/// A tool of the router's, as a model is told of it.
pub(super) fn written_for(format: Format, entry: &Entry) -> Written {
    let node = Node::new(&entry.item);
    let description = node.get("description").and_then(Node::text);
    let input_schema = node.get("inputSchema").map_or(&b"{}"[..], Node::bytes);
    tool(format, Tool { name: &entry.name, description: description.as_deref(), input_schema })
}

pub(crate) fn bridge(global: &Global, bridge: &Bridge) -> Result<u8, Failure> {
    let planned = planned(global, &bridge.servers)?;
    let told = Arc::new(std::sync::Mutex::new(0_u32));
    let n_told = told.clone();
    let n_wrong = planned.n_left_out;
    let (plans, options, startup) = (planned.servers, planned.options, bridge.servers.startup);
    let done = run_until_stopped(async {
        let plans = plans.into_iter().map(|server| ServerPlan {
            name: server.name,
            target: server.target,
            rules: server.rules,
            handler: Arc::new(()),
            recorder: server.recorder,
        });
        let hear = Arc::new(move |news| {
            if let News::Told(text) = news {
                *n_told.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
                say(&shown(&text, false));
            }
        });
        let router = Router::start(plans.collect(), options, hear);
        router.settled(startup).await;
        let catalog = router.catalog();
        router.close().await;
        let _ = tokio::time::timeout(Duration::from_secs(5), tap_peer::all_ended()).await;
        Ok(catalog)
    });
    for sessions in &planned.sessions {
        sessions.finish();
    }
    let catalog = done?;
    let mut written = Vec::new();
    let (mut n_left_out, mut n_findings) = (0, 0);
    for entry in catalog.list(ListKind::Tools) {
        let one = written_for(bridge.to.format(), entry);
        for finding in &one.findings {
            n_findings += 1;
            if !global.quiet {
                let place = if finding.place.is_empty() { String::new() } else { format!(" {}", finding.place) };
                say(&shown(&format!("{}{place}: {}", entry.name, finding.what), false));
            }
        }
        match one.text {
            Some(text) => written.push(text),
            None => n_left_out += 1,
        }
    }
    let mut out = Output::new(global);
    let list = format!("[{}]", written.join(",\n "));
    let whole = match bridge.to.format() {
        Format::Gemini => format!("[{{\"functionDeclarations\":{list}}}]"),
        _ => list,
    };
    out.json_with_verbatim(&whole)?;
    out.flush()?;
    if !global.quiet && n_findings > 0 {
        say(&format!(
            "{} written, {n_left_out} left out; {} that the model is not told, or not in the same words",
            counted(written.len() as u64, "tool"),
            counted(n_findings, "thing"),
        ));
    }
    let n_told = *told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(if n_left_out > 0 || n_wrong > 0 || n_told > 0 { COULD_NOT } else { 0 })
}
