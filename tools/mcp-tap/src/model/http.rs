//! A model that is asked over HTTP, in one of the four formats.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use jiff::Timestamp;
use tap_http::{Additions, Upstream, UpstreamError, UpstreamOptions, causes, full};
use tap_models::{
    ANSWER_LIMIT_BYTES, ChatLimit, Format, ModelEvent, ModelFailure, ModelRequest, ModelTurn, Reader, read_answer,
    read_failure, request_body,
};

use super::address::{addresses, is_private};
use super::mask::Mask;
use super::{Answer, Heard, Listener, Model, retry};
use crate::arguments::ModelOptions;
use crate::command::proxy::{authorities, not_trusted};
use crate::failure::Failure;

/// The version of Anthropic's interface that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// How much is read of an answer that says no, bytes.
const FAILURE_LIMIT_BYTES: usize = 64 * 1024;

/// Such a model.
pub(crate) struct HttpModel {
    format: Format,
    name: String,
    /// Where it is asked for an answer as a whole, and as a stream.
    addresses: [Uri; 2],
    upstream: Upstream,
    /// The key, and what else is said with each request. Behind every record.
    additions: Additions,
    /// The key, so that it can be hidden where a provider says it back.
    key: Option<String>,
    /// There is a key, and the way there is none for it.
    is_key_withheld: bool,
    timeout: Duration,
    retries: u32,
    streams: bool,
    chat_limit: ChatLimit,
    /// Whether reasoning is asked for in a sealed form: until the model refuses it.
    sealed_reasoning: AtomicBool,
}

/// What is still to come of an answer.
struct Rest {
    body: Incoming,
    mask: Mask,
    is_over: bool,
}

/// Why a try failed.
struct Trouble {
    failure: ModelFailure,
    /// How long the provider asks to wait.
    wait: Option<Duration>,
    /// Whether it may be otherwise soon.
    is_passing: bool,
}

impl From<ModelFailure> for Trouble {
    fn from(failure: ModelFailure) -> Self {
        Self { is_passing: retry::is_passing(&failure), wait: None, failure }
    }
}

impl HttpModel {
    /// The model that the options mean.
    ///
    /// # Errors
    ///
    /// When none is named, or a key is missing.
    pub(crate) fn new(options: &ModelOptions) -> Result<Self, Failure> {
        let known = "--model openai:NAME, openai-responses:NAME, anthropic:NAME or gemini:NAME";
        let Some(model) = &options.model else {
            return Err(Failure::new("no model is named").hint(format!("name one: {known}")));
        };
        let format = match (model.format, &options.base_url) {
            (Some(format), _) => format,
            (None, Some(_)) => Format::OpenAiChat,
            (None, None) => {
                return Err(Failure::new(format!("nothing says who provides the model {}", model.name))
                    .hint(format!("say it: {known}; or with --base-url where it is")));
            }
        };
        let addresses = addresses(format, &model.name, options.base_url.as_ref())?;
        let known = key(format, options)?;
        let has_key = known.is_some();
        let key = known.filter(|_| addresses.iter().all(is_private));
        let additions = additions(format, key.as_deref())?;
        let upstream = Upstream::new(&UpstreamOptions {
            authorities: authorities(&options.model_cacert)?,
            ..UpstreamOptions::default()
        });
        Ok(Self {
            format,
            name: model.name.clone(),
            addresses,
            upstream: upstream.map_err(|error| not_trusted(&error))?,
            additions,
            is_key_withheld: has_key && key.is_none(),
            key,
            timeout: options.model_timeout,
            retries: options.model_retries,
            streams: !options.no_stream,
            chat_limit: match &options.base_url {
                Some(_) => ChatLimit::MaxTokens,
                None => ChatLimit::MaxCompletionTokens,
            },
            sealed_reasoning: AtomicBool::new(true),
        })
    }

    async fn ask_until_answered(
        &self,
        request: ModelRequest<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<ModelTurn, ModelFailure> {
        let mut n_failed = 0;
        loop {
            let sealed_reasoning = self.sealed_reasoning.load(Ordering::Relaxed);
            let request = ModelRequest { model: &self.name, chat_limit: self.chat_limit, sealed_reasoning, ..request };
            let body = request_body(self.format, &request, self.streams);
            listener(Heard::Sent(&body));
            // What was shown cannot be taken back.
            let mut is_shown = false;
            let mut noted = |heard: Heard<'_>| {
                is_shown |= matches!(&heard, Heard::Event(_));
                listener(heard);
            };
            let Trouble { failure, wait, is_passing } = match self.once(body, &mut noted).await {
                Ok(turn) => return Ok(turn),
                Err(trouble) => trouble,
            };
            let failure = self.told(failure);
            if sealed_reasoning && self.format == Format::OpenAiResponses && is_seal_refused(&failure) {
                self.sealed_reasoning.store(false, Ordering::Relaxed);
                continue;
            }
            n_failed += 1;
            let wait = wait.unwrap_or_else(|| retry::wait(n_failed, chance()));
            if is_shown || !is_passing || self.retries < n_failed || retry::LONGEST_ASKED < wait {
                return Err(failure);
            }
            listener(Heard::Retry { failure: &failure, wait });
            tokio::time::sleep(wait).await;
        }
    }

    /// One try.
    async fn once(&self, body: String, listener: &mut Listener<'_>) -> Result<ModelTurn, Trouble> {
        let sent = self.upstream.send(self.request(body));
        let response = match tokio::time::timeout(self.timeout, sent).await {
            Ok(response) => response.map_err(trouble)?,
            Err(_) => return Err(self.timed_out().into()),
        };
        let media_type = media_type(response.headers());
        if response.status() != StatusCode::OK {
            return Err(self.refused(response, listener).await);
        }
        match media_type.as_str() {
            "text/event-stream" => self.stream(self.rest(response), listener).await,
            // Some answer as a whole whatever was asked for, and say so.
            "application/json" => {
                let body = self.gather(self.rest(response), ANSWER_LIMIT_BYTES, listener).await?;
                let turn = read_answer(self.format, &body)?;
                if !turn.text.is_empty() {
                    listener(Heard::Event(&ModelEvent::TextDelta(turn.text.clone())));
                }
                Ok(turn)
            }
            other => {
                let what = if other.is_empty() { "of no type" } else { other };
                Err(ModelFailure::Malformed(format!("it is {what}, and not of this interface")).into())
            }
        }
    }

    fn request(&self, body: String) -> Request<tap_http::Body> {
        let [whole, streamed] = &self.addresses;
        let address = if self.streams { streamed } else { whole };
        let mut request = Request::new(full(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = address.clone();
        let headers = request.headers_mut();
        if let Some(host) = address.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
            headers.insert(HOST, host);
        }
        let accepted = if self.streams { "text/event-stream, application/json" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accepted));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("mcp-tap/", env!("CARGO_PKG_VERSION"))));
        self.additions.add_to(headers);
        request
    }

    async fn stream(&self, mut rest: Rest, listener: &mut Listener<'_>) -> Result<ModelTurn, Trouble> {
        let mut reader = Reader::new(self.format);
        loop {
            let events = match self.more(&mut rest).await {
                Ok(Some(bytes)) => {
                    listener(Heard::Received(&bytes));
                    reader.push(&bytes)
                }
                Ok(None) => reader.finish(),
                // What was complete is, however the connection ended.
                Err(failure) => match reader.finish().pop() {
                    Some(ModelEvent::Done(turn)) => return Ok(*turn),
                    _ => return Err(failure.into()),
                },
            };
            for event in events {
                match event {
                    ModelEvent::Done(turn) => return Ok(*turn),
                    ModelEvent::Failed(failure) => return Err(failure.into()),
                    other => listener(Heard::Event(&other)),
                }
            }
        }
    }

    fn rest(&self, response: Response<Incoming>) -> Rest {
        Rest { body: response.into_body(), mask: Mask::new(self.key.as_deref()), is_over: false }
    }

    /// The next bytes of an answer, or `None` at its end.
    async fn more(&self, rest: &mut Rest) -> Result<Option<Bytes>, ModelFailure> {
        while !rest.is_over {
            let bytes = match tokio::time::timeout(self.timeout, rest.body.frame()).await {
                Ok(Some(Ok(frame))) => rest.mask.push(frame.into_data().unwrap_or_default()),
                Ok(Some(Err(error))) => {
                    tracing::debug!(error = causes(&error), "the answer of a model broke off");
                    return Err(ModelFailure::Cut);
                }
                Ok(None) => {
                    rest.is_over = true;
                    rest.mask.finish()
                }
                Err(_) => return Err(self.timed_out()),
            };
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    async fn gather(
        &self,
        mut rest: Rest,
        limit_bytes: usize,
        listener: &mut Listener<'_>,
    ) -> Result<Vec<u8>, ModelFailure> {
        let mut gathered = Vec::new();
        while let Some(bytes) = self.more(&mut rest).await? {
            listener(Heard::Received(&bytes));
            if limit_bytes < gathered.len() + bytes.len() {
                return Err(ModelFailure::TooLarge);
            }
            gathered.extend_from_slice(&bytes);
        }
        Ok(gathered)
    }

    /// Reads an answer that says no.
    async fn refused(&self, response: Response<Incoming>, listener: &mut Listener<'_>) -> Trouble {
        let status = response.status().as_u16();
        let wait = retry::asked(response.headers(), Timestamp::now());
        // What it says is for a person; that it says no is known.
        let body = self.gather(self.rest(response), FAILURE_LIMIT_BYTES, listener).await.unwrap_or_default();
        Trouble { wait, ..read_failure(status, &body).into() }
    }

    fn timed_out(&self) -> ModelFailure {
        ModelFailure::TimedOut(self.timeout.as_secs())
    }

    /// A failure as it is told: where a key is missing it is said why.
    fn told(&self, mut failure: ModelFailure) -> ModelFailure {
        if let ModelFailure::Status { status: 401 | 403, message, .. } = &mut failure
            && self.is_key_withheld
        {
            message.push_str(" (the key was not sent: over http:// it can be read on the way)");
        }
        failure
    }
}

impl Model for HttpModel {
    fn format(&self) -> Format {
        self.format
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: ModelRequest<'a>, listener: &'a mut Listener<'a>) -> Answer<'a> {
        Box::pin(self.ask_until_answered(request, listener))
    }
}

/// Variables that hold a provider's key.
const fn key_variables(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => &["OPENAI_API_KEY"],
        Format::Anthropic => &["ANTHROPIC_API_KEY"],
        Format::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    }
}

/// The key. Where a model is elsewhere than at its provider it need not have one.
fn key(format: Format, options: &ModelOptions) -> Result<Option<String>, Failure> {
    let value = |name: &str| std::env::var(name).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    let missing = |names: &str| {
        Failure::new(format!("the environment has no {names}, which is to hold the key of the model's provider")).hint(
            "set it where mcp-tap is started; or name another variable with --key-env, or a place with --base-url",
        )
    };
    if let Some(name) = &options.key_env {
        return value(name).map(Some).ok_or_else(|| missing(name));
    }
    let names = key_variables(format);
    match names.iter().find_map(|name| value(name)) {
        None if options.base_url.is_none() => Err(missing(&names.join(" or "))),
        key => Ok(key),
    }
}

fn additions(format: Format, key: Option<&str>) -> Result<Additions, Failure> {
    let mut additions = Additions::default();
    let mut add = |name: HeaderName, value: &str| {
        let value = HeaderValue::from_str(value)
            .map_err(|_| Failure::new("the key of the model's provider holds what no header may hold"))?;
        additions.push(name, value).map_err(|error| Failure::new(error.to_string()))
    };
    if format == Format::Anthropic {
        add(HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION)?;
    }
    if let Some(key) = key {
        match format {
            Format::OpenAiChat | Format::OpenAiResponses => add(AUTHORIZATION, &format!("Bearer {key}"))?,
            Format::Anthropic => add(HeaderName::from_static("x-api-key"), key)?,
            Format::Gemini => add(HeaderName::from_static("x-goog-api-key"), key)?,
        }
    }
    Ok(additions)
}

fn trouble(error: UpstreamError) -> Trouble {
    let is_passing = match &error {
        UpstreamError::Untrusted(_) | UpstreamError::Certificate(_) | UpstreamError::Malformed(_) => false,
        UpstreamError::Connect(_) | UpstreamError::TimedOut | UpstreamError::NotSent | UpstreamError::Lost(_) => true,
    };
    // The option that servers have is another one for models.
    let why = causes(&error).replace("--cacert", "--model-cacert");
    let failure = ModelFailure::Unreachable(format!("the model's provider: {why}"));
    Trouble { failure, wait: None, is_passing }
}

fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a model refuses to seal its reasoning: it has none.
fn is_seal_refused(failure: &ModelFailure) -> bool {
    let (ModelFailure::Status { status: 400, message, .. } | ModelFailure::Reported { message, .. }) = failure else {
        return false;
    };
    message.to_ascii_lowercase().contains("encrypted")
}

/// A number that nobody can foresee.
fn chance() -> u32 {
    let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
    u32::from_le_bytes([a, b, c, d])
}
