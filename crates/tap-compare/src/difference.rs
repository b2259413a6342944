//! What a comparison finds.

use std::collections::BTreeSet;

use crate::path::Path;

/// How two values differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Only in B.
    Added,
    /// Only in A.
    Removed,
    /// Another value of the same type.
    Changed,
    /// A value of another type.
    TypeChanged,
    /// The same elements of an array, told apart by a name, in another order.
    Reordered,
}

impl Change {
    /// One word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::TypeChanged => "type changed",
            Self::Reordered => "reordered",
        }
    }
}

/// One place at which two messages differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where: in B, and of what is only in A, in A.
    pub path: Path,
    /// Where in A, if that is another place: an element of an array that others were put before.
    pub path_in_a: Option<Path>,
    /// How.
    pub change: Change,
    /// The JSON of A as it was written, if it has any there. Nothing for [`Change::Reordered`].
    pub a: Option<Box<[u8]>>,
    /// The JSON of B as it was written.
    pub b: Option<Box<[u8]>>,
}

/// Why a difference is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HiddenBy {
    /// A rule ignores the place.
    Ignored,
    /// A rule says that the place is volatile.
    Volatile,
    /// It looks like what changes on every run, and such values were to be hidden.
    Looks,
    /// A placeholder or a marker of redaction stands for it.
    Placeholder,
    /// Loose rules make it the same.
    Loose,
    /// Only shapes are compared.
    Shape,
    /// A string that holds JSON, which is the same JSON in another spelling.
    JsonSpelling,
}

impl HiddenBy {
    /// One or two words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Volatile => "volatile",
            Self::Looks => "volatile by its looks",
            Self::Placeholder => "placeholder",
            Self::Loose => "loose",
            Self::Shape => "same shape",
            Self::JsonSpelling => "JSON spelled differently",
        }
    }
}

/// A difference that is not told, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Where, as in [`Difference::path`].
    pub path: Path,
    /// Why.
    pub by: HiddenBy,
}

/// What bounds kept a comparison from doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// Something was too deep: below, values are compared as they were written.
    Depth,
    /// Arrays were too long and too different: their elements were compared by their places.
    Array,
    /// It was too much work: what is left is compared as it was written.
    Work,
}

impl Bound {
    /// What was done instead, in a few words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Depth => "too deep: compared as written from there",
            Self::Array => "array too long and too different: compared place by place",
            Self::Work => "too much to compare: the rest compared as written",
        }
    }
}

/// What two messages differ in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The first differences, in the order of the message.
    pub differences: Vec<Difference>,
    /// How many there are; more than are listed, where there are too many.
    pub n_differences: usize,
    /// The first differences that are not told.
    pub hidden: Vec<Hidden>,
    /// How many there are.
    pub n_hidden: usize,
    /// Which bounds were met.
    pub bounds: BTreeSet<Bound>,
    /// Bytes that were walked over, once for each container around them: what it cost.
    pub work_bytes: u64,
}

impl Comparison {
    /// Whether nothing differs but for what is hidden.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.n_differences == 0
    }
}
