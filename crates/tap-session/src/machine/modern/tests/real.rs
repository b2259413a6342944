//! Real traffic of rounds and subscriptions: made with an official SDK on both ends.

use super::is_ours;
use crate::captures::{Capture, follow, frames};
use crate::script::told;

/// Python's mcp 2.3.0 on both ends of stdio, 2026-12: two calls at a time that ask for three inputs, and for one more; two
/// that only have a state; two subscriptions that deliver, and are cancelled.
const ROUNDS: &str = include_str!("python-rounds.jsonl");

#[test]
fn rounds_and_subscriptions_of_an_sdk_are_followed() {
    let (follower, meaning) = follow(&Capture { name: String::new(), frames: frames(ROUNDS) });
    let ours: Vec<_> = meaning.findings.iter().filter(|finding| is_ours(finding.rule)).map(told).collect();
    assert_eq!(
        ours,
        [
            "5 DEP-001 note by server: roots; told once a session",
            "5 DEP-001 note by server: sampling; told once a session",
        ]
    );
    let modern = &follower.state().modern;
    let rounds: Vec<_> = modern.rounds.iter().map(|round| (round.first.seq, round.number)).collect();
    assert_eq!(rounds, [(3, 1), (4, 1), (3, 2), (4, 2), (17, 1), (18, 1), (17, 2), (18, 2)]);
    assert_eq!(modern.waiting_rounds().count(), 0);
    // What the server sent when the client had cancelled is among it.
    let delivered = modern.subscriptions.iter().map(|this| this.n_delivered.values().sum::<u64>());
    assert_eq!(delivered.collect::<Vec<_>>(), [4, 1]);
    assert_eq!(modern.open_subscriptions().count(), 0);
}
