//! The only way from a recording to the screen: controls made visible, widths measured, ends cut.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tap_text::{column, cut, shown};
use unicode_width::UnicodeWidthStr;

/// A piece of a line.
pub(crate) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(shown(text, false), style)
}

/// A piece of a line, cut and padded to so many columns.
pub(crate) fn cell(text: &str, width: usize, style: Style) -> Span<'static> {
    Span::styled(column(&shown(text, false), width), style)
}

/// The same, standing on the right.
pub(crate) fn right(text: &str, width: usize, style: Style) -> Span<'static> {
    let text = cut(&shown(text, false), width);
    let padding = width.saturating_sub(text.width());
    Span::styled(" ".repeat(padding) + &text, style)
}

/// Cuts a line to so many columns, and pads it so that its style reaches to the edge.
pub(crate) fn fitted(line: Line<'static>, width: usize, whole: Style) -> Line<'static> {
    let mut used = 0;
    let mut spans = Vec::with_capacity(line.spans.len() + 1);
    for piece in line.spans {
        let room = width.saturating_sub(used);
        if room == 0 {
            break;
        }
        let text = cut(&piece.content, room);
        used += text.width();
        spans.push(Span::styled(text, piece.style.patch(whole)));
    }
    spans.push(Span::styled(" ".repeat(width.saturating_sub(used)), whole));
    Line::from(spans)
}
