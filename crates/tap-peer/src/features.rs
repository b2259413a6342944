//! What can be asked of a server, in so many words: the same in both eras, whatever the wire has for it.

use tap_protocol::Era;
use tap_session::Kept;

use crate::client::{CallOptions, Client};
use crate::error::CallError;
use crate::text::quoted;

/// What a client wants to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// When there are other tools.
    pub tools: bool,
    /// When there are other prompts.
    pub prompts: bool,
    /// When there are other resources.
    pub resources: bool,
    /// When these resources hold something else.
    pub uris: Vec<String>,
}

/// That a client hears of changes, until this is dropped or [ended](Self::end).
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    uris: Vec<String>,
    listen: Option<tokio::task::JoinHandle<()>>,
}

impl Subscription {
    /// Ends it, and tells the server.
    pub async fn end(mut self) {
        if let Some(listen) = self.listen.take() {
            listen.abort();
            return;
        }
        for uri in std::mem::take(&mut self.uris) {
            let params = Some(format!("{{\"uri\":{}}}", quoted(&uri)));
            let _ = self.client.request("resources/unsubscribe", params, CallOptions::default()).await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(listen) = &self.listen {
            listen.abort();
        }
        // In the legacy era nobody can be told here; what comes is heard by the handler as before.
    }
}

impl Client {
    /// Calls a tool. `arguments` is the text of a JSON object.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request). That the tool failed is a result, which says `isError`.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
    ) -> Result<Kept, CallError> {
        self.request("tools/call", Some(named(name, arguments)), options).await
    }

    /// Gets a prompt. `arguments` is the text of a JSON object of strings.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request).
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Option<&str>,
        options: CallOptions,
    ) -> Result<Kept, CallError> {
        self.request("prompts/get", Some(named(name, arguments)), options).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request).
    pub async fn read_resource(&self, uri: &str, options: CallOptions) -> Result<Kept, CallError> {
        self.request("resources/read", Some(format!("{{\"uri\":{}}}", quoted(uri))), options).await
    }

    /// Asks how an argument could go on. `reference` is the text of a JSON object: what it is an argument of. `context` has
    /// arguments that are known, the text of a JSON object of strings.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request).
    pub async fn complete(
        &self,
        reference: &str,
        argument: (&str, &str),
        context: Option<&str>,
        options: CallOptions,
    ) -> Result<Kept, CallError> {
        let (name, value) = argument;
        let context = context
            // Older servers do not know it (2025-06-18, changelog).
            .filter(|_| tap_protocol::Revision::V2025_06_18 <= self.opened().revision)
            .map(|arguments| format!(",\"context\":{{\"arguments\":{arguments}}}"))
            .unwrap_or_default();
        let argument = format!("{{\"name\":{},\"value\":{}}}", quoted(name), quoted(value));
        let params = format!("{{\"ref\":{reference},\"argument\":{argument}{context}}}");
        self.request("completion/complete", Some(params), options).await
    }

    /// Says from which level on log messages are wanted: asks for that in the legacy era, and says it with each request from
    /// now on in the modern one.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request).
    pub async fn set_log_level(&self, level: &'static str) -> Result<(), CallError> {
        if self.era() == Era::Modern {
            self.want_log_level(level);
            return Ok(());
        }
        let params = format!("{{\"level\":{}}}", quoted(level));
        self.request("logging/setLevel", Some(params), CallOptions::default()).await.map(drop)
    }

    /// Tells the server that there are other roots. In the modern era nobody is told: whoever wants them asks each time.
    ///
    /// # Errors
    ///
    /// As with [`notify`](Self::notify).
    pub async fn roots_changed(&self) -> Result<(), CallError> {
        match self.era() {
            Era::Modern => Ok(()),
            Era::Legacy => self.notify("notifications/roots/list_changed", None).await,
        }
    }

    /// Wants to hear of changes. What the server does not offer is left out. The handler hears of them.
    ///
    /// # Errors
    ///
    /// As with [`request`](Self::request), in the legacy era.
    pub async fn watch(&self, mut watched: Watched) -> Result<Subscription, CallError> {
        let opened = self.opened();
        watched.tools &= opened.offers(&["tools", "listChanged"]);
        watched.prompts &= opened.offers(&["prompts", "listChanged"]);
        watched.resources &= opened.offers(&["resources", "listChanged"]);
        if !opened.offers(&["resources", "subscribe"]) {
            watched.uris.clear();
        }
        let mut subscription = Subscription { client: self.clone(), uris: Vec::new(), listen: None };
        match self.era() {
            Era::Legacy => {
                for uri in watched.uris {
                    let params = Some(format!("{{\"uri\":{}}}", quoted(&uri)));
                    self.request("resources/subscribe", params, CallOptions::default()).await?;
                    subscription.uris.push(uri);
                }
            }
            Era::Modern => {
                let params = filter(&watched);
                if let Some(params) = params {
                    let client = self.clone();
                    subscription.listen = Some(tokio::spawn(async move {
                        let _ = client.request("subscriptions/listen", Some(params), CallOptions::default()).await;
                    }));
                }
            }
        }
        Ok(subscription)
    }
}

fn named(name: &str, arguments: Option<&str>) -> String {
    match arguments {
        Some(arguments) => format!("{{\"name\":{},\"arguments\":{arguments}}}", quoted(name)),
        None => format!("{{\"name\":{}}}", quoted(name)),
    }
}

/// The params of `subscriptions/listen`; `None` where there is nothing to listen to.
fn filter(watched: &Watched) -> Option<String> {
    let flags = [
        ("toolsListChanged", watched.tools),
        ("promptsListChanged", watched.prompts),
        ("resourcesListChanged", watched.resources),
    ];
    let mut members: Vec<String> =
        flags.iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| format!("\"{name}\":true")).collect();
    if !watched.uris.is_empty() {
        let uris: Vec<String> = watched.uris.iter().map(|uri| quoted(uri)).collect();
        members.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
    }
    (!members.is_empty()).then(|| format!("{{\"notifications\":{{{}}}}}", members.join(",")))
}
