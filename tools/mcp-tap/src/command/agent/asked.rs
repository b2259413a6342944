//! What servers ask during a run: the model (sampling), a person (elicitation), for folders (roots).

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tap_models::{sampling, sampling_result};
use tap_peer::{Answers, Asked, Cannot};
use tap_protocol::{INTERNAL_ERROR, INVALID_PARAMS};
use tap_session::ErrorReply;

use super::ask;
use super::model::{Answerer, Asks};
use super::record::Record;
use crate::arguments::Agent;
use crate::command::call::{on_the_terminal, root};
use crate::confirm::yes_or_no;
use crate::failure::Failure;
use crate::text::{cut, shown};

/// How often servers may ask the model in a run that a person is asked about each time.
const SAMPLINGS: u32 = 100;

/// How much of what a server asks is shown, columns.
const SHOWN: usize = 2_000;

/// Who answers servers.
#[derive(Clone)]
pub(super) struct Asking {
    answerer: Arc<Answerer>,
    record: Record,
    /// Without asking anybody, as often as this.
    allowed: Option<u32>,
    n_samplings: Arc<AtomicU32>,
    roots: Vec<(String, Option<String>)>,
}

impl Asking {
    pub(super) fn new(answerer: Arc<Answerer>, record: Record, arguments: &Agent) -> Result<Self, Failure> {
        let roots = arguments.root.iter().map(|folder| root(folder)).collect::<Result<_, _>>()?;
        Ok(Self { answerer, record, allowed: arguments.allow_sampling, n_samplings: Arc::default(), roots })
    }

    /// For one server. What there is no answer for is not declared either.
    pub(super) fn handler(&self) -> Arc<Answers> {
        let mut answers = Answers::default();
        if !self.roots.is_empty() {
            answers = answers.roots(self.roots.clone());
        }
        let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if is_terminal {
            answers = answers.elicitation_by_form_and_url(on_the_terminal);
        }
        if is_terminal || self.allowed.is_some() {
            let own = self.clone();
            answers = answers.sampling(true, move |asked| {
                let own = own.clone();
                Box::pin(async move { own.sample(&asked).await })
            });
        }
        Arc::new(answers)
    }

    async fn sample(&self, asked: &Asked) -> Result<String, Cannot> {
        let error = |code: i64, what: String| Cannot(ErrorReply::new(code, what));
        let n_before = self.n_samplings.fetch_add(1, Ordering::Relaxed);
        if self.allowed.unwrap_or(SAMPLINGS) <= n_before {
            return Err(error(-1, "the model was asked too often in this run".into()));
        }
        let params = asked.params.as_ref().map(|params| params.0.clone()).unwrap_or_default();
        if self.allowed.is_none() && !consents(&params).await {
            return Err(Cannot::declined());
        }
        let format = self.answerer.format();
        let sampling = sampling(format, &params).map_err(|what| error(INVALID_PARAMS, what.to_string()))?;
        let turn = ask(&self.answerer, Asks::Sampling, sampling.request(""), &self.record, &mut |_| ()).await;
        let turn = turn.map_err(|what| error(INTERNAL_ERROR, what))?;
        Ok(sampling_result(&turn, &self.answerer.name()))
    }
}

/// Whether the person lets a server ask the model this.
async fn consents(params: &[u8]) -> bool {
    let text = cut(&shown(&String::from_utf8_lossy(params), false), SHOWN);
    yes_or_no(format!("\na server asks the model: {text}\n  let it? [y/N] ")).await
}
