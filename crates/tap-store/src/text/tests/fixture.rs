//! Tests of the fixture profile: the same conversation gives the same file, and a fixture is read like a recording.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use super::*;

fn fixture_of(store: &Store) -> String {
    let options = ExportOptions { profile: Profile::Fixture, fold_columns: FOLD_COLUMNS, ..ExportOptions::default() };
    exported_as(store, &options)
}

/// All but the last record, which has the times.
fn without_times(fixture: &str) -> &str {
    fixture.rsplit_once("{\"gaps_us\"").unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_fixture_of_a_fixture_is_the_same(segments in any_segments(), end in any_end()) {
        let (store, _) = stored(&segments, end);
        let text = fixture_of(&store);
        let (again, session) = imported(&text).unwrap();
        again.catch_up(session.session, |_| {}).unwrap();
        prop_assert_eq!(fixture_of(&again), text);
        let messages = |store: &Store, id| -> Vec<_> {
            recorded(store, id).into_iter().filter_map(|recorded| match recorded {
                // What a debugger did, as far as it counts: what it sent.
                Recorded::Frame(Frame { origin: Origin::Act(deed), .. }) if super::super::acts::ONLY_TIME.contains(&deed) => None,
                Recorded::Frame(frame) if frame.stream != Stream::Stderr => {
                    Some((frame.stream, frame.origin, frame.message()))
                }
                _ => None,
            }).collect()
        };
        let id = store.sessions().unwrap()[0].id;
        prop_assert_eq!(messages(&again, session.session), messages(&store, id));
    }

    #[test]
    fn a_fixture_of_exchanges_is_the_same_again(
        (is_damaged, pieces) in any::<bool>().prop_flat_map(|is_damaged| {
            (Just(is_damaged), crate::http_traffic::pieces(is_damaged))
        }),
        end in any_end(),
    ) {
        let segments = crate::http_traffic::pack(&pieces, &[]);
        let store = Store::in_memory().unwrap();
        let start = crate::traffic::http_start("a", None);
        let id = store.put_in(&start, segments.iter().cloned().map(Ok), || end.clone()).unwrap();
        store.catch_up(id, |_| {}).unwrap();
        let text = fixture_of(&store);
        let (again, session) = imported(&text).unwrap();
        again.catch_up(session.session, |_| {}).unwrap();
        let second = fixture_of(&again);
        // Requests are complete with their bodies, and not a little later: of exchanges that cross, who talked may be told
        // otherwise. Of those that are torn, when as well, and a body without a head may come at another place.
        let records = |text: &str| -> Vec<String> {
            let mut lines: Vec<String> = text.split("\n{").skip(1).map(str::to_owned).collect();
            if is_damaged {
                lines.pop();
                lines.sort();
            }
            lines
        };
        prop_assert_eq!(records(&second), records(&text));
    }
}

const HANDSHAKE: &str = r#"
-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1.0"}}}
!! started in 12 ms
<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"weather","version":"2"}}}
<- noise
end ->
"#;

#[test]
fn a_fixture_is_what_its_page_says() {
    let end = SessionEnd { at_ns: 12_345_678_000, reason: Some(EndReason::Exited(0)), lost_bytes: 0 };
    let (store, _) = stored(&segments(HANDSHAKE), Some(end));
    let expected = r#"{"mcp-tap":"recording/1","profile":"fixture","server":"a","command":["server","--flag"],
 "client":"host 1.0","revision":"2025-11-25","transport":"stdio"}
{"to":"server","msg":{
 "jsonrpc":"2.0",
 "id":1,
 "method":"initialize",
 "params":{
  "protocolVersion":"2025-11-25",
  "capabilities":{},
  "clientInfo":{"name":"host","version":"1.0"}
 }
}}
{"to":"client","msg":{
 "jsonrpc":"2.0",
 "id":1,
 "result":{
  "protocolVersion":"2025-11-25",
  "capabilities":{},
  "serverInfo":{"name":"weather","version":"2"}
 }
}}
{"to":"client","raw":"noise"}
{"end":"exited","exit":0}
{"gaps_us":[1000,2000,1000,12300000]}
"#;
    assert_eq!(fixture_of(&store), expected);
    let (again, session) = imported(expected).unwrap();
    again.catch_up(session.session, |_| {}).unwrap();
    let start = &again.sessions().unwrap()[0].start;
    assert_eq!((start.opened_unix_ns, start.recorded_by.as_str(), session.profile), (0, "fixture", Profile::Fixture));
    let times: Vec<u64> = again.frames(session.session, 1).map(|frame| frame.unwrap().at_ns).collect();
    assert_eq!(times, [1_000_000, 3_000_000, 4_000_000]);
}

#[test]
fn the_same_conversation_at_another_time_in_other_pieces_gives_the_same_fixture() {
    let script = HANDSHAKE.trim();
    let slow: String = script.lines().flat_map(|line| ["!! still here\n", line, "\n"]).collect();
    let [fast, slow] = [script, &slow].map(|script| fixture_of(&stored(&segments(script), None).0));
    assert_ne!(fast, slow);
    assert_eq!(without_times(&fast), without_times(&slow));
}

#[test]
fn over_http_only_what_has_a_meaning_is_kept() {
    use crate::http_traffic::{exchange, gzip};
    let conversation = |session: &str, stand_in: &str, event: &str, comment: &str, is_compressed: bool| {
        let call = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#;
        let post = [("content-type", "application/json"), ("user-agent", comment), ("mcp-session-id", stand_in)];
        let mut stream = vec![("content-type", "text/event-stream"), ("date", comment), ("mcp-session-id", stand_in)];
        let body = format!(
            ":{comment}\n\nevent: endpoint\ndata: /messages?sessionId={session}\n\nid: {event}\ndata: {{\"id\":2,\"result\":{{}}}}\n\n"
        );
        let mut body = body.into_bytes();
        if is_compressed {
            stream.push(("content-encoding", "gzip"));
            body = gzip(&body);
        }
        let path = format!("POST /mcp?sessionId={stand_in}");
        let again = [("last-event-id", event)];
        let pieces = [
            exchange(1, (&path, &post, call), (200, &stream, &body)),
            exchange(2, ("GET /mcp", &again, b""), (405, &[("allow", "POST")], b"")),
        ];
        fixture_of(&crate::traffic::http_stored(&crate::http_traffic::pack(&pieces.concat(), &[])).0)
    };
    let expected = r#"{"mcp-tap":"recording/2","profile":"fixture","server":"a","command":["http://127.0.0.1:1/mcp"],
 "transport":"http"}
{"http":1,"request":"POST /mcp?sessionId=session-1 HTTP/1.1",
 "headers":[["content-type","application/json"],["mcp-session-id","session-1"]]}
{"http":1,"to":"server","msg":{"jsonrpc":"2.0","id":2,"method":"tools/call"}}
{"http":1,"status":200,
 "headers":[["content-type","text/event-stream"],["mcp-session-id","session-1"]]}
{"http":1,"to":"client","raw":"event: endpoint\ndata: /messages?sessionId=session-1\n\n"}
{"http":1,"to":"client","before":"id: event-1\ndata: ","after":"\n\n","msg":{"id":2,"result":{}}}
{"http":2,"request":"GET /mcp HTTP/1.1","headers":[["last-event-id","event-1"]]}
{"http":2,"status":405,"headers":[["allow","POST"]]}
"#;
    let first = conversation("0123-45", "redacted-0123456789abcdef", "a_1", "now", false);
    let header_end = first.find("{\"http\"").unwrap();
    assert_eq!(without_times(&first)[header_end..], expected[expected.find("{\"http\"").unwrap()..]);
    let second = conversation("6789-ab", "redacted-fedcba9876543210", "b_9", "later", true);
    assert_eq!(without_times(&first), without_times(&second));
}

#[test]
fn a_header_keeps_its_rules() {
    let text =
        "{\"mcp-tap\":\"recording/1\",\"profile\":\"fixture\",\n \"rules\":{\n  \"ignore\":[\"arg.x\"], \"n\":1e3}}\n";
    let (store, done) = imported(text).unwrap();
    assert_eq!(done.rules.as_deref(), Some(r#"{"ignore":["arg.x"],"n":1e3}"#));
    let options = ExportOptions { profile: Profile::Fixture, rules: done.rules, ..ExportOptions::default() };
    assert!(exported_as(&store, &options).contains(r#""rules":{"ignore":["arg.x"],"n":1e3}"#));
}

/// The newest session as a fixture without secrets.
fn redacted_fixture(store: &Store) -> (String, Vec<Replaced>) {
    let options = ExportOptions {
        profile: Profile::Fixture,
        stderr: true,
        fold_columns: FOLD_COLUMNS,
        ..ExportOptions::default()
    };
    let mut redactor = Redactor::new(Vec::new(), vec!["/root".into()]);
    let (session, mut out) = (store.sessions().unwrap().remove(0), Vec::new());
    let exported = export(store, &session, &options, Some(&mut redactor), &mut out, Path::new("out")).unwrap();
    (String::from_utf8(out).unwrap(), exported.replaced)
}

const SECRETS: &str = r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"password":"hunter2","n":1e3,"path":"/home/me/x"}}}
!! DB_PASSWORD=hunter2 in /home/me
<- {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"token\":\"abc\",\"user\":\"me\"}"}]}}
<- «any»
"#;

#[test]
fn a_fixture_has_markers_for_secrets_and_says_which() {
    let (store, _) = stored(&segments(SECRETS), None);
    let expected = r#"{"mcp-tap":"recording/1","profile":"fixture","server":"a","command":["server","--flag"],
 "transport":"stdio","redacted":{"«home»":2,"«secret 1»":2,"«secret 2»":1}}
{"to":"server","msg":{
 "jsonrpc":"2.0",
 "id":1,
 "method":"tools/call",
 "params":{"name":"a","arguments":{"password":"«secret 1»","n":1e3,"path":"«home»/x"}}
}}
{"stderr":"DB_PASSWORD=«secret 1» in «home»"}
{"to":"client","msg":{
 "jsonrpc":"2.0",
 "id":1,
 "result":{"content":[{"type":"text","text":"{\"token\":\"«secret 2»\",\"user\":\"me\"}"}]}
}}
{"to":"client","raw":"«any»","literal":true}
{"gaps_us":[1000,1000,1000,1000]}
"#;
    let (text, replaced) = redacted_fixture(&store);
    let mut lines: Vec<&str> = text.lines().collect();
    let expected: Vec<&str> = expected.lines().collect();
    assert!(lines[1].contains("\"«secret 1»\":2") && lines[1].contains("\"«home»\":2"), "{}", lines[1]);
    lines[1] = expected[1];
    assert_eq!(lines, expected);
    assert_eq!(replaced.iter().map(|replaced| replaced.count).sum::<u64>(), 5);
}

fn rewritten(text: &str, fold_columns: usize, redactor: Option<&mut Redactor>) -> (String, Rewritten) {
    let mut out = Vec::new();
    let done = rewrite(Cursor::new(text), Path::new("a.mcprec"), fold_columns, redactor, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), done)
}

#[test]
fn what_is_written_anew_keeps_all_that_it_says() {
    let text = r#"{"mcp-tap":"recording/1","profile":"fixture","later":{"a":1e400,"a":2},"rules":{"ignore":["arg.x"]}}
{"note":"the interesting part","to":"someone"}
{"to":"server","literal":true,"hue":"blue","msg":{"id":1,"method":"a","params":{"t":"«any»"}}}
{"to":"client","msg":{"a": "b", "token": "x"}}
{"weather":"rain"}
{"gaps_us":[0,5]}
"#;
    let (same, done) = rewritten(text, 0, None);
    assert_eq!(same, text);
    assert_eq!(
        (done.n_records, done.unknown.iter().map(String::as_str).collect::<Vec<_>>()),
        (5, vec!["hue", "later", "weather"])
    );
    let (folded, _) = rewritten(text, 30, None);
    assert!(folded.lines().count() > 12, "{folded}");
    assert_eq!(rewritten(&folded.replace('\n', "\r\n"), 0, None).0, text);
    let (clean, _) = rewritten(text, 0, Some(&mut Redactor::default()));
    assert_eq!(
        clean,
        text.replace("\"x\"}}", "\"«secret 1»\"}}")
            .replace("[\"arg.x\"]}", "[\"arg.x\"]},\"redacted\":{\"«secret 1»\":1}")
    );
    assert_eq!(rewritten(&clean, 0, Some(&mut Redactor::default())).0, clean);
}

#[test]
fn a_secret_is_replaced_wherever_it_stands_again() {
    let segments = segments(
        r#"
!! will log in with correct horse
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"password":"correct horse"}}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"logged in with correct horse"}]}}
"#,
    );
    let (store, _) = stored(&segments, None);
    let (text, replaced) = redacted_fixture(&store);
    assert!(!text.contains("correct horse"), "{text}");
    assert_eq!(text.matches("«secret 1»").count(), 4, "{text}");
    assert_eq!(
        replaced.iter().map(|replaced| (replaced.marker.as_str(), replaced.count)).collect::<Vec<_>>(),
        [("«secret 1»", 3)]
    );
    assert!(text.contains(r#""redacted":{"«secret 1»":3}"#), "{text}");
    let lossless = exported_as(&store, &ExportOptions::default());
    let (clean, done) = rewritten(&lossless, 0, Some(&mut Redactor::new(Vec::new(), Vec::new())));
    assert!(!clean.contains("correct horse"), "{clean}");
    assert_eq!(done.replaced.iter().find(|it| it.marker == "«secret 1»").map(|it| it.count), Some(3));
    assert_eq!(rewritten(&clean, 0, Some(&mut Redactor::default())).0, clean);
}

#[test]
fn secrets_are_found_with_their_lines_and_a_fixture_has_none() {
    let (store, _) = stored(&segments(SECRETS), None);
    let lossless = exported_as(&store, &ExportOptions { fold_columns: 40, ..ExportOptions::default() });
    let found = |text: &str| {
        let mut found = Vec::new();
        let mut redactor = Redactor::default();
        find_secrets(Cursor::new(text), Path::new("a"), &mut redactor, &mut |line, finding| {
            let written = text.lines().nth(line as usize - 1).unwrap();
            found.push(format!("{} in {}", finding.path, written.trim()));
        })
        .unwrap();
        found
    };
    let expected = [
        r#"folder in "folder":"/home/x","#,
        r#"params.arguments.password in "password":"hunter2","#,
        r#"params.arguments.path in "path":"/home/me/x""#,
        r#"stderr in {"stderr":"DB_PASSWORD=hunter2 in /home/me","#,
        r#"stderr in {"stderr":"DB_PASSWORD=hunter2 in /home/me","#,
        r#"result.content[0].text.token in "text":"{\"token\":\"abc\",\"user\":\"me\"}""#,
    ];
    assert_eq!(found(&lossless), expected);
    let bytes = |text: &str| BASE64.encode([text.as_bytes(), b"\xff"].concat());
    let (secret, plain) = (bytes("x DB_PASSWORD=hunter2"), bytes("nothing at all"));
    let with_bytes = format!(
        r#"{{"mcp-tap":"recording/1","profile":"fixture"}}
{{"to":"client",
 "base64":"{secret}"}}
{{"stderr_base64":"{secret}"}}
{{"stderr_base64":"{plain}"}}
{{"to":"server","base64":"{plain}"}}
"#
    );
    let expected =
        [format!(r#"base64 in "base64":"{secret}"}}"#), format!(r#"stderr_base64 in {{"stderr_base64":"{secret}"}}"#)];
    assert_eq!(found(&with_bytes), expected);
    let (clean, done) = rewritten(&with_bytes, 0, Some(&mut Redactor::default()));
    assert_eq!((found(&clean), done.replaced[0].count), (Vec::new(), 2), "{clean}");
    assert_eq!(clean.matches(&plain).count(), 2);
    assert_eq!(found(&redacted_fixture(&store).0), [""; 0]);
}
