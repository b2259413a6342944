//! What was found in all sessions.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::model::Inspector;

impl Inspector {
    pub(super) fn draw_search(&self, _frame: &mut Frame<'_>, _area: Rect) {}
}
