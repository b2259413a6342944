//! Members of params and results that some revisions have and others do not.

mod table;

pub use table::FIELDS;

use crate::revision::Revisions;

/// A part of a message that members stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `params` of a request or a notification, or of a request inside `inputRequests`.
    Params,
    /// `result` of a response, or a response inside `inputResponses`.
    Result,
}

/// The step of a [`Field`]'s path that stands for each element of an array.
pub const EACH_ELEMENT: &str = "[]";

/// The step of a [`Field`]'s path that stands for each member of an object, whatever its name.
pub const EACH_MEMBER: &str = "{}";

/// The [`Field::method`] of a member that does not depend on the method.
pub const ANY_METHOD: &str = "*";

/// A member that not every revision has: one row of [`FIELDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The method, or [`ANY_METHOD`].
    pub method: &'static str,
    /// Which part of the message.
    pub place: Place,
    /// Member names from `params` or `result` down, with [`EACH_ELEMENT`] and [`EACH_MEMBER`].
    pub path: &'static [&'static str],
    /// The revisions that have both the method and the member.
    pub revisions: Revisions,
}

/// The rows for a method: those of [`ANY_METHOD`] first, then its own.
pub fn fields(method: &str) -> impl Iterator<Item = &'static Field> + use<> {
    of(ANY_METHOD).iter().chain(of(method))
}

/// The rows that name exactly this method.
fn of(method: &str) -> &'static [Field] {
    let start = FIELDS.partition_point(|field| field.method < method);
    let rows = FIELDS.get(start..).unwrap_or_default();
    let n_rows = rows.partition_point(|field| field.method == method);
    rows.get(..n_rows).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_its_own_rows_and_those_of_any_method() {
        let methods: Vec<_> = fields("completion/complete").map(|field| field.method).collect();
        assert!(methods.is_sorted() && methods.contains(&ANY_METHOD) && methods.contains(&"completion/complete"));
        assert!(fields("unknown").all(|field| field.method == ANY_METHOD));
    }
}
