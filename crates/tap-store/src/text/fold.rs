//! Folding: JSON broken over lines between its tokens, and back to the bytes that it was.
//!
//! A value that fits on its line stays there; one that does not has its members and elements on lines of their own, one
//! space further in. Reading takes away the white space between tokens, so only what was written without any, or with
//! one space behind each colon and comma, can be folded. Nothing here recurses.

/// Containers deeper than this are not broken further: each level costs a space on every line.
const DEPTH: usize = 64;

/// The white space between the tokens of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// None.
    Compact,
    /// One space behind each colon and comma, as Python writes it.
    Spaced,
}

impl Style {
    /// The style in which valid JSON was written; `None` where it is another one.
    ///
    /// What has neither colon nor comma is compact.
    pub(super) fn of(json: &str) -> Option<Self> {
        let (mut compact, mut spaced) = (true, true);
        let mut may_have_space = false;
        let mut tokens = Tokens::new(json);
        for token in tokens.by_ref() {
            let is_spaced = token.space == " ";
            compact &= token.space.is_empty();
            spaced &= if may_have_space { is_spaced } else { token.space.is_empty() };
            may_have_space = matches!(token.text, "," | ":");
        }
        match (compact, spaced && tokens.rest().is_empty()) {
            _ if !tokens.rest().is_empty() => None,
            (true, _) => Some(Self::Compact),
            (false, true) => Some(Self::Spaced),
            (false, false) => None,
        }
    }
}

/// Takes away the white space between the tokens of valid JSON, and puts in that of the style.
pub(super) fn unfold(json: &str, style: Style) -> String {
    let mut out = String::with_capacity(json.len());
    for token in Tokens::new(json) {
        out.push_str(token.text);
        if style == Style::Spaced && matches!(token.text, "," | ":") {
            out.push(' ');
        }
    }
    out
}

/// How many columns a text takes; wide characters count as one, as they do in `wc -m`.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Writes valid JSON to `out`, broken where it does not fit in `width` columns. `column` is where it begins, `tail` how many
/// columns follow it on its last line, `indent` the level of what is inside.
pub(super) fn fold(out: &mut String, json: &str, width: usize, column: usize, indent: usize, tail: usize) {
    if column + columns(json) + tail <= width {
        out.push_str(json);
        return;
    }
    let sizes = Sizes::of(json);
    let mut open: Vec<Open> = Vec::new();
    let mut column = column;
    let mut tokens = Tokens::new(json);
    let mut n_containers = 0;
    while let Some(token) = tokens.next() {
        match token.text {
            "{" | "[" => {
                let size = sizes.0.get(n_containers).copied().unwrap_or_default();
                n_containers += 1;
                // A comma or a bracket comes behind it.
                let behind = if open.is_empty() { tail } else { 1 };
                let fits = column + size.columns + behind <= width;
                if fits || size.is_empty || DEPTH <= indent + open.len() {
                    let (inside, rest) = tokens.inside(size.n_bytes);
                    out.push_str(token.text);
                    out.push_str(inside);
                    column += size.columns;
                    tokens = rest;
                    n_containers += size.n_inside;
                } else {
                    out.push_str(token.text);
                    open.push(Open { is_filled: size.is_numbers });
                    column = new_line(out, indent + open.len() - 1);
                }
            }
            "}" | "]" => {
                open.pop();
                column = new_line(out, (indent + open.len()).saturating_sub(1));
                out.push_str(token.text);
                column += 1;
            }
            "," => {
                out.push(',');
                column += 1;
                let next = tokens.clone().next().map_or(0, |next| next.text.len());
                match open.last() {
                    // Numbers stand in rows.
                    Some(Open { is_filled: true }) if column + next < width => {}
                    _ => column = new_line(out, indent + open.len().saturating_sub(1)),
                }
            }
            ":" => {
                out.push(':');
                column += 1;
                // As it was written: the space goes with the style when it is read.
                let space = tokens.clone().next().map_or("", |next| next.space);
                out.push_str(space);
                column += space.len();
            }
            scalar => {
                out.push_str(scalar);
                column += columns(scalar);
            }
        }
    }
}

fn new_line(out: &mut String, level: usize) -> usize {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', level));
    level
}

struct Open {
    is_filled: bool,
}

/// How large a container is.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    n_bytes: usize,
    columns: usize,
    /// How many containers are inside.
    n_inside: usize,
    is_empty: bool,
    /// An array of nothing but numbers.
    is_numbers: bool,
}

/// The sizes of all containers in the order in which they begin.
struct Sizes(Vec<Size>);

impl Sizes {
    fn of(json: &str) -> Self {
        let mut sizes: Vec<Size> = Vec::new();
        // Which one, and where it began in bytes and columns.
        let mut open: Vec<(usize, usize, usize)> = Vec::new();
        let (mut at, mut column) = (0, 0);
        for token in Tokens::new(json) {
            at += token.space.len();
            column += token.space.len();
            match token.text {
                "{" | "[" => {
                    if let Some((outer, ..)) = open.last() {
                        sizes[*outer].is_numbers = false;
                        sizes[*outer].is_empty = false;
                    }
                    open.push((sizes.len(), at, column));
                    sizes.push(Size { is_empty: true, is_numbers: token.text == "[", ..Size::default() });
                }
                "}" | "]" => {
                    if let Some((this, began_at, began_column)) = open.pop() {
                        let n_inside = sizes.len() - this - 1;
                        let size = &mut sizes[this];
                        (size.n_bytes, size.columns) = (at + 1 - began_at, column + 1 - began_column);
                        size.n_inside = n_inside;
                    }
                }
                "," | ":" => {}
                scalar => {
                    if let Some((outer, ..)) = open.last() {
                        sizes[*outer].is_empty = false;
                        sizes[*outer].is_numbers &= scalar.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                    }
                }
            }
            at += token.text.len();
            column += columns(token.text);
        }
        Self(sizes)
    }
}

/// A token, and the white space before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    space: &'a str,
    text: &'a str,
}

/// The tokens of valid JSON. Of anything else there are some, too.
#[derive(Debug, Clone)]
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn new(json: &'a str) -> Self {
        Self(json)
    }

    /// What is left when there are no more tokens: white space.
    fn rest(&self) -> &'a str {
        self.0
    }

    /// What is left of a container whose bracket was the newest token, and what comes behind it.
    fn inside(&self, n_bytes: usize) -> (&'a str, Self) {
        let inside = n_bytes.saturating_sub(1).min(self.0.len());
        (self.0.get(..inside).unwrap_or_default(), Self(self.0.get(inside..).unwrap_or_default()))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let text = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
        let n_space = self.0.len() - text.len();
        let length = match text.as_bytes().first()? {
            b'"' => string_length(text.as_bytes()),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => {
                let ends = |byte: u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"') || byte <= b' ';
                text.bytes().skip(1).position(ends).map_or(text.len(), |length| length + 1)
            }
        };
        let token = Token { space: self.0.get(..n_space)?, text: text.get(..length)? };
        self.0 = text.get(length..)?;
        Some(token)
    }
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|ahead| memchr::memchr2(b'"', b'\\', ahead)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}
