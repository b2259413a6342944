//! Two lists of what a server offers, and whom the changes break.

use tap_compare::{Dials, DriftClass, ItemState, ListKind, Markers, drift};
use tap_jsonrpc::Node;

fn told<'a>(kind: ListKind, a: &[&'a str], b: &[&'a str]) -> Vec<String> {
    let view = |list: &[&'a str]| list.iter().map(|item| Node::new(item.as_bytes())).collect::<Vec<_>>();
    let found = drift(kind, &view(a), &view(b), &Dials::default(), &mut Markers::new());
    let items = found.items.iter().map(|item| {
        let sign = match item.state {
            ItemState::Added => '+',
            ItemState::Removed => '-',
            ItemState::Changed => '~',
        };
        let changes: Vec<String> =
            item.changes.iter().map(|change| format!("{} {}", change.words, change.class.name())).collect();
        format!("{sign} {} {}: {}", item.name, item.class.name(), changes.join("; "))
    });
    items.collect()
}

/// The changes of one tool whose input schema was `a` and is `b`.
fn input(a: &str, b: &str) -> String {
    let tool = |schema: &str| format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let lines = told(ListKind::Tools, &[&tool(a)], &[&tool(b)]);
    lines.first().map_or(String::new(), |line| line.split_once(": ").unwrap().1.to_owned())
}

fn output(a: &str, b: &str) -> String {
    let tool = |schema: &str| format!(r#"{{"name":"t","outputSchema":{schema}}}"#);
    let lines = told(ListKind::Tools, &[&tool(a)], &[&tool(b)]);
    lines.first().map_or(String::new(), |line| line.split_once(": ").unwrap().1.to_owned())
}

#[test]
fn tools_come_and_go_and_change() {
    let found = told(
        ListKind::Tools,
        &[r#"{"name":"a","description":"x"}"#, r#"{"name":"b"}"#, r#"{"name":"c"}"#],
        &[r#"{"name":"c"}"#, r#"{"name":"d"}"#, r#"{"name":"a","description":"y","title":"A"}"#],
    );
    assert_eq!(
        found,
        ["~ a PROMPT: description changed PROMPT; title added PROMPT", "- b BREAKING: ", "+ d COMPATIBLE: "]
    );
}

#[test]
fn arguments_are_narrowed_or_widened() {
    let object = |properties: &str, more: &str| format!(r#"{{"type":"object","properties":{{{properties}}}{more}}}"#);
    for (a, b, expected) in [
        (
            object(r#""a":{}"#, ""),
            object(r#""a":{},"b":{}"#, r#","required":["b"]"#),
            "required +b BREAKING; property +b COMPATIBLE",
        ),
        (object(r#""a":{}"#, ""), object(r#""a":{},"b":{}"#, ""), "property +b COMPATIBLE"),
        (object(r#""a":{}"#, r#","required":["a"]"#), object(r#""a":{}"#, ""), "required -a COMPATIBLE"),
        (object(r#""a":{}"#, ""), object("", ""), "property -a COMPATIBLE"),
        (
            object(r#""a":{}"#, r#","additionalProperties":false"#),
            object("", r#","additionalProperties":false"#),
            "property -a BREAKING",
        ),
        (object("", ""), object("", r#","additionalProperties":false"#), "no additional properties now BREAKING"),
        (object("", r#","additionalProperties":false"#), object("", ""), "any additional properties now COMPATIBLE"),
        (
            object(r#""a":{"type":"string"}"#, ""),
            object(r#""a":{"type":"integer"}"#, ""),
            "type string → integer BREAKING",
        ),
        (
            object(r#""a":{"type":"integer"}"#, ""),
            object(r#""a":{"type":"number"}"#, ""),
            "type integer → number COMPATIBLE",
        ),
        (
            object(r#""a":{"type":"number"}"#, ""),
            object(r#""a":{"type":"integer"}"#, ""),
            "type number → integer BREAKING",
        ),
        (
            object(r#""a":{"type":"string"}"#, ""),
            object(r#""a":{"type":["string","null"]}"#, ""),
            "type string → null|string COMPATIBLE",
        ),
        (
            object(r#""a":{"anyOf":[{"type":"string"},{"type":"null"}]}"#, ""),
            object(r#""a":{"type":"string"}"#, ""),
            "type null|string → string BREAKING",
        ),
        (object(r#""a":{"enum":["x","y"]}"#, ""), object(r#""a":{"enum":["x"]}"#, ""), "enum -\"y\" BREAKING"),
        (object(r#""a":{"enum":["x"]}"#, ""), object(r#""a":{"enum":["x","y"]}"#, ""), "enum +\"y\" COMPATIBLE"),
        (object(r#""a":{}"#, ""), object(r#""a":{"enum":["x"]}"#, ""), "only certain values now BREAKING"),
        (object(r#""a":{"maximum":10}"#, ""), object(r#""a":{"maximum":5}"#, ""), "maximum 10 → 5 BREAKING"),
        (object(r#""a":{"maximum":10}"#, ""), object(r#""a":{"maximum":50}"#, ""), "maximum 10 → 50 COMPATIBLE"),
        (object(r#""a":{}"#, ""), object(r#""a":{"minLength":1}"#, ""), "minLength none → 1 BREAKING"),
        (object(r#""a":{"pattern":"x"}"#, ""), object(r#""a":{}"#, ""), "pattern \"x\" → none COMPATIBLE"),
        (
            object(r#""a":{"description":"x"}"#, ""),
            object(r#""a":{"description":"y"}"#, ""),
            "description changed PROMPT",
        ),
        (
            object(r#""a":{"items":{"type":"string"}}"#, ""),
            object(r#""a":{"items":{"type":"number"}}"#, ""),
            "type string → number BREAKING",
        ),
        (object(r#""a":true"#, ""), object(r#""a":false"#, ""), "accepts less BREAKING"),
        (
            object(r#""a":{"not":{"type":"string"}}"#, ""),
            object(r#""a":{"not":{"type":"number"}}"#, ""),
            "not changed: not judged, taken as breaking BREAKING",
        ),
        (object(r#""a":{"x-order":1}"#, ""), object(r#""a":{"x-order":2}"#, ""), "x-order changed COMPATIBLE"),
        (object("", ""), object("", r#","$comment":"x""#), "changed, and accepts the same COMPATIBLE"),
    ] {
        assert_eq!(input(&a, &b), expected, "{a}\n{b}");
    }
}

#[test]
fn references_are_followed() {
    let schema = |definition: &str, property: &str| {
        format!(r##"{{"type":"object","properties":{{"a":{property}}},"$defs":{{"D":{definition}}}}}"##)
    };
    let reference = r##"{"$ref":"#/$defs/D"}"##;
    for property in [
        reference.to_owned(),
        format!(r#"{{"anyOf":[{reference},{{"minimum":1}}]}}"#),
        format!(r#"{{"allOf":[{reference}]}}"#),
        format!(r#"{{"items":{reference}}}"#),
        r##"{"$ref":"#/$defs/D","minLength":1}"##.to_owned(),
    ] {
        let (a, b) = (schema(r#"{"type":"string"}"#, &property), schema(r#"{"type":"number"}"#, &property));
        assert_eq!(input(&a, &b), "type string → number BREAKING", "{property}");
        let other = schema(r#"{"type":"string","$comment":"x"}"#, &property);
        assert_eq!(input(&a, &other), "changed, and accepts the same COMPATIBLE", "{property}");
    }
    let not = format!(r#"{{"not":{reference}}}"#);
    assert_eq!(
        input(&schema(r#"{"type":"string"}"#, &not), &schema(r#"{"type":"number"}"#, &not)),
        "not changed: not judged, taken as breaking BREAKING"
    );
    // One that leads in a circle ends.
    let circle = |more: &str| schema(&format!(r##"{{"properties":{{"d":{{"$ref":"#/$defs/D"}}}}{more}}}"##), reference);
    assert!(input(&circle(""), &circle(r#","required":["d"]"#)).contains("required +d BREAKING"));
    let own = schema(r##"{"$ref":"#/$defs/D"}"##, reference);
    input(&own, &schema("{}", reference));
}

#[test]
fn results_are_the_other_way_round() {
    for (a, b, expected) in [
        (r#"{"type":"integer"}"#, r#"{"type":"number"}"#, "type integer → number BREAKING"),
        (r#"{"type":"number"}"#, r#"{"type":"integer"}"#, "type number → integer COMPATIBLE"),
        (r#"{"required":["a"]}"#, r#"{"required":[]}"#, "required -a BREAKING"),
        (r#"{"required":[]}"#, r#"{"required":["a"]}"#, "required +a COMPATIBLE"),
        (r#"{"properties":{"a":{}}}"#, r#"{"properties":{}}"#, "property -a BREAKING"),
        (r#"{"enum":[1]}"#, r#"{"enum":[1,2]}"#, "enum +2 BREAKING"),
    ] {
        assert_eq!(output(a, b), expected, "{a} {b}");
    }
    let lost = told(ListKind::Tools, &[r#"{"name":"t","outputSchema":{}}"#], &[r#"{"name":"t"}"#]);
    assert_eq!(lost, ["~ t BREAKING: outputSchema removed BREAKING"]);
}

#[test]
fn what_else_a_server_offers() {
    assert_eq!(
        told(
            ListKind::Prompts,
            &[r#"{"name":"p","arguments":[{"name":"a"},{"name":"b"}]}"#],
            &[
                r#"{"name":"p","arguments":[{"name":"a","required":true,"description":"x"},{"name":"c","required":true}]}"#
            ],
        ),
        [
            "~ p BREAKING: arguments[0].required added BREAKING; arguments[1] added BREAKING; arguments[1] removed BREAKING; arguments[0].description added PROMPT"
        ]
    );
    assert_eq!(
        told(
            ListKind::Resources,
            &[r#"{"uri":"a","name":"x"}"#, r#"{"uri":"b"}"#],
            &[r#"{"uri":"a","name":"y","size":3}"#]
        ),
        ["~ a PROMPT: name changed PROMPT; size added COMPATIBLE", "- b BREAKING: "]
    );
    assert_eq!(told(ListKind::Templates, &[r#"{"uriTemplate":"a{x}"}"#], &[r#"{"uriTemplate":"a{x}"}"#]), [""; 0]);
    assert_eq!(
        told(
            ListKind::Tools,
            &[r#"{"name":"t"}"#],
            &[r#"{"name":"t","execution":{"taskSupport":"required"},"annotations":{"readOnlyHint":true}}"#]
        ),
        ["~ t BREAKING: execution added BREAKING; annotations added PROMPT"]
    );
    // The same name twice, and none at all.
    assert_eq!(
        told(ListKind::Tools, &[r#"{"name":"t"}"#, r#"{"name":"t"}"#, "{}"], &[r#"{"name":"t"}"#, "{}"]),
        ["- t BREAKING: "]
    );
    assert!(DriftClass::Breaking > DriftClass::Prompt && DriftClass::Prompt > DriftClass::Compatible);
}
