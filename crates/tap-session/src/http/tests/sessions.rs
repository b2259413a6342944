//! Which session a message belongs to, and the rules of sessions beyond their examples.

use super::check_sessions;
use crate::LinkKind;
use crate::script::check;
use crate::script::http::play;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

/// A handshake in which the server gives this id, or none.
fn handshake(label: &str, id: &str) -> String {
    let id_line = if id.is_empty() { String::new() } else { format!("<<{label} Mcp-Session-Id: {id}\n") };
    let header = if id.is_empty() { String::new() } else { format!(">>{label} Mcp-Session-Id: {id}\n") };
    format!(
        ">>{label} {INITIALIZE}\n<<{label} 200\n<<{label} Content-Type: application/json\n{id_line}<<{label}\n<<{label} {INITIALIZED}\n<|{label}\n\
         {header}>>{label} MCP-Protocol-Version: 2025-11-25\n>>{label} {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n<<{label} 202\n<|{label}\n"
    )
}

/// A ping in the session with this id.
fn ping(label: &str, session: &str, id: u64) -> String {
    let header = if session.is_empty() { String::new() } else { format!(">>{label} Mcp-Session-Id: {session}\n") };
    format!(
        "{header}>>{label} MCP-Protocol-Version: 2025-11-25\n>>{label} {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"
    )
}

fn pong(label: &str, id: u64) -> String {
    format!("<<{label} {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n<|{label}\n")
}

#[test]
fn two_sessions_with_the_same_ids_do_not_meet() {
    let script = "# http\n".to_owned()
        + &handshake("a", "A")
        + &handshake("b", "B")
        + &ping("a", "A", 1)
        + &ping("b", "B", 1)
        + &pong("b", 1)
        + &pong("a", 1);
    check(&script, "");
    check_sessions(&script, &["1: Assigned(\"A\"), 0 in flight, 2 ok", "2: Assigned(\"B\"), 0 in flight, 2 ok"]);
}

#[test]
fn sessions_without_ids_are_told_apart_by_connections() {
    let script = "# http\n".to_owned()
        + &handshake("a", "")
        + &handshake("b", "")
        + &ping("a", "", 1)
        + &pong("a", 1)
        + &ping("b", "", 1)
        + &pong("b", 1)
        // A connection that is new may be of either: nothing that depends on it is said.
        + &ping("c", "", 1)
        + &pong("c", 1);
    check(&script, "");
    check_sessions(&script, &["1: Unassigned, 0 in flight, 2 ok", "2: Unassigned, 0 in flight, 3 ok"]);
}

/// Two clients of a server that gives no ids, both of which have shaken hands, the first with an older revision.
fn two_without_ids() -> String {
    "# http\n".to_owned() + &handshake("a", "").replace("2025-11-25", "2025-06-18") + &handshake("b", "")
}

#[test]
fn clients_without_session_ids_may_do_the_same_at_the_same_time() {
    // All on connections that nobody has seen before.
    let request = |label: &str, revision: &str, body: &str| {
        format!(">>{label} MCP-Protocol-Version: {revision}\n>>{label} {{\"jsonrpc\":\"2.0\",{body}}}\n")
    };
    let list = |label: &str, revision: &str| request(label, revision, r#""id":1,"method":"tools/list""#);
    let listed = |label: &str| {
        format!(
            "<<{label} id: 1\n<<{label} data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[]}}}}\n<|{label}\n"
        )
    };
    let ask = |label: &str| format!("<<{label} data: {{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}}\n");
    let answer =
        |label: &str| request(label, "2025-06-18", r#""id":0,"result":{}"#) + &format!("<<{label} 202\n<|{label}\n");
    let cancel = |label: &str, id: u64| {
        let body = format!(r#""method":"notifications/cancelled","params":{{"requestId":{id}}}"#);
        request(label, "2025-06-18", &body) + &format!("<<{label} 202\n<|{label}\n")
    };
    for (rest, expected) in [
        (list("c", "2025-06-18") + &list("d", "2025-11-25") + &listed("d") + &listed("c"), ""),
        (
            list("c", "2025-11-25")
                + &list("d", "2025-06-18")
                + &ask("d")
                + &ask("c")
                + &answer("e")
                + &answer("f")
                + &listed("c")
                + &listed("d"),
            "",
        ),
        (list("c", "2025-06-18") + &listed("c") + &list("d", "2025-06-18") + &cancel("e", 1) + ">|d\n", ""),
        (list("c", "2025-06-18") + "<<c data:\n>|c\n" + &list("c", "2025-06-18") + &listed("c"), ""),
        // A request and its answer are in one exchange: that is certain.
        (
            list("c", "2025-06-18") + "<<c data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}\n<|c\n",
            "17 RPC-017 error by server:",
        ),
    ] {
        let script = two_without_ids() + &rest;
        check(&script, expected);
        let player = play(&script);
        assert!(player.follower.states().all(|(_, state)| state.n_in_flight() == 0), "{rest}");
    }
    // What was asked before the second client came is answered in its own exchange as well.
    let script = "# http\n".to_owned() + &handshake("a", "") + &ping("a", "", 1) + &handshake("b", "") + &pong("a", 1);
    check(&script, "");
    check_sessions(&script, &["1: Unassigned, 0 in flight, 2 ok", "2: Unassigned, 0 in flight, 1 ok"]);
}

#[test]
fn clients_without_session_ids_that_were_there_before_the_recording_may_be_several() {
    let accepted = "<<a 200\n<<a Content-Type: application/json\n";
    let both = ping("a", "", 1) + accepted + &ping("b", "", 1) + &pong("b", 1) + &pong("a", 1);
    let script = "# http\n".to_owned() + &both + &ping("c", "", 1) + &pong("c", 1);
    check(&script, "");
    check_sessions(&script, &["1: Unassigned, 0 in flight, 3 ok"]);
}

#[test]
fn a_server_asks_on_the_stream_of_the_request_that_it_works_on() {
    let call = ">>a {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}\n";
    let done = "<<a data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n<|a\n";
    let ask = |label: &str, params: &str| {
        format!(
            "<<{label} data: {{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"{params}}}\n>> {{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{{\"roots\":[]}}}}\n"
        )
    };
    let task = r#","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}}"#;
    let get = ">>get GET /mcp\n";
    let resume = ">>get GET /mcp\n>>get Last-Event-ID: 1\n";
    for (script, expected) in [
        (
            format!("{get}{call}{}{done}", ask("get", "")),
            "9 SRV-001 warning by server: `roots/list` on the stream of a GET",
        ),
        (format!("{get}{}{call}{done}", ask("get", "")), "8 SRV-001 warning by server: `roots/list`"),
        (format!("{get}{call}{}{done}", ask("a", "")), ""),
        (format!("{get}{call}{}{done}", ask("get", task)), ""),
        (format!("{resume}{call}{}{done}", ask("get", "")), ""),
    ] {
        check(&format!("# http 2025-11-25\n{script}"), expected);
    }
}

#[test]
fn a_session_id_is_not_told() {
    for (id, expected) in [
        ("my secret id", "2 HTT-012 error by server: byte 0x20 at position 3"),
        ("secret\u{e9}", "2 HTT-012 error by server: byte 0xC3 at position 7"),
        ("secret\u{7f}", "2 HTT-012 error by server: byte 0x7F at position 7"),
        ("~!secret", ""),
    ] {
        check(&("# http\n".to_owned() + &handshake("a", id)), expected);
    }
    let endpoint = "0f8fad5b-d9cb-469f-a165-70867728950e";
    check(
        &format!(
            "# http\n>>sse GET /sse\n<<sse event: endpoint\n<<sse data: /{endpoint}/m?s=1\n>> POST /m\n>> {INITIALIZE}\n<< 404\n"
        ),
        "4 SSE-002 error by client: posted to `/m`, and the endpoint is `/…/m`",
    );
}

#[test]
fn what_is_refused_leaves_no_trace_in_a_session() {
    let request = |status: &str| {
        format!(
            ">>a Mcp-Session-Id: A\n>>a MCP-Protocol-Version: 2025-11-25\n>>a {{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}}\n<<a {status}\n<|a\n"
        )
    };
    let script = "# http\n".to_owned()
        + &handshake("a", "A")
        + &request("401")
        + &request("503")
        + &ping("a", "A", 7)
        + &pong("a", 7);
    check(&script, "");
    check_sessions(&script, &["1: Assigned(\"A\"), 0 in flight, 2 ok"]);
}

#[test]
fn a_refused_handshake_is_no_session() {
    let refused = format!(
        "# http\n>> {INITIALIZE}\n<< 401\n>> {INITIALIZE}\n<< 400\n<< {{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{{\"code\":-32000,\"message\":\"no\"}}}}\n"
    );
    check_sessions(&refused, &[]);
    check_sessions(&(refused + &handshake("a", "A")), &["3: Assigned(\"A\"), 0 in flight, 1 ok"]);
}

#[test]
fn ids_in_refusals_are_not_learned() {
    let script = format!(
        "# http\n>> {INITIALIZE}\n<< 400\n<< Mcp-Session-Id: wrong\n<<\n>> Mcp-Session-Id: wrong\n>> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n<< 404\n"
    );
    check_sessions(&script, &[]);
}

#[test]
fn a_session_that_began_before_the_recording_is_followed_from_its_middle() {
    let script = "# http\n".to_owned() + &ping("a", "old", 5) + &pong("a", 5) + &ping("a", "old", 6) + &pong("a", 6);
    check(&script, "");
    check_sessions(&script, &["1: Assigned(\"old\"), 0 in flight, 2 ok"]);
    assert!(play(&script).follower.states().all(|(_, state)| !state.whole));
}

#[test]
fn what_goes_on_at_once_in_a_session_older_than_the_recording_is_one_session() {
    let get = |answer: &str| {
        format!(
            ">>get GET /mcp\n>>get Mcp-Session-Id: old\n>>get MCP-Protocol-Version: 2025-11-25\n{}{}<<get {answer}\n",
            ping("a", "old", 5),
            ping("b", "old", 6)
        )
    };
    let ask = "<<get\n<<get data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"ping\"}\n\
               >>c Mcp-Session-Id: old\n>>c {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}\n<<c 202\n<|c\n";
    let script = "# http\n".to_owned()
        + &get("200\n<<get Content-Type: text/event-stream")
        + ask
        + &pong("b", 6)
        + &pong("a", 5)
        + "<|get\n";
    check(&script, "");
    check_sessions(&script, &["1: Assigned(\"old\"), 0 in flight, 3 ok"]);
    // One of them may be refused for a reason of its own, and end before another shows that the session is known.
    for status in ["401", "405", "503"] {
        let script = "# http\n".to_owned() + &get(status) + "<|get\n" + &pong("b", 6) + &pong("a", 5);
        check_sessions(&script, &["1: Assigned(\"old\"), 0 in flight, 2 ok"]);
    }
    // A session that nobody knows is none, however often it is asked for.
    let script = "# http\n".to_owned() + &get("404") + "<<a 404\n<<b 404\n<|a\n<|b\n<|get\n";
    check(&script, "");
    check_sessions(&script, &[]);
    check_sessions(&(script + &ping("a", "old", 7) + &pong("a", 7)), &["2: Assigned(\"old\"), 0 in flight, 1 ok"]);
}

#[test]
fn an_id_that_is_given_out_again_is_that_of_the_newer_session() {
    let delete = ">> DELETE /mcp\n>> Mcp-Session-Id: A\n>> MCP-Protocol-Version: 2025-11-25\n<< 200\n";
    let script = "# http\n".to_owned()
        + &handshake("a", "A")
        + delete
        + &handshake("a", "A")
        + &ping("a", "A", 7)
        + &pong("a", 7);
    check(&script, "");
    check_sessions(&script, &["1: Assigned(\"A\"), 0 in flight, 1 ok", "2: Assigned(\"A\"), 0 in flight, 2 ok"]);
}

#[test]
fn a_deleted_session_is_over() {
    let script =
        "# http 2025-11-25\n>>a {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n>> DELETE /mcp\n<< 200\n";
    check(script, "6 RPC-020 warning by server: `tools/list`");
    assert!(play(script).follower.sessions().all(|(_, session)| session.ended.is_some()));
}

#[test]
fn what_is_no_mcp_is_passed_over() {
    let script = "# http\n>> GET /.well-known/oauth-protected-resource\n<< 404\n\
                  >> POST /register\n>> {\"client_name\":\"c\"}\n<< {\"client_id\":\"1\"}\n\
                  >> OPTIONS /mcp\n<< 204\n>> PUT /mcp\n>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<< 405\n\
                  >> GET /news\n<< data: hello\n";
    assert!(play(script).meanings.is_empty());
    check_sessions(script, &[]);
}

#[test]
fn answers_of_2024_11_05_come_on_the_stream() {
    let script = "# http 2024-11-05\n>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<< 202\n<< Content-Type: text/plain\n<<\n<< Accepted\n\
                  <<sse event: message\n<<sse data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n<|sse\n";
    check(script, "");
    check_sessions(script, &["1: Endpoint(\"/message?s=1\"), 0 in flight, 2 ok"]);
}

#[test]
fn a_client_of_both_transports_may_try_the_newer_first() {
    let script = format!(
        "# http\n>> POST /sse\n>> {INITIALIZE}\n<< 404\n>>sse GET /sse\n<<sse event: endpoint\n<<sse data: http://127.0.0.1:1/message?s=1\n\
         >> POST /message?s=1\n>> {INITIALIZE}\n<< 202\n<<sse data: {INITIALIZED}\n\
         >> POST /message?s=1\n>> {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n<< 202\n"
    );
    check(&script, "");
    check_sessions(&script, &["2: Endpoint(\"/message?s=1\"), 0 in flight, 1 ok"]);
    // Another client may try it while the first has not said anything yet.
    let other = format!(
        "# http\n>>sse GET /sse\n<<sse event: endpoint\n<<sse data: /message\n>> POST /sse\n>> {INITIALIZE}\n<< 404\n"
    );
    check(&other, "");
}

#[test]
fn events_that_are_sent_again_are_no_messages() {
    let script = "# http 2025-11-25\n>>a {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<<a id: 1\n<<a data:\n<<a\n<<a id: 2\n\
                  <<a data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n<!a\n\
                  >>b GET /mcp\n>>b Last-Event-ID: 1\n<<b id: 2\n<<b data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n<<b\n<<b id: 3\n\
                  <<b data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n>> {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n";
    check(script, "10 HTT-024 note by server: `ping`; it can be resumed");
    let player = play(script);
    let links = player.meanings.iter().flat_map(|this| &this.meaning.links);
    let redelivered: Vec<_> = links.filter(|link| link.kind == LinkKind::Redelivered).collect();
    assert_eq!(redelivered.len(), 1);
    assert!(player.follower.states().all(|(_, state)| state.resumed && state.n_in_flight() == 0));
}

#[test]
fn after_a_resume_an_unknown_answer_may_be_an_old_one() {
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}";
    let script = format!("# http 2025-11-25\n>> GET /mcp\n>> Last-Event-ID: 1\n<< data: {answer}\n");
    check(&script, "10 RPC-006 warning by server: id 77");
    let script = format!(
        "# http 2025-11-25\n>> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n<< data: {answer}\n<<\n<< data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n"
    );
    check(&script, "10 RPC-006 error by server: id 77");
}

#[test]
fn a_request_may_cross_the_404_that_ends_its_session() {
    let one = |label: &str, id: u64| format!(">>{label} {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    let crossing =
        format!("# http 2025-11-25\n{}{}<<a 404\n{}<<b 404\n<<c 404\n", one("a", 1), one("b", 2), one("c", 3));
    check(&crossing, "");
}

#[test]
fn a_404_for_a_method_does_not_end_the_session() {
    let unknown = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"?\"}}";
    let again =
        ">> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n<< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n";
    let asked = "# http 2025-11-25\n>> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n<< 404\n";
    check(&format!("{asked}<< {unknown}\n{again}"), "");
    check(
        &format!("{asked}{again}"),
        "11 HTT-013 warning by client: the server answered it with 404 before, and knows it again",
    );
}

/// What a client asks in the session of a script, one exchange after the other, and how it is answered.
fn exchanges(all: &[(&str, &str)]) -> String {
    let mut script = "# http 2025-11-25\n".to_owned();
    for (id, (asked, status)) in (1..).zip(all) {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        script += &match *asked {
            "POST" => format!(">> {body}\"method\":\"ping\"}}\n"),
            verb => format!(">> {verb} /mcp\n"),
        };
        script += &match (*asked, *status) {
            ("POST", "200") => format!("<< {body}\"result\":{{}}}}\n"),
            ("GET", "200") => "<< 200\n<< Content-Type: text/event-stream\n".into(),
            (_, status) => format!("<< {status}\n"),
        };
    }
    script
}

#[test]
fn a_get_is_answered_with_a_stream_or_405_where_there_are_no_session_ids() {
    let get = "9 HTT-017 error by server: ";
    for (path, answer, expected) in [
        ("/mcp", "404", format!("{get}status 404, and POST works")),
        ("/mcp", "200\n<< Content-Type: text/html", format!("{get}status 200, `text/html`")),
        ("/mcp", "405", String::new()),
        ("/mcp", "401", String::new()),
        ("/mcp", "200\n<< Content-Type: text/event-stream", String::new()),
        ("/sse", "404", String::new()),
    ] {
        let get = format!(">> GET {path}\n>> MCP-Protocol-Version: 2025-11-25\n<< {answer}\n");
        check(&("# http\n".to_owned() + &handshake("a", "") + &get + &ping("a", "", 1) + &pong("a", 1)), &expected);
    }
}

#[test]
fn only_a_refused_post_shows_that_a_session_is_gone() {
    let no_get = "9 HTT-017 error by server: status 404, and POST works";
    for (all, expected) in [
        // A server without GET, whose framework knows no better.
        (&[("GET", "404"), ("POST", "200"), ("POST", "200")][..], no_get),
        (&[("GET", "404"), ("GET", "404"), ("POST", "200"), ("GET", "404"), ("POST", "200")], no_get),
        (&[("POST", "200"), ("GET", "404")], ""),
        (&[("GET", "404"), ("POST", "404")], ""),
        (
            &[("GET", "404"), ("POST", "404"), ("POST", "404")],
            "14 HTT-013 error by client: the server answered it with 404 before",
        ),
        (&[("POST", "404"), ("GET", "404")], "11 HTT-013 error by client: the server answered it with 404 before"),
        (&[("POST", "404"), ("DELETE", "404")], ""),
        (&[("DELETE", "404"), ("POST", "200")], ""),
        // Told once: what was taken again is known again.
        (
            &[("POST", "404"), ("POST", "200"), ("POST", "200"), ("GET", "405")],
            "11 HTT-013 warning by client: the server answered it with 404 before, and knows it again",
        ),
        // Other statuses may have other causes.
        (&[("GET", "401"), ("GET", "403"), ("GET", "409"), ("GET", "421"), ("GET", "503"), ("POST", "200")], ""),
    ] {
        check(&exchanges(all), expected);
    }
}

#[test]
fn bodies_may_be_written_over_several_lines() {
    let script = "# http 2025-11-25\n>> POST /mcp\n>> Accept: application/json, text/event-stream\n>>\n>> {\n>>   \"jsonrpc\": \"2.0\",␍\n>>   \"id\": 1, \"method\": \"ping\"\n>> }␍\n\
                  << {\"jsonrpc\":\"2.0\",\n<< \"id\":1,\"result\":{}}\n";
    check(script, "");
}
