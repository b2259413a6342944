//! What could stand at a place of a filter that is being written.

use crate::field::{FIELDS, FieldKind, STATES};
use crate::path::Root;

/// Something that could stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where what it replaces begins, bytes; that ends where the cursor is.
    pub from: usize,
    /// What is put there.
    pub text: String,
    /// What it means.
    pub about: String,
}

/// What could stand before `cursor` (bytes, on a border of characters) in place of the word that ends there.
#[must_use]
pub fn complete(text: &str, cursor: usize) -> Vec<Candidate> {
    let Some(before) = text.get(..cursor) else {
        return Vec::new();
    };
    let from = before.rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '|' | '&')).map_or(0, |at| at + 1);
    let word = before.get(from..).unwrap_or_default();
    let skip = word.len() - word.trim_start_matches(['-', '!']).len();
    let (from, word) = (from + skip, word.get(skip..).unwrap_or_default());
    if let Some((field, begun)) = word.split_once([':', '=', '>', '<']) {
        let from = cursor - begun.len();
        let fits = |known: &str| known.starts_with(begun) && known != begun;
        if field == "is" {
            let states = STATES.iter().filter(|state| fits(state.name));
            return states.map(|state| candidate(from, state.name, state.about)).collect();
        }
        if field == "has" {
            let fields = FIELDS.iter().filter(|info| fits(info.name));
            return fields.map(|info| candidate(from, info.name, info.about)).collect();
        }
        let known = FIELDS.iter().find(|info| info.name == field || info.short == Some(field));
        return match known.map(|info| info.kind) {
            Some(FieldKind::Word(words)) => {
                words.iter().filter(|word| fits(word)).map(|word| candidate(from, word, "")).collect()
            }
            _ => Vec::new(),
        };
    }
    let fields = FIELDS.iter().map(|info| (format!("{}:", info.name), info.about));
    let roots = Root::NAMES.iter().map(|(name, _)| (format!("{name}."), "a path into JSON"));
    let others = [("is:".to_owned(), "a named state"), ("has:".to_owned(), "whether there is such a thing")];
    let all = fields.chain(others).chain(roots).filter(|(name, _)| name.starts_with(word));
    all.map(|(name, about)| candidate(from, &name, about)).collect()
}

fn candidate(from: usize, text: &str, about: &str) -> Candidate {
    Candidate { from, text: text.into(), about: about.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_what_fits_the_word_before_the_cursor() {
        let texts = |text: &str| -> Vec<String> {
            complete(text, text.len()).into_iter().map(|candidate| candidate.text).collect()
        };
        assert_eq!(texts("tool:x lat"), ["latency:"]);
        assert_eq!(texts("is:pro"), ["problem"]);
        assert_eq!(texts("-kind:re"), ["request", "response"]);
        assert_eq!(texts("(status:"), ["ok", "tool_error", "error", "pending"]);
        assert_eq!(texts("has:fin"), ["finding"]);
        assert_eq!(texts("tool:del"), Vec::<String>::new());
        assert_eq!(texts("re"), ["rev:", "req.", "resp.", "result."]);
        assert_eq!(complete("a -er", 5)[0].from, 3);
        assert!(complete("é", 1).is_empty(), "in the middle of a character");
    }
}
