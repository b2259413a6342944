//! Tests: tables of what is a secret and what is none, and that a message stays one.

use proptest::prelude::*;

use super::*;

/// Looks, then replaces.
fn redacted(redactor: &mut Redactor, json: &str) -> String {
    redactor.message(json);
    if redactor.looks_again() {
        redactor.message(json);
    }
    redactor.settle();
    redactor.message(json).unwrap_or_else(|| json.into())
}

fn plainly(json: &str) -> String {
    redacted(&mut Redactor::default(), json)
}

fn in_text(text: &str) -> String {
    let mut redactor = Redactor::default();
    redactor.line("raw", "raw", text);
    redactor.settle();
    redactor.line("raw", "raw", text).unwrap_or_else(|| text.into())
}

/// Letters and digits as a random token has them. Written so, no scanner of repositories takes this file for a leak.
fn random(length: usize) -> String {
    "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zC0fLrUoI".chars().cycle().take(length).collect()
}

#[test]
fn what_is_made_like_a_secret_is_replaced() {
    let upper = "ABCDEFGH234567XY";
    let hex: String = "0123456789abcdef".repeat(4);
    let secrets = [
        format!("AKIA{upper}"),
        format!("ghp_{}", random(36)),
        format!("github_pat_{}", random(60)),
        format!("glpat-{}", random(20)),
        format!("xoxb-{}", random(24)),
        format!("sk_live_{}", random(24)),
        format!("whsec_{}", random(32)),
        format!("sk-ant-api03-{}", random(40)),
        format!("sk-proj-{}", random(40)),
        format!("AIza{}", random(35)),
        format!("ya29.{}", random(30)),
        format!("GOCSPX-{}", random(28)),
        format!("npm_{}", random(36)),
        format!("hf_{}", random(34)),
        format!("SG.{}.{}", random(22), random(43)),
        format!("dop_v1_{hex}"),
        format!("eyJ{}.eyJ{}.{}", random(20), random(30), random(43)),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", random(64)),
        format!("-----BEGIN PRIVATE KEY-----\n{}", random(64)),
    ];
    for secret in &secrets {
        let text = format!("it is {secret}");
        assert_eq!(in_text(&text), "it is «secret 1»", "{secret}");
        let json = serde_json::json!({ "result": { "content": [{ "type": "text", "text": text }] } }).to_string();
        assert_eq!(plainly(&json), r#"{"result":{"content":[{"type":"text","text":"it is «secret 1»"}]}}"#);
    }
    for (before, secret, after) in [
        ("Authorization: Bearer ", "abcdef12345", ""),
        ("authorization: Basic ", "dXNlcjpwYXNz", ""),
        ("x-api-key: ", "abcdefgh12", ""),
        ("postgres://me:", "hunter2", "@db.example/x"),
        ("https://a.example/?a=1&access_token=", "abcdef123", "&b=2"),
        ("https://a.example/?X-Amz-Signature=", "0123abcdef", "#x"),
        ("DB_PASSWORD=", "hunter2x", " next"),
        ("export GITHUB_TOKEN=\"", "abcdefgh", "\""),
        ("Server=x;Password=", "hunter2", ";"),
        ("run --api-key ", "abc123def", " --verbose"),
        ("run --token=", "abc123def", ""),
        ("run --password=", "correcthorse", " --port 80"),
        ("run --passphrase=\"", "correct horse", "\""),
        ("run '--db-secret=", "correcthorse", "'"),
        ("run -auth-token=", "correcthorse", ""),
        ("run --client-credential ", "abc123def", ""),
        ("{\\\"token\\\": \\\"", "hunter2", "\\\", x"),
        ("{'password': '", "hunter2", "', x"),
        ("Set-Cookie: ", "a=b; Path=/", ""),
    ] {
        assert_eq!(in_text(&format!("{before}{secret}{after}")), format!("{before}«secret 1»{after}"));
    }
}

#[test]
fn what_only_looks_so_stays() {
    for text in [
        "550e8400-e29b-41d4-a716-446655440000",
        "9b4bc443f1c5e9d6c0b2a1d4e7f8091a2b3c4d5e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha512-vKl1PCL6k7ZQmQyLqzJ3JZ1Q5pCzqYb0n9f8W7v6u5t4s3r2q1p0oA==",
        "sk-loading-spinner-large-blue-button",
        "the bearer of this letter; Bearer authentication is used",
        "set --max-tokens 100000 or --token-limit 500000",
        "set --max-tokens=100000 --token=<token> --password=PASSWORD --api-key=MY_API_KEY --token=$TOKEN --token=string",
        "{\"token_type\": \"bearer\", \"token\": \"string\", \"user\": \"somebody\"} and",
        "http://localhost:8080/a@b and https://example.com:443/x",
        "password: must be 8 characters; a token is needed; your secret",
        "export API_TOKEN=$TOKEN and API_KEY=<your key> and X_TOKEN=your-token-here",
        "?key=value&sort=asc",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "2026-11-30T12:00:00.000Z",
        "homeward /homes/me /usr/home/x a/home/b",
        "npm_config_registry and hf_hub_download_with_many_letters_abcde",
    ] {
        assert_eq!(in_text(text), text);
        let json = serde_json::json!({ "params": { "arguments": { "value": text } } }).to_string();
        assert_eq!(plainly(&json), json);
    }
    let image = random(4_000) + "AKIAABCDEFGH234567XY";
    for image in [image.clone(), format!("![x](data:image/png;base64,{image}) and data:a/b;base64,{image}")] {
        let json = serde_json::json!({ "data": image }).to_string();
        assert_eq!(plainly(&json), json, "a picture");
    }
    for json in [
        r#"{"params":{"_meta":{"progressToken":"abc"},"maxTokens":1000,"nextPageToken":"xyz"}}"#,
        r#"{"password":"","token":null,"secret":true,"apiKey":{},"tokens":12345,"token_type":"bearer"}"#,
        r#"{"password":"«secret 4»","token":"Bearer «secret 2»","secret":"<redacted>"}"#,
        r#"{"inputSchema":{"type":"object","properties":{"token":{"type":"string"},"maxTokens":{"type":"number"},"password":{"type":"string","minLength":8}},"required":["token"],"dependentRequired":{"token":["password"]},"default":{"password":"x"}}}"#,
        r#"{"password":{"type":"string","minLength":1000,"description":"of the user","expiresAt":1700000000,"policy":{"a":"long"}}}"#,
        r#"{"properties":{"password":{"default":"none at all","n":12345}}}"#,
        r#"{"value":"hunter2","name":"user","values":["a"],"other":{"name":"password"}}"#,
        r#"{"value":{"name":"password"},"x":"y"}"#,
        r#"["--password=$PASSWORD","--token=<token>","-v=1","a=b","- your password is wrong","no"]"#,
        r#"["--password=${X}","next"]"#,
        r#"{"prompts":[{"name":"login","arguments":[{"name":"password","description":"of the user","required":true}]}]}"#,
    ] {
        assert_eq!(plainly(json), json);
    }
}

#[test]
fn what_is_called_a_secret_is_replaced_by_what_is_of_its_type() {
    for (json, expected) in [
        (r#"{"password":"hunter2"}"#, r#"{"password":"«secret 1»"}"#),
        (r#"{"a":{"api_key" : "x\/y" , "b":1}}"#, r#"{"a":{"api_key" : "«secret 1»" , "b":1}}"#),
        (r#"{"pin":1,"password":123456,"n":1e3}"#, r#"{"pin":1,"password":1,"n":1e3}"#),
        (r#"{"cookies":1,"cookie":["a=b","c=d"]}"#, r#"{"cookies":1,"cookie":["«secret 1»","«secret 2»"]}"#),
        (r#"{"Authorization":"Bearer abc","t":"abc"}"#, r#"{"Authorization":"Bearer «secret 1»","t":"abc"}"#),
        (
            r#"{"a":"b","a":"b","token":"t","token":"u"}"#,
            r#"{"a":"b","a":"b","token":"«secret 1»","token":"«secret 2»"}"#,
        ),
        (r#"{"t\u006fken":"\ud800"}"#, r#"{"t\u006fken":"«secret 1»"}"#),
        (r#"[{"name":"API_KEY","value":"x1"}]"#, r#"[{"name":"API_KEY","value":"«secret 1»"}]"#),
        (r#"[{"value":"x1","name":"API_KEY"}]"#, r#"[{"value":"«secret 1»","name":"API_KEY"}]"#),
        (
            r#"[{"Value" : {"a":"x\"1"},"b":[1,{"name":"x"}], "Key" : "password"}]"#,
            r#"[{"Value" : {"a":"«secret 1»"},"b":[1,{"name":"x"}], "Key" : "password"}]"#,
        ),
        (r#"{"argument":{"value":123456,"name":"passcode"}}"#, r#"{"argument":{"value":1,"name":"passcode"}}"#),
        (r#"{"password":{"current":"hunter2","n":1}}"#, r#"{"password":{"current":"«secret 1»","n":1}}"#),
        (
            r#"{"token":{"type":"bearer","expires_in":3600,"parts":[{"v":["x1",123456,true,null]}]}}"#,
            r#"{"token":{"type":"bearer","expires_in":3600,"parts":[{"v":["«secret 1»",2,true,null]}]}}"#,
        ),
        (r#"{"passcode":[123456,[654321]]}"#, r#"{"passcode":[1,[2]]}"#),
        (r#"{"cookie":[{"name":"sid","value":"x1"}]}"#, r#"{"cookie":[{"name":"sid","value":"«secret 1»"}]}"#),
        (r#"{"password":"a«b","token":"«x»"}"#, r#"{"password":"«secret 1»","token":"«secret 2»"}"#),
        (
            r#"["srv","--password=correcthorse","--secret=a b;c","token=x1","--pwd=","-pwd","x1"]"#,
            r#"["srv","--password=«secret 1»","--secret=«secret 2»","token=«secret 3»","--pwd=","-pwd","«secret 3»"]"#,
        ),
        (r#"["--pin","0","--passcode",123456,"next"]"#, r#"["--pin","0","--passcode",1,"next"]"#),
        (r#"{"args":["--token","x1","--port","80"]}"#, r#"{"args":["--token","«secret 1»","--port","80"]}"#),
        (
            r#"{"headers":[["x-api-key","x1"],["accept","y"]]}"#,
            r#"{"headers":[["x-api-key","«secret 1»"],["accept","y"]]}"#,
        ),
        (r#"{"text":"{\"password\": \"a\\nb\", \"n\":1}"}"#, r#"{"text":"{\"password\": \"«secret 1»\", \"n\":1}"}"#),
        (r#"{"text":"[\"{\\\"token\\\":\\\"x\\\"}\"]"}"#, r#"{"text":"[\"{\\\"token\\\":\\\"«secret 1»\\\"}\"]"}"#),
        (
            r#"{"/home/me/a":"file:///home/me/b","c":"/home/you","d":"C:\\Users\\me\\x"}"#,
            r#"{"«home»/a":"file://«home»/b","c":"«home 2»","d":"«home 3»\\x"}"#,
        ),
    ] {
        assert_eq!(plainly(json), expected);
    }
}

#[test]
fn a_picture_hides_no_secret_beside_it() {
    let (token, picture) = (format!("ghp_{}", random(36)), random(1_100));
    for (before, behind) in [(&token, ""), (&picture, ";base64,x"), (&String::new(), "")] {
        let text = format!("token {before} data:image/png;base64,{picture}{behind} and {token}");
        assert_eq!(in_text(&text), text.replace(&token, "«secret 1»"));
    }
    let mut redactor = Redactor::default();
    redactor.line("raw", "raw", &format!("{} data:image/png;base64,{picture}", random(30)));
    assert_eq!(redactor.unjudged().iter().map(|it| it.length).collect::<Vec<_>>(), [30]);
}

/// In the rows, `SECRET` is a token of GitHub, and what is to be replaced.
#[test]
fn what_the_protocol_needs_stays_where_it_has_its_members_and_nowhere_else() {
    let token = format!("ghp_{}", random(36));
    for row in [
        r#"{"jsonrpc":"2.0","id":1,"method":"KEPT","params":{"cursor":"KEPT","_meta":{"progressToken":"KEPT"}}}"#,
        r#"[{"result":{"nextCursor":"KEPT","protocolVersion":"KEPT"}},{"method":"KEPT"}]"#,
        r#"{"params":{"arguments":{"cursor":"SECRET","method":"SECRET","_meta":{"requestId":"SECRET"}}}}"#,
        r#"{"result":{"contents":[{"mimeType":"SECRET"}],"a":{"cursor":"SECRET"}},"cursor":"KEPT"}"#,
        r#"{"error":{"data":{"method":"SECRET"}},"msg":{"cursor":"SECRET"}}"#,
        r#"{"result":{"content":[{"text":"{\"cursor\":\"SECRET\",\"params\":{\"cursor\":\"SECRET\"}}"}]}}"#,
    ] {
        let json = row.replace("SECRET", &token).replace("KEPT", &token);
        let expected = row.replace("SECRET", "«secret 1»").replace("KEPT", &token);
        assert_eq!(plainly(&json), expected);
        let record = format!(r#"{{"to":"client","msg":{json}}}"#);
        let n_found = Redactor::default().record(&record, &[]).len();
        assert_eq!(n_found, row.matches("SECRET").count(), "--check, {row}");
    }
    let n_found =
        Redactor::default().record(&format!(r#"{{"cursor":"{token}","params":{{"cursor":"{token}"}}}}"#), &[]);
    assert_eq!(n_found.len(), 2, "a record is no message");
}

#[test]
fn a_value_that_was_a_secret_in_one_place_is_replaced_in_all() {
    for (json, expected) in [
        (
            r#"{"text":"as correct horse, sir","password":"correct horse","b":["correct horse"]}"#,
            r#"{"text":"as «secret 1», sir","password":"«secret 1»","b":["«secret 1»"]}"#,
        ),
        (
            r#"{"password":"correcthorse","t":"{\"a\":\"is correcthorse\"}","correct":"horse","correcthorse":1}"#,
            r#"{"password":"«secret 1»","t":"{\"a\":\"is «secret 1»\"}","correct":"horse","correcthorse":1}"#,
        ),
        // As a key, where it can be no word of a program; inside of words, where it is unmistakable.
        (
            r#"{"token":"0a1b2c3d4e5f6071","0a1b2c3d4e5f6071":1,"q":"%3D0a1b2c3d4e5f6071x"}"#,
            r#"{"token":"«secret 1»","«secret 1»":1,"q":"%3D«secret 1»x"}"#,
        ),
        (
            r#"{"pin":"is 12345678","passcode":12345678,"id":12345678}"#,
            r#"{"pin":"is «secret 1»","passcode":1,"id":12345678}"#,
        ),
        (
            r#"{"a":"Authorization: Bearer abcdef12345","b":"it is abcdef12345."}"#,
            r#"{"a":"Authorization: Bearer «secret 1»","b":"it is «secret 1»."}"#,
        ),
        // Too short, part of a word, a common word, the name of something, a marker.
        (r#"{"password":"hunter2","b":"hunter2"}"#, r#"{"password":"«secret 1»","b":"hunter2"}"#),
        (r#"{"password":"correcthorse","b":"incorrecthorses"}"#, r#"{"password":"«secret 1»","b":"incorrecthorses"}"#),
        (r#"{"secret":"Production","b":"in Production"}"#, r#"{"secret":"«secret 1»","b":"in Production"}"#),
        (
            r#"{"method":"tools/call","params":{"name":"get_secret","arguments":{"token":"get_secret","secret":"tools/call"}}}"#,
            r#"{"method":"tools/call","params":{"name":"get_secret","arguments":{"token":"«secret 1»","secret":"«secret 2»"}}}"#,
        ),
        (
            r#"{"inputSchema":{"properties":{"forecast":{"enum":["forecast"]}}},"token":"forecast"}"#,
            r#"{"inputSchema":{"properties":{"forecast":{"enum":["forecast"]}}},"token":"«secret 1»"}"#,
        ),
        (r#"{"password":"secret 7","b":"«secret 7»"}"#, r#"{"password":"«secret 1»","b":"«secret 7»"}"#),
    ] {
        assert_eq!(plainly(json), expected);
        assert_eq!(plainly(expected), expected);
    }
    // What overlaps is replaced as a whole.
    let json = r#"{"password":"horse DB_TOKEN=ab","t":"a horse DB_TOKEN=abcdef b"}"#;
    assert_eq!(plainly(json), r#"{"password":"«secret 1»","t":"a «secret 2» b"}"#);
}

#[test]
fn a_secret_in_a_schema_is_found_by_its_shape_alone() {
    let key = format!("sk-ant-api03-{}", random(40));
    let json = format!(
        r#"{{"inputSchema":{{"properties":{{"token":{{"default":"{key}","pattern":"{key}"}}}}}},"token":"{key}"}}"#
    );
    let expected = json.replacen(&key, "«secret 1»", 1);
    assert_eq!(plainly(&json), expected.replace(&format!("\"token\":\"{key}\""), "\"token\":\"«secret 1»\""));
}

#[test]
fn rules_add_what_nobody_else_can_know() {
    let rules = ["key:email", "path:arg.n", "path:result.rows[].who", "re:cust-([0-9]+)"];
    let rules: Vec<Rule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let json = r#"{"params":{"arguments":{"n":{"deep":[1,true,"x",null]},"Email":"a@b.example"}},"result":{"rows":[{"who":"me"},{"who":"me","x":"cust-77 cust-78"}]}}"#;
    let expected = r#"{"params":{"arguments":{"n":{"deep":[1,false,"«secret 2»",null]},"Email":"«secret 3»"}},"result":{"rows":[{"who":"«secret 4»"},{"who":"«secret 4»","x":"cust-«secret 5» cust-«secret 6»"}]}}"#;
    assert_eq!(redacted(&mut Redactor::new(rules, Vec::new()), json), expected);
}

#[test]
fn the_same_secret_has_the_same_marker_and_markers_that_are_there_keep_their_numbers() {
    let mut redactor = Redactor::new(Vec::new(), vec!["/root".into()]);
    let json = r#"{"token":"b","password":"a","x":"«secret 1»","secret":"b","p":"/root/x /rootx (/root)"}"#;
    let expected = r#"{"token":"«secret 2»","password":"«secret 3»","x":"«secret 1»","secret":"«secret 2»","p":"«home»/x /rootx («home»)"}"#;
    assert_eq!(redacted(&mut redactor, json), expected);
    let told: Vec<_> = redactor.replaced().into_iter().map(|it| format!("{} {}", it.marker, it.count)).collect();
    assert_eq!(told, ["«secret 1» 1", "«secret 2» 2", "«secret 3» 1", "«home» 2"]);
    assert_eq!(redacted(&mut redactor, expected), expected);
}

#[test]
fn a_private_key_over_several_lines_is_replaced_in_all_of_them() {
    let mut redactor = Redactor::default();
    let lines = ["x -----BEGIN PRIVATE KEY-----", "MIIBVgIBADANBg", "-----END PRIVATE KEY-----", "after"];
    let found = lines.map(|line| redactor.line("stderr", "stderr", line).unwrap_or_else(|| line.into()));
    assert_eq!(found, ["x «secret 1»", "«secret 2»", "«secret 3»", "after"]);
}

#[test]
fn a_private_key_ends_where_its_lines_do_and_is_of_one_stream() {
    let mut redactor = Redactor::default();
    for (stream, line, is_replaced) in [
        ("a", "expected -----BEGIN PRIVATE KEY-----", true),
        ("b", "MIIBVgIBADANBg", false),
        ("a", "but the file is empty", false),
        ("a", "MIIBVgIBADANBg", false),
        ("a", "-----BEGIN RSA PRIVATE KEY-----", true),
        ("a", "Proc-Type: 4,ENCRYPTED", true),
        ("a", "", false),
        ("b", "listening", false),
        ("b", "-----BEGIN PGP PRIVATE KEY BLOCK-----", true),
        ("a", "MIIBVgIBADANBg", true),
        ("a", "-----END RSA PRIVATE KEY-----", true),
        ("a", "MIIBVgIBADANBg", false),
        ("b", "lQdGBF", true),
        ("b", "-----BEGIN PRIVATE KEY----- is what is missing", true),
        ("b", "started", false),
    ] {
        let found = redactor.line("stderr", stream, line);
        assert_eq!(found.is_some(), is_replaced, "{line}");
        assert!(found.is_none_or(|found| !found.contains("MII") && !found.contains("lQd") && !found.contains("-----")));
    }
}

#[test]
fn a_line_can_be_named_by_a_rule() {
    let mut redactor = Redactor::new(vec!["path:stderr".parse().unwrap()], Vec::new());
    assert_eq!(redactor.line("stderr", "stderr", "all of it").as_deref(), Some("«secret 1»"));
    assert_eq!(redactor.line("raw", "raw", "all of it"), None);
}

#[test]
fn what_is_found_is_kept_for_those_who_ask_alone() {
    let mut redactor = Redactor::default();
    assert_eq!(redactor.record(r#"{"password":"x1"}"#, &[]).len(), 1);
    redactor.message(r#"{"password":"x2"}"#);
    assert!(redactor.findings.is_none());
    assert_eq!(redactor.bytes("stderr", "DB_PASSWORD=hunter2x").remove(0).path, "stderr");
}

#[test]
fn what_is_long_and_mixed_is_told_and_what_is_found_has_a_place() {
    let mut redactor = Redactor::default();
    let json = format!(r#"{{"result":{{"a":["x","{}"],"password":"y"}}}}"#, random(30));
    let findings = redactor.record(&json, &[]);
    assert_eq!(redactor.unjudged(), [Unjudged { path: "result.a[1]".into(), length: 30 }]);
    let finding = &findings[0];
    assert_eq!((finding.path.as_str(), &json[finding.at..]), ("result.password", "\"y\"}}"));
    assert!(has_placeholder("a «any» b") && has_placeholder("«re:x»") && has_placeholder("«secret 3»"));
    assert!(!has_placeholder("« any » «quoted» any"));
}

/// A value with its strings and numbers taken out: what is left is its structure.
fn structure(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members.values().map(structure).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(structure).collect::<Vec<_>>().join(",")),
        Value::String(_) => "s".into(),
        Value::Number(_) => "n".into(),
        Value::Bool(_) => "b".into(),
        Value::Null => "0".into(),
    }
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        "[ -~é«»]{0,30}",
        Just(format!("x ghp_{} y", random(36))),
        Just("/home/me/é\u{1}".to_owned()),
        Just("correct horse".to_owned()),
        Just("as correct horse said".to_owned()),
        Just("--token=«x y".to_owned()),
        Just("{\"password\":\"\\u00e9\\n\",\"b\":[1]}".to_owned()),
        Just("Authorization: Bearer abcdef1234".to_owned()),
    ];
    let scalar = prop_oneof![
        text.prop_map(serde_json::Value::from),
        any::<u32>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
    ];
    let key = prop_oneof![
        Just("password"),
        Just("token"),
        Just("a"),
        Just("inputSchema"),
        Just("properties"),
        Just("name"),
        Just("value"),
        Just("headers")
    ];
    scalar.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| { members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }),
        ]
    })
}

proptest! {
    #[test]
    fn a_redacted_message_has_its_structure_and_redacting_it_again_changes_nothing(value in any_value()) {
        let json = value.to_string();
        let once = plainly(&json);
        let read: serde_json::Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(structure(&read), structure(&value), "{}", &once);
        prop_assert_eq!(plainly(&once), once.as_str());
        prop_assert!(!once.contains("ghp_"));
        // `--check` finds something where, and only where, something is replaced.
        let found = |json: &str| !Redactor::default().record(&format!("{{\"msg\":{json}}}"), &[]).is_empty();
        prop_assert_eq!(found(&json), once != json);
        prop_assert!(!found(&once));
    }

    #[test]
    fn nothing_makes_it_panic(text in "[\\[\\]{}\",:\\\\ua0-9é« \\-]{0,60}") {
        let mut redactor = Redactor::new(vec![Rule::Path(vec!["**".into()])], Vec::new());
        redactor.message(&text);
        redactor.record(&text, &["a"]);
        redactor.line("raw", "raw", &text);
        redactor.settle();
        redactor.member("password", &text);
    }
}
