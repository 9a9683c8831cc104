//! Several runners as one: each measures the subjects of one kind.

use plimsoll_model::{
    Cause, Failure, Flag, LoadObserver, MeasureInfo, Plan, PointResult, PointSpec, Prepared,
    SubjectFacts, SubjectKind, SubjectRunner, Workload,
};

/// Runner of the subjects of a kind.
pub struct RunnerOfKind<'a> {
    /// The kind.
    pub kind: SubjectKind,
    /// Its runner, which has all subjects of that kind, in the plan's order.
    pub runner: Box<dyn SubjectRunner + 'a>,
}

/// Passes each subject of a plan on to the runner of its kind.
pub struct Dispatcher<'a> {
    runners: Vec<Box<dyn SubjectRunner + 'a>>,
    /// Place of each subject of the plan.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Index of its runner.
    runner: usize,
    /// Its index among the subjects of that runner.
    subject: usize,
}

impl<'a> Dispatcher<'a> {
    /// The runners of a plan.
    ///
    /// # Errors
    /// [`Cause::Usage`] for a subject of a kind without a runner.
    pub fn new(plan: &Plan, runners: Vec<RunnerOfKind<'a>>) -> Result<Dispatcher<'a>, Failure> {
        let mut places: Vec<Place> = Vec::new();
        for subject in &plan.subjects {
            let kind = subject.kind();
            let Some(runner) = runners.iter().position(|runner| runner.kind == kind) else {
                let happened = format!("this command does not measure {kind}");
                let next = "Remove it from the plan.";
                return Err(Failure::new(Cause::Usage, "run the plan")
                    .on(subject)
                    .happened(happened)
                    .next(next));
            };
            let before = places.iter().filter(|place| place.runner == runner).count();
            places.push(Place { runner, subject: before });
        }
        let runners = runners.into_iter().map(|runner| runner.runner).collect();
        Ok(Dispatcher { runners, places })
    }

    /// Calls all runners, also after one failed; the first failure.
    fn each(
        &mut self,
        call: impl Fn(&mut (dyn SubjectRunner + 'a)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.runners.iter_mut().map(|runner| call(&mut **runner)).fold(Ok(()), Result::and)
    }
}

impl SubjectRunner for Dispatcher<'_> {
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let place = self.places[subject];
        self.runners[place.runner].attach(place.subject)
    }

    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        let place = self.places[subject];
        self.runners[place.runner].lay_out_rate(place.subject, bytes, observer)
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let place = self.places[subject];
        self.runners[place.runner].prepare(place.subject, workloads, observer)
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        let known: Vec<Vec<SubjectFacts>> =
            self.runners.iter().map(|runner| runner.facts()).collect();
        // Up to the first one that is not attached yet.
        let facts = self.places.iter().map(|place| known[place.runner].get(place.subject).cloned());
        facts.map_while(|facts| facts).collect()
    }

    fn measures(&self) -> Vec<MeasureInfo> {
        self.runners.iter().flat_map(|runner| runner.measures()).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        let place = self.places[spec.subject];
        let spec = PointSpec { subject: place.subject, ..spec.clone() };
        self.runners[place.runner].point(&spec, observer)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.each(|runner| runner.release())
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        self.each(|runner| runner.reopen())
    }

    fn close(&mut self) -> Vec<Flag> {
        self.runners.iter_mut().flat_map(|runner| runner.close()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{
        Design, Endpoint, HostName, HostSubject, Outcome, PathFacts, PathSubject, Subject,
    };

    /// Has a number of attached subjects, and fails to open again.
    struct Named {
        name: &'static str,
        attached: usize,
    }

    impl SubjectRunner for Named {
        fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
            assert_eq!(subject, self.attached, "numbers among its own subjects");
            self.attached += 1;
            Ok(Vec::new())
        }

        fn facts(&self) -> Vec<SubjectFacts> {
            let facts = |number| PathFacts {
                given: format!("{} {number}", self.name),
                ..PathFacts::default()
            };
            (0..self.attached).map(|number| SubjectFacts::Path(facts(number))).collect()
        }

        fn point(&mut self, _: &PointSpec, _: &mut dyn LoadObserver) -> PointResult {
            PointResult::empty(Outcome::Complete)
        }

        fn reopen(&mut self) -> Result<(), Failure> {
            self.attached = 0;
            Err(Failure::new(Cause::Unreachable, "open").on(self.name).happened("it is gone"))
        }

        fn close(&mut self) -> Vec<Flag> {
            Vec::new()
        }
    }

    fn runner(kind: SubjectKind, name: &'static str) -> RunnerOfKind<'static> {
        RunnerOfKind { kind, runner: Box::new(Named { name, attached: 0 }) }
    }

    fn plan() -> Plan {
        let host: Subject = HostSubject { host: HostName::Local }.into();
        let end = || Endpoint { host: HostName::Local, address: None };
        let path: Subject = PathSubject { from: end(), to: end(), via: None }.into();
        Plan::new(vec![path.clone(), host, path], Vec::new(), Design::default())
    }

    #[test]
    fn subjects_go_to_the_runner_of_their_kind() {
        let runners = vec![runner(SubjectKind::Host, "host"), runner(SubjectKind::Path, "path")];
        let mut dispatcher = Dispatcher::new(&plan(), runners).unwrap();
        let given = |dispatcher: &Dispatcher<'_>| -> Vec<String> {
            dispatcher.facts().iter().map(|facts| facts.given().to_owned()).collect()
        };
        dispatcher.attach(0).unwrap();
        assert_eq!(given(&dispatcher), ["path 0"]);
        dispatcher.attach(1).unwrap();
        dispatcher.attach(2).unwrap();
        assert_eq!(given(&dispatcher), ["path 0", "host 0", "path 1"]);
        // All are opened again, and the first failure is reported.
        assert_eq!(dispatcher.reopen().unwrap_err().on, "host");
        assert_eq!(given(&dispatcher), [""; 0]);
    }

    #[test]
    fn a_kind_without_a_runner_is_refused() {
        let refused = Dispatcher::new(&plan(), vec![runner(SubjectKind::Path, "path")]);
        let failure = refused.err().expect("no runner of hosts");
        assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "local"));
    }
}
