//! What holds for every recording and every client.

use std::collections::HashMap;

use proptest::prelude::*;
use tap_frame::Direction;

use super::*;
use crate::message::Unit;

/// Pieces of which recordings and what clients say are made, some of them broken.
const PIECES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}"#,
    r#"{"id":"1","method":"tools/call","params":{"name":"a"}}"#,
    r#"{"id":2,"method":"tools/call","params":{"name":"b","arguments":{"k":"«uuid»"}}}"#,
    r#"{"id":2,"method":"tools/list"}"#,
    r#"{"id":1,"result":{"content":[]}}"#,
    r#"{"id":"1","result":{}}"#,
    r#"{"id":2,"error":{"code":1,"message":"x"}}"#,
    r#"{"id":null,"error":{}}"#,
    r#"{"method":"notifications/progress","params":{"progressToken":1}}"#,
    r#"{"method":"notifications/message","params":{"data":"«time»"}}"#,
    r#"{"id":1,"method":"sampling/createMessage"}"#,
    r#"{"id":2,"method":"roots/list"}"#,
    r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"method":"notifications/tools/list_changed"}"#,
    r#"{"id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"id":3,"result":{"resultType":"complete","capabilities":{}}}"#,
    r#"{"id":3,"result":{"resultType":"input_required","requestState":"s"}}"#,
    r#"{"id":4,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}"#,
    r#"[{"id":1,"method":"a"},{"id":2,"method":"tools/list"},5]"#,
    r#"[{"id":1,"result":{}},{"id":2,"result":{}}]"#,
    r#"{"id":5,"method":"ping"}"#,
    "[]",
    "{",
    "",
    "a banner",
    r#"{"id":{},"method":7}"#,
];

pub(crate) fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        20 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (prop::sample::select(PIECES), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(piece, at, byte)| {
            let mut bytes = piece.as_bytes().to_vec();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        }),
    ]
}

pub(crate) fn recording() -> impl Strategy<Value = Vec<Unit>> {
    let unit = (any::<bool>(), piece(), 1..3_u64, prop::option::weighted(0.1, 1..4_u64));
    prop::collection::vec(unit, 0..40).prop_map(|units| {
        let units = units.into_iter().enumerate();
        units
            .map(|(index, (to_server, bytes, conversation, exchange))| Unit {
                direction: if to_server { Direction::ToServer } else { Direction::ToClient },
                bytes: bytes.into(),
                number: index as u64 + 1,
                line: None,
                at_ns: index as u64,
                conversation,
                exchange,
                is_literal: false,
            })
            .collect()
    })
}

fn options() -> impl Strategy<Value = Options> {
    let order = prop::sample::select(vec![Order::Any, Order::Strict]);
    let repeat = prop::sample::select(vec![Repeat::Safe, Repeat::Never, Repeat::All]);
    let unmatched = prop::sample::select(vec![Unmatched::Error, Unmatched::Closest]);
    (order, repeat, unmatched, any::<bool>(), any::<bool>()).prop_map(|(order, repeat, unmatched, strict, no_cache)| {
        Options { order, repeat, unmatched, strict_replies: strict, no_cache, ..Options::default() }
    })
}

pub(crate) fn of(units: &[Unit], options: &Options) -> Player {
    let recording = Box::new(InMemory::new(units.to_vec()));
    let source = Source { name: "a".into(), rules: Rules::default(), is_fixture: true, recording };
    Player::new(vec![source], options.clone())
}

fn play(units: &[Unit], options: &Options, said: &[Vec<u8>]) -> Vec<Output> {
    let mut player = of(units, options);
    let mut outputs: Vec<Output> = said.iter().flat_map(|line| player.receive(line)).collect();
    outputs.extend(player.end());
    let _ = player.report(true).json();
    outputs
}

proptest! {
    #[test]
    fn the_same_input_gives_the_same_bytes_and_nothing_panics(
        units in recording(),
        options in options(),
        said in prop::collection::vec(piece(), 0..30),
    ) {
        let first = play(&units, &options, &said);
        prop_assert_eq!(&first, &play(&units, &options, &said));
        for output in &first {
            if let Output::Miss(miss) = output {
                let _ = miss.text();
            }
        }
    }
}

/// A recording with progress, log messages, what is asked of the client, and what the server says on its own.
fn rich() -> String {
    with_opening(
        r#"<- {"id":0,"method":"roots/list"}
           -> {"id":0,"result":{"roots":[]}}
           -> {"id":1,"method":"tools/list"}
           <- {"id":1,"result":{"tools":[]}}
           -> {"id":2,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":2}}}
           <- {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
           <- {"method":"notifications/progress","params":{"progressToken":2,"progress":2}}
           <- {"id":2,"result":{"long":1}}
           -> {"id":3,"method":"tools/call","params":{"name":"ask"}}
           <- {"id":1,"method":"sampling/createMessage"}
           -> {"id":1,"result":{"text":"x"}}
           <- {"method":"notifications/message","params":{"data":"asked"}}
           <- {"id":3,"result":{"ask":1}}
           <- {"method":"notifications/tools/list_changed"}
           -> {"id":4,"method":"tools/call","params":{"name":"plain"}}
           -> {"id":5,"method":"tools/call","params":{"name":"plain"}}
           <- {"id":5,"result":{"plain":2}}
           <- {"id":4,"result":{"plain":1}}"#,
    )
}

const CALLS: [&str; 5] = [
    r#"{"id":ID,"method":"tools/list"}"#,
    r#"{"id":ID,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":TOKEN}}}"#,
    r#"{"id":ID,"method":"tools/call","params":{"name":"ask"}}"#,
    r#"{"id":ID,"method":"tools/call","params":{"name":"plain"}}"#,
    r#"{"id":ID,"method":"tools/call","params":{"name":"plain"}}"#,
];

const ID_TYPES: [fn(usize) -> String; 4] =
    [|n| n.to_string(), |n| format!("\"{n}\""), |n| format!("{n}.0"), |n| format!("\"\\u00e9-{n}\"")];

/// Says all calls in an order, answers what is asked at once or later, and gives everything that was sent.
fn dialogue(order: &[usize], ids: fn(usize) -> String, answers_late: bool) -> Vec<Vec<u8>> {
    let mut player = player(&rich(), Options::default());
    let mut sent = Vec::new();
    let mut asked = Vec::new();
    let opened: Vec<&str> = OPENED.lines().filter_map(|line| line.strip_prefix("-> ")).collect();
    let calls: Vec<String> =
        order.iter().map(|call| CALLS[*call].replace("ID", &ids(*call)).replace("TOKEN", &ids(*call))).collect();
    let mut lines: std::collections::VecDeque<Vec<u8>> =
        opened.iter().map(|line| line.as_bytes().to_vec()).chain(calls.into_iter().map(String::into_bytes)).collect();
    while let Some(line) = lines.pop_front() {
        for output in player.receive(&line) {
            match output {
                Output::Send { bytes, .. } => {
                    let [id, method] = Node::new(&bytes).pick(["id", "method"]);
                    if let (Some(id), Some(_)) = (id, method) {
                        asked.push([b"{\"id\":", id.bytes(), b",\"result\":{\"roots\":[],\"text\":\"x\"}}"].concat());
                    }
                    sent.push(bytes);
                }
                Output::Note(_) => {}
                other => panic!("{other:?} for {}", String::from_utf8_lossy(&line)),
            }
        }
        if !answers_late || lines.is_empty() {
            lines.extend(asked.drain(..));
        }
    }
    assert!(!player.is_waiting());
    assert!(player.report(true).is_clean());
    sent
}

#[test]
fn every_request_is_answered_exactly_once_in_all_orders_and_with_all_types_of_ids() {
    let mut orders = vec![Vec::new()];
    for _ in 0..CALLS.len() {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let rest = (0..CALLS.len()).filter(|call| !order.contains(call)).collect::<Vec<_>>();
                rest.into_iter().map(move |call| [order.clone(), vec![call]].concat())
            })
            .collect();
    }
    assert_eq!(orders.len(), 120);
    let mut n_messages = None;
    for order in &orders {
        for ids in ID_TYPES {
            for answers_late in [false, true] {
                let sent = dialogue(order, ids, answers_late);
                let mut answers: HashMap<Vec<u8>, usize> = HashMap::new();
                for message in &sent {
                    let [id, method] = Node::new(message).pick(["id", "method"]);
                    if let (Some(id), None) = (id, method) {
                        *answers.entry(id.bytes().to_vec()).or_default() += 1;
                    }
                }
                for call in 0..CALLS.len() {
                    assert_eq!(answers.get(ids(call).as_bytes()), Some(&1), "{order:?}");
                }
                // Nothing is lost, whatever the order.
                assert_eq!(*n_messages.get_or_insert(sent.len()), sent.len(), "{order:?}");
            }
        }
    }
}

#[test]
fn a_thousand_runs_give_one_result() {
    let first = dialogue(&[2, 4, 0, 3, 1], ID_TYPES[1], true);
    for _ in 0..1_000 {
        assert_eq!(dialogue(&[2, 4, 0, 3, 1], ID_TYPES[1], true), first);
    }
}
