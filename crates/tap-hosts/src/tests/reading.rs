//! What is read of a configuration: tables of files as hosts write them, and of what is wrong in them.

use std::fmt::Write as _;

use crate::{Document, Folders, Format, Host, Launch, Lookup, Platform, Scope, Shape, fill, places, read};

/// What was read, a line each.
fn told(text: &str, format: Format, shape: Shape) -> String {
    let read = match read(text, format, shape) {
        Ok(read) => read,
        Err(error) => return error.to_string(),
    };
    let mut told = String::new();
    for server in &read.servers {
        let _ = write!(told, "{}:{} {}", server.line, server.path, server.name);
        if let Some(folder) = &server.folder_of_project {
            let _ = write!(told, " in {folder}");
        }
        if !server.is_enabled {
            told.push_str(" off");
        }
        match &server.launch {
            Launch::Command(line) => {
                let _ = write!(told, " = {} {:?}", line.command, line.arguments);
                for (name, value) in &line.environment {
                    let _ = write!(told, " {name}={value}");
                }
                if !line.passed_on.is_empty() {
                    let _ = write!(told, " passes {:?}", line.passed_on);
                }
                for (what, value) in [("in", &line.folder), ("env from", &line.environment_file)] {
                    if let Some(value) = value {
                        let _ = write!(told, " {what} {value}");
                    }
                }
            }
            Launch::Http(remote) => {
                let _ = write!(told, " = {} {:?}", remote.url, remote.transport);
                for (name, value) in remote.headers.iter().chain(&remote.headers_from_environment) {
                    let _ = write!(told, " {name}: {value}");
                }
                if let Some(variable) = &remote.bearer_variable {
                    let _ = write!(told, " bearer {variable}");
                }
            }
            Launch::Other(kind) => {
                let _ = write!(told, " = other {kind}");
            }
        }
        let others: Vec<&str> = server.others.iter().map(|(key, _)| key.as_str()).collect();
        if !others.is_empty() {
            let _ = write!(told, " + {}", others.join(" "));
        }
        told.push('\n');
    }
    for problem in &read.problems {
        let _ = writeln!(told, "{}: {}: {}", problem.line, problem.key, problem.what);
    }
    told
}

#[test]
fn servers_of_every_host_are_read() {
    for (file, text, format, shape, expected) in super::files::HOSTS {
        assert_eq!(told(text, *format, *shape), *expected, "{file}");
        let document = Document::parse(text, *format).unwrap();
        assert_eq!(Shape::guess(&document), Some(*shape), "{file}");
        assert_eq!(Format::of(file), *format, "{file}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_key_and_the_rest_is_read() {
    for (text, format, shape, expected) in [
        ("", Format::Json, Shape::McpServers, ""),
        ("// nothing yet\n", Format::Json, Shape::McpServers, ""),
        ("", Format::Yaml, Shape::Goose, ""),
        ("{}", Format::Json, Shape::McpServers, ""),
        ("{\"mcpServers\": null}", Format::Json, Shape::McpServers, ""),
        ("[]", Format::Json, Shape::McpServers, "1: : a map is expected here, not a list\n"),
        (
            "{\n\"mcpServers\": [1]}",
            Format::Json,
            Shape::McpServers,
            "2: mcpServers: a map is expected here, not a list\n",
        ),
        (
            "{\"mcpServers\": {\n\"a\": 1}}",
            Format::Json,
            Shape::McpServers,
            "2: mcpServers.a: a map is expected here, not a number\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\n\"command\": 7}}}",
            Format::Json,
            Shape::McpServers,
            "1:mcpServers.a a = other \n2: mcpServers.a.command: a text is expected here, not a number\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"args\": [\"b\", 8080],\n\"env\": {\"P\": 1, \"Q\": [], \"R\": true}}}}",
            Format::Json,
            Shape::McpServers,
            "1:mcpServers.a a = x [\"b\"] P=1 R=true\n\
             2: mcpServers.a.args[1]: a text is expected here, not a number\n\
             3: mcpServers.a.env.Q: a text is expected here, not a list\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": \"-y b\"}}}",
            Format::Json,
            Shape::McpServers,
            "1:mcpServers.a a = x []\n1: mcpServers.a.args: a list of texts is expected here, not a text\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"timeout\": 3}}}",
            Format::Json,
            Shape::McpServers,
            "1:mcpServers.a a = other  + timeout\n1: mcpServers.a: it has neither `command` nor `url`\n",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\", \"command\": \"z\"}}}",
            Format::Json,
            Shape::McpServers,
            "2:mcpServers.a a = z []\n1: mcpServers.a: there is another below\n",
        ),
        ("{\"mcpServers\": {\"a\": }}", Format::Json, Shape::McpServers, "line 1: Unexpected close brace"),
        ("{\n'mcpServers': {}}", Format::Json, Shape::McpServers, "line 2: Single-quoted strings are not allowed"),
        (
            "[mcp_servers.a]\ncommand = x\n",
            Format::Toml,
            Shape::Codex,
            "line 2: string values must be quoted, expected literal string",
        ),
        (
            "[mcp_servers.a]\ncommand = 'x'\nargs = [1]\n",
            Format::Toml,
            Shape::Codex,
            "1:mcp_servers.a a = x []\n3: mcp_servers.a.args[0]: a text is expected here, not a number\n",
        ),
        (
            "extensions:\n  a: {cmd: x\n",
            Format::Yaml,
            Shape::Goose,
            "line 3: while parsing a flow mapping, did not find expected ',' or '}'",
        ),
        (
            "extensions:\n  a:\n    cmd: x\n    args: [8080, yes, 'no']\n  b: *c\n",
            Format::Yaml,
            Shape::Goose,
            "line 5: while parsing node, found unknown anchor",
        ),
        (
            "base: &b {cmd: x, type: stdio}\nextensions:\n  a: *b\n  c:\n    <<: *b\n    args: [1]\n",
            Format::Yaml,
            Shape::Goose,
            "3:extensions.a a = x []\n4:extensions.c c = other  + <<\n\
             5: extensions.c: what is merged with `<<` is not read\n\
             5: extensions.c: it has neither `cmd` nor `uri`\n",
        ),
        ("mcpServers:\n  - command: x\n", Format::Yaml, Shape::Continue, "2: mcpServers[0]: it has no `name`\n"),
        (
            "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": []}, \"b\": {\"command\": \"x\"}}}",
            Format::Json,
            Shape::Opencode,
            "1:mcp.a a = other \n1:mcp.b b = other \n1: mcp.a.command: it is empty\n\
             1: mcp.b.command: a list of texts is expected here, not a text\n",
        ),
    ] {
        assert_eq!(told(text, format, shape), expected, "{text}");
    }
}

#[test]
fn texts_that_nest_without_end_are_refused() {
    for (text, format) in [
        ("[".repeat(100_000), Format::Json),
        ("{\"a\":".repeat(100_000), Format::Json),
        ("[".repeat(100_000), Format::Yaml),
        (format!("a = {}", "[".repeat(100_000)), Format::Toml),
        ("- ".repeat(100_000), Format::Yaml),
        (
            // Each is ten of the one before.
            (0..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, index| {
                let many = format!("*a{index}, ").repeat(10);
                format!("{text}a{}: &a{} [{many}]\n", index + 1, index + 1)
            }),
            Format::Yaml,
        ),
    ] {
        assert!(Document::parse(&text, format).is_err(), "{}", text.get(..40).unwrap_or_default());
    }
}

#[test]
fn places_are_those_of_the_platform() {
    let folders = |platform| Folders {
        platform,
        home: "/home/me".into(),
        configuration: "/home/me/.config".into(),
        work: "/src/x".into(),
        claude_code: None,
        codex: Some("/codex".into()),
        cline_file: None,
    };
    for (platform, expected) in [
        (Platform::Unix, "/home/me/.config/Claude/claude_desktop_config.json"),
        (Platform::MacOs, "/home/me/Library/Application Support/Claude/claude_desktop_config.json"),
    ] {
        let places = places(&folders(platform));
        let of = |host| places.iter().find(move |place| place.host == host).unwrap();
        assert_eq!(of(Host::ClaudeDesktop).path, expected);
        assert_eq!(of(Host::Zed).path, "/home/me/.config/zed/settings.json");
        assert_eq!(of(Host::Codex).path, "/codex/config.toml");
        for host in Host::ALL {
            assert!(places.iter().any(|place| place.host == host && place.scope == Scope::User), "{host:?}");
            assert_eq!(Host::named(host.name()), Some(host));
            assert_eq!(Host::named(host.title()), Some(host));
        }
        let mut paths: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
        paths.sort_unstable();
        let n_places = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), n_places);
    }
}

#[test]
fn values_are_filled_in_as_the_host_does() {
    struct Given;
    impl Lookup for Given {
        fn environment(&self, name: &str) -> Option<String> {
            (name == "TOKEN").then(|| "t0".into()).or((name == "HOME").then(|| "/home/me".into()))
        }
        fn workspace(&self) -> Option<String> {
            Some("/src/x".into())
        }
    }
    for (host, text, expected) in [
        (Host::ClaudeCode, "Bearer ${TOKEN}", Ok("Bearer t0")),
        (Host::ClaudeCode, "${NONE:-a b}/${TOKEN:-x}", Ok("a b/t0")),
        (Host::ClaudeCode, "${NONE}", Err("${NONE}")),
        (Host::ClaudeCode, "$TOKEN ${", Ok("$TOKEN ${")),
        (Host::VsCode, "${workspaceFolder}/a ${userHome} ${env:TOKEN}", Ok("/src/x/a /home/me t0")),
        (Host::VsCode, "${workspaceFolderBasename}", Ok("x")),
        (Host::VsCode, "${input:key}", Err("${input:key}")),
        (Host::Cursor, "${env:NONE}", Err("${env:NONE}")),
        (Host::GeminiCli, "$TOKEN ${TOKEN} $NONE ${NONE} $", Ok("t0 t0 $NONE ${NONE} $")),
        (Host::Opencode, "{env:TOKEN}{env:NONE} {x}", Ok("t0 {x}")),
        (Host::Opencode, "{file:~/key}", Err("{file:~/key}")),
        (Host::Continue, "${{ secrets.KEY }}", Err("${{ secrets.KEY }}")),
        (Host::Codex, "${TOKEN}", Ok("${TOKEN}")),
    ] {
        let filled = fill(host, text, &Given).map_err(|unfilled| unfilled.name);
        let expected = expected.map(str::to_owned).map_err(|name: &str| name.replace(' ', ""));
        assert_eq!(filled.map_err(|name| name.replace(' ', "")), expected, "{host:?} {text}");
    }
}
