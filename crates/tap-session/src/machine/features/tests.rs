//! Tests of what is looked at inside messages.

mod real;
