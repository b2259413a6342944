//! Servers over TLS, in HTTP/1.1 and HTTP/2, and whom they must be trusted by.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::peer::{Proxy, field, post, recorded};
use crate::support::Scratch;

/// An authority of this test's own, and a server with a certificate of it.
pub(crate) struct Secure {
    pub(crate) address: SocketAddr,
    pub(crate) authority: PathBuf,
    _runtime: tokio::runtime::Runtime,
}

/// Starts a server that answers with the version that it was asked in, and the fields that it got.
fn serve(scratch: &Scratch, name: &str, has_expired: bool, protocols: &[&str]) -> Secure {
    serve_few(scratch, name, has_expired, protocols, 200)
}

/// The same, which takes so many requests at once over one connection of HTTP/2. At `/stream` it says one word and then
/// nothing, and at `/flood` it never ends.
pub(crate) fn serve_few(
    scratch: &Scratch,
    name: &str,
    has_expired: bool,
    protocols: &[&str],
    n_streams: u32,
) -> Secure {
    let authority_key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let path = scratch.path("authority.pem");
    std::fs::write(&path, authority.pem()).unwrap();
    let issuer = Issuer::new(parameters, authority_key);
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if has_expired {
        parameters.not_before = date_time_ymd(2000, 1, 1);
        parameters.not_after = date_time_ymd(2001, 1, 1);
    }
    let certificate: CertificateDer = parameters.signed_by(&key, &issuer).unwrap().der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    configuration.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(configuration));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                builder.http2().max_concurrent_streams(n_streams);
                let _ = builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    });
    Secure { address, authority: path, _runtime: runtime }
}

async fn answer(
    request: Request<hyper::body::Incoming>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let events = match request.uri().path() {
        "/stream" => Some((Bytes::from_static(b"data: 1\n\n"), 1)),
        "/flood" => Some((Bytes::from(vec![b'x'; 64 * 1024]), usize::MAX)),
        _ => None,
    };
    if let Some((event, n_events)) = events {
        let response = Response::builder().header("Content-Type", "text/event-stream");
        return Ok(response.body(Events(event, n_events).boxed_unsync()).unwrap());
    }
    let text = format!("{:?} {:?} {:?}", request.version(), request.uri().path(), request.headers().get("x-twice"));
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let mut response = Response::new(Full::new([text.as_bytes(), b" ", &body].concat().into()).boxed_unsync());
    response.headers_mut().append("x-a", "1".parse().unwrap());
    response.headers_mut().append("x-a", "2".parse().unwrap());
    Ok(response)
}

/// The same event so many times, and no end.
struct Events(Bytes, usize);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(n_left) = self.1.checked_sub(1) else { return Poll::Pending };
        self.1 = n_left;
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

impl Secure {
    pub(super) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/mcp", self.address.port())
    }
}

#[test]
fn a_server_over_tls_is_asked_in_the_newest_version_that_it_offers() {
    for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let scratch = Scratch::new();
        let server = serve(&scratch, "localhost", false, protocols);
        let authority = server.authority.to_str().unwrap();
        for (options, environment) in [(&["--cacert", authority][..], &[][..]), (&[], &[("SSL_CERT_FILE", authority)])]
        {
            let proxy = Proxy::with(&scratch, &server.url("localhost"), options, environment);
            let mut client = proxy.connect();
            for _ in 0..3 {
                client.write(post("{}"));
                let (head, body) = client.message();
                assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
                assert_eq!(super::peer::fields(&head, "x-a"), ["1", "2"]);
                assert_eq!(String::from_utf8(body).unwrap(), format!("{version} \"/mcp\" None {{}}"));
            }
            proxy.stop();
        }
        let all = recorded(&scratch);
        assert_eq!(all.len(), 3);
        assert!(
            all.iter().all(|one| one.connected.as_deref().is_some_and(|text| text.starts_with(version))),
            "{all:?}"
        );
    }
}

#[test]
fn a_certificate_that_is_not_to_be_trusted_is_explained() {
    for (name, has_expired, is_trusted, words) in [
        ("localhost", false, false, "--cacert"),
        ("localhost", true, true, "expired"),
        ("other.example", false, true, "other.example"),
    ] {
        let scratch = Scratch::new();
        let server = serve(&scratch, name, has_expired, &["h2", "http/1.1"]);
        let options = ["--cacert", server.authority.to_str().unwrap()];
        let proxy = Proxy::with(&scratch, &server.url("localhost"), if is_trusted { &options } else { &[] }, &[]);
        let mut client = proxy.connect();
        client.write(post("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\"}"));
        let (head, body) = client.message();
        assert!(head.starts_with("HTTP/1.1 502"), "{head}");
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("\"id\":\"a\"") && body.contains("certificate") && body.contains(words), "{body}");
        assert!(field(&head, "mcp-tap-error").is_some());
    }
}
