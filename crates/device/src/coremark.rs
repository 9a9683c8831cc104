//! CoreMark: what EEMBC's program prints, read strictly, and the port that is part of plimsoll.

use coremark::types::{LIST_KNOWN_CRC, MATRIX_KNOWN_CRC, STATE_KNOWN_CRC};
use nix::time::{ClockId, clock_gettime};
use plimsoll_model::device::{CoreMark, CoreMarkKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A run must last so long to count (CoreMark's run rules).
const LEAST_SECONDS: f64 = 10.0;
/// Version of the `coremark` crate, as Cargo.lock has it.
const PORT_VERSION: &str = "1.0.0";
/// Index of the performance run with 2 KiB of data among the known results: the one that counts.
const PERFORMANCE_RUN: usize = 3;

/// What one process of CoreMark printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Iterations per second, of all its threads.
    pub iterations_per_second: f64,
    /// How long it ran.
    pub seconds: f64,
    /// Threads.
    pub threads: u64,
    /// The compiler, as it tells.
    pub compiler: String,
    /// The compiler's flags, as it tells.
    pub flags: String,
    /// What it took from its start to its end, in nanoseconds: time, and time on a core.
    pub spent: Option<(u64, u64)>,
}

/// Reads what CoreMark 1.0 printed. Only a validated performance run of at least 10 s counts; why
/// another one does not is reported.
pub fn parse(text: &str) -> Result<Report, String> {
    let field = |name: &str| {
        let mut values = text.lines().filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim())
        });
        let value = values.next().ok_or_else(|| format!("the output has no line '{name}'"))?;
        match values.next() {
            None => Ok(value),
            Some(_) => Err(format!("the output has two lines '{name}'")),
        }
    };
    let number = |name: &str| {
        let number = field(name)?.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| format!("'{name}' in the output is not a positive number"))
    };
    let rate = number("Iterations/Sec")?;
    let seconds = number("Total time (secs)")?;
    let iterations = number("Iterations")?;
    if seconds < LEAST_SECONDS {
        return Err(format!("it ran for {seconds:.1} s; a valid run takes at least 10 s"));
    }
    if !text.contains("2K performance run parameters for coremark.") {
        return Err("it is not a performance run with 2 KiB of data".to_owned());
    }
    let wrong = |line: &&str| line.contains("ERROR!") || line.contains("Errors detected");
    if let Some(line) = text.lines().find(wrong) {
        return Err(format!("it reported: {}", line.trim().chars().take(200).collect::<String>()));
    }
    if !text.lines().any(|line| line.starts_with("Correct operation validated")) {
        return Err("the output lacks 'Correct operation validated'".to_owned());
    }
    if !(0.98..1.02).contains(&(iterations / seconds / rate)) {
        return Err("its rate does not match its iterations and seconds".to_owned());
    }
    let parallel = text.lines().find_map(|line| line.strip_prefix("Parallel ")?.split_once(':'));
    let threads = match parallel {
        None => 1,
        Some((_, count)) => count
            .trim()
            .parse()
            .ok()
            .filter(|n| (1..=4096).contains(n))
            .ok_or("its number of threads is invalid")?,
    };
    Ok(Report {
        iterations_per_second: rate,
        seconds,
        threads,
        compiler: short(field("Compiler version")?),
        flags: short(field("Compiler flags")?),
        spent: None,
    })
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The reports of several processes that ran at once, as one figure; `None` where there is none.
pub fn together(reports: &[Report], command: &str) -> Option<CoreMark> {
    let first = reports.first()?;
    // Each of its threads has a core to itself, or would like to.
    let spent = reports.iter().map(|report| report.spent).reduce(|a, b| {
        let (a, b) = (a?, b?);
        Some((a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
    });
    let spent = spent.flatten();
    Some(CoreMark {
        kind: CoreMarkKind::Program { command: command.to_owned() },
        iterations_per_second: reports.iter().map(|r| r.iterations_per_second).sum(),
        processes_count: reports.len() as u64,
        threads_count: first.threads,
        seconds: reports.iter().map(|r| r.seconds).fold(f64::INFINITY, f64::min),
        compiler: first.compiler.clone(),
        flags: first.flags.clone(),
        elapsed_ns: spent.map(|(elapsed, _)| elapsed.saturating_mul(first.threads)),
        cpu_ns: spent.map(|(_, cpu)| cpu),
    })
}

/// Runs the port on as many threads as given, each for `duration`. `None` where the user wanted an
/// end, an error where a result was wrong.
pub(super) fn port(
    threads: u64,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<Option<CoreMark>, String> {
    let ran = std::thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| port_thread(duration, stop))).collect();
        let ended = started.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err("one of its threads panicked".to_owned()))
        });
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(CoreMark {
        kind: CoreMarkKind::Port { version: PORT_VERSION.to_owned() },
        iterations_per_second: ran.iter().map(|thread| thread.rate).sum(),
        processes_count: 1,
        threads_count: threads,
        seconds: ran.iter().map(|t| t.elapsed.as_secs_f64()).fold(f64::INFINITY, f64::min),
        compiler: coremark::COMPILER_VERSION.to_owned(),
        flags: coremark::COMPILER_FLAGS.to_owned(),
        elapsed_ns: Some(ran.iter().map(|thread| thread.elapsed.as_nanos() as u64).sum()),
        cpu_ns: ran.iter().map(|thread| Some(thread.cpu?.as_nanos() as u64)).sum(),
    }))
}

/// What one thread did.
struct Thread {
    /// Iterations per second.
    rate: f64,
    elapsed: Duration,
    /// Time on a core.
    cpu: Option<Duration>,
}

/// Time that this thread had a core.
fn cpu_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Runs the port on this thread. It goes on in short runs of the same data, so that it can be
/// stopped.
fn port_thread(duration: Duration, stop: &AtomicBool) -> Result<Thread, String> {
    let (mut iterations, mut run) = (0_u64, 10_u32);
    let (mut begin, mut cpu_begin) = (Instant::now(), cpu_time());
    loop {
        let started = Instant::now();
        let results = coremark::run(&coremark::Config { iterations: run, ..Default::default() });
        let right = results.known_id == PERFORMANCE_RUN as i32
            && results.crclist == LIST_KNOWN_CRC[PERFORMANCE_RUN]
            && results.crcmatrix == MATRIX_KNOWN_CRC[PERFORMANCE_RUN]
            && results.crcstate == STATE_KNOWN_CRC[PERFORMANCE_RUN];
        if !right {
            return Err("it computed a wrong result".to_owned());
        }
        if started.elapsed() < Duration::from_millis(50) && iterations == 0 {
            // Still finding how many iterations a short run has.
            run = run.saturating_mul(2);
            (begin, cpu_begin) = (Instant::now(), cpu_time());
            continue;
        }
        iterations += u64::from(run);
        let elapsed = begin.elapsed();
        if elapsed >= duration || stop.load(Ordering::Relaxed) {
            let cpu = cpu_time().zip(cpu_begin).map(|(now, begin)| now.saturating_sub(begin));
            return Ok(Thread { rate: iterations as f64 / elapsed.as_secs_f64(), elapsed, cpu });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As EEMBC's program prints it.
    const PRINTED: &str = "2K performance run parameters for coremark.
CoreMark Size    : 666
Total ticks      : 12585
Total time (secs): 12.585000
Iterations/Sec   : 23837.902265
Iterations       : 300000
Compiler version : GCC12.2.0
Compiler flags   : -O2 -DPERFORMANCE_RUN=1  -lrt
Memory location  : Please put data memory location here
\t\t\t(e.g. code in flash, data on heap etc)
seedcrc          : 0xe9f5
[0]crclist       : 0xe714
[0]crcmatrix     : 0x1fd7
[0]crcstate      : 0x8e3a
[0]crcfinal      : 0xcc42
Correct operation validated. See README.md for run and reporting rules.
CoreMark 1.0 : 23837.902265 / GCC12.2.0 -O2 -DPERFORMANCE_RUN=1  -lrt / Heap
";

    #[test]
    fn a_valid_run_is_read() {
        let report = parse(PRINTED).unwrap();
        assert_eq!(
            report,
            Report {
                iterations_per_second: 23837.902265,
                seconds: 12.585,
                threads: 1,
                compiler: "GCC12.2.0".to_owned(),
                flags: "-O2 -DPERFORMANCE_RUN=1  -lrt".to_owned(),
                spent: None,
            }
        );
        let threads = PRINTED.replace("Memory loc", "Parallel PThreads : 4\nMemory loc");
        assert_eq!(parse(&threads).unwrap().threads, 4);
        let spent = |elapsed| Some((elapsed, elapsed / 2));
        let pair = [Report { spent: spent(100), ..report.clone() }];
        let pair = [&pair[..], &[Report { seconds: 11.0, spent: spent(60), ..report.clone() }]];
        let sum = together(&pair.concat(), "coremark").unwrap();
        assert_eq!((sum.elapsed_ns, sum.cpu_ns), (Some(160), Some(80)));
        let unknown = together(&[pair[0], &[report]].concat(), "coremark").unwrap();
        assert_eq!((unknown.elapsed_ns, unknown.cpu_ns), (None, None));
        assert_eq!((sum.processes_count, sum.seconds), (2, 11.0));
        assert_eq!(sum.iterations_per_second, 2.0 * 23837.902265);
        assert_eq!(together(&[], "coremark"), None);
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let with = |from: &str, to: &str| parse(&PRINTED.replace(from, to)).unwrap_err();
        for (from, to, expected) in [
            ("Correct operation validated", "", "the output lacks 'Correct operation validated'"),
            ("Iterations/Sec   : 23837.902265\n", "", "the output has no line 'Iterations/Sec'"),
            (
                ": 23837.902265\n",
                ": NaN\n",
                "'Iterations/Sec' in the output is not a positive \
            number",
            ),
            (
                ": 23837.902265\n",
                ": 1e999\n",
                "'Iterations/Sec' in the output is not a positive \
            number",
            ),
            (
                ": 23837.902265\n",
                ": -1\n",
                "'Iterations/Sec' in the output is not a positive \
            number",
            ),
            (
                ": 23837.902265\n",
                ": 9999999\n",
                "its rate does not match its iterations and \
            seconds",
            ),
            (": 12.585000", ": 1.2585", "it ran for 1.3 s; a valid run takes at least 10 s"),
            ("2K perf", "6k perf", "it is not a performance run with 2 KiB of data"),
            ("seedcrc", "[0]ERROR! list crc\nseedcrc", "it reported: [0]ERROR! list crc"),
            ("seedcrc", "Iterations : 1\nseedcrc", "the output has two lines 'Iterations'"),
            ("seedcrc", "Parallel Fork : 0\nseedcrc", "its number of threads is invalid"),
        ] {
            assert_eq!(with(from, to), expected);
        }
        assert!(parse("").is_err());
    }

    #[test]
    fn the_port_runs_and_can_be_stopped() {
        let stop = AtomicBool::new(false);
        let mark = port(2, Duration::from_millis(200), &stop).unwrap().unwrap();
        assert!(mark.iterations_per_second > 1.0 && mark.seconds >= 0.2, "{mark:?}");
        assert_eq!((mark.cores(), mark.name()), (2, "Rust port of CoreMark"));
        let (elapsed, cpu) = (mark.elapsed_ns.unwrap(), mark.cpu_ns.unwrap());
        assert!(elapsed >= 400_000_000 && cpu > 0, "{mark:?}");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(port(1, Duration::from_secs(3600), &stop), Ok(None));
    }

    #[test]
    fn the_version_of_the_port_is_that_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        let named = format!("name = \"coremark\"\nversion = \"{PORT_VERSION}\"\n");
        assert!(lock.contains(&named));
    }

    proptest! {
        #[test]
        fn any_text_is_no_panic(text in "\\PC{0,80}", at in 0..PRINTED.len(), length in 0..200_usize) {
            let _ = parse(&text);
            let end = (at + length).min(PRINTED.len());
            if PRINTED.is_char_boundary(at) && PRINTED.is_char_boundary(end) {
                let broken = format!("{}{text}{}", &PRINTED[..at], &PRINTED[end..]);
                if let Ok(report) = parse(&broken) {
                    prop_assert!(report.iterations_per_second > 0.0 && report.seconds >= 10.0);
                }
            }
        }
    }
}
