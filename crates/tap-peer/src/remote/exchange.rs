//! One exchange with the server, carried out and recorded.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, LOCATION, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, response};
use http_body_util::BodyExt;
use tap_bridge::{Head, Request, Verb};
use tap_frame::HttpEnd;
use tap_http::{Additions, Body, Exchange, Recording, Upstream, causes};
use tap_jsonrpc::{SSE_EVENT_LIMIT_BYTES, SseSplitter};
use tokio::sync::mpsc;

use super::Input;
use super::outlet::{Held, Outlet};

/// Requests of one client are recorded as those of one connection.
const CONNECTION: u64 = 1;

const TOO_MUCH: &str = "the answers that wait are too large together";

/// The way to a server over HTTP.
#[derive(Debug)]
pub struct Remote {
    /// How it is reached.
    pub upstream: Upstream,
    /// Put on every request, and not recorded.
    pub additions: Additions,
    /// Where its exchanges are recorded.
    pub recording: Arc<Recording>,
    /// What waits for the client.
    pub outlet: Arc<Outlet>,
    /// Its address.
    pub address: Uri,
}

impl Remote {
    /// Carries out an exchange, and says what becomes of it.
    pub(super) async fn carry_out(self: Arc<Self>, number: u64, request: Request, inputs: mpsc::Sender<Input>) {
        let mut held = Held::new(self.outlet.clone());
        let (body, failure) = match self.send(number, request, &inputs, &mut held).await {
            Ok((body, exchange)) => {
                exchange.end(HttpEnd::Whole);
                (body, None)
            }
            Err(failure) => (Bytes::new(), Some(failure)),
        };
        if !body.is_empty() {
            self.outlet.room().await;
        }
        let _ = inputs.send(Input::Ended(number, body, failure, held)).await;
    }

    async fn send(
        &self,
        number: u64,
        request: Request,
        inputs: &mpsc::Sender<Input>,
        held: &mut Held,
    ) -> Result<(Bytes, Arc<Exchange>), String> {
        let (mut head, body) = self.request(request)?.into_parts();
        if let Some(target) = head.uri.path_and_query().filter(|_| head.uri != self.address) {
            // Nothing is sent elsewhere but to the endpoint of HTTP+SSE.
            self.recording.is_endpoint_at(target.as_str());
        }
        let exchange = self.recording.begin(CONNECTION, &head);
        self.additions.add_to(&mut head.headers);
        exchange.request_body(&body);
        exchange.request_end();
        let on_its_way = {
            let inputs = inputs.clone();
            move || {
                let inputs = inputs.clone();
                tokio::spawn(async move { inputs.send(Input::Sent(number)).await });
            }
        };
        let request = http::Request::from_parts(head, body);
        let response = self.upstream.send_whole(request, &exchange, on_its_way).await.map_err(|error| {
            exchange.end(HttpEnd::ByServer);
            causes(&error)
        })?;
        let (head, body) = response.into_parts();
        exchange.response(&head);
        let told = told(&head);
        let is_stream = head.status.is_success() && told.media_type == "text/event-stream";
        let _ = inputs.send(Input::Head(number, told)).await;
        let gathered = match is_stream {
            true => self.stream(number, body, &exchange, inputs, held).await.map(|()| Bytes::new()),
            false => gather(body, &exchange, held).await,
        };
        gathered.map(|body| (body, exchange.clone())).inspect_err(|_| exchange.end(HttpEnd::ByServer))
    }

    fn request(&self, request: Request) -> Result<http::Request<Bytes>, String> {
        let Request { verb, address, headers, body } = request;
        let uri: Uri = address.parse().map_err(|_| format!("{address} is no address"))?;
        let method = match verb {
            Verb::Post => Method::POST,
            Verb::Get => Method::GET,
            Verb::Delete => Method::DELETE,
        };
        let mut fields = HeaderMap::new();
        if let Some(host) = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok()) {
            fields.insert(HOST, host);
        }
        fields.insert(USER_AGENT, HeaderValue::from_static(concat!("mcp-tap/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in headers {
            // What cannot be written there the server will miss, and say so.
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(&value)) {
                fields.append(name, value);
            }
        }
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        Ok(request)
    }

    async fn stream(
        &self,
        number: u64,
        mut body: Body,
        exchange: &Exchange,
        inputs: &mpsc::Sender<Input>,
        held: &mut Held,
    ) -> Result<(), String> {
        let mut splitter = SseSplitter::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| causes(&*error))?;
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            exchange.response_body(bytes);
            if !held.grow(bytes.len()).await {
                return Err(TOO_MUCH.into());
            }
            let mut events = Vec::new();
            splitter.feed(bytes, &mut |event| events.push(event));
            for event in events {
                self.outlet.room().await;
                let _ = inputs.send(Input::Event(number, event, held.split())).await;
            }
        }
        Ok(())
    }
}

async fn gather(mut body: Body, exchange: &Exchange, held: &mut Held) -> Result<Bytes, String> {
    let mut gathered = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| causes(&*error))?;
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        exchange.response_body(bytes);
        if !held.grow(bytes.len()).await {
            return Err(TOO_MUCH.into());
        }
        if SSE_EVENT_LIMIT_BYTES < gathered.len() + bytes.len() {
            return Err(format!("it is larger than {SSE_EVENT_LIMIT_BYTES} bytes"));
        }
        gathered.extend_from_slice(bytes);
    }
    Ok(gathered.into())
}

fn told(head: &response::Parts) -> Head {
    let text = |name: HeaderName| {
        let values = head.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).reduce(|all, value| format!("{all}, {value}"))
    };
    let media_type = text(CONTENT_TYPE).unwrap_or_default();
    Head {
        status: head.status.as_u16(),
        media_type: media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
        session_id: text(HeaderName::from_static("mcp-session-id")),
        challenge: text(WWW_AUTHENTICATE),
        location: text(LOCATION),
    }
}
