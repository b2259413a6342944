//! Images of messages, decoded and made small: in a thread of their own, within bounds, whatever their bytes are.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use image::{ImageReader, Limits};
use tap_inspector::{Answer, PICTURE_PIXELS, Picture, Query, Ticket};

use super::asked::{Answers, Opened};

/// How many pixels an image may have. That is how much memory it takes: four bytes each, while it is made small.
const PIXELS: u64 = 16_000_000;

/// How much memory a decoder may take, bytes.
const DECODER_BYTES: u64 = 96 * 1024 * 1024;

/// As people write it: padded or not, and with bits behind the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Answers until nobody asks any more.
pub(super) fn answer_all(_opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    while let Ok((ticket, query)) = questions.recv() {
        answer(ticket, query, answers);
    }
}

/// Answers a question, unless it was withdrawn.
pub(super) fn answer(ticket: Ticket, query: Query, answers: &Answers) {
    let Query::Picture(query) = query else {
        return;
    };
    if answers.is_withdrawn(ticket) {
        return;
    }
    match decode(&query.base64) {
        Ok(picture) => {
            answers.give(ticket, Answer::Picture(Box::new(picture)));
        }
        Err(why) => answers.fail(Some(ticket), format!("this image cannot be drawn: {why}; x writes it to a file")),
    }
}

/// The pixels of an image, or why there are none. A decoder that has a fault takes nothing else with it.
fn decode(base64: &str) -> Result<Picture, String> {
    let decoded = catch_unwind(AssertUnwindSafe(|| decode_unguarded(base64)));
    decoded.unwrap_or_else(|_| Err("its bytes broke the decoder".into()))
}

fn decode_unguarded(base64: &str) -> Result<Picture, String> {
    let bytes = BASE64.decode(base64).map_err(|error| format!("no base64: {error}"))?;
    let reader = || ImageReader::new(Cursor::new(&bytes[..])).with_guessed_format();
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let (columns, rows) = reader().map_err(|error| told(&error))?.into_dimensions().map_err(|error| told(&error))?;
    let n_pixels = u64::from(columns) * u64::from(rows);
    if n_pixels > PIXELS {
        return Err(format!("it has {columns}x{rows} pixels, and {PIXELS} are the most"));
    }
    let mut reader = reader().map_err(|error| told(&error))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| told(&error))?;
    let (most_columns, most_rows) = PICTURE_PIXELS;
    let small = match image.width() <= most_columns && image.height() <= most_rows {
        true => image.into_rgba8(),
        false => image.thumbnail(most_columns, most_rows).into_rgba8(),
    };
    let columns = usize::try_from(small.width()).unwrap_or(usize::MAX);
    Ok(Picture { columns, pixels: small.pixels().map(|pixel| pixel.0).collect() })
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use image::{DynamicImage, ImageFormat, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    fn image(columns: u32, rows: u32, format: ImageFormat) -> Vec<u8> {
        let pixels = RgbaImage::from_fn(columns, rows, |x, _| image::Rgba([255, 0, if x == 0 { 255 } else { 0 }, 255]));
        let mut bytes = Cursor::new(Vec::new());
        let image = DynamicImage::ImageRgba8(pixels);
        let image = if format == ImageFormat::Jpeg { image.into_rgb8().into() } else { image };
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn images_of_all_kinds_are_decoded_and_made_small() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let picture = decode(&STANDARD.encode(image(3, 2, format))).unwrap();
            assert_eq!((picture.columns, picture.pixels.len()), (3, 6), "{format:?}");
            assert!(picture.pixels[5][0] > 200 && picture.pixels[5][3] == 255, "{format:?}");
        }
        let picture = decode(&STANDARD.encode(image(2_000, 100, ImageFormat::Png))).unwrap();
        assert_eq!((picture.columns, picture.pixels.len()), (480, 480 * 24), "no more than is drawn");
    }

    #[test]
    fn what_is_no_image_or_too_large_is_told() {
        // The head of a PNG that says that it has a billion pixels.
        let mut bomb = image(2, 2, ImageFormat::Png);
        bomb[16..24].copy_from_slice(&[0, 0, 0x7d, 0, 0, 0, 0x7d, 0]);
        let crc = crc(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&crc.to_be_bytes());
        let mut cut = image(40, 40, ImageFormat::Png);
        cut.truncate(60);
        for (bytes, expected) in [
            (STANDARD.encode(&bomb), "32000x32000 pixels"),
            (STANDARD.encode(cut), ""),
            (STANDARD.encode("no image at all"), ""),
            ("?".into(), "no base64"),
            (String::new(), ""),
        ] {
            let why = decode(&bytes).unwrap_err();
            assert!(why.contains(expected) && !why.is_empty(), "{why}");
        }
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
        })
    }

    proptest! {
        #[test]
        fn whatever_is_changed_in_an_image_it_is_decoded_or_told(
            kind in 0_usize..4, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let format = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP][kind];
            let mut bytes = image(9, 7, format);
            for (index, byte) in changes {
                *index.get_mut(&mut bytes) = byte;
            }
            if let Ok(picture) = decode(&STANDARD.encode(bytes)) {
                prop_assert!(picture.columns <= 480 && picture.pixels.len() <= 480 * 320);
            }
        }
    }
}
