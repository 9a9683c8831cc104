//! What a study says of itself while it runs. Observers only look on.

use plimsoll_model::{Cell, Event, Factor, FactorLevel, HostLoad, HostName, Trial, Workload};

/// One thing worth showing.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Idle hosts are watched for so many seconds.
    Baseline {
        /// How long.
        seconds: f64,
    },
    /// A subject is being prepared: files are laid out, the cache test runs.
    Preparing {
        /// Index of the subject in the plan.
        subject: usize,
    },
    /// A factor is being set.
    Setting {
        /// Which.
        factor: &'a Factor,
        /// To what.
        level: &'a FactorLevel,
    },
    /// A host is being rebooted.
    Reboot {
        /// Which.
        host: &'a HostName,
    },
    /// A trial begins.
    Trial {
        /// Its number, from 0.
        number: u32,
        /// Its block, from 0.
        block: u32,
        /// Subject, workload and setting.
        cell: Cell,
        /// What is done.
        workload: &'a Workload,
        /// Trials that are planned as things stand, this one included.
        planned: u32,
        /// Seconds until the end as things stand.
        seconds_left: f64,
    },
    /// The runner said something.
    Event(&'a Event),
    /// Seconds until the end as things stand, while a trial runs.
    Left {
        /// So many.
        seconds: f64,
    },
    /// How loaded the hosts were since the last of these, or since the trial's load began.
    Loads(&'a [HostLoad]),
    /// A trial ended and is kept.
    Ended(&'a Trial),
    /// The pilot is done: so many blocks in all are wanted.
    BlocksWanted {
        /// Blocks, the pilot included.
        blocks: u32,
    },
    /// Workloads that follow from what was measured were added to the plan.
    FollowUp {
        /// Number of workloads before.
        before: usize,
        /// Workloads that were added.
        workloads: &'a [Workload],
    },
}
