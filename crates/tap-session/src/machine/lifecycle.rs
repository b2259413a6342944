//! The handshake, eras and revisions, who may say what, and capabilities.
//!
//! Source: MCP basic/lifecycle of each legacy revision; 2026-07-28, basic/versioning and server/discover.

mod may;

use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_protocol::{Era, Revision, Revisions, Side, meta};

use super::{Out, Seen};
use crate::row::{RowKind, Status};
use crate::rule::{Severity, quoted};
use crate::rules::lifecycle as rule;
use crate::state::{BeforeHandshake, Call, Party, Phase, SessionState, UsedIds};
use may::{capabilities, known_method, undeclared};

/// Revisions that a server named which are remembered.
const SUPPORTED_REVISIONS: usize = 50;

/// Requests in flight that are looked through when a session opens. With more, the ids before it count on.
const SEARCHED_CALLS: usize = 1_000;

/// How much of `instructions` is kept, bytes.
const INSTRUCTIONS_BYTES: usize = 16 * 1024;

/// In which revisions a message may be, as far as it and what came before show.
pub(crate) fn revisions_of(state: &SessionState, seen: &Seen<'_>, call: Option<&Call>) -> Revisions {
    if let Some(call) = call {
        let answered = if &*call.method == "initialize" { seen.result } else { None };
        let agreed = answered.and_then(|result| revision_named(result.get("protocolVersion")?));
        return match agreed {
            Some(revision) if revision.era() == Era::Legacy => Revisions::only(revision),
            _ => call.revisions,
        };
    }
    if !matches!(seen.row.kind, RowKind::Request | RowKind::Notification) {
        return spoken(state);
    }
    if let (Side::Client, Some(version)) = (seen.side, seen.said.protocol_version)
        && seen.method_name() != "initialize"
    {
        let named = revision_named(version).filter(|revision| revision.era() == Era::Modern);
        return named.map_or(Revisions::MODERN, Revisions::only);
    }
    match seen.method_name() {
        "initialize" => Revisions::LEGACY,
        "server/discover" | "subscriptions/listen" | "notifications/subscriptions/acknowledged" => Revisions::MODERN,
        "notifications/progress" => {
            let token = seen.param("progressToken").map(|token| tap_jsonrpc::RawId::from_token(token.bytes()));
            let call = token.and_then(|token| state.call_of_token(seen.direction().reversed(), &token));
            call.map_or_else(|| spoken(state), |call| call.revisions)
        }
        "notifications/cancelled" => {
            let id = seen.param("requestId").map(|id| tap_jsonrpc::RawId::from_token(id.bytes()));
            let call = id.and_then(|id| state.call(seen.scope, seen.direction(), &id));
            call.map_or_else(|| spoken(state), |call| call.revisions)
        }
        _ => match (seen.side, state.phase) {
            // Without the `_meta` of the modern era it is legacy, or wrong.
            (Side::Client, Phase::Unopened | Phase::Probing | Phase::Refused) if seen.method_name() != "ping" => {
                Revisions::LEGACY
            }
            _ => spoken(state),
        },
    }
}

/// The revisions that may be spoken now.
fn spoken(state: &SessionState) -> Revisions {
    match (state.revision, state.era) {
        (Some(revision), _) => Revisions::only(revision),
        (None, Some(Era::Legacy)) => Revisions::LEGACY,
        (None, Some(Era::Modern)) if state.phase != Phase::Probing => Revisions::MODERN,
        (None, _) => Revisions::ALL,
    }
}

fn revision_named(version: Node<'_>) -> Option<Revision> {
    Revision::nearest(&version.text()?)
}

fn kept_text(node: Option<Node<'_>>, limit: usize) -> Option<Arc<str>> {
    Some(crate::rule::clipped(&node?.text()?, limit).into())
}

fn enter(state: &mut SessionState, seen: &Seen<'_>, phase: Phase) {
    state.phase = phase;
    state.phase_at = Some(seen.at());
}

/// Takes in what a side says about itself.
fn introduce(party: &mut Party, seen: &Seen<'_>, info: Option<Node<'_>>, capabilities: Option<Node<'_>>) {
    if let Some(info) = info {
        let [name, version] = info.pick(["name", "version"]);
        // Said anew with every message of the modern era: copied only when it changed.
        for (slot, said) in [(&mut party.name, name), (&mut party.version, version)] {
            if let Some(said) = said
                && !slot.as_deref().is_some_and(|known| said.is_text(known))
            {
                *slot = kept_text(Some(said), 200).or_else(|| slot.take());
            }
        }
    }
    if let Some(capabilities) = capabilities {
        // Said anew with every request of the modern era: not kept anew when it is the same.
        let same = party.capabilities.as_ref().is_some_and(|known| *known.0 == *capabilities.bytes());
        if !same {
            party.capabilities = seen.keep(capabilities);
            party.declared_at = Some(seen.at());
        }
    }
}

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    let name = call.method.clone();
    known_method(state, seen, out);
    match seen.side {
        Side::Client => {
            let modern = seen.is_modern();
            if modern {
                open_modern(state, seen);
            } else if call.is_notification() {
                // With an id it says the same, and that it has one is said elsewhere.
                client_ready(state, seen, out);
            } else if &*name != "initialize" && &*name != "ping" {
                client_in_order(state, seen, out);
            }
            if &*name == "initialize" {
                initialize(state, seen, out);
            }
            state.client_asked |= &*name != "ping" && &*name != "server/discover";
        }
        Side::Server => {
            let early = matches!(state.phase, Phase::Initializing | Phase::Initialized);
            if early && &*name != "ping" {
                out.find(&rule::LIF_003, seen, quoted(&name));
            }
        }
    }
    capabilities(state, seen, out);
}

/// A modern request needs no handshake: it opens the session itself.
fn open_modern(state: &mut SessionState, seen: &Seen<'_>) {
    let (version, info) = (seen.said.protocol_version, seen.said.client_info);
    let capabilities = seen.said.client_capabilities;
    let opens = matches!(state.phase, Phase::Unopened | Phase::Probing | Phase::Refused);
    if opens || state.era == Some(Era::Modern) {
        introduce(&mut state.client, seen, info, capabilities);
    }
    if !opens {
        return;
    }
    state.era = Some(Era::Modern);
    if let Some(version) = kept_text(version, 100) {
        state.asked_revision = Some(version);
    }
    if seen.method_name() == "server/discover" {
        enter(state, seen, Phase::Probing);
    } else {
        state.revision_text.clone_from(&state.asked_revision);
        state.revision = seen.revisions.iter().next_back();
        enter(state, seen, Phase::Operating);
    }
}

/// A client's legacy request that is neither `initialize` nor `ping`.
fn client_in_order(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if !state.whole && state.phase != Phase::Operating {
        // The handshake, or the end of it, is what is missing.
        operate_as_legacy(state, seen);
        return;
    }
    match state.phase {
        Phase::Unopened | Phase::Probing | Phase::Refused => {
            if !state.client_asked && state.first_time("LIF-001") {
                out.find(&rule::LIF_001, seen, format!("it is {}", quoted(seen.method_name())));
            }
        }
        Phase::Initializing => {
            out.find(&rule::LIF_002, seen, quoted(seen.method_name()));
        }
        Phase::Initialized => {
            if state.first_time("LIF-004") {
                out.find(&rule::LIF_004, seen, format!("{} came first", quoted(seen.method_name())));
            }
        }
        Phase::Operating => {}
    }
}

/// The client uses a session of the legacy era, whatever of its handshake was seen.
fn operate_as_legacy(state: &mut SessionState, seen: &Seen<'_>) {
    if state.era != Some(Era::Legacy) {
        state.era = Some(Era::Legacy);
        // What a probe asked for.
        state.asked_revision = None;
    }
    enter(state, seen, Phase::Operating);
}

/// Whether `initialize` would open a session now: neither is there one of the legacy era, nor was one refused.
pub(super) fn opens_a_session(state: &SessionState) -> bool {
    !in_legacy_session(state) && state.phase != Phase::Refused
}

fn in_legacy_session(state: &SessionState) -> bool {
    state.era == Some(Era::Legacy) && matches!(state.phase, Phase::Initializing | Phase::Initialized | Phase::Operating)
}

fn initialize(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let legacy_session = in_legacy_session(state);
    if legacy_session {
        let finding = out.find(&rule::LIF_006, seen, "");
        if let (Some(finding), Some(at)) = (finding, state.phase_at) {
            finding.others.push(at);
        }
    }
    let [version, capabilities, info] =
        seen.params.map_or([None; 3], |params| params.pick(["protocolVersion", "capabilities", "clientInfo"]));
    missing(
        &rule::LIF_007,
        seen,
        [version, capabilities, info],
        ["protocolVersion", "capabilities", "clientInfo"],
        out,
    );
    let asked = version.and_then(revision_named);
    if asked.is_some_and(|revision| revision.era() == Era::Modern)
        && let Some(finding) =
            out.find(&rule::LIF_011, seen, "the client asks for it, and older servers answer with theirs")
    {
        finding.severity = Severity::Note;
    }
    if legacy_session {
        // The session stays what it is, until an answer says otherwise.
        return;
    }
    if opens_a_session(state) {
        forget_used_ids(state);
    }
    state.before_handshake = (state.era == Some(Era::Modern) && state.modern.served.is_some()).then(|| {
        Arc::new(BeforeHandshake {
            phase: state.phase,
            phase_at: state.phase_at,
            asked_revision: state.asked_revision.clone(),
            revision_text: state.revision_text.clone(),
            revision: state.revision,
            client: state.client.clone(),
        })
    });
    state.era = Some(Era::Legacy);
    state.revision = None;
    state.revision_text = None;
    state.asked_revision = kept_text(version, 100);
    introduce(&mut state.client, seen, info, capabilities);
    enter(state, seen, Phase::Initializing);
}

/// A session begins, in which the client may use ids that it used before, but for those that are in flight.
fn forget_used_ids(state: &mut SessionState) {
    if SEARCHED_CALLS < state.n_in_flight() {
        return;
    }
    let mut used = UsedIds::default();
    for call in state.in_flight().iter().filter(|call| call.side() == Side::Client) {
        used.insert(&call.raw_id);
    }
    state.used_ids[Side::Client as usize] = used;
}

/// Says which of the members that a handshake needs are not there.
fn missing(
    rule: &'static crate::rule::Rule,
    seen: &Seen<'_>,
    [version, capabilities, info]: [Option<Node<'_>>; 3],
    names: [&str; 3],
    out: &mut Out<'_>,
) {
    let mut missing = Vec::new();
    if !version.is_some_and(Node::is_string) {
        missing.push(names[0].to_owned());
    }
    if !capabilities.is_some_and(Node::is_object) {
        missing.push(names[1].to_owned());
    }
    for member in ["name", "version"] {
        if !info.and_then(|info| info.get(member)).is_some_and(Node::is_string) {
            missing.push(format!("{}.{member}", names[2]));
        }
    }
    if !missing.is_empty() {
        out.find(rule, seen, format!("missing: {}", missing.join(", ")));
    }
}

/// A notification.
pub(crate) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    known_method(state, seen, out);
    if seen.side == Side::Client && !seen.is_modern() {
        client_ready(state, seen, out);
    }
    let early = matches!(state.phase, Phase::Initializing | Phase::Initialized);
    let allowed = ["notifications/message", "notifications/progress", "notifications/cancelled"];
    if seen.side == Side::Server
        && early
        && !allowed.contains(&seen.method_name())
        && let Some(finding) = out.find(&rule::LIF_003, seen, quoted(seen.method_name()))
    {
        finding.severity = Severity::Note;
    }
    capabilities(state, seen, out);
}

/// `notifications/initialized`, if it is that.
fn client_ready(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if seen.method_name() != "notifications/initialized" {
        return;
    }
    match state.phase {
        Phase::Initialized => {
            if state.revision.is_none() {
                let named = state.revision_text.as_deref().unwrap_or_default();
                out.find(&rule::LIF_010, seen, format!("the server answered with {}", quoted(named)));
            }
            enter(state, seen, Phase::Operating);
        }
        Phase::Operating => {}
        _ if !state.whole => operate_as_legacy(state, seen),
        Phase::Unopened | Phase::Probing | Phase::Initializing | Phase::Refused => {
            out.find(&rule::LIF_005, seen, "");
            state.initialized_early = true;
        }
    }
}

/// What a side is called.
pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if seen.row.status == Some(Status::Ok)
        && let Some((declared_by, path, _)) =
            call.known.and_then(|method| undeclared(state, method, call.revisions, call.side()))
        && declared_by == seen.side
    {
        let finding = out.find(&rule::CAP_004, seen, format!("{} without `{path}`", quoted(&call.method)));
        if let Some(finding) = finding {
            finding.others.push(call.at);
        }
    }
    match (&*call.method, seen.result) {
        ("initialize", Some(result)) => initialized(state, seen, result, out),
        ("initialize", None) => {
            supported_in_error(state, seen);
            if state.phase == Phase::Initializing {
                refused(state, seen);
            }
        }
        ("server/discover", Some(result)) => discovered(state, seen, call, result),
        ("server/discover", None) => {
            supported_in_error(state, seen);
            let code = seen.error.and_then(|error| error.get("code")?.as_i64());
            let modern = matches!(code, Some(-32022..=-32020));
            if state.phase == Phase::Probing && !modern {
                state.era = None;
                enter(state, seen, Phase::Unopened);
            }
        }
        _ => {}
    }
    if call.is_modern() && seen.result.is_some() {
        let info = seen.said.server_info;
        if info.is_some() && state.era == Some(Era::Modern) {
            introduce(&mut state.server, seen, info, None);
        }
    }
}

/// `initialize` was answered with an error.
fn refused(state: &mut SessionState, seen: &Seen<'_>) {
    let Some(before) = state.before_handshake.take() else {
        state.era = None;
        enter(state, seen, Phase::Refused);
        return;
    };
    let BeforeHandshake { phase, phase_at, asked_revision, revision_text, revision, client } = (*before).clone();
    state.era = Some(Era::Modern);
    (state.phase, state.phase_at) = (phase, phase_at);
    (state.asked_revision, state.revision_text, state.revision) = (asked_revision, revision_text, revision);
    let Party { n_messages, n_bytes, .. } = state.client;
    state.client = Party { n_messages, n_bytes, ..client };
}

fn initialized(state: &mut SessionState, seen: &Seen<'_>, result: Node<'_>, out: &mut Out<'_>) {
    let [version, capabilities, info, instructions] =
        result.pick(["protocolVersion", "capabilities", "serverInfo", "instructions"]);
    missing(
        &rule::LIF_008,
        seen,
        [version, capabilities, info],
        ["protocolVersion", "capabilities", "serverInfo"],
        out,
    );
    let text = kept_text(version, 100);
    let revision = version.and_then(revision_named);
    if revision.is_some_and(|revision| revision.era() == Era::Modern) {
        out.find(&rule::LIF_011, seen, "the server answers with it");
    }
    let asked = state.asked_revision.clone();
    // A revision of the modern era cannot be agreed on in a handshake, whoever supports it.
    let legacy = |asked: &str| Revision::nearest(asked).is_some_and(|revision| revision.era() == Era::Legacy);
    if let (Some(asked), Some(text)) = (&asked, &text)
        && asked != text
        && legacy(asked)
        && state.supported.contains(asked)
    {
        out.find(&rule::LIF_009, seen, format!("asked for {}, answered {}", quoted(asked), quoted(text)));
    }
    state.before_handshake = None;
    state.era = Some(Era::Legacy);
    state.revision_text = text;
    state.revision = revision.map(|revision| revision.min(Revision::LATEST_LEGACY));
    state.instructions = kept_text(instructions, INSTRUCTIONS_BYTES);
    introduce(&mut state.server, seen, info, capabilities);
    // A client that was too quick need not say it again.
    let early = std::mem::take(&mut state.initialized_early);
    enter(state, seen, if early { Phase::Operating } else { Phase::Initialized });
}

fn discovered(state: &mut SessionState, seen: &Seen<'_>, call: &Call, result: Node<'_>) {
    let [capabilities, versions, instructions] = result.pick(["capabilities", "supportedVersions", "instructions"]);
    supported(state, versions);
    if state.phase == Phase::Probing || state.era == Some(Era::Modern) {
        introduce(&mut state.server, seen, None, capabilities);
        state.instructions = kept_text(instructions, INSTRUCTIONS_BYTES);
    }
    if state.phase == Phase::Probing {
        state.revision_text = kept_text(call.meta(meta::PROTOCOL_VERSION), 100);
        state.revision = call.revisions.iter().next_back();
        enter(state, seen, Phase::Operating);
    }
}

fn supported_in_error(state: &mut SessionState, seen: &Seen<'_>) {
    supported(state, seen.error.and_then(|error| error.at(&["data", "supported"])));
}

fn supported(state: &mut SessionState, versions: Option<Node<'_>>) {
    for version in versions.into_iter().flat_map(Node::elements).filter_map(|version| kept_text(Some(version), 100)) {
        if state.supported.len() < SUPPORTED_REVISIONS && !state.supported.contains(&version) {
            state.supported.push_back(version);
        }
    }
}

#[cfg(test)]
mod tests;
