//! Batches, which are in revision 2025-03-26 alone and come from older peers all the same.

use tap_jsonrpc::{Content, Member, Notes, Path, Scanner, scan};

use crate::show::{WATCH, check};

#[test]
fn members_are_read_one_by_one() {
    check("[]", "Batch of 0: ");
    check("[ ]\r\n", "Batch of 0:  {carriage return}");
    check(
        r#"[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}},{"jsonrpc":"2.0","method":"b"}]"#,
        "Batch of 2: Request 2 tools/call [5]=Object [0]=\"a\"; Notification b",
    );
    check(
        r#"[{"jsonrpc":"2.0","id":3,"result":{"isError":true}},{"jsonrpc":"2.0","id":2,"error":{"code":-1}}]"#,
        "Batch of 2: Result 3 [2]=True; Error 2 [3]=-1",
    );
}

#[test]
fn a_member_that_is_no_message_keeps_its_index() {
    check(
        r#"[1,"x",[{"jsonrpc":"2.0","id":1,"method":"a"}],{},null,{"jsonrpc":"2.0","id":2,"method":"b"}]"#,
        "Batch of 6: No message, not an object:; No message, not an object:; No message, not an object:; \
         No message, has no method, result or error: {missing version}; No message, not an object:; \
         Request 2 b {missing version}",
    );
}

#[test]
fn members_do_not_mix() {
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"n"}},{"jsonrpc":"2.0","id":2},{"id":3,"id":4,"result":1}]"#,
        "Batch of 3: Request 1 a [5]=Object [0]=\"n\"; No message, has no method, result or error: 2; \
         Result 4 {duplicate member, missing version} {duplicate member, missing version}",
    );
}

#[test]
fn a_broken_batch_is_not_json() {
    check(r#"[{"id":1,"method":"a"}"#, "a JSON value is cut off at byte 22");
    check(r#"[{"id":1,"method":"a"}{}]"#, "not JSON from byte 22 on");
    check(r#"[{"id":1,"method":"a"}] []"#, "a second JSON value starts at byte 24");
}

#[test]
fn ten_thousand_members_are_kept_and_all_are_counted() {
    let member = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let last = r#"{"id":null,"method":"ping"}"#;
    let input = format!("[{},{last}]", [member; 12_345].join(","));
    let scanned = scan(input.as_bytes(), WATCH);
    let Content::Batch(batch) = scanned.content else { panic!("{:?}", scanned.content) };
    assert_eq!((batch.members.len(), batch.n_members), (10_000, 12_346));
    assert!(batch.members.iter().all(|member| matches!(member, Member::Message(_))));
    // Nobody looked at the last.
    assert_eq!(scanned.notes, Notes::none());
}

#[test]
fn what_a_batch_keeps_is_bounded_in_bytes() {
    static SAME: &[Path] = &[Path(&["a"]), Path(&["b"]), Path(&["c"]), Path(&["d"])];
    let long = "x".repeat(5000);
    let member = format!(r#"{{"a":"{long}","b":"{long}","c":"{long}","d":"{long}"}}"#);
    let input = format!("[{}]", vec![member; 3000].join(","));
    let mut scanner = Scanner::new(SAME);
    for round in 1..=2 {
        scanner.feed(input.as_bytes());
        let Content::Batch(batch) = scanner.finish().content else { panic!("not a batch") };
        assert_eq!((batch.members.len(), batch.n_members), ((16 << 20) / (4 * 4096), 3000), "round {round}");
    }
}
