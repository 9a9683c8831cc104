//! A plan file and the command line become a plan.

use super::claims;
use super::file::{FactorEntry, Source, TargetEntry, word};
use super::options::{self, Word};
use crate::arguments::{self, HostArguments, RuleArguments, WorkloadArguments};
use crate::copy::CopyArguments;
use crate::plan::{self, Storage, Work};
use crate::{jobs, settings};
use clap::{Arg, Args, Command};
use plimsoll_config::nearest;
use plimsoll_host::settings::{Asked, knob};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Design, Engine, Factor, Failure, HostName, Length, Plan, StorageOptions, Target, factor,
};
use std::collections::HashSet;
use std::ops::Range;
use toml::{Table, Value};

/// What the command line says beside the file.
pub struct Given<'a> {
    pub targets: &'a [String],
    pub hosts: &'a HostArguments,
    /// What was typed of [`RuleArguments`], which goes before what the file says.
    pub how: &'a [Word],
}

/// A plan, and what is not in it.
#[derive(Debug)]
pub struct Assembled {
    pub plan: Plan,
    /// A file of each target that is read in place.
    pub file: Option<String>,
    pub quick: bool,
}

/// The workloads of one `[[job]]`.
pub struct JobOf {
    pub name: String,
    pub workloads: Range<usize>,
}

/// What all jobs of a file need together.
#[derive(Default)]
struct Common {
    may_lower: Option<(bool, bool)>,
    server_memory: Option<Bytes>,
    engine: Option<Engine>,
    file: Option<String>,
}

/// Makes the plan.
pub fn plan(source: &Source<'_>, given: &Given<'_>) -> Result<Assembled, Failure> {
    let file = &source.plan;
    let hosts = hosts(source, given.hosts)?;
    let (targets, labels) = targets(source, given.targets)?;
    let client = match hosts.on.first() {
        Some(host) => host.parse()?,
        None => HostName::Local,
    };
    let mut factors = Vec::new();
    for (number, entry) in file.factors.iter().enumerate() {
        factors.push(factor_of(source, number, entry, &client)?);
    }
    factors.extend(plan::factors(&hosts)?);
    let how: RuleArguments =
        options::arguments(source, &["rule"], &file.rule, &|_| true, given.how)?;
    let mut design =
        plan::design(&how, &factors).map_err(|failure| source.placed(&["rule"], failure))?;
    let mut common = Common::default();
    let (mut work, mut named) = (Vec::new(), Vec::new());
    for (number, table) in file.jobs.iter().enumerate() {
        let (name, of_job) = job(source, number, table, &design, &hosts, &mut common)?;
        let known = |other: &JobOf| other.name == name;
        if named.iter().any(known) {
            let at = ["job", &number.to_string(), "name"];
            let happened = format!("another job is called `{name}`");
            return Err(source.problem(&at, &happened, "Give each job a name of its own."));
        }
        named.push(JobOf { name, workloads: work.len()..work.len() + of_job.len() });
        work.extend(of_job);
    }
    if let (Some(in_place), Some(writes)) =
        (&common.file, work.iter().find(|work| work.job.footprint().written > 0))
    {
        let happened = format!("{} writes, and {in_place} is only read", writes.job.title());
        return Err(source.problem(&["job"], &happened, "Leave out `file`, or that job."));
    }
    let cells = targets.len() * work.len() * factor::settings(&factors);
    let length = plan::length(&how, &mut design, cells)
        .map_err(|failure| source.placed(&["rule", "time"], failure))?;
    for work in &mut work {
        if let Length::For { .. } = work.length {
            work.length = length;
        }
    }
    if how.quick {
        plan::look_soon(&mut design, how.margin);
    }
    let subjects = targets.len();
    let made = plan::plan(Storage {
        targets,
        hosts: &hosts,
        work,
        engine: common.engine,
        timeout: how.timeout,
        design,
        factors,
    })?;
    let (adapt_size, fit_size) = common.may_lower.unwrap_or_default();
    let storage = StorageOptions {
        server_memory: common.server_memory,
        adapt_size,
        fit_size,
        ..made.storage
    };
    let labels = plan::labels(&labels, subjects).map_err(|f| source.placed(&["target"], f))?;
    let mut plan = Plan { storage, labels, ..made };
    claims::mark(source, &named, &mut plan)?;
    plan.command = plan::repeatable_command(&plan);
    Ok(Assembled { plan, file: common.file, quick: how.quick })
}

/// The hosts of the file, and of the command line: that the work is driven on is what is said last.
fn hosts(source: &Source<'_>, given: &HostArguments) -> Result<HostArguments, Failure> {
    let all = |key: &str, given: &[String]| -> Result<Vec<String>, Failure> {
        let mut hosts = Vec::new();
        for (number, host) in given.iter().enumerate() {
            hosts.extend(source.fill(&[key, &number.to_string()], host)?);
        }
        Ok(hosts)
    };
    let on = match given.on.is_empty() {
        true => all("on", &source.plan.on)?,
        false => given.on.clone(),
    };
    let mut watched = all("watch", &source.plan.watch)?;
    watched.extend(given.hosts.iter().cloned());
    Ok(HostArguments { on, hosts: watched, set: given.set.clone() })
}

/// The targets and their names: those of the file, for which the command line stands in where it has none;
/// or the command line's alone.
fn targets(source: &Source<'_>, given: &[String]) -> Result<(Vec<Target>, Vec<String>), Failure> {
    let entries = &source.plan.targets;
    if entries.is_empty() {
        return match given.is_empty() {
            true => {
                Err(usage("plan the targets", "none is named", "Name one or more after the plan."))
            }
            false => Ok((arguments::targets(given)?, Vec::new())),
        };
    }
    let mut typed = given.iter();
    let mut found: Vec<(&TargetEntry, String)> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let number = number.to_string();
        let at = ["target", number.as_str()];
        let url = match (&entry.url, &entry.same_as) {
            (Some(_), Some(_)) => {
                let at = ["target", &number, "same-as"];
                let happened = "it has a `url` too, and one of them is what it is";
                return Err(source.problem(&at, happened, "Leave one of them out."));
            }
            (Some(url), None) => source.fill_all(&["target", &number, "url"], url)?,
            (None, Some(name)) => {
                let same = found.iter().find(|(other, _)| other.name == *name);
                let Some((_, url)) = same else {
                    let known: Vec<&str> = found.iter().map(|(e, _)| e.name.as_str()).collect();
                    let happened = format!("no target above is called `{name}`");
                    let at = ["target", &number, "same-as"];
                    return Err(source.problem(&at, &happened, &nearest(name, &known)));
                };
                url.clone()
            }
            (None, None) => match typed.next() {
                Some(url) => url.clone(),
                None => return Err(missing(source, &at)),
            },
        };
        found.push((entry, url));
    }
    if let Some(more) = typed.next() {
        let names: Vec<&str> = asked_for(source).collect();
        let happened = format!("the plan takes {} targets: {}", names.len(), names.join(", "));
        return Err(Failure::new(
            Cause::Usage,
            "plan the targets",
            more,
            happened,
            "Leave it out.",
        ));
    }
    let mut targets = Vec::new();
    for (number, (entry, url)) in found.iter().enumerate() {
        let at = ["target", &number.to_string(), "options"];
        let target = match &entry.options {
            None => url.parse(),
            Some(_) if !url.contains("://") => {
                let next = "Leave them out, or name nfs:// or smb://.";
                return Err(source.problem(&at, "a directory has no options", next));
            }
            Some(options) => {
                let options = source.fill_all(&at, options)?;
                let and = if url.contains('?') { '&' } else { '?' };
                format!("{url}{and}{options}").parse()
            }
        };
        let at = &at[..2];
        targets.push(target.map_err(|failure: Failure| source.placed(at, failure))?);
    }
    Ok((targets, entries.iter().map(|entry| entry.name.clone()).collect()))
}

/// The names of the targets that the command line has to give, in their order.
pub fn asked_for<'a>(source: &'a Source<'_>) -> impl Iterator<Item = &'a str> {
    let open = |entry: &&TargetEntry| entry.url.is_none() && entry.same_as.is_none();
    source.plan.targets.iter().filter(open).map(|entry| entry.name.as_str())
}

fn missing(source: &Source<'_>, at: &[&str]) -> Failure {
    let open = source.plan.targets.iter().filter(|e| e.url.is_none() && e.same_as.is_none());
    let about = open.map(|entry| match &entry.about {
        Some(about) => format!("{} ({about})", entry.name),
        None => entry.name.clone(),
    });
    let about: Vec<String> = about.collect();
    let happened = format!("the plan takes as targets: {}", about.join(", "));
    source.problem(at, &happened, "Name them after the plan, in that order.")
}

fn factor_of(
    source: &Source<'_>,
    number: usize,
    entry: &FactorEntry,
    client: &HostName,
) -> Result<Factor, Failure> {
    let number = number.to_string();
    let at = |key| ["factor", number.as_str(), key];
    let setting = source.fill_all(&at("setting"), &entry.setting)?;
    let host = match &entry.host {
        None => None,
        Some(host) => {
            let host = source.fill_all(&at("host"), host)?;
            Some(host.parse().map_err(|failure| source.placed(&at("host"), failure))?)
        }
    };
    let mut levels = Vec::new();
    for value in &entry.levels {
        let Some(level) = word(value) else {
            let next = "Write levels = [\"as-found\", \"5\"].";
            return Err(source.problem(&at("levels"), "a level is a word or a number", next));
        };
        levels.extend(source.fill(&at("levels"), &level)?);
    }
    if levels.len() < 2 {
        let happened = "there is nothing to compare with fewer than two levels";
        return Err(source.problem(&at("levels"), happened, "Give two or more."));
    }
    knob(&setting).map_err(|failure| source.placed(&at("setting"), failure))?;
    let asked = Asked::new(host, &setting, levels.iter().map(String::as_str));
    let made = asked.and_then(|asked| settings::factor(asked, client));
    made.map_err(|failure| source.placed(&at("levels"), failure))
}

/// The kind of job that is done by `plimsoll copy`.
const COPY: &str = "copy";
/// What each job may have beside its own options.
const SHARED: [&str; 3] = ["workers", "depth", "engine"];

fn job(
    source: &Source<'_>,
    number: usize,
    table: &Table,
    design: &Design,
    hosts: &HostArguments,
    common: &mut Common,
) -> Result<(String, Vec<Work>), Failure> {
    let number = number.to_string();
    let at = ["job", number.as_str()];
    let mut options = table.clone();
    let mut take = |key: &str| match options.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let happened = format!("`{key}` is a word");
            Err(source.problem(&["job", &number, key], &happened, "Write it in quotes."))
        }
    };
    let (kind, name) = (take("kind")?, take("name")?);
    let kinds: Vec<&str> = jobs::JOBS.iter().map(|kind| kind.name).chain([COPY]).collect();
    let Some(kind) = kind else {
        return Err(source.problem(&at, "missing key `kind`", &nearest("", &kinds)));
    };
    let name = name.unwrap_or_else(|| kind.clone());
    let placed = |failure| source.placed(&at, failure);
    if kind == COPY {
        let copy: CopyWork = options::arguments(source, &at, &options, &of_copy, &[])?;
        let copy = copy.0;
        copy.expect_here(&hosts.on).map_err(placed)?;
        let work = copy.work(design).map_err(placed)?;
        let may = copy.may_scale(&work);
        common.lower((may, may));
        return Ok((name, work));
    }
    let Some(known) = jobs::JOBS.iter().find(|job| job.name == kind) else {
        let at = ["job", &number, "kind"];
        let happened = format!("unknown word `{kind}`");
        return Err(source.problem(&at, &happened, &nearest(&kind, &kinds)));
    };
    let own = (known.options)(Command::new("job"));
    let ids: HashSet<_> = own.get_arguments().map(Arg::get_id).collect();
    let allowed = |arg: &Arg| ids.contains(arg.get_id()) || SHARED.contains(&arg.get_id().as_str());
    let mut what: WorkloadArguments = options::arguments(source, &at, &options, &allowed, &[])?;
    what.jobs.jobs = vec![kind.clone()];
    let jobs = jobs::jobs(&what.jobs, what.workers).map_err(placed)?;
    let pattern = &what.jobs.pattern;
    if known.name == "pattern" {
        common.lower(pattern.may_lower());
    }
    let agrees = common.engine.is_none_or(|engine| what.engine.is_none_or(|e| engine == e.into()))
        && common.file.as_ref().is_none_or(|file| pattern.file.as_ref().is_none_or(|f| f == file));
    if !agrees {
        let happened = "its `engine` or `file` is not that of a job above, and a study has one";
        return Err(source.problem(&at, happened, "Give all jobs the same."));
    }
    common.engine = common.engine.or(what.engine.map(Into::into));
    common.file = common.file.take().or(pattern.file.clone());
    common.server_memory = common.server_memory.max(pattern.server_memory);
    // The length is fixed when all jobs are known.
    let length = Length::For { seconds: 0.0, warm_up_seconds: 0.0 };
    let work = |job| Work { job, workers: what.workers, depth: what.depth, length };
    Ok((name, jobs.into_iter().map(work).collect()))
}

impl Common {
    /// Sizes are lowered where no job has one of its own.
    fn lower(&mut self, (adapt, fit): (bool, bool)) {
        let (all_adapt, all_fit) = self.may_lower.unwrap_or((true, true));
        self.may_lower = Some((all_adapt && adapt, all_fit && fit));
    }
}

/// The options of `plimsoll copy` that are about what is copied and how.
fn of_copy(arg: &Arg) -> bool {
    let of_plan = [
        RuleArguments::augment_args(Command::new("rule")),
        HostArguments::augment_args(Command::new("hosts")),
        arguments::AccessArguments::augment_args(Command::new("access")),
        arguments::OutputArguments::augment_args(Command::new("output")),
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

fn usage(tried: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, tried, "the command line", happened, next)
}
