//! Two sessions beside each other: call by call, tool by tool.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::model::Inspector;

impl Inspector {
    pub(super) fn draw_compare(&self, _frame: &mut Frame<'_>, _area: Rect) {}
}
