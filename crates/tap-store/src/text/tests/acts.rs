//! That what a debugger did is kept, and still names what it was done to.

use super::*;
use crate::http_traffic::{What, exchange, pack};
use crate::traffic::{http_stored, told};
use tap_frame::{Act, Deed};

const REQUEST: &str = r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"token":"ghp_0123456789abcdefghijklmnopqrstuvwxyz"}}}"#;

/// Where the second line to the server begins.
fn second() -> usize {
    REQUEST.len() + 1
}

fn script() -> String {
    let second = second();
    format!(
        r#"
-> {REQUEST}
!! ready
@@ held -> 0
-> {{"id":2,"method":"tools/call","params":{{"name":"b"}}}}
@@ edited -> {second} {{"id":2,"method":"tools/call","params":{{"name":"c"}}}}
@@ released -> 0
<- {{"id":2,"result":{{}}}}
@@ answered -> 0 {{"id":1,"error":{{"code":-1,"message":"no"}}}}
@@ injected -> none {{"id":"tap-1","method":"ping"}}
@@ closed <- none
"#
    )
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn acts_are_records_that_name_their_message_by_its_number() {
    let (store, id) = stored(&segments(&script()), None);
    let text = exported(&store, id);
    let lines = lines(&text);
    assert!(lines[0].starts_with(r#"{"mcp-tap":"recording/3","profile":"lossless""#), "{}", lines[0]);
    let expected = [
        r#"{"to":"server","act":"held","by":"breakpoint 1","of":1,"at":0.003000000}"#,
        r#"{"to":"server","act":"edited","by":"breakpoint 1","of":4,"at":0.005000000,"msg":{"id":2,"method":"tools/call","params":{"name":"c"}}}"#,
        r#"{"to":"server","act":"released","by":"breakpoint 1","of":1,"at":0.006000000}"#,
        r#"{"to":"client","act":"answered","by":"breakpoint 1","of":1,"at":0.008000000,"msg":{"id":1,"error":{"code":-1,"message":"no"}}}"#,
        r#"{"to":"server","act":"injected","by":"breakpoint 1","at":0.009000000,"msg":{"id":"tap-1","method":"ping"}}"#,
        r#"{"to":"client","act":"closed","by":"breakpoint 1","at":0.010000000}"#,
    ];
    let acts: Vec<&str> = lines.iter().copied().filter(|line| line.contains("\"act\"")).collect();
    assert_eq!(acts, expected);
    let (again, imported) = imported(&text).unwrap();
    assert_eq!(exported(&again, imported.session), text);
    assert_eq!(told(&again), told(&store));
}

#[test]
fn a_fixture_keeps_what_counts_and_names_it_right_although_lines_and_lengths_are_others() {
    let (store, _) = stored(&segments(&script()), None);
    let options = ExportOptions { profile: Profile::Fixture, ..ExportOptions::default() };
    let mut redactor = Redactor::default();
    let mut out = Vec::new();
    let session = &store.sessions().unwrap()[0];
    export(&store, session, &options, Some(&mut redactor), &mut out, Path::new("out")).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("ghp_"), "{text}");
    let acts: Vec<&str> = text.lines().filter(|line| line.contains("\"act\"")).collect();
    let expected = [
        r#"{"to":"server","act":"edited","by":"breakpoint 1","of":2,"msg":{"id":2,"method":"tools/call","params":{"name":"c"}}}"#,
        r#"{"to":"client","act":"answered","by":"breakpoint 1","of":1,"msg":{"id":1,"error":{"code":-1,"message":"no"}}}"#,
        r#"{"to":"server","act":"injected","by":"breakpoint 1","msg":{"id":"tap-1","method":"ping"}}"#,
        r#"{"to":"client","act":"closed","by":"breakpoint 1"}"#,
    ];
    assert_eq!(acts, expected);
    let (again, imported) = imported(&text).unwrap();
    again.catch_up(imported.session, |_| {}).unwrap();
    assert_eq!(again.kept_back(imported.session).unwrap().into_iter().collect::<Vec<_>>(), [1, 2]);
    let once_more = exported_as(&again, &options);
    assert_eq!(once_more.lines().filter(|line| line.contains("\"act\"")).collect::<Vec<_>>(), expected);
}

#[test]
fn what_was_done_to_a_chosen_message_comes_with_it() {
    let (store, _) = stored(&segments(&script()), None);
    let text = exported_as(&store, &part_of(4..=4, 1));
    assert_eq!(text.lines().filter(|line| line.contains("\"act\"")).count(), 1, "{text}");
    assert!(text.contains(r#""act":"edited","by":"breakpoint 1","of":1,"#), "{text}");
}

#[test]
fn acts_that_make_no_sense_are_refused_with_their_line() {
    let header = r#"{"mcp-tap":"recording/3"}"#;
    let message = r#"{"to":"server","msg":{"id":1,"method":"a"}}"#;
    for (act, problem) in [
        (r#"{"to":"server","act":"praised","of":1}"#, "`act` must be what was done"),
        (r#"{"to":"server","act":"dropped","of":2}"#, "`of` must be the number of a record before this one"),
        (r#"{"to":"client","act":"dropped","of":1}"#, "`of` is a message that went another way"),
        (r#"{"act":"dropped","of":1}"#, "`to` must be server or client"),
        (r#"{"to":"server","act":"dropped","of":-1}"#, "not a record of what was done"),
    ] {
        let error = imported(format!("{header}\n{message}\n{act}\n")).err().unwrap();
        let StoreError::Text { line, problem: told, .. } = &error else { panic!("{error}") };
        assert_eq!(*line, 3);
        assert!(told.contains(problem), "{told}");
    }
}

#[test]
fn acts_over_http_are_kept_with_their_exchange() {
    let json: &[(&str, &str)] = &[("content-type", "application/json")];
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
    let edited = |deed, stream, sent: &'static [u8]| Act {
        message: Some(0),
        bytes: sent.into(),
        ..Act::new(deed, stream, "breakpoint 1")
    };
    let mut pieces = exchange(7, ("POST /mcp", json, request), (200, json, answer));
    let body =
        pieces.iter().position(|piece| matches!(piece, What::Http(_, tap_frame::HttpPart::RequestEnd, _))).unwrap();
    let changed = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    pieces.insert(body + 1, What::Act(7, edited(Deed::Edited, Stream::ToServer, changed)));
    let last = pieces.len() - 1;
    pieces
        .insert(last, What::Act(7, edited(Deed::Edited, Stream::ToClient, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#)));
    let (store, id) = http_stored(&pack(&pieces, &[]));
    let text = exported(&store, id);
    assert_eq!(text.lines().filter(|line| line.contains("\"act\":\"edited\"")).count(), 2, "{text}");
    let (again, imported) = imported(&text).unwrap();
    again.catch_up(imported.session, |_| {}).unwrap();
    assert_eq!(exported(&again, imported.session), text);
    assert_eq!(told(&again), told(&store));
    let rows = again.list(imported.session, crate::ListKind::Frames, crate::Part::From(0), 99).unwrap();
    let told: Vec<String> = rows
        .iter()
        .map(|listed| {
            let done = listed.row.done.as_ref().unwrap();
            let other = done.other.unwrap().seq;
            format!("{} {} {} {} {other}", listed.row.at.seq, listed.row.kind.name(), done.deed.name(), done.made)
        })
        .collect();
    let expected =
        ["1 request edited false 2", "2 request edited true 1", "3 result edited false 4", "4 result edited true 3"];
    assert_eq!(told, expected);
    let session = &again.sessions().unwrap()[0];
    assert_eq!((session.digest.n_messages, session.digest.n_calls, session.digest.n_errors), (2, 1, 0));
}
