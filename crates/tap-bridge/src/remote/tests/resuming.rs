//! Streams that break off: which are gone on with, when, and from where.

use super::*;

const RETRY_OF_TEST: u64 = 1_000_000_000;

#[test]
fn a_stream_that_broke_off_is_gone_on_with_where_it_was() {
    let mut bench = Bench::begun(None);
    bench.host(&ask("1"));
    bench.sent(4);
    bench.head(4, 200, "text/event-stream");
    bench.done.clear();
    bench.events(4, "id: e1\nretry: 500\ndata:\n\n");
    bench.ended(4, "", Some("reset"));
    bench.check(&[]);
    assert_eq!(bench.server.timeout_ns(), Some(500_000_000));
    bench.time(500_000_000);
    bench.check(&["5 Get http://host/mcp "]);
    assert_eq!(bench.header(5, "Last-Event-ID"), Some("e1"));
    bench.head(5, 200, "text/event-stream");
    bench.events(5, "id: e2\ndata: {\"id\":1,\ndata: \"result\":{}}\n\n");
    bench.ended(5, "", None);
    bench.check(&[r#"host {"id":1, "result":{}}"#]);
    // One that cannot be gone on with is an error.
    bench.host(&ask("2"));
    bench.sent(6);
    bench.head(6, 200, "text/event-stream");
    bench.events(6, "id: e3\ndata:\n\n");
    bench.ended(6, "", None);
    bench.time(2_000_000_000);
    bench.json(7, 405, "");
    assert!(bench.done.last().unwrap().contains("HTTP 405"), "{:?}", bench.done);
}

#[test]
fn a_stream_whose_events_ids_cannot_be_sent_back_is_not_gone_on_with() {
    for id in ["é", "a\u{7f}", " a ", "☃"] {
        let mut bench = Bench::begun(None);
        bench.host(&ask("1"));
        bench.sent(4);
        bench.head(4, 200, "text/event-stream");
        bench.done.clear();
        // The id before does not count any more.
        bench.events(4, &format!("id: e1\ndata:\n\nid: {id}\ndata:\n\n"));
        bench.ended(4, "", Some("reset"));
        assert_eq!(bench.done.len(), 1, "{id}: {:?}", bench.done);
        assert!(bench.done[0].starts_with(r#"host {"jsonrpc":"2.0","id":1,"error""#), "{id}: {:?}", bench.done);
        assert_eq!(bench.server.timeout_ns(), None);
    }
}

#[test]
fn how_long_a_stream_is_waited_for_is_the_servers_to_choose_within_bounds() {
    const S: u64 = 1_000_000_000;
    for (event, expected) in [
        // It says nothing of it.
        ("", &[S, 2 * S, 4 * S, 8 * S, 16 * S, 30 * S, 30 * S][..]),
        // At once is not for ever at once.
        ("retry: 0\n\n", &[S / 10, 2 * S, 4 * S, 8 * S, 16 * S, 30 * S, 30 * S]),
        ("id: 1\nretry: 0\ndata:\n\n", &[S / 10, 2 * S, 4 * S, 8 * S]),
        ("retry: 5000\n\n", &[5 * S, 5 * S, 5 * S, 8 * S, 16 * S]),
        // It has its clients come back, and goes on each time.
        ("id: 1\nretry: 5000\ndata:\n\n", &[5 * S; 12]),
        ("retry: 60000\n\n", &[60 * S; 5]),
        ("retry: 18446744073709551615\n\n", &[600 * S, 600 * S]),
        ("retry: 0\ndata: {\"method\":\"x\"}\n\n", &[S / 10, S / 10, S / 10]),
    ] {
        let mut bench = Bench::begun(None);
        let mut now_ns = 0;
        for (index, wait_ns) in expected.iter().enumerate() {
            let exchange = 3 + index as u64;
            bench.head(exchange, 200, "text/event-stream");
            bench.events(exchange, event);
            bench.ended(exchange, "", None);
            now_ns += wait_ns;
            assert_eq!(bench.server.timeout_ns(), Some(now_ns), "{event:?}, time {index}");
            bench.time(now_ns);
        }
    }
}

#[test]
fn the_stream_of_the_servers_own_messages_is_kept_open_if_the_server_has_one() {
    let mut bench = Bench::begun(None);
    bench.head(3, 200, "text/event-stream");
    bench
        .events(3, "data: {\"method\":\"notifications/tools/list_changed\"}\n\n: comment\n\nevent: other\ndata: x\n\n");
    bench.check(&[r#"host {"method":"notifications/tools/list_changed"}"#]);
    bench.ended(3, "", None);
    bench.time(RETRY_OF_TEST);
    bench.check(&["4 Get http://host/mcp "]);
    bench.json(4, 405, "");
    bench.time(100 * RETRY_OF_TEST);
    bench.check(&[]);
    assert_eq!(bench.server.timeout_ns(), None);
}
