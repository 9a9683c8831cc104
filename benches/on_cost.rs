//! What driving trials by `--on` changes: a directory in this process, and the same over ssh on
//! this machine, trials in turn. Prints ratios; asserts none. Needs the runner's program.
//!
//!     make runner && cargo bench -p plimsoll --bench on_cost

#[path = "support/trials.rs"]
mod trials;

use plimsoll_load::OpenOptions;
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{DirectoryTarget, Engine, Measure, Metric, Pattern, Target};
use plimsoll_reach::deploy::Programs;
use plimsoll_reach::{Reach, Settings, Ssh};
use plimsoll_remote::RemoteRunner;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage};
use std::error::Error;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Instant;
use trials::{Trials, options, workload};

const PAIRS: usize = 15;
const SECONDS: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    let needs = [Need::Sshd, Need::SshClient];
    let Some(stage) = Stage::enter_or_skip(&needs) else { return Ok(()) };
    let sshd = Sshd::start(&stage, SshdConfig::default())?;
    let settings = Settings {
        configuration: Some(sshd.configuration()),
        may_ask: false,
        ..Settings::from_environment()
    };
    let reach: Arc<dyn Reach> = Arc::new(Ssh::connect(&sshd.url().parse()?, &settings)?);
    let directory = tempfile::tempdir()?;
    let target = Target::Directory(DirectoryTarget { path: directory.path().to_owned() });
    let open = OpenOptions { engine: Some(Engine::Psync), ..OpenOptions::default() };
    let (block, size, one) = (Bytes(4 * KIB), Bytes(64 * MIB), NonZeroU16::MIN);
    let workload = workload(Pattern::RandomRead, block, size, one, one);
    let workloads = std::slice::from_ref(&workload);

    let begun = Instant::now();
    let mut remote = RemoteRunner::start(
        reach,
        &Programs::of_this_program(plimsoll_remote::BUNDLE),
        &options(),
    )?;
    println!("deploying and starting the runner over ssh: {:.2} s", begun.elapsed().as_secs_f64());
    remote.connect(&target, &open)?;
    let mut there = Trials::of(Box::new(remote), workloads)?;
    let mut here = Trials::open(plimsoll_load::open(&target, &open)?, workloads)?;

    let mut ratios = [Vec::new(), Vec::new()];
    for pair in 0..PAIRS {
        let mut both = [None, None];
        for side in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            let trials = if side == 0 { &mut here } else { &mut there };
            both[side] = Some(trials.run(&workload, SECONDS)?.quantities);
        }
        let [Some(here), Some(there)] = &both else { continue };
        for (ratios, measure) in ratios.iter_mut().zip([Measure::IOPS, Measure::CLIENT_CPU_PER_OP])
        {
            ratios.push(there[&Metric::all(measure)] / here[&Metric::all(measure)]);
        }
    }
    println!(
        "4 KiB random reads of a directory, {PAIRS} pairs of trials of {SECONDS} s, there / here:"
    );
    for (ratios, what) in ratios.iter_mut().zip(["operations a second", "CPU an operation"]) {
        ratios.sort_by(f64::total_cmp);
        let (low, high) = (ratios[PAIRS / 4], ratios[PAIRS - 1 - PAIRS / 4]);
        println!("  {what}: median {:.3}, quartiles {low:.3} to {high:.3}", ratios[PAIRS / 2]);
    }
    Ok(())
}
