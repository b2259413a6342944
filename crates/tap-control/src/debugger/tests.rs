//! The debugger, by script.

use super::*;
