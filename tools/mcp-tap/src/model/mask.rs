//! A key that a provider says back is hidden before anybody reads, shows or records what it says.

use bytes::Bytes;

/// Shorter ones are no keys but words that stand for none, such as `ollama`, and may well be said.
const SHORTEST_BYTES: usize = 16;

/// What stands in the place of a key.
const HIDDEN: &[u8] = b"[key]";

/// Hides a key in bytes that come in pieces.
pub(super) struct Mask {
    key: Vec<u8>,
    /// The end of the last piece, which may be the beginning of the key.
    held: Vec<u8>,
}

impl Mask {
    /// A mask for this key.
    pub(super) fn new(key: Option<&str>) -> Self {
        let key = key.filter(|key| SHORTEST_BYTES <= key.len()).unwrap_or_default();
        Self { key: key.as_bytes().to_vec(), held: Vec::new() }
    }

    /// The next bytes, as far as it is known that the key is not in them.
    pub(super) fn push(&mut self, bytes: Bytes) -> Bytes {
        if self.key.is_empty() || bytes.is_empty() {
            return bytes;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(&bytes);
        let mut out = Vec::with_capacity(all.len());
        let mut rest = all.as_slice();
        while let Some((first, after)) = rest.split_first() {
            if let Some(behind) = rest.strip_prefix(self.key.as_slice()) {
                out.extend_from_slice(HIDDEN);
                rest = behind;
            } else if *first == self.key[0] && self.key.starts_with(rest) {
                self.held = rest.to_vec();
                break;
            } else {
                out.push(*first);
                rest = after;
            }
        }
        out.into()
    }

    /// What was held back, at the end.
    pub(super) fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_however_it_is_cut() {
        let key = "sk-sk-0123456789";
        let text = format!("a {key} sk-sk-{key}{key}, sk-sk-0123 sk");
        let expected = "a [key] sk-sk-[key][key], sk-sk-0123 sk";
        for size in 1..text.len() {
            let mut mask = Mask::new(Some(key));
            let mut out = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                out.extend(mask.push(Bytes::copy_from_slice(piece)));
            }
            out.extend(mask.finish());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{size}");
        }
        for key in [None, Some("ollama")] {
            assert_eq!(Mask::new(key).push(Bytes::from_static(b"ollama")), "ollama");
        }
    }
}
