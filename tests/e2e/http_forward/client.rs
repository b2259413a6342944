//! A client that says exactly what a test wants said, and takes what comes byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};

use crate::support::LIMIT;

/// The way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    /// Through the proxy by CONNECT.
    Tunnel(SocketAddr),
    /// Through the proxy with the whole address as the target.
    Absolute(SocketAddr),
}

/// What is trusted: nobody is asked over plain HTTP.
pub(super) type Trusted<'a> = Option<&'a CertificateDer<'static>>;

/// A connection on which requests can be made.
pub(super) struct Client {
    stream: Box<dyn ReadWrite>,
    absolute: String,
    host: String,
}

trait ReadWrite: Read + Write + Send {}
impl<T: Read + Write + Send> ReadWrite for T {}

/// A response as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Lines of the head, sorted, without `date`.
    pub(super) head: Vec<String>,
    pub(super) body: String,
}

impl Client {
    /// Connects to `host` (with its port).
    pub(super) fn connect(way: Way, trusted: Trusted<'_>, host: &str) -> Result<Self, String> {
        let port = host.rsplit_once(':').unwrap().1;
        let address = match way {
            Way::Direct => format!("127.0.0.1:{port}").parse().unwrap(),
            Way::Tunnel(proxy) | Way::Absolute(proxy) => proxy,
        };
        let mut tcp = TcpStream::connect(address).map_err(|error| error.to_string())?;
        tcp.set_read_timeout(Some(LIMIT)).unwrap();
        if let Way::Tunnel(_) = way {
            write!(tcp, "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
            let head = read_head(&mut tcp)?;
            if !head.starts_with("HTTP/1.1 200") {
                return Err(head);
            }
        }
        let scheme = if trusted.is_some() { "https" } else { "http" };
        let absolute = if matches!(way, Way::Absolute(_)) { format!("{scheme}://{host}") } else { String::new() };
        let stream: Box<dyn ReadWrite> = match trusted {
            None => Box::new(tcp),
            Some(certificate) => Box::new(tls(tcp, certificate, host.rsplit_once(':').unwrap().0)?),
        };
        Ok(Self { stream, absolute, host: host.into() })
    }

    /// Sends a request; `headers` are whole lines.
    pub(super) fn send(&mut self, method: &str, target: &str, headers: &[&str], body: &str) {
        let (absolute, host) = (&self.absolute, &self.host);
        let mut text = format!("{method} {absolute}{target} HTTP/1.1\r\nHost: {host}\r\n");
        for header in headers {
            text.push_str(&format!("{header}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        self.stream.flush().unwrap();
    }

    /// Sends bytes as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.flush().unwrap();
    }

    /// The head of a response.
    pub(super) fn head(&mut self) -> String {
        read_head(&mut self.stream).unwrap()
    }

    /// Bytes until there are these.
    pub(super) fn read_until(&mut self, wanted: &str) -> String {
        let mut bytes = Vec::new();
        let mut buffer = [0; 1024];
        while !bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
            let n_read = self.stream.read(&mut buffer).unwrap();
            assert_ne!(n_read, 0, "the stream ended: {}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&buffer[..n_read]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A request and its whole response.
    pub(super) fn ask(&mut self, method: &str, target: &str, headers: &[&str], body: &str) -> Reply {
        self.send(method, target, headers, body);
        let head = self.head();
        let mut lines: Vec<String> = head.trim_end().split("\r\n").map(str::to_owned).collect();
        let status = lines.remove(0).split(' ').nth(1).unwrap().parse().unwrap();
        let length = |line: &String| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned);
        let length: usize = lines.iter().find_map(length).map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        lines.retain(|line| !line.to_ascii_lowercase().starts_with("date:"));
        lines.sort_unstable();
        Reply { status, head: lines, body: String::from_utf8(body).unwrap() }
    }
}

fn tls(
    tcp: TcpStream,
    trusted: &CertificateDer<'static>,
    host: &str,
) -> Result<rustls::StreamOwned<rustls::ClientConnection, TcpStream>, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, tcp);
    while stream.conn.is_handshaking() {
        let done = stream.conn.complete_io(&mut stream.sock);
        done.map_err(|error| error.to_string())?;
    }
    Ok(stream)
}

fn read_head(stream: &mut dyn Read) -> Result<String, String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) => return Err(format!("ended after {:?}", String::from_utf8_lossy(&head))),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(String::from_utf8(head).unwrap())
}
