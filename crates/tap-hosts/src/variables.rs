//! What hosts fill in, in the values of a configuration: `${env:HOME}`, `${workspaceFolder}` and the like.

use thiserror::Error;

use crate::host::Host;

/// Where values come from.
pub trait Lookup {
    /// The value of a variable of the environment.
    fn environment(&self, name: &str) -> Option<String>;
    /// The folder that is worked in.
    fn workspace(&self) -> Option<String>;
}

/// Something that only the host can fill in, or that has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is filled in by the host, and has no value here")]
pub struct Unfilled {
    /// What stands there: `${input:token}`.
    pub name: String,
}

/// A value as the host hands it on.
///
/// # Errors
///
/// When something in it has no value here: a question that the host asks (`${input:…}`), a file or a store of secrets, or a
/// variable that is not set.
pub fn fill(host: Host, text: &str, lookup: &dyn Lookup) -> Result<String, Unfilled> {
    let (open, close) = match host {
        Host::ClaudeDesktop | Host::Codex | Host::Zed | Host::Goose | Host::LmStudio => return Ok(text.to_owned()),
        Host::Opencode => ("{", "}"),
        Host::Continue => ("${{", "}}"),
        Host::ClaudeCode | Host::Cursor | Host::VsCode | Host::Windsurf | Host::GeminiCli | Host::Cline => ("${", "}"),
    };
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((name, behind)) = after.split_once(close) else {
            break;
        };
        filled.push_str(before);
        let whole = format!("{open}{name}{close}");
        match value(host, name.trim(), lookup) {
            Value::Is(value) => filled.push_str(&value),
            Value::NotOurs => filled.push_str(&whole),
            Value::Missing => return Err(Unfilled { name: whole }),
        }
        rest = behind;
    }
    filled.push_str(rest);
    match host {
        Host::GeminiCli => Ok(bare(&filled, lookup)),
        _ => Ok(filled),
    }
}

enum Value {
    Is(String),
    /// The host leaves it as it is.
    NotOurs,
    Missing,
}

fn value(host: Host, name: &str, lookup: &dyn Lookup) -> Value {
    let found = |value: Option<String>| value.map_or(Value::Missing, Value::Is);
    match host {
        Host::ClaudeCode => match name.split_once(":-") {
            Some((name, otherwise)) => Value::Is(lookup.environment(name).unwrap_or_else(|| otherwise.to_owned())),
            None => found(lookup.environment(name)),
        },
        // It leaves what is not set as it is.
        Host::GeminiCli => lookup.environment(name).map_or(Value::NotOurs, Value::Is),
        Host::Opencode => match name.split_once(':') {
            Some(("env", name)) => Value::Is(lookup.environment(name).unwrap_or_default()),
            Some(("file", _)) => Value::Missing,
            _ => Value::NotOurs,
        },
        Host::Continue => Value::Missing,
        _ => match name.split_once(':') {
            Some(("env", name)) => found(lookup.environment(name)),
            Some(("input" | "command" | "config" | "file", _)) => Value::Missing,
            _ => match name {
                "workspaceFolder" | "cwd" | "workspaceRoot" => found(lookup.workspace()),
                "workspaceFolderBasename" => {
                    let folder = lookup.workspace();
                    found(folder.map(|folder| folder.rsplit('/').next().unwrap_or_default().to_owned()))
                }
                "userHome" => found(lookup.environment("HOME")),
                "pathSeparator" | "/" => Value::Is("/".into()),
                _ => Value::NotOurs,
            },
        },
    }
}

/// `$NAME`, which Gemini CLI fills in as well.
fn bare(text: &str, lookup: &dyn Lookup) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let end = after.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let (name, behind) = after.split_at(end.unwrap_or(after.len()));
        match lookup.environment(name).filter(|_| !name.is_empty()) {
            Some(value) => filled.push_str(&value),
            None => {
                filled.push('$');
                filled.push_str(name);
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}
