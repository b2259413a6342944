//! Rules of the modern era, 2026-07-28.

rules! { MODERN_RULES: }
