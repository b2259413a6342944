//! Rules of tasks.

rules! { TASKS: }
