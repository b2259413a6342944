//! What a filter costs.

use crate::expression::{Expression, Test, What};
use crate::field::Field;

/// What a filter has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// What lists show anyway.
    Rows,
    /// The findings of a session, for which all of it has to be followed.
    Findings,
    /// The bytes of messages.
    Bodies,
}

impl Expression {
    pub(crate) fn cost(&self) -> Cost {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().map(Self::cost).max().unwrap_or(Cost::Rows),
            Self::Not(inner) => inner.cost(),
            Self::Test(test) => test.cost(),
        }
    }

    pub(crate) fn asks_findings(&self) -> bool {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().any(Self::asks_findings),
            Self::Not(inner) => inner.asks_findings(),
            Self::Test(test) => test.cost() == Cost::Findings,
        }
    }

    /// Puts what costs least first, so that bodies are looked at only when all else fits. Changes nothing else.
    pub(crate) fn sort(&mut self) {
        match self {
            Self::And(all) | Self::Or(all) => {
                all.iter_mut().for_each(Self::sort);
                all.sort_by_key(Self::cost);
            }
            Self::Not(inner) => inner.sort(),
            Self::Test(_) => {}
        }
    }
}

impl Test {
    fn cost(&self) -> Cost {
        match self {
            Self::Anywhere(_) | Self::Json(..) => Cost::Bodies,
            Self::Is(state) => state.cost(),
            Self::Has(what) | Self::Text(what, _) => match what {
                What::Field(field) => field.cost(),
                What::Path(..) => Cost::Bodies,
                What::Header(_) => Cost::Rows,
            },
            Self::Number(field, _) => field.cost(),
        }
    }
}

impl Field {
    fn cost(self) -> Cost {
        match self {
            Self::Body | Self::Error => Cost::Bodies,
            Self::Finding | Self::Severity => Cost::Findings,
            _ => Cost::Rows,
        }
    }
}

impl crate::field::State {
    fn cost(self) -> Cost {
        match self {
            Self::Finding | Self::Violation | Self::Problem => Cost::Findings,
            _ => Cost::Rows,
        }
    }
}
