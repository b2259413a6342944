//! `cargo xtask tidy`: the rules of this workspace that no compiler checks.
//!
//! The rules are the tables in this file; each of the files below it checks one kind of thing. Everything is a function
//! of a [`Workspace`] in memory, so that the tests need no folder. A failure is one line, `path:line: what is wrong;
//! what to do`.

mod code;
mod dependencies;
mod documents;
mod paths;
mod source;
mod workspace;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use self::workspace::Workspace;

/// Whom a crate may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MayKnow {
    /// These of ours, and no other.
    Only(&'static [&'static str]),
    /// Each of ours.
    All,
}

/// Who may know whom: the table of `docs/architecture.md`. A new line is a design change.
///
/// It bounds normal and build dependencies; tests may use what they need.
const WHO_MAY_KNOW_WHOM: &[(&str, MayKnow)] = &[
    ("tap-frame", MayKnow::Only(&[])),
    ("tap-jsonrpc", MayKnow::Only(&[])),
    ("tap-protocol", MayKnow::Only(&[])),
    ("tap-schema", MayKnow::Only(&[])),
    ("tap-session", MayKnow::Only(&["tap-frame", "tap-jsonrpc", "tap-protocol", "tap-schema"])),
    ("tap-transport", MayKnow::Only(&["tap-jsonrpc", "tap-protocol"])),
    ("tap-relay", MayKnow::Only(&["tap-frame", "tap-transport"])),
    ("tap-redact", MayKnow::Only(&[])),
    ("tap-hosts", MayKnow::Only(&[])),
    ("tap-store", MayKnow::Only(&["tap-exchange", "tap-frame", "tap-jsonrpc", "tap-redact", "tap-session"])),
    ("tap-exchange", MayKnow::Only(&["tap-frame", "tap-jsonrpc", "tap-session"])),
    ("tap-filter", MayKnow::Only(&["tap-jsonrpc"])),
    ("tap-compare", MayKnow::Only(&["tap-jsonrpc", "tap-protocol"])),
    (
        "tap-inspector",
        MayKnow::Only(&[
            "tap-compare",
            "tap-control",
            "tap-filter",
            "tap-frame",
            "tap-jsonrpc",
            "tap-session",
            "tap-text",
        ]),
    ),
    ("tap-text", MayKnow::Only(&[])),
    ("tap-replay", MayKnow::Only(&["tap-compare", "tap-frame", "tap-jsonrpc", "tap-protocol"])),
    ("tap-testkit", MayKnow::Only(&["tap-compare", "tap-frame", "tap-replay", "tap-store", "tap-text"])),
    (
        "tap-control",
        MayKnow::Only(&["tap-filter", "tap-frame", "tap-jsonrpc", "tap-protocol", "tap-schema", "tap-session"]),
    ),
    ("tap-bridge", MayKnow::Only(&["tap-jsonrpc", "tap-protocol", "tap-session"])),
    ("tap-http", MayKnow::Only(&["tap-frame", "tap-jsonrpc", "tap-relay"])),
    (
        "tap-peer",
        MayKnow::Only(&[
            "tap-bridge",
            "tap-frame",
            "tap-http",
            "tap-jsonrpc",
            "tap-protocol",
            "tap-relay",
            "tap-session",
            "tap-transport",
        ]),
    ),
    ("tap-models", MayKnow::Only(&["tap-jsonrpc"])),
    ("tap-agent", MayKnow::Only(&["tap-models"])),
    ("tap-router", MayKnow::Only(&["tap-jsonrpc", "tap-peer", "tap-protocol", "tap-schema", "tap-session"])),
    ("mcp-tap", MayKnow::All),
    ("tap-echo-server", MayKnow::Only(&[])),
    ("tap-byte-copier", MayKnow::Only(&[])),
    ("tap-load-client", MayKnow::Only(&["tap-echo-server"])),
    ("tap-http-echo-server", MayKnow::Only(&["tap-echo-server"])),
    ("tap-http-pass-through", MayKnow::Only(&[])),
    ("tap-http-load-client", MayKnow::Only(&["tap-echo-server", "tap-http-echo-server", "tap-load-client"])),
    ("xtask", MayKnow::Only(&[])),
];

/// Crates that do no input or output and read no clock: the same messages give the same events, live and from a file.
const SANS_IO: &[&str] = &[
    "tap-frame",
    "tap-jsonrpc",
    "tap-protocol",
    "tap-schema",
    "tap-session",
    "tap-exchange",
    "tap-text",
    "tap-bridge",
    "tap-filter",
    "tap-compare",
    "tap-replay",
    "tap-control",
    "tap-redact",
    "tap-hosts",
    "tap-inspector",
    "tap-models",
    "tap-agent",
];

/// What a crate without input and output must not depend on.
const NOT_SANS_IO_PACKAGES: &[&str] = &["tokio", "rusqlite"];

/// What a crate without input and output must not name outside its tests.
const NOT_SANS_IO_PATHS: &[&[&str]] =
    &[&["std", "fs"], &["std", "net"], &["std", "process"], &["Instant", "now"], &["SystemTime", "now"]];

/// Packages that a crate must not depend on: who cannot name a parser or a database cannot wait for one.
const FORBIDDEN_PACKAGES: &[(&str, &[&str])] = &[("tap-relay", &["serde_json", "rusqlite"])];

/// What the README promises to a newcomer.
const README_COMMANDS: &[&str] = &["cargo run --release -p mcp-tap -- demo", "cargo test --workspace"];

/// What `.ci/run` must hold: the same tests that the README promises.
const CI_COMMANDS: &[&str] = &["cargo test --workspace"];

/// A file past the first is two things; past the second it must be.
const WARN_ABOVE_LINES: usize = 500;
const FAIL_ABOVE_LINES: usize = 1_000;

/// One thing that somebody should change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Remark {
    /// Relative to the workspace, with `/`.
    path: String,
    line: usize,
    /// What is wrong, and what to do.
    text: String,
}

impl Remark {
    fn new(path: &str, line: usize, wrong: impl fmt::Display, to_do: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), line, text: format!("{wrong}; {to_do}") }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// What the checks found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    failures: Vec<Remark>,
    warnings: Vec<Remark>,
}

/// Checks the workspace that this program was built from. Failures go to stderr and make the status 1.
pub(crate) fn run() -> ExitCode {
    let workspace = match Workspace::read(&workspace_root()) {
        Ok(workspace) => workspace,
        Err(error) => {
            let _ = writeln!(io::stderr(), "xtask: {error}");
            return ExitCode::from(2);
        }
    };
    let report = check(&workspace);
    let mut stderr = io::stderr().lock();
    for warning in &report.warnings {
        let _ = writeln!(stderr, "warning: {warning}");
    }
    for failure in &report.failures {
        let _ = writeln!(stderr, "{failure}");
    }
    match report.failures.len() {
        0 => ExitCode::SUCCESS,
        n_failures => {
            let _ = writeln!(stderr, "xtask: {n_failures} things are not tidy");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace: cargo tells at run time where this package lies, and told it when it was built.
pub(crate) fn workspace_root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("../..")
}

/// All checks.
fn check(workspace: &Workspace) -> Report {
    let mut report = Report::default();
    for package in &workspace.packages {
        report.failures.extend(dependencies::check(package, &workspace.packages));
    }
    report.failures.extend(dependencies::check_table(&workspace.packages));
    source::check(&workspace.files, &mut report);
    documents::check(workspace.readme.as_deref(), workspace.ci_run.as_deref(), &mut report.failures);
    report.failures.sort();
    report.warnings.sort();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that `cargo test --workspace` is enough to know that the workspace is tidy.
    #[test]
    fn this_workspace_is_tidy() {
        let report = check(&Workspace::read(&workspace_root()).unwrap());
        let failures: Vec<String> = report.failures.iter().map(Remark::to_string).collect();
        assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    }

    #[test]
    fn a_remark_is_a_line_that_editors_can_follow() {
        let remark = Remark::new("crates/tap-frame/src/lib.rs", 7, "this is wrong", "do that");
        assert_eq!(remark.to_string(), "crates/tap-frame/src/lib.rs:7: this is wrong; do that");
    }

    #[test]
    fn no_row_of_the_table_names_itself_or_is_there_twice() {
        for (index, (name, may_know)) in WHO_MAY_KNOW_WHOM.iter().enumerate() {
            assert!(WHO_MAY_KNOW_WHOM[..index].iter().all(|(other, _)| other != name), "{name} is there twice");
            if let MayKnow::Only(names) = may_know {
                assert!(!names.contains(name), "{name} names itself");
            }
        }
    }
}
