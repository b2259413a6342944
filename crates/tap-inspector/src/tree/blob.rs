//! Bytes that are written as base64 in a message: images, audio, contents of resources.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tap_jsonrpc::Node;

/// How much is decoded to find how large an image is, bytes of base64: some cameras write much before that.
const HEAD_BYTES: usize = 256 * 1024;

/// As people write it: padded or not, and with bits behind the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What is known of such bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Their type as the message says it.
    pub(crate) mime_type: String,
    /// How many there are.
    pub(crate) n_bytes: usize,
    /// Of an image: columns and rows.
    pub(crate) size: Option<(usize, usize)>,
    /// What they begin like, where that is another type than the message says.
    pub(crate) looks_like: Option<&'static str>,
}

impl Blob {
    /// What the string beside a `mimeType` holds: `data` of an image or audio, `blob` of a resource. `None` when it is not
    /// base64.
    pub(super) fn of(key: &str, mime_type: &str, text: &str) -> Option<Self> {
        if !matches!(key, "data" | "blob") || text.len() < 4 {
            return None;
        }
        let head = &text.as_bytes()[..text.len().min(HEAD_BYTES) / 4 * 4];
        let head = BASE64.decode(head).ok()?;
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        if !text.bytes().all(|byte| is_base64(&byte)) {
            return None;
        }
        let n_padding = text.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
        let size = imagesize::blob_size(&head).ok().map(|size| (size.width, size.height));
        let kind = imagesize::image_type(&head).ok().and_then(|kind| match kind {
            imagesize::ImageType::Png => Some("image/png"),
            imagesize::ImageType::Jpeg => Some("image/jpeg"),
            imagesize::ImageType::Gif => Some("image/gif"),
            imagesize::ImageType::Webp => Some("image/webp"),
            _ => None,
        });
        Some(Self {
            mime_type: mime_type.into(),
            n_bytes: (text.len() - n_padding) * 3 / 4,
            size,
            looks_like: kind.filter(|kind| !mime_type.eq_ignore_ascii_case(kind)),
        })
    }

    /// Whether it is an image of which pixels can be had.
    pub(crate) fn is_image(&self) -> bool {
        let kind = self.looks_like.unwrap_or(&self.mime_type).to_ascii_lowercase();
        ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"].iter().any(|known| kind.starts_with(known))
    }

    /// How a file with these bytes is called, behind the dot.
    pub(crate) fn extension(&self) -> String {
        let kind = self.looks_like.unwrap_or(&self.mime_type);
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let known = [
            ("image/jpeg", "jpg"),
            ("image/svg+xml", "svg"),
            ("audio/mpeg", "mp3"),
            ("text/plain", "txt"),
            ("application/octet-stream", "bin"),
        ];
        if let Some((_, extension)) = known.iter().find(|(known, _)| kind.eq_ignore_ascii_case(known)) {
            return (*extension).into();
        }
        // It is somebody's text, and becomes the name of a file.
        let name: String =
            kind.rsplit('/').next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        if name.is_empty() { "bin".into() } else { name.chars().take(12).collect::<String>().to_ascii_lowercase() }
    }
}

/// The bytes that a string says in base64.
pub(crate) fn decoded(node: Node<'_>) -> Option<Vec<u8>> {
    BASE64.decode(node.text()?.as_bytes()).ok()
}
