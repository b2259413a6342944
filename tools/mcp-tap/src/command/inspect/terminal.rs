//! The terminal: taken over, drawn to, and given back whatever happens.

use std::io::Write;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, KeyEventKind,
    KeyModifiers, MouseButton, MouseEventKind,
};
use crossterm::execute;
use tap_inspector::{Effect, Input, Inspector, Key, KeyCode, Mouse, MouseKind};

use super::asked::{Asked, Sources};
use crate::failure::Failure;

/// How often time is told.
const TICK: Duration = Duration::from_millis(250);

/// How long after a change it is drawn at the latest; what comes meanwhile is drawn with it.
const FRAME: Duration = Duration::from_millis(8);

/// What a terminal takes into the clipboard at once, bytes of base64. More is refused by many.
const CLIPBOARD_BYTES: usize = 74_994;

/// Runs the inspector on the terminal.
pub(super) fn run(mut inspector: Inspector, sources: Sources, opens: bool) -> Result<u8, Failure> {
    let (to, inputs) = channel();
    let first = sources.first.filter(|_| opens);
    let asked = Asked::start(sources, to.clone())?;
    let mut terminal = ratatui::init();
    take();
    let done = read_events(to).and_then(|()| {
        let mut screen = Screen { asked, inputs, quit: false };
        let effects = inspector.start_at(first.map(|id| tap_inspector::SessionKey(id.0)));
        screen.carry_out(effects, &mut inspector, &mut terminal)?;
        screen.run(&mut inspector, &mut terminal)
    });
    give_back();
    ratatui::restore();
    done.map(|()| 0)
}

fn take() {
    let _ = execute!(std::io::stdout(), EnableMouseCapture, EnableBracketedPaste);
}

fn give_back() {
    let _ = execute!(std::io::stdout(), DisableMouseCapture, DisableBracketedPaste);
}

/// Reads what comes from the terminal in a thread of its own.
fn read_events(to: Sender<Input>) -> Result<(), Failure> {
    let body = move || {
        while let Ok(event) = crossterm::event::read() {
            if let Some(input) = input_of(event)
                && to.send(input).is_err()
            {
                return;
            }
        }
    };
    let started = std::thread::Builder::new().name("terminal".into()).spawn(body);
    started.map(|_| ()).map_err(|error| Failure::new(format!("cannot start: {error}")))
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
    inputs: Receiver<Input>,
    quit: bool,
}

impl Screen {
    fn run(&mut self, inspector: &mut Inspector, terminal: &mut ratatui::DefaultTerminal) -> Result<(), Failure> {
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

    fn tell_time(&mut self, inspector: &mut Inspector, terminal: &mut ratatui::DefaultTerminal) -> Result<(), Failure> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let effects = inspector.update(Input::Tick(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)));
        self.carry_out(effects, inspector, terminal)
    }

    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        inspector: &mut Inspector,
        terminal: &mut ratatui::DefaultTerminal,
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
                Effect::Copy(text) => Some(copy(&text)),
                Effect::Write { bytes, name } => Some(write_new(&name, &bytes)),
                Effect::Open { bytes, name, edit } => Some(outside(terminal, |_| open(&bytes, &name, edit))),
                Effect::Suspend => {
                    let _ = outside(terminal, |_| {
                        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP)
                            .map(|()| String::new())
                            .map_err(|error| error.to_string())
                    });
                    None
                }
                Effect::Redraw => {
                    terminal.clear()?;
                    None
                }
                Effect::Quit => {
                    self.quit = true;
                    None
                }
            };
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
}

/// Has the terminal given back while something else uses it.
fn outside(
    terminal: &mut ratatui::DefaultTerminal,
    run: impl FnOnce(&mut ratatui::DefaultTerminal) -> Result<String, String>,
) -> Result<String, String> {
    give_back();
    ratatui::restore();
    let done = run(terminal);
    *terminal = ratatui::init();
    take();
    let _ = terminal.clear();
    done
}

/// Puts a text into the clipboard, by the terminal's own means, which work over a remote connection too.
fn copy(text: &str) -> Result<String, String> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > CLIPBOARD_BYTES {
        return Err("too large for the clipboard; w writes it to a file".into());
    }
    let mut out = std::io::stdout().lock();
    let sent = write!(out, "\x1b]52;c;{encoded}\x07").and_then(|()| out.flush());
    sent.map(|()| "copied".into()).map_err(|error| error.to_string())
}

fn write_new(name: &str, bytes: &[u8]) -> Result<String, String> {
    let mut options = std::fs::File::options();
    let mut file = options.write(true).create_new(true).open(name).map_err(|error| format!("{name}: {error}"))?;
    file.write_all(bytes).map_err(|error| format!("{name}: {error}"))?;
    Ok(format!("written to {name}"))
}

/// Shows bytes in the pager or the editor.
fn open(bytes: &[u8], name: &str, edit: bool) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let variables: &[&str] = if edit { &["VISUAL", "EDITOR"] } else { &["PAGER"] };
    let command =
        variables.iter().find_map(|name| std::env::var(name).ok().filter(|command| !command.trim().is_empty()));
    let command = command.unwrap_or_else(|| if edit { "vi".into() } else { "less".into() });
    let status = Command::new("sh").arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(&path).status();
    match status {
        Ok(status) if status.success() => Ok(String::new()),
        Ok(status) => Err(format!("{command}: {status}")),
        Err(error) => Err(format!("{command}: {error}")),
    }
}
