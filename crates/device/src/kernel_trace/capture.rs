//! The probe's calls on a host, timed without the tracer and traced.

use super::entry::Entry;
use super::figures::{Times, Traced, undisturbed};
use plimsoll_model::kernel_trace::{TraceJob, TracedOperation};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::{Placed, Request};
use plimsoll_reach::{Channel, Reach};
use plimsoll_settings::tracer;
use plimsoll_trace::Call;
use serde_json::Value;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Calls before those that count: the first ones resolve addresses and fill caches.
pub(super) const WARM_UP: usize = 2;
/// Calls beyond those that count: the first packets resolve addresses, a packet may share its softirq with another, and
/// a call may lack a line in the trace.
pub(super) const SPARE: u32 = 10;
/// Most bytes of a trace. 62 sends through 100 rules have about 2 MB.
const MOST_TRACE: usize = 32 << 20;
/// Number of a send in requests to the probe.
pub(super) const SEND: u8 = 0;
pub(super) const LIMIT: Duration = Duration::from_secs(300);
/// A call that took longer is not believable.
const LONGEST_CALL_NS: u64 = 60_000_000_000;
/// Line between the losses and the trace.
const CUT: &str = "plimsoll-trace";

/// What the calls of a job need.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub reach: &'a dyn Reach,
    pub probe: &'a Placed,
    pub job: TraceJob,
    /// Destination of datagrams.
    pub to: IpAddr,
    /// Directory of the file.
    pub directory: &'a str,
    pub stop: &'a AtomicBool,
}

impl Setup<'_> {
    pub(super) fn failed(&self, happened: impl std::fmt::Display, next: &str) -> Failure {
        let tried = format!("trace {}", self.job.operation.name());
        Failure::new(Cause::Trial, tried).on(self.reach.name()).happened(happened).next(next)
    }

    /// The same with another number of calls.
    pub(super) fn with_calls(&self, calls: u32) -> Self {
        Setup { job: TraceJob { calls, ..self.job }, ..*self }
    }

    /// The operation, or what the probe does where others make the kernel work: a send to nobody, for the null call
    /// after it.
    fn request(&self) -> Request {
        let TraceJob { operation, payload, calls } = self.job;
        let (number, payload) = match Entry::for_operation(operation) {
            Entry::Call(call) => (call.number, payload.0),
            Entry::Work(_) => (SEND, 1),
        };
        let request = Request::new("call")
            .set("call", number)
            .set("payload_bytes", payload)
            .set("calls_count", calls as usize + WARM_UP);
        match operation {
            TracedOperation::Sendto => request.set("peer", self.to),
            _ if operation.is_of_a_file() => {
                request.set("path", format!("{}/.plimsoll-trace", self.directory))
            }
            _ => request.set("peer", IpAddr::V4(Ipv4Addr::LOCALHOST)),
        }
    }

    /// The times of all calls but the first.
    pub(super) fn times(
        &self,
        run: impl FnOnce(&Request, &mut dyn FnMut(Value)) -> Result<(), Failure>,
    ) -> Result<Times, Failure> {
        let mut times = Times::default();
        run(&self.request(), &mut |section| {
            if let Some(read) = read_times(&section) {
                times = read;
            }
        })?;
        match times.operation.len() {
            0 => Err(self.failed("the probe reported no call", "Try again.")),
            _ => Ok(times),
        }
    }

    /// Times without the tracer.
    pub fn untraced(&self) -> Result<Times, Failure> {
        self.times(|request, section| self.probe.run(request, section, self.stop).map(drop))
    }

    /// Traces the calls, of which the kernel's functions are `operation` and `null`. The tracer is on, and records
    /// nothing yet. `Err` with the number of events if the buffer was too small for them.
    pub fn traced(&self, operation: &str, null: &str) -> Result<Result<Traced, u64>, Failure> {
        let enter = tracer::enter(&tracer::PLACES);
        let before = format!(
            "({enter}
            [ \"$(cat current_tracer)\" = function_graph ] || exit 1
            echo >trace; echo $$ >set_ftrace_pid && echo 1 >tracing_on)"
        );
        let more = self.with_calls(self.job.calls + SPARE);
        let times = more.times(|request, section| {
            self.probe.run_after(&before, request, section, self.stop).map(drop)
        })?;
        let Recorded { text, lost, is_cut } = self.recorded()?;
        let (Calls { operations, nulls }, lost_in_text) = calls(&text, operation, null);
        let lost = lost.saturating_add(lost_in_text);
        if lost > 0 {
            return Ok(Err(lost));
        }
        let (found, wanted) = (operations.len(), self.job.calls as usize);
        if found < wanted {
            let whole = if is_cut { ", because it is too long" } else { "" };
            let happened = format!("the trace has {found} of {wanted} calls of {operation}{whole}");
            let next =
                "Try again. If it happens again, this kernel has another way into the system call.";
            return Err(self.failed(happened, next));
        }
        let operations = operations[found - wanted..].iter().map(undisturbed).collect();
        let nulls = nulls.iter().map(undisturbed).collect();
        Ok(Ok(Traced { operations, nulls, times }))
    }

    /// Stops, and takes what the tracer has recorded.
    pub(super) fn recorded(&self) -> Result<Recorded, Failure> {
        let command = format!(
            "LC_ALL=C; export LC_ALL
            {}
            echo 0 >tracing_on; echo >set_ftrace_pid
            cat per_cpu/cpu*/stats | grep -E '^(overrun|dropped events):'
            echo {CUT}; cat trace; echo >trace",
            tracer::enter(&tracer::PLACES)
        );
        let (mut text, is_cut) = self.output(&command)?;
        let mark = format!("{CUT}\n");
        let at = text.windows(mark.len()).position(|window| window == mark.as_bytes());
        let Some(at) = at else {
            let next = "Check that no other program uses the tracer.";
            return Err(self.failed("the host printed no trace", next));
        };
        let lost = lost_events(&String::from_utf8_lossy(&text[..at]));
        text.drain(..at + mark.len());
        Ok(Recorded { text, lost, is_cut })
    }

    /// All that a command writes, and whether that is cut.
    pub(super) fn output(&self, command: &str) -> Result<(Vec<u8>, bool), Failure> {
        let mut channel: Box<dyn Channel> = self.reach.open(command)?;
        let until = Instant::now() + LIMIT;
        let (mut text, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        let is_cut = loop {
            match channel.read(&mut buffer, until) {
                Ok(0) => break false,
                Ok(count) => text.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error, "Try again.")),
            }
            if text.len() > MOST_TRACE {
                break true;
            }
        };
        // What is cut ends with its channel.
        if !is_cut {
            channel.finish(Duration::from_secs(10))?;
        }
        Ok((text, is_cut))
    }
}

/// What the tracer has recorded.
pub(super) struct Recorded {
    pub text: Vec<u8>,
    /// Events that its buffer had no room for.
    pub lost: u64,
    pub is_cut: bool,
}

/// Calls of the operation, and null calls.
struct Calls {
    operations: Vec<Call>,
    nulls: Vec<Call>,
}

/// The calls in a trace, and the events that it lost. Where both are the same system call, they alternate.
fn calls(text: &[u8], operation: &str, null: &str) -> (Calls, u64) {
    let capture = plimsoll_trace::parse(text, operation);
    if operation != null {
        let nulls = plimsoll_trace::parse(text, null).calls;
        return (Calls { operations: capture.calls, nulls }, capture.lost_events);
    }
    let mut calls = Calls { operations: Vec::new(), nulls: Vec::new() };
    for (number, call) in capture.calls.into_iter().enumerate() {
        if number.is_multiple_of(2) { calls.operations.push(call) } else { calls.nulls.push(call) }
    }
    // Without one of them the others cannot be told apart.
    (calls, capture.lost_events.saturating_add(u64::from(capture.is_cut)))
}

/// Events that the buffers of all cores lost.
fn lost_events(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| line.rsplit_once(':')?.1.trim().parse().ok());
    counts.fold(0, u64::saturating_add)
}

/// The times in a section, in which the operation and the null call alternate; the warm-up is left out.
fn read_times(section: &Value) -> Option<Times> {
    if section.get("section")?.as_str()? != "call" {
        return None;
    }
    let all = section.get("elapsed_ns")?.as_array()?;
    let all = all.iter().map(|ns| ns.as_u64().filter(|ns| *ns <= LONGEST_CALL_NS));
    let all = all.collect::<Option<Vec<u64>>>()?;
    let mut times = Times::default();
    for pair in all.chunks_exact(2).skip(WARM_UP) {
        times.operation.push(pair[0]);
        times.null.push(pair[1]);
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_alternate_after_the_warm_up() {
        let section = json!({"section": "call", "elapsed_ns": [9, 9, 9, 9, 10, 1, 20, 2]});
        let times = read_times(&section).unwrap();
        assert_eq!((times.operation, times.null), (vec![10, 20], vec![1, 2]));
        for odd in [
            json!({}),
            json!({"section": "clock_core", "elapsed_ns": [1, 2]}),
            json!({"section": "call", "elapsed_ns": [1, -2]}),
            json!({"section": "call", "elapsed_ns": [LONGEST_CALL_NS + 1, 1]}),
            json!({"section": "call", "elapsed_ns": 3}),
        ] {
            assert_eq!(read_times(&odd), None, "{odd}");
        }
    }

    #[test]
    fn losses_of_all_cores_add_up() {
        assert_eq!(lost_events("overrun: 3\ndropped events: 2\noverrun: 0\n"), 5);
        assert_eq!(lost_events("overrun: x\n\n"), 0);
    }

    #[test]
    fn calls_are_told_apart_by_function_or_by_turns() {
        let line = |name: &str| format!(" 0)  probe-7  |   1.500 us    |  {name}();\n");
        let text = [line("a"), line("b"), line("a"), line("b"), line("c")].concat();
        let names = |calls: &[Call]| calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
        let (found, lost) = calls(text.as_bytes(), "a", "b");
        assert_eq!((names(&found.operations), lost), (vec!["a".to_owned(); 2], 0));
        assert_eq!(names(&found.nulls), ["b", "b"]);
        let text = [line("a"), line("a"), line("a"), line("a")].concat();
        let (found, _) = calls(text.as_bytes(), "a", "a");
        assert_eq!((found.operations.len(), found.nulls.len()), (2, 2));
    }
}
