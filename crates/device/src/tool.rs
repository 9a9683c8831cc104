//! Running a program that a host has, so that it can be stopped half-way.

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes that a program may write; what benchmarks print is a page.
const MOST_OUTPUT: usize = 256 << 10;
/// How long a host may take to do something small.
pub(super) const SMALL: Duration = Duration::from_secs(30);
/// What each program of the command says first, so that it can be ended.
const PID: &str = "plimsoll-pid ";

/// Directories of programs that are not always searched for those who are not root.
const SURROUNDINGS: &str = "PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin; \
                            LC_ALL=C; export PATH LC_ALL; ";

/// What the shell prints after a program: uptimes before and after it, then the times of `times`.
const UPTIMES: &str = "plimsoll-uptimes ";

/// Time that a program took, and for how much of it it had the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) elapsed_ns: u64,
    pub(super) cpu_ns: u64,
}

impl std::ops::Add for Spent {
    type Output = Spent;
    fn add(self, o: Spent) -> Spent {
        Spent {
            elapsed_ns: self.elapsed_ns.saturating_add(o.elapsed_ns),
            cpu_ns: self.cpu_ns.saturating_add(o.cpu_ns),
        }
    }
}

impl Spent {
    /// Takes the shell's account out of what was printed; `None` where there is none that can be.
    pub(super) fn take(output: &mut String) -> Option<Spent> {
        let lines: Vec<&str> = output.lines().collect();
        let at = lines.iter().rposition(|line| line.starts_with(UPTIMES))?;
        // The first line of `times` is the shell's own, the second that of what it ran.
        let spent = Spent::parse(lines[at], lines.get(at + 2)?);
        let rest = lines[..at].iter().chain(&lines[at + 3..]);
        *output = rest.flat_map(|line| [*line, "\n"]).collect();
        spent
    }

    fn parse(uptimes: &str, times: &str) -> Option<Spent> {
        const MOST_SECONDS: f64 = 1e9;
        let seconds = |word: &str| {
            let seconds = word.parse::<f64>().ok()?;
            (0.0..MOST_SECONDS).contains(&seconds).then_some(seconds)
        };
        let mut uptimes = uptimes.strip_prefix(UPTIMES)?.split_whitespace().map(seconds);
        let (from, to) = (uptimes.next()??, uptimes.next()??);
        // "0m1.980s 0m0.010s": user and system.
        let mut cpu = times.split_whitespace().map(|word| {
            let (minutes, rest) = word.strip_suffix('s')?.split_once('m')?;
            Some(60.0 * seconds(minutes)? + seconds(rest)?)
        });
        let cpu = cpu.next()?? + cpu.next()??;
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        (to > from).then(|| Spent { elapsed_ns: ns(to - from), cpu_ns: ns(cpu) })
    }
}

/// What a program left.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Its exit code.
    pub(super) status: Option<i32>,
    /// What it took, where the host's shell tells.
    pub(super) spent: Option<Spent>,
    /// What it printed.
    pub(super) output: String,
    /// The end of what it printed to standard error.
    pub(super) errors: String,
}

impl Ran {
    /// What it said of what went wrong.
    pub(super) fn complaint(&self) -> String {
        let said = if self.errors.trim().is_empty() { &self.output } else { &self.errors };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let said: String = lines.join(" ").chars().take(200).collect();
        match (said.is_empty(), self.status) {
            (false, _) => said,
            (true, Some(status)) => format!("it ended with exit code {status} without a message"),
            (true, None) => "it was killed".to_owned(),
        }
    }
}

/// The command in surroundings where programs are found and speak English.
pub(super) fn in_english(command: &str) -> String {
    format!("{SURROUNDINGS}{command}")
}

/// A single program, which [`run`] can end. The shell stays, to tell what it took.
pub(super) fn program(command: &str) -> String {
    timed(&format!("echo \"{PID}$$\"; exec {command}"))
}

fn timed(command: &str) -> String {
    format!(
        "read -r from rest </proc/uptime; sh -c {}; status=$?; read -r to rest </proc/uptime; \
         echo \"{UPTIMES}$from $to\"; times; exit $status",
        quote(command)
    )
}

/// As many of a program at once as `count`, each line of what they print with the number of the
/// one that printed it in front: `3|…`. For each it has what it took.
pub(super) fn programs(path: &str, count: u64) -> String {
    let each = timed(&format!("echo \"{PID}$$\" >&3; exec {}", quote(path)));
    format!(
        "exec 3>&1; i=0; while [ $i -lt {count} ]; do sh -c {} 2>&1 | sed \"s/^/$i|/\" & \
         i=$((i+1)); done; wait",
        quote(&each)
    )
}

/// Runs a command made by [`program`] or [`programs`]; `None` where the user wanted an end.
///
/// # Errors
/// The host cannot be reached, or the program takes longer than `limit` or prints without end.
pub(super) fn run(
    reach: &dyn Reach,
    command: &str,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Option<Ran>, Failure> {
    let until = Instant::now() + limit;
    let mut channel = reach.open(&in_english(command))?;
    let mut output = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    let failed_with = loop {
        if stop.load(Ordering::Relaxed) {
            end(reach, &output);
            return Ok(None);
        }
        if Instant::now() >= until {
            break format!("it did not end within {} s", limit.as_secs());
        }
        match channel.read(&mut buffer, until.min(Instant::now() + LOOK)) {
            Ok(0) => break String::new(),
            Ok(count) => output.extend_from_slice(&buffer[..count]),
            Err(e) if e.kind() == ErrorKind::TimedOut => {}
            Err(e) => {
                // A lost connection tells why when it is finished with.
                channel.finish(SMALL)?;
                return Err(failed(reach, &e.to_string()));
            }
        }
        if output.len() > MOST_OUTPUT {
            break format!("it printed more than {MOST_OUTPUT} bytes");
        }
    };
    if !failed_with.is_empty() {
        end(reach, &output);
        return Err(failed(reach, &failed_with));
    }
    let ended = channel.finish(SMALL)?;
    let mut output = without_pids(&String::from_utf8_lossy(&output));
    Ok(Some(Ran {
        status: ended.status,
        spent: Spent::take(&mut output),
        output,
        errors: String::from_utf8_lossy(&ended.errors).into_owned(),
    }))
}

fn failed(reach: &dyn Reach, happened: &str) -> Failure {
    let next = "Run the command on the host to see why, or leave this part out with --only.";
    Failure::new(Cause::Trial, "run a program").on(reach.name()).happened(happened).next(next)
}

/// Ends the programs that said their number. That they are gone then is not made sure of: they end
/// by themselves in seconds.
fn end(reach: &dyn Reach, output: &[u8]) {
    let output = String::from_utf8_lossy(output);
    let numbers = output.lines().filter_map(|line| line.strip_prefix(PID)?.trim().parse().ok());
    let numbers: Vec<String> =
        numbers.filter(|pid: &u32| *pid > 1).take(512).map(|pid| pid.to_string()).collect();
    if !numbers.is_empty() {
        let _ = reach.run(&format!("kill {}", numbers.join(" ")), &[], SMALL);
    }
}

fn without_pids(output: &str) -> String {
    output.lines().filter(|l| !l.starts_with(PID)).flat_map(|line| [line, "\n"]).collect()
}

/// Which of these programs the host has, with their paths.
///
/// # Errors
/// The host cannot be reached.
pub(super) fn found(reach: &dyn Reach, names: &[&str]) -> Result<Vec<(String, String)>, Failure> {
    let look = format!(
        "for t in {}; do p=$(command -v \"$t\") && echo \"$t=$p\"; done; true",
        names.join(" ")
    );
    let said = reach.run(&in_english(&look), &[], SMALL)?;
    let said = String::from_utf8_lossy(&said.output).into_owned();
    let known = |line: &str| {
        let (name, path) = line.split_once('=')?;
        let sound = names.contains(&name) && path.starts_with('/') && path.len() < 1024;
        sound.then(|| (name.to_owned(), path.to_owned()))
    };
    Ok(said.lines().filter_map(known).collect())
}

/// The path of one of those found.
pub(super) fn path<'a>(found: &'a [(String, String)], name: &str) -> Option<&'a str> {
    found.iter().find(|(n, _)| n == name).map(|(_, path)| path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spent(elapsed_ns: u64, cpu_ns: u64) -> Option<Spent> {
        Some(Spent { elapsed_ns, cpu_ns })
    }

    #[test]
    fn the_shells_account_is_taken_out_of_what_was_printed() {
        for (printed, expected, rest) in [
            (
                "+F:1\nplimsoll-uptimes 10.50 12.50\n0m0.000000s 0m0.010000s\n0m0.950000s 0m0.05s\n",
                spent(2_000_000_000, 1_000_000_000),
                "+F:1\n",
            ),
            (
                "plimsoll-uptimes 1 2\n0m0s 0m0s\n1m1.5s 0m0s\nx\n",
                spent(1_000_000_000, 61_500_000_000),
                "x\n",
            ),
            ("+F:1\n", None, "+F:1\n"),
            ("plimsoll-uptimes 10.50 12.50\n", None, "plimsoll-uptimes 10.50 12.50\n"),
            ("plimsoll-uptimes 3 2\n0m0s 0m0s\n0m1s 0m0s\n", None, ""),
            ("plimsoll-uptimes 2\n0m0s 0m0s\n0m1s 0m0s\n", None, ""),
            ("plimsoll-uptimes 1 2\n0m0s 0m0s\n0mNaNs 0m-1s\n", None, ""),
        ] {
            let mut output = printed.to_owned();
            assert_eq!(Spent::take(&mut output), expected, "{printed}");
            assert_eq!(output, rest);
        }
    }

    /// By every shell of this machine, the programs' numbers and exit codes too.
    #[test]
    fn programs_are_timed_by_the_shell() {
        use plimsoll_reach::Local;
        let stop = AtomicBool::new(false);
        let limit = Duration::from_secs(60);
        let burn = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; exit 7'";
        let ran = run(&Local, &program(burn), limit, &stop).unwrap().unwrap();
        assert_eq!((ran.status, ran.output.as_str()), (Some(7), "done\n"), "{ran:?}");
        let spent = ran.spent.unwrap();
        assert!(spent.cpu_ns > 0 && spent.elapsed_ns > 0, "{spent:?}");
        // One that sleeps has no processor, however busy the machine is.
        let ran = run(&Local, &program("sleep 1"), limit, &stop).unwrap().unwrap();
        let spent = ran.spent.unwrap();
        assert!(spent.elapsed_ns >= 900_000_000 && spent.cpu_ns < 500_000_000, "{spent:?}");

        let ran = run(&Local, &programs("/bin/pwd", 2), limit, &stop).unwrap().unwrap();
        for number in ["0|", "1|"] {
            let lines = ran.output.lines().filter_map(|line| line.strip_prefix(number));
            let mut output: String = lines.flat_map(|line| [line, "\n"]).collect();
            assert_eq!(output.lines().count(), 4, "{ran:?}");
            // So short that the uptimes may be one.
            Spent::take(&mut output);
            assert!(output.starts_with('/') && output.lines().count() == 1, "{output}");
        }
    }

    #[test]
    fn a_stop_ends_the_program_itself() {
        use plimsoll_reach::Local;
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
            });
            let ran = run(&Local, &program("sleep 3600"), Duration::from_secs(600), &stop).unwrap();
            assert!(ran.is_none());
        });
        assert!(begun.elapsed() < Duration::from_secs(120));
    }

    proptest! {
        #[test]
        fn any_text_is_no_panic(a in "\\PC{0,30}", b in "\\PC{0,30}", c in "\\PC{0,30}") {
            let mut output = format!("{a}\n{UPTIMES}{b}\n{c}\n0m{a}s 0m{b}s\n");
            let _ = Spent::take(&mut output);
        }
    }
}
