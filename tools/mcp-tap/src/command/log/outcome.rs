//! What became of a request or an exchange, in a few words, for the column of a list.

use tap_exchange::Exchange;
use tap_frame::{Became, HttpEnd};
use tap_session::{FrameEnd, RowKind, Status};
use tap_store::Listed;

use crate::output::Style;
use crate::text::shown;

/// The request that stays open as long as its client wants to hear of changes.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// `live` is whether what is missing may still come.
pub(crate) fn outcome(listed: &Listed, exchange: Option<&Exchange>, live: bool) -> (Style, String) {
    let row = &listed.row;
    if let (RowKind::Request, None, Some(done)) = (row.kind, row.status, &row.done) {
        match done.deed.became() {
            Became::Waiting if live => return (Style::Warning, "held".into()),
            Became::Waiting => return (Style::Warning, "held to the end".into()),
            Became::Stopped | Became::Replaced if !done.made => return (Style::Warning, done.deed.name().into()),
            Became::Stopped | Became::Replaced | Became::WentOn => {}
        }
    }
    match (row.kind, row.status) {
        (RowKind::Exchange, _) => of_exchange(listed, exchange, live),
        (_, Some(Status::Ok)) => (Style::Good, "ok".into()),
        (_, Some(Status::ToolError)) => (Style::Bad, "tool error".into()),
        (_, Some(Status::Error)) => {
            let code = row.error_code.as_deref().map(|code| shown(code, false)).unwrap_or_default();
            // The server said so with a status and with no message.
            (Style::Bad, if code.starts_with("HTTP ") { code } else { format!("error {code}") })
        }
        (RowKind::Request, None) => unanswered(listed, exchange, live),
        (RowKind::NotJson | RowKind::NotAMessage, None) => (Style::Bad, row.kind.name().into()),
        (RowKind::Gap, None) => (Style::Bad, "not recorded".into()),
        _ if listed.frame_end == FrameEnd::RecordingEnd => (Style::Warning, "cut off".into()),
        _ => (Style::Dim, row.kind.name().into()),
    }
}

/// The status code: of an exchange nothing else is known to have been said.
fn of_exchange(listed: &Listed, exchange: Option<&Exchange>, live: bool) -> (Style, String) {
    let Some(status) = exchange.and_then(|exchange| exchange.status) else {
        return no_answer(exchange, live);
    };
    let style = match (status, listed.row.status) {
        (_, Some(Status::Error)) => Style::Bad,
        (200..=299, _) => Style::Good,
        _ => Style::Plain,
    };
    (style, format!("HTTP {status}{}", if is_open(exchange, live) { ", open" } else { "" }))
}

/// A request that no message answers.
fn unanswered(listed: &Listed, exchange: Option<&Exchange>, live: bool) -> (Style, String) {
    let is_subscription = listed.row.method.as_deref() == Some(SUBSCRIPTION);
    let status = exchange.and_then(|exchange| exchange.status).filter(|status| (200..=299).contains(status));
    match (status, is_subscription) {
        // Its answer is the stream, which ends when one of the two has had enough.
        (Some(_), true) if is_open(exchange, live) => (Style::Good, "open".into()),
        (Some(_), true) => (Style::Plain, "ended".into()),
        _ => no_answer(exchange, live),
    }
}

fn no_answer(exchange: Option<&Exchange>, live: bool) -> (Style, String) {
    match exchange.and_then(|exchange| exchange.end) {
        Some(HttpEnd::ByClient) => (Style::Warning, "client left".into()),
        Some(HttpEnd::ByServer) => (Style::Bad, "server broke off".into()),
        // The answer may come on another stream.
        Some(HttpEnd::Whole) | None if live => (Style::Warning, "waiting".into()),
        Some(HttpEnd::Whole) | None => (Style::Bad, "no answer".into()),
    }
}

fn is_open(exchange: Option<&Exchange>, live: bool) -> bool {
    live && exchange.is_some_and(|exchange| exchange.ended_at_ns.is_none())
}

/// Whether nothing more will be known of a row soon, so that its line can be printed.
pub(crate) fn is_settled(listed: &Listed, exchange: Option<&Exchange>) -> bool {
    match listed.row.kind {
        RowKind::Request => {
            let left =
                exchange.is_some_and(|exchange| matches!(exchange.end, Some(HttpEnd::ByClient | HttpEnd::ByServer)));
            let is_subscription = listed.row.method.as_deref() == Some(SUBSCRIPTION);
            let is_open = is_subscription && exchange.is_some_and(|exchange| exchange.status.is_some());
            let is_kept_back = listed.row.done.as_ref().is_some_and(|done| done.was_kept_back());
            listed.row.status.is_some() || is_kept_back || left || is_open
        }
        RowKind::Exchange => {
            exchange.is_none_or(|exchange| exchange.status.is_some() || exchange.ended_at_ns.is_some())
        }
        _ => true,
    }
}
