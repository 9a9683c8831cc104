//! What a byte and a datagram cost with plimsoll's probe and with other programs, alternating in random order on the
//! same link: control groups count the CPU time of each end from outside, and the interface the bytes. Only the middle
//! of a run counts, so that no program's start does.

use super::figure;
use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::pair::{ENDS, lab, without_rate};
use plimsoll_model::{Measure, Study};
use plimsoll_stats::interval::{Interval, ratio_interval};
use plimsoll_stats::order::{generator, shuffled};
use plimsoll_stats::outlier::median;
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SEED: u64 = 36;
/// Rounds over all loads and programs.
const ROUNDS: u64 = 7;
/// Seconds of a run.
const SECONDS: u64 = 3;
/// Part of the bytes of a run that counts: from this share of them to that one.
const MIDDLE: (f64, f64) = (0.15, 0.9);
/// Bytes of Ethernet, IPv4 and UDP headers around the payload of a datagram.
const HEADERS: f64 = 42.0;
/// Wanted of ratios to other programs: CPU time at most (upper bound), to a bare loop, goodput at least (lower
/// bound), datagrams per CPU second at least, and with batches.
const CPU: f64 = 1.03;
const CPU_OF_BARE: f64 = 1.2;
const GOODPUT: f64 = 0.97;
const DATAGRAMS: f64 = 1.0;
const BATCHED: f64 = 4.0;
/// Address of B, and the first port of the servers: each run has its own, as old connections keep theirs.
const ADDRESS: &str = "10.77.1.2";
const PORT: u64 = 20_000;
/// Clock ticks per second in /proc (proc(5)).
const TICKS: f64 = 100.0;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Load {
    /// TCP with calls of so many bytes, at both ends.
    Tcp(u64),
    /// Datagrams of so much payload, as many as the sender can.
    Udp(u64),
}

const LOADS: [Load; 5] = [
    Load::Tcp(128 << 10),
    Load::Tcp(32 << 10),
    Load::Tcp(8 << 10),
    Load::Tcp(1 << 10),
    Load::Udp(1400),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tool {
    Plimsoll,
    /// Plimsoll with segmentation offload.
    Batched,
    /// That of the machine, and the one that `PLIMSOLL_IPERF3` names.
    Iperf3,
    OtherIperf3,
    /// That which `PLIMSOLL_NETPERF` names, with the netserver beside it.
    Netperf,
    /// A loop of calls: `bare.c`.
    Bare,
}

const TOOLS: [Tool; 6] =
    [Tool::Plimsoll, Tool::Batched, Tool::Iperf3, Tool::OtherIperf3, Tool::Netperf, Tool::Bare];

/// One run of a program.
#[derive(Serialize, Deserialize)]
struct Run {
    seed: u64,
    round: u64,
    load: Load,
    tool: Tool,
    /// Payload bytes per second that arrived, as the program reports it.
    goodput: f64,
    /// In the middle of the run: bytes per second of the interface, and CPU seconds per second of A and B.
    carried: f64,
    cpu: [f64; 2],
    /// Of the whole run: CPU seconds of A and B, of plimsoll's own process, and its length.
    session: [f64; 2],
    program: f64,
    seconds: f64,
    average: String,
}

/// Where the programs and the counters are.
struct Bench {
    beds: Beds,
    bare: PathBuf,
    groups: Vec<PathBuf>,
    /// A process in a namespace of the lab, whose counters are those of the link.
    inside: u32,
    port: u64,
}

impl Bench {
    fn new(beds: Beds) -> Bench {
        // A host that had a limit once has a control group.
        for host in ["a", "b"] {
            beds.lab(&["set", "pair", host, "cpu=90%"]).expect(0);
            beds.lab(&["set", "pair", host, "cpu=none"]).expect(0);
        }
        let traces = beds.traces("pair");
        let groups: Vec<PathBuf> = traces.groups.iter().map(|group| accounting(group)).collect();
        assert_eq!(groups.len(), 2, "a group of each host");
        let has_link = |pid: &&u32| bytes(**pid).is_some();
        let inside = *traces.processes.iter().find(has_link).expect("a process in a namespace");
        let bare = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bare");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/net/bare.c");
        let built = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([bare.as_path(), Path::new(source)])
            .status();
        assert!(built.is_ok_and(|status| status.success()), "cc bare.c");
        Bench { beds, bare, groups, inside, port: PORT }
    }

    fn sample(&self) -> Sample {
        let cpu = [0, 1].map(|end| used(&self.groups[end]));
        Sample { at: Instant::now(), cpu, bytes: bytes(self.inside).unwrap_or(0.0) }
    }

    /// Starts a server at B, and waits until it listens.
    fn serve(&self, line: &str) {
        let port = format!(":{:04X} ", self.port);
        self.beds.on(
            "pair/b",
            &format!(
                "setsid {line} >/run/served 2>&1 & echo $! >/run/server; for n in $(seq 200); do \
                 cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp | grep -q '{port}' && exit 0; sleep 0.02; done; \
                 cat /run/served >&2; exit 1"
            ),
        );
    }

    /// What the server printed; it is ended if it has not ended by itself.
    fn served(&self, wait: bool) -> String {
        let wait = if wait {
            "for n in $(seq 200); do kill -0 $p 2>/dev/null || break; sleep 0.02; done; "
        } else {
            ""
        };
        self.beds.on(
            "pair/b",
            &format!("p=$(cat /run/server); {wait}kill $p 2>/dev/null; cat /run/served"),
        )
    }

    fn run(&mut self, seed: u64, round: u64, load: Load, tool: Tool, seconds: u64) -> Option<Run> {
        self.port += 1;
        let (port, time) = (self.port, format!("{seconds}"));
        let (size, is_tcp) = match load {
            Load::Tcp(size) => (size, true),
            Load::Udp(size) => (size, false),
        };
        let at_a = |line: String| {
            let words = ["lab", "exec", "pair/a", "--", "/bin/sh", "-c"].map(str::to_owned);
            words.into_iter().chain([line]).collect::<Vec<String>>()
        };
        let protocol = if is_tcp { "tcp" } else { "udp" };
        let words = match tool {
            Tool::Plimsoll | Tool::Batched => {
                let own = match load {
                    Load::Tcp(_) => vec!["--job=tcp-out".to_owned(), format!("--blocks={size}B")],
                    Load::Udp(_) => {
                        let call = if tool == Tool::Batched { "gso" } else { "one" };
                        let words = ["--job=udp-out", "--rate=max"].map(str::to_owned);
                        let own = [format!("--payloads={size}B"), format!("--call={call}")];
                        words.into_iter().chain(own).collect()
                    }
                };
                let words = ["net", ENDS[0], ENDS[1], "--quick", "--json=-"].map(str::to_owned);
                words.into_iter().chain(own).chain([format!("--time={time}s")]).collect()
            }
            Tool::Iperf3 | Tool::OtherIperf3 => {
                let program = place(tool)?;
                self.serve(&format!("{program} -s -1 -p {port}"));
                let udp = if is_tcp { "" } else { "-u -b 0" };
                at_a(format!("{program} -c {ADDRESS} -p {port} -l {size} -t {time} -J {udp}"))
            }
            Tool::Netperf => {
                let program = place(tool)?;
                let server = Path::new(&program).with_file_name("netserver");
                self.serve(&format!("{} -D -4 -p {port}", server.display()));
                let (test, receive) = match is_tcp {
                    true => ("TCP_STREAM", format!("-M {size}")),
                    false => ("UDP_STREAM", format!("-R 1 -M {size}")),
                };
                let own = format!("-- -m {size} {receive}");
                at_a(format!("{program} -H {ADDRESS} -p {port} -P 0 -l {time} -t {test} {own}"))
            }
            Tool::Bare => {
                let bare = self.bare.display();
                self.serve(&format!("{bare} receive {protocol} {port} {size}"));
                at_a(format!("{bare} send {protocol} {port} {size} {ADDRESS} {time}"))
            }
        };
        let (samples, out, program) = self.watch(&words);
        let served = match tool {
            Tool::Plimsoll | Tool::Batched => String::new(),
            Tool::Iperf3 | Tool::OtherIperf3 | Tool::Bare => self.served(true),
            Tool::Netperf => self.served(false),
        };
        let (first, last) = (samples.first()?, samples.last()?);
        let Some(goodput) = reported(tool, is_tcp, &out, &served) else {
            println!("{tool:?}, {load:?}: no figure in {out} {served}");
            return None;
        };
        let at = |share: f64| {
            let bytes = first.bytes + share * (last.bytes - first.bytes);
            samples.iter().find(|sample| sample.bytes >= bytes)
        };
        let (from, to) = (at(MIDDLE.0)?, at(MIDDLE.1)?);
        let middle = (to.at - from.at).as_secs_f64();
        Some(Run {
            seed,
            round,
            load,
            tool,
            goodput,
            carried: (to.bytes - from.bytes) / middle,
            cpu: [0, 1].map(|end| (to.cpu[end] - from.cpu[end]) / middle),
            session: [0, 1].map(|end| last.cpu[end] - first.cpu[end]),
            program,
            seconds: (last.at - first.at).as_secs_f64(),
            average: load_average(),
        })
    }

    /// Runs a command of plimsoll with the counters watched: what it wrote, and the CPU seconds of its process.
    fn watch(&self, words: &[String]) -> (Vec<Sample>, String, f64) {
        let mut command = self.beds.program.command(words);
        let mut samples = vec![self.sample()];
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let (pid, mut program) = (child.id(), 0.0);
        let out = std::thread::scope(|scope| {
            let output = scope.spawn(move || child.wait_with_output().expect("it ends").stdout);
            while !output.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
                program = process(pid).unwrap_or(program);
                samples.push(self.sample());
            }
            output.join().expect("it was read")
        });
        samples.push(self.sample());
        (samples, String::from_utf8_lossy(&out).into_owned(), program)
    }
}

/// Counters at a time.
struct Sample {
    at: Instant,
    cpu: [f64; 2],
    bytes: f64,
}

/// The group that counts: in version 1 it has a hierarchy of its own.
fn accounting(group: &Path) -> PathBuf {
    let name = group.file_name().unwrap_or_default();
    let root = group.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let apart = root.join("cpuacct").join(name);
    if apart.exists() { apart } else { group.to_owned() }
}

/// CPU seconds that a group used.
fn used(group: &Path) -> f64 {
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or(f64::NAN);
    if let Ok(text) = fs::read_to_string(group.join("cpuacct.usage")) {
        return 1e-9 * number(&text);
    }
    let text = fs::read_to_string(group.join("cpu.stat")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
    1e-6 * line.map_or(f64::NAN, number)
}

/// Bytes over the link, in the direction of the data: A and B have the same count.
fn bytes(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lan:"))?;
    let words: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Some(words.first()?.max(*words.get(8)?))
}

/// CPU seconds of a process, without its children.
fn process(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

/// Where a peer is; `None` where it is not there.
fn place(tool: Tool) -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|place| Path::new(place).is_file());
    match tool {
        Tool::OtherIperf3 => named("PLIMSOLL_IPERF3"),
        Tool::Netperf => named("PLIMSOLL_NETPERF"),
        Tool::Iperf3 => available(Need::Iperf3).then(|| "iperf3".to_owned()),
        Tool::Plimsoll | Tool::Batched | Tool::Bare => Some(String::new()),
    }
}

/// Payload bytes per second that arrived, as a program reports it.
fn reported(tool: Tool, is_tcp: bool, out: &str, served: &str) -> Option<f64> {
    match tool {
        Tool::Plimsoll | Tool::Batched => {
            let study: Study = plimsoll_record::from_json(out).ok()?;
            figure(&study, Measure::THROUGHPUT)
        }
        Tool::Iperf3 | Tool::OtherIperf3 => {
            let report: serde_json::Value = serde_json::from_str(out).ok()?;
            let end = &report["end"];
            if is_tcp {
                return Some(end["sum_received"]["bits_per_second"].as_f64()? / 8.0);
            }
            let sum = &end["sum"];
            let lost = sum["lost_packets"].as_f64()? / sum["packets"].as_f64()?;
            Some(sum["bits_per_second"].as_f64()? / 8.0 * (1.0 - lost))
        }
        // 10⁶ bits per second are the last number, of datagrams those that arrived.
        Tool::Netperf => Some(out.split_whitespace().last()?.parse::<f64>().ok()? * 1e6 / 8.0),
        Tool::Bare => served.trim().parse().ok(),
    }
}

/// What is compared of a run.
type Of = fn(&Run) -> f64;

fn near(run: &Run) -> f64 {
    1e9 * run.cpu[0] / run.carried
}

fn far(run: &Run) -> f64 {
    1e9 * run.cpu[1] / run.carried
}

fn goodput(run: &Run) -> f64 {
    run.goodput
}

/// Datagrams that were sent per CPU second of A.
fn sent(run: &Run) -> f64 {
    let Load::Udp(payload) = run.load else { return f64::NAN };
    run.carried / (payload as f64 + HEADERS) / run.cpu[0]
}

/// Datagrams that arrived per CPU second of B.
fn arrived(run: &Run) -> f64 {
    let Load::Udp(payload) = run.load else { return f64::NAN };
    run.goodput / payload as f64 / run.cpu[1]
}

#[test]
#[ignore = "takes ten minutes, and a quiet machine: make measure-net"]
fn measure_net_peers() {
    let Some(beds) = lab(&without_rate()) else { return };
    let (seed, seconds) = (setting("PLIMSOLL_SEED", SEED), setting("PLIMSOLL_SECONDS", SECONDS));
    // Size of TCP's calls in bytes; 0 for all loads.
    let only = setting("PLIMSOLL_CALL", 0);
    let (mut kept, until) = (Kept::<Run>::open("net-peers.json"), Until::now());
    let mut bench = Bench::new(beds);
    'rounds: for round in 0..setting("PLIMSOLL_CASES", ROUNDS) {
        let mut order = generator(seed, &format!("round {round}"));
        for load in shuffled(LOADS.len(), &mut order).into_iter().map(|at| LOADS[at]) {
            if only != 0 && load != Load::Tcp(only) {
                continue;
            }
            for tool in shuffled(TOOLS.len(), &mut order).into_iter().map(|at| TOOLS[at]) {
                let is_it = |run: &Run| {
                    (run.seed, run.round) == (seed, round) && (run.load, run.tool) == (load, tool)
                };
                let is_batch_of_tcp = tool == Tool::Batched && matches!(load, Load::Tcp(_));
                if is_batch_of_tcp || place(tool).is_none() || kept.cases.iter().any(is_it) {
                    continue;
                }
                if until.is_over() {
                    break 'rounds;
                }
                until_quiet();
                if let Some(run) = bench.run(seed, round, load, tool, seconds) {
                    kept.add(run);
                }
            }
        }
    }
    let own: Vec<&Run> = kept.cases.iter().filter(|run| run.seed == seed).collect();
    LOADS.into_iter().for_each(|load| print(&own, load));
}

/// Ratio of plimsoll to a peer over the rounds that have both.
fn ratio(runs: &[&Run], own: Tool, peer: Tool, of: Of) -> Option<Interval> {
    let values = |tool: Tool, round: u64| {
        let run = runs.iter().find(|run| (run.tool, run.round) == (tool, round));
        run.map(|run| of(run)).filter(|value| value.is_finite() && *value > 0.0)
    };
    let rounds = runs.iter().filter(|run| run.tool == own).map(|run| run.round);
    let logs: Vec<f64> = rounds
        .filter_map(|round| Some((values(own, round)? / values(peer, round)?).ln()))
        .collect();
    ratio_interval(&logs, 0.95)
}

fn print(all: &[&Run], load: Load) {
    let runs: Vec<&Run> = all.iter().copied().filter(|run| run.load == load).collect();
    let middle = |tool: Tool, of: Of| {
        let values: Vec<f64> =
            runs.iter().filter(|run| run.tool == tool).map(|run| of(run)).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    for tool in TOOLS {
        let count = runs.iter().filter(|run| run.tool == tool).count();
        if count == 0 {
            continue;
        }
        print!(
            "{load:?} {tool:?}, {count} runs: CPU {:.3} and {:.3} s/GB, goodput {:.0} Mbit/s",
            middle(tool, near),
            middle(tool, far),
            8e-6 * middle(tool, goodput)
        );
        if matches!(load, Load::Udp(_)) {
            let (sent, arrived) = (middle(tool, sent), middle(tool, arrived));
            print!(", {sent:.0} datagrams sent and {arrived:.0} received per CPU second");
        }
        println!(
            "; whole run {:.1} s: CPU {:.2} and {:.2} s, of the program {:.2} s",
            middle(tool, |run| run.seconds),
            middle(tool, |run| run.session[0]),
            middle(tool, |run| run.session[1]),
            middle(tool, |run| run.program)
        );
    }
    let is_tcp = matches!(load, Load::Tcp(_));
    for peer in [Tool::Iperf3, Tool::OtherIperf3, Tool::Netperf, Tool::Bare] {
        let at_most = if peer == Tool::Bare { CPU_OF_BARE } else { CPU };
        let tests: &[(Tool, &str, Of, Wanted)] = if is_tcp {
            &[
                (Tool::Plimsoll, "CPU of A", near, Wanted::AtMost(at_most)),
                (Tool::Plimsoll, "CPU of B", far, Wanted::AtMost(at_most)),
                (Tool::Plimsoll, "goodput", goodput, Wanted::AtLeast(GOODPUT)),
            ]
        } else {
            &[
                (Tool::Plimsoll, "datagrams sent", sent, Wanted::AtLeast(DATAGRAMS)),
                (Tool::Plimsoll, "datagrams received", arrived, Wanted::AtLeast(DATAGRAMS)),
                (Tool::Batched, "datagrams sent", sent, Wanted::AtLeast(BATCHED)),
                (Tool::Batched, "datagrams received", arrived, Wanted::AtLeast(BATCHED)),
            ]
        };
        for (own, what, of, wanted) in tests {
            let Some(ratio) = ratio(&runs, *own, peer, *of) else { continue };
            let (is_met, words) = wanted.judge(ratio);
            println!(
                "  {what}, {own:?} / {peer:?}: {:.3} [{:.3}, {:.3}]; {words}: {}",
                ratio.estimate,
                ratio.low,
                ratio.high,
                if is_met { "met" } else { "NOT MET" }
            );
        }
    }
}

/// A bound that an interval has to keep.
#[derive(Clone, Copy)]
enum Wanted {
    AtMost(f64),
    AtLeast(f64),
}

impl Wanted {
    fn judge(self, ratio: Interval) -> (bool, String) {
        match self {
            Wanted::AtMost(most) => (ratio.high <= most, format!("wanted at most {most}")),
            Wanted::AtLeast(least) => (ratio.low >= least, format!("wanted at least {least}")),
        }
    }
}
