//! Every command line that the documentation shows is one that is understood.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::Value;

use super::Arguments;

/// The pages: the README, and all in the folder of the documentation.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// Command lines of a page, each with its line: those in blocks of code, and those in a sentence.
///
/// Those in a sentence may leave something out: `mcp-tap diff` is what a command is called.
fn command_lines(text: &str) -> Vec<(usize, Vec<String>, bool)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            found.extend(words(line.trim_start().trim_start_matches("$ ")).map(|words| (index + 1, words, true)));
            found.extend(configured(line).map(|words| (index + 1, words, true)));
        } else {
            // Every other part between backticks is code. One that shows a form, and not a command, is passed over.
            for code in line.split('`').skip(1).step_by(2).filter(|code| !code.contains(['[', '…'])) {
                found.extend(words(code).map(|words| (index + 1, words, false)));
                found.extend(configured(code).map(|words| (index + 1, words, true)));
            }
        }
    }
    found
}

/// The words of a command line of ours, as a shell has them: up to a comment, a pipe, or two spaces, behind which it is explained.
fn words(line: &str) -> Option<Vec<String>> {
    let assigned =
        line.split(' ').take_while(|word| word.contains('=') && word.starts_with(char::is_uppercase)).count();
    let line = line.splitn(assigned + 1, ' ').last()?;
    if !(line == "mcp-tap" || line.starts_with("mcp-tap ")) {
        return None;
    }
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, quote) {
            (end, Some(open)) if end == open => quote = None,
            (other, Some(_)) => word.get_or_insert_default().push(other),
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            ('|' | '>' | ';' | '&' | '#', None) if word.is_none() => break,
            (' ', None) => {
                words.extend(word.take());
                if characters.peek().is_none_or(|next| *next == ' ') {
                    break;
                }
            }
            (other, None) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

/// The command line in a piece of a host's configuration.
fn configured(line: &str) -> Option<Vec<String>> {
    let (start, end) = (line.find('{')?, line.rfind('}')?);
    let value: Value = serde_json::from_str(line.get(start..=end)?).ok()?;
    let command = value["command"].as_str().filter(|command| command.ends_with("mcp-tap"))?;
    let arguments = value["args"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(std::iter::once(command.to_owned()).chain(arguments).collect())
}

#[test]
fn every_command_line_in_the_documentation_is_understood() {
    let (mut n_lines, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, words, is_whole) in command_lines(&text) {
            n_lines += 1;
            if let Err(error) = Arguments::try_parse_from(&words) {
                let told = error.to_string();
                let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
                let lacks_something = matches!(
                    error.kind(),
                    ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                ) || told.contains("a value is required");
                let names_something = words.iter().any(|word| ["COMMAND", "RULE"].contains(&word.as_str()));
                if is_help || (!is_whole && (lacks_something || names_something)) {
                    continue;
                }
                let name = page.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{name}:{line}: {}: {}", words.join(" "), told.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    // So that it is noticed when none are found any more.
    assert!(n_lines > 100, "{n_lines}");
}

#[test]
fn command_lines_are_found_in_a_page() {
    let page = "Say `mcp-tap ls -n 5` or `mcp-tap run [OPTIONS]`.\n```\nA=1 mcp-tap log 'tool:a b' --json | jq .x\n\
                mcp-tap stats last     what it costs\nother thing\n{\"command\":\"mcp-tap\",\"args\":[\"run\",\"x\"]}   by hand\n```\n";
    let found: Vec<(usize, String)> =
        command_lines(page).into_iter().map(|(line, words, _)| (line, words.join("|"))).collect();
    let expected =
        [(1, "mcp-tap|ls|-n|5"), (3, "mcp-tap|log|tool:a b|--json"), (4, "mcp-tap|stats|last"), (6, "mcp-tap|run|x")];
    assert_eq!(found, expected.map(|(line, words)| (line, words.to_owned())));
}
