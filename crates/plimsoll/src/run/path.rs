//! Plans of a network path: the keys of `[path]`, of its jobs and of `[rule]` are options of `plimsoll net`.

use super::assemble::factors;
use super::claims;
use super::file::Source;
use super::given::Given;
use super::options::{self, Word, one_of};
use super::steps::{self, WHILE};
use super::subjects::Subjects;
use super::work::{Head, JobOf, expect_new, head};
use crate::net::{self, NetArguments, PathKind, PathWork};
use crate::plan;
use plimsoll_model::{Contrast, Failure, HostName, Parameter, Plan, Steps};
use plimsoll_net::MOST_PACKETS_PER_SECOND;
use toml::{Table, Value};

/// Options of the path itself.
const OF_PATH: [&str; 9] = [
    "via",
    "address",
    "address-a",
    "port",
    "connect-from",
    "direct",
    "allow-open",
    "allow-wan",
    "probe-dir",
];
/// Options about blocks and time.
const OF_RULE: [&str; 6] = ["repeats", "quick", "max-time", "time", "margin", "seed"];

/// A plan of a path, and the command that it stands for.
pub struct PathPlan {
    pub plan: Plan,
    /// Its options that belong to no job.
    pub arguments: NetArguments,
}

/// Makes the plan.
pub fn plan(source: &Source<'_>, given: &Given<'_>) -> Result<PathPlan, Failure> {
    let file = &source.plan;
    let typed = Subjects::Path.expect_no_storage(source, given, &OF_RULE)?;
    let mut table = file.path.clone().unwrap_or_default();
    let mut words = hosts(source, &mut table, given.targets)?;
    // What is wrong with the path is reported as such, and not as a slip of the rule or of a job.
    let (at, of_path) = (["path"], one_of(&OF_PATH));
    let path: NetArguments = options::arguments(source, &at, &table, &of_path, &words)?;
    let placed = |failure| source.placed(&["path"], failure);
    let [a, b] = net::ends(&path).map_err(placed)?;
    path.via.router().map_err(placed)?;
    words.extend(options::words::<NetArguments>(source, &at, &table, &of_path, &[])?);
    words.extend(typed);
    let (at, of_rule) = (["rule"], one_of(&OF_RULE));
    let arguments: NetArguments = options::arguments(source, &at, &file.rule, &of_rule, &words)?;
    let rule = options::words::<NetArguments>(source, &at, &file.rule, &of_rule, &words)?;
    words.extend(rule);
    let mut work = PathWork::default();
    let mut named: Vec<JobOf> = Vec::new();
    for (number, table) in file.jobs.iter().enumerate() {
        let JobOnPath { name, work: own } = job(source, number, table, [&a, &b], &words)?;
        expect_new(source, number, &name, &named)?;
        let first = work.workloads.len();
        let workloads = first..first + own.workloads.len();
        named.push(JobOf { name, workloads, others: Vec::new(), bounds: Vec::new() });
        work.add(own);
    }
    let mut plan = net::plan_of(&arguments, &a, &b, work).map_err(placed)?;
    (plan.factors, plan.commands) = factors(source, &a, &given.hosts.set)?;
    if arguments.via.direct.is_some() && !plan.factors.is_empty() {
        let happened = "`direct` cannot be used with settings";
        return Err(source.problem(&["path", "direct"], happened, "Give each a plan of its own."));
    }
    plan.contrasts = Contrast::against_first(&plan);
    claims::mark(source, &named, &mut plan)?;
    plan.command = plan::repeatable_command(&plan);
    Ok(PathPlan { plan, arguments })
}

/// Takes the hosts at the ends out of the keys of the path. Those that it does not name are on the command line, as
/// those of `plimsoll net` are.
fn hosts(source: &Source<'_>, path: &mut Table, given: &[String]) -> Result<Vec<Word>, Failure> {
    let mut take = |key: &str| -> Result<Option<String>, Failure> {
        let at = ["path", key];
        let text = match path.remove(key) {
            None => return Ok(None),
            Some(Value::String(text)) => source.fill_all(&at, &text)?,
            Some(_) => {
                let happened = format!("`{key}` must be a string");
                return Err(source.problem(&at, &happened, "Write it in quotes."));
            }
        };
        // Found here, with its line.
        let host: Result<HostName, Failure> = text.parse();
        host.map(|_| Some(text)).map_err(|failure| source.placed(&at, failure))
    };
    let (from, to) = (take("from")?, take("to")?);
    let local = || HostName::Local.to_string();
    let ends = match (from, to, given) {
        (from, Some(to), []) => [from.unwrap_or_else(local), to],
        (from, None, [to]) => [from.unwrap_or_else(local), to.clone()],
        (None, None, [from, to]) => [from.clone(), to.clone()],
        (_, None, []) => {
            let next = "Write to = \"ssh://root@nas\", or give the host after the plan.";
            return Err(source.problem(&["path"], "the far end of the path is missing", next));
        }
        _ => {
            let happened = "the path has fewer open ends than there are hosts after the plan";
            return Err(source.problem(&["path"], happened, "Omit them, or remove `to`."));
        }
    };
    Ok(ends.map(Word::Subject).into())
}

/// The work of one `[[job]]` on a path, and its name in claims.
struct JobOnPath {
    name: String,
    work: PathWork,
}

/// The work of one `[[job]]`. `words` are those of the command without the job.
fn job(
    source: &Source<'_>,
    number: usize,
    table: &Table,
    [a, b]: [&HostName; 2],
    words: &[Word],
) -> Result<JobOnPath, Failure> {
    let number = number.to_string();
    let at = ["job", number.as_str()];
    let problem = |key: &str, happened: &str, next: &str| {
        source.problem(&["job", &number, key], happened, next)
    };
    let mut options = table.clone();
    let Head { kind, name } = head(source, &number, &mut options, Subjects::Path)?;
    let Some(known) = PathKind::named(&kind) else {
        return Err(Subjects::Path.unknown_job(source, &number, &kind));
    };
    let has_router = words.iter().any(|word| word.long() == Some("via"));
    match (known.is_through_router, has_router) {
        (true, false) => {
            let happened = format!("`{kind}` needs a router on the path");
            let next = "Name it in [path]: via = \"ssh://root@router\".";
            return Err(problem("kind", &happened, next));
        }
        (false, true) => {
            let happened = format!("`{kind}` is for a path without a router");
            let next =
                format!("Remove `via`, or choose {} or {}.", net::FORWARDING, net::CONNECTIONS);
            return Err(problem("kind", &happened, &next));
        }
        _ => {}
    }
    if options.contains_key(WHILE) {
        let happened = "the jobs on a path run one after the other";
        let next = "Choose loaded, up, down or rrul: requests during TCP streams.";
        return Err(problem(WHILE, happened, next));
    }
    let rates = rates(source, &number, known, &mut options)?;
    let mut words = words.to_vec();
    if !known.is_through_router {
        words.push(Word::named("job", known.name));
    }
    if rates.is_some() {
        if let Some(key) = ["rate", "loss"].into_iter().find(|key| options.contains_key(*key)) {
            let happened = format!("`{key}` has no use: the sweep has the rates");
            return Err(problem(key, &happened, "Remove one of the two."));
        }
        // Without a search.
        words.push(Word::named("rate", "max"));
    }
    let arguments: NetArguments =
        options::arguments(source, &at, &options, &one_of(known.options), &words)?;
    if known.name == net::CONNECTIONS && arguments.via.connections.is_empty() {
        let happened = format!("missing key `{}`", net::CONNECTIONS);
        return Err(source.problem(&at, &happened, "Write connections = [4, 16, 64]."));
    }
    let mut work = net::work(&arguments, a, b).map_err(|failure| source.placed(&at, failure))?;
    if let Some(rates) = rates {
        let swept = work.workloads.into_iter().map(|workload| net::at_rates(workload, &rates));
        work.workloads = swept.collect();
    }
    Ok(JobOnPath { name, work })
}

/// Takes the rates of `sweep` out of the keys of a job: datagrams per second of each stream.
fn rates(
    source: &Source<'_>,
    number: &str,
    kind: &PathKind,
    options: &mut Table,
) -> Result<Option<Vec<f64>>, Failure> {
    let at = ["job", number, "sweep"];
    if options.contains_key("search") {
        let happened = "udp-out, udp-in and forwarding search for the highest rate themselves";
        let next = "Remove `search`. `loss` is the bound.";
        return Err(source.problem(&["job", number, "search"], happened, next));
    }
    if options.contains_key("sweep") && !kind.has_rate() {
        let happened = format!("`{}` has no rate to sweep", kind.name);
        return Err(source.problem(&at, &happened, "Remove it, or choose udp-out or udp-in."));
    }
    let rates = match steps::take(source, number, options)?.steps {
        None => return Ok(None),
        Some(Steps::Sweep { over: Parameter::Rate, values }) => values,
        Some(_) => {
            let happened = "a job on a path has a rate, and no workers and no depth";
            return Err(source.problem(&at, happened, "Write sweep.rate = [1000, 10000]."));
        }
    };
    if let Some(rate) = rates.iter().find(|rate| **rate > f64::from(MOST_PACKETS_PER_SECOND)) {
        let happened = format!("{rate} is more than {MOST_PACKETS_PER_SECOND} datagrams a second");
        return Err(source.problem(&at, &happened, "Give lower rates."));
    }
    Ok(Some(rates))
}
