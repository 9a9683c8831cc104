//! The probe's calls, sampled by perf: what a kernel without the function_graph tracer tells.
//!
//! A timer of the probe's own CPU time takes a sample of the active functions at a fixed period. The share of the
//! samples in a function is thus its share of the CPU time. A call may be shorter than the period.

use super::capture::Setup;
use super::entry::{Entry, of_system_call, plain};
use super::figures::{INTERRUPTS, median};
use super::host::TraceHost;
use plimsoll_model::kernel_samples::SampleJob;
use plimsoll_model::kernel_trace::{TraceJob, TracedOperation, block_kind};
use plimsoll_model::{Cause, Failure, Metric, PartResult};
use plimsoll_reach::printed::last_line;
use plimsoll_reach::quote;
use plimsoll_trace::{Blocks, FIELDS, SampleCounts, Sampled, count_samples, parse_samples};
use std::time::Duration;

/// CPU time between two samples. Kernels take none more often than every 10 µs.
const PERIOD_NS: u64 = 20_000;
/// Samples that a measurement should have: then an interval of 95% is at most 5 percentage points wide.
const WANTED: f64 = 2000.0;
/// Calls without samples, for their time.
const UNTRACED_CALLS: u32 = 50;
const LIMIT: Duration = Duration::from_secs(60);
/// Exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// A command that samples another one, which follows it.
fn record(file: &str) -> String {
    format!(
        "perf record --quiet --no-buildid -e cpu-clock:k -c {PERIOD_NS} -g -o {} --",
        quote(file)
    )
}

fn file(directory: &str) -> String {
    format!("{directory}/samples")
}

/// Fails where perf cannot sample the kernel.
pub(super) fn expect_perf(host: &TraceHost) -> Result<(), Failure> {
    let file = file(host.probe.directory());
    let text = format!(
        "LC_ALL=C; export LC_ALL; {} true; status=$?; rm -f {}; exit $status",
        record(&file),
        quote(&file)
    );
    let output = host.reach.run(&text, b"", LIMIT)?;
    let failed = |happened: String, next: &str| {
        let failure = Failure::new(Cause::NotPermitted, "sample the kernel");
        Err(failure.on(&host.name).happened(happened).next(next))
    };
    let said = last_line(&output.errors).unwrap_or_else(|| "no message".to_owned());
    match output.status {
        Some(0) => Ok(()),
        Some(NOT_FOUND) => {
            failed("perf is not installed".into(), "Install it, in Debian: apt install linux-perf")
        }
        _ => failed(format!("perf record failed: {said}"), "Run 'perf record true' on the host."),
    }
}

impl Setup<'_> {
    /// Samples the calls.
    pub fn sampled(&self, blocks: &Blocks) -> Result<PartResult, Failure> {
        let untraced = self.with_calls(UNTRACED_CALLS).untraced()?;
        let untraced = median(&untraced.operation).unwrap_or_default();
        let sampled = self.with_calls(calls(untraced, self.job.calls));
        let file = file(self.probe.directory());
        sampled.times(|request, section| {
            self.probe.run_by(&record(&file), request, section, self.stop).map(drop)
        })?;
        let command = format!(
            "LC_ALL=C perf script --fields {FIELDS} -i {file} 2>&1; rm -f {file}",
            file = quote(&file)
        );
        // What is cut is the last sample.
        let (text, _) = self.output(&command)?;
        let found = parse_samples(&text);
        if found.samples.is_empty() {
            let said = last_line(&text).map_or_else(String::new, |line| format!(": {line}"));
            let happened = format!("perf has no sample of {} calls{said}", sampled.job.calls);
            return Err(self.failed(happened, "Check on the host that 'perf script' works."));
        }
        let own = found.samples.iter().filter(|sample| is_of(sample, self.job.operation));
        let counts = count_samples(own, blocks);
        if counts.all == 0 {
            let name = self.job.operation.name();
            let happened = format!("none of the {} samples is in {name}", found.samples.len());
            let next = "Check that root sees kernel symbols and perf call chains: sysctl kernel.kptr_restrict must not \
                be 2.";
            return Err(self.failed(happened, next));
        }
        Ok(result(&counts, untraced))
    }
}

/// As many calls as should give the samples that are wanted, within bounds.
fn calls(untraced_ns: f64, most: u32) -> u32 {
    let wanted = WANTED * PERIOD_NS as f64 / untraced_ns.max(1.0);
    // A conversion of what is too large gives the largest number.
    (wanted.ceil() as u32).clamp(UNTRACED_CALLS.min(most), most)
}

/// Whether a sample was taken in the operation, and not in an interrupt in its time.
fn is_of(sample: &Sampled, operation: TracedOperation) -> bool {
    let Entry::Call(call) = Entry::for_operation(operation) else { return false };
    let begins = of_system_call(call.name);
    let begin = sample.iter().rposition(|name| begins.iter().any(|begin| begin == plain(name)));
    let is_interrupt = |name: &String| INTERRUPTS.iter().any(|begin| name.starts_with(begin));
    begin.is_some_and(|place| !sample[..place].iter().any(is_interrupt))
}

fn result(counts: &SampleCounts, untraced_ns: f64) -> PartResult {
    let mut result = PartResult::default();
    let quantities = &mut result.quantities;
    quantities.insert(Metric::all(SampleJob::SAMPLES), counts.all as f64);
    if untraced_ns > 0.0 {
        quantities.insert(Metric::all(TraceJob::UNTRACED), untraced_ns / 1e9);
    }
    for (name, count) in &counts.blocks {
        if let Some(kind) = block_kind(name) {
            *quantities.entry(Metric::for_kind(kind, SampleJob::SAMPLES)).or_default() +=
                *count as f64;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(names: &[&str]) -> Sampled {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn samples_of_the_operation_are_told_from_others() {
        let send =
            ["nft_do_chain", "nf_hook_slow", "__sys_sendto", "__x64_sys_sendto", "do_syscall_64"];
        for (names, is_own) in [
            (&send[..], true),
            (&["__x64_sys_sendto"][..], true),
            (&["udp_sendmsg", "SyS_sendto"][..], true),
            (&["udp_sendmsg", "__x64_sys_sendto.part.0"][..], true),
            (&["hrtimer_nanosleep", "__x64_sys_clock_nanosleep"][..], false),
            (&["__x64_sys_sendto_other"][..], false),
            (&["udp_rcv", "__do_softirq", "ip_output", "__x64_sys_sendto"][..], false),
            // Only what the call runs counts.
            (&["udp_sendmsg", "__x64_sys_sendto", "do_softirq"][..], true),
        ] {
            assert_eq!(is_of(&sample(names), TracedOperation::Sendto), is_own, "{names:?}");
        }
        assert!(!is_of(&sample(&send), TracedOperation::Read));
        assert!(!is_of(&sample(&["net_rx_action"]), TracedOperation::Forward));
    }

    #[test]
    fn slow_calls_are_made_less_often() {
        assert_eq!(calls(7_000.0, 900), 900);
        assert_eq!(calls(100_000.0, 900), 400);
        assert_eq!(calls(5e6, 900), UNTRACED_CALLS);
        assert_eq!((calls(0.0, 900), calls(f64::NAN, 900), calls(5e6, 9)), (900, 900, 9));
    }

    #[test]
    fn counts_are_figures() {
        let blocks = [("netfilter", 30), ("locks and RCU", 12)];
        let blocks = blocks.map(|(name, count)| (name.to_owned(), count)).into();
        let found = result(&SampleCounts { blocks, all: 45 }, 7_000.0);
        let figure = |metric| found.quantities.get(&metric).copied();
        let samples =
            |name| figure(Metric::for_kind(block_kind(name).unwrap(), SampleJob::SAMPLES));
        assert_eq!(
            (samples("netfilter"), samples("locks and RCU"), samples("IP")),
            (Some(30.0), Some(12.0), None)
        );
        assert_eq!(figure(Metric::all(SampleJob::SAMPLES)), Some(45.0));
        assert_eq!(figure(Metric::all(TraceJob::UNTRACED)), Some(7e-6));
    }

    #[test]
    fn the_file_is_one_word() {
        assert!(record("/dev/shm/a b/samples").ends_with("-o '/dev/shm/a b/samples' --"));
    }
}
