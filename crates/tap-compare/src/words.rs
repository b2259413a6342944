//! Two texts, word by word or line by line.

use similar::{ChangeTag, TextDiff};

/// Longer texts are not compared word by word, bytes of both.
const WORDS_LIMIT_BYTES: usize = 16 * 1024;

/// Longer texts are not compared line by line.
const LINES_LIMIT: usize = 4_000;

/// A piece of one text or of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Whose it is.
    pub of: PieceOf,
    /// The text.
    pub text: String,
}

/// Whose a [`Piece`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PieceOf {
    /// In both.
    Both,
    /// Only in A.
    A,
    /// Only in B.
    B,
}

/// Two texts, word by word: pieces in order, neighbours of one kind together. `None` where they are too long for that.
#[must_use]
pub fn compare_words(a: &str, b: &str) -> Option<Vec<Piece>> {
    (a.len() + b.len() <= WORDS_LIMIT_BYTES).then(|| {
        let difference = TextDiff::from_words(a, b);
        joined(difference.iter_all_changes().map(|change| (change.tag(), change.value())))
    })
}

/// Two texts, line by line: a piece a line, with its end of line. `None` where they have too many lines for that.
#[must_use]
pub fn compare_lines(a: &str, b: &str) -> Option<Vec<Piece>> {
    (a.lines().count() + b.lines().count() <= LINES_LIMIT).then(|| {
        let difference = TextDiff::from_lines(a, b);
        let changes = difference.iter_all_changes();
        changes.map(|change| Piece { of: of(change.tag()), text: change.value().to_owned() }).collect()
    })
}

fn of(tag: ChangeTag) -> PieceOf {
    match tag {
        ChangeTag::Equal => PieceOf::Both,
        ChangeTag::Delete => PieceOf::A,
        ChangeTag::Insert => PieceOf::B,
    }
}

fn joined<'a>(changes: impl Iterator<Item = (ChangeTag, &'a str)>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (tag, text) in changes {
        match pieces.last_mut().filter(|piece| piece.of == of(tag)) {
            Some(piece) => piece.text.push_str(text),
            None => pieces.push(Piece { of: of(tag), text: text.to_owned() }),
        }
    }
    pieces
}
