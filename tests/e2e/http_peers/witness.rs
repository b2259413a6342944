//! Stands between two programs, passes on what they say, and knows afterwards what it was.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::wire::Connection;
use crate::support::wait_until;

/// What a proxy could do wrong, done here, to see that it does not go unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A header of requests is lost.
    LosesRequestHeader,
    /// A header of responses is lost.
    LosesResponseHeader,
    /// Line ends inside of bodies become others.
    ChangesLineEnds,
    /// What a server sends reaches the client when the next thing does.
    HoldsBack,
}

/// A pass-through to one address, on a port of its own.
pub(super) struct Witness {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: Vec<Connection>,
    /// Directions of connections that are not at their end.
    n_open: usize,
}

#[derive(Clone, Copy)]
enum Way {
    ToServer,
    ToClient,
}

impl Witness {
    /// Passes on everything unchanged.
    pub(super) fn before(upstream: SocketAddr) -> Self {
        Self::with(upstream, None)
    }

    /// Passes on everything with one fault.
    pub(super) fn broken(upstream: SocketAddr, fault: Fault) -> Self {
        Self::with(upstream, Some(fault))
    }

    fn with(upstream: SocketAddr, fault: Option<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let all = Arc::clone(&seen);
        // Ends with the test process: nothing tells a listener to stop waiting.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                connect(client, upstream, &all, fault);
            }
        });
        Self { address, seen }
    }

    /// What passed, once every connection is at its end.
    #[track_caller]
    pub(super) fn saw(self) -> Vec<Connection> {
        wait_until("all connections have ended", || self.seen.lock().unwrap().n_open == 0);
        std::mem::take(&mut self.seen.lock().unwrap().connections)
    }
}

/// Starts passing on what comes through one connection.
fn connect(client: TcpStream, upstream: SocketAddr, all: &Arc<Mutex<Seen>>, fault: Option<Fault>) {
    // Without a server the client's connection is closed, as it would be without us.
    let Ok(server) = TcpStream::connect(upstream) else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let index = {
        let mut all = all.lock().unwrap();
        all.connections.push(Connection::default());
        all.n_open += 2;
        all.connections.len() - 1
    };
    let other = (client.try_clone().unwrap(), server.try_clone().unwrap());
    for (way, from, to) in [(Way::ToServer, client, server), (Way::ToClient, other.1, other.0)] {
        let all = Arc::clone(all);
        std::thread::spawn(move || {
            pass_on(from, to, fault.map(|fault| (fault, way)), |bytes| {
                let connection = &mut all.lock().unwrap().connections[index];
                match way {
                    Way::ToServer => connection.to_server.extend_from_slice(bytes),
                    Way::ToClient => connection.to_client.extend_from_slice(bytes),
                }
            });
            all.lock().unwrap().n_open -= 1;
        });
    }
}

/// Passes on what comes until no more does. `keep` is told first, so that nothing is answered before it was seen.
fn pass_on(mut from: TcpStream, mut to: TcpStream, fault: Option<(Fault, Way)>, mut keep: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    let mut held = Vec::new();
    let is_cut = loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break false,
            Ok(length) => length,
            Err(_) => break true,
        };
        keep(&buffer[..length]);
        let bytes = match fault {
            None => buffer[..length].to_vec(),
            Some((Fault::HoldsBack, Way::ToClient)) if buffer[..length].starts_with(b"HTTP/") => {
                std::mem::take(&mut held).into_iter().chain(buffer[..length].iter().copied()).collect()
            }
            Some((Fault::HoldsBack, Way::ToClient)) => std::mem::replace(&mut held, buffer[..length].to_vec()),
            Some((fault, way)) => changed(fault, way, &buffer[..length]),
        };
        if to.write_all(&bytes).is_err() {
            break true;
        }
    };
    let _ = to.write_all(&held);
    // Whoever can no longer be talked to is not to be listened to either: the other direction must end too.
    let how = if is_cut { Shutdown::Both } else { Shutdown::Write };
    let _ = (to.shutdown(how), from.shutdown(Shutdown::Read));
}

/// What a fault makes of a piece. Peers write a head in one piece, so that it is found in one.
fn changed(fault: Fault, way: Way, bytes: &[u8]) -> Vec<u8> {
    match (fault, way) {
        (Fault::LosesRequestHeader, Way::ToServer) => replaced(bytes, b"\r\nmcp-protocol-version:", b"\r\nx-other:"),
        (Fault::LosesResponseHeader, Way::ToClient) => replaced(bytes, b"\r\ncache-control:", b"\r\nx-other:"),
        (Fault::ChangesLineEnds, Way::ToClient) => replaced(bytes, b"event: message\n", b"event: message\r"),
        _ => bytes.to_vec(),
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut left = bytes;
    let mut made = Vec::with_capacity(bytes.len());
    while let Some(at) = left.windows(from.len()).position(|window| window.eq_ignore_ascii_case(from)) {
        made.extend_from_slice(&left[..at]);
        made.extend_from_slice(to);
        left = &left[at + from.len()..];
    }
    made.extend_from_slice(left);
    made
}
