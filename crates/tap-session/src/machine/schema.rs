//! Members that a message should not have in its revision, or lacks: what the tables of the schemas say.
//!
//! Each message is walked once, along the paths that the tables name for its method and no further.
//!
//! Source: the schema of each revision, through the tables of `tap_protocol`.

mod plan;

use tap_jsonrpc::Node;
use tap_protocol::{Place, Revision, Revisions, TASK_RESULT_TYPE};

use super::{Out, Seen};
use crate::rules::lifecycle as rule;
use crate::state::Call;
use plan::{Plan, Walked, name_of, plan};

/// Members that a finding names at most.
const NAMED_MEMBERS: usize = 6;

/// A request.
pub(crate) fn request(seen: &Seen<'_>, out: &mut Out<'_>) {
    params(seen, out);
}

/// A notification.
pub(crate) fn notification(seen: &Seen<'_>, out: &mut Out<'_>) {
    params(seen, out);
}

fn params(seen: &Seen<'_>, out: &mut Out<'_>) {
    if seen.params.is_some_and(|params| !params.is_object()) {
        return;
    }
    let plan = plan(seen.method_name(), seen.method, Place::Params, seen.revisions);
    let walked = plan.walk(seen.params);
    tell(seen, &plan, &walked, plan.lacking(&walked), out);
}

/// An answer, and its request.
pub(crate) fn answer(seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(result) = seen.result.filter(|result| result.is_object()) else {
        return;
    };
    let plan = plan(&call.method, call.known, Place::Result, seen.revisions);
    let walked = plan.walk(Some(result));
    // What became a task has the members of a task, and what needs input has those of its round.
    let lacking = match (walked.result_type, walked.task) {
        (None, None) => plan.lacking(&walked),
        (Some(result_type), _) if seen.is_modern() => {
            if result_type.is_text(TASK_RESULT_TYPE) && &*call.method == "tools/call" {
                a_task(seen, Revision::V2026_07_28, result, "", out);
            }
            if result_type.is_text("complete") { plan.lacking(&walked) } else { 0 }
        }
        (_, Some(task)) if !seen.is_modern() && call.param(&["task"]).is_some() => {
            a_task(seen, Revision::V2025_11_25, task, "task.", out);
            0
        }
        _ => plan.lacking(&walked),
    };
    tell(seen, &plan, &walked, lacking, out);
}

/// The members of a new task: the same that a poll answers.
fn a_task(seen: &Seen<'_>, revision: Revision, task: Node<'_>, prefix: &str, out: &mut Out<'_>) {
    let plan = plan("tasks/get", tap_protocol::method("tasks/get"), Place::Result, Revisions::only(revision));
    let lacking = plan.lacking(&plan.walk(Some(task)));
    if lacking != 0 {
        out.find(&rule::LIF_016, seen, format!("missing: {}", names(&plan, lacking, prefix)));
    }
}

fn tell(seen: &Seen<'_>, plan: &Plan, walked: &Walked<'_>, lacking: u64, out: &mut Out<'_>) {
    let newer = plan.foreign & walked.found;
    if newer != 0 {
        out.find(&rule::LIF_014, seen, format!("in {}: {}", seen.revisions, names(plan, newer, "")));
    }
    if lacking != 0 {
        out.find(&rule::LIF_016, seen, format!("missing: {}", names(plan, lacking, "")));
    }
}

/// Some members of a plan, as text.
fn names(plan: &Plan, which: u64, prefix: &str) -> String {
    let mut names: Vec<_> = plan.paths_of(which).map(|path| format!("{prefix}{}", name_of(path))).collect();
    let n_more = names.len().saturating_sub(NAMED_MEMBERS);
    names.truncate(NAMED_MEMBERS);
    let more = if 0 < n_more { format!(" and {n_more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests;
