//! `--connections`: new TCP connections a second through a router.

use super::arguments::NetArguments;
use super::workloads::{length, part};
use plimsoll_model::{Cause, ConnectJob, Failure, Workload};

/// Seconds of a trial, and of one of a quick study.
const SECONDS: f64 = 4.0;
const QUICK_SECONDS: f64 = 2.0;

/// Whether frames are measured: always, unless connections alone are named.
pub(super) fn measures_frames(arguments: &NetArguments) -> bool {
    let via = &arguments.via;
    let names_frames = !via.frames.is_empty() || !via.direction.is_empty() || !via.flows.is_empty();
    via.connections.is_empty() || names_frames
}

/// A trial of each number of connections.
///
/// # Errors
/// [`Cause::Usage`] for options of frames where none are measured.
pub(super) fn workloads(arguments: &NetArguments) -> Result<Vec<Workload>, Failure> {
    let via = &arguments.via;
    let of_frames = [
        ("--loss", arguments.loss.is_some()),
        ("--final", via.confirming.is_some()),
        ("--latency", via.latency.is_some()),
    ];
    let unused = of_frames.into_iter().find(|(_, is_given)| *is_given);
    if let Some((option, _)) = unused.filter(|_| !measures_frames(arguments)) {
        return Err(Failure::new(Cause::Usage, "plan the study")
            .on(option)
            .happened(format!("{option} is for frames, and the study has none"))
            .next(format!("Add --frames 1518, or leave {option} out.")));
    }
    let seconds = match (arguments.time, arguments.study.quick) {
        (Some(time), _) => time.as_secs_f64(),
        (None, true) => QUICK_SECONDS,
        (None, false) => SECONDS,
    };
    let workload = |streams: &u16| {
        Workload::new(part(ConnectJob { streams: *streams }.into()), length(seconds))
    };
    Ok(via.connections.iter().map(workload).collect())
}
