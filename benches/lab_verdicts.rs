//! Studies in one lab whose truth is known: two servers behind equal links, and one behind a link
//! of a tenth less. How often does a verdict find a difference between the equal ones, and how often
//! the one that is there? Every study is one of the built program with `--on`, under its stop rule.
//!
//!     cargo bench -p plimsoll --bench lab_verdicts -- 100
//!
//! The number is that of the studies of equals [20]; after ten of them three look for the difference.
//! Each takes 10 to 20 seconds. Other work on this machine costs power, which `nice -n -15` before it
//! gives back. The tests' runner is built where none is named.

#[path = "../tests/support/mod.rs"]
mod support;

use plimsoll_model::Study;
use plimsoll_stats::verdict::{Side, Verdict};
use plimsoll_testkit::Need;
use std::error::Error;
use std::time::Instant;
use support::Plimsoll;
use support::beds::{Beds, goodput};
use support::runner_program::runner;

const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labs/equals.toml");

/// Of blocks so large that the link is the limit, and so small that one more or less in half a second
/// is half a percent; with so many in flight that the link has work for 40 ms whenever a process has
/// to wait for a core; files of no more than that, because the way to lay them out is the same link.
const ARGUMENTS: [&str; 9] = [
    "--pattern=sequential-read",
    "--block=32KiB",
    "--depth=4",
    "--size=8MiB",
    "--time=500ms",
    "--max-time=20s",
    "--baseline=0s",
    "--quiet",
    "--json=-",
];

/// Of so many studies so many found a difference, in one direction or the other.
#[derive(Default)]
struct Found {
    studies: u32,
    first_faster: u32,
    second_faster: u32,
    /// No difference of more than the margin.
    equal: u32,
    /// With an interval that misses the true ratio.
    missed: u32,
    half_widths: Vec<f64>,
    ratios: Vec<f64>,
    blocks: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    for need in [Need::Namespaces, Need::Ganesha] {
        if let Some(missing) = need.missing() {
            println!("studies in a lab: not measured, because {missing}");
            return Ok(());
        }
    }
    let studies: u32 = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(20);
    let mut beds = Beds::new();
    if std::env::var_os("PLIMSOLL_RUNNER").is_none() {
        let built = runner().to_str().ok_or("a path that is no text")?.to_owned();
        beds.program =
            std::mem::replace(&mut beds.program, Plimsoll::new()).with("PLIMSOLL_RUNNER", &built);
    }
    beds.lab(&["up", LAB, "--name=equals"]).expect(0);
    for (server, rate) in [("a", 100e6), ("b", 100e6), ("c", 90e6)] {
        let carried = goodput(&beds, "equals", server, "client");
        println!("the link to {server} carries {:.1}% of its rate in TCP", carried / rate * 100.0);
    }
    let begun = Instant::now();
    let (mut equals, mut others) = (Found::default(), Found::default());
    for number in 1..=studies {
        equals.add(&study(&beds.program, "b", number)?, 1.0)?;
        if number.is_multiple_of(10) {
            for seed in number..number + 3 {
                others.add(&study(&beds.program, "c", seed)?, 0.9)?;
            }
            let found = |found: &Found| found.first_faster + found.second_faster;
            println!(
                "  verdicts of difference: {} of {number} equal, {} of {} others; {:.0} s",
                found(&equals),
                found(&others),
                others.studies,
                begun.elapsed().as_secs_f64()
            );
        }
    }
    equals.print("equal links, of 100 Mbit/s");
    others.print("100 Mbit/s against 90");
    let all = f64::from(equals.studies + others.studies);
    println!("a study takes {:.1} s", begun.elapsed().as_secs_f64() / all);
    Ok(())
}

/// A study of `a` against another server.
fn study(program: &Plimsoll, other: &str, seed: u32) -> Result<Study, serde_json::Error> {
    let (other, seed) = (format!("nfs://{other}/srv/data"), format!("--seed={seed}"));
    let words = ["check", "--on=lab://equals/client", "nfs://a/srv/data", &other, &seed];
    serde_json::from_str(&program.run(&[&words[..], &ARGUMENTS].concat()).expect(0).out)
}

impl Found {
    /// Counts a study of links whose rates have this ratio.
    fn add(&mut self, study: &Study, truth: f64) -> Result<(), &'static str> {
        let findings = plimsoll_explain::findings(study);
        let mut pairs = findings.workloads.iter().flat_map(|found| &found.pairs);
        let claim = pairs.next().and_then(|pair| pair.claim).ok_or("a study without a claim")?;
        let (Some(verdict), Some(interval)) = (claim.verdict, claim.ratio.interval) else {
            return Err("a study without a verdict");
        };
        self.studies += 1;
        match verdict.faster() {
            Some(Side::A) => self.first_faster += 1,
            Some(Side::B) => self.second_faster += 1,
            None => {}
        }
        self.equal += u32::from(matches!(verdict, Verdict::NoPracticalDifference(_)));
        self.missed += u32::from(!interval.contains(truth));
        self.half_widths.push((interval.high / interval.low).sqrt() - 1.0);
        self.ratios.push(claim.ratio.estimate);
        self.blocks.push(claim.ratio.blocks as f64);
        Ok(())
    }

    fn print(&mut self, what: &str) {
        let studies = self.studies;
        println!("{what}: {studies} studies");
        for (name, count) in [
            ("a verdict of difference", self.first_faster + self.second_faster),
            ("the first faster", self.first_faster),
            ("the second faster", self.second_faster),
            ("no practical difference", self.equal),
            ("an interval that misses the links' ratio", self.missed),
        ] {
            let (low, high) = wilson(count, studies);
            println!("  {name}: {count} of {studies} [{:.1}–{:.1}%]", low * 100.0, high * 100.0);
        }
        println!(
            "  medians: ratio {:.3}, half-width of its interval {:.1}%, {} blocks",
            median(&mut self.ratios),
            median(&mut self.half_widths) * 100.0,
            median(&mut self.blocks)
        );
    }
}

/// Wilson's 95% interval of a share.
fn wilson(count: u32, of: u32) -> (f64, f64) {
    const Z: f64 = 1.96;
    let n = f64::from(of.max(1));
    let share = f64::from(count) / n;
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + Z * Z / n;
    (((centre - half) / whole).max(0.0), ((centre + half) / whole).min(1.0))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
