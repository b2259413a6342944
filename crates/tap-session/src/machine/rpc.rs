//! Framing and JSON-RPC: is a line a message, and is a message well formed.
//!
//! Source: MCP basic, Messages (every revision), and JSON-RPC 2.0.

use tap_frame::{Direction, Frame, Stream};
use tap_jsonrpc::{Batch, Content, EnvelopeError, Member, Misfit, Node, NotAMessage, Notes, Progress, Scanner};
use tap_protocol::Revisions;

use super::{Out, Seen, lifecycle};
use crate::observer::WATCHES;
use crate::row::{At, MessageRow, RowKind};
use crate::rule::{Severity, quoted, quoted_bytes};
use crate::rules::framing as rule;
use crate::state::{Call, SessionState, sender};

/// Whole numbers beyond this are rounded by parsers that know only `double`: 2^53 − 1.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// Lines that may together be one message. A log of a million lines that begins with a bracket is no such message.
const LINES_OF_A_MESSAGE: usize = 10_000;

/// What is known of lines that are no messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Framing {
    /// Messages are whole bodies and events of HTTP, not lines.
    pub(crate) of_bodies: bool,
    /// By stream code: lines that may together be one message.
    open: [Option<OpenValue>; 2],
    /// By stream code: the newest frame ended without a newline.
    tail: [Option<At>; 2],
    /// By stream code: what comes next may be the rest of a line whose beginning is missing.
    torn: [bool; 2],
}

/// A JSON value that goes on in the next line.
#[derive(Debug, Clone)]
struct OpenValue {
    scanner: Scanner,
    lines: Vec<At>,
    /// Whose line it is, and in which revisions it may be.
    revisions: Revisions,
}

impl Framing {
    /// The framing of a session of which the beginning is missing.
    pub(crate) fn from_the_middle() -> Self {
        Self { torn: [true; 2], ..Self::default() }
    }

    /// Bytes of a stream are missing: what came before them was cut short by whoever recorded, and so is what follows.
    pub(crate) fn tear(&mut self, stream: Stream) {
        if stream == Stream::Stderr {
            return;
        }
        let index = index(stream);
        (self.open[index], self.tail[index], self.torn[index]) = (None, None, true);
    }

    /// Whether a frame is a line that goes on, or would, but for a kill or a gap.
    fn is_cut_short(&self, frame: &Frame) -> bool {
        !self.of_bodies && !frame.bytes.is_empty() && !frame.bytes.ends_with(b"\n")
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::ToClient)
}

/// The revisions in which a line is that says nothing itself.
fn revisions_of_line(state: &SessionState) -> Revisions {
    state.revision.map_or(Revisions::ALL, Revisions::only)
}

/// Judges a line that is a message.
pub(crate) fn frame(
    framing: &mut Framing,
    state: &mut SessionState,
    frame: &Frame,
    row: &MessageRow,
    out: &mut Out<'_>,
) {
    give_up(framing, frame.stream, out);
    framing.torn[index(frame.stream)] = false;
    line(framing, state, frame, row, out);
}

/// Judges how a line was written.
fn line(framing: &mut Framing, state: &mut SessionState, frame: &Frame, row: &MessageRow, out: &mut Out<'_>) {
    let (revisions, by) = (revisions_of_line(state), sender(frame.direction()));
    framing.tail[index(frame.stream)] = framing.is_cut_short(frame).then_some(row.at);
    if row.notes.is_empty() {
        return;
    }
    let oddities = Notes::INVALID_UTF8.union(Notes::BYTE_ORDER_MARK);
    if !row.notes.without(row.notes.without(oddities)).is_empty() {
        let what = if row.notes.contains(Notes::INVALID_UTF8) { "not UTF-8" } else { "a byte order mark" };
        out.find_at(&rule::FRM_004, revisions, row.at, by, what);
    }
    // Who writes carriage returns writes them always: told once.
    if row.notes.contains(Notes::CARRIAGE_RETURN)
        && !framing.of_bodies
        && state.first_time(carriage_return(frame.direction()))
    {
        out.find_at(&rule::FRM_006, revisions, row.at, by, "told once a direction");
    }
}

fn carriage_return(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "FRM-006 to server",
        Direction::ToClient => "FRM-006 to client",
    }
}

/// A line that is not JSON, or empty.
pub(crate) fn no_message(
    state: &mut SessionState,
    framing: &mut Framing,
    frame: &Frame,
    row: &MessageRow,
    content: &Content,
    out: &mut Out<'_>,
) {
    let is_cut_short = framing.is_cut_short(frame);
    // The rest of a line whose beginning is missing: no braces can be balanced in it, so that it is never a message.
    let is_torn = std::mem::take(&mut framing.torn[index(frame.stream)]);
    // The beginning of a message that was cut short, in the middle of a character perhaps: the end says what of it.
    let is_cut_message = is_cut_short && matches!(content, Content::NotJson(EnvelopeError::Truncated { .. }));
    if is_torn || is_cut_message {
        framing.tail[index(frame.stream)] = is_cut_short.then_some(row.at);
        return;
    }
    line(framing, state, frame, row, out);
    let revisions = revisions_of_line(state);
    let slot = &mut framing.open[index(frame.stream)];
    if let Some(open) = slot {
        open.scanner.feed(&frame.bytes);
        if is_cut_short && open.scanner.progress() == Progress::Inside {
            return;
        }
        open.lines.push(row.at);
        match open.scanner.progress() {
            Progress::Inside if open.lines.len() < LINES_OF_A_MESSAGE => return,
            Progress::Inside | Progress::Failed => {}
            Progress::Blank | Progress::Complete => {
                if let Content::Message(_) | Content::Batch(_) = open.scanner.finish().content {
                    let (lines, revisions) = (std::mem::take(&mut open.lines), open.revisions);
                    *slot = None;
                    let (Some(first), by) = (lines.first(), sender(frame.direction())) else {
                        return;
                    };
                    let detail = format!("one message over {} lines", lines.len());
                    if let Some(finding) = out.find_at(&rule::FRM_003, revisions, *first, by, detail) {
                        finding.others = lines.into_iter().skip(1).take(20).collect();
                    }
                    return;
                }
            }
        }
        give_up(framing, frame.stream, out);
        return;
    }
    match content {
        // Cut off inside an object or an array: the rest may be on the next lines.
        Content::NotJson(EnvelopeError::Truncated { .. }) if !framing.of_bodies => {
            let mut scanner = Scanner::new(WATCHES);
            scanner.feed(&frame.bytes);
            *slot = Some(OpenValue { scanner, lines: vec![row.at], revisions });
        }
        _ => noise(revisions, row.at, frame.stream, row.kind == RowKind::Blank, out),
    }
}

/// Lines that looked like the beginning of a message were not.
fn give_up(framing: &mut Framing, stream: Stream, out: &mut Out<'_>) {
    if let Some(open) = framing.open[index(stream)].take() {
        for at in open.lines {
            noise(open.revisions, at, stream, false, out);
        }
    }
}

fn noise(revisions: Revisions, at: At, stream: Stream, blank: bool, out: &mut Out<'_>) {
    let rule = if stream == Stream::ToClient { &rule::FRM_001 } else { &rule::FRM_002 };
    let detail = if blank { "an empty line" } else { "not JSON" };
    let finding = out.find_at(rule, revisions, at, sender(stream.direction()), detail);
    if let (true, Some(finding)) = (blank, finding) {
        finding.severity = Severity::Warning;
    }
}

/// A batch as a whole; its members are judged like other messages.
pub(crate) fn batch(state: &SessionState, frame: &Frame, row: &MessageRow, batch: &Batch, out: &mut Out<'_>) {
    let (revisions, by) = (revisions_of_line(state), sender(frame.direction()));
    out.find_at(&rule::RPC_013, revisions, row.at, by, format!("{} messages in one line", batch.n_members));
    let answers = |member: &Member| match member {
        Member::Message(envelope) => envelope.method.is_none(),
        Member::NotAMessage(other) => other.method.is_none(),
    };
    let n_answers = batch.members.iter().filter(|member| answers(member)).count();
    if batch.members.is_empty() {
        out.find_at(&rule::RPC_015, revisions, row.at, by, "empty");
    } else if 0 < n_answers && n_answers < batch.members.len() {
        let detail = format!("{n_answers} of {} are answers", batch.members.len());
        out.find_at(&rule::RPC_015, revisions, row.at, by, detail);
    }
}

/// JSON that is none of the four messages.
pub(crate) fn not_a_message(seen: &Seen<'_>, other: &NotAMessage, out: &mut Out<'_>) {
    let noise = match other.why {
        Misfit::ResultAndError => {
            out.find(&rule::RPC_008, seen, "both a result and an error");
            return;
        }
        Misfit::MethodAndOutcome => {
            out.find(&rule::RPC_008, seen, "a method beside a result or an error");
            return;
        }
        Misfit::NoMember if other.id.is_some() => {
            out.find(&rule::RPC_008, seen, "an id, and neither a method, a result nor an error");
            return;
        }
        Misfit::ResultWithoutId => {
            out.find(&rule::RPC_006, seen, "a result without an id");
            return;
        }
        Misfit::NotAnObject | Misfit::MethodNotAString | Misfit::NoMember | Misfit::ErrorNotAnObject => other.why,
    };
    let rule = match seen.direction() {
        Direction::ToClient => &rule::FRM_001,
        Direction::ToServer => &rule::FRM_002,
    };
    out.find(rule, seen, format!("JSON, but no message: {noise}"));
}

/// What holds of every message.
pub(crate) fn message(seen: &Seen<'_>, out: &mut Out<'_>) {
    if seen.params.is_some_and(|params| !params.is_object()) {
        out.find(&rule::RPC_016, seen, "");
    }
    if seen.row.kind == RowKind::Result && seen.result.is_some_and(|result| !result.is_object()) {
        out.find(&rule::RPC_017, seen, "");
    }
    if seen.row.kind == RowKind::Error {
        error(seen, out);
    }
    if let Some(raw_id) = &seen.row.raw_id {
        id(seen, Node::new(raw_id.as_bytes()), out);
    }
    if seen.notes.is_empty() {
        return;
    }
    if seen.notes.contains(Notes::MISSING_VERSION) {
        out.find(&rule::RPC_001, seen, "it is missing");
    }
    if seen.notes.contains(Notes::OTHER_VERSION) {
        let version = seen.node.get("jsonrpc").map(|version| quoted_bytes(version.bytes()));
        out.find(&rule::RPC_001, seen, format!("it is {}", version.unwrap_or_default()));
    }
    if seen.notes.contains(Notes::DUPLICATE_MEMBER) {
        out.find(&rule::RPC_018, seen, "");
    }
    if seen.notes.contains(Notes::NULL_OUTCOME)
        && seen.row.kind == RowKind::Error
        && let Some(finding) = out.find(&rule::RPC_008, seen, "an error beside `\"result\":null`")
    {
        finding.severity = Severity::Warning;
    }
    if seen.notes.contains(Notes::WRONG_ID_TYPE) && seen.row.raw_id.is_none() {
        out.find(&rule::RPC_003, seen, "an object or an array");
    }
}

fn error(seen: &Seen<'_>, out: &mut Out<'_>) {
    let Some(error) = seen.error else {
        return;
    };
    let [code, message] = if error.is_object() { error.pick(["code", "message"]) } else { [None; 2] };
    if !error.is_object() {
        out.find(&rule::RPC_009, seen, "not an object");
    } else if !code.is_some_and(Node::is_integer) {
        out.find(&rule::RPC_009, seen, "`code` is no whole number");
    } else if !message.is_some_and(Node::is_string) {
        out.find(&rule::RPC_009, seen, "`message` is no text");
    }
    if seen.row.raw_id.as_ref().is_none_or(tap_jsonrpc::RawId::is_null) && !seen.notes.contains(Notes::WRONG_ID_TYPE) {
        out.find(&rule::RPC_010, seen, if seen.row.raw_id.is_some() { "null" } else { "none" });
    }
}

fn id(seen: &Seen<'_>, id: Node<'_>, out: &mut Out<'_>) {
    if id.is_null() {
        if seen.row.kind == RowKind::Request {
            out.find(&rule::RPC_002, seen, "");
        }
        return;
    }
    if !id.is_string() && !id.is_integer() {
        out.find(&rule::RPC_003, seen, format!("it is {}", quoted_bytes(id.bytes())));
    }
    unsafe_integer(seen, "id", id, out);
}

fn unsafe_integer(seen: &Seen<'_>, what: &str, number: Node<'_>, out: &mut Out<'_>) {
    // No number of so few characters is that large, unless it has an exponent.
    if number.bytes().len() <= 15 && number.bytes().iter().all(u8::is_ascii_digit) {
        return;
    }
    let safe = -MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER;
    if number.is_number() && number.is_integer() && !number.as_i64().is_some_and(|number| safe.contains(&number)) {
        out.find(&rule::RPC_019, seen, format!("{} {}", quoted(what), quoted_bytes(number.bytes())));
    }
}

/// A request, before it is put with those in flight.
pub(crate) fn request(state: &SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if call.is_notification() {
        out.find(&rule::RPC_011, seen, format!("{} has the id {}", call.method, call.raw_id));
    }
    if seen.row.at.member > 0 && &*call.method == "initialize" {
        out.find(&rule::RPC_014, seen, "");
    }
    if let Some(token) = seen.said.progress_token {
        unsafe_integer(seen, "progress token", token, out);
    }
    if &*call.method == "tools/call"
        && let Some(arguments) = seen.parts.arguments.filter(|arguments| arguments.is_object())
    {
        for (key, value) in arguments.members() {
            if value.is_number() {
                unsafe_integer(seen, &key.text(), value, out);
            }
        }
    }
    if call.raw_id.is_null() || !state.used_ids_of(seen.side).contains(&call.raw_id) {
        return;
    }
    let in_flight = state.call(seen.scope, seen.direction(), &call.raw_id);
    // A probe and what else came before a session are not of it.
    if in_flight.is_none() && &*call.method == "initialize" && lifecycle::opens_a_session(state) {
        return;
    }
    let earlier =
        in_flight.or_else(|| state.recent_call(seen.scope, seen.direction(), &call.raw_id)).map(|earlier| earlier.at);
    // Of a probe that was never answered nobody can tell whether it is still in flight.
    let rule = match (seen.is_modern(), in_flight) {
        (true, Some(earlier)) if state.is_whole_since(earlier) => &rule::RPC_005,
        (true, _) => return,
        (false, _) => &rule::RPC_004,
    };
    let finding = out.find(rule, seen, format!("id {}", call.raw_id));
    if let (Some(finding), Some(earlier)) = (finding, earlier) {
        finding.others.push(earlier);
    }
}

/// More requests wait than are followed.
pub(crate) fn too_many(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if state.first_time("TAP-001") {
        out.find(&rule::TAP_001, seen, format!("{} wait for an answer", state.n_in_flight()));
    }
}

/// An answer that pairs with no request.
pub(crate) fn answer_to_nothing(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let raw_id = match &seen.row.raw_id {
        Some(raw_id) if !raw_id.is_null() => raw_id,
        // An error without an id answers what could not be read, or perhaps a notification.
        _ => {
            if seen.row.kind == RowKind::Result {
                out.find(&rule::RPC_012, seen, "a result with the id null answers no request");
            }
            return;
        }
    };
    let asked = seen.direction().reversed();
    // It does answer a request: one that is not followed, such as a notification with an id.
    if seen.row.pair.is_some() {
        return;
    }
    if let Some(call) = state.recent_call(seen.scope, asked, raw_id) {
        // What was dropped was not answered before. And where ids may be used again, a request with this one may be missing.
        if call.answer.is_none() || !(state.is_whole_since(call) || seen.is_legacy()) {
            return;
        }
        let others = [Some(call.at), call.answer].into_iter().flatten().collect();
        if let Some(finding) = out.find(&rule::RPC_007, seen, format!("id {raw_id}")) {
            finding.others = others;
        }
        return;
    }
    // Ids are remembered for all scopes together.
    if seen.scope == 0 && state.used_ids_of(sender(asked)).contains(raw_id) {
        if state.gap_at.is_none() || seen.is_legacy() {
            out.find(&rule::RPC_007, seen, format!("id {raw_id}, which was answered long ago"));
        }
        return;
    }
    if state.told_once.contains("TAP-001") {
        return;
    }
    let spelled = spelled_otherwise(state, seen, asked);
    let detail = match &spelled {
        Some(call) => format!("id {raw_id}; a request has the id {}", call.raw_id),
        None => format!("id {raw_id}"),
    };
    let Some(finding) = out.find(&rule::RPC_006, seen, detail) else {
        return;
    };
    finding.others.extend(spelled.map(|call| call.at));
    if state.resumed {
        // A resumed stream may send again what was before the recording, or what a rejected request was told.
        finding.severity = Severity::Warning;
    }
}

/// The request in flight whose id says the same in other words: `"1"` for `1`, `1.0` for `1`.
fn spelled_otherwise(state: &SessionState, seen: &Seen<'_>, asked: Direction) -> Option<std::sync::Arc<Call>> {
    let plain = |raw_id: &tap_jsonrpc::RawId| {
        let text = raw_id.text().unwrap_or_else(|| raw_id.to_string());
        text.strip_suffix(".0").map_or(text.clone(), String::from)
    };
    let wanted = plain(seen.row.raw_id.as_ref()?);
    if state.n_in_flight() > 1_000 {
        return None;
    }
    state.in_flight().into_iter().find(|call| call.direction == asked && plain(&call.raw_id) == wanted)
}

/// The recording is over.
pub(crate) fn end(state: &SessionState, framing: &mut Framing, out: &mut Out<'_>) {
    for stream in [Stream::ToServer, Stream::ToClient] {
        give_up(framing, stream, out);
        if let Some(at) = framing.tail[index(stream)].take() {
            out.find_at(&rule::FRM_005, revisions_of_line(state), at, sender(stream.direction()), "");
        }
    }
    for call in state.in_flight() {
        // A listening lasts as long as it likes, and a ping has a rule of its own.
        let other_rule = match &*call.method {
            "subscriptions/listen" => true,
            "ping" => !call.is_modern(),
            _ => false,
        };
        if call.cancelled.is_some() || other_rule {
            continue;
        }
        let detail = match &call.target {
            Some(target) => format!("{} {}", call.method, quoted(target)),
            None => quoted(&call.method),
        };
        let _ = out.find_at(&rule::RPC_020, call.revisions, call.at, call.side().other(), detail);
    }
}

#[cfg(test)]
mod tests;
