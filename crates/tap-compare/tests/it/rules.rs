//! The rules of a header: what is read, and what is told about what is not.

use tap_compare::{PathPattern, Rules};

#[test]
fn the_rules_of_a_header_are_read_and_written_back() {
    let text = r#"{"ignore":["arg.timestamp"],"volatile":["result.structuredContent.mtime"],"loose":["numbers"],"tools":{"get_weather":{"compare":"shape","key":["arg.city"]}}}"#;
    let rules = Rules::parse(text).unwrap();
    let written = serde_json::to_string(&rules).unwrap();
    assert_eq!(written, text);
    assert_eq!(serde_json::from_str::<Rules>(&written).unwrap(), rules);
    assert_eq!(Rules::parse("{}").unwrap(), Rules::default());
    assert_eq!(Rules::parse(r#"{"ignore":"arg.a"}"#).unwrap(), Rules::parse(r#"{"ignore":["arg.a"]}"#).unwrap());
    let dials = rules.dials(Some("get_weather"));
    assert_eq!(dials.ignore[0].as_str(), "arg.timestamp");
    assert!(dials.key.is_some() && dials.numbers);
}

#[test]
fn an_error_names_the_member() {
    for (text, told) in [
        ("[]", "rules: is an object"),
        ("{", "rules: EOF"),
        (r#"{"ingore":["arg.a"]}"#, "ingore: is no rule; there are ignore, volatile, loose, compare, key, tools"),
        (r#"{"ignore":["arg.a","wrong.b"]}"#, "ignore[1]: `wrong.b` is no path: it begins with arg"),
        (r#"{"ignore":["req"]}"#, "ignore[0]: "),
        (r#"{"loose":["words"]}"#, "loose[0]: unknown variant `words`, expected one of `numbers`, `case`, `space`"),
        (r#"{"compare":"deep"}"#, "compare: unknown variant `deep`"),
        (r#"{"tools":[]}"#, "tools: is an object"),
        (r#"{"tools":{"t":{"compare":1}}}"#, "tools.t.compare: "),
        (
            r#"{"tools":{"t":{"tools":{}}}}"#,
            "tools.t.tools: is no rule; there are ignore, volatile, loose, compare, key",
        ),
        (r#"{"key":[1]}"#, "key[0]: invalid type"),
    ] {
        let error = Rules::parse(text).map(|_| ()).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|error| error.starts_with(told)), "{text}: {error:?}");
    }
}

#[test]
fn paths_are_read() {
    for text in [
        "arg.a",
        "result.content[0].text",
        "result[*].x",
        ".params.a",
        "req.params.\"a b\".c",
        "error.code",
        "resp.error",
        "result.**",
        "params.a.*",
    ] {
        assert_eq!(PathPattern::parse(text).map(|pattern| pattern.to_string()).as_deref(), Ok(text));
    }
    for (text, told) in [
        ("", "it names all of a message"),
        ("arg..a", "a key is missing after a dot"),
        ("arg.", "a key is missing after a dot"),
        ("arg[x]", "in brackets stands a place in an array, or *"),
        ("arg[1", "a bracket is not closed"),
        ("arg.\"a", "a quote is not closed"),
        ("arg.a b", "after a key comes a dot"),
        ("argument.a", "it begins with"),
    ] {
        let error = PathPattern::parse(text).map_err(|error| error.problem);
        assert!(error.as_ref().is_err_and(|error| error.starts_with(told)), "{text}: {error:?}");
    }
    assert!(PathPattern::parse(&format!("arg{}", ".a".repeat(100))).is_err());
}
