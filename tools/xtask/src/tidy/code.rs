//! Telling code from comments and strings, and code from tests, without a parser.
//!
//! Whatever is taken out is replaced by spaces, so that lines keep their numbers.

/// A file's text twice: what is not code, or not a comment, is blank in each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) code: String,
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// Tells code from comments; the inside of a string or character literal is neither.
pub(super) fn split(text: &str) -> Split {
    let text: Vec<char> = text.chars().collect();
    let mut split = Split { code: String::new(), comments: String::new() };
    let mut at = 0;
    while at < text.len() {
        let (part, end) = next_part(&text, at);
        for &character in &text[at..end] {
            let blank = if character == '\n' { '\n' } else { ' ' };
            split.code.push(if part == Part::Code { character } else { blank });
            split.comments.push(if part == Part::Comment { character } else { blank });
        }
        at = end;
    }
    split
}

/// What starts at `at`, and where it ends.
fn next_part(text: &[char], at: usize) -> (Part, usize) {
    let rest = &text[at..];
    match rest {
        ['/', '/', ..] => (Part::Comment, at + length_until(rest, |rest| rest[0] == '\n')),
        ['/', '*', ..] => (Part::Comment, at + block_comment_length(rest)),
        ['"', ..] => (Part::Literal, at + 1 + string_length(&rest[1..], '"')),
        ['r', '"' | '#', ..] if !follows_name(text, at) => match raw_string_length(&rest[1..]) {
            Some(length) => (Part::Literal, at + 1 + length),
            None => (Part::Code, at + 1),
        },
        // A lifetime is no literal: it has no second quote where a character would end.
        ['\'', '\\', ..] => (Part::Literal, at + 1 + string_length(&rest[1..], '\'')),
        ['\'', _, '\'', ..] => (Part::Literal, at + 3),
        _ => (Part::Code, at + 1),
    }
}

/// Whether the character before is part of the same name, as the `r` of `for` is. The prefixes of other literals,
/// `br` and `cr`, are no names.
fn follows_name(text: &[char], at: usize) -> bool {
    let is_name = |character: &char| character.is_alphanumeric() || *character == '_';
    match &text[..at] {
        [.., before, 'b' | 'c'] => is_name(before),
        ['b' | 'c'] | [] => false,
        [.., before] => is_name(before),
    }
}

fn length_until(text: &[char], is_end: impl Fn(&[char]) -> bool) -> usize {
    (0..text.len()).find(|&at| is_end(&text[at..])).unwrap_or(text.len())
}

/// Block comments nest.
fn block_comment_length(text: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match &text[at..] {
            ['/', '*', ..] => {
                depth += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// How long a literal is from after its opening quote to after its closing one.
fn string_length(text: &[char], quote: char) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            character if character == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// How long a raw string is from after its `r`; `None` for a raw name, as `r#type`.
fn raw_string_length(text: &[char]) -> Option<usize> {
    let n_hashes = length_until(text, |rest| rest[0] != '#');
    if text.get(n_hashes) != Some(&'"') {
        return None;
    }
    let is_end = |rest: &[char]| {
        rest[0] == '"' && rest.len() > n_hashes && rest[1..=n_hashes].iter().all(|character| *character == '#')
    };
    let inside = &text[n_hashes + 1..];
    Some((n_hashes + 1 + length_until(inside, is_end) + 1 + n_hashes).min(text.len()))
}

/// A file's code without its tests, and the tests that lie in files of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WithoutTests {
    /// Items under `#[cfg(test)]` are blank.
    pub(super) code: String,
    /// `tests` for `#[cfg(test)] mod tests;`.
    pub(super) test_modules: Vec<String>,
}

/// Takes out the items under `#[cfg(test)]`, or `#[cfg(all(test, ...))]`. `code` has no comments and no literals.
pub(super) fn without_tests(code: &str) -> WithoutTests {
    let mut kept: Vec<char> = code.chars().collect();
    let mut test_modules = Vec::new();
    let mut at = 0;
    while at < kept.len() {
        let Some((attribute, after)) = attribute_at(&kept, at) else {
            at += 1;
            continue;
        };
        if attribute != "cfg(test)" && !attribute.starts_with("cfg(all(test,") {
            at = after;
            continue;
        }
        let end = item_end(&kept, after);
        let item: String = kept[after..end].iter().collect();
        test_modules.extend(module_of(&item));
        for character in &mut kept[at..end] {
            if *character != '\n' {
                *character = ' ';
            }
        }
        at = end;
    }
    WithoutTests { code: kept.into_iter().collect(), test_modules }
}

/// The attribute that starts here, without any space, and where it ends.
fn attribute_at(code: &[char], at: usize) -> Option<(String, usize)> {
    let ['#', '[', ..] = &code[at..] else { return None };
    let inside = &code[at + 2..];
    let mut depth = 1_usize;
    for (length, character) in inside.iter().enumerate() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let attribute = inside[..length].iter().filter(|character| !character.is_whitespace()).collect();
            return Some((attribute, at + 2 + length + 1));
        }
    }
    None
}

/// Where the item that starts at `at` ends: after its block, or its `;`, or before the block around it does.
fn item_end(code: &[char], at: usize) -> usize {
    let (mut brackets, mut braces, mut at) = (0_usize, 0_usize, at);
    while at < code.len() {
        match code[at] {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces == 0 => return at,
            '}' => braces -= 1,
            _ => {}
        }
        let is_end = matches!(code[at], '}' | ';') && brackets == 0 && braces == 0;
        at += 1;
        if is_end {
            return at;
        }
    }
    at
}

/// `tests` for `mod tests;`, with whatever stands before `mod`.
fn module_of(item: &str) -> Option<String> {
    let declaration = item.trim().strip_suffix(';')?;
    let mut words = declaration.split_whitespace().rev();
    let name = words.next()?;
    (words.next()? == "mod").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (text, code, comments) in [
            ("let a = 1; // one", "let a = 1;", "// one"),
            ("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */"),
            ("f(\"// \\\" no\") // yes", "f( )", "// yes"),
            ("r#\"a \" b\"# + 'x'", "+", ""),
            ("br\"\\\" x", "b x", ""),
            ("for \"s\" in r#type", "for in r#type", ""),
            ("&'a str '\\'' '\"' \"", "&'a str", ""),
            ("é // ü\n\"\n\" // z", "é", "// ü // z"),
        ] {
            let split = split(text);
            assert_eq!(
                (words(&split.code), words(&split.comments)),
                (code.to_owned(), comments.to_owned()),
                "text: {text:?}"
            );
            for part in [&split.code, &split.comments] {
                assert_eq!(part.chars().count(), text.chars().count(), "text: {text:?}");
                assert_eq!(part.lines().count(), text.lines().count(), "text: {text:?}");
            }
        }
    }

    #[test]
    fn what_never_ends_ends_with_the_file() {
        for text in ["\"", "'\\", "r#\"", "r##\"\"#", "/* /*", "//", "b'", "r"] {
            let split = split(text);
            assert_eq!(split.code.chars().count(), text.chars().count(), "text: {text:?}");
        }
    }

    #[track_caller]
    fn check_without_tests(code: &str, expected: &str, modules: &[&str]) {
        let without = without_tests(code);
        assert_eq!(without.code.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        assert_eq!(without.test_modules, modules);
        assert_eq!(without.code.lines().count(), code.lines().count());
    }

    #[test]
    fn tests_are_taken_out_and_nothing_else() {
        check_without_tests(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { c(); }\n}\nfn d() {}",
            "fn a() {} fn d() {}",
            &[],
        );
        check_without_tests(
            "#[cfg( test )] #[rustfmt::skip]\nfn a(b: [u8; 3]) -> [u8; 3] { b }\nfn c() {}",
            "fn c() {}",
            &[],
        );
        check_without_tests("#[cfg(all(test, unix))] use a::b; use c;", "use c;", &[]);
        check_without_tests("#[cfg(not(test))] fn a() {}", "#[cfg(not(test))] fn a() {}", &[]);
        check_without_tests("fn a() { #[cfg(test)] b }\nfn c() {}", "fn a() { } fn c() {}", &[]);
    }

    #[test]
    fn tests_in_files_of_their_own_are_told() {
        check_without_tests(
            "#[cfg(test)]\nmod tests;\n#[cfg(test)] pub(crate) mod support;",
            "",
            &["tests", "support"],
        );
    }
}
