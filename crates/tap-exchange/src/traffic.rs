//! Made-up exchanges for tests, here and in `tap-store`, and pieces packed into segments in every way.

use std::io::Write;

use proptest::prelude::*;
use proptest::sample::Index;
use tap_frame::{Act, HttpEnd, HttpHead, HttpPart, Segment, Stream};

/// One piece of a recording.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum What {
    Http(u64, HttpPart, Vec<u8>),
    Gap(u64, HttpPart, u64),
    Stderr(Vec<u8>),
    /// Something that was done in an exchange.
    Act(u64, Act),
}

impl std::fmt::Debug for What {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(number, part, bytes) => {
                write!(formatter, "{number} {part:?} {:?}", String::from_utf8_lossy(bytes))
            }
            Self::Gap(number, part, lost) => write!(formatter, "{number} {part:?} lost {lost}"),
            Self::Act(number, act) => write!(formatter, "{number} {act:?}"),
            Self::Stderr(bytes) => write!(formatter, "stderr {:?}", String::from_utf8_lossy(bytes)),
        }
    }
}

/// The text of a head.
pub(crate) fn head(first_line: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut text = Vec::new();
    HttpHead::begin(&mut text, first_line);
    for (name, value) in fields {
        HttpHead::add(&mut text, name, value.as_bytes());
    }
    text
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One exchange, whole: the pieces in order, each body in one.
pub(crate) fn exchange(
    number: u64,
    request: (&str, &[(&str, &str)], &[u8]),
    response: (u16, &[(&str, &str)], &[u8]),
) -> Vec<What> {
    let (first_line, fields, body) = request;
    let mut pieces = vec![What::Http(number, HttpPart::Request, head(&format!("1 {first_line} HTTP/1.1"), fields))];
    if !body.is_empty() {
        pieces.push(What::Http(number, HttpPart::RequestBody, body.to_vec()));
    }
    pieces.push(What::Http(number, HttpPart::RequestEnd, Vec::new()));
    pieces.push(What::Http(number, HttpPart::Connected, b"HTTP/2.0 1234".to_vec()));
    let (status, fields, body) = response;
    pieces.push(What::Http(number, HttpPart::Response, head(&format!("HTTP/2.0 {status}"), fields)));
    if !body.is_empty() {
        pieces.push(What::Http(number, HttpPart::ResponseBody, body.to_vec()));
    }
    pieces.push(What::Http(number, HttpPart::End, vec![HttpEnd::Whole.code()]));
    pieces
}

/// Packs pieces into segments, of which a new one begins before those that `borders` name. A microsecond each.
pub(crate) fn pack(pieces: &[What], borders: &[usize]) -> Vec<Segment> {
    let mut segments = vec![Segment::default()];
    for (index, what) in pieces.iter().enumerate() {
        if borders.contains(&index) {
            segments.push(Segment::default());
        }
        push(segments.last_mut().unwrap(), index as u64 * 1_000, what);
    }
    segments
}

fn push(segment: &mut Segment, at_ns: u64, what: &What) {
    let wall_ns = 1_700_000_000_000_000_000 + at_ns;
    match what {
        What::Http(exchange, part, bytes) => segment.push_http(*exchange, *part, at_ns, wall_ns, bytes),
        What::Gap(exchange, part, lost) => segment.push_http_gap(*exchange, *part, at_ns, wall_ns, *lost),
        What::Act(exchange, act) => {
            segment.push_act(Some(*exchange), act.sent_on(), at_ns, wall_ns, &act.to_text(), &[]);
        }
        What::Stderr(bytes) => segment.push_chunk(Stream::Stderr, at_ns, wall_ns, bytes),
    }
}

/// The same pieces at the same times, bodies cut at `cuts`, in segments that begin at `borders`.
pub(crate) fn pack_otherwise(pieces: &[What], cuts: &[Index], borders: &[Index]) -> Vec<Segment> {
    let mut all: Vec<(u64, What)> = Vec::new();
    for (index, what) in pieces.iter().enumerate() {
        let at_ns = index as u64 * 1_000;
        match what {
            What::Http(exchange, part @ (HttpPart::RequestBody | HttpPart::ResponseBody), bytes) => {
                let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
                places.extend([0, bytes.len()]);
                places.sort_unstable();
                for pair in places.windows(2) {
                    all.push((at_ns, What::Http(*exchange, *part, bytes[pair[0]..pair[1]].to_vec())));
                }
            }
            other => all.push((at_ns, other.clone())),
        }
    }
    let borders: Vec<_> = borders.iter().map(|border| border.index(all.len() + 1)).collect();
    let mut segments = vec![Segment::default()];
    for (index, (at_ns, what)) in all.iter().enumerate() {
        if borders.contains(&index) {
            segments.push(Segment::default());
        }
        push(segments.last_mut().unwrap(), *at_ns, what);
    }
    segments
}

const BODIES: &[&str] = &[
    "",
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]"#,
    "grant_type=x",
    "{bad",
];

const ANSWERS: &[&str] = &[
    "",
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#,
    "<html>",
    "event: endpoint\r\ndata: /message?s=1\r\n\r\n",
    "id: 7\nretry: 3\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\ndata: \"result\":{}}\n\n: ping\n\n",
    "\u{feff}event: message\rdata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\rdata: cut",
];

/// One exchange that may have been.
fn some_exchange(number: u64) -> impl Strategy<Value = Vec<What>> {
    let field = |name: &'static str, values: &'static [&'static str]| {
        prop::option::of(prop::sample::select(values).prop_map(move |value| (name, value)))
    };
    let first_line = prop::sample::select(
        &["POST /mcp", "POST /mcp", "POST /mcp", "GET /mcp", "DELETE /mcp", "POST /message?s=1", "GET /.well-known/x"]
            [..],
    );
    let request_fields = (
        field("content-type", &["application/json"]),
        field("accept", &["application/json, text/event-stream", "text/event-stream"]),
        field("mcp-session-id", &["redacted-1", "redacted-2"]),
        field("mcp-protocol-version", &["2025-06-18", "2026-07-28"]),
    );
    let response_fields = (
        field(
            "content-type",
            &["application/json", "text/event-stream", "text/event-stream; charset=utf-8", "text/html"],
        ),
        field("content-encoding", &["gzip", "gzip", "deflate", "gzip, deflate", "zstd", "unheard-of"]),
        field("mcp-session-id", &["redacted-1", "redacted-2"]),
    );
    let status = prop::sample::select(&[200u16, 200, 200, 202, 401, 404, 405, 500][..]);
    let body = prop::sample::select(BODIES);
    let answer = prop::collection::vec(prop::sample::select(ANSWERS), 0..3).prop_map(|parts| parts.concat());
    (first_line, request_fields, body, status, response_fields, answer, 0..3u8, any::<bool>()).prop_map(
        move |(first_line, request_fields, body, status, response_fields, answer, end, compress)| {
            let (a, b, c, d) = request_fields;
            let request_fields: Vec<_> = [a, b, c, d].into_iter().flatten().collect();
            let (a, coding, c) = response_fields;
            let response_fields: Vec<_> = [a, coding, c].into_iter().flatten().collect();
            let answer = match coding.filter(|_| compress) {
                Some((_, "gzip")) => gzip(answer.as_bytes()),
                Some((_, "deflate")) => deflate(answer.as_bytes()),
                Some((_, "gzip, deflate")) => deflate(&gzip(answer.as_bytes())),
                _ => answer.into_bytes(),
            };
            let request = (first_line, &request_fields[..], body.as_bytes());
            let mut pieces = exchange(number, request, (status, &response_fields, &answer));
            *pieces.last_mut().unwrap() = What::Http(number, HttpPart::End, vec![end]);
            pieces
        },
    )
}

/// Exchanges that may have been, all at the same time, and perhaps some accidents.
pub(crate) fn pieces(accidents: bool) -> impl Strategy<Value = Vec<What>> {
    let part = || prop::sample::select(&HttpPart::ALL[..]);
    let odd = prop_oneof![
        (1..8u64, part(), prop::collection::vec(any::<u8>(), 0..5))
            .prop_map(|(n, part, bytes)| What::Http(n, part, bytes)),
        (1..8u64, part(), 0..1u64 << 40).prop_map(|(n, part, lost)| What::Gap(n, part, lost)),
        (1..8u64, part(), 0..50u64).prop_map(|(n, part, lost)| What::Gap(n, part, lost)),
        prop::sample::select(&["oops\n", "no end", "\n"][..]).prop_map(|text| What::Stderr(text.into())),
    ];
    let accident = (any::<Index>(), odd, 0..4u8);
    let n_accidents = if accidents { 6 } else { 1 };
    let exchanges = (1..7u64).map(some_exchange).collect::<Vec<_>>();
    (exchanges, prop::collection::vec(any::<Index>(), 60), prop::collection::vec(accident, 0..n_accidents)).prop_map(
        |(exchanges, turns, accidents)| {
            let mut waiting: Vec<_> = exchanges.into_iter().map(|pieces| pieces.into_iter().peekable()).collect();
            let mut pieces = Vec::new();
            let mut turns = turns.into_iter().cycle();
            while !waiting.is_empty() {
                let index = turns.next().unwrap().index(waiting.len());
                match waiting[index].next() {
                    Some(piece) => pieces.push(piece),
                    None => drop(waiting.remove(index)),
                }
            }
            for (index, odd, how) in accidents {
                let index = index.index(pieces.len());
                match how {
                    0 => drop(pieces.remove(index)),
                    1 => pieces.insert(index, pieces[index].clone()),
                    2 => pieces[index] = odd,
                    _ => pieces.insert(index, odd),
                }
            }
            pieces
        },
    )
}
