//! An NFS target beside fio with its NFS engine (libnfs) on the same NFS-Ganesha, in rounds of one trial of
//! plimsoll's and two runs of fio's in changing order: client CPU and throughput, with fio's second run against
//! its first as what equal programs differ by. One worker and connection each, the same block, depth and time.
//! Nothing is asserted.
//!
//! `PLIMSOLL_FIO_NFS` is the fio: distributions build theirs without the engine. From its sources, with the
//! headers of libnfs (version 4; reads crash with the newest):
//!
//!     ./configure --disable-native && make && ./fio --enghelp | grep nfs
//!
//! `PLIMSOLL_BENCH_SECONDS` is the length of a run (2), `PLIMSOLL_BENCH_ROUNDS` their number (12), and an
//! argument narrows the cases to those whose name contains it.

#[allow(dead_code, reason = "there is one file here, of a plain name")]
#[path = "support/fio.rs"]
mod peer;
#[allow(dead_code, reason = "latencies are compared where fio's begin where ours do")]
#[path = "support/ratios.rs"]
mod ratios;
#[path = "support/trials.rs"]
mod trials;

use plimsoll_load::OpenOptions;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{Pattern, Target};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, Stage};
use ratios::{Figures, Goal, Round};
use std::error::Error;
use std::num::NonZeroU16;
use trials::{Trials, workload};

const SIZE: Bytes = Bytes(256 * MIB);
const VARIABLE: &str = "PLIMSOLL_FIO_NFS";

/// What is compared, and how far plimsoll is to be from fio.
struct Case {
    pattern: Pattern,
    depth: u16,
    goal: Goal,
}

const CASES: [Case; 3] = [
    Case { pattern: Pattern::RandomRead, depth: 32, goal: Goal { cpu: 0.35, throughput: 1.1 } },
    Case { pattern: Pattern::SequentialRead, depth: 4, goal: Goal { cpu: 0.45, throughput: 1.0 } },
    Case { pattern: Pattern::SequentialWrite, depth: 4, goal: Goal { cpu: 0.4, throughput: 1.0 } },
];

fn main() -> Result<(), Box<dyn Error>> {
    let Some(program) = std::env::var_os(VARIABLE) else {
        println!("NFS beside fio: not compared, {VARIABLE} names no fio with an NFS engine");
        return Ok(());
    };
    let version = peer::version(&program)
        .ok_or_else(|| format!("{VARIABLE}: {} cannot be run", program.display()))?;
    let seconds: f64 = peer::number("PLIMSOLL_BENCH_SECONDS", 2.0)?;
    let rounds = peer::number("PLIMSOLL_BENCH_ROUNDS", 12.0)? as usize;
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let Some(stage) = Stage::enter_or_skip(&[Need::Ganesha]) else { return Ok(()) };
    let ganesha = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data")))?;
    println!("NFSv3 on Ganesha beside {version}: {rounds} rounds of {seconds} s, one worker");
    for Case { pattern, depth, goal } in CASES {
        let name = format!("{pattern} {}, depth {depth}", pattern.default_block());
        if !name.contains(&wanted) {
            continue;
        }
        let depth = NonZeroU16::new(depth).ok_or("a depth of zero")?;
        let case = workload(pattern, pattern.default_block(), SIZE, NonZeroU16::MIN, depth);
        let target: Target = format!("{}&vers=3", ganesha.url_with_ports("data")).parse()?;
        let share = plimsoll_load::open(&target, &OpenOptions::default())?;
        let mut trials = Trials::open(share, std::slice::from_ref(&case))?;
        // Mounted at the directory of this name, which holds fio's own file.
        let url = ganesha.libnfs_url("data", "");
        let fio = peer::Peer::new(&program, "nfs")
            .with("nfs_url", url.replace("/?", "?"))
            .with("filename", "fio");
        fio.lay_out(SIZE)?;
        let run = || fio.run(&case, 0.0, seconds);
        // The figures of the first trial and run are thrown away.
        trials.run(&case, seconds)?;
        run()?;
        let mut table = Vec::new();
        for number in 0..rounds {
            let ours = || Ok(Figures::of(&trials.run(&case, seconds)?)?);
            table.push(Round::run(number, ours, run)?);
        }
        ratios::print_beside(&name, &table, goal);
    }
    Ok(())
}
