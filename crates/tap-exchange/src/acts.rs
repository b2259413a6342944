//! What was done in an exchange: to which of its messages.

use tap_frame::{Act, Stream};

use crate::core::{Core, Sink};
use crate::open::{Answer, Open};

/// Messages of one answer that are remembered, to tell what is done to them.
pub(crate) const GIVEN: usize = 4096;

/// Gives out what was done to messages that were given out; where the exchange is over, all of it.
pub(crate) fn acts(core: &mut Core, open: &mut Open, is_over: bool, sink: &mut Sink<'_>) {
    for (text, place) in std::mem::take(&mut open.acts) {
        let act = Act::read_head(&text);
        let begins = act.as_ref().and_then(|act| act.message);
        let message = match act.as_ref().map(|act| act.stream) {
            Some(Stream::ToServer) => open.facts.request_seq,
            _ if matches!(open.answer, Answer::Stream(_)) => {
                open.given.iter().rev().find(|(this, _)| begins == Some(*this)).map(|(_, seq)| *seq)
            }
            _ => open.answer_seq,
        };
        if begins.is_some() && message.is_none() && !is_over {
            open.acts.push((text, place));
            continue;
        }
        let number = open.facts.number;
        core.act(Some(open), number, text, place, message.filter(|_| begins.is_some()), sink);
    }
}
