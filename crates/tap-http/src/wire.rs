//! A connection to a server, which knows how long it took to make and whether the server has left it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Version;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::net::TcpStream;

/// That the server had closed the connection before a request was sent on it. Not one byte of the request went out.
#[derive(Debug, thiserror::Error)]
#[error("the server closed the connection while it was idle")]
pub(crate) struct ClosedWhileIdle;

/// What is known about the connection that an answer came on: an extension of the response.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionFacts {
    took: Duration,
    is_told: Arc<AtomicBool>,
    is_idle: Arc<AtomicBool>,
}

impl ConnectionFacts {
    /// How long it took to connect, told once, to the first exchange on the connection.
    pub(crate) fn tell_once(&self) -> Option<Duration> {
        (!self.is_told.swap(true, Ordering::Relaxed)).then_some(self.took)
    }

    /// Says that the answer is complete. In HTTP/1.1 nothing is on its way then, in neither direction.
    pub(crate) fn answered(&self, version: Version) {
        if version <= Version::HTTP_11 {
            self.is_idle.store(true, Ordering::Release);
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
}

impl Wire {
    pub(crate) fn new(stream: MaybeHttpsStream<TokioIo<TcpStream>>, took: Duration, is_proxied: bool) -> Self {
        Self { stream, facts: ConnectionFacts { took, is_told: Arc::default(), is_idle: Arc::default() }, is_proxied }
    }

    /// Looks at the connection if `bytes`, which are to be written, begin a request.
    ///
    /// Both is asked, whether the answer before was complete and whether this is a head: whoever reads the answer may say
    /// so late, when the next request is on its way.
    fn look(&self, bytes: &[u8]) -> io::Result<()> {
        let is_idle = &self.facts.is_idle;
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

impl Connection for Wire {
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.facts.clone()).proxy(self.is_proxied)
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
