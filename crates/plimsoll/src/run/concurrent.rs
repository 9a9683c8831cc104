//! Jobs that run at the same time: `while` names the jobs that run during another one. They become further parts of
//! its workloads, and a part that ends before the first one is repeated. A search may bound figures of these parts.

use super::file::Source;
use super::steps::{JobBound, WHILE};
use super::work::JobOf;
use plimsoll_config::nearest;
use plimsoll_model::{
    Bound, Failure, Job, Method, NamesCached, Part, Plan, Steps, Transfer, Workload,
};
use toml::{Table, Value};

/// Parts of one workload, at most: each worker of each part is a thread with a connection.
const MOST_PARTS: usize = 8;
/// How it is written.
const EXAMPLE: &str = "Write the names of other jobs, such as while = [\"backup\"].";

/// Takes the names of the jobs that run at the same time out of the keys of a job; none if it runs alone.
pub fn take(
    source: &Source<'_>,
    number: &str,
    options: &mut Table,
) -> Result<Vec<String>, Failure> {
    let problem =
        |happened: &str, next: &str| Err(source.problem(&["job", number, WHILE], happened, next));
    let values = match options.remove(WHILE) {
        None => return Ok(Vec::new()),
        Some(one @ Value::String(_)) => vec![one],
        Some(Value::Array(values)) if values.is_empty() => {
            return problem("the list of `while` is empty", EXAMPLE);
        }
        Some(Value::Array(values)) => values,
        Some(_) => return problem("`while` must be a list of names", EXAMPLE),
    };
    let mut names: Vec<String> = Vec::new();
    for value in values {
        let Value::String(text) = value else {
            return problem("a name must be a string", EXAMPLE);
        };
        let Some(name) = source.fill(&["job", number, WHILE], &text)? else { continue };
        if names.contains(&name) {
            let next = "Name it once. For more load, raise its `workers`, if it has them.";
            return problem(&format!("`while` names the job `{name}` twice"), next);
        }
        names.push(name);
    }
    if !names.is_empty() && options.get("explain") == Some(&Value::Boolean(true)) {
        let happened = "`explain` finds the bottleneck of one job, and others run at the same time";
        return problem(happened, "Give `explain` to a job without `while`.");
    }
    Ok(names)
}

/// Adds the named jobs to the workloads of the jobs that name them.
pub fn add(source: &Source<'_>, jobs: &[JobOf], plan: &mut Plan) -> Result<(), Failure> {
    expect_bounded(source, jobs)?;
    let alone = plan.workloads.clone();
    for (number, job) in jobs.iter().enumerate().filter(|(_, job)| !job.others.is_empty()) {
        let at = ["job", &number.to_string(), WHILE];
        let problem = |wrong: Wrong| source.problem(&at, &wrong.happened, &wrong.next);
        if plan.clients().count() > 1 {
            let happened = "several hosts run the load, and `while` needs a single one";
            return Err(problem(Wrong::new(happened, "Name one host with `on` or --on.")));
        }
        let mut others: Vec<Part> = Vec::new();
        // Their parts are numbered among the others.
        let mut bounds: Vec<Bound> = Vec::new();
        for name in &job.others {
            let named = named(name, job, jobs).map_err(problem)?;
            let first = others.len();
            for workload in &alone[named.workloads.clone()] {
                others.extend(repeated(name, workload).map_err(problem)?.iter().cloned());
            }
            for bound in job.bounds.iter().filter(|bound| bound.job == *name) {
                bounds.extend((first..others.len()).map(|part| bound.bound.on(part as u16)));
            }
        }
        for workload in &mut plan.workloads[job.workloads.clone()] {
            let own = workload.parts.len() as u16;
            if let Some(Steps::Search { accept, .. }) = &mut workload.steps {
                accept.extend(bounds.iter().map(|bound| bound.on(own + bound.part)));
            }
            workload.parts.extend(others.iter().cloned());
            expect_compatible(&workload.parts).map_err(problem)?;
        }
    }
    Ok(())
}

/// Fails where a search bounds a figure of a job that does not run at the same time.
fn expect_bounded(source: &Source<'_>, jobs: &[JobOf]) -> Result<(), Failure> {
    for (number, job) in jobs.iter().enumerate() {
        let is_unknown = |bound: &&JobBound| !job.others.contains(&bound.job);
        if let Some(bound) = job.bounds.iter().find(is_unknown) {
            let at = ["job", &number.to_string(), "search", WHILE, &bound.job];
            let happened = format!("the job `{}` does not run at the same time", bound.job);
            let next = match job.others.is_empty() {
                true => format!("Add while = [\"{}\"] to this job.", bound.job),
                false => nearest(&bound.job, &job.others),
            };
            return Err(source.problem(&at, &happened, &next));
        }
    }
    Ok(())
}

/// What is wrong with a name in `while`, and what to write instead.
struct Wrong {
    happened: String,
    next: String,
}

impl Wrong {
    fn new(happened: impl Into<String>, next: impl Into<String>) -> Wrong {
        Wrong { happened: happened.into(), next: next.into() }
    }
}

/// The job of this name, if it can run during another one.
fn named<'a>(name: &str, job: &JobOf, jobs: &'a [JobOf]) -> Result<&'a JobOf, Wrong> {
    if job.name == name {
        let happened = format!("`{name}` is this job itself");
        return Err(Wrong::new(
            happened,
            "Name another job. For more load, raise `workers`, if it has them.",
        ));
    }
    let Some(named) = jobs.iter().find(|other| other.name == name) else {
        let known = jobs.iter().map(|other| other.name.as_str());
        let known: Vec<&str> = known.filter(|known| *known != job.name).collect();
        return Err(Wrong::new(format!("no job has the name `{name}`"), nearest(name, &known)));
    };
    if !named.others.is_empty() {
        let happened = format!("the job `{name}` has a `while` of its own");
        let next = "Name a job without `while`. To run all of them, name each job here.";
        return Err(Wrong::new(happened, next));
    }
    Ok(named)
}

/// The parts of a workload of a named job, if it can be repeated until another job ends.
fn repeated<'a>(name: &str, workload: &'a Workload) -> Result<&'a [Part], Wrong> {
    if workload.steps.is_some() {
        let happened = format!("the job `{name}` has a sweep or a search");
        let next = "Name a job without them. The job with `while` may have one.";
        return Err(Wrong::new(happened, next));
    }
    let once = workload.parts.iter().find_map(|part| match &part.job {
        Job::Copy(copy) if copy.method == Method::ByRsync => {
            Some("the program rsync copies once, and this job would be repeated")
        }
        Job::Scan(scan) if scan.cached == NamesCached::Cold => {
            Some("only the first walk has a cold cache, and this job would be repeated")
        }
        _ => None,
    });
    match once {
        None => Ok(&workload.parts),
        Some(why) => {
            let next = "Name another job, or add `while` to this one: it is not repeated then.";
            Err(Wrong::new(format!("`{name}` cannot run during another job: {why}"), next))
        }
    }
}

/// Fails where parts cannot run at the same time on one target.
fn expect_compatible(parts: &[Part]) -> Result<(), Wrong> {
    if parts.len() > MOST_PARTS {
        let happened = format!(
            "{} would run at the same time, and at most {MOST_PARTS} can: each pattern counts, and each copy of a \
             dataset in one direction",
            parts.len()
        );
        let next = "Name fewer jobs, or jobs with fewer patterns or copies.";
        return Err(Wrong::new(happened, next));
    }
    for (number, part) in parts.iter().enumerate() {
        for other in &parts[..number] {
            let (one, other) = (&other.job, &part.job);
            let why = if reads_back(one) && writes_shared(other)
                || reads_back(other) && writes_shared(one)
            {
                "both write the same test files, and `verify` compares what one of them wrote"
            } else if one.dataset().is_some()
                && one.dataset() == other.dataset()
                && (updates(one) || updates(other))
            {
                "one of them replaces the files that the other one uses"
            } else if one.device_part().is_some() && one.device_part() == other.device_part() {
                "both measure the same part of a host"
            } else if matches!((one, other), (Job::Clock(_), Job::Clock(_))) {
                "each clock is called on every core"
            } else {
                continue;
            };
            let (one, other) = (one.title(), other.title());
            let happened = format!("{one} and {other} cannot run at the same time: {why}");
            let next = "Name another job, or change the options of one of them.";
            return Err(Wrong::new(happened, next));
        }
    }
    Ok(())
}

/// Whether a job writes the test files that patterns and logs share.
fn writes_shared(job: &Job) -> bool {
    let footprint = job.footprint();
    footprint.shared && footprint.written > 0
}

/// Whether a job reads back those files after it wrote them.
fn reads_back(job: &Job) -> bool {
    writes_shared(job) && matches!(job, Job::Pattern(pattern) if pattern.verify)
}

/// Whether a job replaces files of a dataset on the target.
fn updates(job: &Job) -> bool {
    matches!(job, Job::Copy(copy) if copy.transfer == Transfer::Update)
}
