//! What would change in a file, as a unified diff without secrets.

use std::io::Write;

use similar::TextDiff;
use tap_hosts::masked;
use tap_redact::Redactor;

use crate::failure::Failure;
use crate::hosts::ConfigurationFile;
use crate::output::{Output, Style};
use crate::text::shown;

/// Lines around a change.
const AROUND: usize = 3;

/// What stands in the place of a secret.
const HIDDEN: &str = "«hidden»";

pub(super) fn write(out: &mut Output, file: &ConfigurationFile, new: &str) -> Result<(), Failure> {
    if file.text == new {
        return Ok(());
    }
    let hide = |text: &str| {
        let masked = masked(text, file.format);
        let masked = masked.map_err(|error| Failure::new(format!("{}: {error}", file.path.display())))?;
        Ok::<_, Failure>(masked.split_inclusive('\n').map(without_shapes).collect::<String>())
    };
    let (old, new) = (hide(&file.text)?, hide(new)?);
    let path = file.path.to_string_lossy();
    let diff = TextDiff::from_lines(&old, &new);
    let text = diff.unified_diff().context_radius(AROUND).header(&path, &path).to_string();
    for line in text.lines() {
        let style = match line.chars().next() {
            Some('+') => Style::Good,
            Some('-') => Style::Bad,
            Some('@') => Style::Dim,
            _ => Style::Plain,
        };
        // What a file is indented with stays.
        let parts: Vec<String> = line.trim_end_matches('\r').split('\t').map(|part| shown(part, false)).collect();
        let line = out.styled(style, &parts.join("\t"));
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A line without what looks like a secret by its shape, wherever it stands. Home folders stay: they are no secret from their
/// owner.
pub(crate) fn without_shapes(line: &str) -> String {
    let mut redactor = Redactor::new(Vec::new(), Vec::new());
    let Some(marked) = redactor.line("text", "line", line) else {
        return line.to_owned();
    };
    // What stands between markers stands in the line as well, in the same order.
    let (mut shown, mut rest, mut left) = (String::new(), line, marked.as_str());
    while let Some((before, behind)) = left.split_once('«') {
        let Some((marker, after)) = behind.split_once('»') else {
            break;
        };
        let next = after.split('«').next().unwrap_or_default();
        let meant = rest.strip_prefix(before).and_then(|rest| {
            let end = if after.is_empty() { Some(rest.len()) } else { rest.find(next).filter(|_| !next.is_empty()) };
            rest.split_at_checked(end?)
        });
        let Some((meant, behind)) = meant else {
            // Where that cannot be told nothing is shown that was replaced.
            return format!("{shown}{left}");
        };
        shown.push_str(before);
        shown.push_str(if marker.starts_with("home") { meant } else { HIDDEN });
        (rest, left) = (behind, after);
    }
    shown.push_str(left);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_by_shape_are_hidden_and_nothing_else() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        for (line, expected) in [
            (format!("  \"args\": [\"-y\", \"{token}\"],\n"), "  \"args\": [\"-y\", \"«hidden»\"],\n".to_owned()),
            (format!("// {token} and {token}\r\n"), "// «hidden» and «hidden»\r\n".into()),
            (format!("/home/me/x {token} /home/you {token}"), "/home/me/x «hidden» /home/you «hidden»".into()),
            (format!("{token}{token}"), format!("{token}{token}")),
            ("«hidden» is there".into(), "«hidden» is there".into()),
            ("\"command\": \"/home/me/bin/x\"\n".into(), "\"command\": \"/home/me/bin/x\"\n".into()),
            (
                "\"args\": [\"run\", \"--name=a\", \"--\", \"npx\"]".into(),
                "\"args\": [\"run\", \"--name=a\", \"--\", \"npx\"]".into(),
            ),
        ] {
            assert_eq!(without_shapes(&line), expected);
        }
    }
}
