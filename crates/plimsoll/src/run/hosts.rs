//! Plans of hosts: the keys of their jobs and of `[rule]` are options of `plimsoll device`, or of `plimsoll clock`.

use super::assemble::factors;
use super::file::Source;
use super::given::Given;
use super::options::{self, Word, one_of};
use super::subjects::{CLOCK, Subjects};
use super::targets::{Open, missing, too_many};
use super::work::{Head, JobOf, expect_new, head};
use super::{claims, concurrent};
use crate::clock::{self, ClockArguments};
use crate::device::{self, DeviceArguments};
use crate::plan;
use plimsoll_model::device::Part;
use plimsoll_model::{Contrast, Failure, HostName, Plan, Workload};
use std::path::PathBuf;
use toml::Table;

/// Options about blocks and time: of parts of hosts, and of clocks.
const OF_RULE: [&str; 5] = ["repeats", "quick", "max-time", "margin", "seed"];
const OF_RULE_OF_CLOCKS: [&str; 6] = ["repeats", "quick", "max-time", "time", "margin", "seed"];
/// What the plan names on the command line.
const NOUN: &str = "hosts";

/// A plan of hosts, and the command that it stands for.
pub struct HostPlan {
    pub plan: Plan,
    pub command: HostCommand,
}

/// Command that measures hosts.
pub enum HostCommand {
    Device(DeviceArguments),
    Clock(ClockArguments),
}

/// Makes the plan.
pub fn plan(source: &Source<'_>, given: &Given<'_>) -> Result<HostPlan, Failure> {
    let hosts = hosts(source, given.targets)?;
    let is_of_clocks = is_of_clocks(source);
    let rule = if is_of_clocks { &OF_RULE_OF_CLOCKS[..] } else { &OF_RULE[..] };
    let typed = Subjects::Hosts.expect_no_storage(source, given, rule)?;
    let mut words: Vec<Word> = hosts.iter().map(|host| Word::Subject(host.to_string())).collect();
    words.extend(typed);
    let mut work = HostWork::default();
    let HostPlan { mut plan, command } = match is_of_clocks {
        true => of_clocks(source, &hosts, &words, &mut work)?,
        false => of_parts(source, &hosts, &words, &mut work)?,
    };
    concurrent::add(source, &work.named, &mut plan)?;
    let labels: Vec<String> = source.plan.hosts.iter().map(|host| host.name.clone()).collect();
    let labels = plan::labels(&labels, hosts.len());
    plan.labels = labels.map_err(|failure| source.placed(&["host"], failure))?;
    let first = hosts.first().unwrap_or(&HostName::Local);
    (plan.factors, plan.commands) = factors(source, first, &given.hosts.set)?;
    plan.contrasts = Contrast::against_first(&plan);
    claims::mark(source, &work.named, &mut plan)?;
    plan.command = plan::repeatable_command(&plan);
    Ok(HostPlan { plan, command })
}

/// Whether the first job calls clocks: then all jobs have to.
fn is_of_clocks(source: &Source<'_>) -> bool {
    let kind = source.plan.jobs.first().and_then(|job| job.get("kind"));
    kind.and_then(|kind| kind.as_str()) == Some(CLOCK)
}

/// The hosts of the file; the command line has those that the file does not name.
fn hosts(source: &Source<'_>, given: &[String]) -> Result<Vec<HostName>, Failure> {
    let entries = &source.plan.hosts;
    let open = || -> Vec<Open<'_>> {
        let open = entries.iter().filter(|entry| entry.url.is_none());
        open.map(|entry| Open { name: &entry.name, about: entry.about.as_deref() }).collect()
    };
    let mut typed = given.iter();
    let mut hosts = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let number = number.to_string();
        let at = ["host", number.as_str(), "url"];
        let text = match &entry.url {
            Some(url) => source.fill_all(&at, url)?,
            None => match typed.next() {
                Some(host) => host.clone(),
                None => return Err(missing(source, &at[..2], NOUN, &open())),
            },
        };
        let host: Result<HostName, Failure> = text.parse();
        hosts.push(host.map_err(|failure| source.placed(&at, failure))?);
    }
    match typed.next() {
        Some(more) => Err(too_many(NOUN, more, &open())),
        None => Ok(hosts),
    }
}

/// The work of all jobs.
#[derive(Default)]
struct HostWork {
    workloads: Vec<Workload>,
    named: Vec<JobOf>,
}

/// What begins a job of hosts, and its other keys.
struct HostJob {
    kind: String,
    name: String,
    /// Names of the jobs that run at the same time.
    others: Vec<String>,
    options: Table,
}

impl HostWork {
    /// Takes what all jobs of hosts have out of the keys of one.
    fn begin(
        &self,
        source: &Source<'_>,
        number: usize,
        table: &Table,
        is_of_clocks: bool,
    ) -> Result<HostJob, Failure> {
        let at = number.to_string();
        let mut options = table.clone();
        let Head { kind, name } = head(source, &at, &mut options, Subjects::Hosts)?;
        if !Subjects::Hosts.jobs().contains(&kind.as_str()) {
            return Err(Subjects::Hosts.unknown_job(source, &at, &kind));
        }
        if (kind == CLOCK) != is_of_clocks {
            let happened = "clocks and parts of hosts are subjects of different kinds";
            let next = "Give the clocks a plan of their own.";
            return Err(source.problem(&["job", &at, "kind"], happened, next));
        }
        if let Some(steps) = ["sweep", "search"].into_iter().find(|key| options.contains_key(*key))
        {
            let happened = format!("`{kind}` has no parameter to step through");
            return Err(source.problem(&["job", &at, steps], &happened, "Remove it."));
        }
        expect_new(source, number, &name, &self.named)?;
        let others = concurrent::take(source, &at, &mut options)?;
        Ok(HostJob { kind, name, others, options })
    }

    fn add(&mut self, name: String, others: Vec<String>, workloads: Vec<Workload>) {
        let first = self.workloads.len();
        let range = first..first + workloads.len();
        self.named.push(JobOf { name, workloads: range, others, bounds: Vec::new() });
        self.workloads.extend(workloads);
    }
}

/// The plan of jobs that measure parts of hosts.
fn of_parts(
    source: &Source<'_>,
    hosts: &[HostName],
    words: &[Word],
    work: &mut HostWork,
) -> Result<HostPlan, Failure> {
    let rule = &source.plan.rule;
    let mut arguments: DeviceArguments =
        options::arguments(source, &["rule"], rule, &one_of(&OF_RULE), words)?;
    // A report says of each host what it is.
    arguments.only = vec![Part::Inventory];
    for (number, table) in source.plan.jobs.iter().enumerate() {
        let HostJob { kind, name, others, options } = work.begin(source, number, table, false)?;
        let number = number.to_string();
        let at = ["job", number.as_str()];
        let known = Part::ALL.into_iter().find(|part| part.name() == kind);
        let Some(part) = known else {
            return Err(Subjects::Hosts.unknown_job(source, &number, &kind));
        };
        let keys: &[&str] = match part {
            Part::Cpu => &["coremark"],
            Part::Disk => &["disk"],
            Part::Inventory | Part::Memory | Part::Crypto => &[],
        };
        let own: DeviceArguments = options::arguments(source, &at, &options, &one_of(keys), words)?;
        share(source, &number, "coremark", &mut arguments.coremark, own.coremark)?;
        share(source, &number, "disk", &mut arguments.disk, own.disk)?;
        if part == Part::Disk && arguments.disk.is_none() {
            let next = "Write disk = \"/mnt/disk\": a directory on the host.";
            return Err(source.problem(&at, "missing key `disk`", next));
        }
        arguments.only.push(part);
        work.add(name, others, vec![device::workload(part, arguments.study.quick)]);
    }
    let plan = device::plan_of(&arguments, hosts, std::mem::take(&mut work.workloads));
    Ok(HostPlan { plan, command: HostCommand::Device(arguments) })
}

/// Keeps a path that all jobs have in common.
fn share(
    source: &Source<'_>,
    number: &str,
    key: &str,
    known: &mut Option<PathBuf>,
    own: Option<PathBuf>,
) -> Result<(), Failure> {
    let Some(own) = own else { return Ok(()) };
    if known.as_ref().is_some_and(|known| *known != own) {
        let happened = format!("a job above has another `{key}`, and all jobs share it");
        return Err(source.problem(&["job", number, key], &happened, "Write it once."));
    }
    *known = Some(own);
    Ok(())
}

/// The plan of jobs that call clocks.
fn of_clocks(
    source: &Source<'_>,
    hosts: &[HostName],
    words: &[Word],
    work: &mut HostWork,
) -> Result<HostPlan, Failure> {
    let (rule, of_rule) = (&source.plan.rule, one_of(&OF_RULE_OF_CLOCKS));
    let arguments: ClockArguments = options::arguments(source, &["rule"], rule, &of_rule, words)?;
    let mut all = words.to_vec();
    all.extend(options::words::<ClockArguments>(source, &["rule"], rule, &of_rule, words)?);
    for (number, table) in source.plan.jobs.iter().enumerate() {
        let HostJob { name, others, options, .. } = work.begin(source, number, table, true)?;
        let at = ["job", &number.to_string()];
        let own: ClockArguments =
            options::arguments(source, &at, &options, &one_of(&[CLOCK]), &all)?;
        let workloads = clock::workloads(&own).map_err(|failure| source.placed(&at, failure))?;
        work.add(name, others, workloads);
    }
    let plan = clock::plan_of(&arguments, hosts, std::mem::take(&mut work.workloads));
    Ok(HostPlan { plan, command: HostCommand::Clock(arguments) })
}
