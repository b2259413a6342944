//! An image out of a message, drawn in half blocks: two pixels a cell, one over the other.
//!
//! Somebody else decodes it and makes it small; here its pixels are put on the screen. Where a terminal has too few colours
//! for that, an image is told by its type and size alone.

use ratatui::Frame;
use ratatui::buffer::Cell;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::effect::{Effect, Query, Ticket};
use crate::model::{Inspector, Overlay};
use crate::text::span;

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colours {
    /// None, or too few for an image.
    #[default]
    Few,
    /// The 256 of xterm.
    Indexed,
    /// All.
    True,
}

/// Columns and rows of pixels that are wanted at most: more than a terminal is likely to have, so that another size of it needs
/// no other pixels.
pub const PICTURE_PIXELS: (u32, u32) = (480, 320);

/// An image that is wanted as pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureQuery {
    /// The bytes of the image, in base64 as the message has them.
    pub base64: String,
}

/// Pixels of an image, at most [`PICTURE_PIXELS`] of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Columns of pixels.
    pub columns: usize,
    /// Red, green, blue, and how opaque it is, row by row.
    pub pixels: Vec<[u8; 4]>,
}

impl Picture {
    fn rows(&self) -> usize {
        self.pixels.len().checked_div(self.columns).unwrap_or(0)
    }

    /// The pixel at a place; `None` where what is below is seen.
    fn at(&self, column: usize, row: usize) -> Option<[u8; 3]> {
        let [red, green, blue, opacity] = *self.pixels.get(row * self.columns + column)?;
        (opacity >= 128).then_some([red, green, blue])
    }

    /// How many columns and rows of pixels it has on a screen with room for so many.
    fn fitting(&self, columns: usize, rows: usize) -> (usize, usize) {
        let (own_columns, own_rows) = (self.columns.max(1), self.rows().max(1));
        // As it is where there is room, else as wide or as high as that is; never distorted.
        let share = (columns as f64 / own_columns as f64).min(rows as f64 / own_rows as f64).min(1.0);
        let scaled = |n: usize, most: usize| ((n as f64 * share).round() as usize).clamp(1, most.max(1));
        (scaled(own_columns, columns), scaled(own_rows, rows))
    }
}

/// An image that is shown over everything.
#[derive(Debug)]
pub(crate) struct Shown {
    /// What it is, in words.
    pub(crate) title: String,
    /// The question for it, while it is open.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) picture: Picture,
}

impl Inspector {
    /// The same inspector on a terminal with so many colours.
    #[must_use]
    pub fn with_colours(mut self, colours: Colours) -> Self {
        self.colours = colours;
        self
    }

    /// Has the image under the cursor drawn.
    pub(crate) fn show_picture(&mut self, effects: &mut Vec<Effect>) {
        let found = self.open.as_ref().and_then(|open| open.detail.as_ref()).and_then(|detail| detail.image());
        let Some((title, base64)) = found else {
            return self.say("no image is under the cursor", false);
        };
        if self.colours == Colours::Few {
            return self.say("this terminal has too few colours for an image; x writes it to a file", false);
        }
        let ticket = self.ticket();
        self.overlay = Some(Overlay::Picture(Shown { title, ticket: Some(ticket), picture: Picture::default() }));
        effects.push(Effect::Ask(ticket, Query::Picture(PictureQuery { base64 })));
    }

    pub(crate) fn take_picture(&mut self, ticket: Ticket, picture: Picture) {
        if let Some(Overlay::Picture(shown)) = self.overlay.as_mut()
            && shown.ticket == Some(ticket)
        {
            (shown.ticket, shown.picture) = (None, picture);
        }
    }

    /// It could not be had: why is told at the bottom.
    pub(crate) fn picture_failed(&mut self, ticket: Ticket) {
        if matches!(&self.overlay, Some(Overlay::Picture(shown)) if shown.ticket == Some(ticket)) {
            self.overlay = None;
        }
    }

    pub(crate) fn draw_picture(&self, frame: &mut Frame<'_>, area: Rect, shown: &Shown) {
        let title = tap_text::shown(&shown.title, false);
        let block = Block::bordered().title(format!(" {title}; any key closes ")).border_style(self.theme.frame);
        let inner = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        if shown.ticket.is_some() {
            frame.render_widget(Paragraph::new(Line::from(span(" decoding …", self.theme.dim))), inner);
            return;
        }
        let picture = &shown.picture;
        let (columns, rows) = picture.fitting(usize::from(inner.width), 2 * usize::from(inner.height));
        if picture.pixels.is_empty() || inner.width == 0 || inner.height == 0 {
            return;
        }
        // In the middle.
        let left = (usize::from(inner.width) - columns) / 2;
        let top = (usize::from(inner.height) - rows.div_ceil(2)) / 2;
        let sample = |column: usize, row: usize| {
            let at = |n: usize, of: usize, own: usize| (n * own / of.max(1)).min(own.saturating_sub(1));
            if row < rows {
                picture.at(at(column, columns, picture.columns), at(row, rows, picture.rows()))
            } else {
                None
            }
        };
        for row in 0..rows.div_ceil(2) {
            for column in 0..columns {
                let place = |from: u16, n: usize| from.saturating_add(u16::try_from(n).unwrap_or(u16::MAX));
                let place = (place(inner.x, left + column), place(inner.y, top + row));
                if let Some(cell) = frame.buffer_mut().cell_mut(place) {
                    self.put_pixels(cell, sample(column, 2 * row), sample(column, 2 * row + 1));
                }
            }
        }
    }

    fn put_pixels(&self, cell: &mut Cell, upper: Option<[u8; 3]>, lower: Option<[u8; 3]>) {
        let colour = |pixel| self.colour_of(pixel);
        let (sign, style) = match (upper, lower) {
            (None, None) => (" ", Style::new()),
            (Some(upper), None) => ("▀", Style::new().fg(colour(upper))),
            (None, Some(lower)) => ("▄", Style::new().fg(colour(lower))),
            (Some(upper), Some(lower)) => ("▀", Style::new().fg(colour(upper)).bg(colour(lower))),
        };
        cell.set_symbol(sign).set_style(style);
    }

    fn colour_of(&self, [red, green, blue]: [u8; 3]) -> Color {
        match self.colours {
            Colours::True => Color::Rgb(red, green, blue),
            Colours::Indexed | Colours::Few => Color::Indexed(indexed([red, green, blue])),
        }
    }
}

/// The nearest of xterm's cube of six by six by six colours, or of its greys.
fn indexed(pixel: [u8; 3]) -> u8 {
    // The levels of the cube are 0, 95, 135, 175, 215, 255.
    let level = |n: u8| if n < 48 { 0 } else { n.saturating_sub(35) / 40 }.max(u8::from(n >= 48));
    let value = |level: u8| if level == 0 { 0 } else { 55 + 40 * i32::from(level) };
    let distance =
        |shown: [i32; 3]| -> i32 { pixel.iter().zip(shown).map(|(n, shown)| (i32::from(*n) - shown).pow(2)).sum() };
    let [red, green, blue] = pixel.map(level);
    let cube = distance([red, green, blue].map(value));
    // Greys go from 8 to 238 in steps of ten.
    let mean = pixel.iter().map(|n| i32::from(*n)).sum::<i32>() / 3;
    let grey = ((mean - 3) / 10).clamp(0, 23);
    if distance([8 + 10 * grey; 3]) < cube {
        232 + u8::try_from(grey).unwrap_or(0)
    } else {
        16 + 36 * red + 6 * green + blue
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::theme::Theme;

    #[test]
    fn colours_are_the_nearest_of_xterm() {
        for (pixel, expected) in [
            ([0, 0, 0], 16),
            ([255, 255, 255], 231),
            ([255, 0, 0], 196),
            ([95, 135, 175], 67),
            ([128, 128, 128], 244),
            ([8, 8, 8], 232),
            ([250, 130, 2], 208),
        ] {
            assert_eq!(indexed(pixel), expected, "{pixel:?}");
        }
    }

    fn drawn(size: (u16, u16), picture: Picture, colours: Colours) -> ratatui::buffer::Buffer {
        let inspector = Inspector::new(Theme::terminal(), size, 0).with_colours(colours);
        let shown = Shown { title: "t".into(), ticket: None, picture };
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| inspector.draw_picture(frame, frame.area(), &shown)).unwrap();
        terminal.backend().buffer().clone()
    }

    #[test]
    fn two_pixels_stand_in_a_cell_and_what_is_transparent_is_not_drawn() {
        let (red, blue, none) = ([255, 0, 0, 255], [0, 0, 255, 255], [1, 2, 3, 0]);
        let picture = Picture { columns: 3, pixels: vec![red, none, red, blue, blue, none] };
        let buffer = drawn((5, 3), picture, Colours::True);
        let cells: Vec<_> = (1..4).map(|x| &buffer[(x, 1)]).map(|cell| (cell.symbol(), cell.fg, cell.bg)).collect();
        let (red, blue) = (Color::Rgb(255, 0, 0), Color::Rgb(0, 0, 255));
        assert_eq!(cells, [("▀", red, blue), ("▄", blue, Color::Reset), ("▀", red, Color::Reset)]);
    }

    proptest! {
        #[test]
        fn an_image_of_any_size_is_drawn_on_a_screen_of_any_size(
            size in (1_u16..90, 1_u16..40), columns in 0_usize..200, rows in 0_usize..200, few: bool,
        ) {
            let picture = Picture { columns, pixels: vec![[9, 99, 200, 255]; columns * rows] };
            let (shown_columns, shown_rows) = picture.fitting(size.0.into(), 2 * usize::from(size.1));
            prop_assert!(shown_columns <= usize::from(size.0) && shown_rows <= 2 * usize::from(size.1));
            drawn(size, picture, if few { Colours::Indexed } else { Colours::True });
        }
    }
}
