//! A host with everything that is known of it, and one measurement of one of its jobs.

use crate::bench::Bench;
use crate::clean::Odd;
use crate::host::{DeviceRequest, Host, HostRequest};
use crate::{clock_call, parts};
use plimsoll_model::clock_call::{ClockFacts, ClockJob};
use plimsoll_model::device::{Device, PartRecord};
use plimsoll_model::{
    BoxFacts, Cause, Clock, DeviceJob, Failure, MeasureInfo, Metric, PartResult, SubjectFacts,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// A job that measures a host.
#[derive(Clone, Copy)]
pub(crate) enum HostJob {
    /// A part of its device.
    Device(DeviceJob),
    /// One of its clocks.
    Clock(ClockJob),
}

/// One measurement.
pub(crate) struct Measurement {
    /// Its figures.
    pub(crate) result: PartResult,
    /// Measures of its figures that belong to no job.
    pub(crate) measures: Vec<MeasureInfo>,
    /// Empty if it was stopped.
    pub(crate) failures: Vec<Failure>,
    /// Whether everything was measured.
    pub(crate) is_complete: bool,
    /// Details of a part of the device.
    pub(crate) details: Option<Details>,
}

/// Details of a part of a device.
pub(crate) struct Details {
    /// That part alone is filled.
    pub(crate) device: Device,
    record: PartRecord,
    odd: Odd,
}

/// A host, and what is known of it.
pub(crate) struct KnownHost<'a> {
    pub(crate) host: Host<'a>,
    /// Why it cannot be reached any more.
    pub(crate) lost: Option<Failure>,
    device: Device,
    odd: Odd,
    clock: Option<ClockFacts>,
}

impl<'a> KnownHost<'a> {
    pub(crate) fn new(host: Host<'a>) -> Self {
        let (device, odd) = (Device::default(), Odd::default());
        KnownHost { host, lost: None, device, odd, clock: None }
    }

    /// Its facts; `None` before they are read, if nothing can be said without them.
    pub(crate) fn facts(&self) -> Option<SubjectFacts> {
        match self.host.request {
            HostRequest::Device(_) => {
                let given = self.host.name.to_string();
                let device = self.device.clone();
                let facts = BoxFacts { label: given.clone(), given, device };
                Some(SubjectFacts::Host(Box::new(facts)))
            }
            HostRequest::Clock => self.clock.clone().map(SubjectFacts::Clock),
        }
    }

    /// Reads the facts of its clocks.
    pub(crate) fn read_clock(&mut self) -> Result<(), Failure> {
        self.clock = Some(clock_call::read_facts(&self.host)?);
        Ok(())
    }

    /// Measures a job once; a clock for so many seconds.
    pub(crate) fn measure(
        &self,
        job: HostJob,
        seconds: f64,
        clock: &dyn Clock,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Measurement {
        match job {
            HostJob::Device(job) => self.measure_part(job, clock, stop, say),
            HostJob::Clock(job) => self.measure_clock(job, seconds, stop),
        }
    }

    fn measure_part(
        &self,
        job: DeviceJob,
        clock: &dyn Clock,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Measurement {
        let begun = clock.now();
        let mut odd = Odd::default();
        let mut bench = Bench {
            host: &self.host.name,
            reach: &*self.host.reach,
            verbs: self.host.verbs(),
            quick: job.quick,
            stop,
            say,
            failures: Vec::new(),
            notes: Vec::new(),
        };
        let none = DeviceRequest::default();
        let request = match &self.host.request {
            HostRequest::Device(request) => request,
            HostRequest::Clock => &none,
        };
        let device = match &self.lost {
            Some(failure) => {
                bench.failed(failure.clone());
                Device::default()
            }
            None => parts::measure(&mut bench, job.part, request, &self.device, &mut odd),
        };
        let Bench { failures, notes, .. } = bench;
        let (failures, is_complete) = ended(failures, stop);
        let record = PartRecord {
            part: job.part,
            seconds: clock.now().since(begun).as_secs_f64(),
            complete: is_complete,
            failures: failures.clone(),
            notes,
        };
        let (result, measures) = figures(&device);
        let details = Some(Details { device, record, odd });
        Measurement { result, measures, failures, is_complete, details }
    }

    fn measure_clock(&self, job: ClockJob, seconds: f64, stop: &AtomicBool) -> Measurement {
        let measured = match &self.lost {
            Some(failure) => Err(failure.clone()),
            None => clock_call::measure(&self.host, job, seconds, stop),
        };
        let (result, failures) = match measured {
            Ok(result) => (result, Vec::new()),
            Err(failure) => (PartResult::default(), vec![failure]),
        };
        let (failures, is_complete) = ended(failures, stop);
        Measurement { result, measures: Vec::new(), failures, is_complete, details: None }
    }

    /// Keeps that the host is lost, and the details of a part: those of the last measurement that was whole, or of what
    /// there is. Details that were measured during other work replace none.
    pub(crate) fn keep(&mut self, measurement: &Measurement, is_alone: bool) {
        fn replace<T: Clone>(known: &mut Option<T>, new: &Option<T>, is_better: bool) {
            if new.is_some() && (is_better || known.is_none()) {
                known.clone_from(new);
            }
        }
        if self.lost.is_none() {
            let lost = measurement.failures.iter().find(|f| f.cause == Cause::Unreachable);
            self.lost = lost.cloned();
        }
        let Some(Details { device: new, record, odd }) = &measurement.details else { return };
        let (device, is_better) = (&mut self.device, record.complete && is_alone);
        replace(&mut device.inventory, &new.inventory, is_better);
        replace(&mut device.cpu, &new.cpu, is_better);
        replace(&mut device.memory, &new.memory, is_better);
        replace(&mut device.crypto, &new.crypto, is_better);
        replace(&mut device.disk, &new.disk, is_better);
        match device.parts.iter_mut().find(|known| known.part == record.part) {
            Some(known) => known.add(record.clone()),
            None => device.parts.push(record.clone()),
        }
        device.parts.sort_by_key(|record| record.part);
        self.odd.append(odd.clone());
        device.odd = self.odd.clone().into_remarks();
    }
}

/// The failures of a measurement, and whether it is complete. What failed because it was stopped is no failure.
fn ended(failures: Vec<Failure>, stop: &AtomicBool) -> (Vec<Failure>, bool) {
    match stop.load(Ordering::Relaxed) {
        true => (Vec::new(), false),
        false => {
            let is_complete = failures.is_empty();
            (failures, is_complete)
        }
    }
}

/// The figures of a part with their measures; those whose words make no name are in the facts alone.
fn figures(device: &Device) -> (PartResult, Vec<MeasureInfo>) {
    let (mut result, mut measures) = (PartResult::default(), Vec::new());
    for figure in device.measured() {
        if let Ok(info) = figure.info() {
            result.quantities.insert(Metric::all(info.measure), figure.value);
            measures.push(info);
        }
    }
    (result, measures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::HostName;
    use plimsoll_model::device::{MemoryFigures, Part};
    use plimsoll_reach::Local;
    use std::sync::Arc;

    fn memory(limit_bytes: u64) -> Measurement {
        let figures = MemoryFigures { limit_bytes: Some(limit_bytes), ..MemoryFigures::default() };
        let device = Device { memory: Some(figures), ..Device::default() };
        let (failures, notes) = (Vec::new(), Vec::new());
        let record =
            PartRecord { part: Part::Memory, seconds: 1.0, complete: true, failures, notes };
        let details = Some(Details { device, record, odd: Odd::default() });
        let (result, measures, failures) = (PartResult::default(), Vec::new(), Vec::new());
        Measurement { result, measures, failures, is_complete: true, details }
    }

    #[test]
    fn details_of_a_part_that_ran_alone_stay() {
        let verbs = Err(Failure::new(Cause::Usage, "find the probe"));
        let request = HostRequest::Device(DeviceRequest::default());
        let (name, reach) = (HostName::Local, Arc::new(Local));
        let mut host = KnownHost::new(Host { name, reach, verbs, request });
        for (limit_bytes, is_alone, kept) in [(1, false, 1), (2, true, 2), (3, false, 2)] {
            host.keep(&memory(limit_bytes), is_alone);
            let known = host.device.memory.as_ref().unwrap();
            assert_eq!(known.limit_bytes, Some(kept));
        }
        assert_eq!(host.device.parts.len(), 1);
        assert_eq!(host.device.parts[0].seconds, 3.0);
    }
}
