//! The open brackets: a stack of bits.

/// The open containers, one bit each: set for an object.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenContainers {
    depth: usize,
    /// Whole words of bits, outermost first.
    outer: Vec<u64>,
    /// The innermost up to 64, the innermost of all in the lowest bit.
    inner: u64,
}

impl OpenContainers {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    /// Whether the innermost is an object.
    pub(super) fn is_object(&self) -> bool {
        self.inner & 1 == 1
    }

    pub(super) fn push(&mut self, is_object: bool) {
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
        }
        self.inner = self.inner << 1 | u64::from(is_object);
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }

    pub(super) fn clear(&mut self) {
        self.depth = 0;
        self.outer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_come_back_in_reverse() {
        // Longer than two words, without a period that divides 64.
        let pushed: Vec<bool> = (0..200).map(|index| index % 3 == 0 || index % 7 == 0).collect();
        let mut open = OpenContainers::default();
        for &is_object in &pushed {
            open.push(is_object);
        }
        for (index, &is_object) in pushed.iter().enumerate().rev() {
            assert_eq!((open.depth(), open.is_object()), (index + 1, is_object));
            open.pop();
            // Up and down across the border of a word.
            open.push(!is_object);
            assert_eq!(open.is_object(), !is_object);
            open.pop();
        }
        assert!(open.is_empty());
    }
}
