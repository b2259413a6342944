//! The commands that README.md and `.ci/run` hold.

use super::{CI_COMMANDS, README_COMMANDS, Remark};

/// Appends a failure for each command that is not there; a file that does not exist holds none.
pub(super) fn check(readme: Option<&str>, ci_run: Option<&str>, failures: &mut Vec<Remark>) {
    for (path, text, commands) in [("README.md", readme, README_COMMANDS), (".ci/run", ci_run, CI_COMMANDS)] {
        let text = text.unwrap_or_default();
        let missing = commands.iter().filter(|command| !text.contains(**command));
        failures.extend(missing.map(|command| {
            Remark::new(
                path,
                1,
                format!("`{command}` is not there"),
                "write it literally, or change the rule in tidy.rs",
            )
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths_of_failures(readme: Option<&str>, ci_run: Option<&str>) -> Vec<String> {
        let mut failures = Vec::new();
        check(readme, ci_run, &mut failures);
        failures.into_iter().map(|failure| failure.path).collect()
    }

    #[test]
    fn the_commands_are_found_where_they_were_promised() {
        let readme = README_COMMANDS.join("\n");
        assert_eq!(paths_of_failures(Some(&readme), Some("cargo test --workspace --locked")), [""; 0]);
    }

    #[test]
    fn a_command_that_is_missing_or_written_otherwise_is_a_failure() {
        let readme = README_COMMANDS.join("\n").replace("--release", "-r");
        assert_eq!(paths_of_failures(Some(&readme), Some("cargo test --all")), ["README.md", ".ci/run"]);
        assert_eq!(paths_of_failures(None, None), ["README.md", "README.md", ".ci/run"]);
    }
}
