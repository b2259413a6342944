//! The shape of an error: its words, without what differs from call to call, so that the same error is counted as one.

use std::fmt::Write;

/// How much of an error is looked at, bytes.
const LOOKED_AT: usize = 240;

/// What stands for what differs: the marks around its name.
const MARKS: [char; 2] = ['«', '»'];

/// What stands for a break of lines and the blanks around it.
const BREAK: &str = "⏎";

/// What ends a word, as blanks do.
const ENDS: [char; 13] = ['"', '\'', '`', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>'];

/// The words of an error, with `«text»` for what was quoted, `«path»`, `«url»`, `«id»` and `«n»`.
pub(super) fn of(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let (mut out, mut rest) = (String::new(), text.trim());
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if c.is_whitespace() {
            let blanks = rest.len() - rest.trim_start().len();
            out.push_str(if &rest[..blanks] == " " { " " } else { BREAK });
            rest = &rest[blanks..];
        } else if let Some((quoted, after)) = quoted(c, behind, out.chars().last()) {
            let _ = write!(out, "«{quoted}»");
            rest = after;
        } else if c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '\\') {
            let ends = rest.find(|c: char| c.is_whitespace() || ENDS.contains(&c)).unwrap_or(rest.len());
            // An address may hold what ends a name.
            let is_address = rest[..ends].contains("://");
            let ends = rest[..ends].find('=').filter(|_| !is_address).unwrap_or(ends);
            let (word, after) = rest.split_at(ends);
            let core = word.trim_end_matches(['.', ':', '!', '?']);
            out.push_str(&word_of(core));
            out.push_str(&word[core.len()..]);
            rest = after;
        } else {
            out.push(c);
            rest = behind;
        }
    }
    out
}

/// What a quotation stands for, and what is behind it. A quotation mark inside a word begins none.
fn quoted(c: char, behind: &str, before: Option<char>) -> Option<(&'static str, &str)> {
    if !matches!(c, '"' | '\'' | '`') || before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let (inside, after) = behind.split_once(c)?;
    let ends = after.chars().next().is_none_or(|c| !c.is_alphanumeric());
    (ends && !inside.is_empty()).then_some(("text", after))
}

fn word_of(word: &str) -> String {
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let is_path = word.starts_with('/') || word.starts_with("~/") || word.starts_with("./") || word.starts_with("../");
    let is_id =
        has_digit && word.len() >= 8 && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if word.contains("://") {
        "«url»".into()
    } else if is_path && word.len() > 1 || word.contains(":\\") {
        "«path»".into()
    } else if is_id {
        "«id»".into()
    } else if has_digit {
        // Digits that a word holds: `HTTP404`, `line:12`, `1.5`.
        let (mut out, mut in_number) = (String::new(), false);
        for c in word.chars() {
            let goes_on = c.is_ascii_digit() || in_number && c == '.';
            match (goes_on, in_number) {
                (true, false) => out.push_str("«n»"),
                (true, true) => {}
                (false, _) => out.push(c),
            }
            in_number = goes_on;
        }
        out
    } else {
        word.into()
    }
}

/// The longest words of a shape that stand together as they were, if there are any worth looking for.
pub(super) fn words(shape: &str) -> Option<&str> {
    let mut pieces = Vec::new();
    for (index, piece) in shape.split(MARKS).enumerate() {
        // Every other one is the name of what differs.
        if index % 2 == 0 {
            pieces.extend(piece.split(BREAK).map(|piece| piece.trim_matches(|c: char| !c.is_alphanumeric())));
        }
    }
    pieces.into_iter().filter(|piece| piece.chars().count() >= 3).max_by_key(|piece| piece.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_from_call_to_call_is_left_out() {
        for (text, expected, found) in [
            ("no tool \"forecsat\"", "no tool «text»", "no tool"),
            ("no tool 'a b', try again", "no tool «text», try again", "try again"),
            ("can't open it", "can't open it", "can't open it"),
            (
                "Access denied - path outside allowed directories: /etc/passwd not in /home/me/src",
                "Access denied - path outside allowed directories: «path» not in «path»",
                "Access denied - path outside allowed directories",
            ),
            ("HTTP404 at https://a.b/c?d=1, line 12.", "HTTP«n» at «url», line «n».", "line"),
            ("took 1.5s (limit=30)", "took «n»s (limit=«n»)", "s (limit"),
            ("no session 3f2a9c1e-77", "no session «id»", "no session"),
            ("first line\n  second line", "first line⏎second line", "second line"),
            ("C:\\temp\\a is gone", "«path» is gone", "is gone"),
            ("and/or either", "and/or either", "and/or either"),
        ] {
            assert_eq!(of(text), expected, "{text}");
            assert_eq!(words(expected), Some(found), "{text}");
            assert!(text.contains(found), "{text}");
        }
        assert_eq!(of(""), "");
        assert_eq!(words("«n»: «text»"), None);
    }

    proptest! {
        /// What is looked for was there, whatever an error says that does not hold the marks itself.
        #[test]
        fn words_that_are_looked_for_were_there(text in "[ a-z0-9/:.'\"\\n,(-]{0,80}|\\PC{0,60}") {
            prop_assume!(!text.contains(['«', '»', '⏎']));
            if let Some(found) = words(&of(&text)) {
                prop_assert!(text.contains(found), "{found}");
            }
        }
    }
}
