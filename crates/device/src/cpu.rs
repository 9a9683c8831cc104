//! What the processor does: the probe's rounds, and CoreMark.

use super::bench::Bench;
use super::clean::{Odd, clean};
use super::coremark::{self, Report};
use super::inventory::Fields;
use super::tool;
use plimsoll_model::device::{AllRounds, CoreMark, CoreRounds, CpuFigures};
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_reach::probe::Request;
use plimsoll_reach::quote;
use std::collections::BTreeMap;
use std::time::Duration;

/// Most cores whose figures are kept.
const MOST_CORES: usize = 4096;
/// Most processes of CoreMark at once.
const MOST_PROCESSES: u64 = 64;
/// A run of CoreMark takes 10 to 30 s, on a router as on a server.
const COREMARK_LIMIT: Duration = Duration::from_secs(180);

/// Measures the processor into `cpu`, and returns it even where something failed.
pub(super) fn measure(bench: &mut Bench<'_>, program: Option<&str>, odd: &mut Odd) -> CpuFigures {
    let mut cpu = CpuFigures::default();
    let duration_ms = if bench.quick { 250 } else { 1000 };
    let request = Request::new("cpu").set("duration_ms", duration_ms);
    bench.say("integer rounds on each core");
    bench.verb(request, &mut |section| take(&mut cpu, section, odd));
    if wrong(&cpu) > 0 {
        bench.failed(
            Failure::new(Cause::Trial, "check the results of the integer rounds")
                .on(bench.host)
                .happened(format!("{} results were wrong", wrong(&cpu)))
                .next(
                    "The processor or its memory is faulty: check cooling, clock and power supply.",
                ),
        );
    }
    let cores = cores(&cpu);
    if !bench.stopped() {
        coremark(bench, program, cores, &mut cpu);
    }
    cpu
}

/// Reads a section of the verb `cpu`.
pub fn take(cpu: &mut CpuFigures, section: serde_json::Value, odd: &mut Odd) {
    let fields = Fields(clean(section, odd));
    match fields.text("section").as_deref() {
        Some("cpu") => {
            cpu.workload_version_number =
                fields.all().and_then(|f: CpuFigures| f.workload_version_number);
        }
        Some("cpu_core") if cpu.cores.len() < MOST_CORES => {
            cpu.cores.extend(fields.all::<CoreRounds>());
        }
        Some("cpu_all") => cpu.all = fields.all::<AllRounds>(),
        _ => {}
    }
}

fn wrong(cpu: &CpuFigures) -> u64 {
    let cores = cpu.cores.iter().filter_map(|core| core.wrong_rounds_count);
    let all = cpu.all.iter().filter_map(|all| all.wrong_rounds_count);
    cores.chain(all).fold(0, u64::saturating_add)
}

fn cores(cpu: &CpuFigures) -> Option<u64> {
    let all = cpu.all.as_ref().and_then(|all| all.processes_count);
    all.or(Some(cpu.cores.len() as u64)).filter(|cores| *cores > 0)
}

/// EEMBC's program where the host has it; on this machine else the port.
fn coremark(bench: &mut Bench<'_>, given: Option<&str>, cores: Option<u64>, cpu: &mut CpuFigures) {
    let path = match given {
        Some(path) => Some(path.to_owned()),
        None => match tool::found(bench.reach, &["coremark"]) {
            Ok(found) => tool::path(&found, "coremark").map(str::to_owned),
            Err(failure) => return bench.failed(failure),
        },
    };
    match path {
        Some(path) => {
            let cores = cores.or_else(|| processors(bench)).unwrap_or(1);
            if let Err(failure) = program(bench, &path, cores, cpu) {
                bench.failed(failure);
            }
        }
        None if *bench.host == HostName::Local => {
            let here = || std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
            port(bench, cores.unwrap_or_else(here), cpu);
        }
        None => bench.note(
            "CoreMark is not in the PATH of the host; name the program with --coremark PATH."
                .to_owned(),
        ),
    }
}

/// Processors by /proc/cpuinfo, for hosts without a probe.
fn processors(bench: &Bench<'_>) -> Option<u64> {
    let count = bench.reach.run("grep -c '^processor' /proc/cpuinfo", &[], tool::SMALL).ok()?;
    let count = String::from_utf8_lossy(&count.output).trim().parse().ok();
    count.filter(|n| (1..=MOST_PROCESSES).contains(n))
}

/// One process, then as many as there are cores, unless it has threads of its own.
fn program(
    bench: &mut Bench<'_>,
    path: &str,
    cores: u64,
    cpu: &mut CpuFigures,
) -> Result<(), Failure> {
    let broken = |why: String| {
        let next = "Install another build of CoreMark, or rely on the integer rounds of the probe.";
        Failure::new(Cause::Trial, "measure with CoreMark").on(path).happened(why).next(next)
    };
    bench.say("CoreMark on one core");
    let command = tool::program(&quote(path));
    let Some(ran) = tool::run(bench.reach, &command, COREMARK_LIMIT, bench.stop)? else {
        return Ok(());
    };
    let report = match coremark::parse(&ran.output) {
        Ok(report) => {
            let spent = ran.spent.map(|spent| (spent.elapsed_ns, spent.cpu_ns));
            Report { spent, ..report }
        }
        Err(_) if ran.status != Some(0) => return Err(broken(ran.complaint())),
        Err(why) => return Err(broken(why)),
    };
    let threads = report.threads;
    cpu.coremark.extend(coremark::together(&[report], path));
    if cores < 2 || threads > 1 || bench.quick {
        return Ok(());
    }
    let processes = cores.min(MOST_PROCESSES);
    bench.say(&format!("CoreMark on {processes} cores"));
    let command = tool::programs(path, processes);
    let Some(ran) = tool::run(bench.reach, &command, COREMARK_LIMIT, bench.stop)? else {
        return Ok(());
    };
    let reports = separate(&ran.output).map(|mut text| {
        let spent = tool::Spent::take(&mut text);
        let spent = spent.map(|spent| (spent.elapsed_ns, spent.cpu_ns));
        Ok(Report { spent, ..coremark::parse(&text)? })
    });
    let reports = reports.collect::<Result<Vec<Report>, _>>().map_err(broken)?;
    if reports.len() as u64 != processes {
        return Err(broken(format!("{} of {processes} processes printed a result", reports.len())));
    }
    cpu.coremark.extend(coremark::together(&reports, path));
    Ok(())
}

/// What each of several processes printed, by the number before each line.
fn separate(output: &str) -> impl Iterator<Item = String> {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    for line in output.lines() {
        let numbered = line.split_once('|').and_then(|(n, rest)| Some((n.parse().ok()?, rest)));
        if let Some((number, rest)) = numbered.filter(|(n, _)| *n < MOST_PROCESSES) {
            let text = texts.entry(number).or_default();
            text.push_str(rest);
            text.push('\n');
        }
    }
    texts.into_values()
}

fn port(bench: &mut Bench<'_>, cores: u64, cpu: &mut CpuFigures) {
    let duration = Duration::from_secs(if bench.quick { 1 } else { 10 });
    let counts: &[u64] = if cores > 1 { &[1, cores] } else { &[1] };
    for count in counts {
        bench.say(&format!("the Rust port of CoreMark on {count} core(s)"));
        match coremark::port(*count, duration, bench.stop) {
            Ok(Some(mark)) => cpu.coremark.push(mark),
            Ok(None) => return,
            Err(why) => {
                let next = "The processor or its memory is faulty: check cooling and clock.";
                let tried = "measure with the port of CoreMark";
                bench
                    .failed(Failure::new(Cause::Trial, tried).on("local").happened(why).next(next));
                return;
            }
        }
    }
    if cpu.coremark.iter().any(is_unoptimised) {
        bench.note("The port of CoreMark was built without optimisation, for tests.".to_owned());
    }
}

fn is_unoptimised(mark: &CoreMark) -> bool {
    mark.flags.contains("profile=debug")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_of_several_processes_are_distinguished() {
        let texts: Vec<String> = separate("1|a\n0|b\nnoise\n1|c|d\n99|x\n-1|y\n").collect();
        assert_eq!(texts, ["b\n", "a\nc|d\n"]);
    }
}
