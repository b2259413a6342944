//! `mcp-tap log --all`: what fits in all sessions, the newest first, as it is found.

use std::io::Write;
use std::ops::ControlFlow;

use tap_filter::Filter;

use super::outcome::outcome;
use super::{row_json, what};
use crate::arguments::{Global, Log};
use crate::command::ls::when;
use crate::failure::{Failure, NO};
use crate::output::{Output, Style};
use crate::reference::{database, place, shortest};
use crate::searching::{Hit, Progress, Told, around, search};
use crate::text::{column, counted, cut, shown, size, thousands};

/// How much is told of what is before and behind the place, bytes.
const BEFORE_BYTES: usize = 30;
const BEHIND_BYTES: usize = 300;

/// Prints what fits in all sessions.
pub(super) fn all(global: &Global, log: &Log, filter: &Filter) -> Result<u8, Failure> {
    let store = tap_store::Store::open(&database(global)?)?;
    let sessions = store.sessions()?;
    let references: std::collections::HashMap<_, _> =
        sessions.iter().map(|session| session.id).zip(shortest(&sessions)).collect();
    // What is found is there at once; a pager would hold it back.
    let mut out = Output::new(global);
    let limit = log.limit.unwrap_or(u64::MAX);
    let (mut n_hits, mut n_sessions, mut newest) = (0, 0, None);
    let mut last = Progress::default();
    search(&store, filter, 1, |told| {
        let flow = |n_hits| if n_hits < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let hit = match told {
            Told::Progress(progress) => {
                last = progress;
                out.flush()?;
                return Ok::<_, Failure>(flow(n_hits));
            }
            Told::Hit(hit) => hit,
        };
        last = hit.progress;
        n_hits += 1;
        if newest.replace(hit.session.id) != Some(hit.session.id) {
            n_sessions += 1;
        }
        let reference = references.get(&hit.session.id).map(String::as_str).unwrap_or_default();
        let exchange = match hit.listed.exchange {
            Some(number) => store.exchange(hit.session.id, number)?,
            None => None,
        };
        if log.json {
            let status = exchange.as_ref().and_then(|exchange| exchange.status);
            let uuid = &hit.session.start.uuid;
            out.json_with_verbatim(&row_json(hit.listed, hit.listed.exchange.into(), status, reference, uuid))?;
        } else {
            let (style, words) = outcome(hit.listed, exchange.as_ref(), hit.session.live);
            line(&mut out, &hit, reference, style, &words)?;
        }
        // Not until the next hit comes, which may be far away or nowhere.
        Ok(flow(n_hits))
    })?;
    out.flush()?;
    if !global.quiet {
        let _ = writeln!(
            std::io::stderr(),
            "{} in {} of {}; looked at {} of {} messages, {}",
            counted(n_hits, "hit"),
            thousands(n_sessions),
            counted(last.n_sessions, "session"),
            thousands(last.n_messages_done),
            thousands(last.n_messages),
            size(last.n_bytes_done)
        );
    }
    Ok(if n_hits == 0 { NO } else { 0 })
}

fn line(out: &mut Output, hit: &Hit<'_>, reference: &str, style: Style, status: &str) -> Result<(), Failure> {
    let row = &hit.listed.row;
    let [before, found, behind] = match hit.place() {
        Some(place) => around(hit.bytes(), place, BEFORE_BYTES, BEHIND_BYTES),
        None => around(hit.bytes(), 0..0, 0, BEHIND_BYTES),
    };
    let [before, found, behind] = [before, found, behind].map(|text| shown(&text, false));
    let name = shown(&place(reference, row.at), false);
    let width = out.width().map_or(usize::MAX, |width| width.saturating_sub(74).max(20));
    let (before, found) = (cut(&before, width), cut(&found, width));
    let used =
        unicode_width::UnicodeWidthStr::width(before.as_str()) + unicode_width::UnicodeWidthStr::width(found.as_str());
    writeln!(
        out,
        "{}  {}  {} {} {}  {}{}{}",
        column(&name, 18),
        when(row.wall_ns, "%m-%d %H:%M"),
        row.stream.direction().arrow(),
        column(&shown(&what(row), false), 22),
        out.styled(style, &column(&shown(status, false), 12)),
        out.styled(Style::Dim, &before),
        out.styled(Style::Bold, &found),
        out.styled(Style::Dim, &cut(&behind, width.saturating_sub(used)))
    )?;
    Ok(())
}
