//! Servers that are named in a file: in a host's configuration, whatever its form (`tap_hosts` reads them); or in our own form
//! of it in TOML, `[servers.NAME]`, which also has what a router is to make of them.

mod own;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tap_hosts::{CommandLine, Document, Format, Host, Lookup, Remote, Shape, fill};
use tap_router::{Policy, ServerRules};

use crate::failure::{Failure, nearest};
use crate::text::shown;

/// A server of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) launch: Launch,
    /// What our own form says of it, beside how it is started.
    pub(crate) rules: Rules,
}

/// What a router is to make of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) rules: ServerRules,
    /// Whether a time limit is said.
    pub(crate) has_limit: bool,
}

/// How it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Launch {
    /// It is started.
    Command { command: Vec<OsString>, environment: Vec<(String, String)>, folder: Option<PathBuf> },
    /// It is there, over HTTP, where these fields are sent.
    Remote { url: String, headers: Vec<(String, String)> },
}

/// What a file has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// The servers that are switched on, in the file's order.
    pub(crate) servers: Vec<Configured>,
    /// Which calls are made, and about which a person is asked.
    pub(crate) policy: Policy,
    /// Whether somebody has said anything about that.
    pub(crate) has_policy: bool,
    /// What of it was left out, and why; each with its place.
    pub(crate) problems: Vec<String>,
}

impl Configuration {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let place = shown(&path.to_string_lossy(), false);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read the servers in {place}: {error}")))?;
        let format = Format::of(&path.to_string_lossy());
        let read = match format == Format::Toml && own::is_own(&text) {
            true => own::read(&text, |variable| std::env::var(variable).ok()),
            false => Self::of_host(&text, format, &Here),
        };
        read.map_err(|what| {
            Failure::new(format!("{place}: {what}"))
                .hint("it is a host's configuration, such as {\"mcpServers\": {\"NAME\": {\"command\": …}}}, or [servers.NAME] in TOML")
        })
    }

    /// Takes its rules about calls from a file of their own.
    pub(crate) fn take_policy(&mut self, path: &Path) -> Result<(), Failure> {
        let place = shown(&path.to_string_lossy(), false);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read the rules in {place}: {error}")))?;
        let read = own::read_policy(&text, |variable| std::env::var(variable).ok());
        self.has_policy = true;
        self.policy = read.map_err(|what| {
            Failure::new(format!("{place}: {what}"))
                .hint("rules are TOML: [[rules]] with `tool = \"write_*\"` and `then = \"ask\"`")
        })?;
        Ok(())
    }

    /// Reads a host's configuration. A tap that stands before a server is left out: there is one here.
    fn of_host(text: &str, format: Format, lookup: &dyn Lookup) -> Result<Self, String> {
        let document = Document::parse(text, format).map_err(|error| error.to_string())?;
        let shape = Shape::guess(&document).ok_or("it has no servers where a host would have them")?;
        let read = tap_hosts::read(text, format, shape).map_err(|error| error.to_string())?;
        let mut configuration = Self::default();
        for problem in &read.problems {
            let tap_hosts::Problem { line, key, what } = problem;
            configuration.problems.push(format!("line {line}: {}: {}", shown(key, false), shown(what, false)));
        }
        let filler = Filler { host: host_of(shape), lookup };
        for server in read.servers.iter().filter(|server| server.is_enabled) {
            let launch = match server.without_tap() {
                tap_hosts::Launch::Command(line) => filler.command(&line),
                tap_hosts::Launch::Http(remote) => filler.remote(&remote),
                tap_hosts::Launch::Other(how) => {
                    Err(format!("`{}` is no way to a server that is known here", shown(&how, false)))
                }
            };
            let rules = Rules::default();
            match launch {
                Ok(launch) => configuration.servers.push(Configured { name: server.name.clone(), launch, rules }),
                Err(what) => {
                    configuration.problems.push(format!(
                        "line {}: {}: {what}",
                        server.line,
                        shown(&server.path, false)
                    ));
                }
            }
        }
        Ok(configuration)
    }

    /// One server by its name.
    pub(crate) fn find(&self, name: &str) -> Result<&Configured, Failure> {
        self.servers.iter().find(|server| server.name == name).ok_or_else(|| {
            let failure = Failure::new(format!("the configuration has no server `{}`", shown(name, false)));
            match nearest(name, self.servers.iter().map(|server| server.name.as_str())) {
                Some(near) => failure.hint(format!("did you mean {}?", shown(near, false))),
                None => failure,
            }
        })
    }
}

/// The host by whose rules values are filled in; `None` where several have files of this shape.
fn host_of(shape: Shape) -> Option<Host> {
    match shape {
        Shape::McpServers => None,
        Shape::ClaudeCode => Some(Host::ClaudeCode),
        Shape::VsCode | Shape::VsCodeSettings => Some(Host::VsCode),
        Shape::Codex => Some(Host::Codex),
        Shape::Opencode => Some(Host::Opencode),
        Shape::Zed => Some(Host::Zed),
        Shape::Goose => Some(Host::Goose),
        Shape::Continue => Some(Host::Continue),
    }
}

/// What is filled in here.
struct Here;

impl Lookup for Here {
    fn environment(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn workspace(&self) -> Option<String> {
        Some(std::env::current_dir().ok()?.to_string_lossy().into_owned())
    }
}

/// Fills in what a host would.
struct Filler<'a> {
    host: Option<Host>,
    lookup: &'a dyn Lookup,
}

impl Filler<'_> {
    fn text(&self, text: &str) -> Result<String, String> {
        match self.host {
            Some(host) => fill(host, text, self.lookup).map_err(|unfilled| unfilled.to_string()),
            None => filled(text, &|variable| self.lookup.environment(variable)),
        }
    }

    fn pairs(&self, pairs: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
        pairs.iter().map(|(name, value)| Ok((name.clone(), self.text(value)?))).collect()
    }

    fn command(&self, line: &CommandLine) -> Result<Launch, String> {
        let words: Result<Vec<String>, String> =
            std::iter::once(&line.command).chain(&line.arguments).map(|word| self.text(word)).collect();
        let mut environment = Vec::new();
        if let Some(path) = &line.environment_file {
            environment = variables_in(Path::new(&self.text(path)?))?;
        }
        // What is set in so many words goes before a file.
        environment.extend(self.pairs(&line.environment)?);
        let folder = line.folder.as_deref().map(|folder| self.text(folder)).transpose()?.map(PathBuf::from);
        Ok(Launch::Command { command: words?.into_iter().map(OsString::from).collect(), environment, folder })
    }

    fn remote(&self, remote: &Remote) -> Result<Launch, String> {
        let variable = |name: &str| {
            let value = self.lookup.environment(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("the environment has no `{}`, which it uses", shown(name, false)))
        };
        let mut headers = self.pairs(&remote.headers)?;
        for (header, name) in &remote.headers_from_environment {
            headers.push((header.clone(), variable(name)?));
        }
        if let Some(name) = &remote.bearer_variable {
            headers.push(("Authorization".into(), format!("Bearer {}", variable(name)?)));
        }
        Ok(Launch::Remote { url: self.text(&remote.url)?, headers })
    }
}

/// A file of variables, `NAME=value` a line.
fn variables_in(path: &Path) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", shown(&path.to_string_lossy(), false)))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, value) = line.trim_start_matches("export ").split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Some((name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
    };
    Ok(lines.filter_map(pair).collect())
}

/// A text with `${NAME}`, `${NAME:-default}` and `${env:NAME}` replaced by what the environment has.
fn filled(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let inside = behind.split_once('}').and_then(|(inside, after)| {
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            let name = name.strip_prefix("env:").unwrap_or(name);
            is_variable(name).then_some((name, default, after))
        });
        // Another language's, such as what a shell is to run.
        let Some((name, default, after)) = inside else {
            out.push_str("${");
            rest = behind;
            continue;
        };
        match (variable(name), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the environment has no `{}`, which it uses", shown(name, false))),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Lookup for Known {
        fn environment(&self, name: &str) -> Option<String> {
            (name == "KEY").then(|| "secret".to_owned())
        }

        fn workspace(&self) -> Option<String> {
            Some("/work".into())
        }
    }

    fn read(text: &str, format: Format) -> Result<Configuration, String> {
        Configuration::of_host(text, format, &Known)
    }

    fn command(words: &[&str], environment: &[(&str, &str)], folder: Option<&str>) -> Launch {
        Launch::Command {
            command: words.iter().map(OsString::from).collect(),
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            folder: folder.map(PathBuf::from),
        }
    }

    fn remote(url: &str, headers: &[(&str, &str)]) -> Launch {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Launch::Remote { url: url.into(), headers }
    }

    #[test]
    fn servers_are_read_as_hosts_write_them() {
        for (text, format, expected) in [
            (
                r#"{"mcpServers": {
                    "a": {"command": "npx", "args": ["-y", "${KEY}", "${NO:-plain}", "${x%%,*} ${"], "env": {"T": "${env:KEY}"}, "cwd": "/tmp"},
                    "b": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "k ${KEY}"}},
                    "off": {"command": "x", "disabled": true}
                }}"#,
                Format::Json,
                vec![
                    ("a", command(&["npx", "-y", "secret", "plain", "${x%%,*} ${"], &[("T", "secret")], Some("/tmp"))),
                    ("b", remote("https://example.com/mcp", &[("X-Key", "k secret")])),
                ],
            ),
            // The tap before it is left out.
            (
                r#"{"mcpServers": {"a": {"command": "mcp-tap", "args": ["run", "--", "server", "x"]}}}"#,
                Format::Json,
                vec![("a", command(&["server", "x"], &[], None))],
            ),
            (
                r#"{"servers": {"v": {"command": "x", "args": ["${workspaceFolder}/a", "${env:KEY}"]}}, "inputs": []}"#,
                Format::Json,
                vec![("v", command(&["x", "/work/a", "secret"], &[], None))],
            ),
            (
                "[mcp_servers.c]\ncommand = \"x\"\n[mcp_servers.d]\nurl = \"https://example.com/\"\nbearer_token_env_var = \"KEY\"\n",
                Format::Toml,
                vec![
                    ("c", command(&["x"], &[], None)),
                    ("d", remote("https://example.com/", &[("Authorization", "Bearer secret")])),
                ],
            ),
            (
                r#"{"mcp": {"o": {"type": "local", "command": ["x", "y"], "environment": {"A": "{env:KEY}"}}}}"#,
                Format::Json,
                vec![("o", command(&["x", "y"], &[("A", "secret")], None))],
            ),
        ] {
            let read = read(text, format).unwrap();
            assert_eq!(read.problems, [""; 0], "{text}");
            let found: Vec<(&str, Launch)> =
                read.servers.iter().map(|server| (server.name.as_str(), server.launch.clone())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_line() {
        let text = "{\"mcpServers\": {\n\"unset\": {\"command\": \"x\", \"args\": [\"${NO}\"]},\n\"none\": {\"args\": []},\n\"b\": {\"command\": \"y\"}}}";
        let read = read(text, Format::Json).unwrap();
        assert_eq!(read.find("b").unwrap().name, "b");
        assert_eq!(read.find("x").unwrap_err().message, "the configuration has no server `x`");
        let told = read.problems.join("\n");
        assert!(told.contains("line 2: mcpServers.unset: the environment has no `NO`, which it uses"), "{told}");
        assert!(told.contains("line 3: mcpServers.none"), "{told}");
        assert!(Configuration::of_host("{", Format::Json, &Known).is_err());
        assert_eq!(
            Configuration::of_host("{\"theme\":\"plain\"}", Format::Json, &Known).unwrap_err(),
            "it has no servers where a host would have them"
        );
    }
}
