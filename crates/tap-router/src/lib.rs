//! Many servers as one: what every host needs, and no protocol provides.
//!
//! A core that does no I/O: `naming.rs` makes names that are unique and that models take, `catalog.rs` puts together what
//! all servers offer and maps it back, `rules.rs` and `policy.rs` have what the host's own rules say, `audit.rs` what is told
//! of each call, `adapt.rs` carries results between eras.
//! And an edge that does: `host.rs` has one client a server, [`Router`]; `serve.rs` is the router as one server of MCP,
//! whatever carries its lines.
//!
//! May know: clients of servers, the protocol, schemas. Must not know: recordings, configuration files, terminals.
//!
//! Start reading at [`Router::start`], then [`Catalog`]; [`serve`] for the server in front.

mod adapt;
mod audit;
mod canonical;
mod catalog;
mod forward;
mod host;
mod naming;
mod policy;
mod rules;
mod serve;

pub use self::adapt::{REFUSED, error_result};
pub use self::audit::{Audit, AuditedCall, Outcome};
pub use self::canonical::canonical;
pub use self::catalog::{Catalog, Entry, ListKindKey, Offer};
pub use self::host::{Ask, Hear, HostCall, News, Router, RouterOptions, ServerPlan};
pub use self::naming::{NAME_LIMIT, Naming, is_valid};
pub use self::policy::{Consent, Decider, Decision, Policy, PolicyRule, Question, Verdict};
pub use self::rules::{PARALLEL, Pattern, ServerRules, ToolRules};
pub use self::serve::{Front, FrontOptions, Server, serve};
