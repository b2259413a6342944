//! HTTP exchanges as they are recorded: which parts they have, and their heads.
//!
//! A head is kept as text, much as it was on the wire: a first line, then a field a line, each ended by LF. What may not
//! be kept (see `tap-http`, `record.rs`) is replaced before it comes here.
//!
//! The text is part of the database format.

/// A part of an HTTP exchange, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HttpPart {
    /// The client's request has begun: its head ([`HttpHead`], the first line is `CONNECTION METHOD TARGET VERSION`).
    Request,
    /// Some of the request's body, as it was on the wire.
    RequestBody,
    /// The request is complete. No bytes.
    RequestEnd,
    /// The request has a connection to the server: `VERSION` and, if the connection was made for it, a space and the
    /// nanoseconds that this took.
    Connected,
    /// The server has begun to answer: its head ([`HttpHead`], the first line is `VERSION STATUS`).
    Response,
    /// Some of the response's body, as it was on the wire.
    ResponseBody,
    /// The exchange is over. One byte: the [code](HttpEnd::code) of its end.
    End,
}

impl HttpPart {
    /// All parts, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Request,
        Self::RequestBody,
        Self::RequestEnd,
        Self::Connected,
        Self::Response,
        Self::ResponseBody,
        Self::End,
    ];

    /// The number that stands for the part in stored data. Never changes its meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The part with this [`code`](Self::code), if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HttpEnd {
    /// All of the answer was sent.
    Whole,
    /// The client went away.
    ByClient,
    /// The server went away in the middle of the answer, or before it, or was not there.
    ByServer,
}

impl HttpEnd {
    /// All ends, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Whole, Self::ByClient, Self::ByServer];

    /// The number that stands for the end in stored data. Never changes its meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The end with this [`code`](Self::code), if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// The head of a request or a response: a view of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpHead<'a> {
    /// The first line, without its end.
    pub first_line: &'a str,
    fields: &'a [u8],
}

impl<'a> HttpHead<'a> {
    /// Reads a head. `None` where the first line is not UTF-8.
    #[must_use]
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (first_line, fields) = text.split_at(end);
        Some(Self { first_line: std::str::from_utf8(first_line).ok()?, fields: fields.get(1..).unwrap_or_default() })
    }

    /// The fields alone, without a first line.
    #[must_use]
    pub fn of_fields(fields: &'a [u8]) -> Self {
        Self { first_line: "", fields }
    }

    /// The text of the fields.
    #[must_use]
    pub fn fields_text(self) -> &'a [u8] {
        self.fields
    }

    /// The fields in the order in which they came: names as they were written, and values. What is no field is left out.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.fields.split(|byte| *byte == b'\n').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            Some((std::str::from_utf8(name).ok()?, value.get(1..).unwrap_or_default().trim_ascii()))
        })
    }

    /// Begins the text of a head.
    pub fn begin(out: &mut Vec<u8>, first_line: &str) {
        out.clear();
        out.extend(first_line.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
    }

    /// Adds a field to the text of a head. A line feed cannot be in one on the wire, and is a space here.
    pub fn add(out: &mut Vec<u8>, name: &str, value: &[u8]) {
        out.push(b'\n');
        out.extend(name.bytes().filter(|byte| !matches!(byte, b'\n' | b':')));
        out.extend_from_slice(b": ");
        out.extend(value.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_head_is_read_as_it_was_written(
            first_line in "[ -~é]{0,40}",
            fields in prop::collection::vec(("[!-9;-~]{1,12}", "[!-~](|[ -~]{0,20}[!-~])"), 0..6),
        ) {
            let mut text = b"left over".to_vec();
            HttpHead::begin(&mut text, &first_line);
            for (name, value) in &fields {
                HttpHead::add(&mut text, name, value.as_bytes());
            }
            let head = HttpHead::read(&text).unwrap();
            prop_assert_eq!(head.first_line, &first_line);
            let read: Vec<(String, String)> = head
                .fields()
                .map(|(name, value)| (name.into(), String::from_utf8_lossy(value).into_owned()))
                .collect();
            prop_assert_eq!(read, fields);
        }

        #[test]
        fn any_bytes_are_read_without_panic(text in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(head) = HttpHead::read(&text) {
                prop_assert!(head.fields().count() <= text.len());
            }
        }
    }

    #[test]
    fn a_line_feed_cannot_add_a_field() {
        let mut text = Vec::new();
        HttpHead::begin(&mut text, "1 GET /\nx: y");
        HttpHead::add(&mut text, "a\nb", b"c\nd: e");
        let head = HttpHead::read(&text).unwrap();
        assert_eq!(head.first_line, "1 GET / x: y");
        assert_eq!(head.fields().collect::<Vec<_>>(), [("ab", &b"c d: e"[..])]);
    }
}
