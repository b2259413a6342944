//! A client of HTTP that shows everything and does nothing by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::support::LIMIT;

/// An answer whose body is still to be read.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
}

/// What goes with every POST.
pub(super) const POST: &[(&str, &str)] =
    &[("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// What goes with every GET of a stream.
pub(super) const GET: &[(&str, &str)] = &[("Accept", "text/event-stream")];

/// Sends a request on a connection of its own, and reads the head of the answer.
#[track_caller]
pub(super) fn send(to: SocketAddr, first_line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut head = format!("{first_line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head += &format!("Host: {to}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(&[head.as_bytes(), b"\r\n", body].concat()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    Answer { status, headers, reader }
}

/// Posts a message with headers besides those of every POST.
#[track_caller]
pub(super) fn post(to: SocketAddr, headers: &[(&str, &str)], body: &str) -> Answer {
    send(to, "POST /mcp", &[POST, headers].concat(), body.as_bytes())
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }

    /// The next chunk of the body; empty at its end.
    fn chunk(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap_or(0);
        let mut chunk = vec![0; length];
        self.reader.read_exact(&mut chunk).unwrap();
        let _ = self.reader.read_line(&mut line);
        chunk
    }

    /// The whole body.
    pub(super) fn body(&mut self) -> String {
        let mut body = Vec::new();
        if self.is_chunked() {
            loop {
                let chunk = self.chunk();
                if chunk.is_empty() {
                    break;
                }
                body.extend(chunk);
            }
        } else {
            self.reader.read_to_end(&mut body).unwrap();
        }
        String::from_utf8(body).unwrap()
    }

    /// The whole body as JSON.
    #[track_caller]
    pub(super) fn json(&mut self) -> Value {
        let body = self.body();
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    /// The data of the next event of a stream; nothing at its end. Each event is one chunk.
    pub(super) fn event(&mut self) -> Option<String> {
        loop {
            let chunk = String::from_utf8(self.chunk()).unwrap();
            if chunk.is_empty() {
                return None;
            }
            if let Some((_, data)) = chunk.split_once("data: ") {
                return Some(data.trim_end().to_owned());
            }
        }
    }
}
