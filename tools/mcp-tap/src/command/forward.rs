//! `mcp-tap proxy --forward`: a proxy that hosts are told to go through, and a recorder for each MCP server behind it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tap_http::{AuthorityError, Forward, Hosts, Keeper, Listener, LocalAuthority, Sessions, Told, UpstreamOptions};
use tap_relay::Clock;
use tap_store::{EndReason, Transport};
use tap_transport::{PlainProcess, Signals, block_signals, end_like, replace_with};
use tokio::runtime::Runtime;

use super::stop::Stop;
use crate::arguments::{Global, Proxy};
use crate::command::proxy::{not_trusted, upstream_options};
use crate::failure::{COULD_NOT, Failure};
use crate::name::name_of_host;
use crate::paths::authority_folder;
use crate::recording::{Recording, copies, say, say_lines, session_start};

/// Runs a forward proxy until it is told to stop, or until the command ends that it was to start.
pub(crate) fn forward(global: &Global, proxy: &Proxy) -> Result<u8, Failure> {
    match proxy.forwarding.command.split_first() {
        None => until_stopped(global, proxy),
        Some((program, arguments)) => around(global, proxy, program, arguments),
    }
}

fn until_stopped(global: &Global, proxy: &Proxy) -> Result<u8, Failure> {
    let parts = Parts::prepare(global, proxy)?;
    // Signals are taken before anybody is told the address.
    let mut signals = {
        let _entered = parts.runtime.enter();
        Stop::new().map_err(|error| Failure::new(format!("cannot take signals: {error}")))?
    };
    let variables = environment(&parts.address, &parts.certificate, &parts.bundle);
    let lines: String = variables.iter().map(|(name, value)| format!("\n  export {name}={}", quoted(value))).collect();
    if !global.quiet {
        say_lines(&format!("{} is a forward proxy now; where a host is started, set{lines}", parts.address));
    }
    parts.runtime.block_on(async {
        let stop = async {
            signals.asked().await;
            parts.stored.stop();
        };
        tap_http::forward(parts.listener, parts.forward, stop).await;
    });
    parts.runtime.shutdown_background();
    parts.stored.finish();
    Ok(0)
}

/// Starts a command that goes through the proxy. Returns only when it cannot be started or watched.
fn around(global: &Global, proxy: &Proxy, program: &OsStr, arguments: &[OsString]) -> Result<u8, Failure> {
    if std::env::var_os("MCP_TAP_OFF").is_some_and(|value| value == "1") {
        let error = replace_with(program, arguments);
        say(&error.to_string());
        return Ok(u8::try_from(error.exit_code()).unwrap_or(COULD_NOT));
    }
    // Before any thread is there: each takes this mask over, so that all signals go to the command.
    let mask = block_signals();
    let signals = Signals::take_over();
    let parts = Parts::prepare(global, proxy)?;
    let variables = environment(&parts.address, &parts.certificate, &parts.bundle);
    let process = match PlainProcess::spawn(program, arguments, &variables, mask) {
        Ok(process) => process,
        Err(error) => {
            say(&error.to_string());
            return Ok(u8::try_from(error.exit_code()).unwrap_or(COULD_NOT));
        }
    };
    let passing_on = signals.pass_on_to_plain(&process);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = parts.runtime.spawn(tap_http::forward(parts.listener, parts.forward, async {
        let _ = stopped.await;
    }));
    let ending = process.wait();
    parts.stored.stop();
    let _ = stop.send(());
    let _ = parts.runtime.block_on(serving);
    parts.runtime.shutdown_background();
    parts.stored.finish();
    if let Ok(passing_on) = passing_on {
        passing_on.stop();
    }
    match ending {
        Ok(ending) => end_like(ending),
        Err(error) => Err(Failure::new(format!("cannot wait for the command: {error}"))),
    }
}

/// All that a forward proxy is made of.
struct Parts {
    runtime: Runtime,
    listener: Listener,
    forward: Arc<Forward>,
    stored: Arc<Stored>,
    address: String,
    certificate: PathBuf,
    bundle: PathBuf,
}

impl Parts {
    fn prepare(global: &Global, proxy: &Proxy) -> Result<Self, Failure> {
        if !proxy.listen.ip().is_loopback() {
            return Err(Failure::new(format!("a forward proxy at {} would be open to others", proxy.listen.ip()))
                .hint(
                    "it passes on whatever it is asked for, so it listens on loopback alone, such as 127.0.0.1:8899",
                ));
        }
        let authority = local_authority(global)?;
        let certificate = authority.certificate_path();
        let options = upstream_options(proxy)?;
        let others: Vec<Vec<u8>> = options.authorities.iter().cloned().chain(trusted_by_node()).collect();
        let bundle = authority.write_bundle(&others).map_err(|error| unusable(&error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        let listener = runtime
            .block_on(Listener::bind(proxy.listen))
            .map_err(|error| Failure::new(format!("{error}: {}", error.source)).hint("choose another with --listen"))?;
        let lower = |texts: &[String]| texts.iter().map(|text| host_in(text)).collect();
        let hosts = Hosts { only: lower(&proxy.forwarding.only), tunnel: lower(&proxy.forwarding.tunnel) };
        let (database, name) = (global.database(), proxy.name.clone());
        let stored = Arc::new(Stored { database, name, kept: Mutex::default() });
        let (sessions, own) = (Box::new(Prepared(stored.clone())), listener.address());
        let tell = Box::new(|told: Told| say(&worded(&told)));
        let options = UpstreamOptions { own: Some(own), ..options };
        let forward = Forward::new(own, authority, hosts, &options, sessions, tell);
        let forward = Arc::new(forward.map_err(|error| not_trusted(&error))?);
        Ok(Self { runtime, listener, forward, stored, address: format!("http://{own}"), certificate, bundle })
    }
}

/// This user's authority, made now if there is none.
pub(super) fn local_authority(global: &Global) -> Result<LocalAuthority, Failure> {
    let folder = authority_folder()?;
    let authority = LocalAuthority::open(&folder, SystemTime::now()).map_err(|error| unusable(&error))?;
    if authority.is_new() && !global.quiet {
        say(&format!(
            "made a local authority. Who trusts {} takes this user's mcp-tap for any host; deleting {} ends that",
            authority.certificate_path().display(),
            folder.join("authority.*").display()
        ));
    }
    Ok(authority)
}

fn unusable(error: &AuthorityError) -> Failure {
    match error {
        AuthorityError::File { source, .. } => Failure::new(format!("{error}: {source}")),
        AuthorityError::Broken { .. } | AuthorityError::Open { .. } | AuthorityError::Make(_) => {
            Failure::new(error.to_string())
        }
    }
}

/// The recordings that were begun.
struct Stored {
    database: Option<PathBuf>,
    /// What all servers are called, where that was said.
    name: Option<String>,
    kept: Mutex<Vec<(Recording, Arc<tap_http::Recording>)>>,
}

impl Stored {
    /// What goes on from here on is cut by us.
    fn stop(&self) {
        for (_, exchanges) in &*self.kept.lock().unwrap_or_else(PoisonError::into_inner) {
            exchanges.stop();
        }
    }

    fn finish(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for (recording, exchanges) in kept {
            let copies = exchanges.copies();
            recording.finish(copies, copies.clock(), Some(EndReason::Stopped));
        }
    }
}

struct Prepared(Arc<Stored>);

impl Sessions for Prepared {
    fn prepare(&self) -> Option<Arc<tap_http::Recording>> {
        Some(Arc::new(tap_http::Recording::new(copies(Clock::start()), Keeper::new().ok()?)))
    }

    fn keep(&self, origin: &str, exchanges: Option<&Arc<tap_http::Recording>>) {
        let Some(exchanges) = exchanges else {
            return say(&format!("too many MCP servers at once: {origin} is not recorded"));
        };
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        // What is no authority has been no address of a server either.
        let named = || host.parse().map_or_else(|_| "server".into(), |authority| name_of_host(&authority));
        let copies = exchanges.copies();
        let name = self.0.name.clone().unwrap_or_else(named);
        let start = session_start(copies.clock(), Transport::Http, name, vec![origin.into()]);
        let recording = Recording::begin(self.0.database.clone(), start, copies.clone());
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).push((recording, exchanges.clone()));
    }
}

/// What has a host go through the proxy and trust it.
fn environment(address: &str, certificate: &Path, bundle: &Path) -> Vec<(&'static str, OsString)> {
    // Node.js takes what is named beside what it trusts itself; to have named another file is to want that too.
    let for_node = if std::env::var_os("NODE_EXTRA_CA_CERTS").is_some() { bundle } else { certificate };
    let mut variables = Vec::new();
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        variables.push((name, address.into()));
    }
    variables.push(("NODE_USE_ENV_PROXY", "1".into()));
    variables.push(("NODE_EXTRA_CA_CERTS", for_node.into()));
    // These replace what the system trusts. Besides what hosts are made with, programs that they start are in it.
    for name in [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "PIP_CERT",
        "AWS_CA_BUNDLE",
    ] {
        variables.push((name, bundle.into()));
    }
    variables.push(("DENO_CERT", certificate.into()));
    variables
}

/// What the user had Node.js trust beside its own authorities.
fn trusted_by_node() -> Option<Vec<u8>> {
    std::env::var_os("NODE_EXTRA_CA_CERTS").and_then(|path| std::fs::read(path).ok())
}

/// The host in what somebody typed for one: a name, with a port, or a whole address.
fn host_in(text: &str) -> String {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split('/').next().unwrap_or_default();
    let host = text.parse::<http::uri::Authority>().map_or_else(|_| text.to_owned(), |parsed| parsed.host().to_owned());
    host.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase()
}

fn worded(told: &Told) -> String {
    match told {
        Told::Refused { host, alert } => {
            let said = alert.as_ref().map_or_else(|| "it left".into(), |alert| format!("it said {alert}"));
            format!(
                "a client does not take our certificate for {host} ({said}): it must be told to trust our authority, \
                 and if it takes certain certificates alone, leave this host out with --tunnel {host}"
            )
        }
        Told::NoCertificate { host, error } => {
            format!("cannot look into what goes to {host}: {error}; leave it out with --tunnel {host}")
        }
    }
}

/// A word as a shell would take it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/:.,_-+@%".contains(&byte)) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_what_people_type() {
        for (typed, host) in [
            ("Example.com", "example.com"),
            ("example.com:443", "example.com"),
            ("https://example.com/mcp", "example.com"),
            ("*.example.com", "example.com"),
            (".example.com", "example.com"),
            ("[::1]:80", "[::1]"),
        ] {
            assert_eq!(host_in(typed), host, "{typed}");
        }
    }

    #[test]
    fn a_shell_takes_a_word_back() {
        for word in ["/a/b.crt", "http://[::1]:80", "a b", "it's", ""] {
            let script = format!("printf %s {}", quoted(word.as_ref()));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
