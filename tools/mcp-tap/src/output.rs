//! Where output goes: colours or none, and a pipe whose reader may have gone.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use crate::arguments::{Global, When};

/// Standard output, with what is known about it.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    colours: bool,
}

/// A style, by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Dim,
    Bold,
    Good,
    Bad,
    Warning,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let out = io::stdout();
        let colours = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb") => false,
            When::Auto => set("CLICOLOR_FORCE") || (out.is_terminal() && !set("CI")),
        };
        Self { out: BufWriter::new(out.lock()), colours }
    }

    /// The text in a style, where there are colours.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.into(),
            Style::Dim => "2",
            Style::Bold => "1",
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Warning => "33",
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
