//! Tests of the handshake: behind gaps, refused, and said in unusual ways.

use tap_protocol::{Era, Revision};

use crate::follow::{Follower, Lens, Meaning};
use crate::script::{check, findings, frames, run};
use crate::state::Phase;

const INITIALIZE: &str = r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"<- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const READY: &str = r#"-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;
const GAP: &str = ".. 5";
const DISCOVER: &str = r#"-> {"jsonrpc":"2.0","id":0,"method":"server/discover","params":{META}}"#;
const DISCOVERED: &str = r#"<- {"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}"#;

#[test]
fn a_gap_in_a_handshake_leads_to_a_session_all_the_same() {
    for lines in [
        // The answer is missing, then what follows it too, then all but the requests.
        &[INITIALIZE, GAP, READY, LIST][..],
        &[INITIALIZE, GAP, LIST],
        &[INITIALIZE, INITIALIZED, GAP, LIST],
        &[DISCOVER, GAP, LIST],
        &[GAP, READY],
        &[GAP, LIST],
    ] {
        let script = lines.join("\n");
        check(&script, "");
        let (follower, _) = run(&script);
        let state = follower.state();
        assert_eq!((state.era, state.phase), (Some(Era::Legacy), Phase::Operating), "{script}");
    }
}

#[test]
fn a_recording_from_the_middle_shows_its_era() {
    for (script, expected) in [
        (LIST, (Some(Era::Legacy), Phase::Operating)),
        (r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{META}}"#, (Some(Era::Modern), Phase::Operating)),
        // Both eras had it once, so it says nothing.
        (r#"-> {"jsonrpc":"2.0","id":2,"method":"ping"}"#, (None, Phase::Unopened)),
    ] {
        let mut follower = Follower::from_the_middle();
        let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
        for frame in frames(script) {
            follower.follow(&frame, &mut lens, &mut meaning);
        }
        assert_eq!((follower.state().era, follower.state().phase), expected, "{script}");
    }
}

#[test]
fn the_end_leaves_the_phase_as_it_was() {
    let (mut follower, _) = run(&[INITIALIZE, INITIALIZED].join("\n"));
    assert_eq!((follower.state().phase, follower.state().ended), (Phase::Initialized, true));
    let before = follower.state().clone();
    let mut meaning = Meaning::default();
    follower.finish(&mut meaning);
    assert!(meaning.findings.is_empty() && *follower.state() == before);
}

#[test]
fn a_client_that_is_ready_with_an_id_is_ready() {
    let ready = r#"-> {"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}"#;
    let with_id = "3 RPC-011 error by client: notifications/initialized has the id 7";
    for answer in ["", r#"<- {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"?"}}"#] {
        let script = [INITIALIZE, INITIALIZED, ready, answer, LIST].join("\n");
        check(&script, with_id);
        assert_eq!(run(&script).0.state().phase, Phase::Operating);
    }
}

#[test]
fn a_refused_handshake_leaves_a_modern_session_as_it_was() {
    let refusal = r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;
    let initialize = INITIALIZE.replace(r#""name":"c""#, r#""name":"other""#);
    let script = [DISCOVER, DISCOVERED, &initialize, refusal].join("\n");
    let (follower, _) = run(&script);
    let state = follower.state();
    assert_eq!((state.era, state.phase), (Some(Era::Modern), Phase::Operating));
    assert_eq!(state.revision, Some(Revision::V2026_07_28));
    assert_eq!(
        (state.revision_text.as_deref(), state.asked_revision.as_deref()),
        (Some("2026-07-28"), Some("2026-07-28"))
    );
    assert_eq!((state.client.name.as_deref(), state.client.n_messages), (Some("c"), 2));
    assert_eq!(state.phase_at.map(|at| at.seq), Some(2));
    // An answer that takes it makes a session of the other era of it.
    let (follower, _) = run(&[DISCOVER, DISCOVERED, &initialize, INITIALIZED].join("\n"));
    let state = follower.state();
    assert_eq!((state.era, state.revision), (Some(Era::Legacy), Some(Revision::V2025_11_25)));
    assert_eq!(state.client.name.as_deref(), Some("other"));
}

#[test]
fn a_modern_revision_need_not_be_echoed_in_a_handshake() {
    for (asked, expected) in [("2026-07-28", 0), ("2025-06-18", 1)] {
        let discovered = DISCOVERED.replace(r#"["2026-07-28"]"#, r#"["2025-06-18","2025-11-25","2026-07-28"]"#);
        let initialize = INITIALIZE.replace("2025-11-25", asked);
        let found = findings(&[DISCOVER, &discovered, &initialize, INITIALIZED].join("\n"));
        assert_eq!(found.iter().filter(|line| line.contains("LIF-009")).count(), expected, "{found:#?}");
    }
}
