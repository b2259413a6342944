//! The revisions of MCP, their two eras, and sets of them.

use std::fmt;

/// A dated revision of the specification. Later is greater.
///
/// Source: the folders of the specification; `protocolVersion` on the wire is the date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05, the first release.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, audio, completions as a capability.
    V2025_03_26,
    /// 2025-06-18: elicitation, structured content, no batches.
    V2025_06_18,
    /// 2025-11-25: tasks, tools in sampling, elicitation by URL.
    V2025_11_25,
    /// 2026-07-28: no handshake, every request carries what it needs.
    V2026_07_28,
}

/// Revisions that are spoken alike: with a handshake, or without.
///
/// Source: 2026-07-28, basic/versioning, Terminology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: a session that `initialize` opens.
    Legacy,
    /// 2026-07-28 and later: metadata on every request, no session.
    Modern,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision that this crate knows.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision that begins with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision as `protocolVersion` spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that is spelled exactly like `text`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// The known revision whose rules fit best to a version that may be unknown: the newest one that is not newer.
    ///
    /// A date before the first release gives the first release (`2024-10-07` was a pre-release of it). `DRAFT-2026-v1`
    /// counts as the end of its year. `None` for what looks like neither: versions are opaque, and nothing is known.
    #[must_use]
    pub fn nearest(text: &str) -> Option<Self> {
        let known_until = |date: &str| {
            let newest = Self::ALL.into_iter().rev().find(|revision| revision.as_str() <= date);
            newest.unwrap_or(Self::V2024_11_05)
        };
        if let Some(year) = text.strip_prefix("DRAFT-").and_then(|rest| rest.get(..4)) {
            let is_year = year.bytes().all(|byte| byte.is_ascii_digit());
            return is_year.then(|| known_until(&format!("{year}-12-31")));
        }
        let is_date = text.len() == 10
            && text.bytes().enumerate().all(|(index, byte)| match index {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        is_date.then(|| known_until(text))
    }

    /// The era that this revision belongs to.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Era {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// A set of revisions.
///
/// Displays as `all`, `none`, a revision, or runs of them: `2024-11-05, 2025-06-18 – 2026-07-28`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revisions(u8);

impl Revisions {
    /// No revision.
    pub const NONE: Self = Self(0);

    /// Every revision.
    pub const ALL: Self = Self::since(Revision::V2024_11_05);

    /// Every revision of [`Era::Legacy`].
    pub const LEGACY: Self = Self::until(Revision::LATEST_LEGACY);

    /// Every revision of [`Era::Modern`].
    pub const MODERN: Self = Self::since(Revision::V2026_07_28);

    /// This revision alone.
    #[must_use]
    pub const fn only(revision: Revision) -> Self {
        Self(1 << revision as u8)
    }

    /// This revision and every later one.
    #[must_use]
    pub const fn since(first: Revision) -> Self {
        Self::between(first, Revision::LATEST)
    }

    /// Every revision up to this one, and this one.
    #[must_use]
    pub const fn until(last: Revision) -> Self {
        Self::between(Revision::V2024_11_05, last)
    }

    /// From `first` to `last`, both included; none when `last` is before `first`.
    #[must_use]
    pub const fn between(first: Revision, last: Revision) -> Self {
        let up_to_last = (2 << last as u8) - 1;
        let before_first = (1 << first as u8) - 1;
        Self(up_to_last & !before_first)
    }

    /// The revisions of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The revisions of both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The revisions of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether `revision` is one of them.
    #[must_use]
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & (1 << revision as u8) != 0
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether each of these is in `other`.
    #[must_use]
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The revisions, oldest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Revision> {
        Revision::ALL.into_iter().filter(move |revision| self.contains(*revision))
    }
}

impl fmt::Display for Revisions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => return formatter.write_str("all"),
            Self::NONE => return formatter.write_str("none"),
            _ => {}
        }
        let runs = Revision::ALL.chunk_by(|left, right| self.contains(*left) == self.contains(*right));
        let mut separator = "";
        for run in runs {
            match run {
                [first, ..] if !self.contains(*first) => continue,
                [first, .., last] => write!(formatter, "{separator}{first} – {last}")?,
                [only] => write!(formatter, "{separator}{only}")?,
                [] => {}
            }
            separator = ", ";
        }
        Ok(())
    }
}

impl fmt::Debug for Revisions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Revisions({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    use super::*;

    #[test]
    fn a_revision_is_spelled_as_its_date() {
        for revision in Revision::ALL {
            assert_eq!(Revision::from_text(&revision.to_string()), Some(revision));
        }
        assert!(Revision::ALL.is_sorted_by_key(|revision| revision.as_str()), "later is greater");
        assert_eq!(Revision::from_text("2024-10-07"), None);
    }

    #[test]
    fn an_unknown_version_is_read_by_the_rules_of_the_one_before_it() {
        for (text, expected) in [
            ("2024-10-07", Some(V2024_11_05)),
            ("0001-01-01", Some(V2024_11_05)),
            ("2024-11-05", Some(V2024_11_05)),
            ("2025-03-25", Some(V2024_11_05)),
            ("2025-03-27", Some(V2025_03_26)),
            ("2025-06-18", Some(V2025_06_18)),
            ("2026-07-27", Some(V2025_11_25)),
            ("2026-07-28", Some(V2026_07_28)),
            ("2099-01-01", Some(V2026_07_28)),
            ("DRAFT-2025-v3", Some(V2025_11_25)),
            ("DRAFT-2026-v1", Some(V2026_07_28)),
            ("DRAFT-2024", Some(V2024_11_05)),
            ("DRAFT-20é6", None),
            ("DRAFT-", None),
            ("", None),
            ("1.0", None),
            ("2025-06-1", None),
            ("2025-06-180", None),
            ("2025/06/18", None),
            ("latest", None),
        ] {
            assert_eq!(Revision::nearest(text), expected, "{text:?}");
        }
    }

    #[test]
    fn eras_are_told_apart_by_the_handshake() {
        assert_eq!(Revision::LATEST_LEGACY.era(), Era::Legacy);
        assert_eq!(Revision::LATEST.era(), Era::Modern);
        for revision in Revision::ALL {
            assert_eq!(Revisions::LEGACY.contains(revision), revision.era() == Era::Legacy, "{revision}");
            assert_eq!(Revisions::MODERN.contains(revision), revision.era() == Era::Modern, "{revision}");
        }
    }

    #[test]
    fn sets_hold_what_their_name_says() {
        let middle = Revisions::between(V2025_03_26, V2025_11_25);
        assert_eq!(middle.iter().collect::<Vec<_>>(), [V2025_03_26, V2025_06_18, V2025_11_25]);
        assert_eq!(Revisions::between(V2025_11_25, V2025_03_26), Revisions::NONE);
        assert_eq!(Revisions::LEGACY.union(Revisions::MODERN), Revisions::ALL);
        assert!(Revisions::LEGACY.intersection(Revisions::MODERN).is_empty());
        assert_eq!(Revisions::ALL.difference(Revisions::LEGACY), Revisions::MODERN);
        assert!(middle.is_subset_of(Revisions::LEGACY) && !Revisions::LEGACY.is_subset_of(middle));
        assert_eq!(Revisions::ALL.iter().count(), Revision::ALL.len());
    }

    #[test]
    fn sets_are_shown_as_runs() {
        let ends = Revisions::only(V2024_11_05).union(Revisions::since(V2025_11_25));
        for (revisions, expected) in [
            (Revisions::NONE, "none"),
            (Revisions::ALL, "all"),
            (Revisions::only(V2025_11_25), "2025-11-25"),
            (Revisions::since(V2025_06_18), "2025-06-18 – 2026-07-28"),
            (Revisions::LEGACY, "2024-11-05 – 2025-11-25"),
            (ends, "2024-11-05, 2025-11-25 – 2026-07-28"),
        ] {
            assert_eq!(revisions.to_string(), expected);
        }
    }
}
