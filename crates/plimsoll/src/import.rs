//! `plimsoll import`: results from elsewhere into the store.

use crate::arguments::{ImportArguments, StoreArguments};
use crate::{output, plan, store};
use plimsoll_model::{Device, Failure, Origin, Study, printable};
use plimsoll_record::{ImportFile, ImportOptions};
use std::fmt::Write;

/// Reads every file before anything is kept, then keeps all of it at once.
pub fn run(import: &ImportArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let files = import.files.iter().map(|path| ImportFile::read(path));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let (of_devices, of_studies): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| plimsoll_record::is_device_json(&file.text));
    let devices = of_devices.iter().map(device).collect::<Result<Vec<_>, _>>()?;
    let options = ImportOptions {
        labels: import.labels.clone(),
        pattern: import.pattern,
        jobs: import.jobs,
        command: plan::command(),
    };
    let studies = match of_studies.is_empty() {
        true => Vec::new(),
        false => plimsoll_record::import(&of_studies, &options)?,
    };
    store::open_to_keep(arguments)?.import_all(&studies, &devices)?;
    let mut text = String::new();
    for study in &studies {
        let _ = writeln!(text, "{}", imported(study));
    }
    for Device { id, host, .. } in &devices {
        let line = format!("imported {id}: the device {host}; to see it: plimsoll show {id}");
        let _ = writeln!(text, "{}", printable(&line));
    }
    output::print(&text)?;
    Ok(0)
}

fn device(file: &ImportFile) -> Result<Device, Failure> {
    plimsoll_record::device_from_json(&file.text)
        .map_err(|failure| Failure { on: format!("{}, {}", file.name, failure.on), ..failure })
}

/// "imported 5eed0001: 10 runs on 2 targets, fio-3.36; to see it: plimsoll show 5eed0001".
fn imported(study: &Study) -> String {
    let counted = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let (origin, noun) = match &study.origin {
        Origin::Imported { tool } => (tool.clone(), "run"),
        Origin::Measured { version } => (format!("plimsoll {version}"), "trial"),
    };
    let targets = study.targets.len().max(study.plan.targets.len());
    printable(&format!(
        "imported {}: {} on {}, {origin}; to see it: plimsoll show {0}",
        study.id,
        counted(study.trials.len(), noun),
        counted(targets, "target"),
    ))
}
