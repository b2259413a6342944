//! Which recorded request a live one is.

use super::*;

const TWO_READS: &str = r#"-> {"id":1,"method":"tools/list"}
<- {"id":1,"result":{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"write"}]}}
-> {"id":2,"method":"tools/call","params":{"name":"read","arguments":{"a":1}}}
<- {"id":2,"result":{"n":1}}
-> {"id":3,"method":"tools/call","params":{"name":"write","arguments":{"a":1}}}
<- {"id":3,"result":{"n":2}}
-> {"id":4,"method":"tools/call","params":{"name":"read","arguments":{"a":1}}}
<- {"id":4,"result":{"n":3}}
"#;

const LIST: &str = r#"-> {"id":1,"method":"tools/list","params":{}}
<- ~ "tools""#;
const READ: &str = r#"-> {"id":2,"method":"tools/call","params":{"name":"read","arguments":{"a":1.0}}}"#;
const WRITE: &str = r#"-> {"id":3,"method":"tools/call","params":{"arguments":{"a":1},"name":"write"}}"#;

#[test]
fn the_same_request_gets_its_answers_in_recorded_order_and_then_by_the_dial() {
    let first = r#"<- {"id":2,"result":{"n":1}}"#;
    let second = r#"<- {"id":2,"result":{"n":3}}"#;
    let written = r#"<- {"id":3,"result":{"n":2}}"#;
    let miss = "!! used up\n<- ~ -31001";
    for (repeat, read, write) in
        [(Repeat::Safe, second, miss), (Repeat::All, second, written), (Repeat::Never, miss, miss)]
    {
        let options = Options { repeat, ..Options::default() };
        let dialogue =
            format!("{LIST}\n{READ}\n{first}\n{READ}\n{second}\n{READ}\n{read}\n{WRITE}\n{written}\n{WRITE}\n{write}");
        let mut player = check_with(TWO_READS, options, &dialogue);
        assert!(player.report(true).unused.is_empty());
    }
}

#[test]
fn in_strict_order_only_the_next_one_matches() {
    let strict = Options { order: Order::Strict, ..Options::default() };
    check_with(
        TWO_READS,
        strict,
        &format!(
            "{READ}\n!! out of order\n<- ~ -31001\n{LIST}\n{WRITE}\n!! out of order\n<- ~ -31001\n{READ}\n<- ~ \"n\":1\n{WRITE}\n<- ~ \"n\":2"
        ),
    );
}

#[test]
fn a_miss_says_what_is_near_and_what_would_accept_it() {
    let recording = r#"-> {"id":1,"method":"tools/call","params":{"name":"get_issue","arguments":{"number":812}}}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"tools/call","params":{"name":"get_issue","arguments":{"number":815}}}
        <- {"id":2,"result":{}}
        -> {"id":3,"method":"tools/call","params":{"name":"other","arguments":{"number":"812"}}}"#;
    let mut player = player(recording, Options::default());
    let _ =
        player.receive(br#"{"id":1,"method":"tools/call","params":{"name":"get_issue","arguments":{"number":812}}}"#);
    let outputs =
        player.receive(br#"{"id":2,"method":"tools/call","params":{"name":"get_issue","arguments":{"number":"812"}}}"#);
    let [Output::Miss(miss), Output::Send { bytes, gap_ns: 0 }] = outputs.as_slice() else {
        panic!("{outputs:?}");
    };
    let expected = r#"mcp-tap replay: no recorded answer for #2  tools/call get_issue
  arguments {"number":"812"}
  no match

closest in a.mcprec
  1. line 4  get_issue {"number":815}    unused
       arg.number    recorded 815    got "812"    a number became a string
  2. line 2  get_issue {"number":812}    used 1 of 1
       arg.number    recorded 812    got "812"    a number became a string
  3. line 6  other {"number":"812"}    unused
       req.params.name    recorded "other"    got "get_issue"    another value

what to do
  it changed on purpose        record it:   mcp-tap replay --record new a.mcprec -- COMMAND
  it changes on every run      ignore it:   --ignore arg.number     or "rules":{"ignore":["arg.number"]} in line 1
"#;
    assert_eq!(miss.text(), expected);
    let error = Node::new(bytes);
    assert_eq!(error.at(&["error", "code"]).and_then(Node::as_i64), Some(-31001));
    assert!(error.at(&["error", "data", "reason"]).is_some_and(|reason| reason.is_text("no match")));
    assert_eq!(error.at(&["error", "data", "closest"]).map(|closest| closest.elements().count()), Some(3));
    assert!(!player.report(true).is_clean());
    assert_eq!(player.report(true).unused.len(), 2);
}

#[test]
fn the_dials_accept_what_a_miss_says_they_would() {
    let recording = r#"-> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":812,"at":"x","who":"Me"}}}
        <- {"id":1,"result":{"ok":1}}"#;
    let call = r#"-> {"id":9,"method":"tools/call","params":{"name":"a","arguments":{"n":"812","at":"y","who":"me"}}}"#;
    let answered = format!("{call}\n<- {{\"id\":9,\"result\":{{\"ok\":1}}}}");
    for (rules, is_same) in [
        (r#"{}"#, false),
        (r#"{"loose":["numbers","case"]}"#, false),
        (r#"{"loose":["numbers","case"],"ignore":["arg.at"]}"#, true),
        (r#"{"tools":{"a":{"key":["arg.at"],"ignore":["arg.at"]}}}"#, true),
        (r#"{"tools":{"b":{"ignore":["arg"]}}}"#, false),
        (r#"{"tools":{"a":{"ignore":["arg"]}}}"#, true),
    ] {
        let options = Options { rules: Rules::parse(rules).expect("rules"), ..Options::default() };
        let missed = format!("{call}\n!! no match\n<- ~ -31001");
        check_with(recording, options, if is_same { &answered } else { &missed });
    }
    let closest = Options { unmatched: Unmatched::Closest, ..Options::default() };
    check_with(recording, closest, &format!("{call}\n!! no match\n<- {{\"id\":9,\"result\":{{\"ok\":1}}}}"));
    let exit = Options { unmatched: Unmatched::Exit, ..Options::default() };
    check_with(recording, exit, &format!("{call}\n!! no match\n<- ~ -31001\nexit"));
}

/// Recorded A, B, D, D with the answers D2, B, A, D1; then in another order.
#[test]
fn concurrent_calls_get_their_own_answers_in_any_order() {
    let call = |id: u32, name: &str| format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#);
    let answer = |id: u32, text: &str| format!(r#"{{"id":{id},"result":{{"text":"{text}"}}}}"#);
    let recording = [
        format!("-> {}", call(1, "A")),
        format!("-> {}", call(2, "B")),
        format!("-> {}", call(3, "D")),
        format!("-> {}", call(4, "D")),
        format!("<- {}", answer(4, "D2")),
        format!("<- {}", answer(2, "B")),
        format!("<- {}", answer(1, "A")),
        format!("<- {}", answer(3, "D1")),
    ]
    .join("\n");
    let live = [(7, "B", "B"), (8, "A", "A"), (9, "D", "D1"), (10, "D", "D2")];
    let dialogue = live.map(|(id, name, text)| format!("-> {}\n<- {}", call(id, name), answer(id, text)));
    check(&recording, &dialogue.join("\n"));
}

#[test]
fn pages_are_walked_and_tasks_are_told_apart() {
    check(
        r#"-> {"id":1,"method":"tools/list"}
           <- {"id":1,"result":{"tools":[1],"nextCursor":"c1"}}
           -> {"id":2,"method":"tools/list","params":{"cursor":"c1"}}
           <- {"id":2,"result":{"tools":[2]}}
           -> {"id":3,"method":"tasks/get","params":{"taskId":"x"}}
           <- {"id":3,"result":{"task":"x"}}
           -> {"id":4,"method":"tasks/get","params":{"taskId":"y"}}
           <- {"id":4,"result":{"task":"y"}}"#,
        r#"-> {"id":1,"method":"tools/list"}
           <- {"id":1,"result":{"tools":[1],"nextCursor":"c1"}}
           -> {"id":2,"method":"tools/list","params":{"cursor":"c1"}}
           <- {"id":2,"result":{"tools":[2]}}
           -> {"id":3,"method":"tools/list"}
           <- {"id":3,"result":{"tools":[1],"nextCursor":"c1"}}
           -> {"id":4,"method":"tools/list","params":{"cursor":"elsewhere"}}
           !! no match
           <- ~ -31001
           -> {"id":5,"method":"tasks/get","params":{"taskId":"y"}}
           <- {"id":5,"result":{"task":"y"}}
           -> {"id":6,"method":"tasks/get","params":{"taskId":"x"}}
           <- {"id":6,"result":{"task":"x"}}"#,
    );
}

#[test]
fn other_recordings_are_asked_when_the_first_has_nothing() {
    let sources = ["A", "B"].map(|name| {
        let text = format!(
            r#"-> {{"id":1,"method":"tools/call","params":{{"name":"{name}"}}}}
               <- {{"id":1,"result":{{"from":"{name}"}}}}"#
        );
        let recording = Box::new(InMemory::new(units(&text)));
        Source { name: name.into(), rules: Rules::default(), is_fixture: false, recording }
    });
    let mut player = Player::new(sources.into(), Options::default());
    for name in ["B", "A"] {
        let request = format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#);
        let outputs = player.receive(request.as_bytes());
        let answer = format!(r#"{{"id":1,"result":{{"from":"{name}"}}}}"#);
        assert_eq!(outputs.len(), 1);
        assert!(matches!(&outputs[0], Output::Send { bytes, .. } if *bytes == answer.as_bytes()), "{outputs:?}");
    }
    assert_eq!(player.report(true).answered, [("B".to_owned(), 1), ("A".to_owned(), 1)]);
}
