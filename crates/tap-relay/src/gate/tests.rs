//! The gate between real pipes: nothing is lost or out of order, whenever it is armed and whoever writes.

use super::*;
use crate::clock::Clock;
use crate::copies::Copies;
use crate::pump::{Pump, ServerEnded};
use proptest::prelude::*;
use std::io::{Read, Write};
use tap_frame::Stream;

/// Lets everything pass a line at a time, and keeps what has no end yet.
struct Lines {
    doors: Arc<Doors>,
    open: Mutex<Vec<u8>>,
    seen: Mutex<Vec<(u64, bool)>>,
}

impl Lines {
    fn new() -> (Arc<Doors>, Arc<Self>) {
        let doors = Doors::new();
        let gate = Arc::new(Self { doors: doors.clone(), open: Mutex::default(), seen: Mutex::default() });
        doors.set_gate(gate.clone());
        (doors, gate)
    }

    fn flush(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        self.doors.leave(Direction::ToServer, &open);
    }
}

impl Gate for Lines {
    fn enter(&self, _: Direction, offset: u64, torn: bool) {
        self.seen.lock().unwrap().push((offset, torn));
    }

    fn pass(&self, direction: Direction, _: u64, _: u64, bytes: &[u8]) {
        let mut open = self.open.lock().unwrap();
        open.extend_from_slice(bytes);
        let end = open.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.doors.leave(direction, &open[..end]);
        open.drain(..end);
    }

    fn leave(&self, _: Direction) {
        self.flush();
    }

    fn end(&self, _: Direction) {
        self.flush();
    }

    fn nobody_reads(&self, _: Direction) {}
}

/// A pump from one pipe to another, in a thread.
fn pump(doors: &Arc<Doors>) -> (io::PipeWriter, io::PipeReader, std::thread::JoinHandle<()>) {
    let (source, input) = io::pipe().unwrap();
    let (output, sink) = io::pipe().unwrap();
    let doors = doors.clone();
    let thread = std::thread::spawn(move || {
        let sink = Arc::new(OwnedFd::from(sink));
        doors.set_sink(Direction::ToServer, Sink::Of(Arc::downgrade(&sink)));
        let clock = Clock::start();
        let copies = Copies::new(clock, 1 << 20, 1 << 20);
        let (server_ended, thread) = (ServerEnded::default(), Interruptible::this_thread().unwrap());
        let pump = Pump { stream: Stream::ToServer, clock, copies: &copies, server_ended: &server_ended };
        let passage = Passage::begin(&doors, Direction::ToServer, Some(thread));
        pump.run(&source, Some(passage), |bytes| write_all(&*sink, bytes));
    });
    // The other direction is not pumped here.
    (input, output, thread)
}

/// Arms, and waits for the one pump that there is.
fn armed(doors: &Arc<Doors>) {
    doors.doors[1].state().ended = true;
    doors.arm().unwrap();
    assert!(doors.wait_armed(Duration::from_secs(30)));
}

#[test]
fn it_is_armed_in_the_middle_of_a_read_and_told_where_the_stream_is() {
    let (doors, gate) = Lines::new();
    let (mut input, mut output, thread) = pump(&doors);
    input.write_all(b"one\ntw").unwrap();
    let mut got = [0; 6];
    output.read_exact(&mut got).unwrap();
    armed(&doors);
    assert_eq!(*gate.seen.lock().unwrap(), [(6, true)]);
    doors.leave(Direction::ToServer, b"[put in]");
    doors.deliver(Direction::ToServer);
    let mut got = [0; 8];
    output.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"[put in]", "the source is quiet, and it goes out all the same");
    input.write_all(b"o\nthree").unwrap();
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "o\nthree");
    thread.join().unwrap();
    assert!(!doors.is_open(Direction::ToServer));
}

#[test]
fn nothing_is_put_in_while_bytes_may_still_pass_as_they_are() {
    let (doors, gate) = Lines::new();
    let (mut input, mut output, thread) = pump(&doors);
    // The pump is in a write that nobody takes, and so cannot notice.
    let line = vec![b'x'; 300_000];
    let sent = line.clone();
    let writer = std::thread::spawn(move || {
        input.write_all(&sent).unwrap();
        input.write_all(b"\n").unwrap();
    });
    let mut first = [0; 1000];
    output.read_exact(&mut first).unwrap();
    doors.doors[1].state().ended = true;
    assert_eq!(doors.arm().unwrap(), [true, false]);
    doors.leave(Direction::ToServer, b"[put in]");
    doors.deliver(Direction::ToServer);
    let _ = doors.wait_armed(Duration::from_millis(20));
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    writer.join().unwrap();
    thread.join().unwrap();
    let at = rest.windows(8).position(|part| part == b"[put in]").unwrap();
    let (offset, torn) = gate.seen.lock().unwrap()[0];
    assert_eq!(
        (u64::try_from(at).unwrap() + 1000, torn),
        (offset, true),
        "after what passed, and not in the middle of it"
    );
    assert_eq!(rest.len() + 1000, line.len() + 1 + 8);
}

#[test]
fn a_side_that_does_not_read_holds_up_nobody_who_leaves_something() {
    let (doors, _gate) = Lines::new();
    let (mut input, mut output, thread) = pump(&doors);
    armed(&doors);
    let line = vec![b'x'; 1 << 20];
    doors.leave(Direction::ToServer, &line);
    doors.deliver(Direction::ToServer);
    // Far more than a pipe takes, and nobody reads: this returns all the same.
    doors.leave(Direction::ToServer, b"\nlast\n");
    doors.deliver(Direction::ToServer);
    doors.flush(Duration::from_millis(20));
    input.write_all(b"from the source\n").unwrap();
    drop(input);
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), (1 << 20) + "\nlast\nfrom the source\n".len());
    assert!(rest.ends_with(b"x\nlast\nfrom the source\n"));
    thread.join().unwrap();
}

#[test]
fn a_door_that_is_closed_ends_both_of_its_sides() {
    let (doors, _gate) = Lines::new();
    let (mut input, mut output, thread) = pump(&doors);
    armed(&doors);
    doors.leave(Direction::ToServer, b"last\n");
    doors.close(Direction::ToServer);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "last\n");
    thread.join().unwrap();
    assert!(input.write_all(b"more\n").is_err());
}

/// Answers each byte from the one side with a thousand for it.
struct Answers(Arc<Doors>);

impl Gate for Answers {
    fn enter(&self, _: Direction, _: u64, _: bool) {}

    fn pass(&self, _: Direction, _: u64, _: u64, bytes: &[u8]) {
        self.0.leave(Direction::ToClient, &vec![b'a'; bytes.len() * 1000]);
    }

    fn leave(&self, _: Direction) {}

    fn end(&self, _: Direction) {}

    fn nobody_reads(&self, _: Direction) {}
}

#[test]
fn nothing_more_is_read_from_a_side_that_does_not_take_its_answers() {
    let doors = Doors::new();
    doors.set_gate(Arc::new(Answers(doors.clone())));
    let (mut input, mut output, thread) = pump(&doors);
    // Of the other direction only what waits in it is there.
    doors.doors[1].state().entered = true;
    doors.arm().unwrap();
    assert!(doors.wait_armed(Duration::from_secs(30)));
    let n_waiting = || doors.doors[1].state().queue.len();
    let (sent, has_sent) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for _ in 0..64 {
            input.write_all(&[b'q'; 16 * 1024]).unwrap();
        }
        sent.send(()).unwrap();
    });
    let began = Instant::now();
    while n_waiting() <= BACK_BYTES {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    // Answered would be a million bytes with a thousand million.
    assert!(has_sent.recv_timeout(Duration::from_millis(500)).is_err());
    let most = BACK_BYTES + 1000 * crate::pump::READ_BYTES;
    assert!(n_waiting() <= most, "{}", n_waiting());
    // It takes what there is, again and again.
    let began = Instant::now();
    while has_sent.try_recv().is_err() {
        assert!(began.elapsed() < Duration::from_secs(60));
        doors.doors[1].state().queue = Vec::new();
        doors.doors[1].changed.notify_all();
        std::thread::yield_now();
    }
    writer.join().unwrap();
    // Who has gone holds up nothing.
    doors.doors[1].state().ended = true;
    output.read_to_end(&mut Vec::new()).unwrap();
    thread.join().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn whenever_it_is_armed_and_disarmed_the_bytes_are_the_same(steps in prop::collection::vec(("[ab\n]{0,40}", 0..3), 0..25)) {
        let (doors, gate) = Lines::new();
        let (mut input, mut output, thread) = pump(&doors);
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            output.read_to_end(&mut all).unwrap();
            all
        });
        let mut sent = Vec::new();
        for (bytes, then) in &steps {
            input.write_all(bytes.as_bytes()).unwrap();
            sent.extend_from_slice(bytes.as_bytes());
            match then {
                1 => armed(&doors),
                2 => {
                    gate.flush();
                    doors.disarm();
                    doors.deliver(Direction::ToServer);
                }
                _ => {}
            }
        }
        drop(input);
        thread.join().unwrap();
        let got = reader.join().unwrap();
        prop_assert_eq!(got, sent);
    }
}
