//! Members that a message should not have in its revision, that it lacks, or that are not what they should be: what the
//! tables of the schemas say.
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
use plan::{Plan, Walked, name_of, name_of_kind, plan};

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
    tell(seen, &plan, &walked, true, out);
}

/// An answer, and its request.
pub(crate) fn answer(seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(result) = seen.result.filter(|result| result.is_object()) else {
        return;
    };
    let plan = plan(&call.method, call.known, Place::Result, seen.revisions);
    let walked = plan.walk(Some(result));
    // What became a task has the members of a task, and what needs input has those of its round.
    let is_plain = match (walked.result_type, walked.task.filter(|task| !task.is_null())) {
        (Some(result_type), _) if seen.is_modern() => {
            if result_type.is_text(TASK_RESULT_TYPE) && &*call.method == "tools/call" {
                a_task(seen, Revision::V2026_07_28, result, "", out);
            }
            result_type.is_text("complete")
        }
        (_, Some(task)) if !seen.is_modern() && call.param(&["task"]).is_some_and(|asked| !asked.is_null()) => {
            a_task(seen, Revision::V2025_11_25, task, "task.", out);
            false
        }
        _ => true,
    };
    tell(seen, &plan, &walked, is_plain, out);
}

/// The members of a new task: the same that a poll answers.
fn a_task(seen: &Seen<'_>, revision: Revision, task: Node<'_>, prefix: &str, out: &mut Out<'_>) {
    let plan = plan("tasks/get", tap_protocol::method("tasks/get"), Place::Result, Revisions::only(revision));
    required(seen, &plan, &plan.walk(Some(task)), prefix, out);
}

/// `is_plain` is whether it has the members that its method is for.
fn tell(seen: &Seen<'_>, plan: &Plan, walked: &Walked<'_>, is_plain: bool, out: &mut Out<'_>) {
    let newer = plan.foreign & walked.found;
    if newer != 0 {
        out.find(&rule::LIF_014, seen, format!("in {}: {}", seen.revisions, names(plan, newer, "")));
    }
    if is_plain {
        required(seen, plan, walked, "", out);
    }
}

fn required(seen: &Seen<'_>, plan: &Plan, walked: &Walked<'_>, prefix: &str, out: &mut Out<'_>) {
    let lacking = plan.lacking(walked);
    if lacking | walked.wrong == 0 {
        return;
    }
    let mut faults = Vec::new();
    if lacking != 0 {
        faults.push(format!("missing: {}", names(plan, lacking, prefix)));
    }
    for (path, kind) in plan.typed_paths_of(walked.wrong).take(NAMED_MEMBERS) {
        faults.push(format!("`{prefix}{}` is no {}", name_of(path), name_of_kind(kind)));
    }
    out.find(&rule::LIF_016, seen, faults.join("; "));
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
