//! What a trial shows, and what to do about it.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use serde_json::Value;

use super::trial::Trial;
use crate::text::{counted, duration};

/// How many lines of stderr are shown.
const SHOWN_LINES: usize = 6;

/// Revisions that have `initialize`.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Something that is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// Its name, which stays.
    pub(super) name: &'static str,
    /// The server does not show up, or not in all hosts.
    pub(super) is_bad: bool,
    pub(super) what: String,
    /// Lines that show it, without secrets.
    pub(super) evidence: Vec<String>,
    pub(super) fix: String,
}

impl Finding {
    pub(super) fn bad(name: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, is_bad: true, what: what.into(), evidence: Vec::new(), fix: fix.into() }
    }

    pub(super) fn warning(name: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { is_bad: false, ..Self::bad(name, what, fix) }
    }

    pub(super) fn with(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence.into_iter().map(|line| crate::command::wrap::without_shapes(&line)));
        self
    }
}

/// What of stderr says most: its end.
fn last_lines(trial: &Trial) -> Vec<String> {
    trial.stderr.iter().skip(trial.stderr.len().saturating_sub(SHOWN_LINES)).cloned().collect()
}

/// What is wrong where the bridge to a server at an address answered for it, by the words that it begins with.
///
/// Such an answer says what became of the request, and is no refusal of the server's.
fn of_bridge(message: &str) -> Option<Finding> {
    let cause = message.strip_prefix("mcp-tap: ")?;
    Some(match cause.starts_with("cannot connect") {
        true => Finding::bad(
            "unreachable",
            format!("nobody can be reached at its address: {cause}"),
            "start the server, and compare host and port of its address with those that it listens on",
        ),
        false => Finding::bad(
            "handshake",
            format!("there is no answer to `initialize`: {cause}"),
            "see whether the path of its address is the one of MCP, often `/mcp`, and whether it wants somebody to sign in",
        ),
    })
}

/// What is wrong with a server that did not answer hello with a result.
pub(super) fn of_failed(trial: &Trial, runtime: Option<&str>) -> Finding {
    if let Some(error) = &trial.not_started {
        return match error.raw_os_error() {
            Some(nix::libc::ENOEXEC) => Finding::bad(
                "not-executable",
                "the system cannot execute it: it is neither a program nor begins with `#!`",
                "start it by what runs it, such as `node` or `python3`, or put `#!/usr/bin/env …` in its first line",
            ),
            Some(nix::libc::ENOENT) => Finding::bad(
                "not-executable",
                "what its first line (`#!`) names is not there",
                "install that, or start the server by a program that is there",
            ),
            _ => Finding::bad("not-executable", format!("it cannot be started: {error}"), "see what the system says"),
        };
    }
    let lines = last_lines(trial);
    if let Some(line) = trial.stderr.iter().find(|line| is_of_version(line)) {
        let runtime = runtime.map(|runtime| format!("; it would run on {runtime}")).unwrap_or_default();
        return Finding::bad(
            "runtime-version",
            format!("it says that what it runs on is of the wrong version{runtime}"),
            "write the whole path of a version that it can run on as the command, or take an older release of the server",
        )
        .with([line.clone()]);
    }
    if let Some((answer, _)) = &trial.answer {
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap_or("its answer is neither a result nor an error");
        if let Some(finding) = of_bridge(message) {
            return finding.with(lines);
        }
        return Finding::bad(
            "handshake",
            format!("it refuses `initialize`: {} {message}", error["code"]).replace("null ", ""),
            "see what the server says; `mcp-tap check` on a recording of it knows the rules",
        )
        .with(lines);
    }
    if let Some(status) = trial.ended {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("it exits with {code} after {}, before it answers", after(trial.waited)),
            (None, number) => format!("it is killed by signal {}, before it answers", number.unwrap_or_default()),
        };
        if let Some(name) = trial.stderr.iter().find_map(|line| named_variable(line)) {
            return Finding::bad(
                "needs-variable",
                format!("it seems to need {name} in its environment: {how}"),
                format!("set {name} under `env` of the server in the host's configuration"),
            )
            .with(lines);
        }
        let fix = match lines.is_empty() {
            true => "it says nothing on stderr; start it in a shell with the same arguments",
            false => "mend what it says on stderr",
        };
        return Finding::bad("exits", how, fix).with(lines);
    }
    Finding::bad(
        "handshake",
        format!("it runs, and has not answered `initialize` after {}", after(trial.waited)),
        "is it a server on stdio? One over HTTP is given to hosts by its address. Does it flush what it writes?",
    )
    .with(lines)
}

/// What is to be said of a server that answered hello with a result.
pub(super) fn of_answered(trial: &Trial, slow: Duration) -> (Vec<Finding>, Vec<String>) {
    let mut findings = Vec::new();
    let Some((answer, took)) = &trial.answer else {
        return (findings, Vec::new());
    };
    let result = &answer["result"];
    if answer["id"] != 1 {
        findings.push(Finding::bad(
            "handshake",
            format!("its answer to the request with id 1 has the id {}", answer["id"]),
            "an answer has the id of its request, of the same type",
        ));
    }
    let meta = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = if result["serverInfo"].is_object() { &result["serverInfo"] } else { meta };
    let version = result["protocolVersion"].as_str();
    let modern = result["supportedVersions"].as_array().and_then(|versions| versions.first()).and_then(Value::as_str);
    if modern.is_none() && !version.is_some_and(|version| LEGACY.contains(&version)) {
        let said = version.unwrap_or("none");
        findings.push(Finding::bad(
            "wrong-era",
            format!("it answers `initialize` with the revision {said}, which has no `initialize`, or is not known"),
            "it is to answer with a revision that the client asked for, or an older one",
        ));
    }
    for missing in ["capabilities", "serverInfo"] {
        if modern.is_none() && !result[missing].is_object() {
            findings.push(Finding::bad(
                "handshake",
                format!("its answer to `initialize` has no `{missing}`"),
                "hosts with the SDKs refuse such an answer; it is required in every revision",
            ));
        }
    }
    if *took > slow {
        findings.push(Finding::warning(
            "slow",
            format!("its first answer takes {}", after(*took)),
            "hosts give up after 10 to 60 s. Install it beforehand, where `npx` or `uvx` fetch it at each start; in Codex raise \
             `startup_timeout_sec`, in Claude Code MCP_TIMEOUT",
        ));
    }
    let text = |key: &str| info[key].as_str().unwrap_or("?").to_owned();
    let tools = trial.tools.as_ref();
    let n_tools = tools.and_then(|tools| tools["result"]["tools"].as_array()).map(Vec::len);
    let has_tools = result["capabilities"]["tools"].is_object();
    let told = match (n_tools, has_tools) {
        (Some(n_tools), _) => counted(n_tools as u64, "tool"),
        (None, false) => "no tools".into(),
        (None, true) => {
            let error = tools.map(|tools| format!(": {} {}", tools["error"]["code"], tools["error"]["message"]));
            findings.push(Finding::bad(
                "handshake",
                format!("it has tools, and does not list them{}", error.unwrap_or_default()),
                "`tools/list` has to work after `notifications/initialized`",
            ));
            "tools that it does not list".into()
        }
    };
    let version = version.or(modern).unwrap_or("?");
    let note = format!("answers after {}: {} {}, {version}, {told}", after(*took), text("name"), text("version"));
    (findings, vec![note])
}

/// What is on stdout and is no message.
pub(super) fn of_noise(trial: &Trial) -> Option<Finding> {
    if trial.noise.is_empty() {
        return None;
    }
    let finding = Finding::bad(
        "stdout-noise",
        "it writes on stdout what is no message; hosts ignore that at best, and break off at worst",
        "write that on stderr. In Node `console.log` is stdout, in Python `print`; some programs have `--quiet`",
    );
    Some(finding.with(trial.noise.iter().cloned()))
}

/// Whether a line says that the version of what it runs on is wrong.
fn is_of_version(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "unsupported engine",
        "requires node",
        "node.js version",
        "unsupported node",
        "err_require_esm",
        "node: bad option",
        "cannot find module 'node:",
        "syntaxerror: unexpected token",
        "syntaxerror: invalid syntax",
        "requires a different python",
        "requires-python",
        "requires python",
        "python version",
        "unsupportedclassversionerror",
        "version `glibc_",
        "version 'glibc_",
    ]
    .iter()
    .any(|sign| line.contains(sign))
}

/// The variable that a line says is missing.
fn named_variable(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let signs = [
        "environ",
        "env var",
        "not set",
        "required",
        "missing",
        "must be set",
        "undefined",
        "keyerror",
        "please set",
        "unset",
    ];
    if !signs.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    let words = line.split(|each: char| !each.is_ascii_alphanumeric() && each != '_');
    let is_name = |word: &&str| {
        word.len() > 4
            && word.contains('_')
            && word.starts_with(|first: char| first.is_ascii_uppercase())
            && !word.contains(|each: char| each.is_ascii_lowercase())
            && !["ERR_", "MODULE_"].iter().any(|prefix| word.starts_with(prefix))
    };
    words.into_iter().find(is_name).map(str::to_owned)
}

fn after(took: Duration) -> String {
    duration(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bridge_says_for_a_server_is_no_refusal_of_the_servers() {
        for (message, expected) in [
            ("mcp-tap: cannot connect: Connection refused", Some("unreachable")),
            ("mcp-tap: cannot connect within 10 s", Some("unreachable")),
            ("mcp-tap: the server answered with HTTP 404", Some("handshake")),
            ("Unsupported protocol version", None),
        ] {
            let finding = of_bridge(message);
            assert_eq!(finding.as_ref().map(|finding| finding.name), expected, "{message}");
            assert!(finding.is_none_or(|finding| !finding.what.contains("refuses")), "{message}");
        }
    }

    #[test]
    fn variables_are_known_where_a_line_says_that_they_are_missing() {
        for (line, expected) in [
            ("Error: GITHUB_TOKEN environment variable is required", Some("GITHUB_TOKEN")),
            ("KeyError: 'API_KEY'", Some("API_KEY")),
            ("please set $DATABASE_URL", Some("DATABASE_URL")),
            ("DATABASE_URL=postgres://…", None),
            ("code: 'ERR_MODULE_NOT_FOUND', missing", None),
            ("the file is missing", None),
        ] {
            assert_eq!(named_variable(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn a_wrong_version_is_known_by_what_runtimes_say() {
        for line in [
            "npm WARN EBADENGINE Unsupported engine {",
            "SyntaxError: Unexpected token '??='",
            "ERROR: Package 'x' requires a different Python: 3.8.1 not in '>=3.10'",
            "./s: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./s)",
        ] {
            assert!(is_of_version(line), "{line}");
        }
        assert!(!is_of_version("listening, version 3"));
    }
}
