//! Whether writes are what the storage sustains, or a burst that a cache takes.

use crate::gather::{self, Gathered};
use crate::stored::on_disks;
use plimsoll_model::{Burst, Cell, Measure, Metric, OpKind, Study, SubjectKind, Trial, Workload};
use plimsoll_stats::interval::mean;

/// What the writes of one cell are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writes {
    /// Subject, workload and setting.
    pub cell: Cell,
    /// Sustained, or why they are a burst's.
    pub sustained: Result<(), Burst>,
}

/// A final flush that takes this share of a trial waits for the storage, not for a cache.
///
/// A flush that waits for all of a trial's bytes bounds its rate by the storage's, whatever share it takes: the storage
/// had no more than the trial's time for them. What has to be told apart is a flush that waits for none of them. It
/// takes a latency: a round trip and a commit of the journal, up to 50 ms on a disk that turns, which is less than a
/// tenth of the shortest trial (0.5 s). A flush that waits for the data takes a tenth and more where the cache is 11%
/// faster than the storage and more; where it is less, the rate is within 11% of the storage's either way, and is
/// called a burst. `tests/stored.rs` simulates 3,000 servers: none of the 1,000 whose flush waits for nothing is called
/// sustained, no rate that is called so exceeds the storage's, and of the others all but those with a cache that is
/// hardly faster are. A stable cache (battery, flash) that holds a part of each trial is not told apart.
const WAITS: f64 = 0.1;

/// For every cell that has trials, no fixed rate, and whose writes something is known of: they are sustained where the
/// rate was steady before the first block and the trials' mean is within the plan's margin of it. Pauses
/// between trials let a cache get free again; trials too short for what a flush takes are slower. Where the
/// rate was not steady before, or nothing was written, they are sustained all the same where the trials show
/// it: the final flush counts and waited for the storage, or the server's disk wrote all of it meanwhile. Nothing is
/// written before sweeps.
pub fn writes(study: &Study) -> Vec<Writes> {
    let gathered = Gathered::new(study);
    let margin = study.plan.design.margin.ln_1p();
    let mut all = Vec::new();
    for (subject, facts) in study.subjects.iter().enumerate() {
        for state in facts.storage().map_or(&[][..], |facts| &facts.writes) {
            let workload = study.plan.workloads.get(usize::from(state.workload));
            // A fixed rate is neither that of the storage nor that of a cache.
            if workload.is_some_and(Workload::has_fixed_rate) {
                continue;
            }
            let part = workload.map_or(0, |workload| workload.headline_part());
            let cells = gathered.cells(state.workload).into_iter();
            for cell in cells.filter(|cell| usize::from(cell.subject) == subject) {
                let logs = gathered.results(cell, part).logs(Metric::all(Measure::THROUGHPUT));
                let Some(log) = mean(&logs) else { continue };
                let sustained = match state.steady_bytes_per_second {
                    Some(steady) if (log - steady.ln()).abs() <= margin => Ok(()),
                    Some(_) => Err(Burst::NotAgreed),
                    None if reached_storage(study, &gathered, cell, part) => Ok(()),
                    None if state.seconds > 0.0 => Err(Burst::NotSteady),
                    None => Err(Burst::NotConditioned),
                };
                all.push(Writes { cell, sustained });
            }
        }
    }
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let job = workload.main().map(|part| &part.job);
        let writes = job
            .is_some_and(|job| job.subject() == SubjectKind::Storage && job.stability().is_some());
        if !writes || workload.steps.is_none() || gather::is_imported(study) {
            continue;
        }
        let part = workload.headline_part();
        for cell in gathered.cells(number) {
            if gathered.complete(cell).is_empty() || all.iter().any(|known| known.cell == cell) {
                continue;
            }
            let sustained = match reached_storage(study, &gathered, cell, part) {
                true => Ok(()),
                false => Err(Burst::NotConditioned),
            };
            all.push(Writes { cell, sustained });
        }
    }
    all
}

/// Share of the trials in which the disk has to write nearly all of the payload. The write-back of a trial may fall into
/// the next one. Chosen.
const MOST_TRIALS: f64 = 0.5;

/// Whether the time of these trials has the time in it that the storage itself took.
fn reached_storage(study: &Study, gathered: &Gathered<'_>, cell: Cell, part: u16) -> bool {
    let trials = gathered.complete(cell);
    let flush = |trial: &&Trial| {
        let flush = trial.result.value(part, Metric::all(Measure::FLUSH_TIME))?;
        let rate = trial.result.value(part, Metric::all(Measure::THROUGHPUT))?;
        let ops = &trial.result.part(part)?.ops;
        let bytes: f64 = ops.values().map(|stats| stats.bytes as f64).sum();
        let share = flush * rate / bytes;
        share.is_finite().then_some(share)
    };
    let shares: Vec<f64> = trials.iter().filter_map(flush).collect();
    let waits = shares.len() == trials.len() && shares.iter().all(|share| *share >= WAITS);
    let kinds = [OpKind::WRITE, OpKind::PUT];
    let subject = usize::from(cell.subject);
    let has_all = |trials: &[&Trial]| {
        let disks =
            on_disks(study, subject, trials.iter().copied(), &kinds, |disk| disk.written_bytes);
        disks.is_some_and(|disks| disks.is_whole())
    };
    // Other programs may have written so much during one trial.
    let each = trials.iter().filter(|trial| has_all(&[**trial])).count();
    let on_disk = has_all(&trials) && each as f64 > MOST_TRIALS * trials.len() as f64;
    !trials.is_empty() && (waits || on_disk)
}
