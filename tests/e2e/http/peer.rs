//! What the tests of HTTP use: a server and a client that write given bytes at given moments, the proxy, its record.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;
use tap_frame::{HttpEnd, HttpPart, Piece, Segment};

use crate::support::{LIMIT, Scratch, wait_for, wait_until};

/// One end of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        // Thousands of connections, one after another, may leave no port free for a moment.
        let mut connected = None;
        wait_until("there is a free port", || {
            connected = match TcpStream::connect(address) {
                Err(error) if error.kind() == ErrorKind::AddrNotAvailable => None,
                other => Some(other.unwrap()),
            };
            connected.is_some()
        });
        Self::new(connected.unwrap())
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, read: Vec::new() }
    }

    /// Sends bytes. A side that has gone is part of what is tested.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Reads until `enough` of what came is known to be enough, and takes so much of it.
    #[track_caller]
    fn take(&mut self, what: &str, enough: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
        loop {
            if let Some(length) = enough(&self.read) {
                return self.read.drain(..length).collect();
            }
            let came = self.fill();
            assert!(
                came > 0,
                "the connection ended while {what} was awaited, after {:?}",
                self.read.escape_ascii().to_string()
            );
        }
    }

    fn fill(&mut self) -> usize {
        let mut buffer = [0; 65536];
        let came = self.stream.read(&mut buffer).unwrap_or_else(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => panic!("nothing came in {LIMIT:?}"),
            _ => 0,
        });
        self.read.extend_from_slice(&buffer[..came]);
        came
    }

    #[track_caller]
    pub(crate) fn head(&mut self) -> String {
        let head =
            self.take("a head", |read| read.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4));
        String::from_utf8_lossy(&head).into_owned()
    }

    /// Exactly these bytes are what comes next.
    #[track_caller]
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let got = self.exactly(bytes.len());
        assert_eq!(got.escape_ascii().to_string(), bytes.escape_ascii().to_string());
    }

    #[track_caller]
    pub(crate) fn exactly(&mut self, length: usize) -> Vec<u8> {
        self.take("a body", |read| (read.len() >= length).then_some(length))
    }

    /// The data of the next chunk; empty for the last.
    #[track_caller]
    pub(crate) fn chunk(&mut self) -> Vec<u8> {
        let line = self.take("a chunk", |read| read.windows(2).position(|window| window == b"\r\n").map(|at| at + 2));
        let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        if size == 0 {
            return Vec::new();
        }
        let data = self.exactly(size);
        self.expect("\r\n");
        data
    }

    /// The data of chunks, until so much is there.
    #[track_caller]
    pub(crate) fn chunked(&mut self, length: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < length {
            let data = self.chunk();
            assert!(!data.is_empty(), "the body ended after {:?}", all.escape_ascii().to_string());
            all.extend(data);
        }
        all
    }

    /// Reads chunks until so much is there, and forgets it.
    #[track_caller]
    pub(crate) fn chunked_at_least(&mut self, length: usize) {
        let mut came = 0;
        while came < length {
            came += self.chunk().len();
        }
    }

    /// Exactly these bytes are what comes next in chunks, however it is cut.
    #[track_caller]
    pub(crate) fn expect_chunked(&mut self, bytes: impl AsRef<[u8]>) {
        let got = self.chunked(bytes.as_ref().len());
        assert_eq!(got.escape_ascii().to_string(), bytes.as_ref().escape_ascii().to_string());
    }

    /// The rest, until the other side closes or resets.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.fill() > 0 {}
        std::mem::take(&mut self.read)
    }

    /// A whole message with a head and a body, which may be chunked. The last chunk is not waited for twice.
    #[track_caller]
    pub(crate) fn message(&mut self) -> (String, Vec<u8>) {
        let head = self.head();
        let body = match field(&head, "content-length") {
            Some(length) => self.exactly(length.parse().unwrap()),
            None if field(&head, "transfer-encoding").is_some() => {
                let mut body = Vec::new();
                loop {
                    let data = self.chunk();
                    if data.is_empty() {
                        break;
                    }
                    body.extend(data);
                }
                self.expect("\r\n");
                body
            }
            None => Vec::new(),
        };
        (head, body)
    }

    /// The address that the other side connected to.
    pub(crate) fn own_address(&self) -> String {
        self.stream.local_addr().unwrap().to_string()
    }

    pub(crate) fn shutdown_write(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes the connection so that the other side gets a reset.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Keeps the system from taking much that nobody reads.
    pub(crate) fn small_buffer(&self) {
        SockRef::from(&self.stream).set_recv_buffer_size(64 * 1024).unwrap();
    }

    /// Whether the other side has closed, without waiting.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut buffer = [0; 4096];
        let closed = match self.stream.read(&mut buffer) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        self.stream.set_read_timeout(Some(LIMIT)).unwrap();
        closed
    }

    #[track_caller]
    pub(crate) fn wait_closed(&mut self) {
        wait_until("the other side closes", || self.is_closed());
    }
}

/// The value of a field of a head; of several lines the first.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    fields(head, name).first().copied()
}

/// The values of all lines of a field, in their order.
pub(crate) fn fields<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

/// The requests that a server has got, heads and bodies.
pub(crate) type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A server that does with each connection what it is told.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Each connection gets a thread, and its number from 1 on.
    pub(crate) fn new(serve: impl Fn(usize, Peer) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), serve)
    }

    pub(crate) fn at(address: SocketAddr, serve: impl Fn(usize, Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming().flatten()) {
                let serve = serve.clone();
                std::thread::spawn(move || serve(number, Peer::new(stream)));
            }
        });
        Self { address }
    }

    /// Answers each request with the same bytes, and leaves the requests in a list.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> (Self, Requests) {
        let (answer, seen) = (answer.into(), Arc::<Mutex<Vec<_>>>::default());
        let theirs = seen.clone();
        let server = Self::new(move |_, mut peer| {
            while let Some(request) = peer.request_or_end() {
                theirs.lock().unwrap().push(request);
                if !peer.write(&answer) {
                    return;
                }
            }
        });
        (server, seen)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Peer {
    /// A whole request, or `None` when the connection ends first.
    #[track_caller]
    pub(crate) fn request_or_end(&mut self) -> Option<(String, Vec<u8>)> {
        while self.read.is_empty() {
            if self.fill() == 0 {
                return None;
            }
        }
        Some(self.message())
    }
}

/// The proxy, running.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: SocketAddr,
    stderr: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Proxy {
    pub(crate) fn start(scratch: &Scratch, url: &str) -> Self {
        Self::with(scratch, url, &[], &[])
    }

    pub(crate) fn with(scratch: &Scratch, url: &str, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = scratch.tap(["proxy", "--name", "peer"]);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command.args(options).arg(url).envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = Arc::<Mutex<String>>::default();
        let (theirs, lines) = (stderr.clone(), BufReader::new(child.stderr.take().unwrap()).lines());
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                theirs.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let mut address = None;
        wait_until("the proxy says its address", || {
            let text = stderr.lock().unwrap();
            let found = text.split_once("http://").map(|(_, rest)| {
                rest.split(|c: char| !c.is_ascii_digit() && !".:[]".contains(c)).next().unwrap_or_default().to_owned()
            });
            address = found.and_then(|found| found.parse().ok());
            address.is_some() || !text.is_empty()
        });
        let address = address.unwrap_or_else(|| panic!("it said {}", stderr.lock().unwrap()));
        Self { child, address, stderr, reader: Some(reader) }
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// What the proxy said on stderr up to now.
    pub(crate) fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory, KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn n_descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Has it end as Ctrl-C does, and gives what it said.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        self.signal(nix::sys::signal::Signal::SIGINT);
        assert_eq!(self.wait().code(), Some(0), "{}", self.said());
        self.said()
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid().try_into().unwrap()), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let status = wait_for(&mut self.child);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was recorded of one exchange.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recorded {
    pub(crate) request: String,
    pub(crate) request_body: Vec<u8>,
    pub(crate) is_request_whole: bool,
    pub(crate) connected: Option<String>,
    pub(crate) response: String,
    pub(crate) response_body: Vec<u8>,
    pub(crate) end: Option<HttpEnd>,
}

/// All exchanges of the newest session, in the order in which they began.
#[track_caller]
pub(crate) fn recorded(scratch: &Scratch) -> Vec<Recorded> {
    let database = rusqlite::Connection::open(scratch.db()).unwrap();
    let mut query = database
        .prepare("SELECT pieces, bytes FROM segment WHERE session = (SELECT max(id) FROM session) ORDER BY number")
        .unwrap();
    let segments = query.query_map([], |row| Ok(Segment::from_stored(0, 0, row.get(0)?, row.get(1)?))).unwrap();
    let mut all: Vec<Recorded> = Vec::new();
    for segment in segments {
        for piece in segment.unwrap().iter() {
            let Piece::Http { exchange, part, bytes, .. } = piece.unwrap() else {
                panic!("a piece that is of no exchange, or a gap");
            };
            let at = usize::try_from(exchange).unwrap() - 1;
            if all.len() <= at {
                all.resize_with(at + 1, Recorded::default);
            }
            let one = &mut all[at];
            match part {
                HttpPart::Request => one.request = String::from_utf8_lossy(bytes).into_owned(),
                HttpPart::RequestBody => one.request_body.extend_from_slice(bytes),
                HttpPart::RequestEnd => one.is_request_whole = true,
                HttpPart::Connected => one.connected = Some(String::from_utf8_lossy(bytes).into_owned()),
                HttpPart::Response => one.response = String::from_utf8_lossy(bytes).into_owned(),
                HttpPart::ResponseBody => one.response_body.extend_from_slice(bytes),
                HttpPart::End => {
                    assert_eq!(one.end, None, "an exchange ends once");
                    one.end = HttpEnd::from_code(bytes[0]);
                }
            }
        }
    }
    all
}

/// A request of MCP's with this body.
pub(crate) fn post(body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request for a stream.
pub(crate) fn get() -> &'static str {
    "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
}

/// The head of a stream in chunks.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A chunk.
pub(crate) fn chunk(data: impl AsRef<[u8]>) -> Vec<u8> {
    let data = data.as_ref();
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}
