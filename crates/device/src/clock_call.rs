//! Clocks of hosts: the probe calls clock_gettime on every core of a host.

use crate::host::Host;
use plimsoll_model::clock_call::{ClockFacts, ClockJob};
use plimsoll_model::{Cause, Failure, HostName, Measure, Metric, PartResult};
use plimsoll_reach::printed::printable;
use plimsoll_reach::probe::Request;
use plimsoll_watch::proc_files::parse_cpu_model;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Prints the clock source in the first line, then what the kernel says of the CPU.
const FACTS: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || echo; \
                     head -c 16384 /proc/cpuinfo";
const FACTS_LIMIT: Duration = Duration::from_secs(10);
/// Longest name of a clock source.
const LONGEST_SOURCE: usize = 32;
/// Most cores whose figures are taken, as many as the probe reports.
const MOST_CORES: usize = 256;
/// Longest believable call: one second, in picoseconds.
const LONGEST_CALL_PS: u64 = 1_000_000_000_000;

/// Calls a clock for so many seconds, on all cores together.
pub(super) fn measure(
    host: &Host<'_>,
    job: ClockJob,
    seconds: f64,
    stop: &AtomicBool,
) -> Result<PartResult, Failure> {
    let milliseconds = (1e3 * seconds).clamp(1.0, 60_000.0) as u64;
    let request =
        Request::new("clock_call").set("clock", job.clock.name()).set("duration_ms", milliseconds);
    let mut cores = Vec::new();
    host.verbs()?.run(&request, &mut |section| cores.extend(Core::read(&section)), stop)?;
    cores.truncate(MOST_CORES);
    match cores.is_empty() {
        true => Err(Failure::new(Cause::Trial, "measure a clock")
            .on(&host.name)
            .happened("the probe reported no core")
            .next("Try again with a longer --time.")),
        false => Ok(result(&cores)),
    }
}

/// Reads the facts of the clocks of a host.
pub(super) fn read_facts(host: &Host<'_>) -> Result<ClockFacts, Failure> {
    let output = host.reach.run(FACTS, b"", FACTS_LIMIT)?;
    Ok(facts(&host.name, &output.output))
}

/// What one core did.
struct Core {
    calls: f64,
    call_seconds: f64,
    system_calls: f64,
    system_call_seconds: f64,
}

impl Core {
    /// The figures of a section; `None` of another section, or of one that cannot be true.
    fn read(section: &Value) -> Option<Core> {
        if section.get("section")?.as_str()? != "clock_core" {
            return None;
        }
        let count = |key| section.get(key)?.as_u64().filter(|count| *count > 0);
        let seconds =
            |key| count(key).filter(|ps| *ps <= LONGEST_CALL_PS).map(|ps| ps as f64 / 1e12);
        Some(Core {
            calls: count("calls_count")? as f64,
            call_seconds: seconds("call_ps")?,
            system_calls: count("system_calls_count")? as f64,
            system_call_seconds: seconds("system_call_ps")?,
        })
    }
}

/// The figures of all cores together, by the rule of each measure.
fn result(cores: &[Core]) -> PartResult {
    let mut result = PartResult::default();
    let mut put = |measure: Measure, figure: fn(&Core) -> (f64, f64)| {
        let combine = measure.info().map(|info| info.combine).unwrap_or_default();
        if let Some(value) = combine.apply(cores.iter().map(figure)) {
            result.quantities.insert(Metric::all(measure), value);
        }
    };
    put(ClockJob::CALL, |core| (core.call_seconds, core.calls));
    put(ClockJob::SYSTEM_CALL, |core| (core.system_call_seconds, core.system_calls));
    result
}

/// The facts of a host in the output of [`FACTS`], which is untrusted.
fn facts(given: &HostName, output: &[u8]) -> ClockFacts {
    let text = String::from_utf8_lossy(output);
    let (source, cpu) = text.split_once('\n').unwrap_or((&text, ""));
    let source: String = printable(source.trim()).chars().take(LONGEST_SOURCE).collect();
    let given = given.to_string();
    ClockFacts {
        label: given.clone(),
        given,
        source: Some(source).filter(|source| !source.is_empty()),
        cpu: parse_cpu_model(cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn core(number: u64, calls: u64, call_ps: u64) -> Value {
        json!({"section": "clock_core", "core_number": number, "calls_count": calls, "call_ps": call_ps,
               "system_calls_count": 10, "system_call_ps": 200_000})
    }

    #[test]
    fn a_figure_is_that_of_all_calls_on_all_cores() {
        let cores: Vec<Core> =
            [core(0, 3000, 20_000), core(1, 1000, 60_000)].iter().filter_map(Core::read).collect();
        let result = result(&cores);
        let figure = |measure| result.quantities[&Metric::all(measure)];
        assert!((figure(ClockJob::CALL) - 30e-9).abs() < 1e-15, "{result:?}");
        assert!((figure(ClockJob::SYSTEM_CALL) - 200e-9).abs() < 1e-15, "{result:?}");
    }

    #[test]
    fn sections_that_cannot_be_true_are_left_out() {
        for odd in [
            json!({}),
            json!({"section": "cpu_core"}),
            json!({"section": "clock_core", "calls_count": 1}),
            core(0, 0, 20_000),
            core(0, 1, LONGEST_CALL_PS + 1),
            json!({"section": "clock_core", "calls_count": -1, "call_ps": "x",
                   "system_calls_count": 1, "system_call_ps": 1}),
        ] {
            assert!(Core::read(&odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn facts_are_bounded_and_printable() {
        let host = HostName::Local;
        let known = facts(&host, b"tsc\nprocessor : 0\nmodel name : Some CPU\n");
        assert_eq!(known.source.as_deref(), Some("tsc"));
        assert_eq!(known.cpu.as_deref(), Some("Some CPU"));
        let none = facts(&host, b"\n");
        assert_eq!((none.source, none.cpu), (None, None));
        let odd = facts(&host, &[b"\x1b[2J".as_slice(), &[b'x'; 500]].concat());
        let source = odd.source.unwrap();
        assert!(source.chars().count() <= LONGEST_SOURCE && !source.contains('\x1b'), "{source}");
    }
}
