//! Tunnels: bytes in both directions, of which nothing is known.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, copy_bidirectional};
use tokio::sync::watch;

/// A client that says nothing for so long after it was let through waits for the server to speak first.
const SILENCE: Duration = Duration::from_secs(3);

/// What a client begins with, by which the protocol is told.
const FIRST_BYTES: usize = 1024;

/// What kind of traffic a tunnel carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tls,
    Http,
    /// Anything else.
    Unknown,
}

/// What a client began with.
pub(crate) struct Opening {
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the first bytes that a client sends. `None` when it went away.
pub(crate) async fn opening(client: &mut (impl AsyncRead + Unpin)) -> Option<Opening> {
    let mut bytes = vec![0; FIRST_BYTES];
    let n_read = match tokio::time::timeout(SILENCE, client.read(&mut bytes)).await {
        Ok(Ok(0) | Err(_)) => return None,
        Ok(Ok(n_read)) => n_read,
        Err(_) => 0,
    };
    bytes.truncate(n_read);
    let kind = match bytes.first() {
        // The type of a record of a handshake (RFC 8446, 5.1).
        Some(0x16) => Kind::Tls,
        Some(byte) if byte.is_ascii_uppercase() => Kind::Http,
        Some(_) | None => Kind::Unknown,
    };
    Some(Opening { kind, bytes })
}

/// What was read and what is to come, as one stream.
pub(crate) fn rejoin<S: AsyncRead + AsyncWrite>(
    read: Vec<u8>,
    stream: S,
) -> impl AsyncRead + AsyncWrite + Unpin + use<S> {
    let (reader, writer) = tokio::io::split(stream);
    tokio::io::join(std::io::Cursor::new(read).chain(reader), writer)
}

/// Passes bytes on in both directions until both are at their end, or until everything is.
pub(crate) async fn pass(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    mut server: impl AsyncRead + AsyncWrite + Unpin,
    mut closing: watch::Receiver<bool>,
) {
    tokio::select! {
        done = copy_bidirectional(&mut client, &mut server) => {
            if let Err(error) = done {
                tracing::debug!(%error, "a tunnel broke");
            }
        }
        () = closed(&mut closing) => {}
    }
}

/// Waits until everything is at its end.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}
