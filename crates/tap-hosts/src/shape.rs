//! What is called how in the hosts' files.

use crate::document::Document;
use crate::node::Node;

/// Where servers stand in a file, and what their members are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `mcpServers`, a map: Claude Desktop, Cursor, Windsurf, Gemini CLI, Cline, LM Studio, and `.mcp.json` of projects.
    McpServers,
    /// `mcpServers`, and the same once more for each folder below `projects`: `.claude.json` of Claude Code.
    ClaudeCode,
    /// `servers`, a map: `mcp.json` of VS Code.
    VsCode,
    /// `mcp.servers`, a map: `settings.json` of VS Code, as it once was.
    VsCodeSettings,
    /// `mcp_servers`, a map: `config.toml` of Codex.
    Codex,
    /// `mcp`, a map whose commands are lists: `opencode.json`.
    Opencode,
    /// `context_servers`, a map: `settings.json` of Zed.
    Zed,
    /// `extensions`, a map: `config.yaml` of Goose.
    Goose,
    /// `mcpServers`, a list: `config.yaml` of Continue.
    Continue,
}

/// What the members of a server are called.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) command: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) environment: &'static str,
    pub(crate) folder: &'static [&'static str],
    /// The first is the one that is written where nothing says otherwise.
    pub(crate) url: &'static [&'static str],
    pub(crate) headers: &'static str,
    /// What a server's `type` is when it is started by a command.
    pub(crate) stdio: &'static str,
    /// `command` is a list of the command and its arguments.
    pub(crate) is_one_list: bool,
}

const USUAL: Words = Words {
    command: "command",
    arguments: "args",
    environment: "env",
    folder: &["cwd"],
    url: &["url", "serverUrl", "httpUrl"],
    headers: "headers",
    stdio: "stdio",
    is_one_list: false,
};

const CODEX: Words = Words { url: &["url"], headers: "http_headers", ..USUAL };
const OPENCODE: Words = Words { environment: "environment", url: &["url"], stdio: "local", is_one_list: true, ..USUAL };
const GOOSE: Words =
    Words { command: "cmd", environment: "envs", folder: &["cwd", "working_dir"], url: &["uri", "url"], ..USUAL };

impl Shape {
    /// All of them, those first whose servers stand under a name that no other has.
    const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::Continue,
        Self::McpServers,
        Self::Codex,
        Self::Zed,
        Self::VsCodeSettings,
        Self::VsCode,
        Self::Opencode,
        Self::Goose,
    ];

    pub(crate) fn words(self) -> &'static Words {
        match self {
            Self::Codex => &CODEX,
            Self::Opencode => &OPENCODE,
            Self::Goose => &GOOSE,
            Self::McpServers | Self::ClaudeCode | Self::VsCode | Self::VsCodeSettings | Self::Zed | Self::Continue => {
                &USUAL
            }
        }
    }

    /// Where the servers are.
    pub(crate) fn servers(self) -> &'static [&'static str] {
        match self {
            Self::McpServers | Self::ClaudeCode | Self::Continue => &["mcpServers"],
            Self::VsCode => &["servers"],
            Self::VsCodeSettings => &["mcp", "servers"],
            Self::Codex => &["mcp_servers"],
            Self::Opencode => &["mcp"],
            Self::Zed => &["context_servers"],
            Self::Goose => &["extensions"],
        }
    }

    /// What a file seems to be that nobody has said anything of; `None` if it has no servers where they could be.
    #[must_use]
    pub fn guess(document: &Document<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.fits(&document.root))
    }

    fn fits(self, root: &Node) -> bool {
        let Some(servers) = root.at(self.servers()) else {
            return false;
        };
        match self {
            Self::ClaudeCode => servers.map().is_some() && root.at(&["projects"]).is_some(),
            Self::Continue => servers.list().is_some(),
            _ => servers.map().is_some(),
        }
    }
}
