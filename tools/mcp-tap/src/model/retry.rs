//! When a request is tried again, and how long it is waited before that.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;
use tap_models::ModelFailure;

/// How long the first wait is, where the provider does not say. Each is twice the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait that we choose.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The longest wait that a provider may ask for. Beyond it the person is told instead.
pub(super) const LONGEST_ASKED: Duration = Duration::from_secs(120);

/// Whether it may be otherwise soon.
pub(super) fn is_passing(failure: &ModelFailure) -> bool {
    match failure {
        ModelFailure::Status { status, kind, .. } => {
            // What was paid for is used up: that does not pass.
            let is_used_up = matches!(kind.as_str(), "insufficient_quota" | "billing_hard_limit_reached");
            matches!(status, 408 | 429 | 500 | 502..=504 | 520..=524 | 529) && !is_used_up
        }
        ModelFailure::Reported { kind, .. } => matches!(
            kind.as_str(),
            "overloaded_error"
                | "api_error"
                | "rate_limit_error"
                | "rate_limit_exceeded"
                | "server_error"
                | "timeout_error"
                | "UNAVAILABLE"
                | "INTERNAL"
                | "RESOURCE_EXHAUSTED"
                | "DEADLINE_EXCEEDED"
        ),
        ModelFailure::Cut | ModelFailure::Unreachable(_) => true,
        // Who waited so long does not want to wait as long again.
        ModelFailure::TimedOut(_) | ModelFailure::Malformed(_) | ModelFailure::TooLarge => false,
    }
}

/// How long the provider asks to wait.
pub(super) fn asked(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// How long we wait before a try, of which `n_failed` went before. `chance` spreads those who failed together: between half of
/// it and all of it.
pub(super) fn wait(n_failed: u32, chance: u32) -> Duration {
    let whole = FIRST_WAIT.saturating_mul(1 << n_failed.saturating_sub(1).min(16)).min(LONGEST_WAIT);
    whole.mul_f64(0.5 + 0.5 * f64::from(chance) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit_and_are_spread() {
        for (n_failed, shortest_ms, longest_ms) in
            [(1, 250, 500), (2, 500, 1_000), (3, 1_000, 2_000), (7, 15_000, 30_000), (u32::MAX, 15_000, 30_000)]
        {
            let expected = [shortest_ms, longest_ms].map(Duration::from_millis);
            assert_eq!([wait(n_failed, 0), wait(n_failed, u32::MAX)], expected);
        }
    }

    #[test]
    fn what_a_provider_asks_for_is_read() {
        let now = "2026-07-28T10:00:00Z".parse().unwrap();
        for (name, value, expected_ms) in [
            ("retry-after", "3", Some(3_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after", "Tue, 28 Jul 2026 10:00:07 GMT", Some(7_000)),
            ("retry-after", "Tue, 28 Jul 2026 09:00:00 GMT", Some(0)),
            ("retry-after-ms", "20", Some(20)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("other", "3", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(asked(&headers, now), expected_ms.map(Duration::from_millis), "{name}: {value}");
        }
    }

    #[test]
    fn what_passes_is_tried_again() {
        let status = |status, kind: &str| ModelFailure::Status { status, kind: kind.into(), message: String::new() };
        let reported = |kind: &str| ModelFailure::Reported { kind: kind.into(), message: String::new() };
        for (failure, expected) in [
            (status(429, ""), true),
            (status(529, "overloaded_error"), true),
            (status(500, ""), true),
            (status(429, "insufficient_quota"), false),
            (status(400, ""), false),
            (status(401, ""), false),
            (status(501, ""), false),
            (reported("overloaded_error"), true),
            (reported("invalid_request_error"), false),
            (ModelFailure::Cut, true),
            (ModelFailure::Unreachable(String::new()), true),
            (ModelFailure::Malformed(String::new()), false),
            (ModelFailure::TimedOut(1), false),
        ] {
            assert_eq!(is_passing(&failure), expected, "{failure:?}");
        }
    }
}
