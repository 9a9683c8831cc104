//! A plan file and the command line become a plan.

use super::file::{CommandEntry, FactorEntry, Source, word};
use super::given::Given;
use super::options;
use super::targets::targets;
use super::work::{Common, JobOf, NamedWork, expect_new, job};
use super::{claims, concurrent, reboot};
use crate::arguments::{HostArguments, RuleArguments};
use crate::jobs::MayLower;
use crate::plan::{self, Storage};
use crate::settings;
use plimsoll_config::nearest;
use plimsoll_model::{
    Commands, Factor, Failure, HostName, Length, Plan, StorageOptions, Switch, factor,
};
use plimsoll_settings::{FactorRequest, by_commands, knob};
use std::collections::BTreeMap;

/// A plan, and what is not in it.
#[derive(Debug)]
pub struct Assembled {
    pub plan: Plan,
    /// A file of each target that is read in place.
    pub file: Option<String>,
    /// Rule of the file and of the command line.
    pub how: RuleArguments,
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
    let (mut factors, commands) = factors(source, &client, &hosts.set)?;
    let clients = plan::clients(&hosts.on)?;
    let reboot = reboot::reboot(source, given.reboot, &clients, &mut factors)?;
    let how: RuleArguments =
        options::arguments(source, &["rule"], &file.rule, &|_| true, given.how)?;
    let mut design =
        plan::design(&how, &factors).map_err(|failure| source.placed(&["rule"], failure))?;
    let mut common = Common::default();
    let (mut work, mut named) = (Vec::new(), Vec::<JobOf>::new());
    for (number, table) in file.jobs.iter().enumerate() {
        let NamedWork { name, work: own, others, bounds } =
            job(source, number, table, &design, &hosts, &mut common)?;
        expect_new(source, number, &name, &named)?;
        let workloads = work.len()..work.len() + own.len();
        named.push(JobOf { name, workloads, others, bounds });
        work.extend(own);
    }
    if let (Some(in_place), Some(writes)) =
        (&common.file, work.iter().find(|work| work.job.footprint().written > 0))
    {
        let happened = format!("{} writes, but {in_place} is only read", writes.job.title());
        return Err(source.problem(&["job"], &happened, "Remove `file`, or that job."));
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
    let mut made = plan::plan(Storage {
        targets,
        hosts: &hosts,
        work,
        engine: common.engine,
        cache: common.cache,
        timeout: how.timeout,
        design,
        factors,
    })?;
    concurrent::add(source, &named, &mut made)?;
    let MayLower { adapt_size, fit_size } = common.may_lower.unwrap_or_default();
    let storage = StorageOptions {
        server_memory: common.server_memory,
        adapt_size,
        fit_size,
        ..made.storage
    };
    let labels = plan::labels(&labels, subjects).map_err(|f| source.placed(&["target"], f))?;
    let mut plan = Plan { storage, labels, commands, reboot, ..made };
    claims::mark(source, &named, &mut plan)?;
    plan.command = plan::repeatable_command(&plan);
    Ok(Assembled { plan, file: common.file, how })
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
    let drop_caches = given.drop_caches || source.plan.drop_caches;
    let (set, allow_open) = (given.set.clone(), given.allow_open);
    Ok(HostArguments { on, hosts: watched, set, drop_caches, allow_open })
}

/// Settings of a plan file, and of the command line (`set`), with the commands that define some of them. A setting
/// without a host is one of `client`.
pub fn factors(
    source: &Source<'_>,
    client: &HostName,
    set: &[String],
) -> Result<(Vec<Factor>, BTreeMap<String, Commands>), Failure> {
    let commands = commands(source)?;
    let mut factors = Vec::new();
    for (number, entry) in source.plan.factors.iter().enumerate() {
        factors.push(factor_of(source, number, entry, client, &commands)?);
    }
    factors.extend(settings::factors(set, client)?);
    Ok((factors, commands))
}

/// What stands before the names of settings by commands.
const COMMAND: &str = "command:";

/// The settings that the file defines by commands.
fn commands(source: &Source<'_>) -> Result<BTreeMap<String, Commands>, Failure> {
    let mut commands = BTreeMap::new();
    for (name, CommandEntry { read, apply, undo, verify, restarts }) in &source.plan.commands {
        let switch = if *restarts { Switch::Restart } else { Switch::Live };
        let [read, apply, undo] = [read, apply, undo].map(String::clone);
        let own = Commands { read, apply, undo, verify: verify.clone(), switch };
        let made = by_commands(name, own.clone());
        made.map_err(|failure| source.placed(&["command", name], failure))?;
        commands.insert(name.clone(), own);
    }
    Ok(commands)
}

fn factor_of(
    source: &Source<'_>,
    number: usize,
    entry: &FactorEntry,
    client: &HostName,
    commands: &BTreeMap<String, Commands>,
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
            return Err(source.problem(
                &at("levels"),
                "a level must be a string or a number",
                next,
            ));
        };
        levels.extend(source.fill(&at("levels"), &level)?);
    }
    if levels.len() < 2 {
        let happened = "a comparison needs at least two levels";
        return Err(source.problem(&at("levels"), happened, "Give two or more."));
    }
    if let Some(own) = setting.strip_prefix(COMMAND).filter(|own| !commands.contains_key(*own)) {
        let known: Vec<&String> = commands.keys().collect();
        let happened = format!("no [command.{own}] defines it");
        return Err(source.problem(&at("setting"), &happened, &nearest(own, &known)));
    }
    knob(&setting).map_err(|failure| source.placed(&at("setting"), failure))?;
    let asked = FactorRequest::new(host, &setting, levels.iter().map(String::as_str));
    let made = asked.and_then(|asked| settings::factor(asked, client, commands));
    made.map_err(|failure| source.placed(&at("levels"), failure))
}
