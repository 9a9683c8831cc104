//! Reaching real hosts: OpenSSH's server, and dropbear on a host with BusyBox alone.

mod channels;
mod commands;
mod cost;
mod failures;
mod files;
mod leftovers;
mod shells;
mod support;
mod terminal;
