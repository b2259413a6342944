//! The commands, one file each.

mod bridge_http;
mod bridge_stdio;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod demo_server;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod forward;
pub(crate) mod inspect;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod proxy;
pub(crate) mod replay;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod stats;
mod stop;
pub(crate) mod transfer;
pub(crate) mod verify;
pub(crate) mod wrap;
