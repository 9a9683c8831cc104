//! A host watched by the probe over there: a fraction of what a shell costs it.

use super::Ask;
use super::remote::{Open, Opened, Remote, Source};
use super::shell::{Connect, Shell};
use crate::probe::{Placed, Programs, Sampler};
use crate::proc_files::{FileKind, Sample};
use model::{Cause, Clock, Failure, HostFacts, Nanos, WatchedBy};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A sample costs the probe no process.
const INTERVAL: Duration = Duration::from_millis(500);

/// A host watched by the probe, which is removed with it.
pub struct Probe {
    sampler: Sampler,
    name: String,
    clock: Arc<dyn Clock>,
    _placed: Placed,
}

impl Probe {
    /// Carries the probe to the host and begins to watch; samples are stamped by `clock`. `reach` is
    /// how the host is reached, also should it be lost.
    pub fn watch(
        reach: Connect,
        programs: Programs,
        clock: Arc<dyn Clock>,
    ) -> Result<Remote, Failure> {
        let open: Open = Box::new(move || {
            let reach = reach()?;
            // What the host is, a shell over there has said once.
            let Opened { facts, hardware, .. } = Shell::open(&*reach, clock.clone())?;
            let placed = Placed::place(reach, &programs, None)?;
            let source = Probe {
                sampler: placed.sampler()?,
                name: facts.name.clone(),
                clock: clock.clone(),
                _placed: placed,
            };
            let facts = HostFacts { watched_by: Some(WatchedBy::Probe), ..facts };
            Ok(Opened { source: Box::new(source), facts, hardware })
        });
        Remote::start(INTERVAL, open)
    }
}

impl Source for Probe {
    /// Processes are not among what the probe samples: they are left out.
    fn sample(&mut self, _: Ask) -> Result<Sample, Failure> {
        self.sampler.ask()?;
        let taken = self.sampler.sample(Instant::now() + PATIENCE)?;
        let failure = |happened: &str| {
            let next = "Look whether the host is up and reachable; what was measured is kept.";
            Failure::new(
                Cause::Unreachable,
                "watch the load of the host",
                &self.name,
                happened,
                next,
            )
        };
        let taken = taken.ok_or_else(|| failure("its probe did not answer in time"))?;
        let files = taken
            .files
            .iter()
            .filter_map(|file| Some((FileKind::of_probe(file.kind as u8)?, file.text.as_str())));
        let ticks_per_second = self.sampler.facts().ticks_per_second as f64;
        let sample = Sample::from_files(ticks_per_second, files)
            .ok_or_else(|| failure("it does not show its counters (/proc/stat)"))?;
        let ago = taken.moment.at.elapsed().as_nanos();
        let at = Nanos(self.clock.now().0.saturating_sub(ago as u64));
        Ok(Sample {
            at,
            within: taken.moment.error,
            uptime_seconds: Some(taken.begin.0 as f64 * 1e-9),
            watcher_seconds: Some(taken.probe_cpu.as_secs_f64()),
            ..sample
        })
    }
}
