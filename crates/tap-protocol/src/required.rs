//! Members that params and results must have, by method and revision; and what kind of value they are.

mod table;

use table::{OPTIONAL, REQUIRED, Required};

use crate::field::Place;
use crate::revision::Revision;

/// What kind of value a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Anything, or one of several kinds.
    Any,
    /// `"…"`
    Text,
    /// A number.
    Number,
    /// A number, or `null` for none.
    NumberOrNull,
    /// `true` or `false`.
    Boolean,
    /// `[…]`
    List,
    /// `{…}`
    Object,
}

/// A member of params or of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Names from `params` or `result` down.
    pub path: &'static [&'static str],
    /// What it is.
    pub kind: Kind,
}

/// The members that `params` of a method must have in `revision`; none where the method is not in it.
///
/// A path of several steps is required of the object that holds its last: where that object is absent and may be, so may
/// they. What holds for every shape that the params may take is here: both forms of `elicitation/create` have `message`.
///
/// Source: the `required` lists of each schema.
#[must_use]
pub fn required_params(method: &str, revision: Revision) -> &'static [Member] {
    row(method, revision).map_or(&[], |row| row.params)
}

/// The members that the result of a method must have in `revision`, as [`required_params`].
///
/// In the modern era, of a result whose `resultType` is `complete`: others have `resultType` alone in common. In
/// 2025-11-25, of a result that is not a task: those have `task` instead.
///
/// Source: the `required` lists of each schema.
#[must_use]
pub fn required_result(method: &str, revision: Revision) -> &'static [Member] {
    row(method, revision).map_or(&[], |row| row.result)
}

/// Members of a method that need not be there, in every revision that has them: those that peers are known to get wrong.
#[must_use]
pub fn optional_members(method: &str, place: Place) -> &'static [Member] {
    let mut rows = OPTIONAL.iter().filter(|(of, in_place, _)| *of == method && *in_place == place);
    rows.next().map_or(&[], |(.., members)| members)
}

fn row(method: &str, revision: Revision) -> Option<&'static Required> {
    let start = REQUIRED.partition_point(|row| row.method < method);
    let rows = REQUIRED.get(start..).unwrap_or_default();
    rows.iter().take_while(|row| row.method == method).find(|row| row.revisions.contains(revision))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Revisions;

    #[test]
    fn rows_are_sorted_and_never_two_for_one_revision() {
        assert!(REQUIRED.is_sorted_by_key(|row| row.method));
        for (index, row) in REQUIRED.iter().enumerate() {
            for other in REQUIRED.iter().skip(index + 1).filter(|other| other.method == row.method) {
                assert!(row.revisions.intersection(other.revisions).is_empty(), "{}", row.method);
            }
        }
    }

    #[test]
    fn every_row_is_of_a_method_of_those_revisions() {
        for row in REQUIRED {
            let method = crate::method(row.method).unwrap();
            let revisions = method.revisions().union(method.embedded);
            assert!(row.revisions.is_subset_of(revisions), "{} is in {revisions}", row.method);
            assert_ne!(row.revisions, Revisions::NONE);
        }
    }
}
