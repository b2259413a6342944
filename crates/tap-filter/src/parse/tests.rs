//! Filters as a table: which messages fit, and what is told of those that make no sense.

use std::borrow::Cow;
use std::collections::HashMap;

use proptest::prelude::*;
use tap_jsonrpc::Node;

use super::*;
use crate::subject::{Found, Subject};
use crate::{Cost, Filter, Plan, Question};

/// A made-up message: fields as text, and JSON.
#[derive(Default)]
struct Message {
    fields: HashMap<Field, Found<'static>>,
    json: HashMap<Root, &'static str>,
    headers: Vec<(&'static str, &'static str)>,
}

impl Subject for Message {
    fn field(&self, field: Field) -> Option<Found<'_>> {
        self.fields.get(&field).cloned()
    }

    fn json(&self, root: Root) -> Option<Node<'_>> {
        self.json.get(&root).map(|text| Node::new(text.as_bytes()))
    }

    fn header(&self, name: &str) -> Vec<Cow<'_, [u8]>> {
        let found = self.headers.iter().filter(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_bytes().into()).collect()
    }
}

const CONTEXT: Context = Context { now_unix_ns: 1_000_000_000_000, utc_offset_seconds: 0 };

fn saved(name: &str) -> Option<String> {
    match name {
        "slow" => Some("latency>1s or @bad".into()),
        "bad" => Some("is:error".into()),
        "round" => Some("@round".into()),
        "wrong" => Some("latncy>1s".into()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Filter, FilterError> {
    Filter::parse(text, &CONTEXT, &saved)
}

fn text(text: &'static str) -> Found<'static> {
    Found::Text(text.into())
}

/// A call of `delete_file` that failed after 1.5 s.
fn call() -> Message {
    let body = r#"{"id":7,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"/data/É.txt","n":1.0,"big":12345678901234567890,"list":[{"a":"x"},{"a":"y"}],"a.b":true,"none":null}}}"#;
    let answer = r#"{"id":7,"result":{"isError":true,"content":[{"type":"text","text":"Access denied"}]}}"#;
    let arguments = r#"{"path":"/data/É.txt","n":1.0,"big":12345678901234567890,"list":[{"a":"x"},{"a":"y"}],"a.b":true,"none":null,"twice":1,"twice":2}"#;
    let number = Found::Number;
    Message {
        fields: [
            (Field::Number, number(30)),
            (Field::After, number(999_000_000_000)),
            (Field::Before, number(999_000_000_000)),
            (Field::Direction, number(0)),
            (Field::Kind, number(0)),
            (Field::Size, number(2_000)),
            (Field::Method, text("tools/call")),
            (Field::Tool, text("delete_file")),
            (Field::Name, text("delete_file")),
            (Field::Id, text("7")),
            (Field::Status, number(1)),
            (Field::Latency, number(1_500_000_000)),
            (Field::Finding, Found::Any(vec![text("TOL-005"), text("JRP-001")])),
            (Field::Severity, Found::Any(vec![number(1), number(2)])),
            (Field::Body, Found::Bytes(body.as_bytes().into())),
        ]
        .into(),
        json: [
            (Root::This, body),
            (Root::Request, body),
            (Root::Response, answer),
            (Root::Arguments, arguments),
            (Root::Result, r#"{"isError":true,"content":[{"type":"text","text":"Access denied"}]}"#),
        ]
        .into(),
        headers: vec![("mcp-method", "tools/call")],
    }
}

#[test]
fn fits_or_not() {
    let message = call();
    let fitting = [
        "",
        "   ",
        "delete",
        "DELETE_FILE",
        "\"delete_file\"",
        "'tools/call'",
        "tools/call",
        "tool:delete_*",
        "tool:delete",
        "t:DELETE_f?le",
        "tool=delete_file",
        "tool!=other",
        "tool~^delete_.*$",
        "tool~/^DELETE/i",
        "tool!~/^DELETE/",
        "latency>1s",
        "lat>=1500ms",
        "latency<1.6s latency<=1.5s",
        "latency:1s..2s",
        "latency:1s..",
        "size:2000 size>1k size<64k",
        "n:30 n:1..40 n:1,30 -n:31",
        "is:error is:slow is:request is:call is:c2s is:problem is:finding is:violation",
        "is:ok,error",
        "not is:ok",
        "!is:ok",
        "-is:ok",
        "--is:error",
        "status:tool_error",
        "status:ok,tool_error",
        "dir:c2s d:> k:request",
        "severity>=warning sev:error",
        "finding:TOL finding=JRP-001",
        "id:7",
        "method:*/call",
        "-method:*/list",
        "has:latency has:arg.path -has:code has:finding",
        "arg.path:/data/*",
        "arg.path:é",
        "arg.path",
        "arg.n=1",
        "arg.n=1.0 arg.n>0 arg.n<=1",
        "arg.big=12345678901234567890 arg.big>12345678901234567889",
        "arg.big!=12345678901234567891",
        "arg.twice=1 arg.twice=2",
        "arg.list[*].a=y arg.list[1].a=y arg.list[0].a:x",
        "arg.\"a.b\"=true",
        "arg.none=null",
        "arg.list:\"a\"",
        "arg.missing!=3",
        ".params.name=delete_file",
        ".method:call",
        "req.id=7",
        "resp.result.isError=true",
        "result.content[*].text:denied",
        "result.content[*].text~/^access/i",
        "header.mcp-method:tools",
        "header.Mcp-Method=tools/call",
        "after:-5m",
        "before:-0.5s",
        "is:ok or is:error",
        "is:ok | is:error",
        "is:ok || (is:error and latency>1s)",
        "is:error && latency>1s & size>1",
        "(is:ok or tool:delete) latency>1s",
        "@slow",
        "@bad n:30",
        "not (is:ok or is:pending)",
        "notable or is:error",
    ];
    for filter in fitting {
        let parsed = parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        assert!(parsed.fits(&message), "does not fit: {filter}");
    }
    let unfitting = [
        "undelete",
        "tool:file_*",
        "tool=Delete_file",
        "tool~^DELETE",
        "latency<1s",
        "latency:1s..1.4s",
        "prompt:x",
        "code:-32602",
        "code!=1 code=1",
        "is:ok",
        "is:pending",
        "-is:error",
        "id:\"7\"",
        "arg.n=\"1\"",
        "arg.missing=3",
        "arg.path>3",
        "arg.list[2].a",
        "arg.list[7]",
        "has:code",
        "result.content[*].text=denied",
        "header.other:x",
        "after:-0.5s",
        "severity<warning",
        "is:error latency>2s",
    ];
    for filter in unfitting {
        let parsed = parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        assert!(!parsed.fits(&message), "fits: {filter}");
    }
}

#[test]
fn what_is_missing_fits_nothing_but_what_asks_for_its_absence() {
    let nothing = Message::default();
    for filter in ["tool:x", "tool=x", "n<100", "size>0", "arg.x", "is:error", "header.x:y", "x", "tool~.", "has:tool"]
    {
        assert!(!parse(filter).unwrap().fits(&nothing), "{filter}");
        assert!(parse(&format!("-({filter})")).unwrap().fits(&nothing), "-({filter})");
    }
    for filter in ["tool!=x", "tool!~.", "code!=7", "arg.x!=7"] {
        assert!(parse(filter).unwrap().fits(&nothing), "{filter}");
    }
}

#[test]
fn what_makes_no_sense_is_told_with_its_place_and_what_would() {
    // The part that is meant stands between the marks.
    for (marked, problem, help) in [
        ("‹latncy›>2s", "unknown field `latncy`", "did you mean `latency`?"),
        ("tool:x ‹frobnicate›:2", "unknown field `frobnicate`", "quote it to search for the text"),
        ("latency>‹2›", "a duration needs a unit", "write 250ms, 1.5s, 2m"),
        ("kind:‹reqest›", "`reqest` is no kind", "did you mean `request`?"),
        ("is:‹eror›", "`eror` is no state", "did you mean `error`?"),
        ("is:ok,‹eror›", "`eror` is no state", "did you mean `error`?"),
        ("size>‹big›", "`big` is no size", "write 512, 64k, 1.5M"),
        ("n:‹x›", "`x` is no whole number", ""),
        ("n:‹9..3›", "the range ends before it begins", ""),
        ("latency:1s..‹2›", "a duration needs a unit", ""),
        ("tool>‹3›", "`tool` cannot be larger or smaller", "write tool:…"),
        ("kind>‹request›", "`kind` cannot be larger or smaller", ""),
        ("after>‹-5m›", "`after` cannot be larger or smaller", "write after:…"),
        ("after:‹soon›", "`soon` is no time", "write 14:02"),
        ("latency~‹x›", "`latency` is no text", ""),
        ("tool:‹›", "a value is missing", ""),
        ("tool:a,‹›", "a value is missing", ""),
        ("‹\"›tool", "this quote is not closed", ""),
        ("tool:‹\"›x", "this quote is not closed", ""),
        ("tool~‹/›x", "this regular expression is not closed", "end it with /"),
        ("tool~‹/(/›", "no regular expression", ""),
        ("tool~‹[›", "no regular expression", ""),
        ("‹(›is:ok", "this parenthesis is not closed", ""),
        ("is:ok‹)›", "this parenthesis closes nothing", ""),
        ("is:ok or‹›", "something is missing after `or`", ""),
        ("is:ok and‹›", "something is missing after `and`", ""),
        ("not‹›", "something is missing after `not`", ""),
        ("‹-› tool:x", "this must stand right before what it negates", ""),
        ("‹@nothing›", "there is no saved filter `nothing`", ""),
        ("x ‹@wrong›", "the saved filter `wrong` is wrong: unknown field `latncy`", ""),
        ("arg.list‹[x]›=1", "`x` is no place in an array", "[0] for the first"),
        ("arg.list‹[1›", "this bracket is not closed", ""),
        ("arg.x‹.›=1", "a key is missing after the dot", ""),
        ("arg.x>‹y›", "`y` is no number", ""),
        ("‹is›=error", "`is` goes with a colon", "write is:error"),
        ("has:‹nothing›", "unknown field `nothing`", ""),
    ] {
        let begin = marked.find('‹').unwrap();
        let end = marked.find('›').unwrap() - '‹'.len_utf8();
        let filter = marked.replace(['‹', '›'], "");
        let error = parse(&filter).expect_err(marked);
        assert_eq!(error.at, begin..end, "{marked}: {error}");
        assert!(error.problem.starts_with(problem), "{marked}: {error}");
        assert!(error.help.unwrap_or_default().contains(help), "{marked}");
    }
}

#[test]
fn depth_is_bounded() {
    assert!(parse(&format!("{}x{}", "(".repeat(60), ")".repeat(60))).is_ok());
    assert!(parse(&"(".repeat(100_000)).unwrap_err().problem.contains("deep"));
    assert!(parse("@round").unwrap_err().problem.contains("wrong"));
    assert!(parse(&format!("{}x", "!".repeat(100_000))).is_ok());
}

/// A plan in words: fields, `&` and `|`, `!` where the answer is to be no, `*` for anything.
fn told(plan: &Plan) -> String {
    let all = |parts: &[Plan], by: &str| format!("({})", parts.iter().map(told).collect::<Vec<_>>().join(by));
    match plan {
        Plan::Anything => "*".into(),
        Plan::All(parts) => all(parts, " & "),
        Plan::Any(parts) => all(parts, " | "),
        Plan::Asks(question, wanted) => {
            let (Question::Has(field) | Question::Number(field, _) | Question::Text(field, _)) = question;
            format!("{}{}", if *wanted { "" } else { "!" }, field.info().name)
        }
    }
}

#[test]
fn cost_and_plan_say_what_has_to_be_looked_at() {
    for (filter, cost, plan) in [
        ("", Cost::Rows, "*"),
        ("tool:x is:error", Cost::Rows, "(tool & status)"),
        ("latency>2s status:error", Cost::Rows, "(latency & status)"),
        ("is:finding", Cost::Findings, "finding"),
        ("body:x latency>1s", Cost::Bodies, "(latency & body)"),
        ("x", Cost::Bodies, "*"),
        ("arg.path:x is:error", Cost::Bodies, "status"),
        ("arg.path:x or is:error", Cost::Bodies, "*"),
        ("latency>1s or size>1k", Cost::Rows, "(latency | size)"),
        ("-latency>1s", Cost::Rows, "!latency"),
        ("-(latency>1s x)", Cost::Bodies, "*"),
        ("-(latency>1s or x)", Cost::Bodies, "!latency"),
        ("-is:server_request", Cost::Rows, "(!kind | !dir)"),
        ("(size>1k latency>1s) n:3", Cost::Rows, "(size & latency & n)"),
    ] {
        let read = parse(filter).unwrap();
        let flat = told(&read.plan()).replace("((", "(").replace(") & ", " & ");
        assert_eq!((read.cost(), flat.as_str()), (cost, plan), "{filter}");
    }
}

#[test]
fn every_field_and_state_is_told_once() {
    for (index, info) in FIELDS.iter().enumerate() {
        assert_eq!(info.field.info().name, info.name);
        let names = |info: &'static crate::field::FieldInfo| [Some(info.name), info.short].into_iter().flatten();
        for other in &FIELDS[..index] {
            assert!(names(info).all(|name| names(other).all(|known| known != name)), "{}", info.name);
        }
    }
}

fn any_filter() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("tool:delete_*"),
        Just("is:error"),
        Just("latency>1s"),
        Just("arg.path:/data/*"),
        Just("x"),
        Just("n:1..40"),
        Just("kind:response"),
        Just("arg.list[*].a=y"),
        Just("status:ok"),
    ]
    .prop_map(String::from);
    word.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| format!("({})", all.join(" "))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|any| format!("({})", any.join(" or "))),
            inner.prop_map(|inner| format!("-{inner}")),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_a_filter_or_told_why_not_within_it(filter in r#"([a-z0-9:.=<>~!@()\[\]*"'/\\,| -]|\PC){0,30}"#) {
        match parse(&filter) {
            Ok(parsed) => {
                let _ = parsed.fits(&call());
            }
            Err(error) => {
                prop_assert!(filter.get(error.at.clone()).is_some(), "{:?} of {filter}", error.at);
                prop_assert!(!error.problem.is_empty());
            }
        }
    }

    #[test]
    fn not_is_the_opposite_and_order_does_not_matter(a in any_filter(), b in any_filter()) {
        let fits = |filter: &str| parse(filter).unwrap().fits(&call());
        prop_assert_eq!(fits(&format!("-({a})")), !fits(&a));
        prop_assert_eq!(fits(&format!("{a} {b}")), fits(&b) && fits(&a));
        prop_assert_eq!(fits(&format!("{a} or {b}")), fits(&b) || fits(&a));
        prop_assert_eq!(fits(&format!("-({a} {b})")), fits(&format!("-({a}) or -({b})")));
    }

    #[test]
    fn what_fits_is_within_the_plan(filter in any_filter()) {
        let parsed = parse(&filter).unwrap();
        let message = call();
        if parsed.fits(&message) {
            prop_assert!(is_within(&message, &parsed.plan()), "{filter}");
        }
    }
}

fn is_within(message: &dyn Subject, plan: &Plan) -> bool {
    match plan {
        Plan::Anything => true,
        Plan::All(parts) => parts.iter().all(|part| is_within(message, part)),
        Plan::Any(parts) => parts.iter().any(|part| is_within(message, part)),
        Plan::Asks(question, wanted) => {
            let (Question::Has(field) | Question::Number(field, _) | Question::Text(field, _)) = question;
            let holds = match (question, message.field(*field)) {
                (_, None) => false,
                (Question::Has(_), Some(_)) => true,
                (Question::Number(_, ranges), Some(Found::Number(number))) => {
                    ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
                }
                (Question::Text(_, texts), Some(Found::Text(text))) => texts.fits(text.as_bytes()),
                (_, Some(other)) => panic!("{field:?} holds {other:?}"),
            };
            holds == *wanted
        }
    }
}
