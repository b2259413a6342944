//! Lists of a server's, from the first page to the last.

use std::collections::HashSet;

use bytes::Bytes;
use tap_jsonrpc::{Node, RawId};
use tap_protocol::ListKind;
use tap_session::{Kept, wrong_parameter_headers};

use crate::client::{CallOptions, Client};
use crate::error::ListError;
use crate::text::quoted;

/// At most so many pages are asked for.
pub const MAX_PAGES: usize = 1_000;

/// At most so many items are taken.
pub const MAX_LIST_ITEMS: usize = 100_000;

/// At most so many bytes of pages are taken.
pub const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;

/// One item of a list: the text of a JSON object, as the server wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item(pub Kept);

impl Item {
    /// A view of it.
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        self.0.node()
    }

    /// A member that is a string.
    #[must_use]
    pub fn text(&self, member: &str) -> Option<String> {
        Some(self.node().get(member)?.text()?.into_owned())
    }
}

/// A list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// What is on it, in the server's order.
    pub items: Vec<Item>,
    /// How many pages it took.
    pub n_pages: usize,
    /// For how long it may be kept, milliseconds: the least that a page says.
    pub ttl_ms: Option<u64>,
    /// Why there may be more on it.
    pub not_whole: Option<NotWhole>,
    /// Tools that cannot be called the way that this server is reached, and are not among the items: each name, and why.
    pub left_out: Vec<(String, String)>,
}

/// Why a list was not asked for to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWhole {
    /// The server named a page that it had named before.
    CursorRepeats,
    /// There were [`MAX_PAGES`] of them.
    Pages,
    /// There were [`MAX_LIST_ITEMS`] items.
    Items,
    /// The pages had [`MAX_LIST_BYTES`].
    Bytes,
}

impl NotWhole {
    /// In words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::CursorRepeats => "the server names a page again that it named before",
            Self::Pages => "it has more pages than are asked for",
            Self::Items => "it has more items than are taken",
            Self::Bytes => "it is larger than is taken",
        }
    }
}

impl Client {
    /// Asks for a list, all pages of it, within [bounds](NotWhole).
    ///
    /// # Errors
    ///
    /// When the server does not offer it, and when a page is none.
    pub async fn list(&self, kind: ListKind, options: CallOptions) -> Result<Listing, ListError> {
        let mut listing = self.pages(kind, options).await?;
        // Whoever calls such a tool leaves out headers that a server has to refuse it for.
        if kind == ListKind::Tools && self.has_headers() {
            listing.leave_out_wrong_headers();
        }
        Ok(listing)
    }

    async fn pages(&self, kind: ListKind, options: CallOptions) -> Result<Listing, ListError> {
        let mut listing = Listing::default();
        let (mut cursors, mut n_bytes) = (HashSet::new(), 0);
        let mut cursor: Option<String> = None;
        loop {
            let params = cursor.take().map(|cursor| format!("{{\"cursor\":{cursor}}}"));
            let page = self.request(kind.method(), params, options.clone()).await?;
            listing.n_pages += 1;
            n_bytes += page.0.len();
            let next = listing.add(kind, &page)?;
            let Some(next) = next else {
                return Ok(listing);
            };
            let is_new = cursors.insert(RawId::from_token(next.as_bytes()));
            listing.not_whole = match () {
                () if !is_new => Some(NotWhole::CursorRepeats),
                () if MAX_PAGES <= listing.n_pages => Some(NotWhole::Pages),
                () if MAX_LIST_ITEMS <= listing.items.len() => Some(NotWhole::Items),
                () if MAX_LIST_BYTES <= n_bytes => Some(NotWhole::Bytes),
                () => None,
            };
            if listing.not_whole.is_some() {
                return Ok(listing);
            }
            cursor = Some(next);
        }
    }
}

impl Listing {
    fn leave_out_wrong_headers(&mut self) {
        let left_out = &mut self.left_out;
        self.items.retain(|item| {
            let wrong = wrong_parameter_headers(item.node());
            if let Some(why) = wrong.first() {
                left_out.push((item.text("name").unwrap_or_default(), format!("`x-mcp-header` {why}")));
            }
            wrong.is_empty()
        });
    }

    /// Adds a page. Gives back the cursor of the next one as it was written, or as it has to be.
    fn add(&mut self, kind: ListKind, page: &Kept) -> Result<Option<String>, ListError> {
        let (method, member) = (kind.method(), kind.member());
        let [items, next, ttl_ms] = page.node().pick([member, "nextCursor", "ttlMs"]);
        let items = items.filter(|items| items.is_array()).ok_or(ListError::NoList { method, member })?;
        let kept = |node: Node<'_>| Item(Kept(slice_of(&page.0, node)));
        self.items.extend(items.elements().filter(|item| item.is_object()).map(kept));
        let ttl_ms = ttl_ms.and_then(Node::as_i64).and_then(|ttl_ms| u64::try_from(ttl_ms).ok());
        self.ttl_ms = match (self.ttl_ms, ttl_ms) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        // As written, where it is a string: its spelling is the server's affair.
        let next = next.filter(|next| next.is_string());
        Ok(next.map(|next| match std::str::from_utf8(next.bytes()) {
            Ok(written) => written.to_owned(),
            Err(_) => quoted(&next.text().unwrap_or_default()),
        }))
    }
}

/// A part of a text, without copying it.
fn slice_of(text: &Bytes, node: Node<'_>) -> Bytes {
    text.slice_ref(node.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_as_it_is_written() {
        let mut listing = Listing::default();
        let page = |text: &str| Kept(Bytes::copy_from_slice(text.as_bytes()));
        let first = page(r#"{"ttlMs":50,"tools":[{"name":"a","x":1e400},7,{"name":"\ud800"}],"nextCursor":"\u0041"}"#);
        assert_eq!(listing.add(ListKind::Tools, &first).unwrap().as_deref(), Some(r#""\u0041""#));
        assert_eq!(listing.add(ListKind::Tools, &page(r#"{"tools":[],"ttlMs":9}"#)).unwrap(), None);
        let written: Vec<_> = listing.items.iter().map(|item| String::from_utf8_lossy(&item.0.0)).collect();
        assert_eq!(written, [r#"{"name":"a","x":1e400}"#, r#"{"name":"\ud800"}"#]);
        assert_eq!(listing.ttl_ms, Some(9));
        assert!(matches!(listing.add(ListKind::Tools, &page("{}")), Err(ListError::NoList { member: "tools", .. })));
        // A cursor that is no string is none, as is one that is missing.
        assert_eq!(listing.add(ListKind::Tools, &page(r#"{"tools":[],"nextCursor":null}"#)).unwrap(), None);
    }

    #[test]
    fn tools_whose_parameters_fit_into_no_header_are_left_out_and_told() {
        let mut listing = Listing::default();
        let page = r#"{"tools":[
            {"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
            {"name":"bad","inputSchema":{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}},
            {"name":"none"}]}"#;
        listing.add(ListKind::Tools, &Kept(page.into())).unwrap();
        listing.leave_out_wrong_headers();
        assert_eq!(listing.items.iter().filter_map(|item| item.text("name")).collect::<Vec<_>>(), ["good", "none"]);
        let why = "`x-mcp-header` `A` at `a`: the parameter is no string, integer or boolean";
        assert_eq!(listing.left_out, [("bad".to_owned(), why.to_owned())]);
    }
}
