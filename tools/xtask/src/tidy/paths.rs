//! The paths that code names, with `use` trees written out: `std::{fs, io}` names `std::fs`.

/// One path as the code names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// From 1.
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
    /// Whether `!` follows.
    pub(super) is_macro: bool,
}

impl NamedPath {
    /// Whether these segments are in the path, one after the other.
    pub(super) fn names(&self, segments: &[&str]) -> bool {
        self.segments.windows(segments.len()).any(|window| window == segments)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Separator,
    Other(char),
}

/// All paths of code that has neither comments nor literals.
pub(super) fn named_paths(code: &str) -> Vec<NamedPath> {
    let mut walk = Walk::default();
    for (index, line) in code.lines().enumerate() {
        walk.line = index + 1;
        for token in tokens(line) {
            walk.take(token);
        }
    }
    walk.end_path(false);
    walk.paths
}

#[derive(Default)]
struct Walk {
    line: usize,
    paths: Vec<NamedPath>,
    /// What stands before each open brace: a path in a `use` tree, nothing in a block.
    before_braces: Vec<Vec<String>>,
    current: Vec<String>,
    /// Where the last segment of `current` stands.
    current_line: usize,
    after_separator: bool,
}

impl Walk {
    fn take(&mut self, token: Token) {
        match token {
            Token::Name(name) => {
                if !self.after_separator {
                    self.end_path(false);
                    self.current = self.before_braces.last().cloned().unwrap_or_default();
                }
                self.current.push(name);
                self.current_line = self.line;
                self.after_separator = false;
            }
            Token::Separator => self.after_separator = true,
            Token::Other('{') => {
                let before = if self.after_separator { std::mem::take(&mut self.current) } else { Vec::new() };
                self.end_path(false);
                self.before_braces.push(before);
            }
            Token::Other('}') => {
                self.end_path(false);
                self.before_braces.pop();
            }
            Token::Other(character) => self.end_path(character == '!'),
        }
    }

    fn end_path(&mut self, is_macro: bool) {
        self.after_separator = false;
        if !self.current.is_empty() {
            let segments = std::mem::take(&mut self.current);
            self.paths.push(NamedPath { line: self.current_line, segments, is_macro });
        }
    }
}

/// Spaces end no path: `std :: fs` is one.
fn tokens(line: &str) -> Vec<Token> {
    let characters: Vec<char> = line.chars().collect();
    let is_name = |character: &&char| character.is_alphanumeric() || **character == '_';
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < characters.len() {
        let rest = &characters[at..];
        let n_name = rest.iter().take_while(is_name).count();
        if n_name > 0 {
            tokens.push(Token::Name(rest[..n_name].iter().collect()));
            at += n_name;
            continue;
        }
        match rest {
            [':', ':', ..] => {
                tokens.push(Token::Separator);
                at += 2;
            }
            [space, ..] if space.is_whitespace() => at += 1,
            [other, ..] => {
                tokens.push(Token::Other(*other));
                at += 1;
            }
            [] => break,
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[&str]) {
        let paths: Vec<String> = named_paths(code)
            .iter()
            .map(|path| format!("{}:{}{}", path.line, path.segments.join("::"), if path.is_macro { "!" } else { "" }))
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_path_is_read_as_it_is_written() {
        check("use std::fs;", &["1:use", "1:std::fs"]);
        check("let t = ::std :: time::Instant::now();", &["1:let", "1:t", "1:std::time::Instant::now"]);
        check("std::\n    fs::read(p)", &["2:std::fs::read", "2:p"]);
        check("println!(a)", &["1:println!", "1:a"]);
    }

    #[test]
    fn a_use_tree_is_written_out() {
        check(
            "use std::{\n    fs,\n    io::{self, Read},\n};\nfn main() { fs }",
            &["1:use", "2:std::fs", "3:std::io::self", "3:std::io::Read", "5:fn", "5:main", "5:fs"],
        );
    }

    #[test]
    fn segments_must_follow_each_other() {
        for (path, segments, expected) in [
            ("std::fs::read", &["std", "fs"][..], true),
            ("std::io::fs", &["std", "fs"], false),
            ("tokio::time::Instant::now", &["Instant", "now"], true),
            ("Instant", &["Instant", "now"], false),
        ] {
            assert_eq!(named_paths(path)[0].names(segments), expected, "path: {path}");
        }
    }
}
