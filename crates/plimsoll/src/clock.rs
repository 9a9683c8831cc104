//! `plimsoll clock`: how long a call of clock_gettime takes on a host, and whether the vDSO answers it.

use crate::arguments::{OutputArguments, ProbeArguments, StoreArguments};
use crate::check::{self, More, SetUp};
use crate::output::Progress;
use crate::signals::Signals;
use crate::{hosts, plan, restore, resume};
use clap::{Args, ValueEnum};
use plimsoll_device::{Host, HostRequest, HostRunner, Verbs};
use plimsoll_load::SystemClock;
use plimsoll_model::clock_call::{ClockId, ClockJob, ClockSubject};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{
    Cause, Clock, Deadline, Failure, HostName, Length, Part, Plan, Study, SubjectKind, Workload,
};
use plimsoll_study::RunnerOfKind;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// Length of a trial where the user names none, and its bounds, in seconds.
const SECONDS: f64 = 0.5;
const SHORTEST_SECONDS: f64 = 0.01;
const LONGEST_SECONDS: f64 = 60.0;
/// Command that measures clocks and continues.
const COMMAND: &str = "plimsoll clock";

const EXAMPLES: &str = "Examples:
  This machine:
    plimsoll clock local
  A NAS, compared with this machine:
    plimsoll clock local ssh://root@nas
  One clock, for a second each time:
    plimsoll clock --clock monotonic --time 1s local";

const HOST_HELP: &str = "Host to measure: local, ssh://[user@]host[:port] or lab://name/host. With several hosts, \
each is compared with the first";

/// Measure how long reading the clock takes on a host
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ClockArguments {
    #[arg(required_unless_present = "continues", value_name = "HOST", help = HOST_HELP)]
    pub hosts: Vec<String>,
    /// Clocks of clock_gettime [default: all]
    #[arg(long = "clock", value_name = "CLOCKS", value_enum, value_delimiter = ',')]
    pub clocks: Vec<ClockChoice>,
    /// Continue a study of this command that ended early
    ///
    /// Its id, the start of its id, or 'latest'. It keeps its options, so only --max-time and options of the output can
    /// be given
    #[arg(long = "continue", value_name = "STUDY")]
    #[arg(conflicts_with_all = ["hosts", "clocks", "time", "repeats", "quick", "margin", "seed", "labels"])]
    pub continues: Option<String>,
    /// Length of one trial, all cores together [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub study: ProbeArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// A clock of clock_gettime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockChoice {
    /// CLOCK_MONOTONIC
    Monotonic,
    /// CLOCK_REALTIME
    Realtime,
    /// CLOCK_PROCESS_CPUTIME_ID, which only the kernel can read
    ProcessCpu,
}

impl ClockChoice {
    fn id(self) -> ClockId {
        match self {
            ClockChoice::Monotonic => ClockId::Monotonic,
            ClockChoice::Realtime => ClockId::Realtime,
            ClockChoice::ProcessCpu => ClockId::ProcessCpu,
        }
    }
}

/// Measures clocks and returns the exit code.
pub fn run(arguments: &ClockArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    let (plan, continues) = match &arguments.continues {
        Some(study) => {
            let (plan, study) = resume::found(study, arguments.study.max_time, COMMAND, kept)?;
            (plan, Some(study))
        }
        None => {
            // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
            let named = arguments.hosts.iter().map(|host| host.parse());
            let named = named.collect::<Result<Vec<HostName>, _>>()?;
            let mut plan = plan_of(arguments, &named, workloads(arguments)?);
            plan.command = plan::repeatable_command(&plan);
            (plan, None)
        }
    };
    let (study, interrupted) = measure(plan, continues, arguments, &arguments.output, kept)?;
    Ok(check::exit_code(&study, interrupted))
}

/// Conducts a plan whose subjects are clocks; goes on with a study where one is given. Returns the study and the cause
/// of an interruption.
pub fn measure(
    plan: Plan,
    continues: Option<Study>,
    arguments: &ClockArguments,
    output: &OutputArguments,
    kept: &StoreArguments,
) -> Result<(Study, Option<Cause>), Failure> {
    let named = plan.subjects.iter().flat_map(|subject| subject.hosts());
    let varied = plan.factors.iter().map(|factor| &factor.host);
    restore::expect_none_left(&named.chain(varied).collect::<Vec<_>>(), &[])?;
    let more = More { continues, ..More::default() };
    check::conducted(plan, output, kept, more, |plan, id, signals: &Signals| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let deadline = Deadline::new(clock.clone(), signals.stop.clone());
        let progress = Progress::new(output.quiet);
        let mut reached = Vec::new();
        for host in plan.subjects.iter().flat_map(|subject| subject.hosts()) {
            let directory = arguments.study.probe_dir.as_deref();
            let hosts::Measured { reach, placed } =
                hosts::with_probe(host, directory, &deadline, &progress)?;
            let verbs = Ok(Box::new(placed?) as Box<dyn Verbs>);
            reached.push(Host { name: host.clone(), reach, verbs, request: HostRequest::Clock });
        }
        let runner = Box::new(HostRunner::new(reached, clock.clone(), signals.stop.clone()));
        // A host that is measured is not watched: that would be work beside.
        let runners = vec![RunnerOfKind { kind: SubjectKind::Clock, runner }];
        let ready = SetUp::unwatched(runners, clock).with_settings(plan, id, &deadline)?;
        Ok(ready.beginning_now())
    })
}

/// One trial of every clock that the arguments name.
///
/// # Errors
/// [`Cause::Usage`] for a length that is too short or too long.
pub fn workloads(arguments: &ClockArguments) -> Result<Vec<Workload>, Failure> {
    let seconds = arguments.time.map_or(SECONDS, |time| time.as_secs_f64());
    if !(SHORTEST_SECONDS..=LONGEST_SECONDS).contains(&seconds) {
        let (on, happened) = (format!("--time {seconds}s"), "it is not from 10 ms to 60 s");
        let next = "Choose another --time.";
        return Err(Failure::new(Cause::Usage, "plan the study")
            .on(on)
            .happened(happened)
            .next(next));
    }
    let all = ClockChoice::value_variants();
    let mut clocks: Vec<ClockChoice> = Vec::new();
    for clock in if arguments.clocks.is_empty() { all } else { &arguments.clocks } {
        if !clocks.contains(clock) {
            clocks.push(*clock);
        }
    }
    let workload = |clock: ClockChoice| {
        let job = ClockJob { clock: clock.id() }.into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds, warm_up_seconds: 0.0 })
    };
    Ok(clocks.into_iter().map(workload).collect())
}

/// Every workload once a block on each host.
pub fn plan_of(arguments: &ClockArguments, hosts: &[HostName], workloads: Vec<Workload>) -> Plan {
    let subjects = hosts.iter().map(|host| ClockSubject { host: host.clone() }.into()).collect();
    let design = arguments.study.design(ProbeArguments::CAP_SECONDS, 0.0);
    Plan::new(subjects, workloads, design)
}
