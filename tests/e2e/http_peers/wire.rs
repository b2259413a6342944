//! HTTP/1.1 exchanges read out of the bytes of a connection, and what a proxy may change in them.
//!
//! Source: RFC 9110 section 7.6.1 (what belongs to one connection alone), RFC 9112 sections 6 and 7 (bodies).

/// What passed one way and the other through one connection.
#[derive(Debug, Default, Clone)]
pub(super) struct Connection {
    pub(super) to_server: Vec<u8>,
    pub(super) to_client: Vec<u8>,
}

/// A request and what answered it, without what belongs to the connection alone.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exchange {
    pub(super) request: Message,
    pub(super) response: Message,
}

/// One half of an exchange.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Message {
    pub(super) start_line: String,
    /// Names in lower case, sorted; the values of one name in their order.
    pub(super) headers: Vec<(String, String)>,
    /// Without the marks of chunks.
    pub(super) body: Vec<u8>,
    /// Whether the body came to its end.
    pub(super) is_whole: bool,
}

/// Headers that say something about one connection, and `Host`, which names whom that connection leads to.
const OF_ONE_CONNECTION: &[&str] =
    &["connection", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/// The exchanges of all these connections, sorted.
pub(super) fn exchanges(connections: &[Connection]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = connections.iter().flat_map(of_connection).collect();
    exchanges.sort();
    exchanges
}

/// What differs between what was said before a proxy and what was said behind it.
pub(super) fn differences(near: &[Exchange], far: &[Exchange]) -> Vec<String> {
    let mut found: Vec<String> = near.iter().zip(far).flat_map(|(near, far)| of_exchange(near, far)).collect();
    if near.len() != far.len() {
        let listed = |exchanges: &[Exchange]| -> Vec<String> {
            exchanges.iter().map(|exchange| shown(&exchange.request)).collect()
        };
        found.push(format!("before the proxy {:#?}, behind it {:#?}", listed(near), listed(far)));
    }
    found
}

fn of_exchange(near: &Exchange, far: &Exchange) -> Vec<String> {
    let about = shown(&near.request);
    let mut found = Vec::new();
    let request = [("request", &near.request, &far.request)];
    // Who has what it wanted from another stream may leave before the answer has come to it.
    let response = (near.response != Message::default()).then_some(("response", &near.response, &far.response));
    for (half, near, far) in request.into_iter().chain(response) {
        if near.start_line != far.start_line {
            found.push(format!("{about}: {half}: {:?} before, {:?} behind", near.start_line, far.start_line));
        }
        for (side, these, those) in [("before", near, far), ("behind", far, near)] {
            let is_needed =
                |(name, _): &&(String, String)| name == "accept-encoding" && may_hold_an_endpoint(near, far);
            let only = these.headers.iter().filter(|header| !those.headers.contains(header) && !is_needed(header));
            found.extend(only.map(|(name, value)| format!("{about}: {half}: {name}: {value:?} only {side}")));
        }
        // A stream that the client left is cut somewhere else on the way to it.
        let is_same_body =
            if near.is_whole { far.is_whole && near.body == far.body } else { far.body.starts_with(&near.body) };
        if !is_same_body {
            let body = |message: &Message| {
                let end = if message.is_whole { "" } else { " and then cut off" };
                format!("{:?}{end}", String::from_utf8_lossy(&message.body))
            };
            found.push(format!("{about}: {half}: {} before, {} behind", body(near), body(far)));
        }
    }
    found
}

/// Whether the answer may be a stream whose first event names where to post to, which a proxy has to change into its own
/// address, and asks for uncompressed.
fn may_hold_an_endpoint(near: &Message, far: &Message) -> bool {
    let has = |message: &Message, wanted: &str, value: &str| {
        message.headers.iter().any(|(name, found)| name == wanted && found.contains(value))
    };
    near.start_line.starts_with("GET ")
        && has(near, "accept", "text/event-stream")
        && !has(near, "mcp-session-id", "")
        && !has(near, "mcp-protocol-version", "")
        && has(far, "accept-encoding", "identity")
}

fn shown(request: &Message) -> String {
    let mut body = String::from_utf8_lossy(&request.body).into_owned();
    if let Some((at, _)) = body.char_indices().nth(120) {
        body.truncate(at);
    }
    format!("{} {body}", request.start_line)
}

fn of_connection(connection: &Connection) -> Vec<Exchange> {
    let (mut asked, mut answered) = (&connection.to_server[..], &connection.to_client[..]);
    let mut exchanges = Vec::new();
    while let Some(request) = message(&mut asked, |_| Body::Length(0)) {
        let is_head = request.start_line.starts_with("HEAD ");
        let otherwise = |start_line: &str| {
            let status = start_line.split(' ').nth(1).unwrap_or_default();
            let is_without_body = is_head || matches!(status, "204" | "304") || status.starts_with('1');
            if is_without_body { Body::Length(0) } else { Body::UntilClosed }
        };
        let response = message(&mut answered, otherwise).unwrap_or_default();
        exchanges.push(Exchange { request, response });
    }
    exchanges
}

/// How the end of a body is told.
enum Body {
    Length(usize),
    Chunked,
    UntilClosed,
}

/// Takes one message from the front. `otherwise` tells of a body that the headers do not tell of.
fn message(bytes: &mut &[u8], otherwise: impl Fn(&str) -> Body) -> Option<Message> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    *bytes = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let start_line = lines.next()?.to_owned();
    let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    let mut headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let framing = match (value("transfer-encoding"), value("content-length").map(str::parse)) {
        (Some("chunked"), _) => Body::Chunked,
        (_, Some(Ok(length))) => Body::Length(length),
        _ => otherwise(&start_line),
    };
    let (body, is_whole) = match framing {
        Body::Length(length) => {
            let taken = bytes.len().min(length);
            let (body, rest) = bytes.split_at(taken);
            *bytes = rest;
            (body.to_vec(), taken == length)
        }
        Body::Chunked => chunked(bytes),
        Body::UntilClosed => (std::mem::take(bytes).to_vec(), true),
    };
    headers.retain(|(name, _)| !OF_ONE_CONNECTION.contains(&name.as_str()));
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    Some(Message { start_line, headers, body, is_whole })
}

/// Takes chunks from the front up to the last one, and says whether that came.
fn chunked(bytes: &mut &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else {
            return (body, false);
        };
        let size = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let Ok(size) = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16) else {
            return (body, false);
        };
        let data = &bytes[end + 2..];
        if data.len() < size + 2 {
            body.extend_from_slice(&data[..data.len().min(size)]);
            *bytes = &[];
            return (body, false);
        }
        body.extend_from_slice(&data[..size]);
        *bytes = &data[size + 2..];
        if size == 0 {
            return (body, true);
        }
    }
}

#[test]
fn exchanges_are_read_out_of_a_connection() {
    let connection = Connection {
        to_server:
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nB: 2\r\nA: 1\r\ncontent-length: 2\r\n\r\n{}GET /mcp HTTP/1.1\r\n\r\n"
                .to_vec(),
        to_client: b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\nde"
            .to_vec(),
    };
    let found: Vec<String> = exchanges(&[connection])
        .iter()
        .flat_map(|Exchange { request, response }| [request, response])
        .map(|Message { start_line, headers, body, is_whole }| {
            format!("{start_line} {headers:?} {:?} {is_whole}", String::from_utf8_lossy(body))
        })
        .collect();
    assert_eq!(
        found,
        [
            r#"GET /mcp HTTP/1.1 [] "" true"#,
            r#"HTTP/1.1 200 OK [] "abcde" false"#,
            r#"POST /mcp HTTP/1.1 [("a", "1"), ("b", "2"), ("content-length", "2")] "{}" true"#,
            r#"HTTP/1.1 202 Accepted [("content-length", "0")] "" true"#,
        ]
    );
}

#[test]
fn what_a_proxy_changes_is_found() {
    let connection = |request: &str, response: &str| {
        exchanges(&[Connection { to_server: request.as_bytes().to_vec(), to_client: response.as_bytes().to_vec() }])
    };
    let far = (
        "GET /mcp HTTP/1.1\r\nHost: b\r\nA: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    );
    for (request, response, expected) in [
        // Another host, other chunks, and a stream that was cut a little earlier.
        (
            "GET /mcp HTTP/1.1\r\nhost: a\r\na: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n",
            &[][..],
        ),
        ("GET /mcp HTTP/1.1\r\n\r\n", far.1, &["request: a: \"1\" only behind"]),
        (
            "GET /other HTTP/1.1\r\nA: 1\r\n\r\n",
            far.1,
            &["\"GET /other HTTP/1.1\" before, \"GET /mcp HTTP/1.1\" behind"],
        ),
        (
            far.0,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabd\r\n",
            &["\"abd\" and then cut off before"],
        ),
        // Who ends what was cut lies about it.
        (
            far.0,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            &["\"abc\" before, \"abc\" and then cut off behind"],
        ),
        ("", "", &["before the proxy [], behind it"]),
    ] {
        let found = differences(&connection(request, response), &connection(far.0, far.1));
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }
}
