//! One row, and one message whole, as they are shown.

use tap_exchange::{Exchange, Head};
use tap_frame::{HttpEnd, HttpPart};
use tap_inspector::{Digested, HttpRequest, MessageParts, Row, SessionKey, Tone, Whole};
use tap_jsonrpc::Node;
use tap_session::{At, RowKind, Status};
use tap_store::{Listed, Session, SessionId, Store, StoreError};

use super::asked::Opened;
use super::lists::{Lists, clock};
use crate::command::log::outcome::{is_settled, outcome};
use crate::output::Style;
use crate::said::{BEGINNING_BYTES, beginning, said};
use crate::text::{duration, size};

/// How much of a message is looked at for its digest, bytes.
const DIGEST_BYTES: u64 = 2_048;

/// How much of a message is shown, bytes.
const SHOWN_BYTES: u64 = 8 * 1024 * 1024;

/// How long the body of a request may be to stand in a command line, bytes: a word of one may have 128 KiB.
const CURL_BYTES: u64 = 96 * 1024;

/// A row of a list, as it is told.
pub(super) fn row(opened: &Opened, session: &Session, listed: &Listed) -> Result<Row, StoreError> {
    let store = &opened.store;
    let exchange = match listed.exchange {
        Some(number) => store.exchange(session.id, number)?,
        None => None,
    };
    let (style, words) = outcome(listed, exchange.as_ref(), session.live);
    let tone = match style {
        Style::Plain | Style::Bold => Tone::Plain,
        Style::Dim => Tone::Dim,
        Style::Good => Tone::Good,
        Style::Bad => Tone::Bad,
        Style::Warning => Tone::Warning,
    };
    Ok(Row {
        clock: clock(&opened.zone, listed.row.wall_ns, "%H:%M:%S%.3f"),
        digest: digest(store, session.id, listed)?,
        row: listed.row.clone(),
        length: listed.length,
        answer_length: listed.answer_length,
        exchange: listed.exchange,
        conversation: listed.conversation.map(|number| number.0),
        status: (tone, words),
        settled: !session.live || is_settled(listed, exchange.as_ref()),
    })
}

/// What a message says, from its beginning alone.
fn digest(store: &Store, id: SessionId, listed: &Listed) -> Result<Digested, StoreError> {
    let row = &listed.row;
    let mut digest = Digested::default();
    match row.kind {
        RowKind::Request | RowKind::Notification => {
            let start = store.frame_start(id, row.at.seq, DIGEST_BYTES)?;
            let node = Node::new(&start);
            let params = if row.at.member == 0 { node.get("params") } else { None };
            if let Some(params) = params {
                let shown = params.get("arguments").unwrap_or(params);
                if shown.members().next().is_some() {
                    digest.arguments = beginning(&String::from_utf8_lossy(shown.bytes()));
                }
            }
            if let (Some(Status::Error | Status::ToolError), Some(pair)) = (row.status, row.pair)
                && pair != row.at
            {
                digest.outcome = said(&store.frame_start(id, pair.seq, DIGEST_BYTES)?);
            }
        }
        RowKind::Result | RowKind::Error if row.at.member == 0 => {
            let start = store.frame_start(id, row.at.seq, DIGEST_BYTES)?;
            digest.arguments = said(&start);
        }
        RowKind::Stderr | RowKind::NotJson | RowKind::NotAMessage => {
            let start = store.frame_start(id, row.at.seq, BEGINNING_BYTES as u64)?;
            digest.outcome = beginning(String::from_utf8_lossy(&start).trim_end());
        }
        _ => {}
    }
    Ok(digest)
}

/// A message whole, with the other half of its call; `None` when it is not there any more.
pub(super) fn message(lists: &mut Lists<'_>, key: SessionKey, at: At) -> Result<Option<MessageParts>, StoreError> {
    let Some(session) = lists.session(key)? else {
        return Ok(None);
    };
    let (opened, store, id) = (lists.opened, lists.store(), session.id);
    let whole = |at: At| -> Result<Option<Whole>, StoreError> {
        let Some(mut listed) = store.row(id, at)? else {
            return Ok(None);
        };
        if let Some(answer) = listed.row.pair.filter(|answer| listed.row.kind == RowKind::Request && *answer != at) {
            listed.answer_length = store.row(id, answer)?.map(|answer| answer.length);
        }
        let bytes = store.frame_start(id, at.seq, SHOWN_BYTES)?;
        let bytes = match at.index_in_batch() {
            None => bytes.as_ref().into(),
            Some(index) => {
                Node::new(&bytes).elements().nth(index).map(|member| member.bytes().into()).unwrap_or_default()
            }
        };
        Ok(Some(Whole { row: row(opened, &session, &listed)?, bytes }))
    };
    let Some(this) = whole(at)? else {
        return Ok(None);
    };
    let other = match this.row.row.pair.filter(|pair| *pair != at) {
        Some(pair) => whole(pair)?,
        None => None,
    };
    let exchange = match this.row.exchange {
        Some(number) => store.exchange(id, number)?.map(|exchange| about_exchange(&exchange)).unwrap_or_default(),
        None => Vec::new(),
    };
    let request = match this.row.exchange {
        Some(number) => request_of(store, &session, number)?,
        None => None,
    };
    Ok(Some(MessageParts { this, other, exchange, request }))
}

/// The request of an exchange, to be sent again.
fn request_of(store: &Store, session: &Session, number: u64) -> Result<Option<HttpRequest>, StoreError> {
    let Some(exchange) = store.exchange(session.id, number)? else {
        return Ok(None);
    };
    // Where it was sent to: to the server, where its address is known, else to where the client thought it is.
    let server = session.start.command.first().and_then(|address| address.parse::<http::Uri>().ok());
    let origin = server.filter(|uri| uri.authority().is_some()).and_then(|uri| {
        let authority = uri.authority()?.as_str().to_owned();
        Some(format!("{}://{authority}", uri.scheme_str().unwrap_or("http")))
    });
    let host = || format!("http://{}", exchange.request.field("host").unwrap_or("localhost"));
    let url = format!("{}{}", origin.unwrap_or_else(host), exchange.target);
    // What curl sets by itself, and what is of one connection alone.
    let is_own = |name: &str| {
        [
            "host",
            "content-length",
            "connection",
            "transfer-encoding",
            "keep-alive",
            "te",
            "trailer",
            "upgrade",
            "expect",
        ]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own))
    };
    let fields = exchange.request.fields().filter(|(name, _)| !is_own(name)).map(|(name, value)| {
        let value = String::from_utf8_lossy(value).into_owned();
        let is_kept = value != "redacted" && !value.starts_with("redacted-");
        (name.to_owned(), is_kept.then_some(value))
    });
    let fields = fields.collect();
    let body = match exchange.request_bytes {
        0..=CURL_BYTES if exchange.lost_bytes == 0 => {
            Some(store.raw(session.id, number, HttpPart::RequestBody)?.to_vec())
        }
        _ => None,
    };
    Ok(Some(HttpRequest { verb: exchange.verb, url, fields, body }))
}

/// An exchange in lines: a name and a text each.
fn about_exchange(exchange: &Exchange) -> Vec<(String, String)> {
    let fields = |head: &Head| -> Vec<(String, String)> {
        head.fields().map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned())).collect()
    };
    let mut lines = vec![("request".into(), format!("{} {}", exchange.verb, exchange.target))];
    lines.extend(fields(&exchange.request));
    lines.push((String::new(), String::new()));
    lines.push(("response".into(), exchange.status.map_or_else(|| "none".into(), |status| status.to_string())));
    lines.extend(exchange.response.iter().flat_map(fields));
    lines.push((String::new(), String::new()));
    let since = |at_ns: Option<u64>| at_ns.map(|at_ns| duration(at_ns.saturating_sub(exchange.opened_at_ns)));
    let times = [
        ("exchange", Some(exchange.number.to_string())),
        ("connected in", exchange.connect_ns.map(duration)),
        ("request sent after", since(exchange.request_end_at_ns)),
        ("response began after", since(exchange.response_at_ns)),
        ("first byte after", since(exchange.first_byte_at_ns)),
        ("over after", since(exchange.ended_at_ns)),
        (
            "ended",
            exchange.end.map(|end| match end {
                HttpEnd::Whole => "as it should".into(),
                HttpEnd::ByClient => "by the client, before it was over".into(),
                HttpEnd::ByServer => "by the server, before it was over".into(),
            }),
        ),
        ("request body", Some(size(exchange.request_bytes))),
        ("response body", Some(size(exchange.response_bytes))),
        ("not recorded", (exchange.lost_bytes > 0).then(|| size(exchange.lost_bytes))),
    ];
    lines.extend(times.into_iter().filter_map(|(name, text)| text.map(|text| (name.to_owned(), text))));
    lines
}
