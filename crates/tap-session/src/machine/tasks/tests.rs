//! Tests of tasks: both eras, both directions, and what crosses on the wire.

use super::*;
use crate::script::{check, run};
use crate::{Follower, Lens, LinkKind, Meaning};
