//! Who said what to whom, and what ran at the same time.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::model::{Inspector, Open};

impl Inspector {
    pub(super) fn draw_sequence(&self, _frame: &mut Frame<'_>, _area: Rect, _open: &Open) {}
}
