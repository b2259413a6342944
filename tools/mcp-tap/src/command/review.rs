//! `mcp-tap review`: what `verify` found is accepted or rejected, recording by recording. `review/rule.rs` makes rules of it.

mod rule;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Parser;

use super::diff;
use super::verify::{NEW, new_of};
use crate::arguments::{Arguments, Command, Global, Review};
use crate::failure::{Failure, NO};
use crate::new_file::cannot_write;
use crate::output::Output;
use crate::text::{counted, shown};

/// Folders in folders that are searched.
const DEPTH_LIMIT: usize = 16;

/// A recording, and what it would be now.
struct Pending {
    file: PathBuf,
    new: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Accept,
    Reject,
    Skip,
}

/// What somebody who was asked says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// What to do, and whether with all that are left.
    Choice(Choice, bool),
    /// Show all of the difference.
    Show,
    /// From now on that is no difference.
    Rule,
}

pub(crate) fn review(global: &Global, review: &Review) -> Result<u8, Failure> {
    let pending = find(&review.paths)?;
    if pending.is_empty() {
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "nothing to review: no .{NEW} file beside a recording");
        }
        return Ok(0);
    }
    if review.list {
        let mut out = Output::new(global);
        for Pending { new, .. } in &pending {
            writeln!(out, "{}", shown(&new.to_string_lossy(), false))?;
        }
        out.finish()?;
        return Ok(NO);
    }
    let mut for_all = match (review.accept, review.reject) {
        (true, _) => Some(Choice::Accept),
        (_, true) => Some(Choice::Reject),
        _ => None,
    };
    if for_all.is_none() && !std::io::stdin().is_terminal() {
        return Err(Failure::new(format!(
            "{} to review, and nobody to ask",
            counted(pending.len() as u64, "recording")
        ))
        .hint("--accept, --reject or --list do without"));
    }
    let mut counts = [0_u64; 3];
    let n_pending = pending.len();
    for (index, this) in pending.iter().enumerate() {
        let choice = match for_all {
            Some(choice) => choice,
            None => {
                let (choice, is_for_all) =
                    asked(global, this, review.limit, &format!("({} of {n_pending})", index + 1))?;
                for_all = is_for_all.then_some(choice);
                choice
            }
        };
        carry_out(this, choice)?;
        counts[choice as usize] += 1;
    }
    if !global.quiet {
        let [accepted, rejected, skipped] = counts;
        let _ = writeln!(std::io::stderr(), "{accepted} accepted, {rejected} rejected, {skipped} left");
    }
    Ok(if counts[Choice::Skip as usize] > 0 { NO } else { 0 })
}

/// Shows one and asks, until it is known what to do.
fn asked(global: &Global, this: &Pending, limit: usize, place: &str) -> Result<(Choice, bool), Failure> {
    show(global, this, limit)?;
    let name = shown(&this.file.to_string_lossy(), false);
    let question =
        format!("{name} {place}: accept, reject, skip; capitals for all; d: all of the difference, I: make it a rule");
    loop {
        match ask(&mut std::io::stdin().lock(), &question)? {
            Answer::Choice(choice, is_for_all) => return Ok((choice, is_for_all)),
            Answer::Show => show(global, this, usize::MAX)?,
            Answer::Rule => {
                let made = rule::make(global, &this.file, &this.new)?;
                let mut stderr = std::io::stderr();
                for rule in &made.rules {
                    let _ = writeln!(stderr, "  {}", shown(rule, false));
                }
                if made.rules.is_empty() {
                    let _ = writeln!(
                        stderr,
                        "no rule can say that: lists, and calls that are only in one, are accepted or rejected"
                    );
                    continue;
                }
                let _ = writeln!(stderr, "{} in the header of {name}", counted(made.rules.len() as u64, "rule"));
                if !made.differs {
                    // What is left of it is what the rule says does not count.
                    let _ = writeln!(stderr, "nothing differs any more");
                    return Ok((Choice::Reject, false));
                }
                show(global, this, limit)?;
            }
        }
    }
}

/// What waits to be reviewed, each once, by name.
fn find(paths: &[PathBuf]) -> Result<Vec<Pending>, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            search(path, 0, &mut found)
                .map_err(|error| Failure::new(format!("cannot search {}: {error}", path.display())))?;
        } else if is_new(path) && path.is_file() {
            found.push(path.clone());
        } else if new_of(path).is_file() {
            found.push(new_of(path));
        } else if !path.exists() {
            return Err(Failure::new(format!("there is no file {}", path.display())));
        }
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|new| Pending { file: new.with_extension(""), new }).collect())
}

/// Whether it has the name of a recording that waits.
fn is_new(path: &Path) -> bool {
    let is_recording =
        |path: &Path| path.extension().is_some_and(|extension| extension == "mcprec" || extension == "jsonl");
    path.extension().is_some_and(|extension| extension == NEW) && is_recording(&path.with_extension(""))
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links lead anywhere, and what others have installed is not ours.
        if kind.is_dir() && !is_hidden && depth < DEPTH_LIMIT && entry.file_name() != "node_modules" {
            // What may not be looked into is passed over.
            let _ = search(&path, depth + 1, found);
        } else if kind.is_file() && is_new(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Shows what differs, as `diff` does.
fn show(global: &Global, pending: &Pending, limit: usize) -> Result<(), Failure> {
    if !pending.file.is_file() {
        let _ = writeln!(std::io::stderr(), "there was no {} before", shown(&pending.file.to_string_lossy(), false));
        return Ok(());
    }
    // A name without a folder could be a session's.
    let path = |path: &Path| Path::new(".").join(path).into_os_string();
    let mut words: Vec<std::ffi::OsString> =
        vec!["mcp-tap".into(), "diff".into(), "-n".into(), limit.to_string().into()];
    words.extend([path(&pending.file), path(&pending.new)]);
    let parsed = Arguments::try_parse_from(words).map_err(|error| Failure::new(error.to_string()))?;
    match parsed.command {
        Some(Command::Diff(wanted)) => diff::diff(global, &wanted).map(|_| ()),
        _ => Err(Failure::new("the difference could not be asked for")),
    }
}

/// What is to be done. Nobody there any more leaves all that is left.
fn ask(input: &mut impl BufRead, question: &str) -> Result<Answer, Failure> {
    loop {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{question} [a/r/s/A/R/S/d/I] ");
        let _ = stderr.flush();
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(Answer::Choice(Choice::Skip, true));
        }
        match answer.trim() {
            "a" | "accept" => return Ok(Answer::Choice(Choice::Accept, false)),
            "r" | "reject" => return Ok(Answer::Choice(Choice::Reject, false)),
            "s" | "skip" => return Ok(Answer::Choice(Choice::Skip, false)),
            "A" => return Ok(Answer::Choice(Choice::Accept, true)),
            "R" => return Ok(Answer::Choice(Choice::Reject, true)),
            "S" | "q" => return Ok(Answer::Choice(Choice::Skip, true)),
            "d" | "diff" => return Ok(Answer::Show),
            "I" => return Ok(Answer::Rule),
            _ => {}
        }
    }
}

fn carry_out(pending: &Pending, choice: Choice) -> Result<(), Failure> {
    match choice {
        Choice::Accept => {
            std::fs::rename(&pending.new, &pending.file).map_err(|error| cannot_write(&pending.file, &error))
        }
        Choice::Reject => std::fs::remove_file(&pending.new)
            .map_err(|error| Failure::new(format!("cannot remove {}: {error}", pending.new.display()))),
        Choice::Skip => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_understood_or_asked_for_again() {
        for (typed, expected) in [
            ("a\n", Answer::Choice(Choice::Accept, false)),
            ("what?\n\nr\n", Answer::Choice(Choice::Reject, false)),
            ("s\n", Answer::Choice(Choice::Skip, false)),
            ("A\n", Answer::Choice(Choice::Accept, true)),
            ("R\n", Answer::Choice(Choice::Reject, true)),
            ("q\n", Answer::Choice(Choice::Skip, true)),
            ("d\n", Answer::Show),
            ("i\nI\n", Answer::Rule),
            ("", Answer::Choice(Choice::Skip, true)),
        ] {
            assert_eq!(ask(&mut typed.as_bytes(), "x").unwrap(), expected, "{typed:?}");
        }
    }

    #[test]
    fn what_waits_is_found_beside_its_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for inner in ["deep/er", ".hidden", "node_modules"] {
            std::fs::create_dir_all(path(inner)).unwrap();
            std::fs::write(path(inner).join("x.mcprec.new"), "").unwrap();
        }
        for name in ["a.mcprec", "a.mcprec.new", "b.jsonl.new", "c.txt.new", "d.mcprec"] {
            std::fs::write(path(name), "").unwrap();
        }
        let found = |paths: &[PathBuf]| {
            let pending = find(paths).unwrap().into_iter();
            pending.map(|this| this.file.strip_prefix(folder.path()).unwrap().to_owned()).collect::<Vec<_>>()
        };
        let all = ["a.mcprec", "b.jsonl", "deep/er/x.mcprec"].map(PathBuf::from);
        assert_eq!(found(&[folder.path().to_owned()]), all);
        assert_eq!(found(&[path("a.mcprec"), path("a.mcprec.new"), path("d.mcprec")]), all[..1]);
        assert!(find(&[path("nowhere.mcprec")]).is_err());
    }
}
