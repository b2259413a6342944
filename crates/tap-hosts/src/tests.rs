//! Configurations as hosts have them: what is read of them, and that wrapping and unwrapping leaves every byte.

mod editing;
mod files;
mod generated;
mod reading;
