//! What a file of Rust must start with, must not be, and must not name.

use super::code::{Split, WithoutTests, split, without_tests};
use super::paths::{NamedPath, named_paths};
use super::workspace::SourceFile;
use super::{FAIL_ABOVE_LINES, NOT_SANS_IO_PATHS, Remark, Report, SANS_IO, WARN_ABOVE_LINES};

/// The mark of a reason to sleep, at the end of the line or on the one before.
const SLEEPS_BECAUSE: &str = "// tidy: sleeps because ";

/// A file with its code told from the rest.
struct Parsed<'a> {
    file: &'a SourceFile,
    split: Split,
    without_tests: WithoutTests,
}

/// Checks all files: together, because a test in a file of its own is told by the file that declares it.
pub(super) fn check(files: &[SourceFile], report: &mut Report) {
    let parsed: Vec<Parsed<'_>> = files
        .iter()
        .map(|file| {
            let split = split(&file.text);
            let without_tests = without_tests(&split.code);
            Parsed { file, split, without_tests }
        })
        .collect();
    let tests: Vec<String> = parsed.iter().flat_map(test_files).collect();
    for one in &parsed {
        report.failures.extend(check_header(one.file));
        check_length(one.file, report);
        report.failures.extend(check_marks(one));
        report.failures.extend(check_ignored(one));
        report.failures.extend(check_sleeps(one));
        let is_test = tests.iter().any(|test| one.file.path.starts_with(test));
        if !is_test && crate_of_source(&one.file.path).is_some() {
            report.failures.extend(check_named(one));
        }
    }
}

fn check_header(file: &SourceFile) -> Option<Remark> {
    let header = file.text.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = header.map(str::trim).take_while(|line| !line.is_empty()).collect();
    let is_sentence = paragraph.last().is_some_and(|last| last.ends_with(['.', '!', '?', ':']));
    let wrong = "the file does not start with a `//!` sentence";
    (!is_sentence).then(|| Remark::new(&file.path, 1, wrong, "say in one sentence what it is, with its full stop"))
}

fn check_length(file: &SourceFile, report: &mut Report) {
    let n_lines = file.text.lines().count();
    let remark = |limit| {
        let wrong = format!("{n_lines} lines are more than {limit}");
        Remark::new(&file.path, limit + 1, wrong, "it is two things: make it two files")
    };
    if n_lines > FAIL_ABOVE_LINES {
        report.failures.push(remark(FAIL_ABOVE_LINES));
    } else if n_lines > WARN_ABOVE_LINES {
        report.warnings.push(remark(WARN_ABOVE_LINES));
    }
}

/// Comments that put work off, without an issue to find it by.
fn check_marks(parsed: &Parsed<'_>) -> Vec<Remark> {
    let lines = parsed.split.comments.lines().enumerate();
    lines
        .filter_map(|(index, comment)| {
            let mark = ["TODO", "FIXME"].into_iter().find(|mark| has_word(comment, mark))?;
            let wrong = format!("{mark} without an issue");
            let to_do = format!("do it now, or write {mark}(#N) with the number of its issue");
            (!has_issue(comment)).then(|| Remark::new(&parsed.file.path, index + 1, wrong, to_do))
        })
        .collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').any(|other| other == word)
}

/// Whether `(#N)` is there, with a number for N.
fn has_issue(text: &str) -> bool {
    text.split("(#").skip(1).any(|rest| {
        let n_digits = rest.chars().take_while(char::is_ascii_digit).count();
        n_digits > 0 && rest[n_digits..].starts_with(')')
    })
}

fn check_ignored(parsed: &Parsed<'_>) -> Vec<Remark> {
    let lines = parsed.split.code.lines().enumerate();
    lines
        .filter(|(_, code)| {
            let code: String = code.split_whitespace().collect();
            code.contains("#[ignore]") || code.contains("#[ignore=")
        })
        .map(|(index, _)| {
            Remark::new(&parsed.file.path, index + 1, "an ignored test proves nothing", "repair it, or delete it")
        })
        .collect()
}

fn check_sleeps(parsed: &Parsed<'_>) -> Vec<Remark> {
    let path = &parsed.file.path;
    if !path.starts_with("crates/") && !path.starts_with("tests/") {
        return Vec::new();
    }
    let lines: Vec<&str> = parsed.file.text.lines().collect();
    let sleeps = named_paths(&parsed.split.code).into_iter().filter(|named| named.names(&["thread", "sleep"]));
    sleeps
        .filter(|named| {
            let sleeping_and_before = lines.iter().take(named.line).skip(named.line.saturating_sub(2));
            !sleeping_and_before.into_iter().any(|line| has_reason(line))
        })
        .map(|named| {
            let to_do = format!("wait for the thing itself, or say `{SLEEPS_BECAUSE}…` in the line or before it");
            Remark::new(path, named.line, "a sleep waits too long or not long enough", to_do)
        })
        .collect()
}

fn has_reason(line: &str) -> bool {
    line.split_once(SLEEPS_BECAUSE).is_some_and(|(_, reason)| !reason.trim().is_empty())
}

/// What crates must not name outside their tests.
fn check_named(parsed: &Parsed<'_>) -> Vec<Remark> {
    let path = &parsed.file.path;
    let is_sans_io = crate_of_source(path).is_some_and(|name| SANS_IO.contains(&name));
    let mut failures = Vec::new();
    for named in named_paths(&parsed.without_tests.code) {
        if prints(&named) {
            failures.push(Remark::new(
                path,
                named.line,
                "stdout belongs to the protocol",
                "give the text to the caller; only the tool prints",
            ));
        }
        let forbidden = NOT_SANS_IO_PATHS.iter().filter(|_| is_sans_io).find(|forbidden| named.names(forbidden));
        failures.extend(forbidden.map(|forbidden| {
            Remark::new(
                path,
                named.line,
                format!("this crate does no I/O and has no clock, but names {}", forbidden.join("::")),
                "take what it gives as an argument",
            )
        }));
    }
    failures
}

fn prints(named: &NamedPath) -> bool {
    named.is_macro && named.segments.last().is_some_and(|name| name == "println" || name == "print")
}

/// `tap-frame` for `crates/tap-frame/src/lib.rs`; `None` for what is no source of a crate, as its tests.
fn crate_of_source(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// The beginnings of the paths of the files that hold the tests that this one declares.
fn test_files(parsed: &Parsed<'_>) -> Vec<String> {
    let path = &parsed.file.path;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        other => format!("{folder}/{}", other.trim_end_matches(".rs")),
    };
    let modules = parsed.without_tests.test_modules.iter();
    modules.flat_map(|module| [format!("{folder}/{module}.rs"), format!("{folder}/{module}/")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks files given as path and text; `expected` are beginnings of the failures.
    #[track_caller]
    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: format!("//! A file.\n{text}") })
            .collect();
        let mut report = Report::default();
        check(&files, &mut report);
        let failures: Vec<String> = report.failures.iter().map(Remark::to_string).collect();
        assert_eq!(failures.len(), expected.len(), "{failures:?}");
        for (failure, expected) in failures.iter().zip(expected) {
            assert!(failure.starts_with(expected), "{failure:?} should start with {expected:?}");
        }
    }

    #[track_caller]
    fn check_session(text: &str, expected: &[&str]) {
        check_files(&[("crates/tap-session/src/lib.rs", text)], expected);
    }

    #[test]
    fn a_file_starts_with_a_sentence() {
        for (text, is_fine) in [
            ("//! What it is.\n", true),
            ("//! What it is,\n//! and so on.\n//!\n//! - more\n", true),
            ("//! Methods:\n", true),
            ("", false),
            ("use std::io;\n//! Late.\n", false),
            ("//! No full stop\n", false),
            ("//!\n//! What it is.\n", false),
            ("/// For the first item.\n", false),
            ("\n//! What it is.\n", false),
        ] {
            let file = SourceFile { path: "tools/xtask/src/a.rs".to_owned(), text: text.to_owned() };
            assert_eq!(check_header(&file).is_none(), is_fine, "text: {text:?}");
        }
    }

    #[test]
    fn a_long_file_is_a_warning_and_a_very_long_one_a_failure() {
        for (n_lines, n_warnings, n_failures) in [(500, 0, 0), (501, 1, 0), (1_000, 1, 0), (1_001, 0, 1)] {
            let file = SourceFile { path: "tests/a.rs".to_owned(), text: "\n".repeat(n_lines) };
            let mut report = Report::default();
            check_length(&file, &mut report);
            assert_eq!((report.warnings.len(), report.failures.len()), (n_warnings, n_failures), "{n_lines} lines");
        }
    }

    #[test]
    fn work_put_off_has_an_issue() {
        check_session("// TODO(#12): more\n/// FIXME (#3)\nconst A: &str = \"TODO\"; // TODOS", &[]);
        check_session("// TODO: more", &["crates/tap-session/src/lib.rs:2: TODO without an issue; do it now"]);
        check_session("/* FIXME(#) */\n// TODO #12", &[":", ":"].map(|_| "crates/tap-session/src/lib.rs:"));
    }

    #[test]
    fn no_test_is_ignored() {
        check_session("fn ignore() {} // #[ignore]", &[]);
        check_session(
            "#[ignore]\n#[ ignore = \"slow\" ]",
            &["crates/tap-session/src/lib.rs:2: an", "crates/tap-session/src/lib.rs:3: an"],
        );
    }

    #[test]
    fn a_sleep_has_a_reason() {
        check_session("thread::sleep(a); // tidy: sleeps because the disk is slow", &[]);
        check_session("// tidy: sleeps because the disk is slow\nthread::sleep(a);", &[]);
        check_session(
            "// tidy: sleeps because of this\n\nthread::sleep(a);",
            &["crates/tap-session/src/lib.rs:4: a sleep"],
        );
        check_files(&[("tools/load-client/src/a.rs", "thread::sleep(a);")], &[]);
        check_session("thread::sleep(a); // tidy: sleeps because ", &["crates/tap-session/src/lib.rs:2: a sleep"]);
        let in_test = "#[cfg(test)]\nmod tests {\n    use std::{thread::sleep};\n}";
        check_files(&[("tests/e2e/main.rs", in_test)], &["tests/e2e/main.rs:4: a sleep waits too long"]);
    }

    #[test]
    fn no_crate_prints() {
        check_session("eprintln!(); format!(); // println!()", &[]);
        check_files(&[("tools/xtask/src/a.rs", "println!();"), ("crates/tap-store/tests/a.rs", "println!();")], &[]);
        check_files(
            &[("crates/tap-store/src/a.rs", "std::println!(\"a\");\nprint!();")],
            &["crates/tap-store/src/a.rs:2: stdout belongs", "crates/tap-store/src/a.rs:3: stdout belongs"],
        );
    }

    #[test]
    fn a_crate_without_io_names_no_file_and_no_clock() {
        check_session("use std::{fmt, time::Instant}; fn f(at: Instant) {} // std::fs", &[]);
        check_files(&[("crates/tap-store/src/a.rs", "use std::fs; fn f() { Instant::now() }")], &[]);
        check_session(
            "use std::{io, fs::File};\nfn f() { std::time::SystemTime::now() }",
            &[
                "crates/tap-session/src/lib.rs:2: this crate does no I/O and has no clock, but names std::fs; take",
                "crates/tap-session/src/lib.rs:3: this crate does no I/O and has no clock, but names SystemTime::now; ",
            ],
        );
    }

    #[test]
    fn tests_may_do_what_their_crate_may_not() {
        check_session("#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() { println!(); }\n}", &[]);
        check_files(
            &[
                ("crates/tap-session/src/lib.rs", "#[cfg(test)]\nmod support;\nmod row;"),
                ("crates/tap-session/src/support.rs", "use std::fs;"),
                ("crates/tap-session/src/support/more.rs", "use std::fs;"),
                ("crates/tap-session/src/row.rs", "#[cfg(test)]\nmod tests;"),
                ("crates/tap-session/src/row/tests.rs", "use std::fs;"),
                ("crates/tap-session/src/row/other.rs", "use std::fs;"),
            ],
            &["crates/tap-session/src/row/other.rs:2: this crate does no I/O"],
        );
    }
}
