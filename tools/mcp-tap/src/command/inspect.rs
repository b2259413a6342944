//! `mcp-tap inspect`: the inspector on a terminal, over the recordings.
//!
//! The inspector itself is `tap-inspector`; here are the terminal (`terminal.rs`), and the threads that answer its questions
//! (`asked.rs`, and `lists.rs`, `about.rs`, `depth.rs`, `figures.rs` by kind of question).

mod about;
mod asked;
mod depth;
mod figures;
mod judged;
mod links;
mod lists;
mod message;
mod picture;
mod remembered;
mod rows;
mod summary;
mod terminal;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;

use tap_inspector::{Colours, Inspector, Theme};

use crate::arguments::{Global, Inspect, When};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::paths::inspector_state;

/// Runs the inspector until it is left.
pub(crate) fn inspect(global: &Global, inspect: &Inspect) -> Result<u8, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::new("the inspector needs a terminal")
            .hint("`mcp-tap log` and `mcp-tap show` print what it shows; `mcp-tap ls` lists the sessions"));
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let configuration = Configuration::read(global)?;
    let mut theme = match &inspect.theme {
        Some(name) => Theme::named(name).ok_or_else(|| {
            Failure::new(format!("there is no theme {name}")).hint("terminal, blue-and-orange, plain")
        })?,
        None if global.color == When::Never || set("NO_COLOR") && global.color == When::Auto => Theme::plain(),
        None => configuration.theme.as_deref().and_then(Theme::named).unwrap_or_else(Theme::terminal),
    };
    if theme != Theme::plain() {
        configuration.colour(&mut theme);
    }
    let sources = asked::Sources::new(global, inspect)?;
    let offset = jiff::Zoned::now().offset().seconds();
    let size = crossterm::terminal::size()?;
    let mut inspector = Inspector::new(theme, size, offset)
        .with_keys(configuration.keys.clone())
        .with_colours(if theme == Theme::plain() { Colours::Few } else { colours() });
    let path = inspector_state().ok();
    if let Some(path) = &path {
        inspector.recall(remembered::read(path));
    }
    if let Some(problem) = configuration.problems.first() {
        let more = configuration.problems.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        inspector.tell(format!("{problem}{more}; `mcp-tap config show`"));
    }
    let has_mouse = configuration.mouse.unwrap_or(true) && !inspect.no_mouse;
    let (done, inspector) = terminal::run(inspector, sources, has_mouse);
    if let Some(path) = &path {
        // What cannot be remembered is forgotten: nothing that was asked for depends on it.
        if let Err(failure) = remembered::write(path, &inspector.remembered()) {
            tracing::warn!("{}", failure.message);
        }
    }
    done
}

/// How many colours the terminal shows, by what it says of itself: there is no sure way to ask.
fn colours() -> Colours {
    let says = |name: &str| std::env::var(name).unwrap_or_default();
    colours_of(&says("COLORTERM"), &says("TERM"))
}

fn colours_of(colorterm: &str, term: &str) -> Colours {
    if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
        Colours::True
    } else if term.contains("256color") {
        Colours::Indexed
    } else {
        Colours::Few
    }
}

#[cfg(test)]
mod colours {
    use super::*;

    #[test]
    fn a_terminal_says_how_many_colours_it_has() {
        for (colorterm, term, expected) in [
            ("truecolor", "xterm", Colours::True),
            ("24bit", "screen", Colours::True),
            ("", "xterm-direct", Colours::True),
            ("", "xterm-256color", Colours::Indexed),
            ("yes", "tmux-256color", Colours::Indexed),
            ("", "linux", Colours::Few),
            ("", "", Colours::Few),
        ] {
            assert_eq!(colours_of(colorterm, term), expected, "{colorterm} {term}");
        }
    }
}
