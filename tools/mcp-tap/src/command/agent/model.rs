//! Who answers in a run: a model, a script, or a recording.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tap_agent::Script;
use tap_models::{Format, ModelRequest, ModelTurn};

use crate::arguments::Agent;
use crate::failure::Failure;
use crate::model::{HttpModel, Listener, Model};
use crate::text::shown;

/// Who answers.
pub(super) enum Answerer {
    Http(Box<HttpModel>),
    Script(Mutex<Script>),
    Recorded {
        turns: Mutex<VecDeque<Result<ModelTurn, String>>>,
        samplings: Mutex<VecDeque<Result<ModelTurn, String>>>,
    },
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Its turn in the run.
    Turn,
    /// An answer to a server (sampling).
    Sampling,
}

impl Answerer {
    /// The model or the script that the arguments name.
    pub(super) fn named(agent: &Agent) -> Result<Arc<Self>, Failure> {
        let Some(path) = &agent.script else {
            return Ok(Arc::new(Self::Http(Box::new(HttpModel::new(&agent.model)?))));
        };
        let place = shown(&path.to_string_lossy(), false);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read the script {place}: {error}")))?;
        let script = Script::read(&text).map_err(|error| Failure::new(format!("{place}: {error}")))?;
        Ok(Arc::new(Self::Script(Mutex::new(script))))
    }

    /// In which format tools are written for it.
    pub(super) fn format(&self) -> Format {
        match self {
            Self::Http(model) => model.format(),
            Self::Script(_) | Self::Recorded { .. } => Format::OpenAiChat,
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Http(model) => format!("{}:{}", model.format().name(), model.name()),
            Self::Script(_) => "script".into(),
            Self::Recorded { .. } => "recording".into(),
        }
    }

    /// What it says.
    pub(super) async fn ask(
        &self,
        asks: Asks,
        request: ModelRequest<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<ModelTurn, String> {
        match self {
            Self::Http(model) => model.ask(request, listener).await.map_err(|failure| failure.to_string()),
            Self::Script(script) => {
                let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
                script.say(request.turns).map_err(|error| error.to_string())
            }
            Self::Recorded { turns, samplings } => {
                let which = if asks == Asks::Turn { turns } else { samplings };
                let next = which.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or_else(|| Err("the model is asked more often than in the recording".into()))
            }
        }
    }
}
