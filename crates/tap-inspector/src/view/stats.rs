//! Figures of a session, a line a tool.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::model::{Inspector, Open};

impl Inspector {
    pub(super) fn draw_stats(&self, _frame: &mut Frame<'_>, _area: Rect, _open: &Open) {}
}
