//! What a person sets: keys of their own; and what is remembered from one run to the next.

use std::collections::BTreeMap;

use crate::input::Key;
use crate::keymap::{Action, Binding, KEYMAP, Scope};
use crate::model::{Inspector, Note, View};
use crate::sessions::Sort;

/// How many filters are remembered.
pub const HISTORY: usize = 200;

/// The keys of the table, with those that were set in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// By the name of what they do.
    set: BTreeMap<&'static str, Vec<String>>,
}

impl Keys {
    /// Has these keys, by [`Key::name`], do what has this name in the table, and no others; none, where there are none.
    ///
    /// # Errors
    ///
    /// What is wrong, in words: there is no such name, or no such key.
    pub fn set(&mut self, name: &str, keys: &[String]) -> Result<(), String> {
        let Some(binding) = KEYMAP.iter().find(|binding| binding.name == name) else {
            return Err(format!("nothing is called `{name}`"));
        };
        for key in keys {
            if Key::named(key).map(Key::name).as_deref() != Some(key.as_str()) {
                return Err(format!("there is no key `{key}`; keys are called as in the help: j, ctrl-d, enter, f5"));
            }
        }
        self.set.insert(binding.name, keys.to_vec());
        Ok(())
    }

    /// The keys of a binding. A key that was set for something else in the same place is not among those it had.
    pub(crate) fn of<'a>(&'a self, binding: &'a Binding) -> Vec<&'a str> {
        match self.set.get(binding.name) {
            Some(keys) => keys.iter().map(String::as_str).collect(),
            None => binding.keys.iter().copied().filter(|key| !self.is_taken(binding.scope, key)).collect(),
        }
    }

    fn is_taken(&self, scope: Scope, key: &str) -> bool {
        KEYMAP
            .iter()
            .filter(|other| other.scope == scope)
            .any(|other| self.set.get(other.name).is_some_and(|keys| keys.iter().any(|taken| taken == key)))
    }

    /// What a key does in the first of these scopes in which it does anything.
    pub(crate) fn action(&self, key: Key, scopes: &[Scope]) -> Option<Action> {
        let name = key.name();
        let found = scopes.iter().find_map(|scope| {
            let mut bindings = KEYMAP.iter().filter(|binding| binding.scope == *scope);
            bindings.find(|binding| self.of(binding).contains(&name.as_str())).map(|binding| binding.action)
        });
        // Whatever was set, there is a way out, which signals take too.
        found.or_else(|| (name == "ctrl-c").then_some(Action::Quit))
    }
}

/// What is remembered from one run to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Share of the width that the list has beside a message, percent.
    pub split: u16,
    /// A row a call, not a row a message.
    pub calls: bool,
    /// In which order sessions stand.
    pub sort: Sort,
    /// Whether there is a line of keys.
    pub shows_keys: bool,
    /// Filters that were used, the oldest first.
    pub history: Vec<String>,
    /// The view of a session that was looked at last.
    pub view: View,
}

impl View {
    const OF_SESSION: [(Self, &'static str); 6] = [
        (Self::Timeline, "timeline"),
        (Self::Sequence, "sequence"),
        (Self::State, "state"),
        (Self::Stats, "stats"),
        (Self::Findings, "findings"),
        (Self::Tools, "tools"),
    ];

    /// What a view of a session is called; `None` for others.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::OF_SESSION.iter().find(|(view, _)| *view == self).map(|(_, name)| *name)
    }

    /// The view of a session that is called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::OF_SESSION.iter().find(|(_, known)| *known == name).map(|(view, _)| *view)
    }
}

impl Inspector {
    /// The same with keys of a person's own.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Takes up what was remembered.
    pub fn recall(&mut self, remembered: Remembered) {
        let Remembered { split, calls, sort, shows_keys, history, view } = remembered;
        self.split = split.clamp(20, 80);
        self.calls = calls;
        self.sessions.set_sort(sort);
        self.shows_keys = shows_keys;
        let surplus = history.len().saturating_sub(HISTORY);
        self.history = history.into_iter().skip(surplus).collect();
        self.last_view = if view.name().is_some() { view } else { View::Timeline };
    }

    /// What is to be remembered.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        Remembered {
            split: self.split,
            calls: self.calls,
            sort: self.sessions.sort,
            shows_keys: self.shows_keys,
            history: self.history.clone(),
            view: self.last_view,
        }
    }

    /// Says something at the bottom of the screen until a key is pressed.
    pub fn tell(&mut self, text: String) {
        self.note = Some(Note { text, bad: true, until_unix_ns: u64::MAX });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::named(name).unwrap()
    }

    #[test]
    fn keys_that_are_set_stand_in_place_of_those_of_the_table() {
        let mut keys = Keys::default();
        let scopes = [Scope::Session, Scope::Moving, Scope::Everywhere];
        let does = |keys: &Keys, name: &str| keys.action(key(name), &scopes);
        assert_eq!(does(&keys, "m"), Some(Action::Mark));
        keys.set("mark", &["x".into(), "ctrl-x".into()]).unwrap();
        assert_eq!(
            (does(&keys, "x"), does(&keys, "ctrl-x"), does(&keys, "m")),
            (Some(Action::Mark), Some(Action::Mark), None)
        );
        // A key that had another meaning there has the new one.
        keys.set("jump", &["F".into()]).unwrap();
        assert_eq!((does(&keys, "F"), does(&keys, "#")), (Some(Action::JumpTo), None));
        let follow = KEYMAP.iter().find(|binding| binding.name == "follow").unwrap();
        assert_eq!(keys.of(follow), Vec::<&str>::new(), "the help does not say it any more");
        // A way out stays.
        keys.set("quit", &[]).unwrap();
        assert_eq!(does(&keys, "ctrl-c"), Some(Action::Quit));
    }

    #[test]
    fn what_is_not_there_cannot_be_set() {
        let mut keys = Keys::default();
        assert_eq!(keys.set("marc", &["x".into()]), Err("nothing is called `marc`".into()));
        for name in ["", "ctrl-", "enterr", "Ctrl-x", "alt-ctrl-x"] {
            assert!(keys.set("mark", &[name.into()]).unwrap_err().starts_with("there is no key"), "{name}");
        }
        assert_eq!(keys, Keys::default());
    }
}
