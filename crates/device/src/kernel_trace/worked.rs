//! Work of a kernel for other hosts, traced while they make it do that work.

use super::capture::{LIMIT, Recorded, Setup};
use super::entry::Work;
use super::figures::{Times, undisturbed};
use plimsoll_model::Failure;
use plimsoll_reach::printed::last_line;
use plimsoll_settings::tracer;
use plimsoll_trace::Call;

/// Work for other hosts, and null calls.
pub(super) struct Worked {
    pub operations: Vec<Call>,
    pub nulls: Vec<Call>,
    /// Times of the null calls, in nanoseconds.
    pub null_times: Vec<u64>,
}

impl Worked {
    /// Times of the work in the kernel, and of the null calls.
    pub fn times(&self) -> Times {
        let operation = self.operations.iter().filter_map(|call| call.time_ns).collect();
        Times { operation, null: self.null_times.clone() }
    }
}

impl Setup<'_> {
    /// Traces work for other hosts, which `make` makes the kernel do. With `null`, the function of the null call, the
    /// probe makes null calls afterwards. The tracer is on, and records nothing yet. `Err` with the number of events if
    /// the buffer was too small for them.
    pub fn worked(
        &self,
        work: Work,
        null: Option<&str>,
        make: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<Result<Worked, u64>, Failure> {
        self.record(work)?;
        make()?;
        // Whoever traces all tasks has the probe's too.
        let own = work.threads.map_or("true".to_owned(), |_| {
            format!("({}; echo $$ >>set_ftrace_pid)", tracer::enter(&tracer::PLACES))
        });
        let null_times = match null {
            Some(_) => self.times(|request, section| {
                self.probe.run_after(&own, request, section, self.stop).map(drop)
            })?,
            None => Times::default(),
        };
        let Recorded { text, lost, is_cut } = self.recorded()?;
        let capture = plimsoll_trace::parse(&text, work.begins);
        let lost = lost.saturating_add(capture.lost_events);
        if lost > 0 {
            return Ok(Err(lost));
        }
        let operations = work.among(capture.calls);
        let (found, wanted) = (operations.len(), self.job.calls as usize);
        if found < wanted {
            let whole = if is_cut { ", because it is too long" } else { "" };
            let name = self.job.operation.noun();
            let happened = format!("the trace has {found} of {wanted} operations ({name}){whole}");
            let next = match work.threads {
                Some(_) => "Check that the export is one of the kernel's NFS server on this host.",
                None => {
                    "Check with 'ip route get' on the sender that its packets go through this host."
                }
            };
            return Err(self.failed(happened, next));
        }
        let operations = operations[found - wanted..].iter().map(undisturbed).collect();
        let nulls = null.map_or_else(Vec::new, |null| plimsoll_trace::parse(&text, null).calls);
        let nulls = nulls.iter().map(undisturbed).collect();
        Ok(Ok(Worked { operations, nulls, null_times: null_times.null }))
    }

    /// Begins to record what the tasks of some work do.
    fn record(&self, work: Work) -> Result<(), Failure> {
        let tasks = match work.threads {
            None => String::new(),
            Some(name) => format!(
                "tasks=
                for d in /proc/[0-9]*; do
                    name=; {{ read -r name <$d/comm; }} 2>/dev/null
                    [ \"$name\" != {name} ] || tasks=\"$tasks ${{d#/proc/}}\"
                done
                [ -n \"$tasks\" ] || {{ echo 'no thread {name} runs' >&2; exit 1; }}
                echo $tasks >set_ftrace_pid || exit 1"
            ),
        };
        let text = format!(
            "{}
            [ \"$(cat current_tracer)\" = function_graph ] || {{ echo 'the tracer is off' >&2; exit 1; }}
            echo >trace; echo >set_ftrace_pid
            {tasks}
            echo 1 >tracing_on",
            tracer::enter(&tracer::PLACES)
        );
        let output = self.reach.run(&text, b"", LIMIT)?;
        if output.status == Some(0) {
            return Ok(());
        }
        let happened = last_line(&output.errors);
        let happened = happened.unwrap_or_else(|| "the host did not begin to trace".into());
        Err(self.failed(happened, "Check that the kernel's NFS server runs there."))
    }
}
