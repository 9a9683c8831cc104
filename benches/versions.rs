//! This program beside another build of it, on Ganesha, Samba and a directory: throughput of the five
//! patterns (their geometric mean for each server) and CPU time an operation, run by run in turn.
//! Prints ratios of this to the other with 95% intervals; asserts nothing. The other build is named by
//! `PLIMSOLL_PEER`; without it nothing is compared.
//!
//!     PLIMSOLL_PEER=/path/to/plimsoll cargo bench -p plimsoll --bench versions -- 12
//!
//! The number is that of the pairs [12].

use plimsoll_stats::interval::{mean, t_interval};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, Stage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Small files and a warm server: what a client costs shows best where nothing else is slow.
const ARGUMENTS: [&str; 7] = [
    "--size=64MiB",
    "--time=1s",
    "--repeats=1",
    "--baseline=0s",
    "--workers=2",
    "--quiet",
    "--json=-",
];

/// Throughput in bytes per second and CPU seconds an operation, by pattern.
type Figures = BTreeMap<String, (f64, f64)>;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(peer) = std::env::var_os("PLIMSOLL_PEER").map(PathBuf::from) else {
        println!("two builds side by side: not compared, PLIMSOLL_PEER names none");
        return Ok(());
    };
    let pairs: usize = match std::env::args().skip(1).find(|word| !word.starts_with('-')) {
        Some(number) => number.parse()?,
        None => 12,
    };
    let Some(stage) = Stage::enter_or_skip(&[Need::Ganesha, Need::Samba]) else { return Ok(()) };
    let ganesha = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data")))?;
    let samba = Samba::start(&stage, SambaConfig::one(SambaShare::new("data").guest_ok()))?;
    let directory = tempfile::tempdir()?;
    let targets = [
        ("Ganesha", ganesha.url("data")),
        ("Samba", samba.url("data")),
        ("directory", directory.path().display().to_string()),
    ];
    let this = Path::new(env!("CARGO_BIN_EXE_plimsoll"));
    println!("this build / {}, {pairs} pairs of runs in turn:", peer.display());
    for (name, target) in &targets {
        let mut rounds = Vec::new();
        for pair in 0..pairs {
            let (ours, theirs) = match pair % 2 {
                0 => (run(this, target)?, run(&peer, target)?),
                _ => {
                    let theirs = run(&peer, target)?;
                    (run(this, target)?, theirs)
                }
            };
            rounds.push((ours, theirs));
        }
        println!("{name}");
        let logs = |of: fn((f64, f64)) -> f64, pattern: &str| -> Vec<f64> {
            let ratio =
                |(a, b): &(Figures, Figures)| Some((of(*a.get(pattern)?), of(*b.get(pattern)?)));
            rounds.iter().filter_map(ratio).map(|(a, b)| (a / b).ln()).collect()
        };
        let patterns: Vec<&String> =
            rounds.first().map(|r| r.0.keys().collect()).unwrap_or_default();
        let all: Vec<Vec<f64>> = patterns.iter().map(|pattern| logs(|f| f.0, pattern)).collect();
        let mean_of_round =
            |round: usize| all.iter().map(|of| of[round]).sum::<f64>() / all.len() as f64;
        line("throughput, all patterns", &(0..pairs).map(mean_of_round).collect::<Vec<_>>());
        for (pattern, throughput) in patterns.iter().zip(&all) {
            line(&format!("throughput, {pattern}"), throughput);
        }
        for pattern in &patterns {
            // Less is better: work for a second of CPU time, as with throughput.
            line(&format!("operations a CPU second, {pattern}"), &logs(|f| 1.0 / f.1, pattern));
        }
    }
    Ok(())
}

fn line(what: &str, logs: &[f64]) {
    let words = match (mean(logs), t_interval(logs, 0.95)) {
        (Some(mean), Some(interval)) => {
            format!("{:.3} [{:.3}-{:.3}]", mean.exp(), interval.low.exp(), interval.high.exp())
        }
        _ => "no figure".to_owned(),
    };
    println!("  {what:<42} {words}");
}

/// One check of one target, and its figures, in either schema.
fn run(program: &Path, target: &str) -> Result<Figures, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let output = Command::new(program)
        .args(["check", target])
        .args(ARGUMENTS)
        .env("PLIMSOLL_DB", home.path().join("studies.db"))
        .env("PLIMSOLL_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", program.display(), said.trim()).into());
    }
    let study: Value = serde_json::from_slice(&output.stdout)?;
    let mut figures = Figures::new();
    for trial in study["trials"].as_array().into_iter().flatten() {
        // The second schema has parts, and workloads by their index.
        let (workload, quantities) = match trial.get("parts") {
            Some(parts) => {
                let index = trial["cell"]["workload"].as_u64().unwrap_or(0) as usize;
                let part = &study["plan"]["workloads"][index]["parts"][0];
                (part, &parts[0]["quantities"])
            }
            None => (&trial["cell"]["workload"], &trial["quantities"]),
        };
        let pattern = workload["pattern"].as_str().unwrap_or("?").to_owned();
        let figure =
            |name: &str| quantities[name].as_f64().ok_or(format!("no {name} of {pattern}"));
        let both =
            (figure("throughput_bytes_per_second")?, figure("client_cpu_seconds_per_operation")?);
        figures.insert(pattern, both);
    }
    Ok(figures)
}
