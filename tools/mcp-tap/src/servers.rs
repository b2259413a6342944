//! Servers as a file of a host's configuration has them: `mcpServers`, as most hosts write it, or `servers`, as VS Code does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::failure::{Failure, nearest};
use crate::text::shown;

/// A server of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) launch: Launch,
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
    /// What of it was left out, and why; each with the server's name.
    pub(crate) problems: Vec<String>,
}

impl Configuration {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let place = shown(&path.to_string_lossy(), false);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read the servers in {place}: {error}")))?;
        Self::of_text(&text, |variable| std::env::var(variable).ok()).map_err(|what| {
            Failure::new(format!("{place}: {what}"))
                .hint("it is a host's configuration: {\"mcpServers\": {\"NAME\": {\"command\": …, \"args\": […]}}}")
        })
    }

    fn of_text(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let whole: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let servers = ["mcpServers", "servers"].iter().find_map(|key| whole.get(key)?.as_object());
        let servers = servers.ok_or("it names no servers: neither `mcpServers` nor `servers` is there")?;
        let mut configuration = Self::default();
        for (name, server) in servers {
            match launch(server, &variable) {
                Ok(Some(launch)) => configuration.servers.push(Configured { name: name.clone(), launch }),
                Ok(None) => {}
                Err(what) => configuration.problems.push(format!("{}: {what}", shown(name, false))),
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

/// How a server is reached; `None` where it is switched off.
fn launch(server: &Value, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Launch>, String> {
    let server = server.as_object().ok_or("it is no object")?;
    let is = |key: &str, value: bool| server.get(key).and_then(Value::as_bool) == Some(value);
    if is("disabled", true) || is("enabled", false) {
        return Ok(None);
    }
    let fill = |text: &str| filled(text, variable);
    let pairs = |key: &str| -> Result<Vec<(String, String)>, String> {
        let Some(map) = server.get(key) else {
            return Ok(Vec::new());
        };
        let map: &Map<String, Value> = map.as_object().ok_or_else(|| format!("`{key}` is no object"))?;
        map.iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name.clone(), fill(text)?)),
                Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
                _ => Err(format!("`{key}.{name}` is no text")),
            })
            .collect()
    };
    let text = |key: &str| -> Result<Option<String>, String> {
        match server.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => fill(text).map(Some),
            Some(_) => Err(format!("`{key}` is no text")),
        }
    };
    if let Some(program) = text("command")? {
        let arguments = match server.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(words)) => words
                .iter()
                .map(|word| fill(word.as_str().ok_or("`args` holds something that is no text")?))
                .collect::<Result<_, String>>()?,
            Some(_) => return Err("`args` is no array".into()),
        };
        let command = std::iter::once(program).chain(arguments).map(OsString::from).collect();
        let folder = text("cwd")?.map(PathBuf::from);
        return Ok(Some(Launch::Command { command, environment: pairs("env")?, folder }));
    }
    let url = text("url")?.or(text("serverUrl")?).or(text("httpUrl")?);
    let url = url.ok_or("it has neither `command` nor `url`")?;
    Ok(Some(Launch::Remote { url, headers: pairs("headers")? }))
}

/// A text with `${NAME}`, `${NAME:-default}` and `${env:NAME}` replaced by what the environment has.
fn filled(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, behind)) = behind.split_once('}') else {
            out.push_str("${");
            rest = behind;
            continue;
        };
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        match (variable(name), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the environment has no `{}`, which it uses", shown(name, false))),
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Configuration, String> {
        Configuration::of_text(text, |name| (name == "KEY").then(|| "secret".to_owned()))
    }

    #[test]
    fn servers_are_read_as_hosts_write_them() {
        let text = r#"{"mcpServers": {
            "a": {"command": "npx", "args": ["-y", "${KEY}", "${NO:-plain}"], "env": {"TOKEN": "${env:KEY}", "N": 7}, "cwd": "/tmp"},
            "b": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "k ${KEY}"}},
            "off": {"command": "x", "disabled": true},
            "odd": {"command": ["x"]},
            "unset": {"command": "x", "args": ["${NO}"]},
            "none": {}
        }}"#;
        let read = read(text).unwrap();
        let command = |words: &[&str]| words.iter().map(OsString::from).collect();
        assert_eq!(
            read.servers,
            [
                Configured {
                    name: "a".into(),
                    launch: Launch::Command {
                        command: command(&["npx", "-y", "secret", "plain"]),
                        environment: vec![("TOKEN".into(), "secret".into()), ("N".into(), "7".into())],
                        folder: Some("/tmp".into()),
                    },
                },
                Configured {
                    name: "b".into(),
                    launch: Launch::Remote {
                        url: "https://example.com/mcp".into(),
                        headers: vec![("X-Key".into(), "k secret".into())],
                    },
                },
            ]
        );
        assert_eq!(
            read.problems,
            [
                "odd: `command` is no text",
                "unset: the environment has no `NO`, which it uses",
                "none: it has neither `command` nor `url`",
            ]
        );
        assert_eq!(read.find("b").unwrap().name, "b");
        assert_eq!(read.find("x").unwrap_err().message, "the configuration has no server `x`");
    }

    #[test]
    fn what_is_no_configuration_is_told() {
        for (text, expected) in [
            ("{", "it is no JSON: EOF while parsing an object at line 1 column 1"),
            ("{\"theme\":\"plain\"}", "it names no servers: neither `mcpServers` nor `servers` is there"),
        ] {
            assert_eq!(read(text).unwrap_err(), expected);
        }
        assert_eq!(read(r#"{"servers":{"v":{"command":"x"}}}"#).unwrap().servers.len(), 1);
    }
}
