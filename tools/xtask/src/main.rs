//! `cargo xtask`: what this workspace does beyond building and testing.
//!
//! Start reading at [`tidy`] for the rules that no compiler checks, and at [`mod@bench`] for what the tap costs.

mod bench;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What this workspace does beyond building and testing.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the rules of this workspace that no compiler checks
    Tidy,
    /// Measure what the tap costs, beside no tap and the least possible one
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Tidy => tidy::run(),
        Command::Bench(arguments) => bench::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
