//! An NFS export against itself, in many short studies by the built program: how often does a
//! verdict find a difference where there is none? At 95% confidence some 5 of 100 intervals may
//! miss 1; a verdict of "faster" needs more, an interval wholly outside the margin.
//!
//! `PLIMSOLL_BENCH_STUDIES` is the number of studies (100). Without NFS-Ganesha and namespaces
//! nothing is measured.

use plimsoll_model::Study;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, Stage};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// A family of two: short enough that a hundred studies take some ten minutes.
const ARGUMENTS: [&str; 14] = [
    "--pattern",
    "random-read,sequential-write",
    "--size",
    "64MiB",
    "--time",
    "300ms",
    "--repeats",
    "6",
    "--baseline",
    "0s",
    "--quiet",
    "--json",
    "-",
    "--db",
];

fn main() -> Result<(), Box<dyn Error>> {
    for need in [Need::Namespaces, Need::Ganesha] {
        if let Some(missing) = need.missing() {
            println!("an export against itself: not measured, because {missing}");
            return Ok(());
        }
    }
    let studies: usize = match std::env::var("PLIMSOLL_BENCH_STUDIES") {
        Ok(number) => number.parse()?,
        Err(_) => 100,
    };
    let stage = Stage::enter()?;
    let export = Export::directory("films").size(1 << 30);
    let server = Ganesha::start(&stage, GaneshaConfig::one(export))?;
    let url = server.url_with_ports("films");
    let store = tempfile::tempdir()?;
    println!(
        "an NFS export on tmpfs against itself, {studies} studies of 6 blocks of 0.3 s trials"
    );

    let mut verdicts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let (mut misses, mut widths) = (0, Vec::new());
    for number in 1..=studies {
        let study = study(&url, store.path(), number)?;
        let (missed, wide) = count(&study, &mut verdicts);
        misses += usize::from(missed);
        widths.extend(wide);
        if number % 10 == 0 {
            println!("  after {number}: {misses} with an interval that misses 1, {verdicts:?}");
        }
    }
    widths.sort_by(f64::total_cmp);
    let median = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
    println!(
        "studies in which any of the family's two intervals misses 1: {misses} of {studies} \
         (5% expected); verdicts: {verdicts:?}; median half-width of an interval {:.1}%",
        100.0 * median
    );
    Ok(())
}

fn study(url: &str, store: &Path, seed: usize) -> Result<Study, Box<dyn Error>> {
    let ran = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["check", url, url])
        .args(ARGUMENTS)
        .arg(store.join("studies.db"))
        .args(["--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}

/// Counts the study's verdicts; whether an interval missed 1, and the intervals' half-widths.
fn count(study: &Study, verdicts: &mut BTreeMap<&'static str, usize>) -> (bool, Vec<f64>) {
    use plimsoll_stats::verdict::Verdict;
    let findings = plimsoll_explain::findings(study);
    let claims = findings.workloads.iter().flat_map(|w| &w.pairs).filter_map(|pair| pair.claim);
    let (mut missed, mut widths) = (false, Vec::new());
    for claim in claims {
        if let Some(interval) = claim.ratio.interval {
            missed |= interval.low > 1.0 || interval.high < 1.0;
            widths.push((interval.high / interval.low).sqrt() - 1.0);
        }
        let name = match claim.verdict {
            None => "none",
            Some(Verdict::Faster(_)) => "faster",
            Some(Verdict::PerhapsTooLittle(_)) => "perhaps too little to matter",
            Some(Verdict::NoPracticalDifference(_)) => "no practical difference",
            Some(Verdict::NotResolved(_)) => "not resolved",
        };
        *verdicts.entry(name).or_default() += 1;
    }
    (missed, widths)
}
