//! Notes: what was odd about a unit that could be read all the same.

use std::fmt;

/// A set of oddities. Facts about bytes, not judgements: whether one breaks a rule depends on the revision.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Notes(u16);

impl Notes {
    /// The unit starts with EF BB BF, which was skipped.
    pub const BYTE_ORDER_MARK: Self = Self(1 << 0);
    /// The last byte, or the last before the final `\n`, is `\r`.
    pub const CARRIAGE_RETURN: Self = Self(1 << 1);
    /// A string holds a byte below 0x20 that should have been escaped. Not said of a unit that is not JSON, where the
    /// byte is usually the `\n` that cut a string short.
    pub const CONTROL_CHARACTER: Self = Self(1 << 2);
    /// A string holds bytes that are not UTF-8. Of a unit that is not JSON, only the bytes before the error are known.
    pub const INVALID_UTF8: Self = Self(1 << 3);
    /// A string holds an escape such as `\ud83d` without its partner: legal JSON, and refused by many parsers. Of a unit
    /// that is not JSON, only the bytes before the error are known.
    pub const LONE_SURROGATE: Self = Self(1 << 4);
    /// `jsonrpc`, `id`, `method`, `params`, `result`, `error`, a watched member or one around it is there more than once.
    /// The last counts, and what is captured below an earlier one is forgotten.
    pub const DUPLICATE_MEMBER: Self = Self(1 << 5);
    /// `jsonrpc` is absent.
    pub const MISSING_VERSION: Self = Self(1 << 6);
    /// `jsonrpc` is there and is not the string `2.0`.
    pub const OTHER_VERSION: Self = Self(1 << 7);
    /// `id` is `null`, which is right in an error alone.
    pub const NULL_ID: Self = Self(1 << 8);
    /// `id` is `true`, `false`, an object or an array. The token of a boolean is kept as the id, a container is not.
    pub const WRONG_ID_TYPE: Self = Self(1 << 9);
    /// `id` or `method` is longer than [`TOKEN_LIMIT_BYTES`](crate::TOKEN_LIMIT_BYTES), and what is kept is its start.
    pub const TRUNCATED_MEMBER: Self = Self(1 << 10);
    /// `result` or `error` is there as `null` beside the members that decide the kind, and was taken as absent.
    pub const NULL_OUTCOME: Self = Self(1 << 11);
    /// `error` is not an object.
    pub const ERROR_NOT_OBJECT: Self = Self(1 << 12);

    const NAMES: [&'static str; 13] = [
        "byte order mark",
        "carriage return",
        "control character",
        "invalid UTF-8",
        "lone surrogate",
        "duplicate member",
        "missing version",
        "other version",
        "null id",
        "wrong id type",
        "truncated member",
        "null outcome",
        "error not an object",
    ];

    /// The set with nothing in it.
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// The set as a number, for whoever stores it. The numbers of the single notes may change with a version.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set with these [`bits`](Self::bits).
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether nothing was odd.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `notes` are in this set.
    #[must_use]
    pub const fn contains(self, notes: Self) -> bool {
        self.0 & notes.0 == notes.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, notes: Self) -> Self {
        Self(self.0 | notes.0)
    }

    /// This set without what is in `notes`.
    #[must_use]
    pub const fn without(self, notes: Self) -> Self {
        Self(self.0 & !notes.0)
    }

    /// Adds all of `notes`.
    pub fn insert(&mut self, notes: Self) {
        *self = self.union(notes);
    }

    /// A few words for each note, in the order of the constants.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| name)
    }
}

/// As a list of names: `{null id, missing version}`.
impl fmt::Debug for Notes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("{")?;
        for (index, name) in self.names().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{name}")?;
        }
        formatter.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_note_have_their_names() {
        let notes = Notes::BYTE_ORDER_MARK.union(Notes::ERROR_NOT_OBJECT);
        assert_eq!(format!("{notes:?}"), "{byte order mark, error not an object}");
        assert_eq!(format!("{:?}", notes.without(notes)), "{}");
        assert!(notes.contains(Notes::ERROR_NOT_OBJECT) && !notes.contains(Notes::NULL_ID));
    }
}
