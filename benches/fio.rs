//! A directory target beside fio on the same files: the same engine, block, depth, warm-up and
//! time, in rounds of one trial of plimsoll's and two runs of fio's in changing order. fio's second
//! run against its first shows what equal programs differ by on this machine at this time. Nothing
//! is asserted; without fio nothing is compared.
//!
//! `PLIMSOLL_BENCH_DIRECTORY` is where the files are (default: /dev/shm, a tmpfs),
//! `PLIMSOLL_BENCH_SECONDS` the length of a run (0.25), `PLIMSOLL_BENCH_ROUNDS` their number (20),
//! and an argument narrows the cases to those whose name contains it.

#[allow(dead_code, reason = "files are laid out by plimsoll here")]
#[path = "support/fio.rs"]
mod peer;
#[allow(dead_code, reason = "CPU time is compared where a run is long")]
#[path = "support/ratios.rs"]
mod ratios;
#[path = "support/trials.rs"]
mod trials;

use plimsoll_load::OpenOptions;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{DirectoryTarget, Engine, Pattern, PatternJob, Target};
use plimsoll_runner::{read_file_name, write_file_name};
use ratios::{Figures, Round};
use std::error::Error;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use trials::{Trials, WARM_UP, workload};

/// Larger than the caches of most processors, so that the same offsets cost both the same.
const SIZE: Bytes = Bytes(256 * MIB);

/// Which engine both use, and how deep.
struct Setting {
    name: &'static str,
    engine: Option<Engine>,
    depth: NonZeroU16,
    /// What fio calls the engine that ours comes to.
    fio_engine: &'static str,
}

const SETTINGS: [Setting; 2] = [
    Setting {
        name: "psync (--engine psync, and the default at depth 1)",
        engine: Some(Engine::Psync),
        depth: NonZeroU16::MIN,
        fio_engine: "psync",
    },
    Setting {
        name: "io_uring at depth 4 (the default above depth 1)",
        engine: None,
        depth: NonZeroU16::MIN.saturating_add(3),
        fio_engine: "io_uring",
    },
];

const PATTERNS: [Pattern; 4] =
    [Pattern::SequentialRead, Pattern::SequentialWrite, Pattern::RandomRead, Pattern::RandomWrite];

fn main() -> Result<(), Box<dyn Error>> {
    let Some(version) = peer::version("fio".as_ref()) else {
        println!("directory beside fio: not compared, because fio is not installed");
        return Ok(());
    };
    let seconds: f64 = peer::number("PLIMSOLL_BENCH_SECONDS", 0.25)?;
    let rounds = peer::number("PLIMSOLL_BENCH_ROUNDS", 20.0)? as usize;
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let place = place();
    let directory = tempfile::Builder::new().prefix("plimsoll-bench-").tempdir_in(&place)?;
    println!(
        "directory beside {version}, both in {}: {rounds} rounds of {seconds} s, one worker",
        place.display()
    );
    ratios::print_legend();
    for setting in SETTINGS {
        let case = |pattern: Pattern| {
            let (block, one) = (pattern.default_block(), NonZeroU16::MIN);
            (pattern, workload(pattern, block, SIZE, one, setting.depth))
        };
        let cases = PATTERNS.map(case);
        // Opened as `check` opens it.
        let target = DirectoryTarget { path: directory.path().to_owned() };
        let options = OpenOptions { engine: setting.engine, ..OpenOptions::default() };
        let share = plimsoll_load::open(&Target::Directory(target), &options)?;
        let mut trials = Trials::open(share, &cases.each_ref().map(|case| case.1.clone()))?;
        for (pattern, case) in &cases {
            let name = format!("{pattern} {}, {}", pattern.default_block(), setting.name);
            if !name.contains(&wanted) {
                continue;
            }
            // The figures of the first trial are thrown away.
            trials.run(case, seconds)?;
            let files = files(directory.path(), *pattern)?;
            let peer = peer::Peer::new("fio".as_ref(), setting.fio_engine).with("direct", 1).with(
                "filename",
                files.iter().map(|file| peer::escaped(file)).collect::<Vec<_>>().join(":"),
            );
            let fio = || peer.run(case, WARM_UP * seconds, (1.0 - WARM_UP) * seconds);
            let mut table = Vec::new();
            for number in 0..rounds {
                let ours = || Ok(Figures::of(&trials.run(case, seconds)?)?);
                table.push(Round::run(number, ours, fio)?);
            }
            ratios::print(&name, &table);
        }
    }
    Ok(())
}

/// The files that trials of a pattern work on, in the run's directory.
fn files(directory: &Path, pattern: Pattern) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let run = std::fs::read_dir(directory)?.next().ok_or("the run has made no directory")??;
    let name = if pattern.writes() { write_file_name } else { read_file_name };
    Ok((0..PatternJob::FILES).map(|number| run.path().join(name(number))).collect())
}

fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let usual = || if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    std::env::var_os("PLIMSOLL_BENCH_DIRECTORY").map_or_else(usual, PathBuf::from)
}
