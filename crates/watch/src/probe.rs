//! A host watched by the probe on the host: a fraction of what a shell costs it, as often as it is
//! looked at here.
//!
//! What the host is, and what is asked for only now and then (its processes, its mounts, its queues), a shell
//! tells, which sleeps meanwhile. Where the probe cannot be placed, that shell watches alone.

use super::Ask;
use super::remote::{Opened, Remote, Source};
use super::shell::{Connect, Shell};
use crate::proc_files::{FileKind, Sample};
use plimsoll_model::{Cause, Clock, Failure, HostFacts, HostName, Nanos, WatchedBy};
use plimsoll_reach::Reach;
use plimsoll_reach::probe::{Placed, Programs, Sampler};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A sample costs the probe no process.
const INTERVAL: Duration = Duration::from_millis(500);
/// Most letters of why there is no probe.
const MOST_LETTERS: usize = 400;

/// A host watched by the probe, which is removed with it.
pub struct Probe {
    sampler: Sampler,
    shell: Box<dyn Source>,
    name: HostName,
    clock: Arc<dyn Clock>,
    _placed: Placed,
}

impl Probe {
    /// Begins to watch a host that is reached already, by the probe where one of `programs` can be
    /// placed there, else by a shell; the facts say which, and why not the probe. `again` is how the
    /// host is reached should it be lost. Samples are stamped by `clock`.
    pub fn watch_by(
        reach: Arc<dyn Reach>,
        again: Connect,
        programs: Programs,
        clock: Arc<dyn Clock>,
    ) -> Result<Remote, Failure> {
        let mut first = Some(reach);
        Remote::start(Box::new(move || {
            let reach = first.take().map_or_else(&again, Ok)?;
            let shell = Shell::open(&*reach, clock.clone())?;
            match place(reach, &programs) {
                Ok((placed, sampler)) => Ok(Probe::open(shell, placed, sampler, clock.clone())),
                Err(lost) if lost.cause == Cause::Unreachable => Err(lost),
                Err(failure) => {
                    let why = failure.happened.chars().take(MOST_LETTERS).collect();
                    let facts = HostFacts { without_probe: Some(why), ..shell.facts };
                    Ok(Opened { facts, ..shell })
                }
            }
        }))
    }

    fn open(shell: Opened, placed: Placed, sampler: Sampler, clock: Arc<dyn Clock>) -> Opened {
        let name = shell.facts.name.clone();
        let facts = HostFacts { watched_by: Some(WatchedBy::Probe), ..shell.facts };
        let probe = Probe { sampler, shell: shell.source, name, clock, _placed: placed };
        Opened { source: Box::new(probe), facts, hardware: shell.hardware, interval: INTERVAL }
    }

    fn counters(&mut self) -> Result<Sample, Failure> {
        self.sampler.ask()?;
        let taken = self.sampler.sample(Instant::now() + PATIENCE)?;
        let taken = taken.ok_or_else(|| self.failure("its probe did not answer in time"))?;
        let files = taken
            .files
            .iter()
            .filter_map(|file| Some((FileKind::of_probe(file.kind as u8)?, file.text.as_str())));
        let ticks_per_second = self.sampler.facts().ticks_per_second as f64;
        let sample = Sample::from_files(ticks_per_second, files)
            .ok_or_else(|| self.failure("its counters (/proc/stat) are not readable"))?;
        let ago = taken.moment.at.elapsed().as_nanos();
        Ok(Sample {
            at: Nanos(self.clock.now().0.saturating_sub(ago as u64)),
            within: taken.moment.error,
            uptime_seconds: Some(taken.begin.0 as f64 * 1e-9),
            watcher_seconds: Some(taken.probe_cpu.as_secs_f64()),
            ..sample
        })
    }

    fn failure(&self, happened: &str) -> Failure {
        let next = "Check that the host is up and reachable. Finished trials are kept.";
        Failure::new(Cause::Unreachable, "monitor the load of the host")
            .on(&self.name)
            .happened(happened)
            .next(next)
    }
}

fn place(reach: Arc<dyn Reach>, programs: &Programs) -> Result<(Placed, Sampler), Failure> {
    let placed = Placed::place(reach, programs, None)?;
    let sampler = placed.sampler()?;
    Ok((placed, sampler))
}

impl Source for Probe {
    fn sample(&mut self, what: Ask) -> Result<Sample, Failure> {
        let sample = self.counters()?;
        if what == Ask::Counters {
            return Ok(sample);
        }
        let Sample { processes, mounts, conntrack, queues, .. } = self.shell.sample(what)?;
        Ok(Sample { processes, mounts, conntrack, queues, ..sample })
    }
}
