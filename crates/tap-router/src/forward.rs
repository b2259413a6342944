//! What a server asks and says, on its way to the host.

use tap_peer::{Asked, Cannot, Handler, ListKind, Notified, Reply};
use tokio::sync::{mpsc, oneshot};

use crate::serve::Event;

/// Hands on what one server asks and says.
pub(crate) struct Forward {
    pub(crate) server: String,
    /// What the host can be asked, the text of a JSON object.
    pub(crate) capabilities: String,
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

/// The list that a notification says is another one.
fn changed(method: &str) -> Option<ListKind> {
    Some(match method {
        "notifications/tools/list_changed" => ListKind::Tools,
        "notifications/prompts/list_changed" => ListKind::Prompts,
        "notifications/resources/list_changed" => ListKind::Resources,
        _ => return None,
    })
}

impl Handler for Forward {
    fn capabilities(&self) -> String {
        self.capabilities.clone()
    }

    fn answer(&self, asked: Asked) -> Reply {
        let (reply, replied) = oneshot::channel();
        let is_sent = self.events.send(Event::Asked { server: self.server.clone(), asked, reply }).is_ok();
        Box::pin(async move {
            match replied.await {
                Ok(answer) if is_sent => answer,
                _ => Err(Cannot::declined()),
            }
        })
    }

    fn notified(&self, notified: Notified) {
        let event = match changed(&notified.method) {
            Some(kind) => Event::ListChanged { server: self.server.clone(), kind },
            None => Event::Notified(notified),
        };
        let _ = self.events.send(event);
    }
}
