//! The commands, one file each.

pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod demo_server;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod transfer;
