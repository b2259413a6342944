//! Where output goes: colours or none, a pager or none, and a pipe whose reader may have gone.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::arguments::{Global, When};
use crate::failure::Failure;
use crate::new_file::NewFile;
use crate::text::is_hidden;

/// What shows long output on a terminal when `PAGER` names nothing: goes away by itself when it fits on the screen.
const PAGER: &str = "less";
const PAGER_ARGUMENTS: [&str; 1] = ["-FRX"];

/// Standard output or a file, with what is known about it.
pub(crate) struct Output {
    /// `None` once the pager's input was closed.
    out: Option<BufWriter<Box<dyn Write>>>,
    pager: Option<Child>,
    file: Option<NewFile>,
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
    /// Output for a program, for a file, or for a person who watches it come.
    pub(crate) fn new(global: &Global) -> Self {
        Self::on(Box::new(io::stdout().lock()), None, global)
    }

    /// Output into a file: without colours. It is there once the output is [finished](Self::finish).
    pub(crate) fn file(file: NewFile) -> Result<Self, Failure> {
        Ok(Self { out: Some(BufWriter::new(Box::new(file.writer()?))), pager: None, file: Some(file), colours: false })
    }

    /// Output for something else in the program: without colours, and as wide as it gets.
    pub(crate) fn plain(out: Box<dyn Write>) -> Self {
        Self { out: Some(BufWriter::new(out)), pager: None, file: None, colours: false }
    }

    /// Sends off everything; a file takes its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.file.take().map_or(Ok(()), NewFile::finish)
    }

    /// Output for a person to read at leisure: through a pager on a terminal.
    pub(crate) fn paged(global: &Global) -> Self {
        let wanted = io::stdout().is_terminal() && !global.no_pager && std::env::var_os("CI").is_none();
        let command = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
        let started = wanted.then(|| {
            // The default one is started without a shell, so that it is noticed when it is not there.
            let (program, arguments) = match &command {
                Some(command) => ("sh", vec!["-c", command]),
                None => (PAGER, PAGER_ARGUMENTS.to_vec()),
            };
            Command::new(program).args(arguments).stdin(Stdio::piped()).spawn()
        });
        match started {
            Some(Ok(mut pager)) => match pager.stdin.take() {
                Some(stdin) => Self::on(Box::new(stdin), Some(pager), global),
                None => Self::new(global),
            },
            Some(Err(_)) | None => Self::new(global),
        }
    }

    fn on(out: Box<dyn Write>, pager: Option<Child>, global: &Global) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb") => false,
            When::Auto => set("CLICOLOR_FORCE") || (io::stdout().is_terminal() && !set("CI")),
        };
        Self { out: Some(BufWriter::new(out)), pager, file: None, colours }
    }

    /// How many columns there are, where output goes to a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        if self.file.is_some() {
            return None;
        }
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0))
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

impl Output {
    /// A line of JSON.
    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        let text = value.to_string();
        writeln!(self, "{}", visible(&text))
    }

    /// A line of JSON with messages in it as they were written: on a terminal they are made [visible], elsewhere not a byte
    /// of them is another.
    pub(crate) fn json_with_verbatim(&mut self, json: &str) -> io::Result<()> {
        if self.file.is_some() || !io::stdout().is_terminal() {
            return writeln!(self, "{json}");
        }
        // Between tokens it means nothing, and on a terminal it leads back to where the line began.
        let json = json.replace('\r', " ");
        writeln!(self, "{}", visible(&json))
    }
}

/// JSON that means the same and cannot act on a terminal: what would, or cannot be seen, is written as an escape. Outside of
/// strings there is no such character, but for line ends.
pub(crate) fn visible(json: &str) -> Cow<'_, str> {
    // Others that act are escaped in all JSON.
    let acts = |character: char| character >= '\x7f' && is_hidden(character);
    if !json.contains(acts) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if acts(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out.into()
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Err(io::ErrorKind::BrokenPipe.into()), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    /// Lets the pager have its end of input, and waits until the person has left it.
    fn drop(&mut self) {
        let _ = self.flush();
        self.out = None;
        if let Some(pager) = &mut self.pager {
            let _ = pager.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_does_not_act_on_a_terminal() {
        for (json, expected) in [
            (r#"{"plain":"é 😀 \u001b"}"#, r#"{"plain":"é 😀 \u001b"}"#),
            ("[\"\u{9b}2J\",\n1]", "[\"\\u009b2J\",\n1]"),
            ("{\"\u{202e}k\u{7f}\":\"\u{61c}\u{200b}\"}", "{\"\\u202ek\\u007f\":\"\\u061c\\u200b\"}"),
            // Beyond 16 bits an escape is a pair; behind an escaped backslash it is one all the same.
            ("\"\u{e0041}\"", "\"\\udb40\\udc41\""),
            ("\"\\\\\u{85}\"", "\"\\\\\\u0085\""),
        ] {
            assert_eq!(visible(json), expected);
            let read = |json: &str| serde_json::from_str::<Value>(json).unwrap();
            assert_eq!(read(json), read(expected));
        }
    }
}
