//! `mcp-tap inspect`: the inspector on a terminal, over the recordings.
//!
//! The inspector itself is `tap-inspector`; here are the terminal (`terminal.rs`), and the threads that answer its questions
//! (`asked.rs`, and `lists.rs`, `depth.rs`, `figures.rs` by kind of question).

mod asked;
mod depth;
mod figures;
mod links;
mod lists;
mod message;
mod rows;
mod terminal;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;

use tap_inspector::{Inspector, Theme};

use crate::arguments::{Global, Inspect, When};
use crate::failure::Failure;

/// Runs the inspector until it is left.
pub(crate) fn inspect(global: &Global, inspect: &Inspect) -> Result<u8, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::new("the inspector needs a terminal")
            .hint("`mcp-tap log` and `mcp-tap show` print what it shows; `mcp-tap ls` lists the sessions"));
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let theme = match &inspect.theme {
        Some(name) => Theme::named(name).ok_or_else(|| {
            Failure::new(format!("there is no theme {name}")).hint("terminal, blue-and-orange, plain")
        })?,
        None if global.color == When::Never || set("NO_COLOR") && global.color == When::Auto => Theme::plain(),
        None => Theme::terminal(),
    };
    let sources = asked::Sources::new(global, inspect)?;
    let offset = jiff::Zoned::now().offset().seconds();
    let size = crossterm::terminal::size()?;
    let inspector = Inspector::new(theme, size, offset);
    terminal::run(inspector, sources)
}
