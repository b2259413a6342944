//! What bounds a run.

use tap_models::{Prices, Usage};

/// How far a run may go. Nothing is bounded where there is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// How often the model is asked for one question.
    pub rounds: u32,
    /// How many calls are made for one question.
    pub calls: u32,
    /// How many tokens are spent in all, those that are sent and those that come back.
    pub tokens: Option<u64>,
    /// How long one question may take, nanoseconds.
    pub time_ns: Option<u64>,
    /// What may be spent in all, in the currency of the prices.
    pub cost: Option<f64>,
    /// How often one call may come back with the same before it is not made any more. After as many again the run ends.
    pub repeats: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: 20, calls: 100, tokens: None, time_ns: None, cost: None, repeats: 3 }
    }
}

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// How often the model was asked for this question.
    pub rounds: u32,
    /// How many calls were made for it.
    pub calls: u32,
    /// Tokens, as far as the provider tells, in all.
    pub usage: Usage,
    /// What that cost, where prices are known, in all.
    pub cost: Option<f64>,
    /// When the question was asked, nanoseconds.
    pub since_ns: u64,
}

/// Which bound was reached.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Limit {
    /// The model was asked so often.
    #[error("the model was asked {0} times, and no more are allowed (--max-rounds)")]
    Rounds(u32),
    /// So many calls were made.
    #[error("{0} calls were made, and no more are allowed (--max-calls)")]
    Calls(u32),
    /// So many tokens were spent.
    #[error("{spent} tokens were spent, and {limit} are allowed (--max-tokens)")]
    Tokens {
        /// These were.
        spent: u64,
        /// These may be.
        limit: u64,
    },
    /// It took so long, nanoseconds.
    #[error("it took longer than {} s (--max-time)", .0 / 1_000_000_000)]
    Time(u64),
    /// It cost so much.
    #[error("it cost {spent:.4}, and {limit:.4} is allowed (--max-cost)")]
    Cost {
        /// This was spent.
        spent: f64,
        /// This may be.
        limit: f64,
    },
    /// The model made one call again and again, though nothing came of it.
    #[error("the model makes the same call again and again, and the same comes back")]
    Repeats,
    /// The answer was cut: it is as long as the model's may be.
    #[error("the model's answer was cut at its limit (--max-output)")]
    Output,
}

impl Spent {
    /// What an answer took.
    pub(crate) fn add(&mut self, usage: Option<Usage>, prices: Option<Prices>) {
        let usage = usage.unwrap_or_default();
        self.usage += usage;
        if let Some(prices) = prices {
            *self.cost.get_or_insert(0.0) += prices.cost(usage);
        }
    }

    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens.saturating_add(self.usage.output_tokens)
    }

    /// The bound that was reached, before the model is asked again.
    pub(crate) fn reached(&self, limits: &Limits, now_ns: u64) -> Option<Limit> {
        if limits.rounds <= self.rounds {
            return Some(Limit::Rounds(self.rounds));
        }
        if let Some(limit) = limits.time_ns.filter(|limit| *limit <= now_ns.saturating_sub(self.since_ns)) {
            return Some(Limit::Time(limit));
        }
        let spent = self.tokens();
        if let Some(limit) = limits.tokens.filter(|limit| *limit <= spent) {
            return Some(Limit::Tokens { spent, limit });
        }
        match (self.cost, limits.cost) {
            (Some(spent), Some(limit)) if limit <= spent => Some(Limit::Cost { spent, limit }),
            _ => None,
        }
    }
}
