//! What a server offers, and how that changed.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::model::{Inspector, Open};

impl Inspector {
    pub(super) fn draw_tools(&self, _frame: &mut Frame<'_>, _area: Rect, _open: &Open) {}
}
