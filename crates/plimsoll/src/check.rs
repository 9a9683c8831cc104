//! `plimsoll check`: the main job.

use crate::arguments::{
    self, AccessArguments, CONTINUE_HELP, CONTINUE_LONG_HELP, HostArguments, OutputArguments,
    RuleArguments, StoreArguments, WorkloadArguments,
};
use crate::gate::GateArguments;
use crate::output::NewFile;
use crate::public::expect_rules_stay;
use crate::signals::Signals;
use crate::{credentials, gate, hosts, output, plan, report, restore, resume, settings, store};
use clap::Args;
use plimsoll_live::{Header, Observers};
use plimsoll_load::{Names, OpenOptions, Passwords, SystemClock, TimeLimits};
use plimsoll_model::{
    Cause, Cell, Clock, Deadline, Ended, Failure, HostFacts, HostName, Nanos, Outcome, Plan, Study,
    StudyId, Subject, SubjectFacts, SubjectKind, SubjectRunner, Target,
};
use plimsoll_reach::Reach;
use plimsoll_reach::deploy::Programs;
use plimsoll_record::StudyStore;
use plimsoll_remote::{Clients, RemoteRunner};
use plimsoll_report::Document;
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{
    Conduct, Dispatcher, FollowUp, NoSettings, RunnerOfKind, Settings, conduct_with,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

// Help texts that hold brackets: in a doc comment those would be links.
const TARGET_HELP: &str =
    "Directory, nfs://host[:port]/export/path or smb://[domain;]user@host[:port]/share/path";

const TARGET_LONG_HELP: &str = "Target: a directory, nfs://host[:port]/export/path or \
smb://[domain;]user@host[:port]/share/path. Options follow the URL as ?option=value&… (docs/targets.md lists \
them). With several targets, each is compared with the first";

#[derive(Args)]
pub struct CheckArguments {
    #[arg(value_name = "TARGET")]
    #[arg(help = TARGET_HELP, long_help = TARGET_LONG_HELP)]
    pub targets: Vec<String>,
    #[arg(long = "continue", value_name = "STUDY")]
    #[arg(help = CONTINUE_HELP, long_help = CONTINUE_LONG_HELP)]
    pub continues: Option<String>,
    #[command(flatten)]
    pub what: WorkloadArguments,
    #[command(flatten)]
    pub how: RuleArguments,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub gate: GateArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Runs a check and returns the exit code.
pub fn run(check: &CheckArguments, store: &StoreArguments) -> Result<u8, Failure> {
    if let Some(study) = &check.continues {
        let max_time = check.how.max_time;
        let again = resume::Again { study, max_time, access: &check.access, output: &check.output };
        return resume::run(&again, store);
    }
    let targets = arguments::targets(&check.targets)?;
    let mut plan = plan::check(targets, &check.hosts, &check.what, &check.how)?;
    plan.command = plan::repeatable_command(&plan);
    gate::add_to(&mut plan, &check.gate, &check.how, store)?;
    let file = check.what.jobs.pattern.file.clone();
    let allow_open = check.hosts.allow_open;
    let more = More { file, quick: check.how.quick, allow_open, ..More::default() };
    let study = measure(plan, &check.access, &check.output, store, more)?;
    gate::finish(&study.0, exit_code(&study.0, study.1), &check.output, store)
}

/// What is not in a plan.
#[derive(Default)]
pub struct More {
    /// A file of each target that is read in place.
    pub file: Option<String>,
    /// Whether it was to be quick.
    pub quick: bool,
    /// Whether rules may be removed from a host with a public address.
    pub allow_open: bool,
    /// The study that is continued, where one is; the plan is its own then, but for the cap.
    pub continues: Option<Study>,
    /// What is said once the targets are open.
    pub opened: Option<SayFn>,
    /// What follows from what was measured.
    pub follow: Option<Box<FollowFn>>,
}

/// Says something of the plan, the subjects and the hosts, those of the load first.
type SayFn = fn(&Plan, &[SubjectFacts], &[HostFacts]);

/// What follows from what was measured until now.
pub type FollowFn = dyn Fn(&Study) -> Vec<FollowUp>;

/// Carries a plan out, shows and keeps what came of it. Returns the study and the cause of an
/// interruption.
pub fn measure(
    plan: Plan,
    access: &AccessArguments,
    output: &OutputArguments,
    store: &StoreArguments,
    more: More,
) -> Result<(Study, Option<Cause>), Failure> {
    let mut named: Vec<&HostName> = plan.watched.iter().map(|one| &one.host).collect();
    named.extend(plan.factors.iter().map(|factor| &factor.host));
    let servers: Vec<_> = targets(&plan).filter_map(Target::host).collect();
    restore::expect_none_left(&named, &servers)?;
    expect_rules_stay(&plan.factors, more.allow_open)?;
    let file = more.file.clone();
    conducted(plan, output, store, more, |plan, id, signals| {
        set_up(plan, id, access, signals, file)
    })
}

/// Conducts a plan with what `set_up` makes ready for it, shows and keeps what came of it.
pub fn conducted(
    mut plan: Plan,
    output: &OutputArguments,
    store: &StoreArguments,
    more: More,
    set_up: impl FnOnce(&Plan, &StudyId, &Signals) -> Result<SetUp, Failure>,
) -> Result<(Study, Option<Cause>), Failure> {
    if !output.labels.is_empty() {
        plan.labels = plan::labels(&output.labels, plan.subjects.len())?;
    }
    let json = output.json.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let page = output.report.as_deref();
    let page = page.map(|path| NewFile::create(path, output.force)).transpose()?;
    let store = store::open_to_keep(store)?;
    let signals = Signals::listen()?;
    signals.announce();
    let drawn = || StudyId(format!("{:08x}", rand::random::<u32>()));
    let id = more.continues.as_ref().map_or_else(drawn, |study| study.id.clone());
    let ready = set_up(&plan, &id, &signals).map_err(|failure| signals.explain(failure))?;
    let SetUp { clock, begun, runners, watching, settings } = ready;
    let runner = Box::new(Dispatcher::new(&plan, runners)?);
    let hosts::Watching { hosts, flags } = watching;
    if let Some(say) = more.opened {
        let facts: Vec<HostFacts> = hosts.iter().map(|host| host.facts()).collect();
        say(&plan, &runner.facts(), &facts);
    }
    let started_unix_seconds = unix_seconds() - clock.now().since(begun).as_secs();
    let header = Header::new(id.clone(), started_unix_seconds, plan.clone());
    let mut observers = Observers::begin(output.show(), &header, &signals.stop);
    let order = Conduct {
        id,
        started_unix_seconds,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        runner,
        settings,
        hosts,
        flags,
        begun,
        clock,
        stop: signals.stop.clone(),
        store: &store,
        observer: &mut |progress| observers.show(progress),
        plan,
    };
    let nothing = |_: &Study| Vec::<FollowUp>::new();
    let follow: &FollowFn = more.follow.as_deref().unwrap_or(&nothing);
    let conducted = match more.continues {
        Some(study) => plimsoll_study::resume(study, order, follow),
        None => conduct_with(order, follow),
    };
    let mut study = conducted.map_err(|failure| signals.explain(failure))?;
    // The terminal is given back before anything is printed.
    drop(observers);
    for flag in plimsoll_study::hindsight(&study, more.quick) {
        if !study.flags.contains(&flag) {
            study.flags.push(flag);
        }
    }
    let kept = store.update(&study);
    show(&study, json, output.details)?;
    if let Some(page) = page {
        report::write_page(&study, page)?;
    }
    kept?;
    Ok((study, signals.cause()))
}

/// What a study is conducted with, ready.
pub struct SetUp {
    pub clock: Arc<dyn Clock>,
    /// When the study's time began to count.
    pub begun: Nanos,
    /// A runner for each kind of subject of the plan.
    pub runners: Vec<RunnerOfKind<'static>>,
    pub settings: Box<dyn Settings>,
    pub watching: hosts::Watching,
}

impl SetUp {
    /// Runners alone, from now on: no host is monitored, and no setting is changed.
    pub fn unwatched(runners: Vec<RunnerOfKind<'static>>, clock: Arc<dyn Clock>) -> SetUp {
        let watching = hosts::Watching { hosts: Vec::new(), flags: Vec::new() };
        SetUp { begun: clock.now(), clock, runners, settings: Box::new(NoSettings), watching }
    }

    /// The same with the hosts that the plan monitors, and its settings. `on` reaches the hosts of the load.
    pub fn watched(
        self,
        plan: &Plan,
        id: &StudyId,
        on: Vec<Arc<dyn Reach>>,
        deadline: &Deadline,
    ) -> Result<SetUp, Failure> {
        let (watched, time) = (plan.clone(), self.clock.clone());
        let watching =
            Signals::leave_when_over(deadline, "monitor the hosts", "the plan", move || {
                hosts::watch(&watched, on, &time)
            })?;
        SetUp { watching, ..self }.with_settings(plan, id, deadline)
    }

    /// The same with the settings of the plan.
    pub fn with_settings(
        self,
        plan: &Plan,
        id: &StudyId,
        deadline: &Deadline,
    ) -> Result<SetUp, Failure> {
        let (varied, id) = (plan.clone(), id.clone());
        let settings =
            Signals::leave_when_over(deadline, "read the settings", "the plan", move || {
                settings::open(&varied, &id)
            })?;
        Ok(SetUp { settings, ..self })
    }

    /// The same with a study whose time begins now.
    pub fn beginning_now(self) -> SetUp {
        SetUp { begun: self.clock.now(), ..self }
    }
}

/// Reaches the hosts and opens the targets. All of it ends by the plan's time cap.
fn set_up(
    plan: &Plan,
    id: &StudyId,
    access: &AccessArguments,
    signals: &Signals,
    file: Option<String>,
) -> Result<SetUp, Failure> {
    let Opened { runner, on, set_up, deadline, clock } =
        open(plan, id, access.credentials.as_deref(), signals, file)?;
    let runners = vec![RunnerOfKind { kind: SubjectKind::Storage, runner }];
    let begun = Nanos(0) + deadline.end().since(Nanos(0) + set_up);
    SetUp { begun, ..SetUp::unwatched(runners, clock) }.watched(plan, id, on, &deadline)
}

/// Storage that is open where the trials are driven.
pub struct Opened {
    pub runner: Box<dyn SubjectRunner>,
    /// The hosts that they are driven on; none: this machine.
    pub on: Vec<Arc<dyn Reach>>,
    /// Longest time for setting up.
    pub set_up: Duration,
    pub deadline: Deadline,
    pub clock: Arc<dyn Clock>,
}

/// Opens the targets of a plan. All of it ends by the plan's time cap.
pub fn open(
    plan: &Plan,
    id: &StudyId,
    credentials: Option<&Path>,
    signals: &Signals,
    file: Option<String>,
) -> Result<Opened, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let deadline = Deadline::new(clock.clone(), signals.stop.clone());
    let runner_options = RunnerOptions::of_plan(plan, id.clone(), rand::random(), deadline.clone());
    deadline.give(runner_options.set_up);
    let limits = TimeLimits::of_calls(runner_options.operation_timeout);
    let passwords = credentials::passwords(credentials, signals);
    let (typing, set_up) = (deadline.clone(), runner_options.set_up);
    let passwords = Passwords::new(move |target| {
        let found = passwords.find(target);
        // Typing takes none of the time for setting up.
        typing.give(set_up);
        found
    });
    let names = Names::resolved_by(plimsoll_reach::names::resolve);
    let (engine, cache) = (plan.storage.engine, plan.storage.cache);
    let defaults = OpenOptions::default();
    let options =
        OpenOptions { engine, cache, limits, passwords, names, file, deadline, ..defaults };
    let deadline = options.deadline.clone();
    let clients = plan.clients().filter(|_| plan.is_remote());
    let on = clients.map(|host| hosts::reach(host, &deadline));
    let on = on.collect::<Result<Vec<_>, Failure>>()?;
    // Neither did logging in over ssh, where somebody may have typed.
    deadline.give(set_up);
    let runner = driver(plan, options, runner_options, on.clone())?;
    Ok(Opened { runner, on, set_up, deadline, clock })
}

/// Opens the targets where the trials are driven: in this process, on another host, or on several.
fn driver(
    plan: &Plan,
    options: OpenOptions,
    runner_options: RunnerOptions,
    mut on: Vec<Arc<dyn Reach>>,
) -> Result<Box<dyn SubjectRunner>, Failure> {
    let Some(first) = on.first() else {
        let shares = targets(plan).map(|target| plimsoll_load::open(target, &options));
        return Ok(Box::new(Runner::new(runner_options, shares.collect::<Result<_, Failure>>()?)));
    };
    let (deadline, host, targets) = (
        runner_options.deadline.clone(),
        first.name().to_owned(),
        targets(plan).cloned().collect::<Vec<_>>(),
    );
    Signals::leave_when_over(&deadline, "start the runner", host, move || {
        let programs = Programs::of_this_program(plimsoll_remote::BUNDLE);
        if on.len() > 1 {
            let mut clients = Clients::start(on, &programs, &runner_options)?;
            targets.iter().try_for_each(|target| clients.connect(target, &options))?;
            return Ok(Box::new(clients) as Box<dyn SubjectRunner + Send>);
        }
        let mut remote = RemoteRunner::start(on.swap_remove(0), &programs, &runner_options)?;
        targets.iter().try_for_each(|target| remote.connect(target, &options))?;
        Ok(Box::new(remote))
    })
    .map(|runner| runner as Box<dyn SubjectRunner>)
}

fn targets(plan: &Plan) -> impl Iterator<Item = &Target> {
    plan.subjects.iter().filter_map(Subject::target)
}

fn show(study: &Study, json: Option<NewFile>, details: bool) -> Result<(), Failure> {
    if let Some(file) = json {
        let alone = file.is_standard_output();
        file.write(&plimsoll_record::to_json(study)?)?;
        if alone {
            return Ok(());
        }
    }
    let (document, style) = (Document::of_study(study), output::style());
    output::print(&if details { document.text(&style) } else { document.screen(&style) })
}

/// The exit code of a study that has figures.
pub fn exit_code(study: &Study, interrupted: Option<Cause>) -> u8 {
    if let Some(cause) = interrupted {
        return cause.exit_code();
    }
    let is_complete = |cell: Cell| {
        let mut own = study.trials.iter().filter(|trial| trial.cell == cell);
        own.any(|trial| trial.result.outcome == Outcome::Complete)
    };
    let failed = study.trials.iter().any(|trial| match trial.result.outcome {
        Outcome::Failed { .. } => true,
        Outcome::Void { .. } => !is_complete(trial.cell),
        Outcome::Complete | Outcome::Stopped => false,
    });
    match &study.ended {
        Ended::Failed { failure } if failure.cause == Cause::NoSpace => Cause::NoSpace.exit_code(),
        // Between trials: a device that did not come back from its reboot.
        Ended::Failed { failure } if failure.cause == Cause::Unreachable && !failed => {
            Cause::Unreachable.exit_code()
        }
        Ended::Done | Ended::CapReached if !failed => 0,
        _ => Cause::Trial.exit_code(),
    }
}

/// Now, in seconds since 1970-01-01 UTC.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
