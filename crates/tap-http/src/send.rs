//! Sending a request again where nothing of it was sent: never where the server may have got it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, request};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::body::{Body, BodyError, Copied, Which};
use crate::record::Exchange;
use crate::upload::Source;
use crate::upstream::{Upstream, UpstreamError};
use crate::wire::InUse;

/// How often a request is sent again that was not sent at all. More connections than this are not closed at once.
const ATTEMPTS: usize = 16;

impl Upstream {
    /// Sends a request whose URI is absolute and whose body is all there; returns when the head of the answer is there, and
    /// records by then which connection it took.
    ///
    /// `on_its_way` is called once, as soon as a connection takes the request; it must not wait. Where a connection turns
    /// out to be closed before anything was sent on it, another one is taken. What is read of the answer is not recorded.
    ///
    /// # Errors
    ///
    /// When there is no connection, or no answer on it.
    pub async fn send_whole(
        &self,
        request: Request<Bytes>,
        exchange: &Exchange,
        on_its_way: impl Fn() + Send + Sync + 'static,
    ) -> Result<Response<Body>, UpstreamError> {
        let (head, bytes) = request.into_parts();
        let on_its_way = OnItsWay(Arc::new((AtomicBool::new(false), Box::new(on_its_way))));
        if bytes.is_empty() {
            // Nobody asks for a body that is none.
            on_its_way.tell();
        }
        let sent =
            until_sent(self, &head, || Ok(Body::new(Whole { bytes: bytes.clone(), on_its_way: on_its_way.clone() })));
        let (mut head, body) = sent.await?.into_parts();
        let in_use = InUse::of(&mut head);
        exchange.connected(head.version, in_use.tell_once());
        let body = Copied::perhaps(body, Which::Response, None).on_whole(move || in_use.answered());
        Ok(Response::from_parts(head, body.boxed_unsync()))
    }
}

/// Sends a request once, on a connection that is open.
pub(crate) async fn send(
    upstream: &Upstream,
    head: &request::Parts,
    body: &Source,
) -> Result<Response<Incoming>, UpstreamError> {
    until_sent(upstream, head, || Ok(body.upload().ok_or(UpstreamError::NotSent)?.boxed_unsync())).await
}

async fn until_sent(
    upstream: &Upstream,
    head: &request::Parts,
    body: impl Fn() -> Result<Body, UpstreamError>,
) -> Result<Response<Incoming>, UpstreamError> {
    let mut attempts = 0;
    loop {
        let sent = upstream.send(Request::from_parts(head.clone(), body()?)).await;
        attempts += 1;
        match sent {
            Err(UpstreamError::NotSent) if attempts < ATTEMPTS => {}
            sent => return sent,
        }
    }
}

/// Tells once that a request is on its way.
#[derive(Clone)]
struct OnItsWay(Arc<(AtomicBool, Box<dyn Fn() + Send + Sync>)>);

impl OnItsWay {
    fn tell(&self) {
        let (is_told, tell) = &*self.0;
        if !is_told.swap(true, Ordering::Relaxed) {
            tell();
        }
    }
}

/// A body that is all there, and says when it is taken.
struct Whole {
    bytes: Bytes,
    on_its_way: OnItsWay,
}

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.bytes.is_empty() {
            return Poll::Ready(None);
        }
        this.on_its_way.tell();
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tap_relay::{Clock, Copies};

    use super::*;
    use crate::keep::Keeper;
    use crate::record::Recording;
    use crate::upstream::UpstreamOptions;

    /// A server that closes each connection after a second answer, and says when. Gives its address, and the bodies that it got.
    fn server(closed: std::sync::mpsc::Sender<()>) -> (std::net::SocketAddr, Arc<Mutex<Vec<u8>>>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
        let theirs = seen.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                for _ in 0..2 {
                    let mut request = Vec::new();
                    let mut byte = [0];
                    while !request.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                        request.push(byte[0]);
                    }
                    if stream.read_exact(&mut byte).is_ok() {
                        theirs.lock().unwrap().push(byte[0]);
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                }
                drop(stream);
                let _ = closed.send(());
            }
        });
        (address, seen)
    }

    #[test]
    fn each_request_is_sent_once_and_its_connection_is_recorded() {
        let (telling, closed) = std::sync::mpsc::channel();
        let (address, seen) = server(telling);
        let upstream = Upstream::new(&UpstreamOptions::default()).unwrap();
        let copies = Arc::new(Copies::new(Clock::start(), 1 << 20, 1 << 20));
        let recording = Arc::new(Recording::new(copies.clone(), Keeper::new().unwrap()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        for number in 0..10_u8 {
            let body = Bytes::from(vec![b'0' + number]);
            let request = Request::post(format!("http://{address}/mcp")).header("host", "a").body(body).unwrap();
            let exchange = recording.begin(1, &request.clone().into_parts().0);
            let told = told.clone();
            let answered = async {
                let on_its_way = move || {
                    told.fetch_add(1, Ordering::Relaxed);
                };
                let response = upstream.send_whole(request, &exchange, on_its_way).await.unwrap();
                response.into_body().collect().await.unwrap().to_bytes()
            };
            let limited = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), answered).await });
            assert_eq!(limited.unwrap(), "ok");
            if number % 2 == 1 {
                // The server has closed the connection, and the pool has had no occasion to notice.
                closed.recv_timeout(Duration::from_secs(30)).unwrap();
            }
        }
        assert_eq!(*seen.lock().unwrap(), b"0123456789");
        assert_eq!(told.load(Ordering::Relaxed), 10);
        copies.close();
        let taken = copies.take(Duration::ZERO, Duration::ZERO);
        let pieces = taken.segments.iter().flat_map(tap_frame::Segment::iter);
        let connected = pieces.filter_map(|piece| match piece.unwrap() {
            tap_frame::Piece::Http { part: tap_frame::HttpPart::Connected, bytes, .. } => Some(bytes.contains(&b' ')),
            _ => None,
        });
        let connected: Vec<bool> = connected.collect();
        assert_eq!(connected.len(), 10);
        assert!(connected[0] && !connected[1], "only who had it made is told how long a connection took");
    }
}
