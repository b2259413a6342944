//! Where clients connect: on loopback, on both of its address families.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::authority::LocalAuthority;

/// That nobody can connect here.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    /// Where.
    pub address: SocketAddr,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// Sockets that clients connect to.
#[derive(Debug)]
pub struct Listener {
    /// One, or one of each family.
    pub(crate) sockets: Vec<TcpListener>,
    address: SocketAddr,
    /// What clients speak TLS with, where they do.
    pub(crate) tls: Option<Arc<Certified>>,
}

/// A name, and who certifies that we go by it.
#[derive(Debug)]
pub(crate) struct Certified {
    pub(crate) authority: LocalAuthority,
    pub(crate) host: String,
}

impl Listener {
    /// Listens on `address`; port 0 is a free one. On loopback the same port of the other family is taken too, where it is
    /// free: a client that is told `localhost` may try either.
    ///
    /// # Errors
    ///
    /// When the address is in use or not ours.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |source| ListenError { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let mut sockets = vec![socket];
        let other = match address.ip() {
            ip if ip == Ipv4Addr::LOCALHOST => Some(Ipv6Addr::LOCALHOST.into()),
            ip if ip == Ipv6Addr::LOCALHOST => Some(Ipv4Addr::LOCALHOST.into()),
            _ => None,
        };
        if let Some(ip) = other {
            sockets.extend(TcpListener::bind(SocketAddr::new(ip, address.port())).await);
        }
        Ok(Self { sockets, address, tls: None })
    }

    /// The same, but clients are to speak TLS, in which we go by the name `host`.
    #[must_use]
    pub fn with_tls(self, authority: LocalAuthority, host: String) -> Self {
        Self { tls: Some(Arc::new(Certified { authority, host })), ..self }
    }

    /// Where it listens, with the port that was found.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
