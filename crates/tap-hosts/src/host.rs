//! Which hosts there are, and where their files lie.

use crate::document::Format;
use crate::shape::Shape;

/// A program that uses MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// opencode.
    Opencode,
    /// Zed.
    Zed,
    /// Cline.
    Cline,
    /// Continue.
    Continue,
    /// Goose.
    Goose,
    /// LM Studio.
    LmStudio,
}

impl Host {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Codex,
        Self::GeminiCli,
        Self::Opencode,
        Self::Zed,
        Self::Cline,
        Self::Continue,
        Self::Goose,
        Self::LmStudio,
    ];

    /// What it is called on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini",
            Self::Opencode => "opencode",
            Self::Zed => "zed",
            Self::Cline => "cline",
            Self::Continue => "continue",
            Self::Goose => "goose",
            Self::LmStudio => "lm-studio",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Zed => "Zed",
            Self::Cline => "Cline",
            Self::Continue => "Continue",
            Self::Goose => "Goose",
            Self::LmStudio => "LM Studio",
        }
    }

    /// The host of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_', ' '], "");
        Self::ALL.into_iter().find(|host| [host.name(), host.title()].iter().any(|known| plain(known) == plain(name)))
    }

    /// What makes it take up a configuration that was changed.
    #[must_use]
    pub fn takes_up(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "quit Claude Desktop, from its menu and not only its window, and start it again",
            Self::ClaudeCode => "start Claude Code anew: sessions that run keep their servers",
            Self::Cursor => "switch the server off and on in Cursor's settings for MCP, or restart Cursor",
            Self::VsCode => "VS Code offers to restart the server above its entry; else: `MCP: List Servers`, restart",
            Self::Windsurf => "press refresh in Windsurf's list of MCP servers, or restart Windsurf",
            Self::Codex => "start Codex anew: sessions that run keep their servers",
            Self::GeminiCli => "start Gemini CLI anew: sessions that run keep their servers",
            Self::Opencode => "start opencode anew",
            Self::Zed => "nothing: Zed starts the server anew by itself",
            Self::Cline => "nothing: Cline starts the server anew by itself",
            Self::Continue => "reload the window, or press refresh at Continue's MCP servers",
            Self::Goose => "start a new session in Goose",
            Self::LmStudio => "nothing: LM Studio starts the server anew by itself",
        }
    }
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The user's, on this machine.
    User,
    /// Of the folder that is worked in; other people may have it as well.
    Project,
}

/// What a platform has where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// macOS.
    MacOs,
    /// Linux and other Unix.
    Unix,
}

/// The folders that files are looked for in. All are absolute, without a `/` at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Which platform this is.
    pub platform: Platform,
    /// The user's home.
    pub home: String,
    /// `XDG_CONFIG_HOME`, or `.config` below the home.
    pub configuration: String,
    /// The folder that is worked in.
    pub work: String,
    /// `CLAUDE_CONFIG_DIR`, where it is set.
    pub claude_code: Option<String>,
    /// `CODEX_HOME`, where it is set.
    pub codex: Option<String>,
    /// `CLINE_MCP_SETTINGS_PATH`, where it is set: a file.
    pub cline_file: Option<String>,
}

/// A file that a host may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub host: Host,
    /// For whom.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// What is where in it.
    pub shape: Shape,
    /// Where it is. A `*` stands for any name without a `/`.
    pub path: String,
}

/// All places where a host may have a configuration, the more usual first.
#[must_use]
pub fn places(folders: &Folders) -> Vec<Place> {
    let Folders { home, configuration, work, .. } = folders;
    let mac = folders.platform == Platform::MacOs;
    let mut places = Vec::new();
    let mut add = |host: Host, scope: Scope, shape: Shape, path: String| {
        places.push(Place { host, scope, format: Format::of(&path), shape, path });
    };
    use Scope::{Project, User};
    let applications = if mac { format!("{home}/Library/Application Support") } else { configuration.clone() };
    add(Host::ClaudeDesktop, User, Shape::McpServers, format!("{applications}/Claude/claude_desktop_config.json"));
    let claude_code = folders.claude_code.as_ref().unwrap_or(home);
    add(Host::ClaudeCode, User, Shape::ClaudeCode, format!("{claude_code}/.claude.json"));
    add(Host::ClaudeCode, Project, Shape::McpServers, format!("{work}/.mcp.json"));
    add(Host::Cursor, User, Shape::McpServers, format!("{home}/.cursor/mcp.json"));
    add(Host::Cursor, Project, Shape::McpServers, format!("{work}/.cursor/mcp.json"));
    for edition in ["Code", "Code - Insiders", "VSCodium"] {
        let user = format!("{applications}/{edition}/User");
        add(Host::VsCode, User, Shape::VsCode, format!("{user}/mcp.json"));
        add(Host::VsCode, User, Shape::VsCode, format!("{user}/profiles/*/mcp.json"));
        add(Host::VsCode, User, Shape::VsCodeSettings, format!("{user}/settings.json"));
        let cline = format!("{user}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json");
        add(Host::Cline, User, Shape::McpServers, cline);
    }
    add(Host::VsCode, Project, Shape::VsCode, format!("{work}/.vscode/mcp.json"));
    add(Host::VsCode, Project, Shape::VsCodeSettings, format!("{work}/.vscode/settings.json"));
    add(Host::Windsurf, User, Shape::McpServers, format!("{home}/.codeium/windsurf/mcp_config.json"));
    let codex = folders.codex.clone().unwrap_or_else(|| format!("{home}/.codex"));
    add(Host::Codex, User, Shape::Codex, format!("{codex}/config.toml"));
    add(Host::Codex, Project, Shape::Codex, format!("{work}/.codex/config.toml"));
    add(Host::GeminiCli, User, Shape::McpServers, format!("{home}/.gemini/settings.json"));
    add(Host::GeminiCli, Project, Shape::McpServers, format!("{work}/.gemini/settings.json"));
    for name in ["opencode.json", "opencode.jsonc"] {
        add(Host::Opencode, User, Shape::Opencode, format!("{configuration}/opencode/{name}"));
        add(Host::Opencode, Project, Shape::Opencode, format!("{work}/{name}"));
    }
    // Zed has it there on macOS as well.
    let zed = if mac { format!("{home}/.config") } else { configuration.clone() };
    add(Host::Zed, User, Shape::Zed, format!("{zed}/zed/settings.json"));
    add(Host::Zed, Project, Shape::Zed, format!("{work}/.zed/settings.json"));
    let cline = format!("{home}/.cline/data/settings/cline_mcp_settings.json");
    add(Host::Cline, User, Shape::McpServers, folders.cline_file.clone().unwrap_or(cline));
    add(Host::Continue, User, Shape::Continue, format!("{home}/.continue/config.yaml"));
    for (folder, scope) in [(home, User), (work, Project)] {
        for (extension, shape) in [("yaml", Shape::Continue), ("yml", Shape::Continue), ("json", Shape::McpServers)] {
            add(Host::Continue, scope, shape, format!("{folder}/.continue/mcpServers/*.{extension}"));
        }
    }
    let goose = if mac { format!("{home}/.config") } else { configuration.clone() };
    add(Host::Goose, User, Shape::Goose, format!("{goose}/goose/config.yaml"));
    for folder in [".lmstudio", ".cache/lm-studio"] {
        add(Host::LmStudio, User, Shape::McpServers, format!("{home}/{folder}/mcp.json"));
    }
    places
}
