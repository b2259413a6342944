//! Compressed bodies: `Content-Encoding`, undone as the bytes come.
//!
//! Source: RFC 9110, 8.4 (codings are listed in the order in which they were applied); RFC 1950 to 1952, 7932, 8878.

use std::io::{Read as _, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::exchange::Head;

/// How much is kept of one body, decoded or not, bytes. A bomb must not take all memory.
pub const BODY_LIMIT_BYTES: usize = 256 * 1024 * 1024;

/// How much any body may be decoded to, bytes. Beyond that it counts how much came on the wire.
const DECODED_BYTES: u64 = 16 * 1024 * 1024;

/// How many bytes one byte on the wire may stand for, beyond [`DECODED_BYTES`]. JSON is compressed to a tenth, perhaps a
/// fiftieth; what is made to fill the memory, to a thousandth.
const DECODED_A_BYTE: u64 = 100;

/// Codings on top of each other that are undone. More than one was never seen; a bomb may nest them.
const CODINGS: usize = 4;

/// The largest window of Zstandard that is decoded, bytes. RFC 9659 allows no more in HTTP.
const ZSTD_WINDOW_BYTES: u64 = 8 * 1024 * 1024;

const BROTLI_BUFFER_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// How a body is compressed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Codings {
    /// In the order in which they were applied.
    codings: Vec<Coding>,
    /// There is one that is not known here, or there are too many.
    unknown: bool,
}

impl Codings {
    pub(crate) fn of(head: &Head) -> Self {
        let mut this = Self::default();
        let fields = head.fields().filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        for name in fields.flat_map(|(_, value)| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii) {
            match name.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => {}
                b"gzip" | b"x-gzip" => this.codings.push(Coding::Gzip),
                b"deflate" => this.codings.push(Coding::Deflate),
                b"br" => this.codings.push(Coding::Brotli),
                b"zstd" => this.codings.push(Coding::Zstd),
                _ => this.unknown = true,
            }
        }
        this.unknown |= CODINGS < this.codings.len();
        this
    }

    pub(crate) fn is_none(&self) -> bool {
        self.codings.is_empty() && !self.unknown
    }

    /// What undoes them; `None` where nothing here does.
    pub(crate) fn decoder(&self) -> Option<Decoder> {
        let stages = || self.codings.iter().rev().map(|coding| Stage::of(*coding)).collect();
        (!self.unknown).then(|| Decoder { stages: stages(), left: DECODED_BYTES })
    }

    /// A whole body, decoded, and how many bytes of it were too many; `None` where it cannot be decoded.
    pub(crate) fn decode(&self, body: &[u8]) -> Option<(Vec<u8>, u64)> {
        let mut decoder = self.decoder()?;
        let (mut decoded, mut cut) = (Vec::new(), 0);
        decoder.feed(body, &mut decoded, &mut cut).ok()?;
        decoder.finish(&mut decoded, &mut cut).ok()?;
        Some((decoded, cut))
    }
}

/// A body that does not follow its coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// Where decoded bytes go: no more of them than there is room for.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
    cut: u64,
}

impl Bounded {
    fn take(&mut self, cut: &mut u64) -> Vec<u8> {
        *cut += std::mem::take(&mut self.cut);
        std::mem::take(&mut self.bytes)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.room.saturating_sub(self.bytes.len());
        if room == 0 && !bytes.is_empty() {
            // What follows is not looked at: to decode it takes time, and there may be no end of it.
            self.cut += bytes.len() as u64;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        Ok(kept.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Stage {
    Gzip(Box<GzDecoder<Bounded>>),
    /// Its first byte tells which of two formats it is, both of which are sent by this name.
    Deflate,
    Zlib(Box<ZlibDecoder<Bounded>>),
    RawDeflate(Box<DeflateDecoder<Bounded>>),
    Brotli(Box<DecompressorWriter<Bounded>>),
    /// All that came: the library keeps back what later bytes may refer to, so that nothing is had before the end.
    Zstd(Vec<u8>),
    /// Nothing more is decoded: the stream is over, or there was too much of it.
    Over,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Gzip(_) => "Gzip",
            Self::Deflate => "Deflate",
            Self::Zlib(_) => "Zlib",
            Self::RawDeflate(_) => "RawDeflate",
            Self::Brotli(_) => "Brotli",
            Self::Zstd(_) => "Zstd",
            Self::Over => "Over",
        };
        formatter.write_str(name)
    }
}

impl Stage {
    fn of(coding: Coding) -> Self {
        match coding {
            Coding::Gzip => Self::Gzip(Box::new(GzDecoder::new(Bounded::default()))),
            Coding::Deflate => Self::Deflate,
            Coding::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(Bounded::default(), BROTLI_BUFFER_BYTES))),
            Coding::Zstd => Self::Zstd(Vec::new()),
        }
    }

    /// Where what is decoded goes.
    fn bounded(&mut self) -> Option<&mut Bounded> {
        match self {
            Self::Gzip(decoder) => Some(decoder.get_mut()),
            Self::Zlib(decoder) => Some(decoder.get_mut()),
            Self::RawDeflate(decoder) => Some(decoder.get_mut()),
            Self::Brotli(decoder) => Some(decoder.get_mut()),
            Self::Deflate | Self::Zstd(_) | Self::Over => None,
        }
    }

    /// Decodes to no more than `room` bytes.
    fn feed(&mut self, bytes: &[u8], room: usize, cut: &mut u64) -> Result<Vec<u8>, Undecodable> {
        if let (Self::Deflate, Some(first)) = (&self, bytes.first()) {
            *self = if first & 0x0f == 8 {
                Self::Zlib(Box::new(ZlibDecoder::new(Bounded::default())))
            } else {
                Self::RawDeflate(Box::new(DeflateDecoder::new(Bounded::default())))
            };
        }
        if let Some(bounded) = self.bounded() {
            bounded.room = room;
        }
        let fed = match self {
            Self::Gzip(decoder) => push(&mut **decoder, bytes),
            Self::Zlib(decoder) => push(&mut **decoder, bytes),
            Self::RawDeflate(decoder) => push(&mut **decoder, bytes),
            Self::Brotli(decoder) => push(&mut **decoder, bytes),
            Self::Zstd(all) => {
                let room = BODY_LIMIT_BYTES.saturating_sub(all.len());
                let kept = bytes.get(..room).unwrap_or(bytes);
                all.extend_from_slice(kept);
                *cut += (bytes.len() - kept.len()) as u64;
                return Ok(Vec::new());
            }
            Self::Deflate | Self::Over => return Ok(Vec::new()),
        };
        let decoded = self.bounded().map_or_else(Vec::new, |bounded| bounded.take(cut));
        match fed {
            Ok(()) => Ok(decoded),
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                *self = Self::Over;
                Ok(decoded)
            }
            // What was decoded before the damage is not given out: where it begins is not known that exactly.
            Err(_) => {
                *self = Self::Over;
                Err(Undecodable)
            }
        }
    }

    fn finish(&mut self, room: usize, cut: &mut u64) -> Result<Vec<u8>, Undecodable> {
        match std::mem::replace(self, Self::Over) {
            Self::Zstd(all) => zstd(&all, room, cut),
            // What is missing at the end was not sent, which is known from how the exchange ended.
            Self::Gzip(_) | Self::Deflate | Self::Zlib(_) | Self::RawDeflate(_) | Self::Brotli(_) | Self::Over => {
                Ok(Vec::new())
            }
        }
    }
}

/// Writes all of it, and has it decoded as far as it goes. What follows the end of the coding is left out.
fn push(decoder: &mut impl Write, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match decoder.write(bytes) {
            Ok(0) => break,
            Ok(n_bytes) => bytes = bytes.get(n_bytes..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    decoder.flush()
}

/// All frames of Zstandard that there are, as far as there is room.
fn zstd(mut rest: &[u8], room: usize, cut: &mut u64) -> Result<Vec<u8>, Undecodable> {
    let mut decoded = Vec::new();
    while !rest.is_empty() {
        let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut rest, ZSTD_WINDOW_BYTES);
        let decoder = decoder.map_err(|_| Undecodable)?;
        let mut bounded = decoder.take((room - decoded.len()) as u64 + 1);
        // A frame that was cut off gives what there is of it.
        let read = bounded.read_to_end(&mut decoded);
        if room < decoded.len() {
            decoded.truncate(room);
            *cut += 1;
            break;
        }
        match read {
            Ok(_) => {}
            Err(_) if decoded.is_empty() => return Err(Undecodable),
            Err(_) => break,
        }
    }
    Ok(decoded)
}

/// Undoes the codings of one body.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The one that was applied last comes first.
    stages: Vec<Stage>,
    /// How many bytes may still be decoded, by all of them.
    left: u64,
}

impl Decoder {
    /// Takes the next bytes, and appends what they decode to. `cut` counts what was too much; after that nothing follows.
    pub(crate) fn feed(&mut self, bytes: &[u8], decoded: &mut Vec<u8>, cut: &mut u64) -> Result<(), Undecodable> {
        self.left = self.left.saturating_add(DECODED_A_BYTE.saturating_mul(bytes.len() as u64));
        let mut now = bytes.to_vec();
        for stage in &mut self.stages {
            now = stage.feed(&now, room(self.left), cut)?;
            self.left = self.left.saturating_sub(now.len() as u64);
        }
        append(decoded, now);
        Ok(())
    }

    /// Says that no bytes will follow, and appends what was kept back.
    pub(crate) fn finish(&mut self, decoded: &mut Vec<u8>, cut: &mut u64) -> Result<(), Undecodable> {
        let mut now = Vec::new();
        for stage in &mut self.stages {
            now = stage.feed(&now, room(self.left), cut)?;
            self.left = self.left.saturating_sub(now.len() as u64);
            let mut rest = stage.finish(room(self.left), cut)?;
            self.left = self.left.saturating_sub(rest.len() as u64);
            now.append(&mut rest);
        }
        append(decoded, now);
        Ok(())
    }
}

/// Undoes the compression of a body as its pieces come.
#[derive(Debug)]
pub struct BodyDecoder {
    /// `None` once something could not be decoded.
    decoder: Option<Decoder>,
}

impl BodyDecoder {
    /// A decoder of the body behind a head, which is text with a first line; `None` where that says of no compression.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        let fields = tap_frame::HttpHead::read(head)?.fields_text();
        let head = Head { version: String::new(), text: bytes::Bytes::copy_from_slice(fields) };
        let codings = Codings::of(&head);
        (!codings.is_none()).then(|| Self { decoder: codings.decoder() })
    }

    /// What the next bytes decode to; `None` where they, or some before them, cannot be decoded or decode to too much.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.go_on(|decoder, decoded, cut| decoder.feed(bytes, decoded, cut))
    }

    /// What was kept back until the end.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        self.go_on(Decoder::finish)
    }

    fn go_on(
        &mut self,
        work: impl FnOnce(&mut Decoder, &mut Vec<u8>, &mut u64) -> Result<(), Undecodable>,
    ) -> Option<Vec<u8>> {
        let mut decoder = self.decoder.take()?;
        let (mut decoded, mut cut) = (Vec::new(), 0);
        work(&mut decoder, &mut decoded, &mut cut).ok()?;
        if cut == 0 {
            self.decoder = Some(decoder);
        }
        Some(decoded)
    }
}

fn room(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(BODY_LIMIT_BYTES)
}

fn append(decoded: &mut Vec<u8>, mut bytes: Vec<u8>) {
    match decoded.is_empty() {
        true => *decoded = bytes,
        false => decoded.append(&mut bytes),
    }
}
