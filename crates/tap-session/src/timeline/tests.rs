//! Tests of time travel: the state at any point is the one that a fold from the start gives.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::Recorded;
use crate::script::frames;
use crate::traffic::{cut, pack, passed};

fn states_of(all: &[Frame]) -> (Timeline, Vec<Follower>) {
    let mut follower = Follower::new();
    let mut timeline = Timeline { spacing: 3, ..Timeline::new(follower.clone()) };
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    let mut states = vec![follower.clone()];
    for frame in all {
        follower.follow(frame, &mut lens, &mut meaning);
        timeline.pass(frame.seq, &follower);
        states.push(follower.clone());
    }
    (timeline, states)
}

#[track_caller]
fn check(all: &[Frame]) {
    let (timeline, states) = states_of(all);
    for (seq, expected) in (0..).zip(&states) {
        let first_frames = |from: u64| {
            let from = usize::try_from(from).unwrap();
            all.iter().skip(from - 1).cloned().map(Ok::<_, Infallible>)
        };
        let Ok(follower) = timeline.follower_at(seq, first_frames);
        assert_eq!(follower.state(), expected.state(), "after frame {seq}");
    }
}

#[test]
fn going_back_in_a_session_gives_what_was_true_then() {
    check(&frames(
        r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":9}}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}
!! working
.. 17
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
-> {"jsonrpc":"2.0","id":3,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#,
    ));
}

#[test]
fn checkpoints_are_thinned_and_stay_in_order() {
    let follower = Follower::new();
    let mut timeline = Timeline { spacing: 1, ..Timeline::new(follower.clone()) };
    for seq in 1..=20_000 {
        timeline.pass(seq, &follower);
        assert!(timeline.n_checkpoints() <= CHECKPOINTS);
    }
    assert!(timeline.n_checkpoints() > CHECKPOINTS / 3);
    assert!(timeline.checkpoints.is_sorted_by(|a, b| a.0 < b.0));
    let widest = timeline.checkpoints.windows(2).map(|pair| pair[1].0 - pair[0].0).max();
    assert_eq!(widest, Some(timeline.spacing));
}

proptest! {
    #[test]
    fn any_traffic_has_the_same_state_at_a_point_as_a_fold_from_the_start(what in passed()) {
        let recorded = cut(&pack(&what)).1.into_iter();
        let all: Vec<Frame> = recorded.filter_map(|item| if let Recorded::Frame(frame) = item { Some(frame) } else { None }).collect();
        check(&all);
    }
}
