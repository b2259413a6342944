//! What people said about messages, as lists show it.

use tap_session::MessageRow;
use tap_store::Bookmark;

/// The sign of a row that has a mark, or whose answer has one, with its name: `*@name `.
pub(crate) fn sign(marks: &[Bookmark], row: &MessageRow) -> String {
    let of = |at| marks.binary_search_by_key(&at, |mark| mark.at).ok().and_then(|index| marks.get(index));
    match of(row.at).or_else(|| of(row.pair?)) {
        Some(Bookmark { name: Some(name), .. }) => format!("*@{name} "),
        Some(Bookmark { name: None, .. }) => "* ".into(),
        None => String::new(),
    }
}
