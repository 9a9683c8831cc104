//! The jobs of a plan file: their keys are options of `plimsoll check --job` and `plimsoll copy`.

use super::file::Source;
use super::steps::{JobBound, JobSteps};
use super::subjects::{COPY, Subjects};
use super::{concurrent, options, steps};
use crate::arguments::{self, HostArguments, RuleArguments, WorkloadArguments};
use crate::copy::CopyArguments;
use crate::jobs::{self, MayLower};
use crate::plan::Work;
use clap::{Arg, Args, Command};
use plimsoll_config::nearest;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Design, Engine, Failure, Length, PageCache, Parameter};
use std::collections::HashSet;
use std::ops::Range;
use toml::{Table, Value};

/// The workloads of one `[[job]]`.
pub struct JobOf {
    pub name: String,
    pub workloads: Range<usize>,
    /// Names of the jobs that run at the same time.
    pub others: Vec<String>,
    /// Bounds of its search on those jobs.
    pub bounds: Vec<JobBound>,
}

/// The work of one `[[job]]`, and its name in claims.
pub struct NamedWork {
    pub name: String,
    pub work: Vec<Work>,
    /// Names of the jobs that run at the same time.
    pub others: Vec<String>,
    /// Bounds of its search on those jobs.
    pub bounds: Vec<JobBound>,
}

/// What all jobs of a file need together.
#[derive(Default)]
pub struct Common {
    /// Whether sizes may be lowered; `None` before the first job.
    pub may_lower: Option<MayLower>,
    pub server_memory: Option<Bytes>,
    pub engine: Option<Engine>,
    pub cache: Option<PageCache>,
    /// A file of each target that is read in place.
    pub file: Option<String>,
}

/// What begins a `[[job]]`.
pub struct Head {
    pub kind: String,
    /// Its name in claims.
    pub name: String,
}

/// Takes kind and name out of the keys of a job.
pub fn head(
    source: &Source<'_>,
    number: &str,
    options: &mut Table,
    subjects: Subjects,
) -> Result<Head, Failure> {
    let mut take = |key: &str| match options.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let happened = format!("`{key}` must be a string");
            Err(source.problem(&["job", number, key], &happened, "Write it in quotes."))
        }
    };
    let (kind, name) = (take("kind")?, take("name")?);
    let Some(kind) = kind else {
        let next = nearest("", &subjects.jobs());
        return Err(source.problem(&["job", number], "missing key `kind`", &next));
    };
    Ok(Head { name: name.unwrap_or_else(|| kind.clone()), kind })
}

/// Refuses a name that another job has.
pub fn expect_new(
    source: &Source<'_>,
    number: usize,
    name: &str,
    named: &[JobOf],
) -> Result<(), Failure> {
    if named.iter().all(|other| other.name != name) {
        return Ok(());
    }
    let at = ["job", &number.to_string(), "name"];
    let happened = format!("another job has the name `{name}`");
    Err(source.problem(&at, &happened, "Give each job a different name."))
}

/// What each job may have beside its own options.
const SHARED: [&str; 6] = ["workers", "depth", "rate", "engine", "cache", "explain"];

/// The work of one `[[job]]`.
pub fn job(
    source: &Source<'_>,
    number: usize,
    table: &Table,
    design: &Design,
    hosts: &HostArguments,
    common: &mut Common,
) -> Result<NamedWork, Failure> {
    let number = number.to_string();
    let at = ["job", number.as_str()];
    let mut options = table.clone();
    let Head { kind, name } = head(source, &number, &mut options, Subjects::Storage)?;
    let JobSteps { steps, others: bounds } = steps::take(source, &number, &mut options)?;
    let others = concurrent::take(source, &number, &mut options)?;
    let placed = |failure| source.placed(&at, failure);
    if kind == COPY {
        if steps.is_some() {
            let happened = "copies have no steps";
            return Err(source.problem(&at, happened, "Remove `sweep` and `search`."));
        }
        let copy: CopyWork = options::arguments(source, &at, &options, &of_copy, &[])?;
        let copy = copy.0;
        copy.expect_here(&hosts.on).map_err(placed)?;
        let work = copy.work(design).map_err(placed)?;
        let may = copy.may_scale(&work);
        common.lower(MayLower { adapt_size: may, fit_size: may });
        return Ok(NamedWork { name, work, others, bounds });
    }
    let Some(known) = jobs::JOBS.iter().find(|job| job.name == kind) else {
        return Err(Subjects::Storage.unknown_job(source, &number, &kind));
    };
    let own = (known.options)(clap::Command::new("job"));
    let ids: HashSet<_> = own.get_arguments().map(Arg::get_id).collect();
    let allowed = |arg: &Arg| ids.contains(arg.get_id()) || SHARED.contains(&arg.get_id().as_str());
    let mut what: WorkloadArguments = options::arguments(source, &at, &options, &allowed, &[])?;
    what.jobs.jobs = vec![kind.clone()];
    let jobs = jobs::jobs(&what.jobs, what.workers).map_err(placed)?;
    if let Some(most) = steps.as_ref().and_then(steps::most_workers) {
        // A size that is too small for them is found before anything is measured.
        jobs::jobs(&what.jobs, most).map_err(placed)?;
    }
    let pattern = &what.jobs.pattern;
    if known.name == "pattern" {
        common.lower(pattern.may_lower());
    }
    let agrees = common.engine.is_none_or(|engine| what.engine.is_none_or(|e| engine == e.into()))
        && common.cache.is_none_or(|cache| what.cache.is_none_or(|c| cache == c.into()))
        && common.file.as_ref().is_none_or(|file| pattern.file.as_ref().is_none_or(|f| f == file));
    if !agrees {
        let happened = "all jobs of a study share `engine`, `cache` and `file`, and a job above has another value";
        return Err(source.problem(&at, happened, "Give all jobs the same value."));
    }
    common.engine = common.engine.or(what.engine.map(Into::into));
    common.cache = common.cache.or(what.cache.map(Into::into));
    common.file = common.file.take().or(pattern.file.clone());
    common.server_memory = common.server_memory.max(pattern.server_memory);
    // The length is fixed when all jobs are known.
    let length = Length::For { seconds: 0.0, warm_up_seconds: 0.0 };
    let (workers, arrival, explain) = (what.workers, what.arrival(), what.explain);
    if let Some(given) = &steps {
        let happened = match given.over() {
            _ if explain => Some("`explain` is a sweep itself"),
            Parameter::Rate if arrival.per_second().is_some() => {
                Some("`rate` is a parameter of the steps, and a fixed one of the job")
            }
            _ => None,
        };
        if let Some(happened) = happened {
            return Err(source.problem(&at, happened, "Remove one of the two."));
        }
    }
    let work = |job| Work { job, workers, arrival, length, explain, steps: steps.clone() };
    let work: Vec<Work> = jobs.into_iter().map(work).collect();
    work.iter().try_for_each(Work::expect_steps).map_err(placed)?;
    Ok(NamedWork { name, work, others, bounds })
}

impl Common {
    /// Sizes are lowered where no job has one of its own.
    fn lower(&mut self, may: MayLower) {
        let all = self.may_lower.unwrap_or(may);
        self.may_lower = Some(MayLower {
            adapt_size: all.adapt_size && may.adapt_size,
            fit_size: all.fit_size && may.fit_size,
        });
    }
}

/// The options of `plimsoll copy` that are about what is copied and how.
fn of_copy(arg: &Arg) -> bool {
    let of_plan = [
        RuleArguments::augment_args(clap::Command::new("rule")),
        HostArguments::augment_args(clap::Command::new("hosts")),
        arguments::AccessArguments::augment_args(clap::Command::new("access")),
        arguments::OutputArguments::augment_args(clap::Command::new("output")),
    ];
    !of_plan.iter().any(|command| command.get_arguments().any(|a| a.get_id() == arg.get_id()))
}

/// The arguments of `plimsoll copy` without targets, which are the plan's.
struct CopyWork(CopyArguments);

impl clap::FromArgMatches for CopyWork {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        CopyArguments::from_arg_matches(matches).map(CopyWork)
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for CopyWork {
    fn augment_args(command: Command) -> Command {
        CopyArguments::augment_args(command).mut_arg("targets", |arg| arg.required(false))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
