//! The exact bytes of the server's events, and the clock that they are stamped with.

use std::io::Write;

use nix::time::{ClockId, clock_gettime};
use tap_echo_server::reply;

/// Nanoseconds of the clock that all processes of a machine share and nobody sets; zero where there is none.
#[must_use]
pub fn now_ns() -> u64 {
    let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return 0 };
    let nanoseconds = i128::from(now.tv_sec()) * 1_000_000_000 + i128::from(now.tv_nsec());
    u64::try_from(nanoseconds).unwrap_or(0)
}

/// Appends an event with a notification: which one it is of its stream, counted from 0, and when it was made.
///
/// `stream` is JSON as it was written.
pub fn notification(out: &mut Vec<u8>, stream: &str, number: usize, made_at_ns: u64) {
    begin(out, number);
    // A `Vec` takes all that is written to it.
    let _ = write!(
        out,
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{{"stream":{stream},"event":{number},{MADE_AT}{made_at_ns}}}}}}}"#
    );
    out.extend_from_slice(END);
}

/// Appends the event with the answer to a call of the tool `stream`; `text` is JSON, quotes included.
pub fn answer(out: &mut Vec<u8>, number: usize, id: &str, text: &str) {
    begin(out, number);
    reply::echo(out, id, text);
    out.extend_from_slice(END);
}

/// When the notification in this event was made, as it says itself; `None` for another event.
#[must_use]
pub fn made_at_ns(event: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(event).ok()?;
    let (_, after) = text.split_once(MADE_AT)?;
    let (digits, _) = after.split_once('}')?;
    digits.parse().ok()
}

/// What ends each event.
pub const END: &[u8] = b"\n\n";

const MADE_AT: &str = r#""made_at_ns":"#;

fn begin(out: &mut Vec<u8>, number: usize) {
    let _ = write!(out, "id: {number}\nevent: message\ndata: ");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_says_when_it_was_made() {
        let mut out = Vec::new();
        notification(&mut out, "\"a\"", 3, 17);
        let expected = concat!(
            "id: 3\nevent: message\ndata: ",
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"stream":"a","event":3,"made_at_ns":17}}}"#,
            "\n\n"
        );
        assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
        assert_eq!(made_at_ns(&out), Some(17));
    }

    #[test]
    fn an_answer_does_not() {
        let mut out = Vec::new();
        answer(&mut out, 1, "7", "\"x\"");
        let expected = concat!(
            "id: 1\nevent: message\ndata: ",
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"x"}],"isError":false}}"#,
            "\n\n"
        );
        assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
        assert_eq!(made_at_ns(&out), None);
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let first = now_ns();
        assert!(0 < first && first <= now_ns());
    }
}
