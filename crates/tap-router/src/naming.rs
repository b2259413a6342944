//! Names of tools and prompts that are unique over all servers, and that every model takes.
//!
//! `SERVER__NAME`, in the letters, digits, `_` and `-` that models' interfaces take, and no longer than they take. What would
//! be too long, holds something else, or could be read in two ways, ends in a hash of both names. The same pair has the same
//! name whatever else there is.

use ring::digest::{SHA256, digest};

/// What models' interfaces take at most (OpenAI, Anthropic and Gemini: 64 characters).
pub const NAME_LIMIT: usize = 64;

/// Between a server and a name.
const BETWEEN: &str = "__";

/// How many digits of the hash are in a name: 48 bits.
const HASH_DIGITS: usize = 12;

/// How names are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// `SERVER__NAME`.
    #[default]
    Prefixed,
    /// As the servers have them. Of two with the same name the second is left out, and told.
    Plain,
}

/// What a model may be given as a name.
#[must_use]
pub fn is_valid(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len()) && name.bytes().all(is_taken)
}

const fn is_taken(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

impl Naming {
    /// What something of a server's is called.
    #[must_use]
    pub fn name(self, server: &str, name: &str) -> String {
        let plain = match self {
            Self::Prefixed => format!("{server}{BETWEEN}{name}"),
            Self::Plain => name.to_owned(),
        };
        // Where the first `__` is not the one that was put in, another pair could have the same name.
        let is_clear = match self {
            Self::Prefixed => !server.contains(BETWEEN) && !server.ends_with('_') && !server.is_empty(),
            Self::Plain => true,
        };
        match is_valid(&plain) && is_clear && !ends_like_a_hash(&plain) {
            true => plain,
            false => shortened(self, server, name, &plain),
        }
    }
}

/// Whether a name could be one that was shortened.
fn ends_like_a_hash(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('_') else {
        return false;
    };
    end.len() == HASH_DIGITS && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn shortened(naming: Naming, server: &str, name: &str, plain: &str) -> String {
    // The lengths make two texts of one that can be split in one way only.
    let both = match naming {
        Naming::Prefixed => format!("{}:{server}{}:{name}", server.len(), name.len()),
        Naming::Plain => format!("{}:{name}", name.len()),
    };
    let hash = digest(&SHA256, both.as_bytes());
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.get(..HASH_DIGITS).unwrap_or(&digits);
    let room = NAME_LIMIT - HASH_DIGITS - 1;
    let taken = |character: char| match u8::try_from(character) {
        Ok(byte) if is_taken(byte) => character,
        _ => '_',
    };
    let start: String = plain.chars().map(taken).take(room).collect();
    format!("{start}_{digits}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_plain_where_they_can_be() {
        for (server, name, expected) in [
            ("github", "search_issues", "github__search_issues"),
            ("my-server", "_x", "my-server___x"),
            ("a", "b__c", "a__b__c"),
            ("a", "", "a__"),
        ] {
            assert_eq!(Naming::Prefixed.name(server, name), expected);
        }
        // What would be the same as one above, or holds what models do not take, ends in a hash.
        for (server, name, start) in [
            ("a__b", "c", "a__b__c_"),
            ("a_", "b", "a___b_"),
            ("a", "b.c", "a__b_c_"),
            ("", "b", "__b_"),
            ("ein Wort", "größe", "ein_Wort__gr__e_"),
            ("a", "b_0123456789ab", "a__b_0123456789ab_"),
        ] {
            let said = Naming::Prefixed.name(server, name);
            assert!(is_valid(&said) && said.starts_with(start) && ends_like_a_hash(&said), "{said}");
        }
        let long = "x".repeat(70);
        let said = Naming::Prefixed.name("a", &long);
        assert_eq!(said.len(), NAME_LIMIT);
        assert_ne!(said, Naming::Prefixed.name("a", &format!("{long}y")));
        assert_eq!(Naming::Plain.name("a", "b__c"), "b__c");
        assert_eq!(Naming::Plain.name("a", "b.c"), Naming::Plain.name("another", "b.c"));
    }

    #[test]
    fn a_name_stays_what_it_was_in_every_version_of_this_program() {
        for (server, name, expected) in
            [("a__b", "c", "a__b__c_490268a8f028"), ("files", "read.text", "files__read_text_a48680fb566a")]
        {
            assert_eq!(Naming::Prefixed.name(server, name), expected);
        }
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c_]{0,4}",
            "[a-z]{1,3}(__)?[a-z]{0,3}_?",
            "[a-z_]{50,80}",
            "[aé ./]{0,5}",
            "[a-b]{1,2}_[0-9a-f]{12}",
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn names_are_valid_and_no_two_pairs_have_the_same(pairs in prop::collection::vec((part(), part()), 0..60)) {
            let mut known: HashMap<String, (String, String)> = HashMap::new();
            for (server, name) in pairs {
                let said = Naming::Prefixed.name(&server, &name);
                prop_assert!(is_valid(&said), "{said}");
                prop_assert_eq!(&said, &Naming::Prefixed.name(&server, &name));
                let before = known.entry(said).or_insert_with(|| (server.clone(), name.clone()));
                prop_assert_eq!(&(server, name), &*before);
            }
        }
    }
}
