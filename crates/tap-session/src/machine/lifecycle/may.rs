//! Who may say what: methods by revision and side, and the capabilities that they need.

use tap_protocol::{Method, MethodKind, Revisions, Side};

use super::super::{Out, Seen};
use super::side_name;
use crate::row::RowKind;
use crate::rule::quoted;
use crate::rules::lifecycle as rule;
use crate::state::{Party, Phase, SessionState};

/// Whether the method is there at all, in this revision, and from this side.
pub(super) fn known_method(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let Some(method) = seen.method else {
        let declares = |party: &Party| {
            let capabilities = party.capabilities.as_ref();
            capabilities.is_some_and(|known| known.declares(&["experimental"]) || known.declares(&["extensions"]))
        };
        if !declares(&state.client) && !declares(&state.server) {
            out.find(&rule::LIF_015, seen, quoted(seen.method_name()));
        }
        return;
    };
    if method.kind == MethodKind::Request && seen.row.kind == RowKind::Notification {
        out.find(&rule::LIF_012, seen, format!("{} is a request, and has no id here", quoted(method.name)));
        return;
    }
    // That a server asks at all, and that a client tells progress, have rules of their own in the modern era.
    let own_rule = seen.is_modern()
        && (seen.side == Side::Server && seen.row.kind == RowKind::Request
            || seen.side == Side::Client && method.name == "notifications/progress");
    if own_rule {
        return;
    }
    if method.revisions().intersection(seen.revisions).is_empty() {
        let instead = match method.replaced_by {
            Some(instead) if seen.is_modern() => format!("; instead: {instead}"),
            _ => format!("; it is in {}", method.revisions()),
        };
        out.find(&rule::LIF_012, seen, format!("{}{instead}", quoted(method.name)));
    } else if !seen.revisions.iter().any(|revision| method.may_send(revision, seen.side)) {
        let detail = format!("{} from the {}", quoted(method.name), side_name(seen.side));
        out.find(&rule::LIF_013, seen, detail);
    }
}

/// The capabilities of the legacy era that a message needs and that were not declared, as text.
pub(super) fn undeclared(
    state: &SessionState,
    method: &Method,
    revisions: Revisions,
    sender: Side,
) -> Option<(Side, String, bool)> {
    let revision = revisions.iter().next().filter(|_| revisions.is_subset_of(Revisions::LEGACY))?;
    method.needs(revision, sender).find_map(|need| {
        let known = state.party(need.declared_by).capabilities.as_ref()?;
        let whole_feature = need.path.len() == 1 && need.declared_by != sender;
        (!known.declares(need.path)).then(|| (need.declared_by, need.path.join("."), whole_feature))
    })
}

/// Judges whether the capabilities that a message needs were declared.
pub(super) fn capabilities(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if !matches!(state.phase, Phase::Initialized | Phase::Operating) {
        return;
    }
    let Some((declared_by, path, whole_feature)) =
        seen.method.and_then(|method| undeclared(state, method, seen.revisions, seen.side))
    else {
        return;
    };
    let rule = match (whole_feature, declared_by) {
        (true, Side::Server) => &rule::CAP_001,
        (true, Side::Client) => &rule::CAP_002,
        (false, _) => &rule::CAP_003,
    };
    let detail = format!("{} needs `{path}` of the {}", quoted(seen.method_name()), side_name(declared_by));
    if let (Some(finding), Some(at)) = (out.find(rule, seen, detail), state.party(declared_by).declared_at) {
        finding.others.push(at);
    }
}
