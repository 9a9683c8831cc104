//! `plimsoll device`: what a box is, and what it can do.

use crate::arguments::StoreArguments;
use crate::output::{self, NewFile, Progress};
use crate::signals::Signals;
use crate::{hosts, plan, report, restore, store};
use clap::Args;
use plimsoll_host::device::{Asked, Measure, Verbs, measure};
use plimsoll_host::probe::{Placed, Programs};
use plimsoll_load::SystemClock;
use plimsoll_model::device::{DEVICE_SCHEMA, Part};
use plimsoll_model::{Cause, Deadline, Device, DeviceId, Ended, Failure, HostName, Study};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const HOST_HELP: &str = "The box: local, or ssh://[user@]host[:port] by the system's own ssh";

#[derive(Args)]
pub struct DeviceArguments {
    // A doc comment would take the brackets for links.
    #[arg(value_name = "HOST", help = HOST_HELP)]
    pub host: String,
    /// Only these parts: inventory, cpu, memory, crypto, disk [default: all; disk with --disk]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    pub only: Vec<Part>,
    /// A directory on the box whose disk is measured, with a file that is removed again
    #[arg(long, value_name = "PATH")]
    pub disk: Option<PathBuf>,
    /// The CoreMark program on the box [default: coremark, where it is found]
    #[arg(long, value_name = "PATH")]
    pub coremark: Option<PathBuf>,
    /// Where on the box the probe is put [default: the first RAM file system where programs run]
    #[arg(long, value_name = "DIR")]
    pub probe_dir: Option<String>,
    /// Short measurements, less exact
    #[arg(long)]
    pub quick: bool,
    /// Also write the record as JSON to a file, or to standard output with '-' (then nothing else)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Also write the report, an HTML page, to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Replace the report's file if it is there
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// No progress, only the result
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

/// Measures a device and returns the exit code.
pub fn run(arguments: &DeviceArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    // Not parsed by clap: what it refuses, it repeats, and there may be a password in it.
    let host: HostName = arguments.host.parse()?;
    let asked = asked(arguments, &host)?;
    restore::expect_none_left(&[&host], &[])?;
    let json = arguments.json.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let page = arguments.report.as_deref();
    let page = page.map(|path| NewFile::create(path, arguments.force)).transpose()?;
    let store = store::open_to_keep(kept)?;
    let signals = Signals::listen()?;
    signals.announce();
    let progress = Progress::new(arguments.quiet);
    progress.show("reaching the host");
    let deadline = Deadline::new(Arc::new(SystemClock::new()), signals.stop.clone());
    let reached = host.clone();
    let reach = Signals::leave_when_over(&deadline, "reach the host", &host, move || {
        let reach = hosts::open(&reached, true)?;
        plimsoll_host::settings::expect_none_left_on(&*reach).map(|()| reach)
    })
    .map_err(|failure| signals.explain(failure))?;
    progress.show("carrying the probe there");
    let (there, directory) = (reach.clone(), arguments.probe_dir.clone());
    let placed = Signals::leave_when_over(&deadline, "carry the probe", &host, move || {
        Placed::place(there, &Programs::of_this_program(), directory.as_deref())
    });
    if let (Err(failure), Some(_)) = (&placed, signals.cause()) {
        return Err(signals.explain(failure.clone()));
    }
    let verbs: Result<&dyn Verbs, Failure> = match &placed {
        Ok(placed) => Ok(placed),
        // Without a host there is nothing to measure; without a probe there is something.
        Err(failure) if failure.cause == Cause::Unreachable => return Err(failure.clone()),
        Err(failure) => Err(failure.clone()),
    };
    let device = begin(arguments, host);

    let measured = measure(
        Measure {
            reach: &*reach,
            verbs,
            asked,
            stop: &signals.stop,
            say: &mut |part, what| progress.show(&format!("{part}: {what}")),
            keep: &mut |_| Ok(()),
        },
        device,
    );
    progress.show("");
    let device = measured?;
    let study = plimsoll_record::study_of_device(device.clone());
    store.import(std::slice::from_ref(&study))?;
    show(&study, json)?;
    if let Some(page) = page {
        report::write_page(&study, page)?;
    }
    if let Ok(placed) = placed {
        // What is left over there is named.
        placed.remove()?;
    }
    Ok(exit_code(&device, signals.cause()))
}

/// What is to be measured.
fn asked(arguments: &DeviceArguments, host: &HostName) -> Result<Asked, Failure> {
    let usage = |tried: &str, on: String, happened: &str, next: &str| {
        Failure::new(Cause::Usage, tried, on, happened, next)
    };
    let mut parts = match arguments.only.is_empty() {
        true => {
            Part::ALL.into_iter().filter(|p| *p != Part::Disk || arguments.disk.is_some()).collect()
        }
        false => arguments.only.clone(),
    };
    parts.sort();
    parts.dedup();
    if parts.contains(&Part::Disk) && arguments.disk.is_none() {
        let next = "Name a directory there with --disk PATH.";
        return Err(usage("measure a disk", "--only disk".to_owned(), "no path was named", next));
    }
    let over_there = |option: &str, path: &Option<PathBuf>| {
        let Some(path) = path else { return Ok(None) };
        let named = || format!("{option} {}", path.display());
        let path = match host {
            HostName::Local => std::path::absolute(path).map_err(|e| {
                usage("find a path", named(), &e.to_string(), "Name it from the root on.")
            })?,
            HostName::Ssh { .. } | HostName::Lab { .. } => path.clone(),
        };
        match path.to_str().filter(|p| p.starts_with('/') && !p.contains(['\n', '\0'])) {
            Some(path) => Ok(Some(path.to_owned())),
            None => {
                let happened = "it is no path from the root on, in letters";
                Err(usage("find a path", named(), happened, "Name it as /mnt/disk."))
            }
        }
    };
    Ok(Asked {
        parts,
        disk: over_there("--disk", &arguments.disk)?,
        coremark: over_there("--coremark", &arguments.coremark)?,
    })
}

/// The record before anything was measured.
fn begin(arguments: &DeviceArguments, host: HostName) -> Device {
    Device {
        schema: DEVICE_SCHEMA.to_owned(),
        id: DeviceId(format!("{:08x}", rand::random::<u32>())),
        started_unix_seconds: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan::command(),
        host,
        quick: arguments.quick,
        parts: Vec::new(),
        inventory: None,
        cpu: None,
        memory: None,
        crypto: None,
        disk: None,
        odd: Vec::new(),
        ended: Ended::Open,
    }
}

fn show(study: &Study, json: Option<NewFile>) -> Result<(), Failure> {
    if let Some(file) = json {
        let alone = file.is_standard_output();
        file.write(&plimsoll_record::to_json(study)?)?;
        if alone {
            return Ok(());
        }
    }
    output::print(&plimsoll_report::study(study, &output::style()))
}

fn exit_code(device: &Device, interrupted: Option<Cause>) -> u8 {
    match interrupted {
        Some(cause) => cause.exit_code(),
        None if device.is_complete() => 0,
        None => Cause::Trial.exit_code(),
    }
}
