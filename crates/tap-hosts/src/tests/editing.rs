//! The tap put before servers and taken away: what the text is then, and that it is as before.

use std::fmt::Write as _;

use super::files::HOSTS;
use crate::{Edited, Format, Launch, Server, Shape, Tap, masked, read, unwrap, wrap};

pub(super) fn tap() -> Tap {
    Tap { program: "/opt/bin/mcp-tap".into(), options: Vec::new() }
}

pub(super) fn wrap_all(text: &str, format: Format, shape: Shape) -> Edited {
    wrap(text, format, shape, &tap(), &mut |_| true).unwrap()
}

pub(super) fn unwrap_all(text: &str, format: Format, shape: Shape) -> Edited {
    unwrap(text, format, shape, &mut |_| true).unwrap()
}

/// What is there before a change is there after it, behind the tap, and nothing else is.
pub(super) fn check_wrapped(text: &str, format: Format, shape: Shape, edited: &Edited) {
    let before = read(text, format, shape).unwrap();
    let after = read(&edited.text, format, shape).unwrap();
    let names = |servers: &[Server]| servers.iter().map(|server| server.path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before.servers), names(&after.servers));
    assert_eq!(before.problems.len(), after.problems.len(), "{}", edited.text);
    for (before, after) in before.servers.iter().zip(&after.servers) {
        if edited.changed.contains(before) {
            let tapped = after.tapped().unwrap();
            assert_eq!((tapped.program.as_str(), &tapped.behind), ("/opt/bin/mcp-tap", &before.launch));
        } else {
            assert_eq!(before.launch, after.launch);
        }
        assert_eq!((before.is_enabled, &before.name), (after.is_enabled, &after.name));
        assert_eq!(before.others.len(), after.others.len());
    }
}

#[test]
fn unwrapping_gives_back_every_byte_of_every_host() {
    let mut told = String::new();
    for (file, text, format, shape, _) in HOSTS {
        let wrapped = wrap_all(text, *format, *shape);
        check_wrapped(text, *format, *shape, &wrapped);
        let _ = writeln!(told, "== {file}");
        // So that what cannot be seen is seen.
        told.push_str(&wrapped.text.replace('\r', "␍").replace('\t', "→").replace('\u{feff}', "<BOM>"));
        for refused in &wrapped.refused {
            let _ = writeln!(told, "-- {}: {}", refused.server.path, refused.why);
        }
        // A second time there is nothing to do.
        let again = wrap_all(&wrapped.text, *format, *shape);
        assert_eq!((again.changed.len(), &again.text), (0, &wrapped.text), "{file}");
        assert_eq!(again.left.len(), wrapped.changed.len(), "{file}");
        let back = unwrap_all(&wrapped.text, *format, *shape);
        assert_eq!(
            (back.text.as_str(), back.changed.len(), back.refused.len()),
            (*text, wrapped.changed.len(), 0),
            "{file}"
        );
        // One by one, the first wrapped the first taken out.
        let mut now = (*text).to_owned();
        for server in &wrapped.changed {
            let only = |other: &Server| other.path == server.path;
            now = wrap(&now, *format, *shape, &tap(), &mut |other| only(other)).unwrap().text;
        }
        assert_eq!(now, wrapped.text, "{file}");
        for server in &wrapped.changed {
            now = unwrap(&now, *format, *shape, &mut |other| other.path == server.path).unwrap().text;
        }
        assert_eq!(now, *text, "{file}");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn what_cannot_be_done_exactly_is_refused_with_the_reason() {
    for (text, format, shape, expected) in [
        (
            "extensions:\n  a: {cmd: x}\n  b: &b {cmd: y, type: stdio}\n  c: *b\n",
            Format::Yaml,
            Shape::Goose,
            "b: `extensions.b` is an alias, an anchor or a tag of YAML; what is changed there may be meant elsewhere too\n\
             c: `extensions.c` is an alias, an anchor or a tag of YAML; what is changed there may be meant elsewhere too\n",
        ),
        (
            "extensions:\n  a:\n    cmd: |\n      x\n    args: []\n  b:\n    cmd: x,y\n    args: []\n  c:\n    cmd: x,y\n    args:\n    - z\n",
            Format::Yaml,
            Shape::Goose,
            "a: `cmd` is written in a way that could not be put back as it is\n\
             b: `cmd` is written in a way that could not be put back as it is\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"\\u0075rl\": \"http://x\"}, \"b\": {\"command\": \"x\", \"args\": null}, \"c\": {\"command\": 7}}}",
            Format::Json,
            Shape::McpServers,
            "a: `url` is written in a way that could not be put back as it is\n\
             b: `args` is written in a way that could not be put back as it is\n\
             c: what is configured for it is not right\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"url\": \"http://x\", \"oauth\": {}}, \"b\": {\"url\": \"http://x\", \"headers\": {\"A\": \"1\"}, \"env\": {}},
              \"c\": {\"type\": \"http\", \"url\": \"http://x\", \"command\": \"y\"}, \"d\": {\"command\": \"mcp-tap\", \"args\": [\"ls\"]},
              \"e\": {\"url\": \"http://x\", \"headers\": {\"A\": \"1\", \"A\": \"2\"}},
              \"f\": {\"url\": \"http://x\", \"headers\": {}, \"env\": {}}}}",
            Format::Json,
            Shape::McpServers,
            "a: `oauth` is for the host alone, which a bridge on stdio cannot do in its place; tap it with `mcp-tap proxy URL`\n\
             b: it has `env` already, where its headers would have to be\n\
             c: it has `command` already, where its headers would have to be\n\
             e: `headers` is written in a way that could not be put back as it is\n",
        ),
    ] {
        let wrapped = wrap_all(text, format, shape);
        check_wrapped(text, format, shape, &wrapped);
        let told: String = wrapped.refused.iter().map(|refused| format!("{}: {}\n", refused.server.name, refused.why)).collect();
        assert_eq!(told, expected);
        assert_eq!(unwrap_all(&wrapped.text, format, shape).text, text);
    }
}

/// What people write by hand, and what hosts make of what `wrap` wrote.
#[test]
fn what_was_written_anew_is_unwrapped_as_well() {
    for (text, format, shape, expected) in [
        (
            r#"{"mcpServers":{"a":{"command":"mcp-tap","args":["run","--","python","s.py"]}}}"#,
            Format::Json,
            Shape::McpServers,
            r#"{"mcpServers":{"a":{"command":"python","args":["s.py"]}}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"command":"/x/mcp-tap","args":["run","--name","n","-q","python"]}}}"#,
            Format::Json,
            Shape::McpServers,
            r#"{"mcpServers":{"a":{"command":"python","args":[]}}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"command":"mcp-tap","args":["proxy","--stdio","https://x/mcp"],"timeout":3}}}"#,
            Format::Json,
            Shape::McpServers,
            r#"{"mcpServers":{"a":{"url":"https://x/mcp","timeout":3}}}"#,
        ),
        (
            // Members in the order of the alphabet, on lines of their own.
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"args\": [\n        \"run\",\n        \"--name=a\",\n        \"--was=no-args\",\n        \"--\",\n        \"serve\"\n      ],\n      \"command\": \"/x/mcp-tap\"\n    }\n  }\n}\n",
            Format::Json,
            Shape::McpServers,
            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"serve\"\n    }\n  }\n}\n",
        ),
        (
            "extensions:\n  a:\n    args:\n    - run\n    - --name=a\n    - --\n    - uvx\n    cmd: /x/mcp-tap\n    type: stdio\n",
            Format::Yaml,
            Shape::Goose,
            "extensions:\n  a:\n    args:\n      []\n    cmd: uvx\n    type: stdio\n",
        ),
        (
            "extensions:\n  a:\n    args:\n    - run\n    - --was=no-args\n    - uvx\n    cmd: /x/mcp-tap\n    type: stdio\n",
            Format::Yaml,
            Shape::Goose,
            "extensions:\n  a:\n    cmd: uvx\n    type: stdio\n",
        ),
        (
            "extensions:\n  a:\n    args:\n    - proxy\n    - --stdio\n    - --was=url:uri,type:sse,headers:headers\n    - --header-env\n    - X-A=MCP_TAP_HEADER_1\n    - https://x/sse\n    cmd: /x/mcp-tap\n    envs:\n      MCP_TAP_HEADER_1: v\n    type: stdio\n",
            Format::Yaml,
            Shape::Goose,
            "extensions:\n  a:\n    uri: https://x/sse\n    headers:\n      X-A: v\n    type: sse\n",
        ),
        (
            "[mcp_servers.a]\nargs = [\"run\", \"--was=no-args\", \"--\", \"x\"]\nenabled = true\ncommand = \"mcp-tap\"\n",
            Format::Toml,
            Shape::Codex,
            "[mcp_servers.a]\nenabled = true\ncommand = \"x\"\n",
        ),
        (
            r#"{"mcp":{"a":{"type":"local","command":["mcp-tap","run","--","npx","-y"]}}}"#,
            Format::Json,
            Shape::Opencode,
            r#"{"mcp":{"a":{"type":"local","command":["npx","-y"]}}}"#,
        ),
    ] {
        let back = unwrap_all(text, format, shape);
        assert_eq!((back.text.as_str(), back.refused.len()), (expected, 0), "{:?}", back.refused);
    }
}

#[test]
fn what_is_not_ours_any_more_is_not_taken_apart() {
    let text = |environment: &str, arguments: &str| {
        format!(
            r#"{{"mcpServers":{{"a":{{"command":"mcp-tap","args":["proxy","--stdio","--was=url:url,headers:headers","--header-env","A=MCP_TAP_HEADER_1","https://x"{arguments}],"env":{{{environment}}}}}}}}}"#
        )
    };
    for (text, expected) in [
        (
            text(r#""MCP_TAP_HEADER_1":"v","LEVEL":"3""#, ""),
            "what is before it was changed since `wrap` wrote it, in `env`; take it out by hand",
        ),
        (
            text(r#""MCP_TAP_HEADER_1":"v""#, r#","--more""#),
            "what is before it was changed since `wrap` wrote it, in `args`; take it out by hand",
        ),
    ] {
        let back = unwrap_all(&text, Format::Json, Shape::McpServers);
        assert_eq!(back.text, text);
        assert_eq!(back.refused.iter().map(|refused| refused.why.to_string()).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn options_and_names_stand_in_the_command_line() {
    let tap = Tap { program: "mcp-tap".into(), options: vec!["--db=/x/ä b.db".into()] };
    let text = "{\"mcpServers\": {\"-q \\\"\\n\": {\"command\": \"-x\", \"args\": [\"--\", \"y\"]}}}";
    let wrapped = wrap(text, Format::Json, Shape::McpServers, &tap, &mut |_| true).unwrap();
    assert_eq!(
        wrapped.text,
        "{\"mcpServers\": {\"-q \\\"\\n\": {\"command\": \"mcp-tap\", \"args\": [\"run\", \"--db=/x/ä b.db\", \"--name=-q \\\"\\u000a\", \"--\", \"-x\", \"--\", \"y\"]}}}"
    );
    assert_eq!(unwrap_all(&wrapped.text, Format::Json, Shape::McpServers).text, text);
}

#[test]
fn nothing_that_may_be_a_secret_is_in_a_masked_text() {
    for (file, text, format, shape, _) in HOSTS {
        let secrets = ["k-12345", "Bearer", "TOKEN}", "input:key", "Team\": \"tools", "= \"tools", "abc", "env:URL"];
        for text in [(*text).to_owned(), wrap_all(text, *format, *shape).text] {
            let masked = masked(&text, *format).unwrap();
            for secret in secrets {
                assert!(!masked.contains(secret), "{file}: {secret}: {masked}");
            }
            let read = |text: &str| read(text, *format, *shape).unwrap();
            let commands = |text: &str| {
                let command = |server: Server| match server.launch {
                    Launch::Command(line) => (line.command, line.arguments),
                    Launch::Http(remote) => (remote.url, Vec::new()),
                    Launch::Other(kind) => (kind, Vec::new()),
                };
                read(text).servers.into_iter().map(command).collect::<Vec<_>>()
            };
            assert_eq!(commands(&text), commands(&masked), "{file}");
        }
    }
    let text = r#"{"oauthAccount": {"a": ["x1", 2]}, "apiKey": "x2", "mcpServers": {"a": {"command": "x",
        "args": ["--token", "x3", "--api-key=x4", "-y", "--password", "--keep", "pkg"]}}, "max_tokens": 3}"#;
    insta::assert_snapshot!(masked(text, Format::Json).unwrap());
}
