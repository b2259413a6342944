//! The commands that look, on recordings over HTTP.

mod peers;
mod untrusted;
mod while_it_goes_on;

use insta::assert_snapshot;
use serde_json::Value;

use self::peers::{Answer, Proxy, Request, Server, answer, read_until, stream};
use crate::support::{Scratch, talk, wait_until};

const JSON: &str = "content-type: application/json\r\n";

/// A server of the legacy era that gives out sessions, one after another.
fn legacy() -> impl Fn(&Request) -> Answer + Send + Sync {
    let next = std::sync::atomic::AtomicU64::new(1);
    move |request| {
        let id = request.body.split_once("\"id\":").map_or("null", |(_, rest)| rest.split([',', '}']).next().unwrap());
        let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let has = |text: &str| request.body.contains(text);
        match (request.verb.as_str(), request.path.as_str()) {
            ("POST", "/mcp") if has("initialize\"") => {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let said = result(
                    r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"search","version":"1.4.0"}}"#,
                );
                answer(200, &format!("{JSON}mcp-session-id: secret-{number}\r\n"), &said)
            }
            ("POST", "/mcp") if has("notifications/") => answer(202, "", ""),
            ("POST", "/mcp") if has("tools/list") => {
                answer(200, JSON, &result(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#))
            }
            ("POST", "/mcp") if has("\"find\"") => {
                let progress =
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half"}}"#;
                let result = result(r#"{"content":[{"type":"text","text":"3 hits"}]}"#);
                let events = format!(
                    "id: 7\r\nretry: 500\r\ndata: \r\n\r\nid: 8\r\ndata: {progress}\r\n\r\n: still there\r\n\r\nid: 9\r\ndata: {result}\r\n\r\n"
                );
                Answer::Broken(stream("", &events))
            }
            ("POST", "/mcp") if has("\"broken\"") => Answer::Broken(
                format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n{JSON}\r\n{{\"jsonrpc\":\"2.0\",").into_bytes(),
            ),
            ("POST", "/mcp") if has("\"gone\"") => answer(404, "", ""),
            ("POST", "/mcp") => answer(200, JSON, &result("{}")),
            ("GET", "/mcp") if request.session.as_deref() == Some("secret-2") => Answer::Open(stream(
                "",
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
            )),
            ("GET", "/mcp") => answer(405, "allow: POST\r\n", ""),
            ("DELETE", "/mcp") => answer(204, "", ""),
            _ => answer(404, "content-type: text/plain\r\n", "no such page\n"),
        }
    }
}

fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn call(id: u64, tool: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#))
}

fn initialize(client: &str) -> String {
    let client = format!(r#"{{"name":"{client}","version":"2.1"}}"#);
    request(
        0,
        "initialize",
        &format!(r#"{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{client}}}"#),
    )
}

/// What a client of the session sends with each request.
fn of(session: u64) -> String {
    format!(
        "mcp-session-id: secret-{session}\r\nmcp-protocol-version: 2025-06-18\r\nauthorization: Bearer very-secret\r\n"
    )
}

/// A session with all that can become of a request.
fn first_session(proxy: &Proxy) {
    proxy.ask("GET", "/.well-known/oauth-protected-resource/mcp", "", "", 404);
    proxy.post("", &initialize("editor"), 200);
    proxy.post(&of(1), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 202);
    proxy.ask("GET", "/mcp", &of(1), "", 405);
    proxy.post(&of(1), &request(1, "tools/list", "{}"), 200);
    proxy.post(&of(1), &call(2, "find"), 200);
    proxy.post(&of(1), &call(3, "gone"), 404);
    proxy.post(&of(1), &call(4, "broken"), 200);
    proxy.ask("DELETE", "/mcp", &of(1), "", 204);
}

/// What a command prints. It must say nothing on stderr.
#[track_caller]
fn stdout(scratch: &Scratch, arguments: &[&str], code: i32) -> String {
    let output = talk(scratch.tap(arguments), b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Text without what is different each time: clocks, durations, ports, stand-ins for secrets. What stood in columns is apart
/// by one space.
fn steady(text: &str, ports: &[u16]) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        out.push_str(&line[..indent]);
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let mut index = 0;
        let mut kept = Vec::new();
        while let Some(word) = words.get(index) {
            index += 1;
            let number = word.trim_start_matches('(').parse::<f64>().is_ok();
            let unit = words.get(index).map(|unit| unit.trim_end_matches([',', ')']));
            if number && matches!(unit, Some("ns" | "µs" | "ms" | "s")) && !line.contains("retry") {
                let end = if words[index].ends_with(',') { "," } else { "" };
                kept.push(format!("TIME{end}"));
                index += 1;
            } else {
                kept.push(steady_word(word, ports));
            }
        }
        out.push_str(&kept.join(" "));
        out.push('\n');
    }
    out
}

fn steady_word(word: &str, ports: &[u16]) -> String {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let mut word = match shape.trim_end_matches(',') {
        "0000-00-00" => "DATE".to_owned(),
        "00:00" | "00:00:00.000" => "CLOCK".to_owned(),
        "00:00:00.000000" => "CLOCK,".to_owned(),
        _ => word.to_owned(),
    };
    for port in ports {
        word = word.replace(&port.to_string(), "PORT");
    }
    if let Some(at) = word.find("redacted-") {
        let end = at + "redacted-".len();
        let rest = word[end..].trim_start_matches(|c: char| c.is_ascii_hexdigit()).to_owned();
        word = format!("{}X{rest}", &word[..end]);
    }
    word
}

/// Says so when lines of one table end in different columns.
#[track_caller]
fn is_aligned(table: &str) {
    let widths: std::collections::BTreeSet<usize> = table.lines().map(|line| line.chars().count()).collect();
    assert_eq!(widths.len(), 1, "{table}");
}

/// A recording of one session, and the ports of the two ends.
fn with_one_session() -> (Scratch, [u16; 2]) {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    let ports = [proxy.address.port(), server.address.port()];
    first_session(&proxy);
    proxy.stop();
    (scratch, ports)
}

#[test]
fn a_session_is_listed_with_all_that_became_of_its_requests() {
    let (scratch, ports) = with_one_session();
    let look = |arguments: &[&str]| steady(&stdout(&scratch, arguments, 0), &ports);
    assert_snapshot!("ls", look(&["ls"]));
    assert_snapshot!("log", look(&["log"]));
    assert_snapshot!("log_frames", look(&["log", "--frames"]));
    is_aligned(&stdout(&scratch, &["log"], 0));
    let rows = scratch.json(&["log", "--json"]);
    let row = |index: usize| &rows[index];
    let broken = rows.iter().find(|row| row["target"] == "broken").unwrap();
    assert_eq!(
        (&broken["conversation"], &broken["http_status"], &broken["status"]),
        (&1.into(), &200.into(), &Value::Null)
    );
    assert_eq!((&row(0)["exchange"], &row(0)["http_status"]), (&1.into(), &404.into()));
    assert_eq!(row(0)["conversation"], Value::Null);
    let listed = scratch.session();
    assert_eq!(listed["transport"], "http");
    let inside = &listed["conversations"][0];
    assert_eq!((&inside["reference"], &inside["revision"]), (&"search/1".into(), &"2025-06-18".into()));
    assert_eq!((&inside["kind"], &inside["ended"]), (&"assigned".into(), &true.into()));
}

#[test]
fn show_has_the_exchange() {
    let (scratch, ports) = with_one_session();
    let look = |arguments: &[&str]| steady(&stdout(&scratch, arguments, 0), &ports);
    let rows = scratch.json(&["log", "--json", "--frames"]);
    let reference = |what: &dyn Fn(&Value) -> bool| {
        rows.iter().find(|row| what(row)).unwrap()["reference"].as_str().unwrap().to_owned()
    };
    let called = |tool: &'static str| reference(&move |row| row["target"] == tool && row["kind"] == "request");
    assert_snapshot!("show_stream", look(&["show", &called("find")]));
    assert_snapshot!("show_stream_http", look(&["show", &called("find"), "--form", "http"]));
    assert_snapshot!("show_refused", look(&["show", &called("gone")]));
    assert_snapshot!("show_broken", look(&["show", &called("broken")]));
    let page = reference(&|row| row["kind"] == "exchange" && row["http_status"] == 404);
    assert_snapshot!("show_page", look(&["show", &page]));
    assert_snapshot!("show_page_http", look(&["show", &page, "--form", "http"]));
    let shown = &scratch.json(&["show", &called("find"), "--json"])[0];
    let exchange = &shown["exchange"];
    assert_eq!(
        (&exchange["status"], &exchange["end"], &exchange["conversation"]),
        (&200.into(), &"whole".into(), &1.into())
    );
    assert!(exchange["head_at_ns"].as_u64() <= exchange["ended_at_ns"].as_u64());
    assert_eq!(shown["answer"]["exchange"]["event"]["id"], "9");
    let everything = format!("{shown}");
    assert!(!everything.contains("very-secret") && !everything.contains("secret-1"), "{everything}");
    assert!(exchange["request_fields"].as_array().unwrap().iter().any(|field| field["value"] == "redacted"));
}

#[test]
fn several_sessions_are_told_apart() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    let ports = [proxy.address.port(), server.address.port()];
    first_session(&proxy);
    proxy.post("", &initialize("browser"), 200);
    let mut open = proxy.begin("GET", "/mcp", &of(2), "");
    read_until(&mut open, "list_changed");
    proxy.post(&of(2), &call(1, "find"), 200);
    // At first nothing may be recorded yet, which is no success.
    wait_until("the last answer is recorded", || {
        let log = talk(scratch.tap(["log", "--json"]), b"");
        let last = log.stdout.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
        let row: Value = last.and_then(|line| serde_json::from_slice(line).ok()).unwrap_or_default();
        row["target"] == "find" && row["status"] == "ok" && row["conversation"] == 2
    });
    // While it is open, nobody says that a stream has no answer.
    let live = steady(&stdout(&scratch, &["log", "-s", "last/2"], 0), &ports);
    assert!(live.contains("GET /mcp HTTP 200, open"), "{live}");
    assert!(stdout(&scratch, &["ls"], 0).contains("open, 2025-06-18"));
    drop(open);
    proxy.stop();

    let look = |arguments: &[&str]| steady(&stdout(&scratch, arguments, 0), &ports);
    assert_snapshot!("several_ls", look(&["ls"]));
    assert_snapshot!("several_log", look(&["log"]));
    is_aligned(&stdout(&scratch, &["log"], 0));
    assert_snapshot!("several_log_of_one", look(&["log", "-s", "last/2"]));
    assert_snapshot!("several_check", steady(&stdout(&scratch, &["check", "--level", "note"], 1), &ports));
    let check = scratch.tap(["check", "last/2", "--level", "note", "--json"]).output().unwrap();
    for line in String::from_utf8(check.stdout).unwrap().lines() {
        let finding: Value = serde_json::from_str(line).unwrap();
        assert_eq!(finding["conversation"], 2, "{line}");
        assert!(finding["reference"].as_str().unwrap().starts_with("search:"), "{line}");
    }
    // Calls of all, and of one.
    let finds = |reference: &str| {
        let rows = scratch.json(&["stats", reference, "--json"]);
        let find = rows.iter().find(|row| row["target"] == "find").unwrap().clone();
        assert!(find["first_byte_p50_ns"].as_u64().unwrap() <= find["p50_ns"].as_u64().unwrap(), "{find}");
        find["calls"].as_u64().unwrap()
    };
    assert_eq!((finds("last"), finds("last/1"), finds("last/2")), (2, 1, 1));
    // The state is that of one.
    let rows = scratch.json(&["log", "--json"]);
    let of_first = rows.iter().find(|row| row["method"] == "tools/list").unwrap();
    let client = |reference: &str| scratch.json(&["state", reference, "--json"])[0]["parties"]["client"].to_string();
    assert!(client("last/1").contains("editor") && client("last/2").contains("browser"));
    assert!(client(of_first["reference"].as_str().unwrap()).contains("editor"));
    let number = of_first["seq"].as_u64().unwrap();
    let diff = stdout(&scratch, &["state", &format!("last:{number}"), "--diff"], 0);
    assert!(diff.contains("search/1: changed by message") && diff.contains("tools/list"), "{diff}");
}

#[test]
fn a_text_recording_is_read_by_all_commands() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    let ports = [proxy.address.port(), server.address.port()];
    first_session(&proxy);
    proxy.post("", &initialize("browser"), 200);
    proxy.post(&of(2), &call(1, "find"), 200);
    proxy.stop();
    let file = scratch.path("x.jsonl");
    let file = file.to_str().unwrap();
    talk(scratch.tap(["export", "last", "-o", file]), b"");
    let other = scratch.path("other.db");
    let other = other.to_str().unwrap();
    let imported = talk(scratch.tap(["import", "--db", other, file]), b"");
    assert_eq!(imported.status.code(), Some(0), "{}", String::from_utf8_lossy(&imported.stderr));
    for (command, code) in [
        (&["log", "-s", "REF"][..], 0),
        (&["log", "-s", "REF", "--frames"], 0),
        (&["log", "-s", "REF/2", "--frames"], 0),
        (&["show", "REF:9"], 0),
        (&["show", "REF/1:9"], 0),
        (&["show", "REF:9", "--form", "http"], 0),
        (&["show", "REF:13"], 0),
        (&["check", "REF", "--level", "note"], 1),
        (&["check", "REF/2", "--level", "note"], 1),
        (&["stats", "REF"], 0),
        (&["stats", "REF/2"], 0),
        (&["state", "REF/2"], 0),
        (&["state", "REF:9", "--diff"], 0),
        (&["diff", "REF/1", "REF/2", "--exit-code"], 1),
        (&["diff", "REF/2", "REF/2", "--exit-code"], 0),
    ] {
        let looked = |reference: &str, database: &[&str]| {
            let arguments = command.iter().map(|word| word.replace("REF", reference)).collect::<Vec<_>>();
            let output = talk(scratch.tap(arguments.iter().map(String::as_str).chain(database.iter().copied())), b"");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
            assert_eq!(output.status.code(), Some(code), "{arguments:?}");
            // The three differ in what they are called and in nothing else.
            let text = String::from_utf8(output.stdout).unwrap();
            steady(&text.replace(file, "search"), &ports)
        };
        let recorded = looked("last", &[]);
        assert_eq!(recorded, looked(file, &[]), "{command:?}");
        assert_eq!(recorded, looked("last", &["--db", other]), "{command:?}");
    }
}

#[test]
fn who_names_a_session_that_is_not_there_is_told_which_are() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    for client in ["a", "b", "c"] {
        proxy.post("", &initialize(client), 200);
    }
    proxy.stop();
    talk(scratch.run(["cat"]), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    for (arguments, code, says) in [
        (
            &["log", "-s", "search/4"][..],
            2,
            "there is no session search/4; search has 3 sessions, search/1 to search/3",
        ),
        (&["log", "-s", "search/0"], 2, "search has 3 sessions"),
        (&["log", "-s", "peer/2"], 2, "over stdio"),
        (&["log", "-s", "nobody/2"], 2, "there is no file nobody/2, and no session `nobody`"),
        (&["log", "-s", "last.9/2"], 2, "there are 2"),
        (&["state", "search"], 2, "the state of which session? search has 3 sessions"),
        (&["show", "search/2:1"], 2, "message 1 is not of search/2, but of search/1"),
        (&["export", "search/2"], 2, "leave out the number"),
        (&["show", "peer:1", "--form", "http"], 2, "did not pass over HTTP"),
        (&["log", "-s", "search.1/3"], 0, ""),
        (&["log", "-s", "peer/1"], 0, ""),
    ] {
        let output = talk(scratch.tap(arguments), b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    // In a folder in which the reference is a file, it is that file.
    std::fs::create_dir(scratch.path("search")).unwrap();
    std::fs::write(scratch.path("search/2"), "no recording\n").unwrap();
    let mut log = scratch.tap(["log", "-s", "search/2"]);
    log.current_dir(scratch.path(""));
    let output = talk(log, b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1"), "{output:?}");
}

#[test]
fn of_many_sessions_the_newest_have_lines() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    for number in 1..=8 {
        proxy.post("", &initialize(&format!("host-{number}")), 200);
    }
    proxy.stop();
    let ls = stdout(&scratch, &["ls"], 0);
    let lines: Vec<&str> = ls.lines().collect();
    assert_eq!(lines.len(), 8, "{ls}");
    assert!(lines[1].contains("8 sessions") && lines[2].contains("search/8"), "{ls}");
    assert!(lines[6].contains("search/4") && lines[7].contains("… and 3 more"), "{ls}");
    assert_eq!(scratch.session()["conversations"].as_array().unwrap().len(), 8);
    let check = talk(scratch.tap(["check"]), b"");
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(text.contains("… and 3 more of search with nothing to show"), "{text}");
}

#[test]
fn a_server_that_is_not_there_is_told_with_the_reason() {
    let scratch = Scratch::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let proxy = Proxy::start(&scratch, "search", address);
    // What people see who look before anything was said.
    for command in [&["log"][..], &["check"], &["stats"]] {
        let output = talk(scratch.tap(command), b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("nothing came through the proxy yet"), "{command:?}: {stderr}");
    }
    proxy.post("", &initialize("editor"), 502);
    proxy.stop();
    let log = stdout(&scratch, &["log"], 0);
    assert!(log.contains("HTTP 502"), "{log}");
    let show = stdout(&scratch, &["show", "last:1"], 0);
    assert!(show.contains("mcp-tap answered by itself: "), "{show}");
    let shown = &scratch.json(&["show", "last:1", "--json"])[0]["exchange"];
    assert_eq!((&shown["status"], &shown["end"]), (&502.into(), &"by server".into()));
    assert!(shown["own_error"].as_str().unwrap().contains("refused"), "{shown}");
}

#[test]
fn who_checks_a_recording_without_a_session_is_told_what_came_instead() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let told = |says: &str| {
        let output = talk(scratch.tap(["check"]), b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says) && stderr.contains("`mcp-tap log -s search --frames`"), "{stderr}");
    };
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.ask("GET", "/nothing", "", "", 404);
    proxy.stop();
    told("search: none of 2 frames is a message of MCP");
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.post(&of(1), &call(1, "gone"), 404);
    proxy.stop();
    told("search: 1 message, but no session came of it");
}

#[test]
fn a_call_that_the_server_broke_off_is_in_flight_no_more() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    first_session(&proxy);
    let told = || {
        let stats = talk(scratch.tap(["stats", "--json"]), b"");
        let rows =
            stats.stdout.split(|byte| *byte == b'\n').filter_map(|row| serde_json::from_slice::<Value>(row).ok());
        let broken = rows.into_iter().find(|row| row["target"] == "broken");
        broken.map(|row| (row["in_flight"].as_u64().unwrap(), row["unanswered"].as_u64().unwrap()))
    };
    wait_until("the end of the exchange is recorded", || told() == Some((0, 1)));
    proxy.stop();
    assert_eq!(told(), Some((0, 1)));
}

#[test]
fn a_state_is_of_the_message_that_it_is_said_to_be_of() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    first_session(&proxy);
    proxy.post("", &initialize("browser"), 200);
    proxy.post(&of(2), &call(1, "find"), 200);
    proxy.stop();
    // In the first session the last that is numbered is the request that ended it, which is no message.
    let rows = scratch.json(&["log", "-s", "last/1", "--frames", "--json"]);
    let last = rows.last().unwrap();
    let state = stdout(&scratch, &["state", "last/1"], 0);
    let head = state.lines().next().unwrap();
    assert_eq!(head, format!("search/1 after message {}  DELETE /mcp", last["seq"]), "{last}");
    let first = stdout(&scratch, &["state", rows[0]["reference"].as_str().unwrap()], 0);
    assert!(first.starts_with(&format!("search/1 after message {}  initialize\n", rows[0]["seq"])), "{first}");
    // Time is that of the session, which began with this message.
    let time = first.lines().find(|line| line.trim_start().starts_with("time ")).unwrap();
    assert!(time.ends_with(" 0 ns"), "{time}");
}

#[test]
fn the_state_of_a_session_is_there_also_after_a_thousand_others() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    for number in 1..=1_003 {
        proxy.post("", &initialize(&format!("host-{number}")), 200);
    }
    proxy.stop();
    for (reference, client, said) in [
        ("last/1", "host-1 2.1", "search:2"),
        ("last:1", "host-1 2.1", "search:1"),
        ("last/1003", "host-1003 2.1", "search:2006"),
    ] {
        let state = &scratch.json(&["state", reference, "--json"])[0];
        assert_eq!((&state["parties"]["client"], &state["reference"]), (&client.into(), &said.into()), "{state}");
    }
}
