//! `doctor`: ten ways in which a server does not show up, each made with a real one and found by trying it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Scratch, TAP, talk};

/// A folder with programs, and a configuration that starts them.
struct Ward {
    scratch: Scratch,
}

impl Ward {
    fn new() -> Self {
        let this = Self { scratch: Scratch::new() };
        for folder in ["home/.gemini", "work/here", "tools", "data"] {
            fs::create_dir_all(this.scratch.path(folder)).unwrap();
        }
        this
    }

    /// A program in a folder; `TAP` is the program under test, whose `demo-server` is the server that is well.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path(name);
        fs::write(&path, text.replace("TAP", TAP)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scratch.tap(["doctor", "--json"]);
        command.args(arguments).env_clear();
        command.env("HOME", self.scratch.path("home")).env("PATH", "/usr/bin:/bin").env("TERM", "dumb");
        command.current_dir(self.scratch.path("work"));
        command
    }

    /// What is found, and the exit code.
    #[track_caller]
    fn examine(&self, command: Command) -> (Vec<Value>, i32) {
        let output = talk(command, b"");
        let text = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!rows.is_empty(), "{stderr}");
        (rows, output.status.code().unwrap())
    }

    /// The one finding of one server, which is told with what to do.
    #[track_caller]
    fn one(&self, command: Command) -> Value {
        let (rows, code) = self.examine(command);
        let findings = rows[0]["findings"].as_array().unwrap();
        assert_eq!((findings.len(), code), (1, 1), "{rows:?}");
        assert_ne!(findings[0]["fix"], "");
        findings[0].clone()
    }

    /// A server of Gemini CLI's, which starts servers from a shell.
    fn configure(&self, server: &Value) {
        let text = serde_json::json!({"mcpServers": {"it": server}}).to_string();
        fs::write(self.scratch.path("home/.gemini/settings.json"), text).unwrap();
    }
}

#[track_caller]
fn says(finding: &Value, problem: &str, parts: &[&str]) {
    assert_eq!(finding["problem"], problem, "{finding}");
    let text = finding.to_string();
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_server_that_is_well_is_said_to_be() {
    let ward = Ward::new();
    // The demo's own server writes a line on stdout when its tools are listed.
    let noisy = talk(ward.command(&["--", TAP, "demo-server"]), b"");
    assert_eq!(noisy.status.code(), Some(1));
    let quiet = ward.program("tools/quiet", "#!/bin/sh\nTAP demo-server | grep --line-buffered -v '^cache'\n");
    let (rows, code) = ward.examine(ward.command(&["--", quiet.to_str().unwrap()]));
    assert_eq!((code, rows[0]["findings"].as_array().unwrap().len()), (0, 0), "{rows:?}");
    assert!(rows[0]["notes"][0].as_str().unwrap().ends_with("weather 0.3.0, 2025-06-18, 2 tools"), "{rows:?}");
}

#[test]
fn a_command_that_is_not_on_the_hosts_path() {
    let ward = Ward::new();
    ward.program("tools/quiet", "#!/bin/sh\nTAP demo-server | grep --line-buffered -v '^cache'\n");
    let tools = ward.scratch.path("tools");
    let mut command = ward.command(&["--path", "/usr/bin:/bin", "--", "quiet"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    let path = tools.join("quiet");
    let finding = ward.one(command);
    says(&finding, "not-on-path", &["`quiet` is not where a host looks for programs", path.to_str().unwrap()]);
    says(&ward.one(ward.command(&["--", "no-such-thing"])), "not-on-path", &["install no-such-thing"]);
    says(&ward.one(ward.command(&["--", "quiet -x"])), "not-on-path", &["a command is one word"]);
}

#[test]
fn a_wrong_working_directory() {
    let ward = Ward::new();
    ward.program("tools/quiet", "#!/bin/sh\nTAP demo-server | grep --line-buffered -v '^cache'\n");
    let script = "test -e data.txt || { echo 'cannot open data.txt' >&2; exit 3; }; exec \"$0\"";
    fs::write(ward.scratch.path("work/data.txt"), "").unwrap();
    let quiet = ward.scratch.path("tools/quiet");
    let folder = ward.scratch.path("data");
    let arguments = ["--folder", folder.to_str().unwrap(), "--", "sh", "-c", script, quiet.to_str().unwrap()];
    let finding = ward.one(ward.command(&arguments));
    says(&finding, "wrong-folder", &["it works in", "work", "cannot open data.txt"]);
    ward.configure(&serde_json::json!({"command": "sh", "args": ["-c", "exit 0"], "cwd": "/no/such/folder"}));
    says(&ward.one(ward.command(&["it"])), "wrong-folder", &["is not there: /no/such/folder"]);
    ward.program("work/here/server", &format!("#!/bin/sh\nexec {}\n", quiet.display()));
    let finding = ward.one(ward.command(&["--folder", "/", "--", "here/server"]));
    says(&finding, "wrong-folder", &["here/server is not in /", "work/here/server"]);
}

#[test]
fn a_banner_on_stdout() {
    let ward = Ward::new();
    let program = ward.program(
        "tools/loud",
        "#!/bin/sh\necho 'Server v1 started!'\nTAP demo-server | grep --line-buffered -v '^cache'\n",
    );
    let finding = ward.one(ward.command(&["--", program.to_str().unwrap()]));
    says(&finding, "stdout-noise", &["Server v1 started!"]);
}

#[test]
fn a_variable_that_the_host_does_not_pass_on() {
    let ward = Ward::new();
    let text = "#!/bin/sh\ntest -n \"$WEATHER_KEY\" || { echo 'no key' >&2; exit 1; }\nTAP demo-server | grep --line-buffered -v '^cache'\n";
    let program = ward.program("tools/keyed", text);
    let mut command = ward.command(&["--", program.to_str().unwrap()]);
    command.env("WEATHER_KEY", "s3cret").env("OTHER_KEY", "x");
    for index in 0..20 {
        command.env(format!("MORE_{index}"), "y");
    }
    let finding = ward.one(command);
    says(&finding, "needs-variable", &["it needs WEATHER_KEY in its environment", "no key"]);
    assert!(!finding.to_string().contains("s3cret") && !finding.to_string().contains("OTHER_KEY"));
    // Nobody has it; it says so.
    let program = ward.program("tools/asks", "#!/bin/sh\necho 'Error: GITHUB_TOKEN is not set' >&2\nexit 1\n");
    says(
        &ward.one(ward.command(&["--", program.to_str().unwrap()])),
        "needs-variable",
        &["it seems to need GITHUB_TOKEN"],
    );
    // The configuration sets it.
    ward.configure(&serde_json::json!({"command": ward.scratch.path("tools/keyed"), "env": {"WEATHER_KEY": "s3cret"}}));
    assert_eq!(ward.examine(ward.command(&["gemini"])).1, 0);
}

#[test]
fn a_server_that_exits_at_once() {
    let ward = Ward::new();
    let program = ward.program("tools/exits", "#!/bin/sh\necho 'cannot find my house' >&2\nexit 42\n");
    let finding = ward.one(ward.command(&["--", program.to_str().unwrap()]));
    says(&finding, "exits", &["it exits with 42", "cannot find my house"]);
    says(&ward.one(ward.command(&["--", "sh", "-c", "kill -9 $$"])), "exits", &["killed by signal 9"]);
}

#[test]
fn a_server_of_the_wrong_era() {
    let ward = Ward::new();
    let server = r#"#!/bin/sh
while read -r line; do case "$line" in
*server/discover*) echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"9"}}}}';;
*'"id":1'*) echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}';;
esac; done
"#;
    let program = ward.program("tools/new", server);
    says(&ward.one(ward.command(&["--", program.to_str().unwrap()])), "wrong-era", &["speaks 2026-07-28 alone"]);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2031-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#;
    let program = ward.program("tools/future", &format!("#!/bin/sh\nread -r line\necho '{answer}'\ncat >/dev/null\n"));
    says(&ward.one(ward.command(&["--", program.to_str().unwrap()])), "wrong-era", &["2031-01-01"]);
}

#[test]
fn a_slow_first_answer() {
    let ward = Ward::new();
    let program =
        ward.program("tools/slow", "#!/bin/sh\nsleep 0.3\nTAP demo-server | grep --line-buffered -v '^cache'\n");
    let (rows, code) = ward.examine(ward.command(&["--slow", "100", "--", program.to_str().unwrap()]));
    // It shows up, if the host has the patience.
    assert_eq!(code, 0);
    says(&rows[0]["findings"][0], "slow", &["its first answer takes"]);
}

#[test]
fn what_cannot_be_executed() {
    let ward = Ward::new();
    let script = ward.program("tools/script", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    says(
        &ward.one(ward.command(&["--", script.to_str().unwrap()])),
        "not-executable",
        &["may not be executed", "chmod +x"],
    );
    let folder = ward.scratch.path("tools");
    says(&ward.one(ward.command(&["--", folder.to_str().unwrap()])), "not-executable", &["it is a folder"]);
    let bare = ward.program("tools/bare", "console.log('hello')\n");
    says(&ward.one(ward.command(&["--", bare.to_str().unwrap()])), "not-executable", &["nor begins with `#!`"]);
    let lost = ward.program("tools/lost", "#!/no/such/interpreter\n");
    says(&ward.one(ward.command(&["--", lost.to_str().unwrap()])), "not-executable", &["is not there"]);
}

#[test]
fn a_runtime_of_the_wrong_version() {
    let ward = Ward::new();
    ward.program("tools/node", "#!/bin/sh\ntest \"$1\" = --version && { echo v12.22.0; exit; }\necho \"SyntaxError: Unexpected token '??='\" >&2\nexit 1\n");
    let path = format!("{}:/usr/bin:/bin", ward.scratch.path("tools").display());
    let finding = ward.one(ward.command(&["--path", &path, "--", "node", "server.js"]));
    says(&finding, "runtime-version", &["v12.22.0", "Unexpected token"]);
}

#[test]
fn a_handshake_that_fails() {
    let ward = Ward::new();
    for (script, parts) in [
        (
            "read -r line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"not today\"}}'; cat >/dev/null",
            &["-32603 not today"][..],
        ),
        (
            "read -r line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}'; cat >/dev/null",
            &["has no `serverInfo`"],
        ),
        (
            "read -r line; echo '{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"x\"}}}'; cat >/dev/null",
            &["has the id \\\"1\\\""],
        ),
        ("cat >/dev/null", &["has not answered `initialize`"]),
    ] {
        let finding = ward.one(ward.command(&["--wait", "1", "--", "sh", "-c", script]));
        says(&finding, "handshake", parts);
    }
}

#[test]
fn configurations_are_looked_through() {
    let ward = Ward::new();
    ward.program("tools/quiet", "#!/bin/sh\nTAP demo-server | grep --line-buffered -v '^cache'\n");
    let quiet = ward.scratch.path("tools/quiet");
    let text = serde_json::json!({"mcpServers": {
        "well": {"command": quiet},
        "wrapped": {"command": "/none/mcp-tap", "args": ["run", "--", quiet]},
        "off": {"command": quiet, "disabled": true},
        "wrong": {"command": 7},
    }});
    fs::write(ward.scratch.path("home/.gemini/settings.json"), text.to_string()).unwrap();
    let (rows, code) = ward.examine(ward.command(&[]));
    let found = |index: usize| rows[index]["findings"][0]["problem"].as_str().unwrap_or("none").to_owned();
    assert_eq!(code, 1);
    assert_eq!([found(0), found(1), found(2), found(3)], ["none", "not-on-path", "switched-off", "configuration"]);
    let output = talk(ward.command(&["wel"]), b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean `well`?"));
}

#[test]
fn a_server_at_an_address_is_tried_through_a_bridge() {
    let ward = Ward::new();
    ward.configure(&serde_json::json!({"httpUrl": "http://127.0.0.1:9/mcp"}));
    let finding = ward.one(ward.command(&["it"]));
    says(&finding, "unreachable", &["cannot connect"]);
}
