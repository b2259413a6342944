//! Bridges between stdio and HTTP: real processes, real sockets, and a server that tells what reached it.
//!
//! What is shown: bytes pass as they are, each client gets its own answers, sessions and processes begin and end together,
//! nothing is left behind, and hosts are told what went wrong. `http_bridge/real.rs` has the SDKs of others.

mod raw;
mod real;
mod remote;
mod use_;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use nix::sys::signal::{Signal, kill};

use crate::http_peers::programs::Tap;
use crate::support::{Scratch, is_running, talk, wait_for, wait_until};
use raw::{GET, post, send};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// The path of our own echo server.
pub(crate) fn echo_server() -> String {
    let folder = std::path::Path::new(crate::support::TAP).parent().unwrap().to_owned();
    let program = folder.join("tap-echo-server");
    // Cargo builds the programs of this package alone before its tests.
    static BUILT: std::sync::Once = std::sync::Once::new();
    BUILT.call_once(|| {
        if !program.exists() {
            let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
            let built = Command::new(cargo).args(["build", "-p", "tap-echo-server"]).status();
            assert!(built.is_ok_and(|status| status.success()));
        }
    });
    program.to_str().unwrap().to_owned()
}

/// `mcp-tap run --http 127.0.0.1:0 OPTIONS -- COMMAND`.
#[track_caller]
fn serve(scratch: &Scratch, options: &[&str], command: &[&str]) -> Tap {
    let mut arguments = vec!["run", "--http", "127.0.0.1:0"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(command);
    Tap::start(scratch.tap(arguments))
}

/// Begins a session and gives its id.
#[track_caller]
fn begin(to: SocketAddr) -> String {
    let mut answer = post(to, &[], INITIALIZE);
    let status = answer.status;
    assert_eq!(status, 200, "{}", answer.body());
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    assert!(answer.json()["result"].is_object());
    id
}

/// A request of the modern era, and its headers.
fn modern(id: &str, tool: &str, arguments: &str) -> (String, Vec<(&'static str, String)>) {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":1}}}}}}"#
    );
    let headers = vec![
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", tool.to_owned()),
    ];
    (body, headers)
}

fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// A server that writes what reaches it to a file, and answers each line with the result of the request with its id.
fn witness(file: &str) -> Vec<String> {
    let script = format!(
        r#"echo $$ >> {file}.pids
        while IFS= read -r line; do
            printf '%s\n' "$line" >> {file}
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}}]*\)[,}}].*/\1/p')
            case "$line" in
                *'"method":"hang"'*) ;;
                *'"method":"exit"'*) exit 3 ;;
                *) [ -n "$id" ] && printf '{{"jsonrpc":"2.0","id":%s,"result":{{}}}}\n' "$id" ;;
            esac
        done"#
    );
    vec!["sh".into(), "-c".into(), script]
}

fn pids(file: &str) -> Vec<u32> {
    let text = fs::read_to_string(format!("{file}.pids")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// What today's bridges lose, each with what the server has to see of it.
fn odd_lines() -> Vec<String> {
    let call = |id: &str, more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"rawhash"{more}}}}}"#)
    };
    vec![
        call("9007199254740993", ""),
        call("18446744073709551617", ""),
        call("1.0", ""),
        call("1e2", ""),
        call(r#""\ud800""#, r#","arguments":{"text":"\udfff \u00e9 é"}"#),
        call("7", r#","arguments":{"a":1,"a":2.50}"#),
        format!(r#"{{"extra":{{"k":1.0}},{}"#, &call("8", "")[1..]),
        call("9", &format!(r#","arguments":{{"blob":"{}"}}"#, "x".repeat(5_000_000))),
    ]
}

/// FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

#[test]
fn bytes_pass_through_both_bridges_as_they_are() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &[], &[&echo_server()]);
    let lines = odd_lines();
    let mut input = format!("{INITIALIZE}\n{}\n", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for line in &lines {
        input += line;
        input.push('\n');
    }
    input += "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{\"name\":\"odd\"}}\n";
    let host = Scratch::new();
    let output = talk(host.tap(["proxy", "--stdio", &server.url]), input.as_bytes());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{answers}");
    for line in &lines {
        let id = line.split("\"id\":").nth(1).unwrap().split(",\"method\"").next().unwrap();
        let answer = answers.lines().find(|answer| answer.contains(&format!("\"id\":{id},")));
        let expected = hash(line.as_bytes());
        assert!(answer.is_some_and(|answer| answer.contains(&expected)), "{id} {expected}: {answer:?}");
    }
    let directly = talk(Command::new(echo_server()), input.as_bytes());
    let mut directly: Vec<String> = String::from_utf8(directly.stdout).unwrap().lines().map(str::to_owned).collect();
    let mut answers: Vec<String> = answers.lines().map(str::to_owned).collect();
    directly.sort();
    answers.sort();
    assert_eq!(answers, directly);
    server.stop();
}

#[test]
fn clients_with_equal_ids_get_their_own_answers() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &[], &[&echo_server()]);
    let to = server.address();
    let clients = (0..8).map(|client| {
        std::thread::spawn(move || {
            for number in 0..40 {
                let text = format!("client {client} asks {number}");
                let (body, headers) = modern(&number.to_string(), "echo", &format!(r#"{{"text":"{text}"}}"#));
                let mut answer = post(to, &borrowed(&headers), &body);
                let status = answer.status;
                let answer = answer.json();
                assert_eq!((status, &answer["id"]), (200, &number.into()), "{answer}");
                assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().unwrap();
    }
    server.stop();
}

#[test]
fn a_session_has_a_process_of_its_own_and_both_end_together() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let server = serve(&scratch, &[], &command.iter().map(String::as_str).collect::<Vec<_>>());
    let to = server.address();
    let sessions = [begin(to), begin(to), begin(to)];
    let pids = pids(&file);
    assert_eq!(pids.len(), 3);
    let of = |session: &str, body: &str| post(to, &[("Mcp-Session-Id", session)], body);
    for session in &sessions {
        assert_eq!(of(session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).status, 202);
        let mut answer = of(session, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.body(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }
    // Ended by its client.
    assert_eq!(send(to, "DELETE /mcp", &[("Mcp-Session-Id", &sessions[0])], b"").status, 200);
    wait_until("the server of the ended session is gone", || !is_running(pids[0]));
    assert_eq!(of(&sessions[0], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
    // Ended by its server, in the middle of a call.
    let mut answer = of(&sessions[1], r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"exit"}"#);
    let body = answer.body();
    assert!(body.contains(r#""id":9007199254740993,"error""#) && body.contains("exited with code 3"), "{body}");
    assert_eq!(of(&sessions[1], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
    // The third is as before, and ends when we do.
    assert_eq!(of(&sessions[2], r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).status, 200);
    server.stop();
    assert!(!pids.into_iter().any(is_running));
}

#[test]
fn a_shared_server_that_ended_is_started_again() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let server = serve(&scratch, &[], &command.iter().map(String::as_str).collect::<Vec<_>>());
    for (method, status) in [("ping", 200), ("exit", 502), ("ping", 200), ("ping", 200)] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
        );
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        let mut answer = post(server.address(), &headers, &body);
        let told = answer.body();
        assert_eq!(answer.status, status, "{told}");
        assert!(told.contains(r#""id":"x""#), "{told}");
    }
    assert_eq!(pids(&file).len(), 2);
    server.stop();
}

#[test]
fn a_session_that_nobody_uses_ends() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let command = command.iter().map(String::as_str).collect::<Vec<_>>();
    let server = serve(&scratch, &["--idle", "0"], &command);
    let session = begin(server.address());
    wait_until("the server is gone", || !pids(&file).into_iter().any(is_running));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(post(server.address(), &[("Mcp-Session-Id", &session)], ping).status, 404);
    server.stop();
    // Where there are as many as there may be, the one that was quiet for longest makes room.
    let server = serve(&scratch, &["--sessions", "2"], &command);
    let to = server.address();
    let sessions: Vec<String> = (0..4).map(|_| begin(to)).collect();
    let statuses = sessions.iter().map(|session| post(to, &[("Mcp-Session-Id", session)], ping).status);
    assert_eq!(statuses.collect::<Vec<_>>(), [404, 404, 200, 200]);
    server.stop();
}

#[test]
fn what_is_wrong_about_a_request_is_said() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &["--body-limit", "1"], &[&echo_server()]);
    let to = server.address();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let session = begin(to);
    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(1 << 20));
    let json = ("Content-Type", "application/json");
    let both = ("Accept", "application/json, text/event-stream");
    let this = ("Mcp-Session-Id", session.as_str());
    let (call, fields) = modern("5", "echo", r#"{"text":"x"}"#);
    let fields = borrowed(&fields);
    let without = |name: &str| -> Vec<(&str, &str)> {
        [json, both].into_iter().chain(fields.iter().copied()).filter(|(known, _)| *known != name).collect()
    };
    let with = |name: &'static str, value: &'static str| -> Vec<(&str, &str)> {
        without(name).into_iter().chain([(name, value)]).collect()
    };
    for (line, headers, body, status, says) in [
        ("POST /mcp", vec![json, both], ping, 400, "`Mcp-Session-Id` is missing"),
        ("POST /mcp", vec![json, both, ("Mcp-Session-Id", "x")], ping, 404, "no such session"),
        ("POST /mcp", vec![json, both, this, ("MCP-Protocol-Version", "x")], ping, 400, "no revision"),
        ("POST /mcp", vec![both, this], ping, 415, "Content-Type"),
        ("POST /mcp", vec![json, ("Accept", "application/json"), this], ping, 406, "Accept"),
        ("POST /mcp", vec![json, both, this], "{", 400, "-32700"),
        ("POST /mcp", vec![json, both, this], "5", 400, "-32600"),
        ("POST /mcp", vec![json, both, this], &large, 413, "--body-limit"),
        ("POST /mcp", vec![json, both, this, ("Origin", "https://evil.example")], ping, 403, "evil.example"),
        ("POST /mcp", vec![json, both, this, ("Host", "evil.example")], ping, 403, "evil.example"),
        ("POST /mcp", vec![json, both, this, ("Origin", "http://localhost:5000")], ping, 200, ""),
        ("PUT /mcp", vec![], "", 405, ""),
        // What a browser asks for an image with.
        ("GET /sse", vec![("Accept", "image/avif,image/webp,*/*;q=0.8")], "", 406, "text/event-stream"),
        ("GET /sse", vec![], "", 406, "text/event-stream"),
        ("GET /mcp", vec![("Accept", "text/event-stream"), ("MCP-Protocol-Version", "2026-07-28")], "", 405, ""),
        ("GET /mcp", vec![("Accept", "application/json"), this], "", 406, ""),
        ("DELETE /mcp", vec![], "", 400, ""),
        ("POST /elsewhere", vec![json, both], ping, 404, ""),
        ("POST /mcp", without(""), &call, 200, r#""id":5"#),
        ("POST /mcp", without("MCP-Protocol-Version"), &call, 400, "-32020"),
        ("POST /mcp", without("Mcp-Method"), &call, 400, "-32020"),
        ("POST /mcp", with("Mcp-Name", "odd"), &call, 400, r#""id":5,"error":{"code":-32020"#),
        ("POST /mcp", with("Mcp-Name", "=?base64?ZWNobw==?="), &call, 200, r#""id":5"#),
    ] {
        let mut answer = send(to, line, &headers, body.as_bytes());
        let told = answer.body();
        assert_eq!(answer.status, status, "{line} {headers:?}: {told}");
        assert!(told.contains(says), "{line} {headers:?}: {told}");
    }
    server.stop();
}

#[test]
fn closing_cancels_in_the_modern_era_alone() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let server = serve(&scratch, &[], &command.iter().map(String::as_str).collect::<Vec<_>>());
    let to = server.address();
    let hang = r#"{"jsonrpc":"2.0","id":5,"method":"hang","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let seen = |what: &str| fs::read_to_string(&file).unwrap_or_default().contains(what);
    let leave = |headers: &[(&str, &str)], body: &str, n_before: usize| {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(to).unwrap();
        let fields: String =
            [raw::POST, headers].concat().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len())
            .unwrap();
        wait_until("the server was asked", || {
            fs::read_to_string(&file).unwrap_or_default().matches(r#""method":"hang""#).count() > n_before
        });
    };
    leave(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "hang")], hang, 0);
    wait_until("the call was cancelled", || seen(r#""method":"notifications/cancelled","params":{"requestId":1,"#));
    let session = begin(to);
    leave(&[("Mcp-Session-Id", &session)], r#"{"jsonrpc":"2.0","id":6,"method":"hang"}"#, 1);
    // Whatever the bridge made of the client's leaving would be there before this.
    assert_eq!(post(to, &[("Mcp-Session-Id", &session)], r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).status, 200);
    assert_eq!(fs::read_to_string(&file).unwrap().matches("notifications/cancelled").count(), 1);
    server.stop();
}

#[test]
fn what_a_server_says_of_itself_waits_for_whoever_listens() {
    let scratch = Scratch::new();
    let script = r#"read -r line; printf '{"jsonrpc":"2.0","id":0,"result":{}}\n'
        printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
        printf 'noise\n{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n'
        while read -r line; do printf '{"jsonrpc":"2.0","method":"heard","params":%s}\n' "$line"; done"#;
    let server = serve(&scratch, &[], &["sh", "-c", script]);
    let to = server.address();
    let session = begin(to);
    let this = ("Mcp-Session-Id", session.as_str());
    let mut stream = send(to, "GET /mcp", &[GET, &[this]].concat(), b"");
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(stream.event().unwrap(), r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(stream.event().unwrap(), r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[1.0]}}"#;
    assert_eq!(post(to, &[this], answer).status, 202);
    assert_eq!(stream.event().unwrap(), format!(r#"{{"jsonrpc":"2.0","method":"heard","params":{answer}}}"#));
    assert_eq!(send(to, "DELETE /mcp", &[this], b"").status, 200);
    assert_eq!(stream.event(), None);
    server.stop();
}

#[test]
fn no_server_is_left_behind() {
    let stubborn = |file: &str| {
        format!(
            "trap '' TERM; echo $$ >> {file}.pids; while :; do read -r line || read -r _ < /dev/null; printf '{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{{}}}}\\n'; sleep 0.05; done 2>/dev/null"
        )
    }; // tidy: sleeps because a server that ignores its end has to do something.
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let scratch = Scratch::new();
        let file = scratch.path("stubborn").to_str().unwrap().to_owned();
        let mut server = serve(&scratch, &[], &["sh", "-c", &stubborn(&file)]);
        let to = server.address();
        begin(to);
        begin(to);
        let pids = pids(&file);
        assert_eq!(pids.len(), 2);
        kill(server.process.pid(), signal).unwrap();
        wait_for(server.process.child());
        wait_until("no server is left", || !pids.iter().any(|pid| is_running(*pid)));
    }
}

#[test]
fn a_command_that_cannot_be_started_is_told_to_clients() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &[], &["/no/such/program"]);
    let mut answer = post(server.address(), &[], INITIALIZE);
    assert_eq!(answer.status, 502);
    assert!(answer.body().contains("no such program"));
    server.stop();
}

#[test]
fn what_passed_and_what_servers_said_on_stderr_is_recorded() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &[], &[&echo_server()]);
    let to = server.address();
    let session = begin(to);
    let call =
        r#"{"jsonrpc":"2.0","id":"recorded","method":"tools/call","params":{"name":"stderr","arguments":{"lines":3}}}"#;
    assert_eq!(post(to, &[("Mcp-Session-Id", &session)], call).status, 200);
    server.stop();
    let database = rusqlite::Connection::open(scratch.db()).unwrap();
    let mut query = database.prepare("SELECT bytes FROM segment ORDER BY number").unwrap();
    let segments = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let recorded = segments.map(Result::unwrap).collect::<Vec<_>>().concat();
    let count = |text: &str| recorded.windows(text.len()).filter(|window| *window == text.as_bytes()).count();
    assert_eq!(count(call), 1, "{}", String::from_utf8_lossy(&recorded));
    assert_eq!(count("POST /mcp"), 2);
    assert_eq!(count("echo-server stderr line"), 3);
    assert_eq!(count(&session), 0, "the session's id is in the recording");
}
