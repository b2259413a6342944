//! A server over HTTP that follows a script, and a client that says what it is told, both on bare sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{LIMIT, Scratch, wait_for};

/// A request as the server got it.
pub(super) struct Request {
    pub(super) verb: String,
    pub(super) path: String,
    pub(super) session: Option<String>,
    pub(super) body: String,
}

/// What the server does with a request.
pub(super) enum Answer {
    /// Sends this, and goes on with the next request.
    Whole(Vec<u8>),
    /// Sends this and closes the connection.
    Broken(Vec<u8>),
    /// Sends this and leaves the stream open until the other side closes it.
    Open(Vec<u8>),
}

/// A server that answers by a script. It ends with the test.
pub(super) struct Server {
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (socket, script) = (socket.unwrap(), script.clone());
                std::thread::spawn(move || serve(socket, &*script));
            }
        });
        Self { address }
    }
}

fn serve(socket: TcpStream, script: &dyn Fn(&Request) -> Answer) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut socket = socket;
    while let Some(request) = read_request(&mut reader) {
        let (bytes, goes_on) = match script(&request) {
            Answer::Whole(bytes) => (bytes, true),
            Answer::Broken(bytes) => (bytes, false),
            Answer::Open(bytes) => {
                if socket.write_all(&bytes).is_ok() {
                    let _ = reader.read(&mut [0]);
                }
                return;
            }
        };
        if socket.write_all(&bytes).is_err() || !goes_on {
            return;
        }
    }
}

/// The first line and the fields of a head, names in lower case. `None` at the end of the connection.
fn read_head(reader: &mut impl BufRead) -> Option<(String, Vec<(String, String)>)> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Some((first.trim_end().into(), fields));
        };
        fields.push((name.to_ascii_lowercase(), value.trim().into()));
    }
}

fn field<'a>(fields: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

/// A body of a length that is said, or in chunks.
fn read_body(reader: &mut impl BufRead, fields: &[(String, String)]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = field(fields, "content-length") {
        body.resize(length.parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
    } else if field(fields, "transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let start = body.len();
            body.resize(start + length + 2, 0);
            reader.read_exact(&mut body[start..]).ok()?;
            body.truncate(start + length);
            if length == 0 {
                break;
            }
        }
    }
    Some(body)
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let (first, fields) = read_head(reader)?;
    let mut words = first.split(' ').map(String::from);
    let (verb, path) = (words.next()?, words.next()?);
    let body = String::from_utf8(read_body(reader, &fields)?).ok()?;
    Some(Request { verb, path, session: field(&fields, "mcp-session-id").map(String::from), body })
}

/// A whole answer.
pub(super) fn answer(status: u16, fields: &str, body: &str) -> Answer {
    Answer::Whole(format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n{fields}\r\n{body}", body.len()).into_bytes())
}

/// The head of an event stream that ends with its connection, and its beginning.
pub(super) fn stream(fields: &str, events: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    format!("{head}{fields}\r\n{events}").into_bytes()
}

/// The proxy, running.
pub(super) struct Proxy {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Proxy {
    /// `mcp-tap proxy` in front of a server. `name` is what the recording is called.
    pub(super) fn start(scratch: &Scratch, name: &str, server: SocketAddr) -> Self {
        let url = format!("http://{server}/mcp");
        let mut child = scratch.tap(["proxy", "--name", name, &url]).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let (_, rest) = line.split_once("http://").expect("the proxy says where it listens");
        let address = rest.split_once('/').unwrap().0.parse().unwrap();
        // Nobody may be made to wait for who reads that.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address }
    }

    /// Ends it, so that the recording is whole.
    pub(super) fn stop(mut self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(wait_for(&mut self.child).code(), Some(0));
    }

    /// Sends a request on a connection of its own.
    pub(super) fn begin(&self, verb: &str, path: &str, fields: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let accept = "accept: application/json, text/event-stream\r\n";
        let host = self.address;
        write!(
            socket,
            "{verb} {path} HTTP/1.1\r\nhost: {host}\r\n{accept}{fields}{length}connection: close\r\n\r\n{body}"
        )
        .unwrap();
        socket
    }

    /// The same, and reads all of the answer: it must have this status.
    #[track_caller]
    pub(super) fn ask(&self, verb: &str, path: &str, fields: &str, body: &str, status: u16) -> String {
        let mut bytes = Vec::new();
        // An answer that is broken off is one too.
        let _ = self.begin(verb, path, fields, body).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{verb} {path} {body}: {text}");
        text
    }

    /// Posts a message.
    #[track_caller]
    pub(super) fn post(&self, fields: &str, body: &str, status: u16) -> String {
        self.ask("POST", "/mcp", &format!("content-type: application/json\r\n{fields}"), body, status)
    }
}

impl Drop for Proxy {
    /// Of a test that failed nothing may be left running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until a text has come.
#[track_caller]
pub(super) fn read_until(socket: &mut TcpStream, wanted: &str) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(wanted) {
        let mut some = [0; 1000];
        let n = socket.read(&mut some).unwrap();
        assert_ne!(n, 0, "{wanted} never came: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&some[..n]);
    }
}
