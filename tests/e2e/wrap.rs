//! `wrap` and `unwrap`: configurations of hosts where hosts have them, servers that are started as hosts start them, and
//! files that are as they were afterwards.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use tap_hosts::{CommandLine, Format, Launch, Shape, read};

use crate::support::{Scratch, TAP, talk};

/// A machine with hosts on it: a home, and a folder that is worked in.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    fn new() -> Self {
        let this = Self { scratch: Scratch::new() };
        for folder in ["home", "work"] {
            fs::create_dir_all(this.scratch.path(folder)).unwrap();
        }
        this
    }

    /// Writes a file, with the program's own path in the place of `TAP`.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("TAP", TAP)).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scratch.tap(arguments);
        command.current_dir(self.scratch.path("work")).env("HOME", self.scratch.path("home"));
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLINE_MCP_SETTINGS_PATH"] {
            command.env_remove(variable);
        }
        command
    }

    fn tap(&self, arguments: &[&str]) -> Output {
        talk(self.command(arguments), b"")
    }

    /// What a command says, with paths that are the same on every machine.
    fn told(&self, arguments: &[&str]) -> String {
        let output = self.tap(arguments);
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            // The backup's name is a path as well.
            let root = self.scratch.path("").to_str().unwrap().trim_end_matches('/').to_owned();
            let encoded = root.trim_start_matches('/').replace('/', "%2F");
            text.replace(&root, "[x]").replace(&encoded, "[x]").replace(TAP, "[tap]")
        };
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        format!("{stdout}-- {}\n{stderr}", output.status.code().unwrap())
    }
}

/// A file of each host, in its place, with a server that is there.
const HOSTS: [(&str, &str, Shape); 13] = [
    (
        "config/Claude/claude_desktop_config.json",
        "{\n  \"mcpServers\": {\n    \"demo\": {\n      \"command\": \"TAP\",\n      \"args\": [\"demo-server\"]\n    }\n  }\n}\n",
        Shape::McpServers,
    ),
    (
        "home/.claude.json",
        "{\"numStartups\": 3, \"projects\": {\"/x\": {\"mcpServers\": {\"demo\": {\"type\": \"stdio\", \"command\": \"TAP\", \"args\": [\"demo-server\"], \"env\": {}}}}}}",
        Shape::ClaudeCode,
    ),
    (
        "home/.cursor/mcp.json",
        "{\"mcpServers\":{\"demo\":{\"command\":\"TAP\",\"args\":[ \"demo-server\" ]}}}",
        Shape::McpServers,
    ),
    (
        "config/Code/User/mcp.json",
        "{\r\n\t// servers\r\n\t\"servers\": {\r\n\t\t\"demo\": { \"type\": \"stdio\", \"command\": \"TAP\", \"args\": [\r\n\t\t\t\"demo-server\",\r\n\t\t] },\r\n\t},\r\n}\r\n",
        Shape::VsCode,
    ),
    (
        "home/.codeium/windsurf/mcp_config.json",
        "\u{feff}{\"mcpServers\": {\"demo\": {\"args\": [\"demo-server\"], \"command\": \"TAP\"}}}\n",
        Shape::McpServers,
    ),
    (
        "home/.codex/config.toml",
        "model = 'x' # mine\n\n[mcp_servers.demo]\ncommand = \"TAP\" # it\nargs = [ 'demo-server' ]\n",
        Shape::Codex,
    ),
    (
        "home/.gemini/settings.json",
        "{\"theme\": \"x\", \"mcpServers\": {\"demo\": {\"command\": \"TAP\", \"args\": [\"demo-server\"], \"trust\": true}}}",
        Shape::McpServers,
    ),
    (
        "config/opencode/opencode.jsonc",
        "{\"mcp\": {\"demo\": {\"type\": \"local\", \"command\": [\"TAP\", \"demo-server\"] /* it */}}}",
        Shape::Opencode,
    ),
    (
        "config/zed/settings.json",
        "// Zed\n{\"context_servers\": {\"demo\": {\"command\": {\"path\": \"TAP\", \"args\": [\"demo-server\"]}},}}\n",
        Shape::Zed,
    ),
    (
        "home/.cline/data/settings/cline_mcp_settings.json",
        "{\"mcpServers\": {\"demo\": {\"command\": \"TAP\", \"args\": [\"demo-server\"], \"disabled\": false}}}",
        Shape::McpServers,
    ),
    (
        "home/.continue/config.yaml",
        "name: Mine\nmcpServers:\n  - name: demo # it\n    command: TAP\n    args:\n      - demo-server\n",
        Shape::Continue,
    ),
    (
        "config/goose/config.yaml",
        "extensions:\n  demo:\n    type: stdio\n    cmd: TAP\n    args:\n    - demo-server\n    enabled: true\n",
        Shape::Goose,
    ),
    (
        "home/.lmstudio/mcp.json",
        "{\n  \"mcpServers\": {\n    \"demo\": {\n      \"command\": \"TAP\",\n      \"args\": [\n        \"demo-server\"\n      ]\n    }\n  }\n}",
        Shape::McpServers,
    ),
];

/// The one server's command, as its host reads it.
fn command_line(path: &Path, shape: Shape) -> CommandLine {
    let text = fs::read_to_string(path).unwrap();
    let read = read(&text, Format::of(path.to_str().unwrap()), shape).unwrap();
    assert_eq!(read.problems, []);
    match &read.servers.first().unwrap().launch {
        Launch::Command(line) => line.clone(),
        other => panic!("{other:?}"),
    }
}

const HELLO: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"host\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";

/// Starts a server as a host does that gives it hardly any environment, and says hello.
fn start(line: &CommandLine) -> Output {
    let mut command = Command::new(&line.command);
    command.args(&line.arguments).env_clear().envs(line.environment.iter().map(|(name, value)| (name, value)));
    talk(command, HELLO.as_bytes())
}

#[test]
fn servers_of_every_host_are_wrapped_run_and_are_unwrapped() {
    let machine = Machine::new();
    let files: Vec<(PathBuf, Vec<u8>, Shape)> = HOSTS
        .iter()
        .map(|(name, text, shape)| {
            let path = machine.file(name, text);
            let bytes = fs::read(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            (path, bytes, *shape)
        })
        .collect();
    let straight = start(&command_line(&files[0].0, files[0].2));
    assert!(String::from_utf8_lossy(&straight.stdout).contains("\"tools\""));
    let output = machine.tap(&["wrap", "--all"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for (n_before, (path, before, shape)) in files.iter().enumerate() {
        assert_ne!(&fs::read(path).unwrap(), before, "{path:?}");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640, "{path:?}");
        let line = command_line(path, *shape);
        assert_eq!(line.command, TAP);
        let wrapped = start(&line);
        assert_eq!((&wrapped.stdout, wrapped.status.code()), (&straight.stdout, straight.status.code()), "{path:?}");
        let sessions = machine.scratch.json(&["ls", "--json"]);
        assert_eq!(sessions.len(), n_before + 1, "{path:?}");
        assert_eq!(sessions[0]["name"], "demo", "{path:?}");
    }
    // What is wrapped is left, and said to be.
    let wrapped: Vec<Vec<u8>> = files.iter().map(|(path, ..)| fs::read(path).unwrap()).collect();
    let again = machine.tap(&["wrap", "--all"]);
    assert_eq!(String::from_utf8_lossy(&again.stderr), "nothing to do: wrapped already\n");
    for ((path, ..), wrapped) in files.iter().zip(&wrapped) {
        assert_eq!(&fs::read(path).unwrap(), wrapped);
    }
    let listed: Vec<serde_json::Value> = String::from_utf8(machine.tap(&["wrap", "--list", "--json"]).stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(listed.len(), HOSTS.len());
    assert!(listed.iter().all(|server| server["state"] == "wrapped" && server["what"] == format!("{TAP} demo-server")));
    let output = machine.tap(&["unwrap", "--all"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for (path, before, _) in &files {
        assert_eq!(&fs::read(path).unwrap(), before, "{path:?}");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        let others: Vec<_> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!others.iter().any(|name| name.to_string_lossy().contains("partial")), "{others:?}");
    }
    // Each as it was, for the user alone.
    let backups = machine.scratch.path("state/mcp-tap/backups");
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(backups).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        kept.push(fs::read(path).unwrap());
    }
    assert_eq!(kept.len(), files.len());
    assert!(files.iter().all(|(_, before, _)| kept.contains(before)));
}

const TWO: &str = r#"{
  "mcpServers": {
    // files of mine ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2
    "files": {
      "command": "npx", "args": ["-y", "files-mcp", "--api-key", "k-000111"],
      "env": { "PASSWORD": "hunter2" }
    },
    "remote": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer t0p" } },
    "open": { "url": "https://example.com/open" }
  }
}
"#;

#[test]
fn what_would_change_is_shown_without_secrets_and_nothing_changes() {
    let machine = Machine::new();
    let path = machine.file("home/.cursor/mcp.json", TWO);
    let told = [
        machine.told(&["wrap"]),
        machine.told(&["wrap", "--all", "--dry-run"]),
        machine.told(&["wrap", "files", "--print"]),
    ]
    .join("=====\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), TWO);
    assert!(!machine.scratch.path("state").exists());
    let wrapped = [
        machine.told(&["wrap", "--all"]),
        machine.told(&["wrap", "--list"]),
        machine.told(&["unwrap", "remote", "-n"]),
    ];
    let told = format!("{told}=====\n{}", wrapped.join("=====\n"));
    for secret in ["k-000111", "hunter2", "t0p", "ghp_"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
    assert_snapshot!(told);
    machine.tap(&["unwrap", "--all"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), TWO);
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_changed() {
    let machine = Machine::new();
    let target = machine.file("home/dotfiles/mcp.json", HOSTS[2].1);
    let before = fs::read(&target).unwrap();
    let link = machine.scratch.path("home/.cursor/mcp.json");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&target, &link).unwrap();
    assert_eq!(machine.tap(&["wrap", "demo"]).status.code(), Some(0));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_ne!(fs::read(&target).unwrap(), before);
    assert_eq!(machine.tap(&["unwrap", "demo"]).status.code(), Some(0));
    assert_eq!(fs::read(&link).unwrap(), before);
}

#[test]
fn a_project_gets_a_path_that_others_have_too() {
    let machine = Machine::new();
    let user = machine.file("home/.cursor/mcp.json", HOSTS[2].1);
    let project = machine.file("work/.mcp.json", HOSTS[2].1);
    let before = (fs::read(&user).unwrap(), fs::read(&project).unwrap());
    assert_eq!(machine.tap(&["wrap", "--all", "--project"]).status.code(), Some(0));
    assert_eq!(fs::read(&user).unwrap(), before.0);
    let line = command_line(&project, Shape::McpServers);
    assert_eq!((line.command.as_str(), line.arguments[..3].join(" ").as_str()), ("mcp-tap", "run --name=demo --"));
    // Nothing beside it that git would show.
    assert_eq!(fs::read_dir(machine.scratch.path("work")).unwrap().count(), 1);
    assert_eq!(machine.tap(&["unwrap", "--all", "--project"]).status.code(), Some(0));
    assert_eq!(fs::read(&project).unwrap(), before.1);
}

#[test]
fn what_cannot_be_done_is_told_and_the_rest_is_done() {
    let machine = Machine::new();
    machine.file("home/.cursor/mcp.json", "{\"mcpServers\": {\n\"bad\": {\"command\": 7},\n\"good\": {\"command\": \"x\"}, \"oauth\": {\"url\": \"https://x\", \"auth\": {}}}}");
    machine.file("home/.gemini/settings.json", "{\"mcpServers\": {,}}");
    let broken = machine.file(
        "home/gone.json",
        "{\"mcpServers\": {\"gone\": {\"command\": \"/none/mcp-tap\", \"args\": [\"run\", \"x\"]}}}",
    );
    let broken = broken.to_str().unwrap();
    let other = machine.file("home/other.json", "{\"x\": {}}");
    let told = [
        machine.told(&["wrap", "--all", "--host", "cursor"]),
        machine.told(&["wrap", "godo"]),
        machine.told(&["wrap", "--list"]),
        machine.told(&["wrap", "--list", "--file", broken]),
        machine.told(&["wrap", "--all", "--file", other.to_str().unwrap()]),
        machine.told(&["wrap", "--all", "--file", "none.json"]),
        machine.told(&["unwrap"]),
        machine.told(&["wrap", "x", "--host", "cusror"]),
    ];
    assert_snapshot!(told.join("=====\n"));
}

#[test]
fn a_server_at_an_address_is_reached_through_a_bridge_with_its_headers() {
    let machine = Machine::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut heads = Vec::new();
        for stream in listener.incoming().take(1) {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while !bytes.ends_with(b"}") {
                let n_read = stream.read(&mut piece).unwrap();
                assert_ne!(n_read, 0);
                bytes.extend_from_slice(&piece[..n_read]);
            }
            heads.push(String::from_utf8(bytes).unwrap());
            let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
        }
        heads.concat().to_lowercase()
    });
    let text = format!(
        "{{\"mcpServers\": {{\"far\": {{\"type\": \"http\", \"url\": \"{url}\", \"headers\": {{\"Authorization\": \"Bearer t0p\", \"X-Team\": \"a b\"}}}}}}}}"
    );
    let path = machine.file("home/.claude.json", &text);
    assert_eq!(machine.tap(&["wrap", "far"]).status.code(), Some(0));
    let line = command_line(&path, Shape::ClaudeCode);
    assert!(!line.arguments.iter().any(|argument| argument.contains("t0p")), "{line:?}");
    let mut command = Command::new(&line.command);
    command.args(&line.arguments).env_clear().envs(line.environment.iter().map(|(name, value)| (name, value)));
    let output = talk(command, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let head = server.join().unwrap();
    assert!(head.contains("authorization: bearer t0p\r\n") && head.contains("x-team: a b\r\n"), "{head}");
    assert_eq!(machine.tap(&["unwrap", "far"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}
