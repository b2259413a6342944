//! What differs of one line, laid out in lines of a pane.

use tap_compare::{DriftClass, Piece, PieceOf, compare_lines};
use tap_text::{cut, shown};
use unicode_width::UnicodeWidthStr;

use super::{ComparePlace, Layout, LineDifferences};

/// Lines that are laid out at most.
const LINES: usize = 2_000;

/// A line of the pane. What is in it is safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// Where it differs, and how.
    Place(String, Option<DriftClass>),
    /// A and B beside each other.
    Beside(String, String),
    /// Of A, of B, or of both.
    Only(PieceOf, String),
    /// Words of one line.
    Words(Vec<Piece>),
    Rule(String),
    Note(String),
}

/// What differs of a line, laid out.
#[derive(Debug)]
pub(crate) struct Laid {
    /// Of which line.
    pub(crate) of: usize,
    found: LineDifferences,
    width: usize,
    layout: Layout,
    /// Each with the place that it is of.
    lines: Vec<(Option<usize>, DiffLine)>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
}

impl Laid {
    pub(crate) fn new(of: usize, found: LineDifferences) -> Self {
        Self { of, found, width: 0, layout: Layout::Side, lines: Vec::new(), cursor: 0, top: 0 }
    }

    pub(crate) fn lines(&self) -> &[(Option<usize>, DiffLine)] {
        &self.lines
    }

    /// The place that the cursor is on, or the first.
    pub(crate) fn place(&self) -> Option<&ComparePlace> {
        let index = self.lines.get(self.cursor).and_then(|line| line.0).unwrap_or(0);
        self.found.places.get(index)
    }

    pub(super) fn fit(&mut self, height: usize, width: usize, layout: Layout) {
        if self.width != width || self.layout != layout {
            let here = self.lines.get(self.cursor).and_then(|line| line.0);
            (self.width, self.layout) = (width, layout);
            self.lay_out();
            // The cursor stays on its place.
            let same = here.and_then(|here| self.lines.iter().position(|line| line.0 == Some(here)));
            self.cursor = same.unwrap_or(0);
        }
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
    }

    fn lay_out(&mut self) {
        let mut lines = Vec::new();
        for (index, place) in self.found.places.iter().enumerate() {
            if lines.len() > LINES {
                break;
            }
            let path = if place.path.is_empty() { String::new() } else { format!("{}  ", shown(&place.path, false)) };
            let title = format!("{path}{}", shown(&place.words, false));
            lines.push((Some(index), DiffLine::Place(title, place.class)));
            values(place, self.layout, self.width.saturating_sub(2), &mut |line| lines.push((Some(index), line)));
            let ignore = place.ignore.as_deref().and_then(crate::detail::shell_word);
            let ignore = ignore.map(|path| format!("--ignore {path}"));
            let rules: Vec<String> = place.rules.iter().map(|rule| (*rule).to_owned()).chain(ignore).collect();
            if !rules.is_empty() {
                let text = format!("accepted by  {}", rules.join("  or  "));
                let folded = folded(&text, self.width.saturating_sub(3));
                lines.extend(folded.into_iter().map(|text| (Some(index), DiffLine::Rule(text))));
            }
        }
        lines.truncate(LINES);
        let n_more = self.found.n_places.saturating_sub(self.found.places.len());
        let more = (n_more > 0).then(|| format!("… and {} more", tap_text::thousands(n_more as u64)));
        let hidden = (self.found.n_hidden > 0).then(|| {
            let n = self.found.n_hidden as u64;
            let names: Vec<String> = self.found.hidden.iter().map(|(path, why)| format!("{path} ({why})")).collect();
            let dots = if self.found.n_hidden > names.len() { ", …" } else { "" };
            format!("hidden: {}: {}{dots}", tap_text::counted(n, "value"), names.join(", "))
        });
        let notes = more.into_iter().chain(hidden).chain(self.found.notes.iter().cloned());
        for note in notes {
            let note = shown(&note, false);
            let folded = folded(&note, self.width.saturating_sub(2));
            lines.extend(folded.into_iter().map(|text| (None, DiffLine::Note(text))));
        }
        if lines.is_empty() {
            lines.push((None, DiffLine::Note("no difference".into())));
        }
        self.lines = lines;
    }
}

fn values(place: &ComparePlace, layout: Layout, width: usize, put: &mut impl FnMut(DiffLine)) {
    let [a, b] = &place.values;
    match (layout, a, b) {
        (_, None, None) => {}
        (Layout::Words, Some(_), Some(_)) if !place.pieces.is_empty() => {
            for words in words(&place.pieces, width) {
                put(DiffLine::Words(words));
            }
        }
        (Layout::Unified, Some(a), Some(b)) if a.contains('\n') || b.contains('\n') => match compare_lines(a, b) {
            Some(pieces) => {
                for piece in pieces {
                    for text in folded_all(&piece.text, width.saturating_sub(2)) {
                        put(DiffLine::Only(piece.of, text));
                    }
                }
            }
            None => over(Some(a), Some(b), width, put),
        },
        // Beside each other only what is in both.
        (Layout::Side, Some(a), Some(b)) if width >= 24 => {
            let room = beside_width(width);
            let (a, b) = (folded_all(a, room), folded_all(b, room));
            for index in 0..a.len().max(b.len()) {
                let of = |lines: &[String]| lines.get(index).cloned().unwrap_or_default();
                put(DiffLine::Beside(of(&a), of(&b)));
            }
        }
        (_, a, b) => over(a.as_deref(), b.as_deref(), width, put),
    }
}

/// How wide each of two values is that stand beside each other.
pub(crate) fn beside_width(width: usize) -> usize {
    (width.saturating_sub(3) / 2).max(8)
}

fn over(a: Option<&str>, b: Option<&str>, width: usize, put: &mut impl FnMut(DiffLine)) {
    for (of, value) in [(PieceOf::A, a), (PieceOf::B, b)] {
        for text in value.into_iter().flat_map(|value| folded_all(value, width.saturating_sub(2))) {
            put(DiffLine::Only(of, text));
        }
    }
}

/// Lines of a text, made safe, and broken where they are too long.
fn folded_all(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| folded(&shown(line, false), width)).take(LINES).collect()
}

/// A text broken into lines of at most so many columns.
fn folded(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let (mut lines, mut rest) = (Vec::new(), text);
    while rest.width() > width && lines.len() < LINES {
        let head = head(rest, width);
        // Between words, where that does not waste half a line.
        let at = rest[..head].rfind(' ').map(|at| at + 1).filter(|at| *at > head / 2).unwrap_or(head);
        lines.push(rest[..at].trim_end().to_owned());
        rest = &rest[at..];
    }
    lines.push(rest.to_owned());
    lines
}

/// How many bytes of a text fit into so many columns; at least one character.
fn head(text: &str, width: usize) -> usize {
    // What is cut has a column of its own for the sign of that.
    let whole = cut(text, width + 1);
    let start = if whole == text { cut(text, width) } else { whole };
    let fits = start.strip_suffix('…').map_or(start.len(), str::len);
    match text.get(..fits) {
        Some(start) if fits > 0 && start.width() <= width => fits,
        _ => text.chars().next().map_or(text.len(), char::len_utf8),
    }
}

/// Pieces broken into lines; each piece of one line is whole or a part of one.
fn words(pieces: &[Piece], width: usize) -> Vec<Vec<Piece>> {
    let width = width.max(12);
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        // Signs stand around what is only in one.
        let signs = if piece.of == PieceOf::Both { 0 } else { 4 };
        for (n, text) in piece.text.split('\n').enumerate() {
            if n > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            let text = shown(text, false);
            let mut rest = text.as_str();
            while !rest.is_empty() && lines.len() < LINES {
                let room = width.saturating_sub(used + signs);
                if room < 4 && used > 0 {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                    continue;
                }
                let mut fits = if rest.width() <= room { rest.len() } else { head(rest, room) };
                if fits < rest.len() {
                    // Between words, where there are some.
                    fits = rest[..fits].rfind(' ').map_or(fits, |at| at + 1);
                }
                let (text, behind) = rest.split_at(fits);
                used += text.width() + signs;
                line.push(Piece { of: piece.of, text: text.to_owned() });
                rest = behind;
                if !rest.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
            }
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_is_broken_between_words_and_within_long_ones() {
        for (text, expected) in [
            ("short", &["short"][..]),
            ("one two three four", &["one two", "three", "four"]),
            ("0123456789abc", &["01234567", "89abc"]),
            ("abcdef gh", &["abcdef", "gh"]),
            ("012345 89", &["012345", "89"]),
            ("012345678", &["0123456", "78"]),
            ("日本語日本語", &["日本語日", "本語"]),
            ("", &[""]),
        ] {
            assert_eq!(folded(text, 8), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_of_a_text_is_lost_or_wider_than_its_line(
            texts in prop::collection::vec("[a-z 日\u{301}\n]{0,30}", 0..6),
            width in 0_usize..40,
        ) {
            let of = [PieceOf::Both, PieceOf::A, PieceOf::B];
            let piece = |(n, text): (usize, &String)| Piece { of: of[n % 3], text: text.clone() };
            let pieces: Vec<Piece> = texts.iter().enumerate().map(piece).collect();
            let lines = words(&pieces, width);
            let joined = lines.iter().flatten().map(|piece| piece.text.clone()).collect::<String>();
            prop_assert_eq!(joined, texts.concat().replace('\n', ""));
            for line in &lines {
                let signs = line.iter().filter(|piece| piece.of != PieceOf::Both).count() * 4;
                let columns = line.iter().map(|piece| piece.text.width()).sum::<usize>();
                prop_assert!(columns + signs <= width.max(12), "{:?}", line);
            }
            for text in &texts {
                let without = |text: &str| text.replace([' ', '\n'], "");
                let lines = folded_all(text, width);
                prop_assert_eq!(without(&lines.concat()), without(text));
                prop_assert!(lines.iter().all(|line| line.width() <= width.max(8)), "{:?}", lines);
            }
        }
    }
}
