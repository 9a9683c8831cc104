//! A network path that exists only in a script: what studies of paths are tested with before there
//! is anything that measures one.

use plimsoll_model::{
    Cause, Clock, Event, Failure, Flag, LoadObserver, Measure, Metric, OpKind, Outcome, PartResult,
    PathFacts, Phase, PointResult, PointSpec, Prepared, Series, StreamJob, SubjectFacts,
    SubjectRunner, Window, Workload,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A path that carries so many bytes per second, whatever is offered.
pub struct ScriptedPath {
    /// As the user would have written it.
    pub given: String,
    /// What it carries in bytes per second in the trial of this number.
    pub capacity: Box<dyn Fn(u32) -> f64>,
}

/// Measures streams over scripted paths by a scripted clock.
pub struct PathRunner {
    clock: Arc<dyn Clock>,
    paths: Vec<ScriptedPath>,
    attached: usize,
    /// How often connections were made anew.
    pub reopened: usize,
}

impl PathRunner {
    /// A runner of these paths, in the plan's order.
    pub fn new(clock: Arc<dyn Clock>, paths: Vec<ScriptedPath>) -> Self {
        PathRunner { clock, paths, attached: 0, reopened: 0 }
    }

    /// What one part did: all that was offered and fits, window by window.
    fn part(
        &self,
        spec: &PointSpec,
        rate: Option<f64>,
        observer: &mut dyn LoadObserver,
    ) -> PartResult {
        let capacity = (self.paths[spec.subject].capacity)(spec.number);
        let offered = rate.unwrap_or(capacity);
        let carried = offered.min(capacity);
        let count = (spec.workload.seconds() / spec.window_seconds).round() as u64;
        let per_window = (carried * spec.window_seconds) as u64;
        let begun = self.clock.now();
        let windows: Vec<Window> = (1..=count)
            .map(|number| {
                let at = spec.window_seconds * number as f64;
                self.clock.sleep_until(begun + Duration::from_secs_f64(at));
                let window = Window::only(OpKind::WRITE, 1, per_window);
                observer.event(Event::Window { at_seconds: at, parts: vec![window.clone()] });
                window
            })
            .collect();
        let quantities = BTreeMap::from([
            (Metric::all(Measure::THROUGHPUT), carried),
            (Metric::all(StreamJob::OFFERED), offered),
            (Metric::all(StreamJob::LOSS), 1.0 - carried / offered),
        ]);
        let series = Series::new(spec.window_seconds, &windows);
        PartResult { quantities, series, ..PartResult::default() }
    }
}

impl SubjectRunner for PathRunner {
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        assert_eq!(subject, self.attached, "one after the other");
        self.attached += 1;
        Ok(Vec::new())
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        _: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        assert!(subject < self.attached && !workloads.is_empty());
        Ok(Prepared::default())
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        let facts = |path: &ScriptedPath| {
            SubjectFacts::Path(PathFacts { given: path.given.clone(), ..PathFacts::default() })
        };
        self.paths.iter().take(self.attached).map(facts).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        observer.load_begins();
        let parts: Result<Vec<PartResult>, Failure> = spec
            .workload
            .parts
            .iter()
            .map(|part| match rate(part) {
                Some(rate) => Ok(self.part(spec, rate, observer)),
                None => {
                    let happened = format!("{} is nothing that is done to a path", part.job.kind());
                    let given = self.paths[spec.subject].given.clone();
                    Err(Failure::new(Cause::Usage, "measure")
                        .on(given)
                        .happened(happened)
                        .next("Name a stream."))
                }
            })
            .collect();
        observer.load_ends();
        match parts {
            Ok(parts) => PointResult { parts, ..PointResult::empty(Outcome::Complete) },
            Err(failure) => {
                PointResult::empty(Outcome::Failed { phase: Phase::Measure.to_string(), failure })
            }
        }
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        self.reopened += 1;
        Ok(())
    }

    fn close(&mut self) -> Vec<Flag> {
        Vec::new()
    }
}

/// The rate that a stream offers; `None` for a job that is no stream.
fn rate(part: &plimsoll_model::Part) -> Option<Option<f64>> {
    match &part.job {
        plimsoll_model::Job::Stream(stream) => Some(stream.rate),
        _ => None,
    }
}
