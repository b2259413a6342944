//! Tests of reading: whatever the pieces are, every frame is numbered once and says what it is.

mod many;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tap_frame::{Act, Deed};
use tap_session::{At, MessageRow};

use super::*;
use crate::traffic::{What, deflate, exchange, gzip, head, pack, pack_otherwise, pieces};
use crate::{BODY_LIMIT_BYTES, Exchange, ReadFrame, frame_bytes};

/// All that comes of a whole recording.
fn read(segments: &[Segment]) -> (HttpReading, Vec<Read>) {
    let (mut reading, mut reads) = (HttpReading::new(), Vec::new());
    for segment in segments {
        reading.feed(segment, &mut |read, _| reads.push(read)).unwrap();
    }
    reading.finish(&mut |read, _| reads.push(read));
    (reading, reads)
}

/// A read as text, without what depends on how pieces are packed.
fn told(read: &Read) -> String {
    let mut frame = read.frame.clone();
    if let Some(frame) = &mut frame {
        frame.place = Place { segment: 0, offset: 0 };
        if let Some(source) = &mut frame.source
            && source.compressed
        {
            source.raw_length = 0;
        }
    }
    let exchange = read.exchange.as_ref().map(|exchange| {
        let mut exchange = Exchange { first_segment: 0, last_segment: 0, ..(**exchange).clone() };
        if exchange.ended_at_ns.is_none() {
            // In the middle of a body it depends on its pieces how far it is.
            (exchange.request_bytes, exchange.response_bytes) = (0, 0);
        }
        exchange
    });
    format!("{frame:?} {:?} {exchange:?} {:?} {:?}", read.events, read.meanings, read.refused)
}

fn rows(reads: &[Read]) -> Vec<&MessageRow> {
    let events = reads.iter().flat_map(|read| &read.events);
    events.filter_map(|event| if let Event::Row(row) = event { Some(row) } else { None }).collect()
}

/// The bytes of a part of an exchange in these segments, from a place on.
fn raw(segments: &[Segment], exchange: u64, part: HttpPart, place: Place, length: u64) -> Vec<u8> {
    let mut gathered = Vec::new();
    for (number, segment) in (0..).zip(segments) {
        for piece in segment {
            if let Piece::Http { exchange: this, part: its, offset, bytes, .. } = piece.unwrap()
                && (this, its) == (exchange, part)
                && place <= (Place { segment: number, offset: (offset + bytes.len()) as u64 })
            {
                let skip = if number == place.segment { (place.offset as usize).saturating_sub(offset) } else { 0 };
                gathered.extend_from_slice(&bytes[skip.min(bytes.len())..]);
            }
        }
    }
    gathered.truncate(length as usize);
    gathered
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_passed_every_frame_is_numbered_once_and_has_one_row(
        pieces in pieces(true), borders in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let segments = pack_otherwise(&pieces, &[], &borders);
        let (reading, reads) = read(&segments);
        let seqs: Vec<u64> = reads.iter().filter_map(|read| Some(read.frame.as_ref()?.frame.seq)).collect();
        prop_assert_eq!(&seqs, &(1..=reading.n_frames()).collect::<Vec<_>>());
        let own: Vec<u64> = rows(&reads).iter().filter(|row| row.at.member == 0).map(|row| row.at.seq).collect();
        prop_assert_eq!(own, seqs);
        let known: BTreeSet<At> = rows(&reads).iter().map(|row| row.at).collect();
        let mut at_ns = 0;
        for read in &reads {
            for event in &read.events {
                if let Event::Answered { request, answer, .. } = event {
                    prop_assert!(known.contains(request) && known.contains(answer));
                }
            }
            if let Some(ReadFrame { frame, exchange, source, place, .. }) = &read.frame {
                prop_assert!(at_ns <= frame.at_ns);
                at_ns = frame.at_ns;
                prop_assert_eq!(exchange.is_none(), frame.stream == Stream::Stderr);
                // Whoever has the bytes of the exchange has the frame.
                if let (Some(source), Some(number)) = (source, exchange) {
                    let known = reads.iter().filter_map(|read| read.exchange.as_ref());
                    let known = known.filter(|known| known.number == *number && known.response.is_some()).last();
                    let raw = raw(&segments, *number, source.part, *place, source.raw_length);
                    prop_assert_eq!(&frame_bytes(&raw, source, known.map(|known| &**known)), &frame.bytes);
                }
            }
        }
        prop_assert_eq!(reading.open.len(), 0);
    }

    #[test]
    fn the_same_pieces_give_the_same_however_they_are_packed(
        pieces in pieces(true),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        borders in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let (_, expected) = read(&pack(&pieces, &[]));
        let (_, found) = read(&pack_otherwise(&pieces, &cuts, &borders));
        let [expected, found] = [expected, found].map(|reads| reads.iter().map(told).collect::<Vec<_>>());
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_fork_goes_on_as_the_reading_would_have(
        pieces in pieces(true), borders in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let segments = pack_otherwise(&pieces, &[], &borders);
        let (whole, reads) = read(&segments);
        let expected: Vec<String> = reads.iter().map(|read| format!("{read:?}")).collect();
        let (mut reading, mut n_read) = (HttpReading::new(), 0);
        for number in 0..=segments.len() {
            if let Some(mut fork) = reading.fork() {
                let mut found = Vec::new();
                for segment in &segments[number..] {
                    fork.feed(segment, &mut |read, _| found.push(format!("{read:?}"))).unwrap();
                }
                fork.finish(&mut |read, _| found.push(format!("{read:?}")));
                prop_assert_eq!(&found, &expected[n_read..], "from segment {}", number);
                prop_assert_eq!(fork.conversations().collect::<Vec<_>>(), whole.conversations().collect::<Vec<_>>());
            }
            if let Some(segment) = segments.get(number) {
                reading.feed(segment, &mut |_, _| n_read += 1).unwrap();
            }
        }
    }

    #[test]
    fn an_exchange_without_accidents_has_one_request_frame_and_tells_its_end(pieces in pieces(false)) {
        let (_, reads) = read(&pack(&pieces, &[]));
        let mut requests = BTreeMap::<u64, usize>::new();
        for frame in reads.iter().filter_map(|read| read.frame.as_ref()) {
            if frame.frame.stream == Stream::ToServer {
                *requests.entry(frame.exchange.unwrap()).or_default() += 1;
            }
        }
        prop_assert_eq!(requests, (1..7).map(|number| (number, 1)).collect());
        let ended = reads.iter().filter_map(|read| read.exchange.as_ref()).filter(|exchange| exchange.end.is_some());
        prop_assert_eq!(ended.map(|exchange| exchange.number).collect::<BTreeSet<_>>(), (1..7).collect());
    }
}

/// Each frame in a few words: arrow, kind, what it is about, its bytes; and what was answered.
fn frames(pieces: &[What]) -> Vec<String> {
    let (_, reads) = read(&pack(pieces, &[]));
    let mut told = Vec::new();
    for read in &reads {
        for event in &read.events {
            match event {
                Event::Row(row) => {
                    let frame = read.frame.as_ref().unwrap();
                    let about: Vec<&str> = row.method.as_deref().into_iter().chain(row.target.as_deref()).collect();
                    let bytes = String::from_utf8_lossy(&frame.frame.bytes);
                    let lost = row.lost_bytes.map_or_else(String::new, |lost| format!(" lost {lost}"));
                    let arrow = row.stream.direction().arrow();
                    told.push(format!(
                        "{} {arrow} {} {} {bytes:?}{lost}",
                        row.at.seq,
                        row.kind.name(),
                        about.join(" ")
                    ));
                }
                Event::Answered { request, answer, error_code, .. } => {
                    let code = error_code.as_deref().unwrap_or("ok");
                    told.push(format!("{} answered by {}: {code}", request.seq, answer.seq));
                }
                Event::Done { seq, done } => {
                    let other = done.other.map_or(0, |other| other.seq);
                    told.push(format!("{seq} {} by {other}", done.deed.name()));
                }
            }
        }
    }
    told
}

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#;
const RESULT: &[u8] = br#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
const POST: &[(&str, &str)] =
    &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const STREAM: &[(&str, &str)] = &[("content-type", "text/event-stream")];

#[track_caller]
fn check(pieces: &[What], expected: &[&str]) {
    assert_eq!(frames(pieces), expected);
}

#[test]
fn a_call_and_its_answer_are_two_frames_whatever_carries_them() {
    let stream = [b"event: message\r\ndata: ", RESULT, b"\r\n\r\n"].concat();
    let expected = [
        format!("1 -> request tools/call echo {:?}", std::str::from_utf8(CALL).unwrap()),
        format!("2 <- result tools/call echo {:?}", std::str::from_utf8(RESULT).unwrap()),
        "1 answered by 2: ok".into(),
    ];
    let coded = |kind, coding| [("content-type", kind), ("content-encoding", coding)];
    let (json, sse) = ("application/json", "text/event-stream; charset=utf-8");
    for (fields, body) in [
        (JSON.to_vec(), RESULT.to_vec()),
        (STREAM.to_vec(), stream.clone()),
        (coded(json, "gzip").to_vec(), gzip(RESULT)),
        (coded(json, "deflate").to_vec(), deflate(RESULT)),
        (coded(json, "deflate, GZIP").to_vec(), gzip(&deflate(RESULT))),
        (coded(json, "br").to_vec(), BROTLI_RESULT.to_vec()),
        (coded(json, "zstd").to_vec(), zstd(RESULT)),
        (coded(json, "gzip, zstd").to_vec(), zstd(&gzip(RESULT))),
        (coded(sse, "zstd").to_vec(), [zstd(&stream[..9]), zstd(&stream[9..])].concat()),
        (coded(sse, "gzip").to_vec(), gzip(&stream)),
        (coded(sse, "x-gzip, deflate").to_vec(), deflate(&gzip(&stream))),
    ] {
        let told = frames(&exchange(1, ("POST /mcp", POST, CALL), (200, &fields, &body)));
        assert_eq!(told, expected, "{fields:?}");
    }
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// [`RESULT`], as Node's zlib compresses it with Brotli.
const BROTLI_RESULT: &[u8] = b"\x8b\x11\x80{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\x03";

/// Three events, as the same compresses them when it flushes after each.
const BROTLI_EVENTS: [&[u8]; 3] = [
    b"\x0b\x04\x80data: 0\n\n",
    b"\x40\x00\x80\x5f\x4a\x21\xa6\x08\xd1\x24\x18\x30",
    b"\x40\x00\x80\x5f\x4a\x41\xa6\x08\xd0\x24\x00\x30",
];

#[test]
fn events_of_a_compressed_stream_come_one_by_one() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let gzipped: Vec<Vec<u8>> = (0..3)
        .map(|number| {
            write!(gzip, "data: {number}\n\n").unwrap();
            gzip.flush().unwrap();
            std::mem::take(gzip.get_mut())
        })
        .collect();
    for (coding, chunks) in [("gzip", gzipped), ("br", BROTLI_EVENTS.map(<[u8]>::to_vec).into())] {
        let fields = [STREAM, &[("content-encoding", coding)][..]].concat();
        let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, &fields, b"x"));
        let index = pieces.len() - 2;
        let chunks = chunks.into_iter().map(|chunk| What::Http(1, HttpPart::ResponseBody, chunk));
        pieces.splice(index..=index, chunks);
        let (_, reads) = read(&pack(&pieces, &[]));
        let frames = reads.iter().filter_map(|read| read.frame.as_ref()).skip(1);
        let found: Vec<_> =
            frames.map(|read| (read.frame.at_ns, String::from_utf8_lossy(&read.frame.bytes).into_owned())).collect();
        assert_eq!(
            found,
            [(5_000, "0".into()), (6_000, "1".into()), (7_000, "2".into())],
            "an event a chunk of {coding}"
        );
    }
}

#[test]
fn an_exchange_without_a_message_has_a_row_of_its_own() {
    check(
        &exchange(1, ("GET /.well-known/oauth-protected-resource?x=1", &[], b""), (200, JSON, b"{\"resource\":1}")),
        &[
            "1 -> exchange GET /.well-known/oauth-protected-resource \"\"",
            "1 answered by 1: ok",
            "2 <- body  \"{\\\"resource\\\":1}\"",
        ],
    );
    check(
        &exchange(1, ("POST /token", &[], b"grant"), (503, &[], b"")),
        &["1 -> exchange POST /token \"grant\"", "1 answered by 1: 503"],
    );
    check(
        &exchange(1, ("GET /mcp", &[("accept", "text/event-stream")], b""), (405, &[], b"no")),
        &["1 -> exchange GET /mcp \"\"", "1 answered by 1: ok", "2 <- body  \"no\""],
    );
}

#[test]
fn a_request_that_was_refused_is_answered_by_the_status() {
    let call = format!("1 -> request tools/call echo {:?}", std::str::from_utf8(CALL).unwrap());
    check(&exchange(1, ("POST /mcp", POST, CALL), (401, &[], b"")), &[&call, "1 answered by 1: HTTP 401"]);
    check(
        &exchange(1, ("POST /mcp", POST, CALL), (502, &[("content-type", "text/html")], b"<html>")),
        &[&call, "2 <- body  \"<html>\"", "1 answered by 2: HTTP 502"],
    );
}

#[test]
fn what_was_lost_is_a_gap_in_its_place_and_the_exchange_goes_on() {
    let call = format!("1 -> request tools/call echo {:?}", std::str::from_utf8(CALL).unwrap());
    // In a body.
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    pieces.insert(6, What::Gap(1, HttpPart::ResponseBody, 40));
    check(&pieces, &[&call, "2 <- gap  \"\" lost 40"]);
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    pieces.insert(1, What::Gap(1, HttpPart::RequestBody, 40));
    check(
        &pieces,
        &[
            "1 -> gap POST /mcp \"\" lost 40",
            "1 answered by 1: ok",
            "2 <- body  \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":2,\\\"result\\\":{}}\"",
        ],
    );
    // In an event stream: what is whole behind it is a message again.
    let half = &b"data: {\"half\":"[..];
    let rest = [b"1}\n\ndata: ", RESULT, b"\n\n"].concat();
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, STREAM, half));
    let index = pieces.len() - 1;
    pieces.splice(index..index, [What::Gap(1, HttpPart::ResponseBody, 3), What::Http(1, HttpPart::ResponseBody, rest)]);
    let result = format!("3 <- result tools/call echo {:?}", std::str::from_utf8(RESULT).unwrap());
    check(&pieces, &[&call, "2 <- gap  \"\" lost 3", &result, "1 answered by 3: ok"]);
    // A head.
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    pieces[0] = What::Gap(1, HttpPart::Request, 99);
    check(&pieces, &["1 -> gap  \"\" lost 99"]);
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    pieces[4] = What::Gap(1, HttpPart::Response, 99);
    check(&pieces, &[&call, "2 <- gap  \"\" lost 99"]);
}

#[test]
fn an_answer_that_comes_before_its_request_is_complete_waits_for_it() {
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    let end = pieces.remove(2);
    pieces.insert(5, end);
    let expected = frames(&exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT)));
    assert_eq!(frames(&pieces), expected);
    // The end may never come: then the request ends with the exchange, and what is no whole message is none.
    pieces.remove(5);
    assert_eq!(frames(&pieces), expected);
    pieces[1] = What::Http(1, HttpPart::RequestBody, CALL[..20].to_vec());
    assert_eq!(frames(&pieces)[0], format!("1 -> exchange POST /mcp {:?}", std::str::from_utf8(&CALL[..20]).unwrap()));
}

#[test]
fn what_cannot_be_decoded_is_kept_as_it_came() {
    let call = format!("1 -> request tools/call echo {:?}", std::str::from_utf8(CALL).unwrap());
    for coding in ["gzip", "br", "zstd", "deflate", "unheard-of", "gzip, gzip, gzip, gzip, gzip"] {
        let fields = [JSON, &[("content-encoding", coding)][..]].concat();
        let pieces = exchange(1, ("POST /mcp", POST, CALL), (200, &fields, b"\x07no such thing"));
        check(&pieces, &[&call, "2 <- body  \"\\u{7}no such thing\""]);
        let (_, reads) = read(&pack(&pieces, &[]));
        assert!(reads.last().unwrap().exchange.as_ref().unwrap().undecodable, "{coding}");
    }
}

#[test]
fn a_bomb_takes_no_more_than_its_limit() {
    let bomb = gzip(&vec![b' '; BODY_LIMIT_BYTES + 1_000]);
    let fields = [JSON, &[("content-encoding", "gzip")][..]].concat();
    let (reading, reads) = read(&pack(&exchange(1, ("POST /mcp", POST, CALL), (200, &fields, &bomb)), &[]));
    let frame = reads.iter().filter_map(|read| read.frame.as_ref()).last().unwrap();
    let limit = 16 * 1024 * 1024 + 100 * bomb.len();
    assert!(limit < BODY_LIMIT_BYTES);
    assert_eq!((frame.frame.bytes.len(), frame.end), (limit, FrameEnd::TooLong));
    // All of it was recorded: it is only not decoded.
    let row = rows(&reads).into_iter().last().unwrap();
    assert_eq!((row.kind, row.lost_bytes), (RowKind::Body, None));
    let (_, state) = reading.follower().states().next().unwrap();
    assert_eq!((state.totals.lost_bytes, state.whole), (0, false));
}

#[test]
fn a_compressed_stream_has_no_more_events_than_its_bytes_are_worth() {
    let long = "a".repeat(2_000);
    for (event, n_events) in [
        ("data:a\n\n".to_owned(), 200_000),
        (format!(": nothing, only {long}\n\n"), 40_000),
        (format!("data: {long}\n"), 40_000),
    ] {
        let stream = event.repeat(n_events);
        for (coding, body) in [("gzip", gzip(stream.as_bytes())), ("zstd", zstd(stream.as_bytes()))] {
            let fields = [STREAM, &[("content-encoding", coding)][..]].concat();
            let (mut reading, mut n_frames, mut exchange_at_last) = (HttpReading::new(), 0, None);
            let mut sink = |read: Read, _: &HttpFollower| {
                n_frames += u64::from(read.frame.is_some());
                exchange_at_last = read.exchange.or(exchange_at_last.take());
            };
            for segment in pack(&exchange(1, ("POST /mcp", POST, CALL), (200, &fields, &body)), &[]) {
                reading.feed(&segment, &mut sink).unwrap();
            }
            reading.finish(&mut sink);
            assert!(n_frames <= 10_001 + body.len() as u64, "{n_frames} of {} bytes of {coding}", body.len());
            let exchange = exchange_at_last.unwrap();
            assert_eq!((exchange.undecodable, exchange.end), (true, Some(HttpEnd::Whole)), "{n_events} {coding}");
        }
    }
}

#[test]
fn a_call_that_the_server_breaks_off_is_an_error_unless_it_may_go_on_elsewhere() {
    let id = [b"id: 1\ndata:\n\n".as_slice(), b"data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"].concat();
    for (fields, body, end, expected) in [
        (JSON, &b"{\"jsonrpc\""[..], HttpEnd::ByServer, 1),
        (STREAM, b"data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", HttpEnd::ByServer, 1),
        (STREAM, &id, HttpEnd::ByServer, 0),
        (JSON, RESULT, HttpEnd::ByServer, 0),
        (JSON, b"{\"jsonrpc\"", HttpEnd::ByClient, 0),
    ] {
        let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, fields, body));
        *pieces.last_mut().unwrap() = What::Http(1, HttpPart::End, vec![end.code()]);
        let (reading, reads) = read(&pack(&pieces, &[]));
        let n_errors: u64 = reading.conversations().map(|conversation| conversation.n_errors).sum();
        let n_broken_off: u64 = reads.iter().map(|read| read.n_broken_off).sum();
        assert_eq!((n_broken_off, n_errors), (expected, expected), "{end:?} {}", String::from_utf8_lossy(body));
    }
}

#[test]
fn no_more_exchanges_are_open_than_can_be_followed() {
    let mut reading = HttpReading::new();
    let mut n_requests = 0;
    for number in 1..=(HTTP_EXCHANGES as u64 + 50) {
        let mut segment = Segment::default();
        segment.push_http(number, HttpPart::Request, number, number, &head("1 GET / HTTP/1.1", &[]));
        reading.feed(&segment, &mut |read, _| n_requests += usize::from(read.frame.is_some())).unwrap();
    }
    assert_eq!((reading.open.len(), n_requests), (HTTP_EXCHANGES, 50));
}

#[test]
fn damage_in_a_segment_is_told_and_the_next_one_is_read() {
    let pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    let mut segments = pack(&pieces, &[2, 4]);
    segments[1].pieces.push(3);
    let (mut reading, mut n_frames) = (HttpReading::new(), 0);
    let told: Vec<bool> = segments
        .iter()
        .map(|segment| reading.feed(segment, &mut |read, _| n_frames += u64::from(read.frame.is_some())).is_err())
        .collect();
    assert_eq!((told, n_frames), (vec![false, true, false], 2));
}

#[test]
fn lines_of_stderr_stand_between_the_frames() {
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    pieces.insert(3, What::Stderr(b"one\ntw".to_vec()));
    pieces.push(What::Stderr(b"o\n".to_vec()));
    let kinds: Vec<String> = frames(&pieces).into_iter().filter(|told| !told.contains("answered")).collect();
    assert_eq!(kinds[1], "2 <- stderr  \"one\\n\"");
    assert_eq!(kinds[3], "4 <- stderr  \"two\\n\"");
}

#[test]
fn conversations_are_counted_and_those_that_were_refused_are_none() {
    let initialize = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let initialized = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}"#;
    let with_id = [JSON, &[("mcp-session-id", "redacted-7")][..]].concat();
    let post = [POST, &[("mcp-session-id", "redacted-7"), ("mcp-protocol-version", "2025-06-18")][..]].concat();
    let pieces = [
        exchange(1, ("POST /mcp", POST, initialize), (401, &[], b"")),
        exchange(2, ("POST /mcp", POST, initialize), (200, &with_id, initialized)),
        exchange(3, ("POST /mcp", &post, CALL), (200, JSON, RESULT)),
        exchange(4, ("POST /mcp", &post, CALL), (500, &[], b"oops")),
        exchange(5, ("DELETE /mcp", &post, b""), (200, &[], b"")),
    ]
    .concat();
    let (mut reading, reads) = read(&pack(&pieces, &[]));
    let refused: Vec<u64> = reads.iter().filter_map(|read| Some(read.refused?.0)).collect();
    assert_eq!(refused, [1]);
    let all: Vec<_> = reading.conversations().collect();
    assert_eq!(reading.changed_conversations(), all);
    assert_eq!(reading.changed_conversations(), []);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.client.as_deref(), one.server.as_deref()), (Some("c 1"), Some("s 2")));
    assert_eq!((one.revision.as_deref(), one.era.as_deref()), (Some("2025-06-18"), Some("legacy")));
    assert_eq!((one.first_seq, one.last_seq), (2, 8));
    assert_eq!((one.n_messages, one.n_calls, one.n_errors), (5, 3, 1));
    assert!(one.ended_at_ns.is_some());
    let belongs: Vec<Option<u64>> = reads
        .iter()
        .filter_map(|read| read.exchange.as_ref().filter(|exchange| exchange.end.is_some()))
        .map(|exchange| exchange.conversation.map(|number| number.0))
        .collect();
    assert_eq!(belongs, [None, Some(2), Some(2), Some(2), Some(2)]);
}

/// Something that was done to what begins there in its body.
fn act(deed: Deed, stream: Stream, begins: Option<usize>, sent: &'static str) -> What {
    let message = begins.map(|begins| begins as u64);
    What::Act(1, Act { message, bytes: sent.into(), ..Act::new(deed, stream, "breakpoint 1") })
}

#[test]
fn what_was_done_to_a_request_and_to_an_event_is_told_of_these() {
    let progress = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let first = [b"data: ", &progress[..], b"\n\n"].concat();
    let body = [&first[..], b"data: ", RESULT, b"\n\n"].concat();
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, STREAM, &body));
    // Behind the request's end, and behind the answer's body.
    pieces.insert(3, act(Deed::Held, Stream::ToServer, Some(0), ""));
    pieces.insert(4, act(Deed::Released, Stream::ToServer, Some(0), ""));
    let last = pieces.len() - 1;
    pieces.insert(
        last,
        act(Deed::Edited, Stream::ToClient, Some(first.len()), r#"{"jsonrpc":"2.0","id":2,"result":{"x":1}}"#),
    );
    pieces.insert(last, act(Deed::Dropped, Stream::ToClient, Some(0), ""));
    let (_, reads) = read(&pack(&pieces, &[]));
    let rows = rows(&reads);
    let told = rows.iter().map(|row| {
        let done = row.done.as_ref().map(|done| format!(" {} of {:?}", done.deed.name(), done.other.map(|at| at.seq)));
        let pair = row.pair.map(|pair| format!(" to {}", pair.seq)).unwrap_or_default();
        format!("{} {}{pair}{}", row.at.seq, row.kind.name(), done.unwrap_or_default())
    });
    let expected = [
        "1 request",
        "2 act held of Some(1)",
        "3 act released of Some(1)",
        "4 notification",
        "5 result to 1",
        "6 act dropped of Some(4)",
        "7 result to 1 edited of Some(5)",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let done = reads.iter().flat_map(|read| &read.events).filter_map(|event| match event {
        Event::Done { seq, done } => Some(format!("{seq} {}", done.deed.name())),
        _ => None,
    });
    assert_eq!(done.collect::<Vec<_>>(), ["1 held", "1 released", "4 dropped", "5 edited"]);
    // Nobody is blamed for it.
    let blamed = |reads: &[Read]| -> Vec<String> {
        let meanings = reads.iter().flat_map(|read| &read.meanings);
        meanings.flat_map(|this| this.meaning.findings.iter().map(|finding| finding.rule.id.to_owned())).collect()
    };
    pieces.retain(|piece| !matches!(piece, What::Act(..)));
    let (_, without) = read(&pack(&pieces, &[]));
    assert_eq!(blamed(&reads), blamed(&without));
}

#[test]
fn what_was_done_to_a_body_that_is_one_message_is_told_when_that_is_complete() {
    let mut pieces = exchange(1, ("POST /mcp", POST, CALL), (200, JSON, RESULT));
    let last = pieces.len() - 1;
    pieces.insert(last, act(Deed::Edited, Stream::ToClient, Some(0), r#"{"jsonrpc":"2.0","id":2,"result":{"x":1}}"#));
    // Of an exchange that nobody saw, and to nothing.
    pieces.push(act(Deed::Closed, Stream::ToServer, None, ""));
    let told = frames(&pieces);
    let told: Vec<&str> = told.iter().map(|told| told.split(" \"").next().unwrap()).collect();
    let expected = [
        "1 -> request tools/call echo",
        "2 <- result tools/call echo",
        "1 answered by 2: ok",
        "2 edited by 3",
        "3 <- result tools/call echo",
        "4 -> act ",
    ];
    assert_eq!(told, expected);
}
