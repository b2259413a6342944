//! The body of the fuzz target: what must hold for every recording and every client and server, or else it panics.
//!
//! One module for two users: `fuzz_targets/play.rs` runs it for as long as one likes, `tests/fuzz.rs` runs it over the corpus
//! and mutations of it in every test run.

use tap_compare::Rules;
use tap_frame::Direction;
use tap_replay::{
    Client, ClientOptions, ClientOutput, InMemory, Options, Output, Player, Recording, Source, Unit, read_scripts,
};

/// Messages of a recording: lines with `>` of the client, others of the server.
fn units(input: &[u8]) -> Vec<Unit> {
    let lines = input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let unit = |(index, line): (usize, &[u8])| {
        let is_of_client = line.starts_with(b">");
        let number = index as u64 + 1;
        Unit {
            direction: if is_of_client { Direction::ToServer } else { Direction::ToClient },
            bytes: bytes::Bytes::copy_from_slice(&line[1..]),
            number,
            line: Some(number),
            at_ns: number * 1_000,
            conversation: 0,
            exchange: None,
            is_literal: false,
        }
    };
    lines.enumerate().map(unit).collect()
}

/// What is played to a client that says what the recorded one said, with a real server that says what the recorded one did.
fn played(units: &[Unit], pass_on: bool) -> Vec<Output> {
    let recording: Box<dyn Recording> = Box::new(InMemory::new(units.to_vec()));
    let source = Source { name: "a".into(), rules: Rules::default(), is_fixture: true, recording };
    let mut player = Player::new(vec![source], Options { pass_on, ..Options::default() });
    let mut outputs = Vec::new();
    // Twice: what is used up is missed then.
    for unit in units.iter().chain(units) {
        outputs.extend(match unit.direction {
            Direction::ToServer => player.receive(&unit.bytes),
            Direction::ToClient if pass_on => player.receive_from_server(&unit.bytes),
            Direction::ToClient => Vec::new(),
        });
    }
    outputs.extend(player.stop_waiting());
    outputs.extend(player.end());
    assert!(!player.is_waiting());
    let _ = player.report(true).json();
    outputs
}

/// Target `play`: a recording, played as a server, and as a client.
pub(crate) fn play(input: &[u8]) {
    let units = units(input);
    for pass_on in [false, true] {
        let once = played(&units, pass_on);
        assert_eq!(once, played(&units, pass_on));
        for output in once {
            if let Output::Send { bytes, .. } | Output::ToServer(bytes) = output {
                assert!(!bytes.contains(&b'\n'), "a message is one line");
            }
        }
    }
    for (_, script) in read_scripts(units.iter().cloned()) {
        let mut client = Client::new(script, ClientOptions::default());
        let mut live = units.iter().filter(|unit| unit.direction == Direction::ToClient);
        // Time only ends waiting, so that it ends.
        for now in 0..200_u64 {
            client.time(now * 10_000_000_000);
            while let Some(output) = client.poll() {
                if let ClientOutput::Send(line) = output {
                    assert!(!line.contains(&b'\n'), "a message is one line");
                }
            }
            match live.next() {
                Some(unit) => client.receive(&unit.bytes),
                None => client.server_ended(),
            }
        }
        assert!(client.is_done());
        let _ = client.verdict();
    }
}
