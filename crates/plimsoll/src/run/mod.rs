//! `plimsoll run`: a plan file, which is any matrix of targets, jobs and settings. The targets are storage, a network
//! path, or hosts.

mod assemble;
mod claims;
mod concurrent;
mod file;
mod given;
mod hosts;
mod options;
mod outlook;
mod path;
mod reboot;
mod shipped;
mod steps;
mod subjects;
mod targets;
#[cfg(test)]
mod tests;
mod work;

use crate::arguments::{
    AccessArguments, CONTINUE_HELP, CONTINUE_LONG_HELP, HostArguments, OutputArguments,
    RuleArguments, StoreArguments,
};
use crate::check::{self, More};
use crate::gate::{self, GateArguments};
use crate::public::expect_rules_stay;
use crate::{clock, device, net, output, resume};
use assemble::Assembled;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use file::Source;
use given::Given;
use hosts::{HostCommand, HostPlan};
use options::Word;
use path::PathPlan;
use plimsoll_config::{LONGEST_FILE, nearest};
use plimsoll_model::{Cause, Failure, Plan};
use plimsoll_report::wrapped;
use std::path::Path;
use subjects::Subjects;

const PLAN_HELP: &str = "Plan file, or name of a built-in plan (--list)";

const TARGETS_HELP: &str = "Targets that the plan does not name, in the order of the plan";

#[derive(Args)]
pub struct RunArguments {
    #[arg(required_unless_present_any = ["continues", "list"], value_name = "PLAN")]
    #[arg(help = PLAN_HELP)]
    pub plan: Option<String>,
    #[arg(value_name = "TARGET", help = TARGETS_HELP)]
    pub targets: Vec<String>,
    /// Value of a variable of the plan
    ///
    /// For example, server=ssh://root@nas. May be given several times
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    #[arg(long = "continue", value_name = "STUDY")]
    #[arg(help = CONTINUE_HELP, long_help = CONTINUE_LONG_HELP)]
    pub continues: Option<String>,
    /// Reboot the device before each setting
    ///
    /// The device is the host of the plan's settings, unless the plan's [reboot] names another. For each setting,
    /// plimsoll reboots, applies the setting and then measures all workloads
    #[arg(long)]
    pub reboot: bool,
    /// Print the plan and its estimated time only
    ///
    /// This also prints the text of every command. plimsoll contacts no host and runs no command
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run, also read the current settings of the hosts
    ///
    /// This runs the `read` commands of the plan on the hosts
    #[arg(long, requires = "dry_run")]
    pub read_hosts: bool,
    /// List the built-in plans
    #[arg(long, conflicts_with_all = ["plan", "continues"])]
    pub list: bool,
    /// Print the text of the plan
    #[arg(long, conflicts_with_all = ["dry_run", "continues"])]
    pub show: bool,
    #[command(flatten)]
    how: Typed,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub gate: GateArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// What was typed of [`RuleArguments`]: it goes before what a plan says.
struct Typed {
    words: Vec<Word>,
    /// All of it, with defaults.
    how: RuleArguments,
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let how = RuleArguments::from_arg_matches(matches)?;
        Ok(Typed { words: options::typed::<RuleArguments>(matches), how })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Typed::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        RuleArguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        RuleArguments::augment_args_for_update(command)
    }
}

/// Runs a plan, and returns the exit code.
pub fn run(run: &RunArguments, store: &StoreArguments) -> Result<u8, Failure> {
    if let Some(study) = &run.continues {
        let again = resume::Again {
            study,
            max_time: run.how.how.max_time,
            access: &run.access,
            output: &run.output,
        };
        return resume::run(&again, store);
    }
    let Some(named) = run.plan.as_deref().filter(|_| !run.list) else { return list() };
    let text = text(named)?;
    if run.show {
        output::print(&text)?;
        return Ok(0);
    }
    let source = Source::read(&text, named, &run.variables)?;
    let (hosts, reboot) = (&run.hosts, run.reboot);
    let given = Given { targets: &run.targets, hosts, reboot, how: &run.how.words };
    let subjects = Subjects::of_file(&source)?;
    if subjects != Subjects::Storage {
        subjects.expect_unused(&run.gate, &run.access)?;
    }
    match subjects {
        Subjects::Storage => run_storage(&source, &given, run, store),
        Subjects::Path => run_path(&source, &given, run, store),
        Subjects::Hosts => run_hosts(&source, &given, run, store),
    }
}

/// Runs a plan of storage, and returns the exit code.
fn run_storage(
    source: &Source<'_>,
    given: &Given<'_>,
    run: &RunArguments,
    store: &StoreArguments,
) -> Result<u8, Failure> {
    let Assembled { mut plan, file, how } = assemble::plan(source, given)?;
    gate::add_to(&mut plan, &run.gate, &how, store)?;
    if let Some(code) = shown_only(run, source, &plan)? {
        return Ok(code);
    }
    let opened = (!run.output.quiet).then_some(outlook::say_grace as fn(&_, &[_], &[_]));
    let allow_open = run.hosts.allow_open;
    let more = More { file, quick: how.quick, allow_open, opened, ..More::default() };
    let (study, interrupted) = check::measure(plan, &run.access, &run.output, store, more)?;
    gate::finish(&study, check::exit_code(&study, interrupted), &run.output, store)
}

/// Runs a plan of a network path, and returns the exit code.
fn run_path(
    source: &Source<'_>,
    given: &Given<'_>,
    run: &RunArguments,
    store: &StoreArguments,
) -> Result<u8, Failure> {
    let PathPlan { plan, mut arguments } = path::plan(source, given)?;
    arguments.via.allow_open |= run.hosts.allow_open;
    if let Some(code) = shown_only(run, source, &plan)? {
        return Ok(code);
    }
    let (study, interrupted) = net::measure(plan, &arguments, &run.output, store)?;
    Ok(check::exit_code(&study, interrupted))
}

/// Runs a plan of hosts, and returns the exit code.
fn run_hosts(
    source: &Source<'_>,
    given: &Given<'_>,
    run: &RunArguments,
    store: &StoreArguments,
) -> Result<u8, Failure> {
    let HostPlan { plan, command } = hosts::plan(source, given)?;
    if let Some(code) = shown_only(run, source, &plan)? {
        return Ok(code);
    }
    expect_rules_stay(&plan.factors, run.hosts.allow_open)?;
    match command {
        HostCommand::Device(arguments) => {
            let (study, interrupted) = device::measure(plan, &arguments, &run.output, store)?;
            Ok(device::exit_code(&study, interrupted))
        }
        HostCommand::Clock(arguments) => {
            let (study, interrupted) = clock::measure(plan, None, &arguments, &run.output, store)?;
            Ok(check::exit_code(&study, interrupted))
        }
    }
}

/// Shows what a plan would do. The exit code if that is all that is wanted.
fn shown_only(run: &RunArguments, source: &Source<'_>, plan: &Plan) -> Result<Option<u8>, Failure> {
    if run.dry_run {
        return outlook::show(&source.plan.about, plan, run.read_hosts).map(Some);
    }
    if !run.output.quiet {
        output::complain(&outlook::in_brief(plan));
    }
    Ok(None)
}

fn list() -> Result<u8, Failure> {
    let columns = output::style().width;
    for (name, text) in shipped::SHIPPED {
        let about = Source::read(text, name, &[])?.plan.about;
        output::print(&wrapped(&format!("{name:<16}"), &about, columns))?;
    }
    Ok(0)
}

/// The text of a plan: a file, or one that comes with the program.
fn text(named: &str) -> Result<String, Failure> {
    let path = Path::new(named);
    if let Some(text) = shipped::shipped(named).filter(|_| !path.exists()) {
        return Ok(text.to_owned());
    }
    output::read_text(path, LONGEST_FILE).map_err(|happened| {
        let known: Vec<&str> = shipped::SHIPPED.iter().map(|(name, _)| *name).collect();
        let next = match named.contains(['/', '.']) {
            true => {
                "Give the path of a plan file, or a name that plimsoll run --list shows.".to_owned()
            }
            false => format!("{} Or give the path of a plan file.", nearest(named, &known)),
        };
        let happened = match path.exists() || named.contains(['/', '.']) {
            true => happened,
            false => "no built-in plan and no file has this name".to_owned(),
        };
        Failure::new(Cause::Usage, "read the plan").on(named).happened(happened).next(next)
    })
}
