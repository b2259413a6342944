//! The debugger in front of a server over HTTP: between sockets, so that every byte is known.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::http::peer::{Peer, Proxy, STREAM, Server, chunk, field, fields, post};
use crate::support::{LIMIT, Scratch, wait_until};

const CALL: &str = r#"{ "jsonrpc":"2.0", "id":1, "method":"tools/call","params":{"name":"x","arguments":{"n" : 1}}}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

#[track_caller]
fn done(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = scratch.tap(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(scratch: &Scratch, arguments: &[&str]) -> Vec<Value> {
    let output = scratch.tap(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn held(scratch: &Scratch, count: usize) -> Vec<Value> {
    let mut held = Vec::new();
    wait_until("so many are held", || {
        held = json(scratch, &["held", "--json"]);
        held.len() == count
    });
    held
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A message of the modern era, with fields that repeat what it says.
fn modern(body: &str, more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nAccept-Encoding: gzip\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Has a held message edited, and lets it go.
fn edit(scratch: &Scratch, number: &str, from: &str, to: &str) {
    let text = done(scratch, &["held", number]);
    assert!(text.contains(from), "{text}");
    let file = scratch.path("edited.json");
    std::fs::write(&file, text.replace(from, to)).unwrap();
    done(scratch, &["release", number, "--edited", file.to_str().unwrap()]);
}

#[test]
fn a_held_call_that_is_edited_gives_the_server_the_edited_arguments_in_both_eras() {
    let modern_call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n" : 1,"r":"us"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let fields_of_it = "Mcp-Name: x\r\nMcp-Param-Region: us\r\nMcp-Param-Other: z\r\n";
    for (request, body, is_modern) in
        [(post(CALL), CALL, false), (modern(modern_call, fields_of_it), modern_call, true)]
    {
        let scratch = Scratch::new();
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        let (server, requests) = Server::answering(ok(answer));
        let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--break", "tool:x"], &[]);
        let mut client = proxy.connect();
        client.write(&request);
        let held = held(&scratch, 1);
        assert_eq!((held[0]["what"].as_str(), held[0]["exchange"].as_u64()), (Some("tools/call x"), Some(1)));
        assert!(requests.lock().unwrap().is_empty(), "nothing has reached the server");
        // Another exchange is not held up.
        let mut other = proxy.connect();
        other.write(post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
        assert_eq!(other.message().1, answer.as_bytes());
        if is_modern {
            edit(&scratch, "1", "\"us\"", "\"eu\"");
        } else {
            edit(&scratch, "1", "\"n\": 1", "\"n\": 20");
        }
        assert_eq!(client.message().1, answer.as_bytes());
        let (head, got) = requests.lock().unwrap().last().unwrap().clone();
        let expected = if is_modern { body.replace("us", "eu") } else { body.replace("1}}", "20}}") };
        assert_eq!(String::from_utf8(got).unwrap(), expected, "all but the value as it was");
        assert_eq!(field(&head, "content-length"), Some(expected.len().to_string().as_str()));
        if is_modern {
            assert_eq!(fields(&head, "mcp-name"), ["x"]);
            assert_eq!(fields(&head, "mcp-param-region"), ["eu"]);
            assert_eq!(fields(&head, "mcp-param-other"), ["z"]);
            assert_eq!(fields(&head, "accept-encoding"), ["identity"]);
        }
        proxy.stop();
        let rows = done(&scratch, &["log", "--all", "is:edited", "--json"]);
        assert!(rows.lines().count() >= 1, "{rows}");
        let checked = scratch.tap(["check", "last"]).output().unwrap();
        let told = String::from_utf8(checked.stdout).unwrap();
        assert!(!told.contains("HTT-006"), "{told}");
    }
}

/// A server that answers the first request with a stream of these events, each when it is told to, and then is silent.
fn streaming(events: &'static [&'static str]) -> (Server, std::sync::mpsc::Sender<()>) {
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let server = Server::new(move |_, mut peer: Peer| {
        peer.message();
        peer.write(STREAM);
        for event in events {
            if may_go.lock().unwrap().recv_timeout(LIMIT).is_err() {
                return;
            }
            peer.write(chunk(event));
        }
        peer.write("0\r\n\r\n");
        peer.wait_closed();
    });
    (server, go)
}

#[test]
fn an_event_is_edited_and_all_others_stay_as_they_are() {
    const EVENTS: &[&str] = &[
        ": hello\r\n\r\n",
        "event: message\r\ndata:{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\r\n\r\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{\"content\":[]}}\r\n\r\n",
    ];
    let scratch = Scratch::new();
    let (server, go) = streaming(EVENTS);
    let proxy = Proxy::start(&scratch, &server.url("/mcp"));
    let mut client = proxy.connect();
    client.write(post(CALL));
    client.head();
    go.send(()).unwrap();
    client.expect_chunked(EVENTS[0]);
    // It is armed in the middle of the stream.
    done(&scratch, &["break", "method:notifications/message"]);
    go.send(()).unwrap();
    held(&scratch, 1);
    // What belongs to no call, and has no id, holds nothing behind it.
    go.send(()).unwrap();
    client.expect_chunked(EVENTS[2]);
    edit(&scratch, "1", "\"info\"", "\"error\"");
    let edited = EVENTS[1].replace("info", "error").replace("data:{", "data: {");
    client.expect_chunked(&edited);
    assert!(client.chunk().is_empty(), "the stream ends after the last one that was held");
    proxy.stop();
    let edited = json(&scratch, &["log", "--all", "is:edited", "--json"]);
    assert!(!edited.is_empty());
}

#[test]
fn with_a_breakpoint_that_never_fits_every_byte_is_the_same() {
    const EVENTS: &[&str] = &[
        "\u{feff}: a comment\n\n",
        "retry: 3000\r\nid: 1\r\ndata:\r\n\r\n",
        "event: message\rdata: {\"a\":\rdata: 1}\r\r",
        "id: 2\ndata: {\"é\":\"\u{2028}\"}\n\n",
        ":\n",
        "data: half of ",
        "an event\r\n\r",
        "\n",
        "data:no space\n\n\ndata:  two spaces\n\n",
        "data: last, without an end",
    ];
    for options in [&[][..], &["--break", "tool:never"]] {
        let scratch = Scratch::new();
        let (server, go) = streaming(EVENTS);
        let proxy = Proxy::with(&scratch, &server.url("/mcp"), options, &[]);
        let mut client = proxy.connect();
        client.write(post(CALL));
        client.head();
        EVENTS.iter().for_each(|_| go.send(()).unwrap());
        client.expect_chunked(EVENTS.concat());
        assert!(client.chunk().is_empty());
        let (server, requests) = Server::answering(ok(CALL));
        let proxy = Proxy::with(&scratch, &server.url("/mcp"), options, &[]);
        let mut client = proxy.connect();
        client.write(post(CALL));
        let (head, body) = client.message();
        assert_eq!((field(&head, "content-length"), &body[..]), (Some(&*CALL.len().to_string()), CALL.as_bytes()));
        assert_eq!(requests.lock().unwrap()[0].1, CALL.as_bytes());
    }
}

#[test]
fn events_with_ids_do_not_overtake_each_other() {
    const EVENTS: &[&str] = &[
        "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
        ": still here\n\n",
        "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n",
    ];
    let scratch = Scratch::new();
    let (server, go) = streaming(EVENTS);
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--break", "method:notifications/message"], &[]);
    let mut client = proxy.connect();
    client.write(post(CALL));
    client.head();
    (0..3).for_each(|_| go.send(()).unwrap());
    client.expect_chunked(EVENTS[1]);
    held(&scratch, 2);
    done(&scratch, &["release", "1"]);
    client.expect_chunked([EVENTS[0], EVENTS[2]].concat());
    assert!(client.chunk().is_empty());
}

#[test]
fn a_request_whose_client_goes_away_while_it_is_held_never_reaches_the_server() {
    let scratch = Scratch::new();
    let (server, requests) = Server::answering(ok("{}"));
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--break", "tool:x", "--hold-timeout", "never"], &[]);
    let mut client = proxy.connect();
    client.write(post(CALL));
    held(&scratch, 1);
    drop(client);
    held(&scratch, 0);
    assert!(requests.lock().unwrap().is_empty());
    proxy.stop();
    let dropped = json(&scratch, &["log", "--all", "is:dropped", "--json"]);
    assert!(!dropped.is_empty());
}

#[test]
fn a_held_request_is_answered_in_the_server_s_place() {
    let scratch = Scratch::new();
    let (server, requests) = Server::answering(ok("{}"));
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--break", "tool:x"], &[]);
    let mut client = proxy.connect();
    client.write(post(CALL));
    held(&scratch, 1);
    done(&scratch, &["release", "1", "--error", "-32000:refused"]);
    let (head, body) = client.message();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(field(&head, "content-type"), Some("application/json"));
    assert_eq!(body, br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"refused"}}"#);
    assert!(requests.lock().unwrap().is_empty());
}

#[test]
fn each_fault_does_what_it_is_there_for() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let set = CALL.replace("\"n\" : 1", "\"n\" : 2");
    for (fault, body, status, answered, n_requests) in [
        ("is:c2s tool:x -> delay:50ms", CALL, 200, answer, 1),
        ("is:c2s tool:x -> set:arg.n=2", CALL, 200, answer, 1),
        ("is:c2s tool:x -> slow:1k/s", CALL, 200, answer, 1),
        ("is:c2s tool:x -> duplicate", CALL, 200, answer, 2),
        (
            "is:c2s tool:x -> error:-1:no",
            CALL,
            200,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            0,
        ),
        (
            "is:c2s tool:x -> status:503",
            CALL,
            503,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the debugger answers with status 503"}}"#,
            0,
        ),
        (
            "is:s2c tool:x -> status:404",
            CALL,
            404,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the debugger answers with status 404"}}"#,
            1,
        ),
        ("is:s2c tool:x -> truncate:20", CALL, 200, &answer[..20], 1),
        ("is:s2c tool:x -> slow:1k/s", CALL, 200, answer, 1),
        ("is:s2c tool:x -> cut", CALL, 200, answer, 1),
        ("is:c2s tool:x -> close", CALL, 0, "", 0),
        ("is:s2c tool:x -> close", CALL, 0, "", 1),
        ("is:notification -> drop", NOTIFICATION, 202, "", 0),
        ("is:notification -> status:500", NOTIFICATION, 500, "", 0),
    ] {
        let scratch = Scratch::new();
        let (server, requests) = Server::answering(ok(answer));
        let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--fault", fault], &[]);
        let mut client = proxy.connect();
        client.write(post(body));
        if status == 0 {
            assert_eq!(client.rest(), b"", "{fault}");
        } else {
            let (head, got) = client.message();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{fault}: {head}");
            assert_eq!(String::from_utf8(got).unwrap(), answered, "{fault}");
        }
        wait_until("the server has got what it is to get", || requests.lock().unwrap().len() == n_requests);
        for (_, got) in requests.lock().unwrap().iter() {
            let expected = if fault.contains("set:") { &set } else { CALL };
            assert_eq!(std::str::from_utf8(got).unwrap(), expected, "{fault}");
        }
        let told = proxy.stop();
        assert!(told.contains(&format!("fault {fault}: 1 of 1 that fitted")), "{told}");
    }
}

#[test]
fn an_event_stream_is_cut_broken_off_and_filled_up() {
    const EVENTS: &[&str] = &[
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n",
    ];
    let (first, second) = (EVENTS[0], EVENTS[1]);
    for (fault, expected) in [
        ("is:response -> cut", format!("{first}END")),
        ("is:response -> close", first.to_owned()),
        ("is:response -> drop", format!("{first}END")),
        ("is:response -> duplicate", format!("{first}{second}{second}END")),
        ("is:response -> garbage:oh", format!("{first}data: oh\n\n{second}END")),
        ("is:response -> slow:1k/s", format!("{first}{second}END")),
        ("is:notification -> reorder", format!("{second}{first}END")),
    ] {
        let scratch = Scratch::new();
        let (server, go) = streaming(EVENTS);
        let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--fault", fault], &[]);
        let mut client = proxy.connect();
        client.write(post(CALL));
        client.head();
        (0..2).for_each(|_| {
            let _ = go.send(());
        });
        let mut got = String::new();
        if fault.ends_with("close") {
            client.expect_chunked(first);
            assert!(!client.rest().ends_with(b"0\r\n\r\n"), "{fault}");
            got.push_str(first);
        } else {
            loop {
                let data = client.chunk();
                if data.is_empty() {
                    break got.push_str("END");
                }
                got.push_str(std::str::from_utf8(&data).unwrap());
            }
        }
        assert_eq!(got, expected, "{fault}");
        proxy.stop();
    }
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    let scratch = Scratch::new();
    let (server, _) = Server::answering(ok("{}"));
    let url = server.url("/mcp");
    for (words, told) in [
        (&["proxy", "--fault", "is:c2s -> crash", &url][..], "no process that could be killed"),
        (&["run", "--http", "127.0.0.1:0", "--break", "tool:x", "--", "cat"], "`run --http` yet"),
        (&["proxy", "--stdio", "--break", "tool:x", &url], "cannot be used with"),
    ] {
        let output = scratch.tap(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(told), "{words:?}: {said}");
    }
    let proxy = Proxy::start(&scratch, &url);
    wait_until("the tap listens", || json(&scratch, &["taps", "--json"]).len() == 1);
    for (words, told) in [
        (&["break", "tool:x", "--do", "crash"][..], "no process that could be killed"),
        (&["inject", r#"{"method":"ping"}"#], "over HTTP nothing can be put in"),
    ] {
        let output = scratch.tap(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(told), "{words:?}: {said}");
    }
    drop(proxy);
}

#[test]
fn everything_that_is_held_goes_on_when_the_tap_is_asked_to_end() {
    let scratch = Scratch::new();
    let got = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let theirs = got.clone();
    let server = Server::new(move |_, mut peer| {
        if let Some((_, body)) = peer.request_or_end() {
            theirs.lock().unwrap().push(body);
        }
    });
    let proxy = Proxy::with(&scratch, &server.url("/mcp"), &["--break", "tool:x"], &[]);
    let mut client = proxy.connect();
    client.write(post(CALL));
    held(&scratch, 1);
    proxy.stop();
    wait_until("the server has got it", || !got.lock().unwrap().is_empty());
    assert_eq!(got.lock().unwrap()[0], CALL.as_bytes());
}
