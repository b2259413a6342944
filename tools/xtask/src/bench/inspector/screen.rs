//! What a terminal would show: letters in their places, and nothing of colours.

/// A screen, as far as our own program needs one: it puts the cursor somewhere, and writes.
#[derive(Debug)]
pub(super) struct Screen {
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// A sequence that has begun and is not over.
    open: Vec<u8>,
}

impl Screen {
    pub(super) fn new(rows: u16, columns: u16) -> Self {
        Self { cells: vec![vec![' '; columns.into()]; rows.into()], row: 0, column: 0, open: Vec::new() }
    }

    /// Takes what was written. True when a letter was among it: what stays as it is is not written again.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
        let mut changed = false;
        for &byte in bytes {
            self.open.push(byte);
            match &self.open[..] {
                [0x1b] | [0x1b, b'[' | b']'] => {}
                [0x1b, b'[', .., last] if (0x40..0x7f).contains(last) => {
                    self.control();
                    self.open.clear();
                }
                [0x1b, b'[', ..] => {}
                [0x1b, b']', .., last] if *last == 0x07 => self.open.clear(),
                [0x1b, b']', ..] => {}
                [0x1b, _] | [0..0x20] => self.open.clear(),
                letters => match std::str::from_utf8(letters) {
                    Ok(text) => {
                        let letter = text.chars().next();
                        self.open.clear();
                        if let Some(letter) = letter {
                            self.put(letter);
                            changed = true;
                        }
                    }
                    Err(error) if error.error_len().is_some() => self.open.clear(),
                    Err(_) => {}
                },
            }
        }
        changed
    }

    fn put(&mut self, letter: char) {
        if let Some(cell) = self.cells.get_mut(self.row).and_then(|row| row.get_mut(self.column)) {
            *cell = letter;
        }
        self.column += 1;
    }

    fn control(&mut self) {
        let (Some(last), Some(inside)) = (self.open.last(), self.open.get(2..self.open.len() - 1)) else {
            return;
        };
        let text = String::from_utf8_lossy(inside);
        let mut numbers = text.split(';').map(|number| number.parse::<usize>().unwrap_or(1).max(1) - 1);
        match last {
            b'H' => (self.row, self.column) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
            b'J' => self.cells.iter_mut().for_each(|row| row.fill(' ')),
            _ => {}
        }
    }

    /// The lines, from the top.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.cells.iter().map(|row| row.iter().collect())
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.lines().any(|line| line.contains(text))
    }

    /// The line that tells of the session, with its filter.
    pub(super) fn head(&self) -> String {
        self.lines().nth(1).unwrap_or_default()
    }

    /// Whether there are rows of a list of messages: each has an arrow. A message beside it has one too, behind a line.
    pub(super) fn has_rows(&self) -> bool {
        let is_row = |line: String| {
            let list = line.split('│').next().unwrap_or_default();
            list.contains(" -> ") || list.contains(" <- ")
        };
        self.lines().skip(4).any(is_row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_of_a_message_is_no_row_of_the_list() {
        for (line, expected) in [
            ("     1 12:00:00 -> ping   ok     \u{2502} #1 request", true),
            ("  looking                       \u{2502} #1 request -> id 1", false),
        ] {
            let mut screen = Screen::new(6, 60);
            screen.feed(format!("\x1b[6;1H{line}").as_bytes());
            assert_eq!(screen.has_rows(), expected, "{line}");
        }
    }

    #[test]
    fn letters_stand_where_the_cursor_was_put() {
        let mut screen = Screen::new(3, 10);
        let written = "\x1b[?25l\x1b[2;3H\x1b[38;5;1mab\u{2500}\x1b]52;c;aGk=\x07c\x1b[3;1Hx".as_bytes();
        // In pieces of any length.
        assert!(written.chunks(3).fold(false, |changed, piece| screen.feed(piece) | changed));
        assert_eq!(screen.lines().collect::<Vec<_>>(), ["          ", "  ab\u{2500}c    ", "x         "]);
        assert!(screen.has("b\u{2500}c"));
        assert!(!screen.feed(b"\x1b[0m\x1b[1;1H\x1b[2J"));
        assert!(!screen.has("x"));
    }
}
