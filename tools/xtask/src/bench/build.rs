//! Building the programs that are measured, and those that measure.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::BenchError;
use crate::tidy::workspace_root;

/// The release builds.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) load_client: PathBuf,
    pub(super) echo_server: PathBuf,
    pub(super) byte_copier: PathBuf,
    pub(super) tap: Tap,
}

/// What stands in the place of the tap.
#[derive(Debug)]
pub(super) enum Tap {
    /// Our own.
    McpTap(PathBuf),
    /// The words of `--wrapper`. What it records, if it does, cannot be counted.
    Wrapper(Vec<String>),
}

impl Programs {
    /// Builds in release mode. With a wrapper the tap itself is not built.
    pub(super) fn build(wrapper: Option<&str>) -> Result<Self, BenchError> {
        let mut packages = vec!["tap-load-client", "tap-echo-server", "tap-byte-copier"];
        if wrapper.is_none() {
            packages.push("mcp-tap");
        }
        let mut executables = build(&packages)?;
        let mut take = |package| executables.remove(package).ok_or(BenchError::NotBuilt { package });
        Ok(Self {
            load_client: take("tap-load-client")?,
            echo_server: take("tap-echo-server")?,
            byte_copier: take("tap-byte-copier")?,
            tap: match wrapper {
                Some(words) => Tap::Wrapper(words.split_whitespace().map(str::to_owned).collect()),
                None => Tap::McpTap(take("mcp-tap")?),
            },
        })
    }

    /// The words before the server, as a person would write them.
    pub(super) fn wrapper(&self) -> String {
        match &self.tap {
            Tap::McpTap(_) => "mcp-tap run --db {db} --".to_owned(),
            Tap::Wrapper(words) => words.join(" "),
        }
    }
}

/// The executables by the names of their binaries. Cargo is asked where they are: the target folder may be anywhere.
pub(super) fn build(packages: &[&str]) -> Result<HashMap<String, PathBuf>, BenchError> {
    run_cargo(&packages.iter().flat_map(|package| ["--package", package]).collect::<Vec<_>>())
}

/// The executable of an example of a package.
pub(super) fn build_example(package: &str, example: &str) -> Result<HashMap<String, PathBuf>, BenchError> {
    run_cargo(&["--package", package, "--example", example])
}

fn run_cargo(arguments: &[&str]) -> Result<HashMap<String, PathBuf>, BenchError> {
    let program = "cargo build --release";
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo tells us about ourselves is not for another cargo: build scripts that ask for it would run again, and
    // half of all packages be built again, each time after a build that was not started by us.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_about_ourselves)) {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--release", "--message-format", "json-render-diagnostics"])
        .args(arguments)
        .current_dir(workspace_root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| BenchError::Start { program: program.to_owned(), source })?;
    match output.status.success() {
        true => Ok(executables(&String::from_utf8_lossy(&output.stdout))),
        false => Err(BenchError::Failed { program: program.to_owned() }),
    }
}

/// Whether this variable is one that `cargo run` sets for the program that it runs.
fn is_about_ourselves(variable: &str) -> bool {
    let beginnings = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    beginnings.iter().any(|beginning| variable.starts_with(beginning))
}

/// Reads cargo's messages, one JSON object a line.
fn executables(messages: &str) -> HashMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter_map(|message| {
            let name = message.pointer("/target/name")?.as_str()?.to_owned();
            Some((name, PathBuf::from(message.get("executable")?.as_str()?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_of_this_program_is_not_passed_on() {
        for (variable, expected) in [
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_HOME", false),
            ("CARGO_BUILD_JOBS", false),
        ] {
            assert_eq!(is_about_ourselves(variable), expected, "{variable}");
        }
    }

    #[test]
    fn only_messages_about_executables_count() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"tap_echo_server"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"tap-echo-server"},"executable":"/t/release/tap-echo-server"}"#,
            "\nno json\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let expected = [("tap-echo-server".to_owned(), PathBuf::from("/t/release/tap-echo-server"))];
        assert_eq!(executables(messages), HashMap::from(expected));
    }
}
