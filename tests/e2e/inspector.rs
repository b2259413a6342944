//! The inspector in a real pseudo-terminal: what it writes there, what it leaves behind, and who reads the keyboard.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;

use crate::support::{Scratch, TAP, talk, wait_for, wait_until};

/// A terminal of 100 columns and 30 rows with a program on it.
pub(crate) struct Terminal {
    master: File,
    slave: OwnedFd,
    seen: Arc<Mutex<Vec<u8>>>,
    pub(crate) child: Child,
    is_closed: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// `setsid` makes the terminal the controlling one of the program, as it is of what is started in a window.
    pub(crate) fn start(command: &Command) -> Self {
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
        // The end that is the window's is nobody else's.
        fcntl(&master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        let mut started = Command::new("setsid");
        started.arg("--ctty").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => started.env(name, value),
                None => started.env_remove(name),
            };
        }
        started.env("TERM", "xterm-256color");
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = started.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reads, to) = (File::from(master.try_clone().unwrap()), seen.clone());
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = is_closed.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !closed.load(Ordering::Relaxed) {
                match poll(&mut [PollFd::new(reads.as_fd(), PollFlags::POLLIN)], PollTimeout::from(50_u8)) {
                    Ok(0) => continue,
                    Ok(_) => {}
                    Err(_) => return,
                }
                match reads.read(&mut bytes) {
                    Ok(n @ 1..) => to.lock().unwrap().extend_from_slice(&bytes[..n]),
                    _ => return,
                }
            }
        });
        Self { master: File::from(master), slave, seen, child, is_closed, reader }
    }

    /// Closes it, as a window is closed.
    pub(crate) fn close(self) -> Child {
        self.is_closed.store(true, Ordering::Relaxed);
        self.reader.join().unwrap();
        self.child
    }

    pub(crate) fn seen(&self) -> Vec<u8> {
        self.seen.lock().unwrap().clone()
    }

    fn n_seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Waits until something is written behind the first `from` bytes.
    #[track_caller]
    pub(crate) fn wait(&self, from: usize, text: &str) {
        wait_until(&format!("{text:?} is on the terminal"), || has(&self.seen()[from..], text.as_bytes()));
    }

    /// Types, and waits until something is written because of that.
    #[track_caller]
    pub(crate) fn type_for(&mut self, keys: &str, text: &str) {
        let from = self.n_seen();
        self.type_in(keys);
        self.wait(from, text);
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether lines are edited and echoed, as a shell leaves it to programs.
    fn is_cooked(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
    }

    /// That the terminal is as it was: lines, screen, mouse, paste, cursor.
    #[track_caller]
    fn is_given_back(&self) {
        assert!(self.is_cooked(), "lines are edited again");
        let seen = self.seen();
        for (what, on, off) in [
            ("the screen", "\x1b[?1049h", "\x1b[?1049l"),
            ("the mouse", "\x1b[?1000h", "\x1b[?1000l"),
            ("pasting", "\x1b[?2004h", "\x1b[?2004l"),
            ("the cursor", "\x1b[?25l", "\x1b[?25h"),
        ] {
            let last = |text: &str| seen.windows(text.len()).rposition(|window| window == text.as_bytes());
            assert!(last(on).is_some() && last(on) < last(off), "{what} is given back");
        }
    }
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn recording(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(name)
}

#[test]
fn mcp_tap_alone_on_a_terminal_is_the_inspector() {
    let scratch = Scratch::new();
    let imported = talk(scratch.tap(["import", "-q", recording("demo.jsonl").to_str().unwrap()]), b"");
    assert!(imported.status.success());
    let mut terminal = Terminal::start(&scratch.tap::<&str>([]));
    terminal.wait(0, "demo-host");
    terminal.type_for("\r", "cache warmed");
    assert!(!terminal.is_cooked());
    terminal.type_for("j]", "FRM-001");
    terminal.type_in("qq");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    terminal.is_given_back();
}

#[test]
fn what_was_looked_at_and_how_is_remembered_and_the_configuration_is_followed() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    let inspect = || scratch.tap(["inspect", demo.to_str().unwrap()]);
    let mut terminal = Terminal::start(&inspect());
    terminal.wait(0, "demo-host");
    assert!(has(&terminal.seen(), b"\x1b[?1000h"), "the mouse is taken");
    // Pasted, it is drawn at once; letters that are typed may be drawn one by one.
    terminal.type_for("/\x1b[200~is:problem\x1b[201~", "is:problem");
    terminal.type_in("\r");
    terminal.type_for("v", "a row a message");
    terminal.type_for("4", "in flight");
    terminal.type_in("\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    let state = std::fs::read_to_string(scratch.path("state/mcp-tap/inspector.toml")).unwrap();
    for line in ["calls = false", "view = \"state\"", "filters = [\"is:problem\"]"] {
        assert!(state.contains(line), "{line}:\n{state}");
    }
    // The next one begins in the same view, with the same filters to choose from, and with keys of one's own.
    std::fs::create_dir_all(scratch.path("config/mcp-tap")).unwrap();
    let config = "mouse = false\n[keys]\nquit = 'Q'\nmrak = 'x'\n";
    std::fs::write(scratch.path("config/mcp-tap/config.toml"), config).unwrap();
    let mut terminal = Terminal::start(&inspect());
    terminal.wait(0, "in flight");
    terminal.wait(0, "did you mean `mark`?");
    assert!(!has(&terminal.seen(), b"\x1b[?1000h"), "the mouse is left to the terminal");
    terminal.type_for("2/\x1b[A", "is:problem");
    terminal.type_in("\x03Q");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    let shown = talk(scratch.tap(["config", "show"]), b"");
    assert_eq!(shown.status.code(), Some(1));
    let (out, err) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(out.contains("keys.quit") && out.contains("mouse                      false"), "{out}");
    assert!(err.contains("config.toml:4: there is no action `mrak`; did you mean `mark`?"), "{err}");
}

#[test]
fn an_empty_database_tells_how_to_begin_and_a_label_and_a_bookmark_are_names_on_the_command_line() {
    let scratch = Scratch::new();
    let mut terminal = Terminal::start(&scratch.tap::<&str>(["inspect"]));
    terminal.wait(0, "Nothing was recorded yet");
    terminal.type_for("d", "demo-host");
    terminal.type_in("\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    let imported = talk(scratch.tap(["import", "-q", recording("demo.jsonl").to_str().unwrap()]), b"");
    assert!(imported.status.success());
    let mut terminal = Terminal::start(&scratch.tap::<&str>([]));
    terminal.wait(0, "demo-host");
    terminal.type_for("Lbefore-fix\r", "it is @before-fix now");
    terminal.type_for("\r", "cache warmed");
    let said = |arguments: &[&str]| {
        let done = talk(scratch.tap(arguments), b"");
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
    };
    // Only what changes is written to the terminal, so that it is looked for where it is kept.
    terminal.type_in("bhere\r");
    wait_until("the bookmark is kept", || said(&["log", "-s", "last"]).contains("*@here initialize"));
    terminal.type_in(";odd\r");
    wait_until("the note is kept", || said(&["show", "@before-fix:@here"]).contains("odd"));
    terminal.type_in("\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    assert!(said(&["ls"]).contains("@before-fix"), "{}", said(&["ls"]));
    let shown = said(&["show", "@before-fix:@here"]);
    assert!(shown.contains("initialize") && shown.contains("* @here  odd"), "{shown}");
    assert!(said(&["show", "@before-fx:1"]).contains("did you mean `@before-fix`?"));
    assert!(said(&["show", "last:@her"]).contains("did you mean `demo:@here`?"), "{}", said(&["show", "last:@her"]));
}

#[test]
fn no_byte_of_a_recorded_escape_sequence_reaches_the_terminal() {
    let scratch = Scratch::new();
    // In what JSON says, and in bytes that are no JSON.
    let hostile = r"\u001b]0;owned\u0007\u001b[2Jwiped\u001b[6n\u009b31mred\u202etxet\u200bgone\u001b]52;c;aGk=\u0007";
    let raw = "\u{1b}]0;owned\u{7}\u{1b}[2Jwiped\u{1b}[6n\u{9b}31mred\u{202e}txet\u{200b}gone\u{1b}]52;c;aGk=\u{7}";
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"evil{hostile}","arguments":{{"{hostile}":"{hostile}"}}}}}}"#
    );
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"isError":true,"content":[{{"type":"text","text":"{hostile}\nline {hostile}"}}]}}}}"#
    );
    let script = format!("read x; printf '%s\\n' '{raw}' '{answer}'; printf '%s\\n' '{raw}' >&2");
    let talked = talk(scratch.run_sh(&script), format!("{call}\n").as_bytes());
    assert!(talked.status.success());
    let mut terminal = Terminal::start(&scratch.tap(["inspect", "last"]));
    terminal.wait(0, "evil");
    for (keys, shows) in
        [("v", "a row a message"), ("gj", ""), ("\r", ""), ("z", "\\u{1b}[2Jwiped"), ("pp", ""), ("zqj", "")]
    {
        terminal.type_for(keys, shows);
    }
    terminal.type_for("3", "busy");
    terminal.type_for("4", "in flight");
    terminal.type_for("6", "finding");
    terminal.type_for(":quit\r", "\x1b[?1049l");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    let seen = terminal.seen();
    for hostile in ["\x1b]", "\x1b[2Jwiped", "\x1b[6n", "\u{9b}", "\u{202e}", "\u{200b}", "\x07"] {
        assert!(!has(&seen, hostile.as_bytes()), "{hostile:?} reached the terminal");
    }
    terminal.is_given_back();
}

#[test]
fn the_shell_has_the_terminal_while_the_inspector_is_suspended() {
    let scratch = Scratch::new();
    let mut shell = Command::new("sh");
    shell
        .arg("-i")
        .env("TZ", "UTC")
        .env("MCP_TAP_DB", scratch.db())
        .env("XDG_STATE_HOME", scratch.path("state"))
        .env_remove("ENV")
        .env_remove("NO_COLOR");
    let mut terminal = Terminal::start(&shell);
    let start = format!("{TAP} inspect {}\n", recording("demo.jsonl").display());
    terminal.type_for(&start, "cache warmed");
    terminal.type_for("\x1a", "\x1b[?1049l");
    // All of it is the shell's: nobody else takes a letter.
    terminal
        .type_for("echo \"1$((1 + 1))34567890-abcdefghijklmnopqrstuvwxyz\"\n", "1234567890-abcdefghijklmnopqrstuvwxyz");
    terminal.is_given_back();
    terminal.type_for("fg\n", "cache warmed");
    terminal.type_for("]", "FRM-001");
    terminal.type_for(":quit\r", "\x1b[?1049l");
    terminal.type_for("echo \"left $?\"\n", "left 0");
    terminal.type_in("exit\n");
    wait_for(&mut terminal.child);
    terminal.is_given_back();
}

#[test]
fn an_editor_has_the_terminal_while_it_runs() {
    let scratch = Scratch::new();
    let editor = scratch.path("editor");
    let told = scratch.path("told");
    let script = format!("echo READY; read line; echo \"$line\" >{}; cat \"$1\" >>{0}", told.display());
    std::fs::write(&editor, script).unwrap();
    let mut inspect = scratch.tap(["inspect", recording("demo.jsonl").to_str().unwrap()]);
    inspect.env("EDITOR", format!("sh {}", editor.display())).env_remove("VISUAL");
    let mut terminal = Terminal::start(&inspect);
    terminal.wait(0, "cache warmed");
    // The message is there to be edited.
    terminal.wait(0, "clientInfo");
    terminal.type_for("\rE", "READY");
    assert!(terminal.is_cooked());
    terminal.type_for("all of this line is the editor's\n", "weather");
    let text = std::fs::read_to_string(&told).unwrap();
    assert!(text.starts_with("all of this line is the editor's\n{"), "{text}");
    terminal.type_for(":quit\r", "\x1b[?1049l");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    terminal.is_given_back();
}

#[test]
fn the_inspector_ends_when_its_terminal_is_closed() {
    // With a signal, as it is for what was started in a window, and without, as for what the shell was told to keep.
    for ignores in ["", "trap '' HUP; "] {
        for keys in ["", "/is:", "3"] {
            let scratch = Scratch::new();
            let mut shell = Command::new("sh");
            let path = recording("demo.jsonl");
            shell.args(["-c", &format!("{ignores}exec {TAP} inspect {}", path.display())]);
            shell.env("MCP_TAP_DB", scratch.db()).env("XDG_STATE_HOME", scratch.path("state"));
            let mut terminal = Terminal::start(&shell);
            terminal.wait(0, "cache warmed");
            terminal.type_in(keys);
            let mut child = terminal.close();
            wait_for(&mut child);
        }
    }
}

#[test]
fn the_terminal_is_given_back_when_the_inspector_is_told_to_end() {
    let scratch = Scratch::new();
    let mut terminal = Terminal::start(&scratch.tap(["inspect", recording("demo.jsonl").to_str().unwrap()]));
    terminal.type_for("", "cache warmed");
    terminal.type_for("/", "everything");
    kill(Pid::from_raw(terminal.child.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert_eq!(wait_for(&mut terminal.child).code(), Some(143));
    terminal.is_given_back();
}

#[test]
fn a_live_session_is_followed_on_the_screen() {
    let scratch = Scratch::new();
    let mut tap = scratch
        .run_sh("while read line; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; done")
        .spawn()
        .unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"first/method\"}\n").unwrap();
    wait_until("it is recorded", || {
        scratch.db().exists() && scratch.tap(["log"]).output().is_ok_and(|output| has(&output.stdout, b"first/method"))
    });
    let mut terminal = Terminal::start(&scratch.tap(["inspect", "last"]));
    terminal.wait(0, "live, follows");
    let from = terminal.n_seen();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"second/method\"}\n").unwrap();
    terminal.wait(from, "second/method");
    drop(stdin);
    terminal.wait(from, "exited");
    assert!(wait_for(&mut tap).success());
    terminal.type_in(":quit\r");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
}

#[test]
fn figures_of_a_live_session_grow() {
    let scratch = Scratch::new();
    let listed = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"later","inputSchema":{"type":"object"}}]}}"#;
    let mut tap = scratch.run_sh(&format!("while read line; do echo '{listed}'; done")).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"first/method\"}\n").unwrap();
    wait_until("it is recorded", || {
        scratch.db().exists() && scratch.tap(["log"]).output().is_ok_and(|output| has(&output.stdout, b"first/method"))
    });
    let mut terminal = Terminal::start(&scratch.tap(["inspect", "last"]));
    terminal.wait(0, "live, follows");
    terminal.type_for("5", "what the model pays for");
    terminal.wait(0, "latency of");
    let from = terminal.n_seen();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"second/method\"}\n").unwrap();
    terminal.wait(from, "second/method");
    // And what it offers, once it was listed.
    terminal.type_for("8", "nothing was listed");
    let from = terminal.n_seen();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").unwrap();
    terminal.wait(from, "later");
    drop(stdin);
    assert!(wait_for(&mut tap).success());
    terminal.type_in(":quit\r");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let scratch = Scratch::new();
    let output = talk(scratch.tap(["inspect"]), b"");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("needs a terminal") && told.contains("mcp-tap log"), "{told}");
    let output = talk(scratch.tap::<&str>([]), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: mcp-tap"));
}
