//! Real traffic, where it is at hand: each recording is played by a client to itself as a server, and nothing differs.

use super::any::{against, script_of};
use super::*;
use crate::options::Options;
use crate::server::tests::any::of;
use crate::server::tests::captures::captures;

#[test]
fn each_recording_is_as_recorded() {
    let mut n_calls = 0;
    for (name, units) in captures() {
        for shuffle in [&[][..], &[3, 1, 4, 1, 5, 9, 2, 6]] {
            let client = Client::new(script_of(&units), ClientOptions::default());
            let verdict = against(client, &mut of(&units, &Options::default()), shuffle).verdict();
            assert!(verdict.is_same(), "{name}\n{}", told(&verdict));
            n_calls += verdict.checks.iter().filter(|check| check.outcome == Outcome::Same).count();
        }
    }
    println!("{n_calls} calls");
}
