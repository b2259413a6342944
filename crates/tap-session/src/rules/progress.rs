//! Rules of progress, cancellation, pages, logging, pings and completion.

rules! { PROGRESS: }
