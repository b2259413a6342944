//! A server over HTTP/1.1 and HTTP/2, with and without TLS, that answers what a test says and tells what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use http::{Request, Response, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// An authority of the test's own, and a certificate for `localhost` and others that it signed.
pub(super) struct Pki {
    pub(super) ca_path: PathBuf,
    pub(super) ca: CertificateDer<'static>,
    leaf: CertificateDer<'static>,
    key: rcgen::KeyPair,
}

impl Pki {
    pub(super) fn new(folder: &Path) -> Self {
        let ca_key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::default();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "the authority of a test");
        let ca = parameters.self_signed(&ca_key).unwrap().der().clone();
        let issuer = rcgen::Issuer::new(parameters, ca_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "real.example".to_owned()];
        let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap().der().clone();
        let ca_path = folder.join("ca.pem");
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &ca);
        std::fs::write(&ca_path, format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")).unwrap();
        Self { ca_path, ca, leaf, key }
    }

    fn config(&self) -> rustls::ServerConfig {
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let mut config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![self.leaf.clone()], key)
                .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// A request as a server got it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) version: Version,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What a server is to answer.
pub(super) enum Answer {
    Whole(u16, Vec<(&'static str, String)>, String),
    /// An event stream, for as long as the other end is there.
    Stream(mpsc::UnboundedReceiver<Bytes>),
    /// `101`; whatever is sent then comes back.
    Echo,
}

/// `200` with JSON.
pub(super) fn json(body: impl Into<String>) -> Answer {
    Answer::Whole(200, vec![("Content-Type", "application/json".into())], body.into())
}

/// A running server. It ends when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

impl Server {
    /// Serves with TLS where there is a `pki`.
    pub(super) fn start(
        pki: Option<&Pki>,
        answer: impl Fn(SocketAddr, &Asked) -> Answer + Clone + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let tls = pki.map(|pki| tokio_rustls::TlsAcceptor::from(Arc::new(pki.config())));
        let told = asked.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, told, answer) = (tls.clone(), told.clone(), answer.clone());
                tokio::spawn(async move {
                    let answer = move |asked: &Asked| answer(address, asked);
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, told, answer).await;
                            }
                        }
                        None => serve(stream, told, answer).await,
                    }
                });
            }
        });
        Self { address, asked, _runtime: runtime }
    }

    /// All requests so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// `localhost` with the port.
    pub(super) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    told: Arc<Mutex<Vec<Asked>>>,
    answer: impl Fn(&Asked) -> Answer + Clone + Send + 'static,
) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (told, answer) = (told.clone(), answer.clone());
        async move {
            let upgrade = hyper::upgrade::on(&mut request);
            let (head, body) = request.into_parts();
            let asked = Asked {
                method: head.method.to_string(),
                target: head.uri.path_and_query().unwrap().to_string(),
                version: head.version,
                headers: head.headers,
                body: body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default(),
            };
            told.lock().unwrap().push(asked.clone());
            Ok::<_, Infallible>(respond(answer(&asked), upgrade))
        }
    });
    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}

fn respond(answer: Answer, upgrade: hyper::upgrade::OnUpgrade) -> Response<Body> {
    match answer {
        Answer::Whole(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Full::new(Bytes::from(body)).boxed_unsync()).unwrap()
        }
        Answer::Stream(events) => {
            let body = Events(events).boxed_unsync();
            Response::builder().header("Content-Type", "text/event-stream").body(body).unwrap()
        }
        Answer::Echo => {
            tokio::spawn(async move {
                let mut stream = TokioIo::new(upgrade.await.unwrap());
                let mut bytes = [0; 1024];
                while let Ok(n_read @ 1..) = stream.read(&mut bytes).await {
                    if stream.write_all(&bytes[..n_read]).await.is_err() {
                        break;
                    }
                }
            });
            let response =
                Response::builder().status(101).header("Connection", "Upgrade").header("Upgrade", "websocket");
            response.body(Full::new(Bytes::new()).boxed_unsync()).unwrap()
        }
    }
}

struct Events(mpsc::UnboundedReceiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
