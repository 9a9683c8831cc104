//! Measurements that take minutes to hours, many of them on a quiet machine: see `README.md`.

mod aa;
mod advise;
mod cache;
mod copies;
mod database;
mod disturbances;
mod encryption;
mod fio;
mod forwarding;
mod kept;
mod limits;
mod net;
mod nfs;
mod ops;
mod own_client;
mod playback;
mod predictions;
mod quick_limits;
mod readers;
mod run;
mod scan;
mod screens;
mod stalls;
#[path = "../tests/support/mod.rs"]
mod support;
mod verdicts;
mod writes;
