//! Viewers that behave badly.

use std::sync::mpsc::channel;

use tap_relay::{Clock, Doors};

use super::*;
use crate::control::{About, Ways};

fn control() -> Arc<Control> {
    let clock = Clock::start();
    let about = About { name: "test".into(), uuid: "0".into(), server_pid: None, command: Vec::new(), database: None };
    let copies = crate::recording::copies(clock);
    Control::new(about, tap_control::Options::default(), clock, copies, Ways::Pipes(Doors::new()))
}

#[test]
fn nothing_is_left_of_a_viewer_that_does_not_read() {
    let control = control();
    let seats = Seats::new(1);
    let (mut viewer, ours) = UnixStream::pair().unwrap();
    let seat = seats.take().unwrap();
    let (ended, has_ended) = channel();
    let serving = control.clone();
    std::thread::spawn(move || {
        serve(&serving, ours, seat);
        ended.send(()).unwrap();
    });
    // Until it is hung up on.
    while viewer.write_all(b"{\"id\":1,\"method\":\"status\"}\n").is_ok() {}
    has_ended.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(control.state().viewers.is_empty());
    assert!(seats.take().is_some());
}

#[test]
fn who_asks_nothing_more_still_gets_his_answers() {
    let seats = Seats::new(1);
    let (mut viewer, ours) = UnixStream::pair().unwrap();
    let seat = seats.take().unwrap();
    let thread = std::thread::spawn(move || serve(&control(), ours, seat));
    viewer.write_all(b"{\"id\":1,\"method\":\"status\"}\n").unwrap();
    viewer.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    viewer.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"protocol\":1") && answer.ends_with('\n'), "{answer}");
    thread.join().unwrap();
}
