//! All of a session in one line.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::model::Inspector;
use crate::overview::Sign;

/// How much passed, from little to most.
const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

impl Inspector {
    pub(super) fn draw_overview(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(open) = self.open.as_ref().filter(|_| area.height > 0) else {
            return;
        };
        let columns = usize::from(area.width);
        let cursor = self.cursor_in_overview(open);
        let signs = open.overseen.overview.signs(columns, |from, to| open.is_broken_between(from, to));
        let spans = signs.into_iter().enumerate().map(|(column, sign)| {
            let (text, style) = match sign {
                Sign::Nothing => (" ", self.theme.dim),
                Sign::Traffic(eighths) => (HEIGHTS[eighths.clamp(1, 8) - 1], self.theme.dim),
                Sign::Finding => ("!", self.theme.warning),
                Sign::Error => ("✗", self.theme.bad),
            };
            match cursor == Some(column) {
                true => Span::styled("┃", style.patch(self.theme.bold)),
                false => Span::styled(text, style),
            }
        });
        frame.render_widget(Paragraph::new(Line::from(spans.collect::<Vec<_>>())), area);
    }
}
