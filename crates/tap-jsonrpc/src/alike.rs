//! Ids that are not the same as written, and could be all the same: some peers write an id in another way than it came.

use crate::envelope::RawId;
use crate::node::Node;

/// Whether two ids are one number, written in two ways.
#[must_use]
pub fn same_number(one: &RawId, other: &RawId) -> bool {
    let number = |id: &RawId| Node::new(id.as_bytes()).as_i64();
    number(one).is_some() && number(one) == number(other)
}

/// Whether two ids read the same, one as text and one as a number.
#[must_use]
pub fn other_type(one: &RawId, other: &RawId) -> bool {
    let is_text = |id: &RawId| id.as_bytes().starts_with(b"\"");
    let inner = |id: &RawId| Node::new(id.as_bytes()).text().map(|text| text.into_owned().into_bytes());
    match (is_text(one), is_text(other)) {
        (true, false) => !other.is_null() && inner(one).as_deref() == Some(other.as_bytes()),
        (false, true) => !one.is_null() && inner(other).as_deref() == Some(one.as_bytes()),
        _ => false,
    }
}
