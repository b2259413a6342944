//! What peers say can neither act on the terminal nor speak for us.

use super::initialize;
use super::peers::{Answer, Proxy, Request, Server, answer, stream};
use crate::support::{Scratch, talk};

#[test]
fn nothing_recorded_over_http_acts_on_the_terminal() {
    let scratch = Scratch::new();
    let server = Server::start(|request: &Request| {
        let hostile = "\x1b]0;title\x07\u{9b}2J\u{202e}";
        match request.verb.as_str() {
            "POST" => Answer::Broken(stream(
                "server: \u{9b}2Jx\r\n",
                &format!("event: {hostile}\nid: {hostile}\ndata: {hostile}\n\n"),
            )),
            _ => answer(200, "content-type: text/html\r\n", hostile),
        }
    });
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.post("user-agent: \u{9b}2J\r\n", &initialize("\u{9b}2J\\u001b[2J"), 200);
    proxy.ask("GET", "/mcp", "", "", 200);
    proxy.stop();
    let mut views = vec![vec!["ls".to_owned()], vec!["log".into()], vec!["log".into(), "--frames".into()]];
    for number in 1..=4 {
        for form in ["pretty", "http"] {
            views.push(["show", &format!("last:{number}"), "--form", form].map(String::from).to_vec());
        }
    }
    for view in views {
        let output = talk(scratch.tap(&view), b"");
        assert_eq!(output.status.code(), Some(0), "{view:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let hidden = text.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
        assert_eq!(hidden, None, "{view:?}: {text:?}");
    }
    // What is said of messages for programs acts on no terminal either; the messages themselves are as they were.
    let json =
        ["ls", "log --frames", "log", "show last:1", "show last:4", "stats", "check --level note", "state last/1"];
    for command in json {
        let arguments: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        let output = talk(scratch.tap(&arguments), b"");
        let mut text = String::from_utf8(output.stdout).unwrap();
        if let (true, Some(at)) = (command.starts_with("show"), text.find(",\"message\":")) {
            text.truncate(at);
        }
        let hidden = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(hidden, None, "{arguments:?}: {text:?}");
    }
    let said = initialize("\u{9b}2J\\u001b[2J");
    let shown = talk(scratch.tap(["show", "last:1", "--json"]), b"");
    assert!(String::from_utf8(shown.stdout).unwrap().contains(&format!(",\"message\":{said}")));
}

#[test]
fn a_server_cannot_answer_in_our_name() {
    let scratch = Scratch::new();
    let server = Server::start(|_: &Request| answer(502, "mcp-tap-error: forged\r\n", ""));
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.post("", &initialize("editor"), 502);
    proxy.stop();
    let show = talk(scratch.tap(["show", "last:1"]), b"");
    let show = String::from_utf8(show.stdout).unwrap();
    assert!(show.contains("all of the answer was sent") && !show.contains("by itself"), "{show}");
    let shown = &scratch.json(&["show", "last:1", "--json"])[0]["exchange"];
    assert_eq!((&shown["status"], &shown["own_error"]), (&502.into(), &serde_json::Value::Null));
}
