//! A server as a host has it configured.

use crate::command_line::Tapped;
use crate::node::Node;

/// One server of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// What the host calls it.
    pub name: String,
    /// The folder for which alone it is, where a file has servers for several of them (Claude Code's "local" scope).
    pub folder_of_project: Option<String>,
    /// How the host comes to it. Values are as they are written: what a host fills in is not, see [`fill`](crate::fill).
    pub launch: Launch,
    /// The host uses it.
    pub is_enabled: bool,
    /// Where it is: `mcpServers.github`.
    pub path: String,
    /// The line that its name is in, counted from 1.
    pub line: usize,
    /// Members that say nothing of how the host comes to it, or that this version does not know.
    pub others: Vec<(String, Node)>,
}

/// How a host comes to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// It starts a command.
    Command(CommandLine),
    /// It connects to an address.
    Http(Remote),
    /// Otherwise, or what is said of it cannot be read; by the word that the configuration has for it.
    Other(String),
}

/// A command and what it is started with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that are set for it. Their values may be secrets.
    pub environment: Vec<(String, String)>,
    /// A file with more of them (VS Code).
    pub environment_file: Option<String>,
    /// Names of variables that the host passes on to it, besides those that it passes on to all (Codex).
    pub passed_on: Vec<String>,
    /// The folder that it is started in.
    pub folder: Option<String>,
}

/// An address and what is sent to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remote {
    /// The address.
    pub url: String,
    /// Headers of each request. Their values may be secrets.
    pub headers: Vec<(String, String)>,
    /// Headers whose value is in a variable of the host's environment (Codex): header, variable.
    pub headers_from_environment: Vec<(String, String)>,
    /// The variable of the host's environment that a bearer token is in (Codex).
    pub bearer_variable: Option<String>,
    /// What the configuration says of the transport: `http`, `sse`, `streamable-http` and more, as the host calls it.
    pub transport: Option<String>,
}

impl Server {
    /// What stands between the host and the server, if that is the tap.
    #[must_use]
    pub fn tapped(&self) -> Option<Tapped> {
        match &self.launch {
            Launch::Command(line) => Tapped::of(line),
            Launch::Http(_) | Launch::Other(_) => None,
        }
    }

    /// How the host would come to it without the tap.
    #[must_use]
    pub fn without_tap(&self) -> Launch {
        self.tapped().map_or_else(|| self.launch.clone(), |tapped| tapped.behind)
    }
}
