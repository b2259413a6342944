//! A filter: what was written, understood.

use crate::error::FilterError;
use crate::expression::Expression;
use crate::parse::parse;
use crate::plan::Plan;
use crate::subject::Subject;
use crate::test::Cost;

/// What a filter's text is read by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context {
    /// What time it is, for `after:-5m`: nanoseconds since the Unix epoch.
    pub now_unix_ns: i128,
    /// How far local time is ahead of UTC, for `after:14:02`: seconds.
    pub utc_offset_seconds: i32,
}

/// A filter: what was written, understood.
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    pub(crate) expression: Expression,
}

impl Filter {
    /// Reads a filter. An empty one fits everything. `saved` gives the text of a saved filter, for `@name`.
    ///
    /// # Errors
    ///
    /// When it makes no sense: where, why, and what would.
    pub fn parse(text: &str, context: &Context, saved: &dyn Fn(&str) -> Option<String>) -> Result<Self, FilterError> {
        let mut expression = parse(text, context, saved)?;
        expression.sort();
        Ok(Self { text: text.into(), expression })
    }

    /// What was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a message fits.
    #[must_use]
    pub fn fits(&self, subject: &dyn Subject) -> bool {
        self.expression.fits(subject)
    }

    /// What has to be looked at.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.expression.cost()
    }

    /// Whether it asks which rules were broken, for which a session has to be followed.
    #[must_use]
    pub fn asks_findings(&self) -> bool {
        self.expression.asks_findings()
    }

    /// What a database can sort out by itself: it holds of every message that fits, and of others too.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.expression.plan(true)
    }
}
