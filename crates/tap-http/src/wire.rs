//! A connection to a server, which knows how long it took to make and whether the server has left it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use http::{Version, response};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::net::TcpStream;

use crate::streams::Place;

/// That the server had closed the connection before a request was sent on it. Not one byte of the request went out.
#[derive(Debug, thiserror::Error)]
#[error("the server closed the connection while it was idle")]
pub(crate) struct ClosedWhileIdle;

/// What is known about a connection: an extension of the responses that come on it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionFacts(Arc<Facts>);

#[derive(Debug)]
struct Facts {
    took: Duration,
    is_told: AtomicBool,
    is_idle: AtomicBool,
    /// When the last answer was complete, in HTTP/1.1.
    answered_at: Mutex<Option<Instant>>,
}

impl ConnectionFacts {
    /// When the last answer on it was complete. `None` where there was none, and in HTTP/2.
    pub(crate) fn answered_at(&self) -> Option<Instant> {
        *self.0.answered_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a connection an exchange uses until its answer is complete, or dropped.
#[derive(Debug)]
pub(crate) struct InUse {
    version: Version,
    facts: Option<ConnectionFacts>,
    _place: Option<Arc<Place>>,
}

impl InUse {
    /// Takes it out of the head of an answer, which may live for longer.
    pub(crate) fn of(head: &mut response::Parts) -> Self {
        Self { version: head.version, facts: head.extensions.remove(), _place: head.extensions.remove() }
    }

    /// How long it took to connect, told once, to the first exchange on the connection.
    pub(crate) fn tell_once(&self) -> Option<Duration> {
        let facts = &self.facts.as_ref()?.0;
        (!facts.is_told.swap(true, Ordering::Relaxed)).then_some(facts.took)
    }

    /// Says that the answer is complete. In HTTP/1.1 nothing is on its way then, in neither direction.
    pub(crate) fn answered(&self) {
        if let Some(ConnectionFacts(facts)) = self.facts.as_ref().filter(|_| self.version <= Version::HTTP_11) {
            *facts.answered_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            facts.is_idle.store(true, Ordering::Release);
        }
    }
}

/// A connection that looks, before the first byte of a request goes out, whether the server has closed it.
///
/// The pool notices when an idle connection ends, but only once the runtime has asked the system again. A request that is
/// sent within that moment is lost, and cannot be sent again, since nobody knows whether the server took it. Looking at the
/// socket itself leaves only the moment in which the end is on its way.
pub(crate) struct Wire {
    stream: MaybeHttpsStream<TokioIo<TcpStream>>,
    facts: ConnectionFacts,
    /// Whether requests are written in absolute form, to a proxy.
    is_proxied: bool,
    /// Reads how many exchanges a server takes at once, until that is known.
    settings: Option<Settings>,
}

impl Wire {
    pub(crate) fn new(stream: MaybeHttpsStream<TokioIo<TcpStream>>, took: Duration, is_proxied: bool) -> Self {
        let facts = Facts { took, is_told: false.into(), is_idle: false.into(), answered_at: Mutex::default() };
        Self { stream, facts: ConnectionFacts(Arc::new(facts)), is_proxied, settings: None }
    }

    /// Whether it is one of HTTP/2.
    pub(crate) fn is_shared(&self) -> bool {
        self.stream.connected().is_negotiated_h2()
    }

    /// Has `told` be told how many exchanges the server takes at once.
    pub(crate) fn on_settings(&mut self, told: impl FnOnce(u32) + Send + 'static) {
        self.settings = Some(Settings { frame: Vec::new(), told: Box::new(told) });
    }

    /// Looks at the connection if `bytes`, which are to be written, begin a request.
    ///
    /// Both is asked, whether the answer before was complete and whether this is a head: whoever reads the answer may say
    /// so late, when the next request is on its way.
    fn look(&self, bytes: &[u8]) -> io::Result<()> {
        let is_idle = &self.facts.0.is_idle;
        if !is_idle.load(Ordering::Acquire) || !begins_request(bytes) || !is_idle.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let tcp = match &self.stream {
            MaybeHttpsStream::Http(stream) => stream.inner(),
            MaybeHttpsStream::Https(stream) => stream.inner().get_ref().0.inner().inner(),
        };
        // Nothing is to come on an idle connection: not its end, and if something comes, it says that the end is near (408,
        // or the end of TLS). The socket is non-blocking, so this does not wait.
        match SockRef::from(tcp).peek(&mut [std::mem::MaybeUninit::uninit()]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::ConnectionAborted, ClosedWhileIdle)),
        }
    }
}

/// Whether the first line is one of a request.
fn begins_request(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    line.first().is_some_and(u8::is_ascii_uppercase) && (line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0"))
}

/// The first frame that a server sends in HTTP/2, which has its settings.
///
/// Source: RFC 9113, 3.4 HTTP/2 Connection Preface; 4.1 Frame Format; 6.5 SETTINGS.
struct Settings {
    frame: Vec<u8>,
    told: Box<dyn FnOnce(u32) + Send>,
}

/// What a server takes that does not say how much it takes.
const ANY_NUMBER: u32 = u32::MAX;

/// A frame of settings has a few dozen bytes; one that is larger than this is not read.
const SETTINGS_BYTES: usize = 4 * 1024;

impl Settings {
    /// Takes the next bytes; gives the number of exchanges that the server takes at once when that is known.
    fn feed(&mut self, bytes: &[u8]) -> Option<u32> {
        self.frame.extend_from_slice(bytes);
        let (head, payload) = self.frame.split_first_chunk::<9>()?;
        let [high, middle, low, kind, ..] = *head;
        let length = usize::try_from(u32::from_be_bytes([0, high, middle, low])).unwrap_or(usize::MAX);
        if kind != 4 || length > SETTINGS_BYTES {
            return Some(ANY_NUMBER);
        }
        let pairs = payload.get(..length)?.chunks_exact(6);
        let mut number = pairs.rev().filter_map(|pair| match pair {
            [0, 3, a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
            _ => None,
        });
        Some(number.next().unwrap_or(ANY_NUMBER))
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.facts.clone()).proxy(self.is_proxied)
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(settings) = &mut this.settings else {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        };
        let mut bytes = [0; 512];
        let room = buffer.remaining().min(bytes.len());
        let mut read = ReadBuf::new(bytes.get_mut(..room).unwrap_or_default());
        ready!(Pin::new(&mut this.stream).poll_read(context, read.unfilled()))?;
        buffer.put_slice(read.filled());
        if let Some(n_streams) = settings.feed(read.filled())
            && let Some(settings) = this.settings.take()
        {
            (settings.told)(n_streams);
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.look(bytes)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.look(slices.iter().find(|slice| !slice.is_empty()).map_or(&[], |slice| slice))?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_says_how_many_exchanges_a_server_takes() {
        for (frame, expected) in [
            (&b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"[..], Some(100)),
            (b"\0\0\x0c\x04\0\0\0\0\0\0\x04\0\0\xff\xff\0\x03\0\0\0\x02and more", Some(2)),
            (b"\0\0\0\x04\0\0\0\0\0", Some(ANY_NUMBER)),
            (b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\xff\xff", Some(ANY_NUMBER)),
            (b"HTTP/1.1 400 Bad Request\r\n", Some(ANY_NUMBER)),
            (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0", None),
            (b"\0\0", None),
        ] {
            let reader = || Settings { frame: Vec::new(), told: Box::new(|_| ()) };
            assert_eq!(reader().feed(frame), expected, "{frame:?}");
            let mut cut = reader();
            assert_eq!(frame.iter().find_map(|byte| cut.feed(&[*byte])), expected, "{frame:?} byte by byte");
        }
    }
}
