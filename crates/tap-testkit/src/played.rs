//! A recording that is played in the test itself, without a process.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde_json::Value;
use tap_compare::Rules;
use tap_frame::{Became, Channel, Direction, Origin};
use tap_replay::{InMemory, Options, Output, Player, Source, Unit};
use tap_store::{Profile, TextFrames, Transport};

use crate::{Error, Report};

/// A recorded server in the test itself.
pub struct Played(Player);

impl Played {
    /// Reads a text recording of a session over stdio. Rules in its header hold, and `options` say the rest.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or was recorded over HTTP.
    pub fn open(recording: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let path = recording.as_ref();
        let mut frames = TextFrames::open(BufReader::new(File::open(path)?), path)?;
        if frames.transport() != Transport::Stdio {
            return Err(Error::OverHttp);
        }
        let rules = frames.rules().map_or(Ok(Rules::default()), Rules::parse);
        let rules = rules.map_err(|error| Error::Rules(error.to_string()))?;
        let (mut units, mut kept_back) = (Vec::new(), BTreeSet::new());
        while let Some(read) = frames.next_frame()? {
            let direction = read.frame.direction();
            // Where a debugger changed what went on, what the client sent and what it got.
            let is_seen = match read.frame.origin {
                Origin::Wire => true,
                Origin::Act(deed) => deed.sends() && direction == Direction::ToClient,
                Origin::Gap(_) => false,
            };
            if let (Origin::Act(deed), Some(of)) = (read.frame.origin, read.of)
                && matches!(deed.became(), Became::Replaced | Became::Stopped)
            {
                kept_back.insert(of);
            }
            if read.frame.channel() == Channel::Message && is_seen {
                units.push(Unit {
                    direction,
                    number: read.frame.seq,
                    line: Some(read.place.line),
                    at_ns: read.frame.at_ns,
                    conversation: 0,
                    exchange: None,
                    is_literal: read.is_literal,
                    bytes: read.frame.message(),
                });
            }
        }
        units.retain(|unit: &Unit| unit.direction == Direction::ToServer || !kept_back.contains(&unit.number));
        let source = Source {
            name: path.to_string_lossy().into_owned(),
            rules,
            is_fixture: frames.profile() == Profile::Fixture,
            recording: Box::new(InMemory::new(units)),
        };
        Ok(Self(Player::new(vec![source], options)))
    }

    /// Says something to the server. What it says because of that, in order: progress and questions of its own, the answer.
    /// What it says that is no JSON is a text.
    pub fn say(&mut self, message: &Value) -> Vec<Value> {
        let outputs = self.0.receive(message.to_string().as_bytes());
        let said = outputs.into_iter().filter_map(|output| match output {
            Output::Send { bytes, .. } => Some(bytes),
            Output::Miss(_) | Output::Note(_) | Output::Exit | Output::ToServer(_) | Output::Learned(_) => None,
        });
        let value = |bytes: Vec<u8>| match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(_) => String::from_utf8_lossy(&bytes).into_owned().into(),
        };
        said.map(value).collect()
    }

    /// What the client did until now.
    pub fn report(&mut self) -> Report {
        let report = self.0.report(true);
        // By the same way as a report of a process, so that both are the same.
        serde_json::from_value(report.json()).unwrap_or_default()
    }
}
