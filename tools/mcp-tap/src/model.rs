//! Models as the tool asks them: a small trait, and a provider over HTTP behind it.
//!
//! What is written and read is in `tap-models`; here is who is asked, with what key, how often, and how long it is waited for.

mod address;
mod http;
mod mask;
mod retry;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::time::Duration;

use tap_models::{Format, ModelEvent, ModelFailure, ModelRequest, ModelTurn};

pub(crate) use self::http::HttpModel;

/// What happens while a model is asked.
#[derive(Debug)]
pub(crate) enum Heard<'a> {
    /// This request is on its way, JSON. Once for each try.
    Sent(&'a str),
    /// More of the answer's body, as it came; where the provider said the key back it is hidden.
    Received(&'a [u8]),
    /// What that means. The last one, `Done` or `Failed`, is not among them: it is what [`Model::ask`] returns.
    Event(&'a ModelEvent),
    /// It failed, and is tried again after a while.
    Retry {
        /// Why.
        failure: &'a ModelFailure,
        /// How long it is waited.
        wait: Duration,
    },
}

/// Who hears it.
pub(crate) type Listener<'a> = dyn FnMut(Heard<'_>) + Send + 'a;

/// A model's answer that is still to come.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Result<ModelTurn, ModelFailure>> + Send + 'a>>;

/// A model that can be asked.
pub(crate) trait Model: Send + Sync {
    /// In which format tools are written for it.
    fn format(&self) -> Format;

    /// What it is called where it is.
    fn name(&self) -> &str;

    /// Asks it. The model of the request is [`name`](Self::name), whatever is in there.
    ///
    /// Whoever drops the answer before it is there cancels the request at once.
    fn ask<'a>(&'a self, request: ModelRequest<'a>, listener: &'a mut Listener<'a>) -> Answer<'a>;
}
