//! What people said about messages, as lists show it.

use tap_session::MessageRow;
use tap_store::Bookmark;

use crate::text::shown;

/// The sign of a row that has a mark, or whose answer has one, with its name: `*@name `. A database may hold any name.
pub(crate) fn sign(marks: &[Bookmark], row: &MessageRow) -> String {
    let of = |at| marks.binary_search_by_key(&at, |mark| mark.at).ok().and_then(|index| marks.get(index));
    match of(row.at).or_else(|| of(row.pair?)) {
        Some(Bookmark { name: Some(name), .. }) => format!("*@{} ", shown(name, false)),
        Some(Bookmark { name: None, .. }) => "* ".into(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use tap_frame::Stream;
    use tap_jsonrpc::Notes;
    use tap_session::{At, RowKind};

    use super::*;

    #[test]
    fn a_name_that_no_command_gave_does_nothing_to_the_terminal() {
        let at = At { seq: 1, member: 0 };
        let row = MessageRow {
            at,
            wall_ns: 0,
            at_ns: 0,
            stream: Stream::ToClient,
            kind: RowKind::Request,
            raw_id: None,
            method: None,
            target: None,
            status: None,
            error_code: None,
            pair: None,
            latency_ns: None,
            lost_bytes: None,
            notes: Notes::default(),
            done: None,
            received: None,
        };
        for (name, is_as_it_is) in
            [("slow.1", true), ("\x1b]52;c;eA==\x07", false), ("a\nb", false), ("\u{202e}a", false)]
        {
            let said = sign(&[Bookmark { at, name: Some(name.into()), note: None }], &row);
            assert_eq!(said == format!("*@{name} "), is_as_it_is, "{said:?}");
            assert!(!said.contains(['\x1b', '\x07', '\n', '\u{202e}']), "{said:?}");
        }
    }
}
