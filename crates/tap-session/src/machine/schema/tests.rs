//! Tests of members that are newer than the revision, and of members that are missing.

use crate::script::check;
