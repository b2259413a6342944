//! What holds for every recording and every server.

use proptest::prelude::*;
use tap_compare::{Depth, Loose, PathPattern, ToolRules};

use super::*;
use crate::message::Unit;
use crate::options::Options;
use crate::server::tests::any::{of, piece, recording};
use crate::server::{Output, Player};

pub(super) fn script_of(units: &[Unit]) -> Script {
    let mut script = Script::new();
    units.iter().for_each(|unit| script.push(unit));
    script
}

/// Runs until nothing happens any more: what is said is heard by a server, whose words come in an order that `shuffle` says.
pub(super) fn against(mut client: Client, player: &mut Player, shuffle: &[u8]) -> Client {
    let mut on_their_way: Vec<Vec<u8>> = Vec::new();
    let mut now_ns = 0;
    for turn in 0..10_000_usize {
        while let Some(output) = client.poll() {
            if let ClientOutput::Send(line) = output {
                for output in player.receive(&line) {
                    if let Output::Send { bytes, .. } = output {
                        on_their_way.push(bytes);
                    }
                }
            }
        }
        if client.is_done() {
            return client;
        }
        if on_their_way.is_empty() {
            now_ns = client.deadline_ns().expect("whoever waits says until when").max(now_ns);
            client.time(now_ns);
        } else {
            let at = shuffle.get(turn % shuffle.len().max(1)).map_or(0, |at| *at as usize % on_their_way.len());
            client.receive(&on_their_way.remove(at));
        }
    }
    panic!("it does not end");
}

/// A conversation of calls that overlap, with questions of the server's and progress.
fn conversation() -> impl Strategy<Value = String> {
    let call = (any::<bool>(), 0..3_u8, 0..4_u8, 0..3_usize);
    prop::collection::vec(call, 1..8).prop_map(|calls| {
        let mut out = String::from(
            r#"-> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}}}}
            <- {"id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{}}}
            -> {"method":"notifications/initialized"}
            -> {"id":"l1","method":"tools/list"}
            -> {"id":"p","method":"prompts/list","params":{}}
            <- {"id":"l1","result":{"tools":[{"name":"t"}],"nextCursor":"2"}}
            -> {"id":"l2","method":"tools/list","params":{"cursor":"2"}}
            <- {"id":"p","result":{"prompts":[]}}
            <- {"method":"notifications/tools/list_changed"}
            <- {"id":"l2","result":{"tools":[{"name":"u"}]}}
            "#,
        );
        let mut waiting: Vec<String> = Vec::new();
        for (index, (is_text, kind, argument, n_waiting)) in calls.into_iter().enumerate() {
            let number = 100 + index;
            let id = if is_text { format!("\"r{number}\"") } else { number.to_string() };
            let arguments = format!(r#"{{"k":{argument},"n":{index}}}"#);
            let params = format!(r#"{{"name":"t","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}"#);
            let _ = writeln!(out, r#"-> {{"id":{id},"method":"tools/call","params":{params}}}"#);
            let mut answer = String::new();
            if kind == 1 {
                let params = format!(r#"{{"progressToken":{id},"progress":1}}"#);
                let _ = writeln!(answer, r#"<- {{"method":"notifications/progress","params":{params}}}"#);
            }
            if kind == 2 && waiting.is_empty() {
                let params = format!(r#"{{"n":{index}}}"#);
                let _ = writeln!(out, r#"<- {{"id":{number},"method":"sampling/createMessage","params":{params}}}"#);
                let _ = writeln!(out, r#"-> {{"id":{number},"result":{{"text":"{number}"}}}}"#);
            }
            let content = format!(r#"[{{"type":"text","text":"answer {number}"}}]"#);
            let _ = writeln!(answer, r#"<- {{"id":{id},"result":{{"content":{content}}}}}"#);
            waiting.push(answer);
            while waiting.len() > n_waiting {
                // The newest first: answers come in any order.
                out.extend(waiting.pop());
            }
        }
        waiting.into_iter().for_each(|answer| out.push_str(&answer));
        out
    })
}

fn dials() -> impl Strategy<Value = ToolRules> {
    let depth = prop::sample::select(vec![None, Some(Depth::Exact), Some(Depth::Shape), Some(Depth::Status)]);
    let loose =
        prop::collection::btree_set(prop::sample::select(vec![Loose::Numbers, Loose::Case, Loose::Space]), 0..3);
    let paths = ["arg.k", "result.content", "result.**.text", "params.n"];
    let paths = paths.map(|path| PathPattern::parse(path).expect("a path"));
    let ignore = prop::sample::subsequence(paths.to_vec(), 0..4);
    (depth, loose, ignore).prop_map(|(compare, loose, ignore)| ToolRules {
        compare,
        loose,
        ignore,
        ..ToolRules::default()
    })
}

proptest! {
    #[test]
    fn a_server_that_plays_the_recording_is_the_same_in_whatever_order_it_answers(
        text in conversation(),
        all in dials(),
        shuffle in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let units = units(&text);
        let options = ClientOptions { rules: Rules { all, ..Rules::default() }, ..ClientOptions::default() };
        let client = Client::new(script_of(&units), options);
        let client = against(client, &mut of(&units, &Options::default()), &shuffle);
        let verdict = client.verdict();
        prop_assert!(verdict.is_same(), "{text}\n{}", told(&verdict));
        prop_assert!(verdict.checks.iter().all(|check| check.outcome == Outcome::Same));
    }

    #[test]
    fn nothing_panics_and_everything_ends(
        units in recording(),
        said in prop::collection::vec(piece(), 0..30),
        is_fixture in any::<bool>(),
        read_only in any::<bool>(),
    ) {
        let options = ClientOptions { is_fixture, read_only, ..ClientOptions::default() };
        // Against a player, and against somebody who says anything.
        let client = Client::new(script_of(&units), options.clone());
        let _ = against(client, &mut of(&units, &Options::default()), &[]).verdict();
        let play = || {
            let mut client = Client::new(script_of(&units), options.clone());
            let mut outputs = Vec::new();
            for line in &said {
                outputs.extend(std::iter::from_fn(|| client.poll()));
                client.receive(line);
            }
            for _ in 0..1_000 {
                outputs.extend(std::iter::from_fn(|| client.poll()));
                match client.deadline_ns() {
                    Some(deadline_ns) if !client.is_done() => client.time(deadline_ns),
                    _ => break,
                }
            }
            let is_done = client.is_done();
            client.server_ended();
            outputs.extend(std::iter::from_fn(|| client.poll()));
            (outputs, is_done, client.verdict())
        };
        let first = play();
        prop_assert!(first.1, "it does not end");
        prop_assert_eq!(first, play());
    }
}
