//! `plimsoll predict`: what a change of hardware or of concurrency would bring.

use crate::arguments::{DocumentArguments, StoreArguments, at_least_one};
use crate::{explain, output, predictions, store};
use clap::{Args, ValueEnum};
use plimsoll_explain::whatif::{
    Encryption, LinkEnd, LinkRate, NewDisk, ProcessorSpeed, Processors, WhatIf, encryption_seconds,
    processor_speed,
};
use plimsoll_model::device::Device;
use plimsoll_model::units::parse_duration;
use plimsoll_model::{BoxFacts, Cause, Failure, HostName, Study, SubjectFacts};
use plimsoll_record::{ImportFile, ImportOptions, StudyStore};
use plimsoll_references::tables;
use plimsoll_report::WhatIfReport;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Shown by `--help`.
pub const EXAMPLES: &str = "\
Examples:
  plimsoll predict latest --link 2.5G
  plimsoll predict latest --server-cpu x2 --link 2.5G
  plimsoll predict latest --rtt 5ms
  plimsoll predict 1a2b3c4d --link 2.5G --measured latest
  plimsoll predict jonfk2024 --link 2.5G";

const SUBJECT_HELP: &str = "Study (its id, the start of its id, 'latest', or an exported file), or source of \
published tables (plimsoll references)";

#[derive(Args)]
pub struct PredictArguments {
    #[arg(value_name = "STUDY|SOURCE", help = SUBJECT_HELP)]
    pub subject: String,
    #[command(flatten)]
    pub changes: ChangeArguments,
    /// Study that was measured after the change was made
    ///
    /// Shows its figures next to the predicted ranges. Run the same command as for STUDY to get it
    #[arg(long, value_name = "STUDY")]
    pub measured: Option<String>,
    /// Also write the prediction as JSON
    ///
    /// '-' writes it to standard output, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output"])]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub output: DocumentArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Changes")]
pub struct ChangeArguments {
    /// Links of the path: 2.5G, 100M, or x2.5 for 2.5 times the rate
    #[arg(long, value_name = "RATE", value_parser = link_rate)]
    pub link: Option<LinkRate>,
    /// Link of the client alone
    #[arg(long, value_name = "RATE", value_parser = link_rate, conflicts_with_all = ["link", "server_link"])]
    pub client_link: Option<LinkRate>,
    /// Link of the server alone
    #[arg(long, value_name = "RATE", value_parser = link_rate, conflicts_with = "link")]
    pub server_link: Option<LinkRate>,
    /// CPUs of client and server: x2
    ///
    /// like:STUDY is a server CPU that plimsoll device measured. The server of the study must have been measured as
    /// well
    #[arg(long, value_name = "SPEED", value_parser = speed, conflicts_with_all = ["client_cpu", "server_cpu"])]
    pub cpu: Option<Speed>,
    /// CPU of the client alone: x2 or like:STUDY
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub client_cpu: Option<Speed>,
    /// CPU of the server alone: x2 or like:STUDY
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub server_cpu: Option<Speed>,
    /// Round trip of the network without load: 5ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub rtt: Option<Duration>,
    /// Disk of the server: x2, or like:STUDY for a disk that plimsoll device measured
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub disk: Option<Speed>,
    /// Memory of the server: x2
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub memory: Option<f64>,
    /// Add encryption
    ///
    /// The server must have been measured by plimsoll device
    #[arg(long, value_name = "LAYER", value_enum)]
    pub encrypt: Option<EncryptionChoice>,
    /// Number of workers
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroU16>)]
    pub readers: Option<NonZeroU16>,
    /// Operations in flight per worker
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroU16>)]
    pub depth: Option<NonZeroU16>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EncryptionChoice {
    /// Messages of SMB (AES-128-GCM)
    Smb,
    /// Disk of the server (AES-256-XTS, as LUKS)
    Disk,
}

/// How much faster something is.
#[derive(Clone, Debug, PartialEq)]
pub enum Speed {
    /// So many times.
    Times(f64),
    /// As that of a study of a device.
    Like(String),
}

/// Predicts.
pub fn run(predict: &PredictArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let report = match explain::source(&predict.subject) {
        Some(_) if predict.measured.is_some() => {
            return Err(usage(
                "compare a prediction with a study",
                &predict.subject,
                "published rows are not a study",
                "Name a study that plimsoll measured; plimsoll list shows them.",
            ));
        }
        Some(source) => {
            let changes = predict.changes.what_ifs(None, arguments)?;
            WhatIfReport::of_source(source, tables(), &changes)
        }
        None => of_study(predict, arguments)?,
    };
    if let Some(path) = &predict.json {
        output::write(path, &report.json())?;
        if path == Path::new("-") {
            return Ok(0);
        }
    }
    output::document(&report.document(), &predict.output)
}

/// Predicts for a study. The prediction for a study of the store is kept with it.
fn of_study(
    predict: &PredictArguments,
    arguments: &StoreArguments,
) -> Result<WhatIfReport, Failure> {
    let name = &predict.subject;
    let is_file = |name: &str| Path::new(name).is_file();
    // Only here can a published source be meant.
    let study = match is_file(name) {
        true => study(name, arguments)?,
        false => explain::study(name, &store::open(arguments)?)?,
    };
    let changes = predict.changes.what_ifs(Some(&study), arguments)?;
    let later =
        predict.measured.as_ref().map(|later| after(&study, later, arguments)).transpose()?;
    let mut report = WhatIfReport::new(&study, &changes, later.as_ref());
    if !is_file(name) {
        // A study in a file is not there when the history is read.
        let is_stored = predict.measured.as_ref().is_some_and(|later| !is_file(later));
        let measured = later.filter(|_| is_stored && report.is_scored()).map(|later| later.id);
        predictions::keep(&mut report, &study, changes, measured, arguments);
    }
    Ok(report)
}

/// The study that was measured after the change.
fn after(before: &Study, name: &str, arguments: &StoreArguments) -> Result<Study, Failure> {
    let later = study(name, arguments)?;
    match later.id == before.id {
        true => Err(usage(
            "compare a prediction with a study",
            name,
            "the prediction is of the same study",
            "Make the change, run the same command again, and name the new study.",
        )),
        false => Ok(later),
    }
}

/// A study of the store, or in a file.
pub fn study(name: &str, arguments: &StoreArguments) -> Result<Study, Failure> {
    let path = Path::new(name);
    if !path.is_file() {
        return store::open(arguments)?.load(name);
    }
    let files = [ImportFile::read(path)?];
    let imported = plimsoll_record::import(&files, &ImportOptions::default())?;
    imported.studies.into_iter().next().ok_or_else(|| {
        Failure::new(Cause::Usage, "read a study")
            .on(path.display())
            .happened("it has none")
            .next("Name a file of plimsoll export --json.")
    })
}

impl ChangeArguments {
    /// The changes, with the figures of the studies that they name.
    fn what_ifs(
        &self,
        study: Option<&Study>,
        arguments: &StoreArguments,
    ) -> Result<Vec<WhatIf>, Failure> {
        let mut changes = Vec::new();
        let links = [
            (LinkEnd::Path, self.link),
            (LinkEnd::Client, self.client_link),
            (LinkEnd::Server, self.server_link),
        ];
        let links = links.into_iter().filter_map(|(end, to)| Some(WhatIf::Link { end, to: to? }));
        changes.extend(links);
        let processors = [
            (Processors::All, &self.cpu),
            (Processors::Client, &self.client_cpu),
            (Processors::Server, &self.server_cpu),
        ];
        for (of, speed) in processors {
            changes.extend(match speed {
                None => None,
                Some(Speed::Times(times)) => {
                    Some(WhatIf::Processor { of, speed: ProcessorSpeed::times(*times) })
                }
                Some(Speed::Like(name)) => {
                    let of = if of == Processors::All { Processors::Server } else { of };
                    let speed = like(name, of, study, arguments)?;
                    Some(WhatIf::Processor { of, speed })
                }
            });
        }
        changes.extend(self.rtt.map(|rtt| WhatIf::RoundTrip { seconds: rtt.as_secs_f64() }));
        changes.extend(match &self.disk {
            None => None,
            Some(Speed::Times(times)) => Some(WhatIf::Disk(NewDisk::Times(*times))),
            Some(Speed::Like(name)) => {
                let device = device(name, arguments)?;
                let figures = device.device.disk.ok_or_else(|| {
                    let next = "Measure it with plimsoll device HOST --disk PATH.";
                    usage("read a disk", name, "the study has no disk", next)
                })?;
                Some(WhatIf::Disk(NewDisk::Like(figures)))
            }
        });
        changes.extend(self.memory.map(WhatIf::Memory));
        if let Some(choice) = self.encrypt {
            let layer = match choice {
                EncryptionChoice::Smb => Encryption::Smb,
                EncryptionChoice::Disk => Encryption::Disk,
            };
            let (host, device) = own_device(Processors::Server, study, arguments)?;
            let seconds_per_byte = encryption_seconds(&device, layer).ok_or_else(|| {
                let next = format!("Measure it: plimsoll device {host} --only inventory,crypto.");
                usage(
                    "predict encryption",
                    &host.to_string(),
                    "its device study has no figure of it",
                    &next,
                )
            })?;
            changes.push(WhatIf::Encrypt { layer, seconds_per_byte });
        }
        changes.extend(self.readers.map(WhatIf::Readers));
        changes.extend(self.depth.map(WhatIf::Depth));
        match changes.is_empty() {
            true => Err(usage(
                "predict",
                study.map_or("the published rows", |study| &study.id.0),
                "no change is given",
                "Give one or more: --link 2.5G, --cpu x2, --rtt 5ms, --disk x2, --memory x2, --encrypt smb, --readers 8 or --depth 32.",
            )),
            false => Ok(changes),
        }
    }
}

fn usage(tried: &str, on: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next)
}

/// The device of a study of `plimsoll device`.
fn device(name: &str, arguments: &StoreArguments) -> Result<BoxFacts, Failure> {
    let study = study(name, arguments)?;
    let host = study.subjects.into_iter().find_map(|facts| match facts {
        SubjectFacts::Host(facts) => Some(*facts),
        _ => None,
    });
    host.ok_or_else(|| {
        let next = "Name a study of plimsoll device; plimsoll list shows them.";
        usage("read a device", name, "the study has no device", next)
    })
}

/// The speed of a measured processor, as times that of a side of the study, which must have been measured as well.
fn like(
    name: &str,
    of: Processors,
    study: Option<&Study>,
    arguments: &StoreArguments,
) -> Result<ProcessorSpeed, Failure> {
    let new = device(name, arguments)?.device;
    let (_, old) = own_device(of, study, arguments)?;
    processor_speed(&old, &new).ok_or_else(|| {
        let next = "Measure both with this version: plimsoll device HOST --only inventory,cpu.";
        usage(COMPARE, name, "the two were not measured with the same work", next)
    })
}

const COMPARE: &str = "compare devices";

/// A host of a side of a study, and the device that the store has of it.
fn own_device(
    of: Processors,
    study: Option<&Study>,
    arguments: &StoreArguments,
) -> Result<(HostName, Device), Failure> {
    let Some(study) = study else {
        let happened = "plimsoll measured no device of the published rows";
        return Err(usage(
            COMPARE,
            "the published rows",
            happened,
            "Give a factor, such as --cpu x2.",
        ));
    };
    let is_own = |host: &HostName| match of {
        Processors::Client => host == study.plan.client(),
        Processors::Server | Processors::All => {
            study.plan.watched.iter().any(|own| own.role.is_far_end() && own.host == *host)
        }
    };
    let Some(host) = study.hosts.iter().map(|host| &host.name).find(|host| is_own(host)) else {
        let next = "Measure with --host, which names the server.";
        return Err(usage(COMPARE, &study.id.0, "the server was not monitored", next));
    };
    let devices = explain::devices(study, &store::open(arguments)?)?;
    let known = devices.into_iter().find(|known| *host == *known.facts.given);
    known.map(|known| (host.clone(), known.facts.device)).ok_or_else(|| {
        let next = format!("Measure it: plimsoll device {host} --only inventory,cpu,crypto.");
        usage(COMPARE, &host.to_string(), "the store has no study of this device", &next)
    })
}

/// "x2" or "2x".
fn times(text: &str) -> Option<f64> {
    let number = text.strip_prefix('x').or(text.strip_suffix('x'))?;
    number.parse::<f64>().ok()
}

/// A factor above 0.
pub fn factor(text: &str) -> Result<f64, String> {
    const FACTORS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;
    times(text).filter(|times| FACTORS.contains(times)).ok_or_else(|| {
        format!("'{text}' is not a factor from x0.001 to x1000; write it as x2 or x0.5")
    })
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.strip_prefix("like:") {
        Some("") => Err("'like:' needs the id of a study: like:1a2b3c4d".to_owned()),
        Some(name) => Ok(Speed::Like(name.to_owned())),
        None => factor(text).map(Speed::Times),
    }
}

/// "2.5G", "2.5Gbit/s", "100M" or "x2.5".
fn link_rate(text: &str) -> Result<LinkRate, String> {
    const RATES: std::ops::RangeInclusive<f64> = 1e3..=1e13;
    if times(text).is_some() {
        return factor(text).map(LinkRate::Times);
    }
    let units = [("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let short = text.strip_suffix("bit/s").unwrap_or(text).trim_end();
    let rate = units.into_iter().find_map(|(unit, size)| {
        let number = short.strip_suffix(unit)?;
        Some(number.trim_end().parse::<f64>().ok()? * size)
    });
    let rate = rate.filter(|rate| RATES.contains(rate));
    rate.map(|rate| LinkRate::BitsPerSecond(rate.round() as u64)).ok_or_else(|| {
        format!("'{text}' is not the rate of a link; write it as 2.5G, 100M or x2.5")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_factors_are_read() {
        let rate = |text: &str| match link_rate(text) {
            Ok(LinkRate::BitsPerSecond(rate)) => Some(rate),
            _ => None,
        };
        assert_eq!(rate("2.5G"), Some(2_500_000_000));
        assert_eq!(rate("2.5Gbit/s"), Some(2_500_000_000));
        assert_eq!(rate("100 Mbit/s"), Some(100_000_000));
        assert_eq!(link_rate("x2.5"), Ok(LinkRate::Times(2.5)));
        for wrong in ["", "2.5", "0G", "-1G", "x0", "x-1", "xNaN", "G", "1e99G", "2.5GB/s", "x"] {
            assert!(link_rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(factor("x2"), Ok(2.0));
        assert_eq!(factor("0.5x"), Ok(0.5));
        for wrong in ["", "2", "x0", "x", "x1e9", "xinf", "fast"] {
            assert!(factor(wrong).is_err(), "{wrong}");
        }
        assert_eq!(speed("like:1a2b"), Ok(Speed::Like("1a2b".into())));
        assert!(speed("like:").is_err() && speed("x0").is_err());
    }
}
