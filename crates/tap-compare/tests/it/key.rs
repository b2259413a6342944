//! Which requests are the same, and what is nearest to one that is none of them.

use tap_compare::{Candidate, MatchKey, Place, Rules, Walks, nearest};

fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_issue","arguments":{arguments}}}}}"#
    )
}

#[track_caller]
fn check(rules: &str, a: &str, b: &str, same: bool) {
    let rules = Rules::parse(rules).unwrap();
    let key = |message: &str| MatchKey::of(message.as_bytes(), &rules).unwrap();
    assert_eq!(key(a) == key(b), same, "{a} and {b}");
}

#[test]
fn keys_are_equal_when_requests_are_the_same() {
    for (rules, a, b, same) in [
        ("{}", r#"{"number":812}"#, r#"{ "number" : 812.0 }"#, true),
        ("{}", r#"{"number":812}"#, r#"{"number":"812"}"#, false),
        (r#"{"loose":"numbers"}"#, r#"{"number":812}"#, r#"{"number":"812"}"#, true),
        ("{}", r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true),
        ("{}", r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
        ("{}", r#"{"a":["1","2"]}"#, r#"{"a":["1:2"]}"#, false),
        ("{}", r#"{"a":"x"}"#, r#"{"a":"X"}"#, false),
        (r#"{"loose":"case"}"#, r#"{"a":"x"}"#, r#"{"a":"X"}"#, true),
        (r#"{"ignore":"arg.t"}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x"}"#, true),
        (r#"{"tools":{"get_issue":{"ignore":"arg.t"}}}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x"}"#, true),
        (r#"{"tools":{"other":{"ignore":"arg.t"}}}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x"}"#, false),
        (r#"{"volatile":"arg.t"}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x","t":2}"#, true),
        (r#"{"volatile":"arg.t"}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x"}"#, false),
        (r#"{"key":["arg.a"]}"#, r#"{"a":"x","t":1}"#, r#"{"a":"x","t":2}"#, true),
        (r#"{"key":["arg.a"]}"#, r#"{"a":"x"}"#, r#"{"a":"y"}"#, false),
        (r#"{"key":["arg.l[*].a"]}"#, r#"{"l":[{"a":1,"b":1}]}"#, r#"{"l":[{"a":1,"b":2}]}"#, true),
        ("{}", r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#, false),
    ] {
        check(rules, &call(a), &call(b), same);
    }
    let long = |end: &str| call(&format!(r#"{{"a":"{}{end}"}}"#, "x".repeat(100_000)));
    check("{}", &long("1"), &long("1"), true);
    check("{}", &long("1"), &long("2"), false);
}

#[test]
fn each_method_has_its_key() {
    for (a, b, same) in [
        (r#"{"method":"initialize","params":{"a":1}}"#, r#"{"method":"initialize"}"#, true),
        (r#"{"method":"server/discover","params":{"a":1}}"#, r#"{"method":"initialize"}"#, false),
        (r#"{"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#, r#"{"method":"tools/list"}"#, true),
        (r#"{"method":"tools/list"}"#, r#"{"method":"tools/list","params":{"cursor":"x"}}"#, false),
        (
            r#"{"method":"resources/read","params":{"uri":"a"}}"#,
            r#"{"method":"resources/read","params":{"uri":"b"}}"#,
            false,
        ),
        (
            r#"{"method":"tasks/get","params":{"taskId":"a"}}"#,
            r#"{"method":"tasks/get","params":{"taskId":"b"}}"#,
            true,
        ),
        (
            r#"{"method":"logging/setLevel","params":{"level":"a"}}"#,
            r#"{"method":"logging/setLevel","params":{"level":"b"}}"#,
            false,
        ),
        (r#"{"method":"x","params":[1]}"#, r#"{"method":"x","params":[2]}"#, false),
    ] {
        check("{}", a, b, same);
    }
    assert!(MatchKey::of(b"{}", &Rules::default()).is_none());
    assert!(MatchKey::of(br#"{"method":1}"#, &Rules::default()).is_none());
    assert!(MatchKey::of(b"", &Rules::default()).is_none());
    let key = MatchKey::of(call(r#"{"a":"\u00abuuid\u00bb"}"#).as_bytes(), &Rules::default()).unwrap();
    assert!(key.is_pattern());
    assert_eq!((key.method(), key.name()), ("tools/call", Some("get_issue")));
}

#[test]
fn a_walk_through_pages_is_known_by_position() {
    let walk = |cursors: [&str; 2]| {
        let mut walks = Walks::new();
        let mut keys = Vec::new();
        let mut cursor = String::new();
        for next in cursors {
            let request = format!(r#"{{"method":"tools/list","params":{{{cursor}}}}}"#);
            let key = walks.key(request.as_bytes(), &Rules::default()).unwrap();
            walks.answered(&key, format!(r#"{{"result":{{"nextCursor":"{next}"}}}}"#).as_bytes());
            cursor = format!(r#""cursor":"{next}""#);
            keys.push(key);
        }
        keys
    };
    assert_eq!(walk(["a", "b"]), walk(["x", "y"]));
    assert_eq!(walk(["a", "b"])[1].place(), &Place::Number(1));
    let unknown = Walks::new().key(br#"{"method":"tools/list","params":{"cursor":"z"}}"#, &Rules::default()).unwrap();
    assert_eq!(unknown.place(), &Place::Unknown((*b"z").into()));
}

#[test]
fn rounds_of_a_call_are_known_by_state_and_by_number() {
    let round = |more: &str| format!(r#"{{"method":"tools/call","params":{{"name":"t","arguments":{{}}{more}}}}}"#);
    let walk = |state: &str| {
        let mut walks = Walks::new();
        let first = walks.key(round("").as_bytes(), &Rules::default()).unwrap();
        let given = if state.is_empty() { String::new() } else { format!(r#","requestState":"{state}""#) };
        walks.answered(&first, format!(r#"{{"result":{{"resultType":"input_required"{given}}}}}"#).as_bytes());
        let again = round(&format!(r#","inputResponses":{{}}{given}"#));
        (first, walks.key(again.as_bytes(), &Rules::default()).unwrap())
    };
    let (first, second) = walk("abc");
    assert_eq!((first.place(), second.place()), (&Place::FIRST, &Place::Number(1)));
    assert_eq!(walk("abc"), walk("xyz"));
    assert_eq!(walk("abc"), walk(""));
}

#[test]
fn the_nearest_are_ranked_and_say_why() {
    let recorded = [
        call(r#"{"number":815}"#),
        call(r#"{"number":812}"#),
        r#"{"method":"tools/call","params":{"name":"other","arguments":{"number":"812"}}}"#.to_owned(),
        r#"{"method":"tools/list"}"#.to_owned(),
        call(r#"{"number":"812","more":{"a":1,"b":[1,2]}}"#),
    ];
    let candidates = recorded
        .iter()
        .enumerate()
        .map(|(index, request)| Candidate { request: request.as_bytes(), is_used: index == 1 });
    let got = call(r#"{"number":"812"}"#);
    let found = nearest(got.as_bytes(), candidates, &Rules::default(), 3);
    let shown: Vec<String> = found
        .near
        .iter()
        .map(|near| {
            let reasons = near.reasons.iter().map(|reason| {
                let accepted: Vec<_> = reason.accepted_by.iter().map(ToString::to_string).collect();
                format!("{} {}: {}", reason.path.dotted(tap_compare::Side::Request), reason.why, accepted.join(" or "))
            });
            format!("{} {} {}", near.index, near.n_leaves, reasons.collect::<Vec<_>>().join("; "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "0 1 arg.number a number became a string: --ignore arg.number",
            "1 1 arg.number a number became a string: --loose numbers or --ignore arg.number",
            "4 3 arg.more is missing: --ignore arg.more",
        ]
    );
    assert_eq!(found.n_not_compared, 0);
    // What is told to accept it does.
    let rules = Rules::parse(r#"{"ignore":["arg.more"]}"#).unwrap();
    assert_eq!(MatchKey::of(got.as_bytes(), &rules), MatchKey::of(recorded[4].as_bytes(), &rules));
}

#[test]
fn of_very_many_some_are_not_compared_and_that_is_told() {
    let request = call("{}");
    let candidates = std::iter::repeat_n(Candidate { request: request.as_bytes(), is_used: false }, 12_000);
    let found = nearest(call(r#"{"a":1}"#).as_bytes(), candidates, &Rules::default(), 3);
    assert_eq!((found.near.len(), found.n_not_compared), (3, 2_000));
}
