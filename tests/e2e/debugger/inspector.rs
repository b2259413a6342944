//! The inspector at a live session, in a real pseudo-terminal: held, edited in an editor, let go, sent again; and killed.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;
use crate::inspector::Terminal;

/// The inspector on the newest session, attached to its tap.
fn attached(live: &Live<'_>, editor: &str) -> Terminal {
    let mut inspect = live.scratch.tap(["inspect", "last"]);
    inspect.env("EDITOR", editor).env_remove("VISUAL");
    let terminal = Terminal::start(&inspect);
    terminal.wait(0, "live");
    wait_until("the inspector is attached", || live.n_viewers() == 1);
    terminal
}

impl Live<'_> {
    fn n_viewers(&self) -> u64 {
        self.json(&["taps", "--json"]).first().and_then(|tap| tap["viewers"].as_u64()).unwrap_or_default()
    }

    /// A session of the demonstration that was begun, and is in the database.
    fn demo(scratch: &Scratch) -> Live<'_> {
        let mut live = Live::start(scratch, &[], &[TAP, "demo-server"]);
        live.send(INITIALIZE);
        live.line();
        live.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert!(live.line().contains("cache"));
        assert!(live.line().contains("forecast"));
        wait_until("it is recorded", || live.json(&["log", "-s", "last", "--json"]).len() >= 2);
        live
    }
}

#[test]
fn a_call_that_is_held_and_edited_in_the_inspector_gives_the_server_the_edited_arguments() {
    let scratch = Scratch::new();
    let mut live = Live::demo(&scratch);
    let mut terminal = attached(&live, "sed -i s/Bern/Oslo/");
    terminal.type_for("7", "BREAKPOINTS");
    terminal.type_for("i", "enter sets it");
    terminal.type_for("tool:forecast\r", "the breakpoint is set");
    live.send(&request(2, "forecast", r#"{ "city" : "Bern" }"#));
    terminal.wait(0, "HELD");
    assert!(terminal.seen().contains(&7), "a bell");
    terminal.wait(0, "\"Bern\"");
    let held = live.held(1);
    assert_eq!(held[0]["by"], "breakpoint 1");
    terminal.type_for("e", "Oslo");
    terminal.type_in("a");
    assert!(live.line().contains("Oslo"), "the server got what was edited");
    live.held(0);
    // What the recording has of it.
    wait_until("the edit is recorded", || {
        let shown = live.done(&["log", "-s", "last"]);
        shown.contains("edited")
    });
    // Answered in the server's place with an error, as it stands in the prompt.
    let from = terminal.seen().len();
    live.send(&request(3, "forecast", r#"{"city":"Bern"}"#));
    wait_until("it is on the screen", || {
        // Only what changes is written, and one message may take the place of the other, unless all is drawn anew.
        terminal.type_in("\x0c");
        String::from_utf8_lossy(&terminal.seen()[from..]).contains("2  ->")
    });
    terminal.type_for("E", "CODE:TEXT");
    terminal.type_in("\r");
    assert!(live.line().contains("-32000"));
    terminal.type_in("\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    live.end();
}

#[test]
fn what_an_inspector_holds_goes_on_at_once_when_it_is_killed() {
    let scratch = Scratch::new();
    let mut live = Live::demo(&scratch);
    let mut terminal = attached(&live, "true");
    terminal.type_for("7", "BREAKPOINTS");
    terminal.type_for("itool:forecast\r", "the breakpoint is set");
    live.send(&request(2, "forecast", r#"{"city":"Bern"}"#));
    live.held(1);
    terminal.wait(0, "HELD");
    // `setsid` has become the inspector.
    kill(Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()), Signal::SIGKILL).unwrap();
    wait_for(&mut terminal.child);
    assert!(live.line().contains("Bern"), "it went on as it came");
    live.held(0);
    live.send(&request(3, "forecast", r#"{"city":"Bern"}"#));
    assert!(live.line().contains("Bern"), "and nothing is held any more");
    live.end();
}

#[test]
fn a_stopped_inspector_makes_no_traffic_wait() {
    let scratch = Scratch::new();
    let mut live = Live::demo(&scratch);
    let mut terminal = attached(&live, "true");
    terminal.type_for("7", "BREAKPOINTS");
    terminal.type_for("imethod:ping -> set:arg.x=1\r", "the breakpoint is set");
    let pid = Pid::from_raw(i32::try_from(terminal.child.id()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    for id in 10..2_010 {
        live.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert!(live.line().contains(&id.to_string()));
    }
    kill(pid, Signal::SIGCONT).unwrap();
    // It sees what is there now.
    wait_until("it sees all hits", || {
        // Only what changes is written, and so a part of a number, unless all is drawn anew.
        terminal.type_in("\x0c");
        String::from_utf8_lossy(&terminal.seen()).contains("hits 2000")
    });
    terminal.type_in("\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    live.end();
}

#[test]
fn a_recorded_call_is_sent_again_changed_and_its_answer_stands_beside_the_recorded_one() {
    let scratch = Scratch::new();
    let mut live = Live::demo(&scratch);
    live.send(&request(2, "forecast", r#"{"city":"Bern"}"#));
    assert!(live.line().contains("Bern"));
    let mut terminal = attached(&live, "sed -i s/Bern/Oslo/");
    // What the tap says has reached the screen; before that nothing can be sent.
    terminal.type_for("7", "BREAKPOINTS");
    terminal.type_for("2", "{\"city\":\"Bern\"}");
    terminal.type_for("e", "session?");
    terminal.type_for("y", "recorded");
    terminal.wait(0, "Oslo:");
    // Over, its server is started anew for it.
    terminal.type_in("q");
    live.end();
    terminal.wait(0, "exited");
    terminal.type_for("r", "anew,");
    terminal.type_for("y", "same");
    terminal.type_in("q\x03");
    assert_eq!(wait_for(&mut terminal.child).code(), Some(0));
    assert_eq!(scratch.json(&["ls", "--json"]).len(), 2, "and that is recorded too");
}
