//! Loads of a router and of the ends of its path while packets were sent.

use plimsoll_model::{
    CpuTimes, HostLoad, HostName, Measure, Metric, PartResult, Point, StreamJob, Trial,
};

/// Load of a host while packets were sent, or connections opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<'a> {
    pub(super) load: &'a HostLoad,
    /// Seconds in which they were sent: monitoring begins before them and ends after them.
    pub(super) seconds: f64,
}

impl<'a> Loaded<'a> {
    /// The load of one host; `None` if it was not monitored.
    pub(crate) fn of(
        loads: &'a [HostLoad],
        host: &HostName,
        sending_seconds: Option<f64>,
    ) -> Option<Loaded<'a>> {
        let load = loads.iter().find(|load| load.host == *host && load.seconds > 0.0)?;
        let within = sending_seconds.filter(|seconds| *seconds > 0.0 && *seconds < load.seconds);
        Some(Loaded { load, seconds: within.unwrap_or(load.seconds) })
    }

    /// The loads of a host at the rate that each search of frames found.
    pub(super) fn of_searches(trials: &[&'a Trial], host: &HostName) -> Vec<Loaded<'a>> {
        let of_trial = |trial: &&'a Trial| {
            Loaded::of(&trial.loads, host, segments(trial.result.parts.first()))
        };
        trials.iter().filter_map(of_trial).collect()
    }

    /// The loads of a host in trials of other jobs.
    pub(super) fn of_trials(trials: &[&'a Trial], host: &HostName) -> Vec<Loaded<'a>> {
        let of_trial = |trial: &&'a Trial| {
            Loaded::of(&trial.loads, host, answered(trial.result.parts.first()))
        };
        trials.iter().filter_map(of_trial).collect()
    }

    /// The load of a host at a point of such a trial.
    pub(crate) fn of_point(point: &'a Point, host: &HostName) -> Option<Loaded<'a>> {
        Loaded::of(&point.loads, host, answered(point.parts.first()))
    }

    /// Utilisation of the busiest core.
    pub(crate) fn core(&self) -> Option<f64> {
        self.cores().first().copied()
    }

    /// Utilisation of the core after it.
    pub(super) fn next_core(&self) -> Option<f64> {
        self.cores().get(1).copied()
    }

    /// Utilisation of each core, the busiest first.
    fn cores(&self) -> Vec<f64> {
        let share = |busy: &f64| (busy * self.load.seconds / self.seconds).min(1.0);
        let mut cores: Vec<f64> = self.load.cores_busy.iter().map(share).collect();
        cores.sort_by(|a, b| b.total_cmp(a));
        cores
    }

    /// Share of a class of CPU time on the core that has most of it.
    pub(super) fn busiest(&self, class: impl Fn(&CpuTimes) -> f64) -> Option<f64> {
        let most = self.load.cores.iter().map(class).reduce(f64::max)?;
        Some((most / self.seconds).min(1.0))
    }
}

/// Seconds in which frames of a search were sent.
fn segments(part: Option<&PartResult>) -> Option<f64> {
    part?.quantities.get(&Metric::all(Measure::ALL_SEGMENTS)).copied()
}

/// Seconds of other loads, their lead-in included.
fn answered(part: Option<&PartResult>) -> Option<f64> {
    part?.answered_seconds
}

/// The mean of a figure over the loads that have it.
pub(crate) fn mean<'a>(all: &[Loaded<'a>], of: impl Fn(&Loaded<'a>) -> Option<f64>) -> Option<f64> {
    average(&all.iter().filter_map(of).collect::<Vec<f64>>())
}

/// The mean of the finite ones.
pub(super) fn average(values: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let mean = finite.iter().sum::<f64>() / finite.len() as f64;
    mean.is_finite().then_some(mean)
}

/// The busiest core or process of an end, by its loads and the measure of its processes.
pub(super) fn at_end(trials: &[&Trial], own: &[Loaded<'_>], process: Measure) -> Option<f64> {
    let processes = trials.iter().filter_map(|trial| trial.result.value(0, Metric::all(process)));
    let processes: Vec<f64> = processes.collect();
    [mean(own, Loaded::core), average(&processes)].into_iter().flatten().reduce(f64::max)
}

/// Packets are forwarded in the kernel, before any process: what processes take sets no rate.
pub(super) fn kernel(cpu: &CpuTimes) -> f64 {
    cpu.system + cpu.irq + cpu.softirq
}

/// Frames that were offered to a router, and its load meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// Frames per second that were sent, and that arrived.
    pub(super) offered: f64,
    pub(super) received: f64,
    /// Frames that were sent.
    pub(super) sent: f64,
    /// Seconds in which they were sent.
    pub(super) seconds: f64,
    pub(super) load: &'a HostLoad,
}

impl<'a> At<'a> {
    fn new(part: Option<&PartResult>, loads: &'a [HostLoad], router: &HostName) -> Option<At<'a>> {
        let value = |measure| part?.quantities.get(&Metric::all(measure)).copied();
        let offered = value(Measure::OFFERED_FRAMES)
            .filter(|offered| offered.is_finite() && *offered > 0.0)?;
        let is_count = |count: &f64| count.is_finite() && *count >= 0.0;
        let received = value(Measure::PACKETS).filter(is_count)?;
        let sent = value(Measure::ALL_SENT).filter(is_count)?;
        let Loaded { load, seconds } = Loaded::of(loads, router, segments(part))?;
        Some(At { offered, received, sent, seconds, load })
    }

    /// Every trial of the searches.
    pub(super) fn all(trials: &[&'a Trial], router: &HostName) -> Vec<At<'a>> {
        let points = trials.iter().flat_map(|trial| &trial.points);
        points.filter_map(|point| At::new(point.parts.first(), &point.loads, router)).collect()
    }

    /// Datagrams with so many bytes of payload at one rate: both ends count bytes.
    pub(crate) fn of_datagrams(
        point: &'a Point,
        payload_bytes: f64,
        router: &HostName,
    ) -> Option<At<'a>> {
        let part = point.parts.first()?;
        let per_second = |measure| {
            let bytes = part.quantities.get(&Metric::all(measure)).copied()?;
            Some(bytes / payload_bytes).filter(|rate| rate.is_finite() && *rate >= 0.0)
        };
        let offered = per_second(StreamJob::OFFERED).filter(|offered| *offered > 0.0)?;
        let received = per_second(Measure::THROUGHPUT)?;
        let Loaded { load, seconds } = Loaded::of_point(point, router)?;
        Some(At { offered, received, sent: offered * seconds, seconds, load })
    }

    /// Share of the frames that was lost.
    pub(super) fn loss(&self) -> f64 {
        (1.0 - self.received / self.offered).clamp(0.0, 1.0)
    }

    /// CPU seconds that the kernel took beyond those of the idle router.
    pub(super) fn caused_by_kernel(&self) -> f64 {
        let idle = self.load.idle.as_ref().map_or(0.0, kernel);
        kernel(&self.load.cpu) - idle * self.load.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames were sent for 8 of 10 s.
    #[test]
    fn cores_are_as_busy_as_they_were_while_frames_were_sent() {
        let own = |busy| HostLoad { seconds: 10.0, cores_busy: busy, ..HostLoad::default() };
        let loads = [own(vec![0.2, 0.72, 0.4])];
        let seen = |seconds| Loaded::of(&loads, &HostName::Local, seconds).unwrap();
        let is_near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(is_near(seen(Some(8.0)).core(), 0.9) && is_near(seen(Some(8.0)).next_core(), 0.5));
        // What is no time within that of the monitoring is not used.
        for seconds in [None, Some(0.0), Some(11.0), Some(f64::NAN)] {
            assert!(is_near(seen(seconds).core(), 0.72), "{seconds:?}");
        }
        let loads = [own(vec![0.9])];
        let one = Loaded::of(&loads, &HostName::Local, Some(2.0)).unwrap();
        assert_eq!((one.core(), one.next_core()), (Some(1.0), None));
        assert!(Loaded::of(&[own(vec![])], &HostName::Local, None).unwrap().core().is_none());
    }
}
