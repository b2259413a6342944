//! Pairs of messages and what they differ in.

use tap_compare::{Bound, Depth, Dials, Markers, Options, Rules, Side, compare, compare_words};

/// Compares two answers and writes what was found, a line each: `=` hidden, `+`, `-`, `~`, `!` type, `%` order.
fn told_with(a: &[u8], b: &[u8], dials: &Dials, hide_looks: bool, side: Side) -> String {
    let options = Options { hide_looks, ..Options::new(dials, side) };
    let found = compare(a, b, &options, &mut Markers::new());
    let text =
        |json: &Option<Box<[u8]>>| json.as_ref().map_or(String::new(), |json| String::from_utf8_lossy(json).into());
    let mut lines: Vec<String> = Vec::new();
    for difference in &found.differences {
        let path = difference.path.dotted(side);
        let from = difference.path_in_a.as_ref().map_or(String::new(), |path| format!(" (A {})", path.dotted(side)));
        let (a, b) = (text(&difference.a), text(&difference.b));
        lines.push(match difference.change.name() {
            "added" => format!("+ {path}{from} {b}"),
            "removed" => format!("- {path}{from} {a}"),
            "changed" => format!("~ {path}{from} {a} {b}"),
            "type changed" => format!("! {path}{from} {a} {b}"),
            _ => format!("% {path}{from}"),
        });
    }
    lines.extend(found.hidden.iter().map(|hidden| format!("= {} {}", hidden.path.dotted(side), hidden.by.name())));
    lines.join("\n")
}

#[track_caller]
fn check_with(rules: &str, a: &str, b: &str, expected: &str) {
    let dials = Rules::parse(rules).unwrap().dials(None);
    let answer = |value: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#).into_bytes();
    let told = told_with(&answer(a), &answer(b), &dials, false, Side::Response);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(told, expected.join("\n"), "{a} and {b}");
}

#[track_caller]
fn check(a: &str, b: &str, expected: &str) {
    check_with("{}", a, b, expected);
}

#[test]
fn values_are_the_same_by_what_they_mean() {
    for (a, b) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("10", "1E+1"),
        ("0", "-0.0"),
        ("0.10", "1e-1"),
        ("1e400", "10e399"),
        ("1.0e-400", "1e-400"),
        ("9007199254740993", "9007199254740993.0"),
        (r#""a\u0062""#, r#""ab""#),
        (r#""\/""#, r#""/""#),
        (r#""\ud83d\ude00""#, r#""😀""#),
        (r#""\ufffd""#, "\"\u{fffd}\""),
        (r#"{"a":1,"b":2}"#, r#"{ "b" : 2 , "a" : 1 }"#),
        (r#"{"\u0061":1}"#, r#"{"a":1}"#),
        (r#"[1, [2]]"#, "[1,[2]]"),
        (r#"{"a":1,"a":2}"#, r#"{"a":1.0,"a":2}"#),
    ] {
        check(a, b, "");
        check(b, a, "");
    }
}

#[test]
fn values_that_differ_are_told() {
    check(
        "9007199254740992",
        "9007199254740993",
        "~ resp.result 9007199254740992 9007199254740993".replace("resp.result", "result").as_str(),
    );
    check("0.1", "0.10000000000000001", "~ result 0.1 0.10000000000000001");
    check(
        "1e1000000000000000000000",
        "1e1000000000000000000001",
        "~ result 1e1000000000000000000000 1e1000000000000000000001",
    );
    check("true", "false", "~ result true false");
    check("null", "0", "! result null 0");
    check("1", r#""1""#, r#"! result 1 "1""#);
    check(r#""\ud800""#, r#""\ud801""#, r#"~ result "\ud800" "\ud801""#);
    check(r#""\ud800""#, "\"\u{fffd}\"", "~ result \"\\ud800\" \"\u{fffd}\"");
    check("[]", "{}", "! result [] {}");
    check(r#"{"a":1}"#, r#"{"a":2}"#, "~ result.a 1 2");
    check(r#"{"a":1}"#, r#"{"b":1}"#, "- result.a 1\n+ result.b 1");
    check(r#"{"a b":{"c\"d":1}}"#, r#"{"a b":{"c\"d":2}}"#, r#"~ result."a b"."c\"d" 1 2"#);
    check(r#"{"a":1,"a":2}"#, r#"{"a":1}"#, "- result.a 2");
    check(r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, "~ result.a 1 2\n~ result.a 2 1");
    check(r#"{"\ud800":1}"#, r#"{"\ud801":1}"#, "- result.\"\u{fffd}\" 1\n+ result.\"\u{fffd}\" 1");
}

#[test]
fn elements_of_arrays_find_each_other() {
    check("[1,2,3]", "[1,2,3,4]", "+ result[3] 4");
    check("[1,2,3]", "[0,1,2,3]", "+ result[0] 0");
    check("[1,2,3,4]", "[1,3,4]", "- result[1] 2");
    check("[1,2,3]", "[1,9,3]", "~ result[1] 2 9");
    check("[1,2]", "[2,1]", "+ result[0] 2\n- result[1] 2");
    check(r#"[{"x":1},{"x":2}]"#, r#"[{"x":0},{"x":1},{"x":2}]"#, r#"+ result[0] {"x":0}"#);
    // By a name of their own, wherever they are.
    check(
        r#"[{"name":"a","v":1},{"name":"b","v":2}]"#,
        r#"[{"name":"c","v":0},{"name":"a","v":1},{"name":"b","v":3}]"#,
        r#"+ result[0] {"name":"c","v":0}
           ~ result[2].v (A result[1].v) 2 3"#,
    );
    check(r#"[{"id":1},{"id":2}]"#, r#"[{"id":2.0},{"id":1}]"#, "% result");
    check(r#"[{"id":1,"v":1}]"#, r#"[{"id":2,"v":1}]"#, "~ result[0].id 1 2");
    // The same name twice is no name.
    check(r#"[{"id":1,"v":1},{"id":1,"v":2}]"#, r#"[{"id":1,"v":1},{"id":1,"v":3}]"#, "~ result[1].v 2 3");
    // The order of tools means nothing, that of content does.
    check(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, r#"{"tools":[{"name":"b"},{"name":"a"}]}"#, "");
    check(
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        r#"{"content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}"#,
        r#"- result.content[0] {"type":"text","text":"a"}
           + result.content[1] {"type":"text","text":"c"}"#,
    );
}

#[test]
fn json_inside_of_text_is_compared_as_json() {
    let text =
        |json: &str| format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, serde_json::to_string(json).unwrap());
    check(&text(r#"{"a":1,"b":[1,2]}"#), &text(r#"{"b":[1,3],"a":1.0}"#), "~ result.content[0].text.b[1] 2 3");
    check(&text("[1]"), &text("[ 1 ]"), "= result.content[0].text JSON spelled differently");
    check(&text("{a}"), &text("{b}"), "~ result.content[0].text \"{a}\" \"{b}\"");
    check_with(
        r#"{"ignore":["result.content[*].text.at"]}"#,
        &text(r#"{"at":1,"b":2}"#),
        &text(r#"{"at":2,"b":2}"#),
        "= result.content[0].text.at ignored",
    );
    let twice = |json: &str| text(&format!(r#"{{"inner":{}}}"#, serde_json::to_string(json).unwrap()));
    check(&twice(r#"{"x":1}"#), &twice(r#"{"x":2}"#), "~ result.content[0].text.inner.x 1 2");
    // In a request a text is a text.
    let dials = Dials::default();
    let request = |json: &str| {
        format!(r#"{{"method":"m","params":{{"arguments":{{"q":{}}}}}}}"#, serde_json::to_string(json).unwrap())
    };
    let told = told_with(request("[1]").as_bytes(), request("[ 1]").as_bytes(), &dials, false, Side::Request);
    assert_eq!(told, r#"~ arg.q "[1]" "[ 1]""#);
}

#[test]
fn rules_hide_and_count() {
    let (a, b) = (r#"{"a":{"t":1,"v":1},"l":[{"t":1},{"t":2}]}"#, r#"{"a":{"t":2,"v":1},"l":[{"t":3},{"t":2}]}"#);
    check(a, b, "~ result.a.t 1 2\n~ result.l[0].t 1 3");
    check_with(r#"{"ignore":["result.a.t"]}"#, a, b, "~ result.l[0].t 1 3\n= result.a.t ignored");
    check_with(r#"{"ignore":["result.*.t"]}"#, a, b, "~ result.l[0].t 1 3\n= result.a.t ignored");
    check_with(r#"{"ignore":["result.l[*].t"]}"#, a, b, "~ result.a.t 1 2\n= result.l[0].t ignored");
    check_with(r#"{"ignore":["result.**.t"]}"#, a, b, "= result.a.t ignored\n= result.l[0].t ignored");
    check_with(r#"{"volatile":[".**.t"]}"#, a, b, "= result.a.t volatile\n= result.l[0].t volatile");
    check_with(r#"{"ignore":["arg.**"]}"#, a, b, "~ result.a.t 1 2\n~ result.l[0].t 1 3");
    // There must be something that is volatile, but nothing that is ignored.
    check_with(r#"{"volatile":["result.t"]}"#, r#"{"t":1}"#, "{}", "- result.t 1");
    check_with(r#"{"ignore":["result.t"]}"#, r#"{"t":1}"#, "{}", "= result.t ignored");
    check_with(r#"{"loose":["numbers"]}"#, r#"["812",1]"#, r#"[812,"1.0"]"#, "= result[0] loose\n= result[1] loose");
    check_with(r#"{"loose":["case","space"]}"#, r#"" Ab  c""#, r#""aB c ""#, "= result loose");
    check_with(r#"{"loose":["space"]}"#, r#""a b""#, r#""A b""#, r#"~ result "a b" "A b""#);
    check_with(r#"{"loose":["case"]}"#, r#""\ud800""#, r#""\ud801""#, r#"~ result "\ud800" "\ud801""#);
    check_with(
        r#"{"compare":"shape"}"#,
        r#"{"a":[1,2],"b":"x"}"#,
        r#"{"a":[3],"b":"y"}"#,
        "= result.a[0] same shape\n= result.a[1] same shape\n= result.b same shape",
    );
    check_with(r#"{"compare":"shape"}"#, r#"{"a":[1]}"#, r#"{"a":["1"],"c":1}"#, "! result.a[0] 1 \"1\"\n+ result.c 1");
    check_with(r#"{"compare":"status"}"#, r#"{"a":1}"#, r#"{"a":2}"#, "");
    check_with(r#"{"compare":"status"}"#, r#"{"a":1}"#, r#"{"isError":true}"#, r#"~ resp "ok" "isError""#);
}

#[test]
fn elements_find_each_other_by_what_is_not_ignored() {
    let (a, b) = (r#"[{"v":"x","t":1},{"v":"y","t":1}]"#, r#"[{"v":"w","t":2},{"v":"x","t":2},{"v":"y","t":2}]"#);
    check_with(
        r#"{"ignore":["result[*].t"]}"#,
        a,
        b,
        r#"+ result[0] {"v":"w","t":2}
           = result[1].t ignored
           = result[2].t ignored"#,
    );
}

#[test]
fn placeholders_stand_for_values() {
    for (pattern, value, fits) in [
        ("«any»", "[1]", true),
        ("«string»", r#""x""#, true),
        ("«string»", "1", false),
        ("«number»", "1", true),
        ("«number»", r#""1""#, false),
        ("job «number»", r#""job 12""#, true),
        ("job «number»", r#""job x""#, false),
        ("«uuid»", r#""7f3a1c9e-0000-4000-8000-0123456789ab""#, true),
        ("«uuid»", r#""7f3a""#, false),
        ("«time»", r#""2026-11-30T14:02:00.5Z""#, true),
        ("at «time»!", r#""at 2026-11-30 14:02:00+01:00!""#, true),
        ("«time»", r#""today""#, false),
        ("«re:[a-z]+»", r#""abc""#, true),
        ("«re:[a-z]+»", r#""abc1""#, false),
        ("«re:(»", r#""(""#, false),
        ("«home»/src", r#""/home/me/src""#, true),
        ("«home»/src", r#""/home/me/lib""#, false),
        ("«secret 1»", "1", false),
        ("«secret 1»-«secret 1»", r#""a-a""#, true),
        ("«secret 1»-«secret 1»", r#""a-b""#, false),
        ("«secret 1»-«secret 2»", r#""a-b""#, true),
        // What only looks like one is text.
        ("« any »", r#""x""#, false),
        ("«»", r#""x""#, false),
        ("«Any»", r#""x""#, false),
        ("«bonjour»", r#""x""#, false),
    ] {
        let pattern = serde_json::to_string(pattern).unwrap();
        let expected = if fits { "= result placeholder".to_owned() } else { format!("~ result {pattern} {value}") };
        let told = |a: &str, b: &str| {
            let message = |value: &str| format!(r#"{{"result":{value}}}"#).into_bytes();
            told_with(&message(a), &message(b), &Dials::default(), false, Side::Response)
        };
        let found = told(&pattern, value);
        assert_eq!(found.replace('!', "~"), expected.replace('!', "~"), "{pattern} {value}");
        assert_eq!(told(value, &pattern).starts_with('='), fits, "{value} {pattern}");
    }
}

#[test]
fn the_same_marker_is_the_same_text_in_all_messages_of_a_session() {
    let dials = Dials::default();
    let mut markers = Markers::new();
    let mut same = |a: &str, b: &str| {
        let message = |text: &str| format!(r#"{{"result":"{text}"}}"#).into_bytes();
        compare(&message(a), &message(b), &Options::new(&dials, Side::Response), &mut markers).is_same()
    };
    assert!(same("Bearer «secret 1»", "Bearer abc"));
    assert!(same("key=«secret 1»", "key=abc"));
    assert!(!same("«secret 1»", "xyz"));
    assert!(same("«secret 2»", "xyz"));
    // Redacted twice, numbered otherwise.
    assert!(same("«secret 3»", "«secret 1»"));
    assert_eq!(markers.meaning("«secret 1»"), Some("abc"));
    // As literal text.
    let options = Options { placeholders: false, ..Options::new(&dials, Side::Response) };
    assert!(!compare(br#"{"result":"\u00abany\u00bb"}"#, br#"{"result":1}"#, &options, &mut Markers::new()).is_same());
}

#[test]
fn what_changes_on_every_run_is_hidden_where_that_is_asked_for() {
    let a = br#"{"result":{"u":"7f3a1c9e-0000-4000-8000-0123456789ab","t":"2026-11-30T14:02:00Z","e":1796047320,"ms":1796047320123,"n":7}}"#;
    let b = br#"{"result":{"u":"8f3a1c9e-0000-4000-8000-0123456789ab","t":"2026-12-01T14:02:00Z","e":1796047321,"ms":1796047320124,"n":8}}"#;
    let told = told_with(a, b, &Dials::default(), true, Side::Response);
    let looks = ["u", "t", "e", "ms"].map(|key| format!("= result.{key} volatile by its looks"));
    assert_eq!(told, format!("~ result.n 7 8\n{}", looks.join("\n")));
    assert_eq!(told_with(a, b, &Dials::default(), false, Side::Response).lines().count(), 5);
}

#[test]
fn what_belongs_to_the_envelope_is_left_out() {
    let dials = Dials::default();
    let told = |a: &str, b: &str, side| told_with(a.as_bytes(), b.as_bytes(), &dials, false, side);
    assert_eq!(
        told(r#"{"jsonrpc":"2.0","id":1,"result":{"id":1}}"#, r#"{"id":"x","result":{"id":2}}"#, Side::Response),
        "~ result.id 1 2"
    );
    let (a, b) = (
        r#"{"id":1,"method":"m","params":{"_meta":{"progressToken":1},"a":{"_meta":1}}}"#,
        r#"{"id":2,"method":"m","params":{"a":{"_meta":2}}}"#,
    );
    assert_eq!(told(a, b, Side::Request), "~ req.params.a._meta 1 2");
    let page = |cursor: &str| format!(r#"{{"method":"tools/list","params":{{"cursor":"{cursor}","x":"{cursor}"}}}}"#);
    assert_eq!(told(&page("a"), &page("b"), Side::Request), r#"~ req.params.x "a" "b""#);
    assert_eq!(told(r#"{"error":{"code":-1}}"#, r#"{"error":{"code":-2}}"#, Side::Response), "~ resp.error.code -1 -2");
}

#[test]
fn bounds_are_kept_and_told() {
    let dials = Dials::default();
    let found = |a: &[u8], b: &[u8]| compare(a, b, &Options::new(&dials, Side::Response), &mut Markers::new());
    let nested = |n: usize, leaf: &str| format!("{}{leaf}{}", "[".repeat(n), "]".repeat(n)).into_bytes();
    let deep = found(&nested(100_000, "1"), &nested(100_000, "2"));
    assert_eq!((deep.n_differences, deep.bounds.contains(&Bound::Depth)), (1, true));
    // Too many differences are counted, not listed.
    let many = |value: u32| {
        format!("[{}]", (0..5_000).map(|n| format!("{{\"n\":{n},\"v\":{value}}}")).collect::<Vec<_>>().join(","))
            .into_bytes()
    };
    let listed = found(&many(1), &many(2));
    assert_eq!((listed.n_differences, listed.differences.len()), (5_000, 1_000));
    assert!(listed.bounds.contains(&Bound::Array));
}

/// What a large message costs is counted in bytes that were walked over: a few passes, however large it is.
#[test]
fn a_large_message_costs_a_bounded_number_of_passes() {
    let dials = Dials::default();
    let (size, longest) = (1 << 20, 16 << 20);
    let list = |element: &dyn Fn(usize) -> String| {
        let mut text = String::from(r#"{"result":["#);
        let mut index = 0;
        while text.len() < size {
            text.push_str(&element(index));
            text.push(',');
            index += 1;
        }
        text.pop();
        text.push_str("]}");
        text.into_bytes()
    };
    let pairs = [
        (
            list(&|n| format!(r#"{{"id":{n},"v":"{:0>64}"}}"#, n)),
            list(&|n| format!(r#"{{"id":{n},"v":"{:0>64}"}}"#, n + 1)),
        ),
        (list(&|n| n.to_string()), list(&|n| (n * 7).to_string())),
        (list(&|n| format!("[[[[{n}]]]]")), list(&|n| format!("[[[[{n}.5]]]]"))),
        (
            format!(r#"{{"result":"{}"}}"#, "a".repeat(longest)).into_bytes(),
            format!(r#"{{"result":"{}b"}}"#, "a".repeat(longest)).into_bytes(),
        ),
    ];
    for (a, b) in pairs {
        let n_bytes = (a.len() + b.len()) as u64;
        let found = compare(&a, &b, &Options::new(&dials, Side::Response), &mut Markers::new());
        assert!(!found.is_same());
        assert!(found.work_bytes < 12 * n_bytes, "{} passes", found.work_bytes / n_bytes);
    }
}

#[test]
fn texts_are_compared_by_words() {
    let pieces = compare_words("as text. DEPRECATED now", "as text. now").unwrap();
    let shown: Vec<_> = pieces.iter().map(|piece| format!("{:?}:{}", piece.of, piece.text)).collect();
    assert_eq!(shown.concat(), "Both:as text. A:DEPRECATED Both:now");
    assert!(compare_words(&"a ".repeat(10_000), "b").is_none());
}

#[test]
fn depth_of_a_tool_takes_the_place_of_the_general_one() {
    let rules = Rules::parse(r#"{"compare":"status","tools":{"t":{"compare":"exact"}}}"#).unwrap();
    assert_eq!((rules.dials(Some("t")).depth, rules.dials(None).depth), (Depth::Exact, Depth::Status));
}
