//! What a debugger did to a message: who, how long it was held, and both versions with what differs.

use std::io::Write;

use tap_compare::{Comparison, Dials, Markers, Options, Path, Side, compare_values};
use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_session::At;
use tap_store::Listed;

use crate::command::diff::text::{more, told};
use crate::output::{Output, Style};
use crate::text::{duration, shown};

/// Differences that are told.
const DIFFERENCES: usize = 50;

/// Messages that are longer than this are not compared, bytes.
const COMPARED_BYTES: usize = 16 * 1024 * 1024;

/// Writes what was done to a message, or with which act it was made.
pub(super) fn write(out: &mut Output, listed: &Listed) -> std::io::Result<()> {
    let Some(done) = &listed.row.done else {
        return Ok(());
    };
    let what = format!("~ {} by {}", done.told(duration), done.by);
    let other = match (done.made, done.other, done.deed.sends()) {
        (true, Some(at), true) => format!(", in place of {}", at.seq),
        (true, Some(at), false) => format!(", done to {}", at.seq),
        (false, Some(at), true) => format!("; {} was sent", at.seq),
        _ => String::new(),
    };
    writeln!(out, "{}", out.styled(Style::Warning, &shown(&format!("{what}{other}"), false)))
}

/// The other version of a message: what went on in its place, or what it stands for.
pub(super) fn other(listed: &Listed) -> Option<At> {
    let done = listed.row.done.as_ref()?;
    done.other.filter(|_| done.deed.sends())
}

/// Writes what differs between what was received and what was sent.
pub(super) fn differences(out: &mut Output, listed: &Listed, (this, other): (&[u8], &[u8])) -> std::io::Result<()> {
    let (received, sent) = if listed.row.is_made() { (other, this) } else { (this, other) };
    let is_answer = listed.row.done.as_ref().is_some_and(|done| done.deed == tap_frame::Deed::Answered);
    if is_answer || COMPARED_BYTES < received.len().max(sent.len()) {
        // An answer is not another version of its request.
        return Ok(());
    }
    let side = match listed.row.stream.direction() {
        Direction::ToServer => Side::Request,
        Direction::ToClient => Side::Response,
    };
    writeln!(out)?;
    if received == sent {
        writeln!(out, "{}", out.styled(Style::Dim, "what was sent is what was received"))?;
        return Ok(());
    }
    let (a, b) = (Node::new(received), Node::new(sent));
    let whole = |node: Node<'_>| serde_json::from_slice::<&serde_json::value::RawValue>(node.bytes()).is_ok();
    if !whole(a) || !whole(b) {
        writeln!(out, "{}", out.styled(Style::Dim, "what was sent is no JSON"))?;
        return Ok(());
    }
    let found = compared(a, b, side);
    writeln!(out, "{}", out.styled(Style::Bold, "sent, compared to what was received"))?;
    for difference in found.differences.iter().take(DIFFERENCES) {
        told(out, side, difference)?;
    }
    more(out, found.n_differences, DIFFERENCES)?;
    Ok(())
}

fn compared(a: Node<'_>, b: Node<'_>, side: Side) -> Comparison {
    let dials = Dials::default();
    let options = Options { placeholders: false, ..Options::new(&dials, side) };
    compare_values(a, b, &Path::default(), &options, &mut Markers::default())
}
