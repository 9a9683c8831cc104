//! Measurements that take an hour or two on a quiet machine: `make measure-aa`, and others. What was
//! measured is kept below `target/tmp`, so that each goes on where it was interrupted; `PLIMSOLL_KEPT`
//! names another place. `PLIMSOLL_MINUTES` sets how long one may take, `PLIMSOLL_CASES` how much it does,
//! and `PLIMSOLL_PATIENCE` for how many seconds a machine that is not quiet is waited for.

#[path = "measure/aa.rs"]
mod aa;
#[path = "measure/cache.rs"]
mod cache;
#[path = "measure/copies.rs"]
mod copies;
#[path = "measure/disturbances.rs"]
mod disturbances;
#[path = "measure/fio.rs"]
mod fio;
#[path = "measure/kept.rs"]
mod kept;
#[path = "measure/limits.rs"]
mod limits;
#[path = "measure/nfs.rs"]
mod nfs;
#[path = "measure/ops.rs"]
mod ops;
#[path = "measure/own_client.rs"]
mod own_client;
#[path = "measure/quick_limits.rs"]
mod quick_limits;
#[path = "measure/readers.rs"]
mod readers;
#[path = "measure/run.rs"]
mod run;
#[path = "measure/scan.rs"]
mod scan;
#[path = "measure/screens.rs"]
mod screens;
#[path = "measure/stalls.rs"]
mod stalls;
mod support;
#[path = "measure/verdicts.rs"]
mod verdicts;
#[path = "measure/writes.rs"]
mod writes;
