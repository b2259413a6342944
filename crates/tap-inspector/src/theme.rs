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

    /// What the meanings are called, of which [`set`](Self::set) sets the style.
    pub const MEANINGS: [&'static str; 11] =
        ["good", "bad", "warning", "dim", "bold", "name", "string", "number", "cursor", "cursor-elsewhere", "frame"];

    /// Sets the style of a meaning: `bold red`, `underlined`, `39` for the colour with that number, `plain`.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn set(&mut self, meaning: &str, style: &str) -> Result<(), String> {
        let place = match meaning {
            "good" => &mut self.good,
            "bad" => &mut self.bad,
            "warning" => &mut self.warning,
            "dim" => &mut self.dim,
            "bold" => &mut self.bold,
            "name" => &mut self.name,
            "string" => &mut self.string,
            "number" => &mut self.number,
            "cursor" => &mut self.cursor,
            "cursor-elsewhere" => &mut self.cursor_elsewhere,
            "frame" => &mut self.frame,
            _ => return Err(format!("nothing has the meaning `{meaning}`")),
        };
        let mut new = Style::new();
        for word in style.split_whitespace() {
            new = match word {
                "plain" => new,
                "bold" => new.add_modifier(Modifier::BOLD),
                "dim" => new.add_modifier(Modifier::DIM),
                "italic" => new.add_modifier(Modifier::ITALIC),
                "underlined" => new.add_modifier(Modifier::UNDERLINED),
                "reverse" => new.add_modifier(Modifier::REVERSED),
                word => match word.parse::<Color>() {
                    Ok(colour) => new.fg(colour),
                    Err(_) => {
                        return Err(format!(
                            "`{word}` is no colour: red, lightblue, #ff8700, 0 to 255; bold, dim, italic, underlined, reverse, plain"
                        ));
                    }
                },
            };
        }
        *place = new;
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_set_by_their_words() {
        let mut theme = Theme::plain();
        for (style, expected) in [
            ("bold red", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)),
            ("208", Style::new().fg(Color::Indexed(208))),
            ("#ff8700 underlined", Style::new().fg(Color::Rgb(255, 135, 0)).add_modifier(Modifier::UNDERLINED)),
            ("plain", Style::new()),
        ] {
            theme.set("bad", style).unwrap();
            assert_eq!(theme.bad, expected, "{style}");
        }
        for meaning in Theme::MEANINGS {
            theme.set(meaning, "red").unwrap();
        }
        assert!(theme.set("bat", "red").unwrap_err().contains("`bat`"));
        assert!(theme.set("bad", "redd").unwrap_err().contains("`redd` is no colour"));
    }
}
