//! Text for a terminal: what was recorded made safe to show, and figures made short.
//!
//! May know: text. Must not know: anything else. Everything recorded is untrusted, and this is the only way from a recording
//! to a screen, for the command line as for the inspector.
//!
//! Start reading at [`shown`].

use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Makes text safe to print: control, bidirectional and invisible characters become visible escapes. With `lines`,
/// newlines and tabs stay.
#[must_use]
pub fn shown(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if (lines && matches!(character, '\n' | '\t')) || !is_hidden(character) {
            out.push(character);
        } else {
            let _ = write!(out, "\\u{{{:x}}}", character as u32);
        }
    }
    out
}

/// Whether a character acts on the terminal, or cannot be seen, or changes how its neighbours are seen.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Cuts to a width in terminal columns, between characters as people see them, with an ellipsis where something is cut.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    if width == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        if used + grapheme.width() + 1 > width {
            break;
        }
        used += grapheme.width();
        out.push_str(grapheme);
    }
    out.push('…');
    out
}

/// Pads with spaces on the right to a width in terminal columns, after cutting to it.
#[must_use]
pub fn column(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let padding = width.saturating_sub(text.width());
    text + &" ".repeat(padding)
}

/// Breaks a text between words into lines of at most so many columns, each of them indented. What is longer than a line
/// stands on one of its own; without a width, all of it is one line.
#[must_use]
pub fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    let margin = " ".repeat(indent);
    let Some(width) = width else {
        return margin + text;
    };
    let mut out = margin.clone();
    let mut used = indent;
    for word in text.split(' ') {
        let columns = word.width();
        if used > indent && used + 1 + columns > width {
            out.push('\n');
            out.push_str(&margin);
            used = indent;
        } else if used > indent {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += columns;
    }
    out
}

/// `1 error`, `2 errors`.
#[must_use]
pub fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Breaks JSON text into lines, two spaces a level. Only white space between tokens changes: numbers, escapes, the order
/// of keys and duplicates stay as they were written. Text that is no JSON comes out with odd breaks, but whole.
#[must_use]
pub fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let mut characters = json.trim().chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        // An indent that grows with the depth would make a deep message quadratic.
        out.extend(std::iter::repeat_n("  ", depth.min(64)));
    };
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                out.push('"');
                while let Some(character) = characters.next() {
                    out.push(character);
                    match character {
                        '\\' => out.extend(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(character);
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' | '\t' | '\r' | '\n' => {}
            _ => out.push(character),
        }
    }
    out
}

/// A duration for people: three digits and a unit.
#[must_use]
pub fn duration(ns: u64) -> String {
    let scaled = |value: f64, unit: &str| match value {
        v if v < 9.995 => format!("{v:.2} {unit}"),
        v if v < 99.95 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    };
    let ns_f = ns as f64;
    match ns {
        0..=999 => format!("{ns} ns"),
        1_000..=999_499 => scaled(ns_f / 1e3, "µs"),
        999_500..=999_499_999 => scaled(ns_f / 1e6, "ms"),
        999_500_000..=59_999_999_999 => scaled(ns_f / 1e9, "s"),
        _ => {
            let seconds = ns / 1_000_000_000;
            match seconds {
                0..=3_599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
                _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
            }
        }
    }
}

/// A size for people, in powers of 1,000.
#[must_use]
pub fn size(n_bytes: u64) -> String {
    let n = n_bytes as f64;
    match n_bytes {
        0..=999 => format!("{n_bytes} B"),
        1_000..=999_949 => format!("{:.1} kB", n / 1e3),
        999_950..=999_949_999 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.1} GB", n / 1e9),
    }
}

/// Sixteen bytes or fewer as a line of a hex dump: their digits, padded to 49 columns, and their characters.
#[must_use]
pub fn hex(bytes: &[u8]) -> (String, String) {
    let mut digits = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let _ = write!(digits, "{byte:02x}{}", if index == 7 { "  " } else { " " });
    }
    let text = bytes.iter().map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { *byte as char } else { '.' });
    (format!("{digits:<49}"), text.collect())
}

/// `9,995`.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_recorded_can_act_on_the_terminal() {
        for (text, expected) in [
            ("plain é 😀", "plain é 😀"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{202e}b\u{200b}c", "a\\u{202e}b\\u{200b}c"),
            ("a\nb\tc\r", "a\\u{a}b\\u{9}c\\u{d}"),
        ] {
            assert_eq!(shown(text, false), expected);
        }
        assert_eq!(shown("a\nb\tc\r", true), "a\nb\tc\\u{d}");
    }

    #[test]
    fn columns_stay_aligned_with_wide_and_combined_characters() {
        for text in
            ["abc", "日本語日本語", "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "", "🇩🇪🇫🇷🇯🇵"]
        {
            for width in 1..12 {
                assert_eq!(column(text, width).width(), width, "{text} at {width}");
            }
        }
    }

    #[test]
    fn text_is_broken_between_words() {
        for (text, width, expected) in [
            ("one two three", None, "  one two three"),
            ("one two three", Some(80), "  one two three"),
            ("one two three", Some(15), "  one two three"),
            ("one two three", Some(14), "  one two\n  three"),
            ("one two three", Some(1), "  one\n  two\n  three"),
            ("日本 語", Some(6), "  日本\n  語"),
            ("", Some(6), "  "),
        ] {
            assert_eq!(wrapped(text, 2, width), expected, "{text} at {width:?}");
        }
    }

    #[test]
    fn pretty_json_keeps_every_token() {
        let text = r#"{"a":1e400,"a":[ ],"b":{},"c":[1,{"d":"x, {y}: \" z"}],"n":12345678901234567890123}"#;
        let expected = "{\n  \"a\": 1e400,\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"x, {y}: \\\" z\"\n    }\n  ],\n  \"n\": 12345678901234567890123\n}";
        assert_eq!(pretty(text), expected);
    }

    #[test]
    fn figures_are_short_and_have_a_unit() {
        for (ns, expected) in [
            (7, "7 ns"),
            (1_500, "1.50 µs"),
            (12_345_678, "12.3 ms"),
            (999_600, "1.00 ms"),
            (2_000_000_000, "2.00 s"),
            (61_000_000_000, "1m01s"),
            (7_260_000_000_000, "2h01m"),
        ] {
            assert_eq!(duration(ns), expected);
        }
        for (n_bytes, expected) in
            [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (999_999, "1.0 MB"), (5_300_000_000, "5.3 GB")]
        {
            assert_eq!(size(n_bytes), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_shown_without_controls_and_cut_to_any_width(text in any::<String>(), width in 1usize..90) {
            let safe = shown(&text, false);
            prop_assert!(!safe.chars().any(char::is_control));
            prop_assert_eq!(column(&safe, width).width(), width);
        }

        #[test]
        fn wrapping_changes_white_space_alone(text in "([a-z日]{0,9} ?){0,20}", width in 1usize..40) {
            let strip = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let lines = wrapped(&text, 3, Some(width));
            prop_assert_eq!(strip(&lines), strip(&text));
            for line in lines.lines() {
                prop_assert!(line.width() <= width || !line.trim().contains(' '), "{}", line);
            }
        }

        #[test]
        fn pretty_changes_white_space_alone(text in r#"([{}\[\],:"\\ a1]|\\PC){0,60}"#) {
            let strip = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(strip(&pretty(&text)), strip(&text));
        }
    }
}
