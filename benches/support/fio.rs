//! One run of fio, with options for what a trial does.

use crate::ratios::Figures;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Job, Layout, Part, Pattern, PatternJob, Workload};
use serde_json::Value;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How much longer than asked for a run of fio may take, and how long one that lays out, in seconds; and how often
/// one that takes longer is made anew: with the engine for NFS some hang in their unmounting.
const LATE_SECONDS: f64 = 5.0;
const LAYING_OUT_SECONDS: f64 = 60.0;
const ATTEMPTS: usize = 5;
/// SIGKILL, which timeout(1) sends to itself, too.
const KILL: i32 = 9;

/// fio's version, or `None` where it cannot be run.
pub fn version(program: &OsStr) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A fio with an engine and the engine's options.
pub struct Peer {
    program: OsString,
    options: Vec<String>,
}

impl Peer {
    /// Of this program, with this engine.
    pub fn new(program: &OsStr, engine: &str) -> Peer {
        Peer { program: program.to_owned(), options: Vec::new() }.with("ioengine", engine)
    }

    /// With one option more.
    pub fn with(mut self, option: &str, value: impl Display) -> Peer {
        self.options.push(format!("--{option}={value}"));
        self
    }

    /// fio, which is killed after so many seconds. What it does it does in a session of its own, which outlives it
    /// and holds its output open: with a namespace of processes all of it ends.
    fn within(&self, seconds: f64) -> Command {
        let mut command = Command::new("timeout");
        command.arg("--signal=KILL").arg(format!("{seconds:.0}"));
        command.args([
            "unshare",
            "--user",
            "--map-current-user",
            "--pid",
            "--fork",
            "--kill-child",
        ]);
        command.arg(&self.program);
        command.stdin(Stdio::null());
        command
    }

    /// Writes its file once, whole.
    pub fn lay_out(&self, size: Bytes) -> Result<(), Box<dyn Error>> {
        let mut command = self.within(LAYING_OUT_SECONDS);
        command
            .args(["--name=peer", "--rw=write", "--bs=1M", "--eta=never", "--output-format=json"])
            .arg(format!("--size={}", size.0))
            .args(&self.options);
        let output = repeated(&mut command)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("fio cannot write its file ({}): {}", output.status, said.trim()).into())
    }

    /// Runs `workload` on files that are there, laid out whole. What hangs is ended, said, and made anew.
    pub fn run(
        &self,
        workload: &Workload,
        warm_up_seconds: f64,
        seconds: f64,
    ) -> Result<Figures, Box<dyn Error>> {
        let Some(Part { job: Job::Pattern(job), workers, arrival, .. }) = workload.main() else {
            return Err("fio does patterns alone".into());
        };
        let depth = arrival.depth();
        let share = job.size.0 / u64::from(workers.get());
        // Fio parts the size among the files; offsets are in each of them.
        let files = u64::from(PatternJob::FILES);
        let (size, offset) = match job.layout {
            Layout::Disjoint => (share, share / files),
            Layout::Shared => (job.size.0, 0),
        };
        let direction = match job.pattern {
            Pattern::SequentialRead => "read",
            Pattern::SequentialWrite => "write",
            Pattern::RandomRead => "randread",
            Pattern::RandomWrite => "randwrite",
            Pattern::RandomMixed => "randrw",
            Pattern::SequentialMixed => "rw",
        };
        let mut command = self.within(warm_up_seconds + seconds + LATE_SECONDS);
        command
            .args(["--name=peer", "--output-format=json", "--group_reporting", "--thread"])
            // Nothing beside the work: no map of the blocks already visited, and other offsets in
            // each run, as in a trial.
            .args(["--norandommap", "--randrepeat=0", "--eta=never", "--disk_util=0"])
            // Latency from the making of an operation on, as ours.
            .args(["--lat_percentiles=1", "--clat_percentiles=0", "--time_based"])
            .arg(format!("--rw={direction}"))
            .arg(format!("--bs={}", job.block.0))
            .arg(format!("--size={size}"))
            .arg(format!("--offset_increment={offset}"))
            .arg(format!("--numjobs={workers}"))
            .arg(format!("--iodepth={}", depth))
            .arg(format!("--ramp_time={:.0}ms", warm_up_seconds * 1e3))
            .arg(format!("--runtime={:.0}ms", seconds * 1e3))
            .args(&self.options);
        let output = repeated(&mut command)?;
        let json = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
        figures(&json["jobs"][0]).filter(|_| output.status.success()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("fio gave no figures ({}): {}", output.status, said.trim()).into()
        })
    }
}

/// What a command printed; once more where it was ended for taking too long.
fn repeated(command: &mut Command) -> Result<Output, Box<dyn Error>> {
    for _ in 0..ATTEMPTS {
        let output = command.output()?;
        if output.status.signal() != Some(KILL) {
            return Ok(output);
        }
        println!("fio did not end in time; once more");
    }
    Err(format!("fio hung {ATTEMPTS} times").into())
}

fn figures(job: &Value) -> Option<Figures> {
    let sides = [&job["read"], &job["write"]];
    let side = sides.into_iter().find(|side| side["total_ios"].as_u64() > Some(0))?;
    let sum = |name: &str| sides.iter().filter_map(|side| side[name].as_f64()).sum::<f64>();
    // Percent of the time in milliseconds that the job ran.
    let busy = (job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?) / 100.0;
    Some(Figures {
        throughput: sum("bw_bytes"),
        p50: side["lat_ns"]["percentile"]["50.000000"].as_f64()? / 1e9,
        cpu: busy * job["job_runtime"].as_f64()? / 1e3 / sum("io_bytes"),
    })
}

/// What a variable of the environment sets.
pub fn number(variable: &str, usual: f64) -> Result<f64, Box<dyn Error>> {
    match std::env::var(variable) {
        Ok(text) => text.parse().map_err(|_| format!("{variable}={text} is not a number").into()),
        Err(_) => Ok(usual),
    }
}

/// A file name as fio's options take it.
pub fn escaped(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace(':', "\\:")
}
