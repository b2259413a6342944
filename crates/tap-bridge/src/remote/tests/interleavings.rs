//! That in any order each request is answered once, with the server's bytes.

use proptest::prelude::*;

use super::*;

/// How a server answers.
#[derive(Debug, Clone, Copy)]
enum Way {
    Json,
    Events,
    /// The stream breaks off, and is gone on with.
    Resumed,
    Fails,
}

/// Ids and members that today's bridges lose.
fn odd_id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("9007199254740993".to_owned()),
        Just("1.0".to_owned()),
        Just("1e2".to_owned()),
        Just(r#""\ud800""#.to_owned()),
        Just("18446744073709551617".to_owned()),
        (0..50u32).prop_map(|number| number.to_string()),
        (0..50u32).prop_map(|number| format!("\"{number}\"")),
    ]
}

proptest! {
    #[test]
    fn each_request_is_answered_once_with_the_servers_bytes(
        asked in prop::collection::btree_set(odd_id(), 1..12),
        ways in prop::collection::vec(prop_oneof![Just(Way::Json), Just(Way::Events), Just(Way::Resumed), Just(Way::Fails)], 12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 60),
    ) {
        let mut bench = Bench::begun(None);
        let asked: Vec<String> = asked.into_iter().collect();
        for id in &asked {
            bench.host(&format!(r#"{{"id":{id},"method":"x","x":1.0,"x":"\ud800"}}"#));
            let exchange = *bench.sent.keys().last().unwrap();
            bench.sent(exchange);
        }
        let bodies: Vec<String> = bench.sent.values().map(|request| utf8(&request.body)).collect();
        for id in &asked {
            let body = format!(r#"{{"id":{id},"method":"x","x":1.0,"x":"\ud800"}}"#);
            prop_assert!(bodies.contains(&body));
        }
        bench.done.clear();
        let mut open: Vec<(u64, usize)> = (0..asked.len()).map(|index| (4 + index as u64, index)).collect();
        let mut now_ns = 0;
        for choice in order {
            if open.is_empty() {
                break;
            }
            let (exchange, index) = open.remove(choice.index(open.len()));
            let answer = format!(r#"{{"result":{{"k":1.0,"k":"\ud800"}},"id":{},"y":9007199254740993}}"#, asked[index]);
            match ways[index] {
                Way::Json => bench.json(exchange, 200, &answer),
                Way::Fails => bench.json(exchange, 500, ""),
                way => {
                    bench.head(exchange, 200, "text/event-stream");
                    if matches!(way, Way::Resumed) && exchange < 100 && bench.header(exchange, "Last-Event-ID").is_none() {
                        bench.events(exchange, "id: 1\ndata:\n\n");
                        bench.ended(exchange, "", None);
                        now_ns += 60_000_000_000;
                        bench.time(now_ns);
                        open.push((*bench.sent.keys().last().unwrap(), index));
                    } else {
                        bench.events(exchange, &format!("data: {answer}\n\n"));
                        bench.ended(exchange, "", Some("reset"));
                    }
                }
            }
        }
        prop_assert!(open.is_empty());
        for (id, way) in asked.iter().zip(&ways) {
            let expected = match way {
                Way::Fails => format!(
                    r#"host {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"mcp-tap: the server answered with HTTP 500"}}}}"#
                ),
                _ => format!(r#"host {{"result":{{"k":1.0,"k":"\ud800"}},"id":{id},"y":9007199254740993}}"#),
            };
            prop_assert_eq!(bench.done.iter().filter(|done| **done == expected).count(), 1, "{}", expected);
        }
        let n_answers = bench.done.iter().filter(|done| done.starts_with("host")).count();
        prop_assert_eq!(n_answers, asked.len());
    }
}
