//! `mcp-tap show`: one message whole, with a request its answer, and over HTTP its exchange.

mod done;
mod exchange;

use std::io::Write;

use serde_json::Value;
use tap_exchange::Exchange;
use tap_frame::{Frame, Origin};
use tap_session::{At, RowKind};
use tap_store::Listed;

use crate::arguments::{Form, Global, Show};
use crate::command::log::{row_json, what, with_verbatim};
use crate::command::ls::when;
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, Part};
use crate::text::{duration, pretty, shown, size};

/// What is broken into lines for a person at most, bytes.
const PRETTY_LIMIT_BYTES: usize = 4 * 1024 * 1024;

pub(crate) fn show(global: &Global, show: &Show) -> Result<u8, Failure> {
    let found = show.message.resolve(global)?;
    let name = &found.session.start.name;
    let Part::One(at) = found.part else {
        return Err(Failure::new("which message? a number is missing")
            .hint(format!("for example `mcp-tap show {name}:1`; `mcp-tap log -s {name} --frames` has the numbers")));
    };
    catch_up(global, &found.store, found.session.id, name)?;
    let Some(listed) = found.store.row(found.session.id, at)? else {
        return Err(found.has_no(at, found.last_seq()?));
    };
    found.must_be_inside(at, listed.conversation)?;
    let frame = frame_of(&found, at)?;
    let exchange = exchange_of(&found, &listed)?;
    // Raw bytes are for programs, also where a terminal is what gets them.
    let for_program = show.json || show.form == Form::Raw;
    let mut out = if for_program { Output::new(global) } else { Output::paged(global) };
    if show.json {
        out.json_with_verbatim(&as_json(&found, &listed, &frame, exchange.as_ref())?)?;
    } else {
        match show.form {
            Form::Raw => out.write_all(&frame.bytes)?,
            Form::Hex => hex(&mut out, &frame.bytes)?,
            Form::Http => match &exchange {
                Some(exchange) => exchange::wire(&mut out, &found, exchange)?,
                None => {
                    return Err(Failure::new(format!("{} did not pass over HTTP", found.place(at)))
                        .hint("leave out --form http"));
                }
            },
            Form::Pretty => {
                message(&mut out, &listed, &frame)?;
                marked(&mut out, &found, at)?;
                if let Some(other) = done::other(&listed)
                    && let Some(version) = found.store.row(found.session.id, other)?
                {
                    let other = frame_of(&found, other)?;
                    writeln!(out)?;
                    message(&mut out, &version, &other)?;
                    done::differences(&mut out, &listed, (&frame.bytes, &other.bytes))?;
                }
                let mut exchanges: Vec<(Exchange, u64)> =
                    exchange.map(|exchange| (exchange, at.seq)).into_iter().collect();
                if let (RowKind::Request, Some(pair)) = (listed.row.kind, listed.row.pair)
                    && let Some(answer) = found.store.row(found.session.id, pair)?
                {
                    if pair != at {
                        writeln!(out)?;
                        message(&mut out, &answer, &frame_of(&found, pair)?)?;
                    }
                    // The answer may have come in another exchange; what is said of an event is of the answer's.
                    match (exchange_of(&found, &answer)?, exchanges.first_mut()) {
                        (Some(its), Some((exchange, seq))) if its.number == exchange.number => *seq = pair.seq,
                        (its, _) => exchanges.extend(its.map(|exchange| (exchange, pair.seq))),
                    }
                }
                for (exchange, seq) in &exchanges {
                    writeln!(out)?;
                    let event = exchange::event_of(&found, exchange, *seq)?;
                    exchange::write(&mut out, &found, exchange, event.as_ref())?;
                }
            }
        }
    }
    out.flush()?;
    Ok(0)
}

fn frame_of(found: &Found, at: At) -> Result<Frame, Failure> {
    let frame = found.store.frame(found.session.id, at.seq)?;
    // Of what a debugger did, the message that it sent.
    let frame = frame.map(|frame| Frame { bytes: frame.message(), ..frame });
    frame.ok_or_else(|| Failure::new(format!("message {} is listed, but its bytes are not in the recording", at.seq)))
}

fn exchange_of(found: &Found, listed: &Listed) -> Result<Option<Exchange>, Failure> {
    match listed.exchange {
        Some(number) => Ok(found.store.exchange(found.session.id, number)?),
        None => Ok(None),
    }
}

fn message(out: &mut Output, listed: &Listed, frame: &Frame) -> Result<(), Failure> {
    let row = &listed.row;
    let arrow = row.stream.direction().arrow();
    let head = format!("{} {arrow} {}", row.at.seq, what(row));
    let mut facts = vec![row.kind.name().to_string(), when(row.wall_ns, "%Y-%m-%d %H:%M:%S%.6f"), size(listed.length)];
    facts.extend(row.raw_id.as_ref().map(|id| format!("id {id}")));
    facts.extend(row.latency_ns.map(|latency_ns| format!("after {}", duration(latency_ns))));
    facts.extend(row.notes.names().map(String::from));
    writeln!(out, "{}  {}", out.styled(Style::Bold, &head), out.styled(Style::Dim, &shown(&facts.join(", "), false)))?;
    if row.kind == RowKind::Exchange && frame.bytes.is_empty() {
        return Ok(());
    }
    done::write(out, listed)?;
    if row.kind == RowKind::Act {
        return Ok(());
    }
    let lost = match frame.origin {
        Origin::Gap(n_bytes) => Some(n_bytes),
        Origin::Wire | Origin::Act(_) => row.lost_bytes,
    };
    if let Some(n_bytes) = lost {
        writeln!(out, "{n_bytes} bytes passed here that could not be recorded")?;
        return Ok(());
    }
    let shown_bytes = frame.bytes.get(..PRETTY_LIMIT_BYTES).unwrap_or(&frame.bytes);
    let text = String::from_utf8_lossy(shown_bytes);
    let text = text.trim_start_matches('\u{feff}');
    let is_json =
        !matches!(row.kind, RowKind::NotJson | RowKind::Blank | RowKind::Stderr | RowKind::Body | RowKind::Exchange);
    let body = if is_json { shown(&pretty(text), true) } else { shown(text.trim_end_matches('\n'), true) };
    writeln!(out, "{body}")?;
    if shown_bytes.len() < frame.bytes.len() {
        let rest = size((frame.bytes.len() - shown_bytes.len()) as u64);
        writeln!(out, "{}", out.styled(Style::Warning, &format!("{rest} more; --form raw gives all of it")))?;
    }
    Ok(())
}

/// What a person said about a message.
fn marked(out: &mut Output, found: &Found, at: At) -> Result<(), Failure> {
    for mark in found.store.bookmarks(found.session.id)?.iter().filter(|mark| mark.at == at) {
        let name = mark.name.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
        let note = mark.note.as_ref().map(|note| format!("  {note}")).unwrap_or_default();
        writeln!(out, "{}", out.styled(Style::Bold, &shown(&format!("*{name}{note}"), false)))?;
    }
    Ok(())
}

fn hex(out: &mut Output, bytes: &[u8]) -> std::io::Result<()> {
    for (offset, line) in (0..).step_by(16).zip(bytes.chunks(16)) {
        let (digits, text) = tap_text::hex(line);
        writeln!(out, "{offset:08x}  {digits} |{text}|")?;
    }
    Ok(())
}

fn as_json(found: &Found, listed: &Listed, frame: &Frame, exchange: Option<&Exchange>) -> Result<String, Failure> {
    let reference = &found.reference;
    let whole = |listed: &Listed, frame: &Frame, exchange: Option<&Exchange>| -> Result<String, Failure> {
        let told = match exchange {
            Some(exchange) => {
                let event = exchange::event_of(found, exchange, frame.seq)?;
                exchange::as_json(exchange, event.as_ref(), found.session.live)
            }
            None => Value::Null,
        };
        let status = exchange.and_then(|exchange| exchange.status);
        let row = row_json(listed, told, status, reference, &found.session.start.uuid);
        // What is neither JSON nor text is given as the numbers of its bytes.
        Ok(match std::str::from_utf8(&frame.bytes) {
            Ok(_) => with_verbatim(&row, "message", &frame.bytes),
            Err(_) => with_verbatim(&row, "bytes", format!("{:?}", frame.bytes.to_vec()).as_bytes()),
        })
    };
    let mut text = whole(listed, frame, exchange)?;
    if let Some(other) = done::other(listed)
        && let Some(version) = found.store.row(found.session.id, other)?
    {
        let other = whole(&version, &frame_of(found, other)?, exchange)?;
        text = with_verbatim(&text, "other", other.as_bytes());
    }
    match (listed.row.kind, listed.row.pair) {
        (RowKind::Request, Some(pair)) => match found.store.row(found.session.id, pair)? {
            Some(answer) => {
                let exchange = exchange_of(found, &answer)?;
                let answer = whole(&answer, &frame_of(found, pair)?, exchange.as_ref())?;
                Ok(with_verbatim(&text, "answer", answer.as_bytes()))
            }
            None => Ok(text),
        },
        _ => Ok(text),
    }
}
