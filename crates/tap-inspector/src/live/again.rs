//! A request that was recorded, sent once more, and what came back beside what came back then.

use std::sync::Arc;

use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_session::RowKind;

use super::{BesideLine, Edits, LiveOrder, Resent, beside, keys::Sure, pretty};
use crate::data::Whole;
use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay};

/// A request that is to be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resend {
    pub(crate) request: Arc<[u8]>,
    /// What was answered then, and how long that took, nanoseconds.
    pub(crate) recorded: Option<Arc<[u8]>>,
    pub(crate) recorded_ns: Option<u64>,
    /// What it is, in words.
    pub(crate) what: String,
    /// The session is over, or its tap cannot be reached: how it is named, for its server is to be started anew.
    pub(crate) anew: Option<String>,
}

/// Two answers.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) what: String,
    pub(crate) lines: Vec<BesideLine>,
    pub(crate) top: usize,
    /// How long each took, nanoseconds.
    pub(crate) took_ns: [Option<u64>; 2],
    /// There was an answer then.
    pub(crate) was_answered: bool,
}

impl Again {
    pub(crate) fn n_different(&self) -> usize {
        self.lines.iter().filter(|line| line.differs).count()
    }
}

impl Inspector {
    /// Sends the request that is looked at once more, or has it edited before.
    pub(crate) fn resend_here(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(open) = &self.open else {
            return;
        };
        // Whether there is a tap to send it to is known in a moment, and its server is not to be started anew for want of that.
        if open.live && open.debug.here.is_none() && open.debug.away.is_none() {
            let why = self.why_away();
            return self.say(why, false);
        }
        let Some(detail) = &open.detail else {
            return self.say("no message is open", false);
        };
        let halves = || std::iter::once(&detail.parts.this).chain(&detail.parts.other);
        let is_request =
            |whole: &&Whole| whole.row.row.kind == RowKind::Request && whole.row.direction() == Direction::ToServer;
        let Some(request) = halves().find(is_request) else {
            return self.say("this is no request to the server", false);
        };
        if (request.bytes.len() as u64) < request.row.length {
            return self.say("this request is too large to be sent from here", true);
        }
        let answer = halves().find(|whole| matches!(whole.row.row.kind, RowKind::Result | RowKind::Error));
        let row = &request.row.row;
        let what = [row.method.as_deref(), row.target.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let resend = Resend {
            request: request.bytes.clone(),
            recorded: answer.map(|answer| answer.bytes.clone()),
            recorded_ns: row.latency_ns.or(answer.and_then(|answer| answer.row.row.latency_ns)),
            what,
            anew: open.debug.here.is_none().then(|| open.session.reference.clone()),
        };
        if resend.anew.is_some() && row.method.as_deref() != Some("tools/call") {
            let why = self.why_away();
            return self
                .say(format!("{why}; only a call of a tool can be made on a server that is started anew"), false);
        }
        match action {
            Action::EditAndSend => self.edit(pretty(&resend.request), "request.json", Edits::Again(resend), effects),
            _ => self.ask_to_resend(resend),
        }
    }

    pub(super) fn ask_to_resend(&mut self, resend: Resend) {
        let text = match &resend.anew {
            None => format!("send {} into the live session?", resend.what),
            Some(reference) => format!("start the server of {reference} anew, and send {}?", resend.what),
        };
        self.overlay = Some(Overlay::Sure(text, Sure::Resend(resend)));
    }

    pub(super) fn resend(&mut self, resend: Resend, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        if open.debug.resending.is_some() {
            return self.say("a moment: the last one was not answered yet", false);
        }
        let order = match &resend.anew {
            None => LiveOrder::Call(resend.request.clone()),
            Some(reference) => match words(reference, &resend.request) {
                Ok(words) => LiveOrder::CallAnew(words),
                Err(why) => return self.say(why, true),
            },
        };
        effects.push(Effect::Ask(ticket, Query::Control(open.session.key, order)));
        open.debug.resending = Some((ticket, resend));
        self.say("sent; the answer comes beside the recorded one", false);
    }

    pub(super) fn take_resent(&mut self, ticket: Ticket, resent: &Resent) {
        let Some(debug) = self.open.as_mut().map(|open| &mut open.debug) else {
            return;
        };
        let Some((_, resend)) = debug.resending.take_if(|(asked, _)| *asked == ticket) else {
            return;
        };
        let recorded = resend.recorded.as_ref().map(|answer| pretty(outcome(answer)));
        debug.again = Some(Again {
            what: resend.what,
            lines: beside(recorded.as_deref().unwrap_or_default(), &pretty(outcome(&resent.answer))),
            top: 0,
            took_ns: [resend.recorded_ns, resent.took_ns],
            was_answered: recorded.is_some(),
        });
    }
}

/// What an answer says, without the id by which it was found. What is no answer is all of it.
fn outcome(answer: &[u8]) -> &[u8] {
    let [version, result, error] = Node::new(answer).pick(["jsonrpc", "result", "error"]);
    version.and(result.or(error)).map_or(answer, Node::bytes)
}

/// How a call of a tool is made on a server that is started for it: the words behind `mcp-tap`.
fn words(reference: &str, request: &[u8]) -> Result<Vec<String>, &'static str> {
    let node = Node::new(request);
    let name = node.at(&["params", "name"]).and_then(Node::text).ok_or("this is no call of a tool")?;
    if name.starts_with('-') || name.is_empty() {
        return Err("a tool with such a name cannot be called from here; c copies the command");
    }
    let arguments = node.at(&["params", "arguments"]).map_or(&b"{}"[..], Node::bytes);
    let arguments = std::str::from_utf8(arguments).map_err(|_| "the arguments are no text")?;
    let words = ["call", "--json", "--no-check", "--session", reference, &name, arguments];
    Ok(words.into_iter().map(Into::into).collect())
}
