//! What comes in: keys, the mouse, the size of the terminal, time, and answers.

use crate::effect::{Answer, Ticket};

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(Mouse),
    /// The terminal has this size now, columns and rows.
    Resize(u16, u16),
    /// Time goes on: nanoseconds since the Unix epoch.
    Tick(u64),
    /// A question was answered, perhaps in part.
    Answer(Ticket, Answer),
    /// What was asked for outside could not be done.
    Failed(Option<Ticket>, String),
    /// Something was edited, by the ticket of [`Effect::Edit`](crate::Effect::Edit).
    Edited(Ticket, Vec<u8>),
    /// Something was done outside that is worth a word, such as a copy.
    Done(String),
}

/// A key as it was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which one.
    pub code: KeyCode,
    /// With Control held.
    pub control: bool,
    /// With Alt held.
    pub alt: bool,
}

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of keys say what they are")]
pub enum KeyCode {
    Char(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Function(u8),
}

impl Key {
    /// A key without anything held.
    #[must_use]
    pub fn plain(code: KeyCode) -> Self {
        Self { code, control: false, alt: false }
    }

    /// What it is called in the table of keys: `j`, `ctrl-d`, `enter`.
    #[must_use]
    pub fn name(self) -> String {
        let code = match self.code {
            KeyCode::Char(' ') => "space".into(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Enter => "enter".into(),
            KeyCode::Escape => "esc".into(),
            KeyCode::Tab => "tab".into(),
            KeyCode::BackTab => "backtab".into(),
            KeyCode::Backspace => "backspace".into(),
            KeyCode::Delete => "del".into(),
            KeyCode::Up => "up".into(),
            KeyCode::Down => "down".into(),
            KeyCode::Left => "left".into(),
            KeyCode::Right => "right".into(),
            KeyCode::Home => "home".into(),
            KeyCode::End => "end".into(),
            KeyCode::PageUp => "pgup".into(),
            KeyCode::PageDown => "pgdn".into(),
            KeyCode::Function(number) => format!("f{number}"),
        };
        format!("{}{}{code}", if self.control { "ctrl-" } else { "" }, if self.alt { "alt-" } else { "" })
    }

    /// The key with this [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (control, name) = name.strip_prefix("ctrl-").map_or((false, name), |rest| (true, rest));
        let (alt, name) = name.strip_prefix("alt-").map_or((false, name), |rest| (true, rest));
        let code = match name {
            "space" => KeyCode::Char(' '),
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Escape,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "backspace" => KeyCode::Backspace,
            "del" => KeyCode::Delete,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            _ => {
                let mut chars = name.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => KeyCode::Char(c),
                    (Some('f'), Some(_)) => KeyCode::Function(name.get(1..)?.parse().ok()?),
                    _ => return None,
                }
            }
        };
        Some(Self { code, control, alt })
    }
}

/// What the mouse did, and where: columns and rows from the top left corner, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What.
    pub kind: MouseKind,
    /// Column.
    pub column: u16,
    /// Row.
    pub row: u16,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button was pressed.
    Press,
    /// It was moved with the left button held.
    Drag,
    /// The wheel was turned away from the person.
    WheelUp,
    /// The wheel was turned towards the person.
    WheelDown,
}
