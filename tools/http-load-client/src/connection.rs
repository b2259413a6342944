//! One connection with one MCP session on it.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::http::uri::{Authority, Scheme};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::error::PhaseError;

/// Where to connect, and what to ask for.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    authority: Authority,
    path: String,
}

impl Target {
    /// Of a URL with http; its query is dropped.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url: Uri = text.parse().map_err(|error| format!("{error}"))?;
        match url.authority() {
            Some(authority) if url.scheme() == Some(&Scheme::HTTP) => {
                Ok(Self { authority: authority.clone(), path: url.path().to_owned() })
            }
            _ => Err("not a URL with http".to_owned()),
        }
    }

    fn address(&self) -> (&str, u16) {
        (self.authority.host(), self.authority.port_u16().unwrap_or(80))
    }
}

/// One connection with one MCP session on it.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    path: String,
    /// Of each request.
    headers: HeaderMap,
    /// How many messages went either way, as far as they were noted.
    pub(crate) n_messages: u64,
}

const INITIALIZING: &str = "initializing";

impl Connection {
    /// Connects, and begins a session.
    pub(crate) async fn open(target: &Target, protocol: &str) -> Result<Self, PhaseError> {
        let authority = &target.authority;
        let failed = |source| PhaseError::Connect { authority: authority.to_string(), source };
        let stream = TcpStream::connect(target.address()).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let doing = "beginning HTTP";
        let (sender, driver) =
            handshake(TokioIo::new(stream)).await.map_err(|source| PhaseError::Http { doing, source })?;
        // It ends with the connection, and who waits for an answer hears why.
        tokio::spawn(driver);
        let mut headers = HeaderMap::new();
        let host = HeaderValue::try_from(authority.as_str()).map_err(hyper::http::Error::from)?;
        headers.insert(HOST, host);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let mut connection = Self { sender, path: target.path.clone(), headers, n_messages: 0 };
        connection.initialize(protocol).await?;
        Ok(connection)
    }

    async fn initialize(&mut self, protocol: &str) -> Result<(), PhaseError> {
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": protocol, "capabilities": {},
            "clientInfo": {"name": "tap-http-load-client", "version": env!("CARGO_PKG_VERSION")},
        }});
        let response = self.post(request.to_string().into(), INITIALIZING).await?;
        let session = response.headers().get("mcp-session-id").cloned();
        let body = whole(response, INITIALIZING).await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (Some(session), true) = (session, answer["result"].is_object()) else {
            let answer = String::from_utf8_lossy(&body).into_owned();
            return Err(PhaseError::Answer { doing: INITIALIZING, answer });
        };
        self.headers.insert("mcp-session-id", session);
        let revision = answer["result"]["protocolVersion"].as_str().unwrap_or(protocol);
        let revision = HeaderValue::try_from(revision).map_err(hyper::http::Error::from)?;
        self.headers.insert("mcp-protocol-version", revision);
        let initialized = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let accepted = self.send(Method::POST, &self.path.clone(), initialized, INITIALIZING).await?;
        let status = accepted.status();
        whole(accepted, INITIALIZING).await?;
        // `initialize`, its answer, and the notification.
        self.n_messages += 3;
        match status {
            StatusCode::ACCEPTED => Ok(()),
            status => Err(PhaseError::Status { doing: INITIALIZING, status }),
        }
    }

    /// Sends a message and gives back the answer's head with its body yet to come. The status is 200.
    pub(crate) async fn post(&mut self, body: Bytes, doing: &'static str) -> Result<Response<Incoming>, PhaseError> {
        let path = self.path.clone();
        self.send(Method::POST, &path, body, doing).await.and_then(|response| good(response, doing))
    }

    /// Opens an event stream with a query that tells the server what to say. The status is 200.
    pub(crate) async fn get(&mut self, query: &str, doing: &'static str) -> Result<Response<Incoming>, PhaseError> {
        let path = format!("{}?{query}", self.path);
        self.send(Method::GET, &path, Bytes::new(), doing).await.and_then(|response| good(response, doing))
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        doing: &'static str,
    ) -> Result<Response<Incoming>, PhaseError> {
        let mut request = Request::builder().method(method).uri(path).body(Full::new(body))?;
        request.headers_mut().clone_from(&self.headers);
        self.sender.ready().await.map_err(|source| PhaseError::Http { doing, source })?;
        self.sender.send_request(request).await.map_err(|source| PhaseError::Http { doing, source })
    }
}

fn good(response: Response<Incoming>, doing: &'static str) -> Result<Response<Incoming>, PhaseError> {
    match response.status() {
        StatusCode::OK => Ok(response),
        status => Err(PhaseError::Status { doing, status }),
    }
}

async fn whole(response: Response<Incoming>, doing: &'static str) -> Result<Bytes, PhaseError> {
    let body = response.into_body().collect().await.map_err(|source| PhaseError::Http { doing, source })?;
    Ok(body.to_bytes())
}

/// Reads a body to its end; true when it is these very bytes. It is compared as it comes: a copy would make the client
/// slower than who is measured.
pub(crate) async fn is_exactly(
    response: Response<Incoming>,
    expected: &[u8],
    doing: &'static str,
) -> Result<bool, PhaseError> {
    let mut body = response.into_body();
    let mut rest = Some(expected);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|source| PhaseError::Http { doing, source })?;
        if let Ok(data) = frame.into_data() {
            rest = rest.and_then(|rest| rest.strip_prefix(&*data));
        }
    }
    Ok(rest.is_some_and(<[u8]>::is_empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_url_with_http() {
        for (text, expected) in [
            ("http://127.0.0.1:7/mcp", Some(("127.0.0.1", 7, "/mcp"))),
            ("http://localhost", Some(("localhost", 80, "/"))),
            ("https://localhost", None),
            ("/mcp", None),
        ] {
            let target = Target::parse(text).ok();
            let found = target.as_ref().map(|target| (target.address().0, target.address().1, &*target.path));
            assert_eq!(found, expected, "text: {text}");
        }
    }
}
