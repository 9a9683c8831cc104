//! `plimsoll lab`: test beds of namespaces and virtual machines.

mod inside;
mod show;
mod terminal;
mod trust;

use crate::output::{self, Progress};
use crate::signals::Signals;
use clap::{Args, Subcommand};
use plimsoll_lab::{How, Plan, SHIPPED, Watch, doctor};
use plimsoll_model::units::elapsed;
use plimsoll_model::{Cause, Failure};
use std::path::Path;
use std::time::Instant;

#[derive(Args)]
pub struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

const UP_HELP: &str =
    "Lab file, or name of a built-in lab: router, slow-router, nas, n750, ds218, mips";

#[derive(Subcommand)]
enum LabCommand {
    /// Start a lab; it runs until "lab down" or a reboot
    Up {
        #[arg(value_name = "FILE.toml|NAME", help = UP_HELP)]
        what: String,
        /// Name of the lab [default: the name of the file]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Boot the machines again instead of using their saved state
        #[arg(long)]
        afresh: bool,
        /// Trust the author of the lab file, who can then act as root on this machine
        #[arg(long)]
        trust: bool,
        /// Print the result only, no progress
        #[arg(long, short)]
        quiet: bool,
    },
    /// Show the running labs
    Status {
        /// Show only this lab
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the running labs and the built-in labs
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command on a host of a lab, and return its exit code
    Exec {
        /// Host of a lab, such as router/lan
        #[arg(value_name = "NAME/HOST")]
        host: String,
        /// Command and its arguments
        #[arg(required = true, last = true, value_name = "CMD")]
        command: Vec<String>,
    },
    /// Start a shell on a host of a lab
    Shell {
        /// Host of a lab, such as router/lan
        #[arg(value_name = "NAME/HOST")]
        host: String,
    },
    /// Change a link, a disk or a host of a running lab
    Set {
        /// Name of the lab
        name: String,
        /// Link, host, or disk (HOST/DISK)
        #[arg(value_name = "LINK|HOST|DISK")]
        item: String,
        /// Change to make
        ///
        /// Keys of a link are rate, rate.HOST (only packets from that host), mtu, delay and loss. The key of a host is
        /// cpu. Keys of a disk are latency, rate and burst. The value 'none' removes a limit
        #[arg(required = true, value_name = "KEY=VALUE")]
        changes: Vec<String>,
    },
    /// Power-cycle a virtual machine; unwritten data is lost
    Reset {
        /// Virtual machine, such as nas/server
        #[arg(value_name = "NAME/HOST")]
        host: String,
    },
    /// Stop a lab and remove everything it created, also after a crash
    Down {
        /// Name of the lab
        name: String,
    },
    /// Check what this machine supports, and what to install
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs a command of the lab and returns the exit code.
pub fn run(arguments: &LabArguments) -> Result<u8, Failure> {
    match &arguments.command {
        LabCommand::Up { what, name, afresh, trust, quiet } => {
            let how = How { afresh: *afresh, trusted: *trust };
            up(what, name.as_deref(), how, *quiet)
        }
        LabCommand::Status { name, json } => status(name.as_deref(), *json),
        LabCommand::List { json } => list(*json),
        LabCommand::Exec { host, command } => inside::exec(host, command),
        LabCommand::Shell { host } => inside::shell(host),
        LabCommand::Set { name, item, changes } => {
            let rates = changes.iter().filter_map(|change| change.split_once('='));
            remark(rates.filter_map(|(_, value)| plimsoll_lab::plan::remark(value)));
            plimsoll_lab::set(name, item, changes).map(|()| 0)
        }
        LabCommand::Reset { host } => inside::reset(host),
        LabCommand::Down { name } => plimsoll_lab::down(name).map(|()| 0),
        LabCommand::Doctor { json } => diagnose(*json),
    }
}

fn up(what: &str, name: Option<&str>, how: How, quiet: bool) -> Result<u8, Failure> {
    let LabFile { name: default, plan, text } = read(what)?;
    let name = name.unwrap_or(&default);
    let how = How { trusted: how.trusted || trust::confirmed(&plan, &text, what)?, ..how };
    remark(plimsoll_lab::plan::remarks(&text));
    let begin = Instant::now();
    let signals = Signals::listen()?;
    signals.announce();
    let progress = Progress::new(quiet);
    let mut watch = Watch { say: &mut |what| progress.show(what), stop: &signals.stop };
    let risen = plimsoll_lab::up(name, &plan, how, &mut watch);
    progress.show("");
    let unsaved = risen.map_err(|failure| match signals.cause() {
        // What was killed by the same Ctrl-C failed for that alone.
        Some(cause) => Failure { cause, ..failure },
        None => failure,
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    output::print(&show::lab(&plimsoll_lab::status_of(name)?))?;
    output::complain(&format!("{name} is up after {}", elapsed(seconds)));
    if let Some(failure) = unsaved {
        output::complain(&format!("the next start boots the machines again: {failure}"));
    }
    Ok(0)
}

fn remark(remarks: impl IntoIterator<Item = String>) {
    remarks.into_iter().for_each(|remark| output::complain(&format!("note: {remark}")));
}

/// A lab file, and what its lab is called unless the user says otherwise.
struct LabFile {
    name: String,
    plan: Plan,
    text: String,
}

/// The lab that the user means.
fn read(what: &str) -> Result<LabFile, Failure> {
    if let Some(text) = plimsoll_lab::shipped(what) {
        let plan = Plan::read(text, &format!("the lab {what} of plimsoll"))?;
        return Ok(LabFile { name: what.to_owned(), plan, text: text.to_owned() });
    }
    let path = Path::new(what);
    let failed = |happened: String, next: String| {
        Failure::new(Cause::Usage, "read the lab file").on(what).happened(happened).next(next)
    };
    if !what.contains(['/', '.']) && !path.exists() {
        let known = SHIPPED.map(|(name, _)| name);
        let next =
            format!("{} Or give the path of a lab file.", plimsoll_config::nearest(what, &known));
        return Err(failed("plimsoll has no built-in lab of this name".to_owned(), next));
    }
    let text = output::read_text(path, plimsoll_config::LONGEST_FILE)
        .map_err(|error| failed(error, "Give the path of a lab file.".to_owned()))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(LabFile { name: stem.unwrap_or_default(), plan: Plan::read(&text, what)?, text })
}

fn status(name: Option<&str>, json: bool) -> Result<u8, Failure> {
    let (labs, failures) = match name {
        Some(name) => (vec![plimsoll_lab::status_of(name)?], Vec::new()),
        None => plimsoll_lab::status()?,
    };
    if json {
        output::print(&show::json(&labs)?)?;
    } else if labs.is_empty() && failures.is_empty() {
        output::print("no lab is running\n")?;
    } else {
        let shown: Vec<String> = labs.iter().map(show::lab).collect();
        output::print(&shown.join("\n"))?;
    }
    match failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(0),
    }
}

/// A lab that comes with the program.
#[derive(serde::Serialize)]
struct Shipped {
    name: &'static str,
    about: String,
}

/// Without root only the shipped labs are known.
fn list(json: bool) -> Result<u8, Failure> {
    let (up, failures) = match plimsoll_lab::status() {
        Err(failure) if failure.cause == Cause::NotPermitted => {
            output::complain("note: only root can list the running labs");
            (Vec::new(), Vec::new())
        }
        found => found?,
    };
    let about = |(name, text): (&'static str, &str)| {
        let about = Plan::read(text, name)?.about;
        Ok(Shipped { name, about: about.lines().next().unwrap_or_default().to_owned() })
    };
    let shipped = SHIPPED.into_iter().map(about).collect::<Result<Vec<_>, Failure>>()?;
    output::print(&match json {
        true => show::json(&serde_json::json!({"up": up, "shipped": shipped}))?,
        false => show::list(&up, &shipped),
    })?;
    failures.into_iter().next().map_or(Ok(0), Err)
}

fn diagnose(json: bool) -> Result<u8, Failure> {
    let findings = doctor::examine();
    output::print(&match json {
        true => show::json(&findings)?,
        false => show::findings(&findings, output::style().width),
    })?;
    Ok(0)
}
