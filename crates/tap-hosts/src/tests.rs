//! Configurations as hosts have them: what is read of them, and that wrapping and unwrapping leaves every byte.

mod files;
mod reading;
