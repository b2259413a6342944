//! Colours: by what they mean, never by what they are. Every meaning has a sign of its own too, so that none is needed.

use ratatui::style::{Color, Modifier, Style};

/// Colours of all meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// What went well, and what is live.
    pub good: Style,
    /// What failed.
    pub bad: Style,
    /// What waits, and what is doubtful.
    pub warning: Style,
    /// What is of less interest.
    pub dim: Style,
    /// What is to be seen first.
    pub bold: Style,
    /// Keys of JSON, names of fields.
    pub name: Style,
    /// Strings of JSON.
    pub string: Style,
    /// Numbers and words of JSON.
    pub number: Style,
    /// Where the cursor is, in the pane that has the keys.
    pub cursor: Style,
    /// Where it is in another one.
    pub cursor_elsewhere: Style,
    /// What was looked for.
    pub found: Style,
    /// Lines between panes, and headings.
    pub frame: Style,
}

impl Theme {
    /// The sixteen colours of the terminal.
    #[must_use]
    pub fn terminal() -> Self {
        let colour = |colour| Style::new().fg(colour);
        Self {
            good: colour(Color::Green),
            bad: colour(Color::Red).add_modifier(Modifier::BOLD),
            warning: colour(Color::Yellow),
            dim: colour(Color::DarkGray),
            bold: Style::new().add_modifier(Modifier::BOLD),
            name: colour(Color::Cyan),
            string: colour(Color::Green),
            number: colour(Color::Magenta),
            cursor: Style::new().add_modifier(Modifier::REVERSED),
            cursor_elsewhere: Style::new().add_modifier(Modifier::UNDERLINED),
            found: colour(Color::Black).bg(Color::Yellow),
            frame: colour(Color::Blue),
        }
    }

    /// Blue and orange in place of green and red, which many people cannot tell apart.
    #[must_use]
    pub fn blue_and_orange() -> Self {
        let colour = |colour| Style::new().fg(colour);
        Self {
            good: colour(Color::Indexed(39)),
            bad: colour(Color::Indexed(208)).add_modifier(Modifier::BOLD),
            warning: colour(Color::Indexed(228)),
            string: colour(Color::Indexed(39)),
            number: colour(Color::Indexed(183)),
            ..Self::terminal()
        }
    }

    /// No colours, as `NO_COLOR` asks: weight alone.
    #[must_use]
    pub fn plain() -> Self {
        let nothing = Style::new();
        Self {
            good: nothing,
            bad: nothing.add_modifier(Modifier::BOLD),
            warning: nothing,
            dim: nothing.add_modifier(Modifier::DIM),
            bold: nothing.add_modifier(Modifier::BOLD),
            name: nothing,
            string: nothing,
            number: nothing,
            cursor: nothing.add_modifier(Modifier::REVERSED),
            cursor_elsewhere: nothing.add_modifier(Modifier::UNDERLINED),
            found: nothing.add_modifier(Modifier::BOLD).add_modifier(Modifier::UNDERLINED),
            frame: nothing,
        }
    }

    /// The theme of this name: `terminal`, `blue-and-orange`, `plain`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "terminal" => Some(Self::terminal()),
            "blue-and-orange" => Some(Self::blue_and_orange()),
            "plain" => Some(Self::plain()),
            _ => None,
        }
    }
}
