//! Whether a mount's calls waited for a slot: the kernel's NFS client has no more calls in flight than a session of
//! version 4.1 has slots, or its connection has, whatever programs ask for.

use crate::gather::Gathered;
use crate::thresholds::{
    SLOT_BEYOND, SLOT_CALLS, SLOT_IN_FLIGHT, SLOT_SECONDS, SLOT_WAIT, SMALL_BYTES,
};
use plimsoll_model::{Cell, MountWire, Parameter, Steps, Study, Trial, Workload};

/// Calls of a mount that waited for a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Where.
    pub cell: Cell,
    /// Whether the mount has sessions: NFS version 4.1 or later.
    pub sessions: bool,
    /// Calls in flight to the server, on average over the trials.
    pub in_flight: f64,
    /// Operations that the workload kept in flight.
    pub asked: f64,
    /// Seconds that a call waited before it was sent.
    pub waited_seconds: f64,
    /// Seconds from sending a call to its reply.
    pub round_trip_seconds: f64,
}

/// Every cell in which calls waited for a slot, in the plan's order.
pub fn slots(study: &Study) -> Vec<Slots> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|number| u16::try_from(number).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, cell, &gathered.complete(cell))).collect()
}

fn of_cell(study: &Study, cell: Cell, trials: &[&Trial]) -> Option<Slots> {
    let (mut calls, mut waited, mut round_trips, mut seconds) = (0, 0.0, 0.0, 0.0);
    for trial in trials {
        // The account is taken with the first and the last look at the host.
        let (Some(mount), Some(load)) = (&trial.mount, trial.loads.first()) else { continue };
        if !mount.file_system.starts_with("nfs") {
            continue;
        }
        seconds += load.seconds;
        for (count, wire) in mount.operations.values().filter_map(|of| Some((of.count, of.wire?))) {
            if is_small(count, &wire) {
                calls += count;
                waited += wire.queue_seconds;
                round_trips += wire.round_trip_seconds;
            }
        }
    }
    let in_flight = round_trips / seconds;
    let asked = planned_in_flight(study.plan.workload(cell)?);
    let waits = calls >= SLOT_CALLS
        && waited >= SLOT_SECONDS
        && waited >= SLOT_WAIT * (waited + round_trips)
        // What asks for no more than is in flight waits for something else.
        && in_flight >= SLOT_IN_FLIGHT
        && asked > in_flight + SLOT_BEYOND;
    let options = study.subjects.get(usize::from(cell.subject))?.storage()?.mount_options.clone();
    let version = options
        .iter()
        .flat_map(|options| options.split(','))
        .find_map(|option| option.strip_prefix("vers="));
    waits.then(|| Slots {
        cell,
        sessions: version.is_some_and(|version| version.starts_with("4.") && version != "4.0"),
        in_flight,
        asked,
        waited_seconds: waited / calls as f64,
        round_trip_seconds: round_trips / calls as f64,
    })
}

/// Calls of more bytes wait for those before them to be sent, slots or not: writes tell nothing.
fn is_small(count: u64, wire: &MountWire) -> bool {
    count > 0 && wire.sent_bytes as f64 / (count as f64) < SMALL_BYTES
}

/// Operations that a workload keeps in flight, the most of its steps.
fn planned_in_flight(workload: &Workload) -> f64 {
    let in_flight = |workload: &Workload| -> f64 {
        let parts = workload.parts.iter();
        parts.map(|part| f64::from(part.workers.get()) * f64::from(part.depth().get())).sum()
    };
    match &workload.steps {
        Some(Steps::Sweep { over: over @ (Parameter::Depth | Parameter::Workers), values }) => {
            let points = values.iter().filter_map(|value| workload.at(*over, *value).ok());
            points.map(|point| in_flight(&point)).fold(0.0, f64::max)
        }
        _ => in_flight(workload),
    }
}
