//! Words with a fixed meaning inside params and results: types of content, levels, statuses, kinds of result.

use crate::revision::Revision;

/// Where a block of content stands; each place takes other types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentPlace {
    /// In the result of a tool, in a prompt's messages, and inside a `tool_result` block.
    ToolOrPrompt,
    /// In the messages of a sampling request, and in its result.
    Sampling,
}

/// The values of `type` that a block of content may have.
///
/// Source: `ContentBlock`, `SamplingMessage` and what came before them in each schema.
#[must_use]
pub const fn content_types(place: ContentPlace, revision: Revision) -> &'static [&'static str] {
    match (place, revision) {
        (ContentPlace::ToolOrPrompt, Revision::V2024_11_05) => &["text", "image", "resource"],
        (ContentPlace::ToolOrPrompt, Revision::V2025_03_26) => &["text", "image", "audio", "resource"],
        (ContentPlace::ToolOrPrompt, Revision::V2025_06_18 | Revision::V2025_11_25 | Revision::V2026_07_28) => {
            &["text", "image", "audio", "resource_link", "resource"]
        }
        (ContentPlace::Sampling, Revision::V2024_11_05) => &["text", "image"],
        (ContentPlace::Sampling, Revision::V2025_03_26 | Revision::V2025_06_18) => &["text", "image", "audio"],
        (ContentPlace::Sampling, Revision::V2025_11_25 | Revision::V2026_07_28) => {
            &["text", "image", "audio", "tool_use", "tool_result"]
        }
    }
}

/// The levels of log messages, least severe first, in every revision.
///
/// Source: server/utilities/logging; RFC 5424, 6.2.1.
pub const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// How severe a level is: 0 for `debug`, 7 for `emergency`.
#[must_use]
pub fn log_level(name: &str) -> Option<u8> {
    (0..).zip(LOG_LEVELS).find(|(_, level)| *level == name).map(|(severity, _)| severity)
}

/// The statuses of a task, in 2025-11-25 and in the tasks extension.
///
/// Source: 2025-11-25, basic/utilities/tasks, Task Status; ext-tasks 2026-07-28, Task Status.
pub const TASK_STATUSES: [&str; 5] = ["working", "input_required", "completed", "failed", "cancelled"];

/// Whether a task stays for ever in this status.
#[must_use]
pub fn is_terminal(task_status: &str) -> bool {
    matches!(task_status, "completed" | "failed" | "cancelled")
}

/// The values of `resultType` that the core knows in the modern era; extensions add theirs.
///
/// Source: 2026-07-28, basic/index, ResultType.
pub const RESULT_TYPES: [&str; 2] = ["complete", "input_required"];

/// The `resultType` that the tasks extension adds: the result is a task.
///
/// Source: ext-tasks 2026-07-28, Polymorphic Results.
pub const TASK_RESULT_TYPE: &str = "task";

/// The values of `cacheScope`.
///
/// Source: 2026-07-28, server/utilities/caching.
pub const CACHE_SCOPES: [&str; 2] = ["public", "private"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_up_from_debug() {
        for (name, expected) in [("debug", Some(0)), ("warning", Some(3)), ("emergency", Some(7)), ("warn", None)] {
            assert_eq!(log_level(name), expected, "{name}");
        }
    }

    #[test]
    fn the_last_three_statuses_are_terminal() {
        assert_eq!(TASK_STATUSES.map(is_terminal), [false, false, true, true, true]);
        assert!(!is_terminal("done"));
    }
}
