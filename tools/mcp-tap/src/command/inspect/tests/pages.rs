//! The tables of `docs/inspector.md` and `docs/filter.md` are made from the tables of the program. `UPDATE_DOCS=1 cargo test`
//! writes them.

use std::fmt::Write;

use tap_filter::{FIELDS, FieldKind, STATES};
use tap_inspector::{KEYMAP, Scope};

/// Holds that a page has a table between its two marks.
#[track_caller]
fn hold(page: &str, mark: &str, table: &str) {
    let path = super::top().join("docs").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {mark}: made from the program -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (is, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} has no {end}"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert!(is == table, "the {mark} in docs/{page} are not those of the program; UPDATE_DOCS=1 writes them");
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_page_of_the_inspector_has_all_keys() {
    let mut table = String::from("| keys | name | |\n| --- | --- | --- |\n");
    let places = [
        (Scope::Everywhere, "everywhere"),
        (Scope::Moving, "moving"),
        (Scope::Sessions, "in the list of sessions"),
        (Scope::Session, "in a session"),
        (Scope::Sequence, "where it is seen who said what to whom"),
        (Scope::Detail, "in a message"),
        (Scope::Stats, "among statistics"),
        (Scope::Tools, "among what the server offers"),
        (Scope::Held, "among breakpoints and held messages"),
    ];
    for (scope, place) in places {
        let _ = writeln!(table, "| | | **{place}** |");
        for binding in KEYMAP.iter().filter(|binding| binding.scope == scope) {
            let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{}`", escaped(key))).collect();
            let _ = writeln!(table, "| {} | {} | {} |", keys.join(" "), binding.name, escaped(binding.about));
        }
    }
    hold("inspector.md", "keys", &table);
}

#[test]
fn the_page_of_filters_has_all_fields_and_states() {
    let mut table = String::from("| field | short | value | |\n| --- | --- | --- | --- |\n");
    for info in FIELDS {
        let value = match info.kind {
            FieldKind::Number => "number".into(),
            FieldKind::Text => "text".into(),
            FieldKind::Time => "time".into(),
            FieldKind::Duration => "duration".into(),
            FieldKind::Size => "size".into(),
            FieldKind::Id => "id".into(),
            FieldKind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" "),
        };
        let short = info.short.map(|short| format!("`{short}`")).unwrap_or_default();
        let _ = writeln!(table, "| `{}` | {short} | {value} | {} |", info.name, escaped(info.about));
    }
    hold("filter.md", "fields", &table);
    let mut table = String::from("| | |\n| --- | --- |\n");
    for state in STATES {
        let _ = writeln!(table, "| `is:{}` | {} |", state.name, state.about);
    }
    hold("filter.md", "states", &table);
}
