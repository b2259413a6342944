//! Who is measured over HTTP, and one run of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::build::build;
use super::super::subject::{recorded_messages, warm_up};
use super::super::{Arguments, BenchError, number_at};
use super::nginx::Nginx;
use super::phase::Phase;
use super::started::{Says, Started};

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// The server alone.
    None,
    /// The plainest proxy that hyper can be.
    PassThrough,
    /// nginx, set up to pass everything through.
    Nginx,
    /// The tap, on a fresh database.
    Tap,
}

/// One run of a subject in a phase.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) round: usize,
    pub(super) phase: Phase,
    pub(super) subject: Subject,
    /// The load client's report, with `exit_ms` and, for the tap, `messages_recorded`; `{"error": …}` for a run without
    /// figures.
    pub(super) report: Value,
}

impl Subject {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::PassThrough, Self::Nginx, Self::Tap];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PassThrough => "pass-through",
            Self::Nginx => "nginx",
            Self::Tap => "tap",
        }
    }
}

/// The release builds, and nginx.
#[derive(Debug)]
pub(super) struct Programs {
    load_client: PathBuf,
    echo_server: PathBuf,
    pass_through: PathBuf,
    tap: PathBuf,
    nginx: Option<Nginx>,
}

impl Programs {
    /// Builds in release mode.
    pub(super) fn build(nginx: Option<Nginx>) -> Result<Self, BenchError> {
        let mut executables =
            build(&["tap-http-load-client", "tap-http-echo-server", "tap-http-pass-through", "mcp-tap"])?;
        let mut take = |package| executables.remove(package).ok_or(BenchError::NotBuilt { package });
        Ok(Self {
            load_client: take("tap-http-load-client")?,
            echo_server: take("tap-http-echo-server")?,
            pass_through: take("tap-http-pass-through")?,
            tap: take("mcp-tap")?,
            nginx,
        })
    }

    /// Who can be measured.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        Subject::ALL.into_iter().filter(|subject| *subject != Subject::Nginx || self.nginx.is_some()).collect()
    }

    /// Runs a subject in a folder of its own, which is deleted afterwards.
    pub(super) fn run(&self, round: usize, phase: Phase, subject: Subject, arguments: &Arguments) -> Run {
        let report = self.report(phase, subject, arguments).unwrap_or_else(|error| json!({"error": error}));
        Run { round, phase, subject, report }
    }

    fn report(&self, phase: Phase, subject: Subject, arguments: &Arguments) -> Result<Value, String> {
        let folder =
            TempDir::with_prefix_in("tap-bench-", &arguments.dir).map_err(|error| format!("no folder: {error}"))?;
        warm_up(folder.path(), phase.warm_up_bytes()).map_err(|error| format!("cannot write a file: {error}"))?;
        let database = folder.path().join("tap.db");
        let server = Started::saying_its_url(Command::new(&self.echo_server), Says::OnStdout)?;
        let proxy = self.start_proxy(subject, &server.url, folder.path(), &database)?;
        let mut client = Command::new(&self.load_client);
        client.args(phase.client_arguments(arguments)).stderr(Stdio::inherit());
        if let Some(proxy) = &proxy {
            client.arg("--proxy-pid").arg(proxy.pid().to_string());
        }
        client.arg(proxy.as_ref().map_or(&server.url, |proxy| &proxy.url));
        let output = client.output().map_err(|error| format!("cannot run {}: {error}", self.load_client.display()))?;
        let mut report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the load client ended with {} and no report: {error}", output.status))?;
        if let Some(error) = report.get("error").and_then(Value::as_str) {
            return Err(error.to_owned());
        }
        if let Some(proxy) = proxy {
            report["exit_ms"] = json!(proxy.stop()?.as_secs_f64() * 1e3);
        }
        if subject == Subject::Tap {
            report["messages_recorded"] = match recorded_messages(&self.tap, &database) {
                Ok(n_messages) => json!(n_messages),
                Err(error) => {
                    report["recorded_error"] = json!(error);
                    Value::Null
                }
            };
        }
        Ok(report)
    }

    fn start_proxy(
        &self,
        subject: Subject,
        upstream: &str,
        folder: &Path,
        database: &Path,
    ) -> Result<Option<Started>, String> {
        let started = match subject {
            Subject::None => return Ok(None),
            Subject::PassThrough => {
                let mut command = Command::new(&self.pass_through);
                command.arg(upstream);
                Started::saying_its_url(command, Says::OnStdout)
            }
            Subject::Nginx => match &self.nginx {
                Some(nginx) => nginx.start(upstream, folder),
                None => Err("there is no nginx".to_owned()),
            },
            Subject::Tap => {
                let mut command = Command::new(&self.tap);
                command.arg("--db").arg(database).args(["proxy", "--listen", "127.0.0.1:0", upstream]);
                Started::saying_its_url(command, Says::OnStderr)
            }
        };
        started.map(Some)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, subject) = (self.phase.name(), self.subject.name());
        write!(formatter, "round {} {phase:<17} {subject:<12} ", self.round + 1)?;
        if let Some(error) = self.report.get("error").or_else(|| self.report.get("recorded_error")) {
            return write!(formatter, "{error}");
        }
        let shown = self.phase.shown().into_iter().chain(["/messages_recorded"]);
        let shown = shown.filter_map(|pointer| {
            Some(format!("{} {}", pointer.trim_start_matches('/'), number_at(&self.report, pointer)?))
        });
        write!(formatter, "{}", shown.collect::<Vec<_>>().join(", "))
    }
}
