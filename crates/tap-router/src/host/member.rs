//! One server of a router: its session, and calls to it within the host's bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tap_jsonrpc::Node;
use tap_peer::{CallError, CallOptions, Client, Outlet, Standing, Subscription, Watched};
use tap_protocol::{Era, INTERNAL_ERROR};
use tap_session::{ErrorReply, Kept};
use tokio::sync::Semaphore;

use super::HostCall;
use crate::adapt;
use crate::catalog::Offer;
use crate::rules::ServerRules;

/// A call that tells of progress may take so many times as long as one that does not.
const WITH_PROGRESS: u32 = 10;

/// How the message of an error begins that is not the server's.
const OURS: &str = "mcp-tap: ";

/// One server of a router.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) rules: ServerRules,
    pub(super) standing: Standing,
    pub(super) permits: Semaphore,
    /// What waits for whoever calls.
    pub(super) outlet: Option<Arc<Outlet>>,
    /// What it offers, as far as it said.
    pub(super) offer: Mutex<Offer>,
    /// What is heard of its changes, by the address of a resource; nothing is its lists.
    pub(super) watched: tokio::sync::Mutex<HashMap<String, Subscription>>,
}

/// Why a call of a server's has no result.
pub(super) enum Failed {
    /// The server said an error.
    Server(ErrorReply),
    Call(CallError),
    /// It could not be asked, or did not answer, over HTTP.
    Way(String),
    /// It cannot be connected to.
    NotThere(String),
    /// Others are called, and were for too long.
    Busy(Duration),
}

impl Failed {
    pub(super) fn of(error: CallError) -> Self {
        let CallError::Server(error) = error else {
            return Self::Call(error);
        };
        let [code, message, data] = error.node().pick(["code", "message", "data"]);
        // What carries lines over HTTP answers in the server's place, and says so: the call is at fault, not the request.
        let way = message.and_then(Node::text).and_then(|message| Some(message.strip_prefix(OURS)?.to_owned()));
        if let Some(way) = way {
            return Self::Way(way);
        }
        Self::Server(ErrorReply {
            code: code.and_then(Node::as_i64).unwrap_or(INTERNAL_ERROR),
            message: message.and_then(Node::text).unwrap_or_default().into_owned(),
            data: data.map(|data| String::from_utf8_lossy(data.bytes()).into_owned()),
        })
    }

    pub(super) fn says(&self, server: &str) -> String {
        match self {
            Self::Server(reply) => format!("{server}: {}", reply.message),
            Self::Call(CallError::TimedOut(limit)) => {
                format!("{server} did not answer within {} s; the call was cancelled", limit.as_secs_f64())
            }
            Self::Way(why) => format!("{server}: {why}"),
            Self::Call(error) => format!("{server}: {error}"),
            Self::NotThere(why) => format!("the server {server} cannot be reached: {why}"),
            Self::Busy(limit) => {
                format!(
                    "{server} is busy with other calls, for more than {} s; nothing was called",
                    limit.as_secs_f64()
                )
            }
        }
    }

    pub(super) fn reply(self, server: &str) -> ErrorReply {
        match self {
            Self::Server(reply) => reply,
            failed => ErrorReply::new(INTERNAL_ERROR, failed.says(server)),
        }
    }
}

impl Member {
    pub(super) async fn request(&self, method: &str, params: String, call: HostCall) -> Result<Kept, Failed> {
        let limit = self.rules.limit;
        let Ok(permit) = tokio::time::timeout(limit, self.permits.acquire()).await else {
            return Err(Failed::Busy(limit));
        };
        // What comes back would wait with what waits already.
        if let Some(outlet) = &self.outlet {
            outlet.room().await;
        }
        let connected = tokio::time::timeout(limit, self.standing.client()).await;
        let (client, _) = connected
            .map_err(|_| Failed::NotThere("it is not there in time".into()))?
            .map_err(|error| Failed::NotThere(error.to_string()))?;
        let params = match &call.capabilities {
            Some(capabilities) if client.era() == Era::Modern => adapt::with_capabilities(&params, capabilities),
            _ => params,
        };
        let options = CallOptions {
            limit: Some(limit),
            extend_until: call.on_progress.is_some().then(|| limit.saturating_mul(WITH_PROGRESS)),
            on_progress: call.on_progress,
            tag: Some(call.tag),
        };
        let answered = client.request(method, Some(params), options).await;
        drop(permit);
        answered.map_err(Failed::of)
    }

    /// Wants to hear of other lists.
    pub(super) async fn watch_lists(&self, client: &Client) {
        let watched = Watched { tools: true, prompts: true, resources: true, uris: Vec::new() };
        if let Ok(subscription) = client.watch(watched).await {
            self.watched.lock().await.insert(String::new(), subscription);
        }
    }

    /// Wants to hear of a resource. Tells whether the server will say.
    pub(super) async fn watch(&self, uri: &str) -> Result<bool, CallError> {
        let Some(client) = self.standing.now().filter(|client| client.opened().offers(&["resources", "subscribe"]))
        else {
            return Ok(false);
        };
        let mut watched = self.watched.lock().await;
        if !watched.contains_key(uri) {
            let subscription = client.watch(Watched { uris: vec![uri.to_owned()], ..Watched::default() }).await?;
            watched.insert(uri.to_owned(), subscription);
        }
        Ok(true)
    }
}
