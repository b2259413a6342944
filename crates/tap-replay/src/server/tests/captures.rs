//! Real traffic, where it is at hand: each recorded client is played its own recording, and must get all of it.

use std::path::Path;

use tap_frame::Direction;

use super::*;
use crate::message::{Role, Unit};
use crate::script::Script;

/// The captures of stdio beside this repository. Says so where there are none.
pub(crate) fn captures() -> Vec<(String, Vec<Unit>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return Vec::new();
    };
    let mut captures: Vec<_> = files
        .map(|file| {
            let path = file.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("text");
            (path.file_name().expect("a name").to_string_lossy().into_owned(), of_capture(&text))
        })
        .filter(|(_, units)| !units.is_empty())
        .collect();
    captures.sort_by(|one, other| one.0.cmp(&other.0));
    captures
}

fn of_capture(text: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    for entry in text.lines().map(|line| Node::new(line.as_bytes())) {
        let [direction, line] = entry.pick(["dir", "line"]);
        let direction = match direction.and_then(Node::text).as_deref() {
            Some("c2s") => Direction::ToServer,
            Some("s2c") => Direction::ToClient,
            _ => continue,
        };
        let Some(line) = line.and_then(Node::text) else {
            continue;
        };
        units.push(Unit {
            direction,
            bytes: format!("{line}\n").into(),
            number: units.len() as u64 + 1,
            line: None,
            at_ns: 0,
            conversation: 0,
            exchange: None,
            is_literal: false,
        });
    }
    units
}

#[test]
fn each_recorded_client_gets_all_of_its_own_recording() {
    let (mut n_messages, mut n_in_order) = (0, 0);
    for (name, units) in captures() {
        let mut script = Script::new();
        units.iter().for_each(|unit| script.push(unit));
        let recording = Box::new(InMemory::new(units.clone()));
        let source = Source { name: name.clone(), rules: Rules::default(), is_fixture: false, recording };
        let mut player = Player::new(vec![source], Options::default());
        let said = units.iter().filter(|unit| unit.direction == Direction::ToServer);
        let mut outputs: Vec<Output> = said.flat_map(|unit| player.receive(&unit.bytes)).collect();
        outputs.extend(player.end());
        let sent = outputs.into_iter().filter_map(|output| match output {
            Output::Send { bytes, .. } => Some(String::from_utf8(bytes).expect("text")),
            Output::Miss(_) | Output::Note(_) | Output::Exit | Output::ToServer(_) | Output::Learned(_) => None,
        });
        // What nobody answered in the recording is answered with an error here, and a sign of life always is.
        let is_answer_to_ping = |line: &str| line.ends_with("\"result\":{}}") || line.contains("\"result\":{},");
        let is_ours = |line: &String| line.contains("\"code\":-31001") || is_answer_to_ping(line);
        let sent: Vec<String> = sent.filter(|line| !is_ours(line)).collect();
        // Of a call that was cancelled nothing more is said, whatever the server still said.
        let is_too_late = |index: usize, role: Role| match role {
            Role::Inside(interaction) | Role::Answer(interaction) => {
                script.interactions()[interaction].cancelled_by.is_some_and(|cancelled| cancelled < index)
            }
            _ => false,
        };
        let recorded =
            script.messages().iter().enumerate().filter(|(index, message)| {
                message.direction == Direction::ToClient && !is_too_late(*index, message.role)
            });
        let recorded = recorded
            .map(|(_, message)| String::from_utf8_lossy(message.body.as_deref().unwrap_or_default()).into_owned());
        let recorded: Vec<String> = recorded.filter(|line| !is_ours(line)).collect();
        n_messages += recorded.len();
        n_in_order += usize::from(sent == recorded);
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        let (sent, recorded) = (sorted(sent), sorted(recorded));
        let missing: Vec<_> = recorded.iter().filter(|line| !sent.contains(line)).collect();
        let more: Vec<_> = sent.iter().filter(|line| !recorded.contains(line)).collect();
        assert!(missing.is_empty() && more.is_empty(), "{name}\nmissing {missing:#?}\ntoo much {more:#?}");
        assert_eq!(sent.len(), recorded.len(), "{name}");
    }
    println!("{n_messages} messages; {n_in_order} conversations in the very same order");
}
