//! The terminal: taken over, drawn to, and given back whatever happens.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, KeyEventKind,
    KeyModifiers, MouseButton, MouseEventKind,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, raise};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, Terminal};
use tap_inspector::{Effect, Input, Inspector, Key, KeyCode, Mouse, MouseKind};
use tempfile::TempDir;

use super::asked::{Asked, Sources};
use crate::failure::Failure;
use crate::filtering::now_unix_ns;

/// How often time is told.
const TICK: Duration = Duration::from_millis(250);

/// How long the terminal is waited for at a time: as long as it takes at most until somebody else can read it.
const POLL: Duration = Duration::from_millis(50);

/// How long a read that is going on is waited for.
const LAST_READ: Duration = Duration::from_millis(500);

/// How long after a change it is drawn at the latest; what comes meanwhile is drawn with it.
const FRAME: Duration = Duration::from_millis(8);

/// What a terminal takes into the clipboard at once, bytes of base64. More is refused by many.
const CLIPBOARD_BYTES: usize = 74_994;

/// Whether the mouse is ours, or the terminal's to select text with. The terminal is one for all of the program.
static HAS_MOUSE: AtomicBool = AtomicBool::new(true);

/// Runs the inspector on the terminal, and gives back the exit code, and the inspector as it was left.
pub(super) fn run(mut inspector: Inspector, sources: Sources, has_mouse: bool) -> (Result<u8, Failure>, Inspector) {
    HAS_MOUSE.store(has_mouse, Ordering::Relaxed);
    let done = run_on(&mut inspector, sources);
    (done, inspector)
}

fn run_on(inspector: &mut Inspector, sources: Sources) -> Result<u8, Failure> {
    let (to, inputs) = channel();
    let (first, first_at) = (sources.first, sources.first_at);
    // Before any thread is started, so that none of them is ended by these.
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT].into_iter().collect();
    signals.thread_block().map_err(std::io::Error::from)?;
    let stopped = Arc::new(AtomicU8::new(0));
    wait_for_signals(signals, to.clone(), stopped.clone())?;
    let asked = Asked::start(sources, to.clone())?;
    let reader = Reader::start(to.clone())?;
    give_back_on_panic();
    let mut terminal = match take().and_then(|()| Terminal::new(CrosstermBackend::new(std::io::stdout()))) {
        Ok(terminal) => terminal,
        Err(error) => {
            give_back();
            return Err(Failure::new(format!("cannot use the terminal: {error}")));
        }
    };
    let mut screen = Screen { asked, to, inputs, reader, quit: false };
    if let Some(at) = first_at {
        inspector.open_at_message(at);
    }
    let effects = inspector.start_at(first.map(|id| tap_inspector::SessionKey(id.0)));
    let done = screen.carry_out(effects, inspector, &mut terminal).and_then(|()| screen.run(inspector, &mut terminal));
    // What is typed from here on is for whoever has the terminal next.
    screen.reader.pause();
    give_back();
    match stopped.load(Ordering::Relaxed) {
        0 => done.map(|()| 0),
        // The terminal may be gone by then, and that is no failure of ours.
        signal => Ok(128 + signal),
    }
}

fn take() -> std::io::Result<()> {
    enable_raw_mode()?;
    execute!(std::io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if HAS_MOUSE.load(Ordering::Relaxed) {
        execute!(std::io::stdout(), EnableMouseCapture)?;
    }
    Ok(())
}

fn give_back() {
    let _ = execute!(std::io::stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// A fault of ours in the thread that has the terminal leaves it usable, with the message on it. In another thread it is told
/// on the screen by who waits for that.
fn give_back_on_panic() {
    let main = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        if std::thread::current().id() == main {
            give_back();
            before(fault);
        }
    }));
}

/// Has the inspector left in order when somebody wants it to end.
fn wait_for_signals(signals: SigSet, to: Sender<Input>, stopped: Arc<AtomicU8>) -> Result<(), Failure> {
    let body = move || {
        if let Ok(signal) = signals.wait() {
            stopped.store(u8::try_from(signal as i32).unwrap_or(u8::MAX), Ordering::Relaxed);
            have_it_end(&to);
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(body);
    started.map(|_| ()).map_err(|error| Failure::new(format!("cannot start: {error}")))
}

/// Has the inspector left in order.
fn have_it_end(to: &Sender<Input>) {
    // A prompt takes the first for itself.
    for _ in 0..2 {
        let _ = to.send(Input::Key(Key { code: KeyCode::Char('c'), control: true, alt: false }));
    }
}

/// Reads what comes from the terminal, in a thread of its own, except while somebody else does.
struct Reader(Arc<(Mutex<Reading>, Condvar)>);

#[derive(Debug, Default)]
struct Reading {
    /// Somebody else wants to read.
    paused: bool,
    /// The thread reads, or waits for something to read.
    reads: bool,
}

impl Reader {
    fn start(to: Sender<Input>) -> Result<Self, Failure> {
        let shared = Arc::new((Mutex::new(Reading { paused: true, reads: false }), Condvar::new()));
        let body = {
            let shared = shared.clone();
            move || read_events(&shared, &to)
        };
        let started = std::thread::Builder::new().name("terminal".into()).spawn(body);
        started.map(|_| Self(shared)).map_err(|error| Failure::new(format!("cannot start: {error}")))
    }

    /// Returns once nothing is read any more. Where the terminal is gone the thread may never come back from reading.
    fn pause(&self) {
        let (reading, changed) = &*self.0;
        let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
        reading.paused = true;
        drop(changed.wait_timeout_while(reading, LAST_READ, |reading| reading.reads));
    }

    fn go_on(&self) {
        let (reading, changed) = &*self.0;
        reading.lock().unwrap_or_else(PoisonError::into_inner).paused = false;
        changed.notify_all();
    }
}

fn read_events(shared: &(Mutex<Reading>, Condvar), to: &Sender<Input>) {
    let (reading, changed) = shared;
    loop {
        let mut now = reading.lock().unwrap_or_else(PoisonError::into_inner);
        now.reads = false;
        changed.notify_all();
        while now.paused {
            now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        now.reads = true;
        drop(now);
        if !wait_for_input() || !pass_events_on(to) {
            // The terminal is gone, or nobody listens.
            let mut now = reading.lock().unwrap_or_else(PoisonError::into_inner);
            now.reads = false;
            changed.notify_all();
            have_it_end(to);
            return;
        }
    }
}

/// Waits a little for something to read; `false` when the terminal is gone. Whoever reads from one that is gone is told so
/// again and again, and the library that reads never says it.
fn wait_for_input() -> bool {
    let stdin = std::io::stdin();
    let mut waited = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let limit = PollTimeout::try_from(POLL).unwrap_or(PollTimeout::ZERO);
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    match poll(&mut waited, limit) {
        // A signal is what a new size comes with.
        Err(Errno::EINTR) => true,
        Err(_) => false,
        Ok(_) => waited[0].revents().is_none_or(|came| !came.intersects(gone)),
    }
}

/// Passes on all that was read; `false` when there is nothing to read from, or nobody to pass it on to.
fn pass_events_on(to: &Sender<Input>) -> bool {
    loop {
        let event = match crossterm::event::poll(Duration::ZERO) {
            Ok(false) => return true,
            Ok(true) => crossterm::event::read(),
            Err(error) => Err(error),
        };
        let sent = event.is_ok_and(|event| input_of(event).is_none_or(|input| to.send(input).is_ok()));
        if !sent {
            return false;
        }
    }
}

fn input_of(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            use crossterm::event::KeyCode as Theirs;
            let code = match key.code {
                Theirs::Char(c) => KeyCode::Char(c),
                Theirs::Enter => KeyCode::Enter,
                Theirs::Esc => KeyCode::Escape,
                Theirs::Tab => KeyCode::Tab,
                Theirs::BackTab => KeyCode::BackTab,
                Theirs::Backspace => KeyCode::Backspace,
                Theirs::Delete => KeyCode::Delete,
                Theirs::Up => KeyCode::Up,
                Theirs::Down => KeyCode::Down,
                Theirs::Left => KeyCode::Left,
                Theirs::Right => KeyCode::Right,
                Theirs::Home => KeyCode::Home,
                Theirs::End => KeyCode::End,
                Theirs::PageUp => KeyCode::PageUp,
                Theirs::PageDown => KeyCode::PageDown,
                Theirs::F(number) => KeyCode::Function(number),
                _ => return None,
            };
            let held = key.modifiers;
            Some(Input::Key(Key {
                code,
                control: held.contains(KeyModifiers::CONTROL),
                alt: held.contains(KeyModifiers::ALT),
            }))
        }
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(columns, rows) => Some(Input::Resize(columns, rows)),
        Event::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
                MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
                MouseEventKind::ScrollUp => MouseKind::WheelUp,
                MouseEventKind::ScrollDown => MouseKind::WheelDown,
                _ => return None,
            };
            Some(Input::Mouse(Mouse { kind, column: mouse.column, row: mouse.row }))
        }
        _ => None,
    }
}

struct Screen {
    asked: Asked,
    /// Where answers are put.
    to: Sender<Input>,
    inputs: Receiver<Input>,
    reader: Reader,
    quit: bool,
}

impl Screen {
    fn run(&mut self, inspector: &mut Inspector, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        self.reader.go_on();
        self.tell_time(inspector, terminal)?;
        while !self.quit {
            terminal.draw(|frame| inspector.view(frame))?;
            let mut input = match self.inputs.recv_timeout(TICK) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.tell_time(inspector, terminal)?;
            // All that has come meanwhile is drawn at once.
            let began = Instant::now();
            while let Some(this) = input {
                let effects = inspector.update(this);
                self.carry_out(effects, inspector, terminal)?;
                input = if began.elapsed() < FRAME { self.inputs.try_recv().ok() } else { None };
            }
        }
        Ok(())
    }

    fn tell_time(&mut self, inspector: &mut Inspector, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        let effects = inspector.update(Input::Tick(now_unix_ns()));
        self.carry_out(effects, inspector, terminal)
    }

    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        inspector: &mut Inspector,
        terminal: &mut DefaultTerminal,
    ) -> Result<(), Failure> {
        for effect in effects {
            let told = match effect {
                Effect::Ask(ticket, query) => {
                    self.asked.ask(ticket, query);
                    None
                }
                Effect::Cancel(ticket) => {
                    self.asked.withdraw(ticket);
                    None
                }
                Effect::Copy(text) => Some(copy(text.as_bytes())),
                Effect::CopyBytes { bytes, name } => Some(copy_or_write(&bytes, &name)),
                Effect::Write { bytes, name } => Some(write_new(&name, &bytes)),
                Effect::Open { bytes, name, edit } => Some(self.outside(terminal, || open(&bytes, &name, edit))),
                Effect::Edit { ticket, bytes, name } => {
                    let mut edited = None;
                    let told = self.outside(terminal, || {
                        edit(&bytes, &name).map(|bytes| edited = Some(bytes)).map(|()| String::new())
                    });
                    let input = match (edited, &told) {
                        (Some(bytes), _) => Input::Edited(ticket, bytes),
                        (None, Err(why)) => Input::Failed(Some(ticket), why.clone()),
                        (None, Ok(_)) => Input::Failed(Some(ticket), "nothing was edited".into()),
                    };
                    let effects = inspector.update(input);
                    self.carry_out(effects, inspector, terminal)?;
                    Some(told.and(Ok(String::new())).or(Ok(String::new())))
                }
                Effect::Bell => {
                    let mut out = std::io::stdout().lock();
                    // Who does not hear it sees it.
                    let _ = out.write_all(b"\x07").and_then(|()| out.flush());
                    None
                }
                Effect::Demo => {
                    // Those that answered before end with their questions.
                    let sources = Sources::demo()?;
                    let first = sources.first.map(|id| tap_inspector::SessionKey(id.0));
                    self.asked = Asked::start(sources, self.to.clone())?;
                    let effects = inspector.start_anew(first);
                    self.carry_out(effects, inspector, terminal)?;
                    None
                }
                Effect::Suspend => {
                    // Returns when the shell has us go on.
                    let stop = || raise(Signal::SIGTSTP).map(|()| String::new()).map_err(|error| error.to_string());
                    Some(self.outside(terminal, stop))
                }
                Effect::Redraw => {
                    draw_anew(terminal)?;
                    None
                }
                Effect::Quit => {
                    self.quit = true;
                    None
                }
            };
            // While something else had the terminal nobody was told of its size.
            if told.is_some()
                && let Ok(size) = terminal.size()
            {
                let effects = inspector.update(Input::Resize(size.width, size.height));
                self.carry_out(effects, inspector, terminal)?;
            }
            let effects = match told {
                None => Vec::new(),
                Some(Ok(text)) if text.is_empty() => Vec::new(),
                Some(Ok(text)) => inspector.update(Input::Done(text)),
                Some(Err(why)) => inspector.update(Input::Failed(None, why)),
            };
            self.carry_out(effects, inspector, terminal)?;
        }
        Ok(())
    }

    /// Has the terminal given back while something else uses it.
    fn outside(
        &self,
        terminal: &mut DefaultTerminal,
        run: impl FnOnce() -> Result<String, String>,
    ) -> Result<String, String> {
        self.reader.pause();
        give_back();
        let done = run();
        let taken = take().and_then(|()| draw_anew(terminal));
        self.reader.go_on();
        done.and_then(|done| taken.map(|()| done).map_err(|error| error.to_string()))
    }
}

/// Has all of the screen drawn the next time. Not by `clear`, which asks the terminal where its cursor is, and fails where
/// nobody answers.
fn draw_anew(terminal: &mut DefaultTerminal) -> std::io::Result<()> {
    let size = terminal.size()?;
    terminal.resize(Rect::new(0, 0, size.width, size.height))
}

/// Puts a text into the clipboard, by the terminal's own means, which work over a remote connection too.
fn copy(bytes: &[u8]) -> Result<String, String> {
    if is_too_large(bytes) {
        return Err("too large for the clipboard; w writes it to a file".into());
    }
    let encoded = STANDARD.encode(bytes);
    let mut out = std::io::stdout().lock();
    let sent = write!(out, "\x1b]52;c;{encoded}\x07").and_then(|()| out.flush());
    sent.map(|()| "copied".into()).map_err(|error| error.to_string())
}

fn is_too_large(bytes: &[u8]) -> bool {
    CLIPBOARD_BYTES / 4 * 3 < bytes.len()
}

/// Puts bytes into the clipboard, or into a new file where they are too many for that.
fn copy_or_write(bytes: &[u8], name: &str) -> Result<String, String> {
    match is_too_large(bytes) {
        false => copy(bytes),
        true => write_new(name, bytes).map(|written| format!("too large for the clipboard; {written}")),
    }
}

fn write_new(name: &str, bytes: &[u8]) -> Result<String, String> {
    let mut options = std::fs::File::options();
    let mut file = options.write(true).create_new(true).open(name).map_err(|error| format!("{name}: {error}"))?;
    file.write_all(bytes).map_err(|error| format!("{name}: {error}"))?;
    Ok(format!("written to {name}"))
}

/// Shows bytes in the pager or the editor.
fn open(bytes: &[u8], name: &str, edit: bool) -> Result<String, String> {
    let (_folder, path) = file_with(bytes, name)?;
    run_program(&path, edit)
}

/// Has bytes edited, and gives what became of them.
fn edit(bytes: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let (_folder, path) = file_with(bytes, name)?;
    run_program(&path, true)?;
    std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A file with these bytes, in a folder that is there for as long as what is given back.
fn file_with(bytes: &[u8], name: &str) -> Result<(TempDir, PathBuf), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    Ok((folder, path))
}

/// Runs the pager or the editor on a file, until it ends.
fn run_program(path: &Path, edit: bool) -> Result<String, String> {
    let variables: &[&str] = if edit { &["VISUAL", "EDITOR"] } else { &["PAGER"] };
    let command =
        variables.iter().find_map(|name| std::env::var(name).ok().filter(|command| !command.trim().is_empty()));
    let command = command.unwrap_or_else(|| if edit { "vi".into() } else { "less".into() });
    let status = Command::new("sh").arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(String::new()),
        Ok(status) => Err(format!("{command}: {status}")),
        Err(error) => Err(format!("{command}: {error}")),
    }
}
