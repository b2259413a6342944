//! The recordings in `recordings/`: each is played to the client that made it, which sees what it sees live, and held
//! against the server that it was made of, which has not changed.
//!
//! `MCP_TAP_RECORDINGS=1 cargo test -p mcp-tap --test e2e recordings` makes all of them anew. `recordings/conversations.rs` says
//! which there are.
//!
//! Hosts are too large to be fetched by a test. Where `MCP_TAP_HOSTS` names the folder that they are installed in, they play
//! as well; elsewhere what they have recorded is only held against the server.

mod conversations;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::http_peers::programs::{Server, Tap};
use crate::peers;
use crate::support::{Scratch, TAP, talk};
use conversations::{Conversation, Over};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings")
}

/// A program of ours: the folder that it lies in, and its words from there.
struct Program {
    folder: PathBuf,
    words: Vec<OsString>,
}

impl Program {
    /// The program that a line such as `node server1.mjs stdio` means, or nothing where the test has to be skipped.
    fn find(test: &str, line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ').unwrap();
        // Of what is found by its folder: the script and its arguments.
        let words = rest.split(' ').map(OsString::from);
        let begin = |folder: &Path, interpreter: &str| Self {
            folder: folder.into(),
            words: [OsString::from(interpreter)].into_iter().chain(words.clone()).collect(),
        };
        Some(match kind {
            "node" => begin(peers::node(test)?.folder(), "node"),
            "python" => begin(peers::python(test)?.folder(), "bin/python"),
            "python1" => begin(peers::python1(test)?.folder(), "bin/python"),
            "agent" => begin(peers::agent(test)?.folder(), "bin/python"),
            // The host itself is named in the script.
            "host" => Self { folder: std::env::temp_dir(), words: peers::node(test)?.script("host.mjs", &[]) },
            "rust" => Self { folder: std::env::temp_dir(), words: peers::rust(test)?.program(rest) },
            "tap" => begin(Path::new(TAP).parent().unwrap(), "./mcp-tap"),
            _ => panic!("nobody knows what {line} is"),
        })
    }

    /// The words, to be run from anywhere.
    fn absolute(&self) -> Vec<OsString> {
        let words = self.words.iter().map(|word| match self.folder.join(word) {
            path if path.is_file() => path.into(),
            _ => word.clone(),
        });
        words.collect()
    }
}

/// A conversation with what it needs.
struct Peers {
    test: &'static Conversation,
    client: Vec<OsString>,
    server: Program,
}

impl Peers {
    fn find(test: &'static Conversation) -> Option<Self> {
        let name = format!("recording {}", test.file);
        let client = Program::find(&name, test.client)?.absolute();
        Some(Self { test, client, server: Program::find(&name, test.server)? })
    }

    /// What the client prints that talks to a server, which is started by it or is there already.
    #[track_caller]
    fn seen(&self, scratch: &Scratch, server: &[OsString]) -> Vec<String> {
        let script_path = scratch.path("script.json");
        let mut script = (self.test.script)();
        if self.test.over == Over::Sse {
            script["transport"] = "sse".into();
        }
        fs::write(&script_path, script.to_string()).unwrap();
        let mut command = Command::new(&self.client[0]);
        // The server's words are from its folder, so that no folder is in the recording.
        command.args(&self.client[1..]).arg(script_path).args(server).env_remove("CI").current_dir(&self.server.folder);
        let output = talk(command, b"");
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: the client gave up: {stderr}\n{stdout}", self.test.file);
        let lines = stdout.lines().map(str::to_owned);
        if self.test.over == Over::Stdio {
            return lines.collect();
        }
        // Of several streams it is not said which brings its message first: the steps are in order, and the rest is there.
        let (steps, mut others): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains("\"step\""));
        others.sort_unstable();
        [steps, others].concat()
    }

    /// What the client prints that talks to the real server, with a tap between if there are words for one.
    #[track_caller]
    fn live(&self, scratch: &Scratch, is_recorded: bool) -> Vec<String> {
        match self.test.over {
            Over::Stdio => {
                let name = self.test.name();
                let tap = [TAP.into(), "--db".into(), scratch.db().into(), "run".into(), "--name".into(), name.into()];
                let tap = tap.into_iter().chain(["--".into()]).filter(|_| is_recorded);
                self.seen(scratch, &tap.chain(self.server.words.iter().cloned()).collect::<Vec<_>>())
            }
            Over::Http | Over::Sse => {
                let server = Server::start(&self.server.absolute());
                let origin = format!("http://{}", server.address);
                let path = self.test.path();
                if !is_recorded {
                    return self.seen(scratch, &[format!("{origin}{path}").into()]);
                }
                let listen = ["proxy", "--listen", "127.0.0.1:0", "--name", self.test.name()];
                let tap = Tap::start(scratch.tap(listen.into_iter().chain([&*origin])));
                let lines = self.seen(scratch, &[format!("http://{}{path}", tap.address()).into()]);
                tap.stop();
                lines
            }
        }
    }

    /// What the client prints that talks to the recording, and what the playback reports.
    #[track_caller]
    fn played(&self, scratch: &Scratch, file: &Path) -> Vec<String> {
        let file = file.to_str().unwrap();
        match self.test.over {
            Over::Stdio => {
                let report_path = scratch.path("report.json");
                let replay = [TAP.into(), "--db".into(), scratch.db().into(), "replay".into(), file.into()];
                let report: [OsString; 2] = ["--report".into(), report_path.clone().into()];
                let lines = self.seen(scratch, &[&replay[..], &report].concat());
                let report = match fs::read(&report_path) {
                    Ok(report) => serde_json::from_slice::<Value>(&report).unwrap(),
                    // It kills its servers, and what the model was told has to do.
                    Err(_) if self.test.is_of_host() => return lines,
                    Err(error) => panic!("{file}: no report: {error}"),
                };
                assert_eq!((&report["misses"], &report["unused"]), (&json!([]), &json!([])), "{file}");
                lines
            }
            Over::Http | Over::Sse => {
                let report_path = scratch.path("report.json");
                let report = ["--report", report_path.to_str().unwrap(), "--http", "127.0.0.1:0"];
                let served = Tap::start(scratch.tap(["replay", file].iter().chain(&report)));
                let path = if self.test.over == Over::Sse { "/sse" } else { "/mcp" };
                let lines = self.seen(scratch, &[format!("http://{}{path}", served.address()).into()]);
                served.stop();
                let report: Value = serde_json::from_slice(&fs::read(&report_path).unwrap()).unwrap();
                if !self.test.is_of_host() {
                    assert_eq!((&report["misses"], &report["unused"]), (&json!([]), &json!([])), "{file}");
                    assert!(report["sessions"].as_u64() >= Some(1), "{report:#}");
                }
                lines
            }
        }
    }

    /// Holds the recording against the real server.
    #[track_caller]
    fn verify(&self, scratch: &Scratch, file: &Path) {
        let words = [OsString::from("verify"), file.into(), "--update".into(), "never".into()];
        let verified = |more: &[OsString]| {
            let mut command = scratch.tap(words.iter().chain(more));
            command.current_dir(&self.server.folder);
            talk(command, b"")
        };
        let output = match self.test.over {
            Over::Stdio => verified(&[&["--".into()], &self.server.words[..]].concat()),
            Over::Http | Over::Sse => {
                let server = Server::start(&self.server.absolute());
                let url = format!("http://{}{}", server.address, self.test.path());
                verified(&["--url".into(), url.into(), "--allow-mutations".into()])
            }
        };
        assert_code(&output, 0, &format!("verify {}", file.display()));
    }
}

/// A recording of a server over HTTP, without the port that the system chose.
fn without_port(recording: &str) -> String {
    let origin = "http://127.0.0.1:";
    let port = recording.split_once(origin).map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    match port.flatten() {
        Some(port) => recording.replace(&format!("{origin}{port}/"), "http://127.0.0.1:8000/"),
        None => recording.to_owned(),
    }
}

#[track_caller]
fn assert_code(output: &Output, code: i32, what: &str) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{what}: {stdout}\n{stderr}");
}

/// Makes a recording anew where that is wanted, then plays it and holds it against the server.
#[track_caller]
fn check(file: &str) {
    let test = conversations::ALL.iter().find(|test| test.file == file).unwrap();
    let Some(peers) = Peers::find(test) else {
        return;
    };
    let scratch = Scratch::new();
    let recording = folder().join(file);
    if std::env::var_os("MCP_TAP_RECORDINGS").is_some_and(|value| value == "1") {
        peers.live(&scratch, true);
        let path = recording.to_str().unwrap();
        let output = scratch.tap(["export", "last", "-o", path]).output().unwrap();
        assert_code(&output, 0, "export");
        fs::write(&recording, without_port(&fs::read_to_string(&recording).unwrap())).unwrap();
    }
    if test.is_of_host() && std::env::var_os("MCP_TAP_HOSTS").is_none() {
        return peers.verify(&scratch, &recording);
    }
    let live = peers.live(&scratch, false);
    let played = peers.played(&scratch, &recording);
    for (index, (live, played)) in live.iter().zip(&played).enumerate() {
        assert_eq!(played, live, "line {index} of what the client shows with {file}");
    }
    assert_eq!(played.len(), live.len(), "{file}: {:?}", played.last());
    peers.verify(&scratch, &recording);
}

/// A test for each, so that they run side by side and one that fails is told by its name.
macro_rules! recordings {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[test]
            fn $name() {
                check($file);
            }
        )*

        #[test]
        fn each_recording_is_tested_told_and_has_no_secret() {
            let tested = [$($file),*];
            let listed: Vec<&str> = conversations::ALL.iter().map(|test| test.file).collect();
            assert_eq!(tested.as_slice(), listed);
            let told = fs::read_to_string(folder().join("README.md")).unwrap();
            let there = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
            let there: Vec<PathBuf> = there.filter(|path| path.extension().is_some_and(|end| end == "mcprec")).collect();
            for path in &there {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(told.contains(&format!("| `{name}` |")), "{name} is not in recordings/README.md");
                assert!(listed.contains(&name), "{name} is not made by a test");
            }
            assert!(tested.iter().all(|file| there.iter().any(|path| path.ends_with(file))), "{there:?}");
            let scratch = Scratch::new();
            let words = [OsString::from("redact"), "--check".into()];
            let checked = scratch.tap(words.into_iter().chain(there.into_iter().map(OsString::from))).output().unwrap();
            assert_code(&checked, 0, "redact --check");
        }
    };
}

recordings! {
    typescript1_on_stdio: "typescript1.mcprec",
    typescript1_over_http: "typescript1-http.mcprec",
    typescript1_over_sse: "typescript1-sse.mcprec",
    typescript2_on_stdio: "typescript2.mcprec",
    typescript2_over_http: "typescript2-http.mcprec",
    python_on_stdio: "python.mcprec",
    python_on_stdio_in_the_legacy_era: "python-legacy.mcprec",
    python_that_falls_back: "python-falls-back.mcprec",
    python1_on_stdio: "python1.mcprec",
    python1_over_http: "python1-http.mcprec",
    rust_over_http: "rust-http.mcprec",
    rust_over_http_in_the_legacy_era: "rust-http-legacy.mcprec",
    the_bundled_server: "demo-server.mcprec",
    pydantic_ai_on_stdio: "pydantic-ai.mcprec",
    pydantic_ai_over_http: "pydantic-ai-http.mcprec",
    codex: "codex.mcprec",
    claude_code: "claude-code.mcprec",
    opencode_over_http: "opencode-http.mcprec",
}
