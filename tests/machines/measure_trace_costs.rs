//! Costs that `plimsoll trace` finds next to the same costs by `check` and by `net --parts`: `make measure-trace`.

use super::super::support::lab_file::LabFile;
use super::super::support::{Plimsoll, probes};
use super::saved::Machines;
use super::trace::rules;
use plimsoll_explain::{PartVerdict, findings, part_costs};
use plimsoll_model::kernel_trace::{TraceJob, block_kind};
use plimsoll_model::{Measure, Metric, Outcome, PathPart, Study, Trial};
use plimsoll_stats::interval::{Interval, mean, t_interval};
use plimsoll_testkit::Need;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Export of the server.
const EXPORT: &str = "nfs://server/srv/data?uid=0&gid=0";
/// Share of the server's time by which the corrected time of a READ may differ from it.
const CLOSE: f64 = 0.15;

/// A lab of machines, up; `None` where this machine has none.
fn up(name: &str, lab: &LabFile) -> Option<Machines> {
    if !plimsoll_testkit::available(Need::Machines) {
        return None;
    }
    let probes = probes().to_str().expect("letters").to_owned();
    let program = Plimsoll::new().with("PLIMSOLL_PROBES", &probes).with_runner();
    let machines = Machines::with(program);
    machines.beds.up(name, lab);
    Some(machines)
}

/// The complete trials of a workload under a setting.
fn complete(study: &Study, workload: u16, setting: u16) -> Vec<&Trial> {
    let is_own = |trial: &&Trial| {
        (trial.cell.workload, trial.cell.setting) == (workload, setting)
            && trial.result.outcome == Outcome::Complete
    };
    study.trials.iter().filter(is_own).collect()
}

/// The middle figure of the trials, as the screen of a trace has it.
fn middle(trials: &[&Trial], measure: Measure) -> Option<f64> {
    let figures = trials.iter().filter_map(|trial| trial.result.value(0, Metric::all(measure)));
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

/// "12.30 µs".
fn microseconds(seconds: f64) -> String {
    format!("{:.2} µs", 1e6 * seconds)
}

/// The same, or that there is none.
fn known(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "none".to_owned(), microseconds)
}

/// One reader reads blocks of files that are in the server's memory. The server's time is the CPU time of the server per
/// operation, as the page of `check` has it: that of the network and of the RPC layer is in it, and not in the time
/// in `nfsd_dispatch`.
#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_nfsd_against_check() {
    let server = LabFile::new()
        .machine("server", "256MiB")
        .disk("data", "64MiB", "/srv/data")
        .nfsd(2, &["3", "4.2"], "/srv/data", "rw,sync,no_root_squash");
    let lab = server.machine("client", "256MiB").link("lan", ["server", "client"]);
    let Some(machines) = up("reads", &lab) else { return };
    let program = &machines.beds.program;
    let words = ["check", EXPORT, "--on=lab://reads/client", "--host=lab://reads/server"];
    // Files and calls as the trace has them.
    let load = ["--pattern=random-read", "--block=4KiB", "--size=1MiB", "--workers=1", "--depth=1"];
    let length = ["--time=5s", "--repeats=6", "--max-time=10min", "--details", "--quiet"];
    eprintln!("{}", program.run(&[&words[..], &load, &length].concat()).expect(0).out);
    let found = findings(&program.latest());
    let levels = &found.workloads[0].cells[0].levels;
    let server = levels.get(&Metric::all(Measure::SERVER_CPU_PER_OP)).expect("it is watched");
    let interval = server.interval.expect("several trials");
    let latency = levels.get(&Metric::all(Measure::LATENCY_MEAN)).map(|level| level.estimate);

    let words = ["trace", "lab://reads/server", "nfsd", "--on=lab://reads/client", "--target"];
    let more = [EXPORT, "--payload=4KiB", "--repeats=3", "--max-time=10min", "--quiet"];
    eprintln!("{}", program.run(&[&words[..], &more].concat()).expect(0).out);
    let study = program.latest();
    // The READs are before the WRITEs.
    let reads = complete(&study, 0, 0);
    let [untraced, traced, corrected] = [TraceJob::UNTRACED, TraceJob::TRACED, TraceJob::CORRECTED]
        .map(|measure| middle(&reads, measure));
    eprintln!(
        "One READ of 4 KiB: CPU time of the server {} [{} to {}], latency at the client {}. In nfsd_dispatch: untraced {}, \
         traced {}, corrected {}",
        microseconds(server.estimate),
        microseconds(interval.low),
        microseconds(interval.high),
        known(latency),
        known(untraced),
        known(traced),
        known(corrected)
    );
    assert!(interval.low > 0.0, "the server's CPU time is not distinguishable from idle");
    assert!(untraced.is_some() && traced.is_some(), "no READ was traced");
    let Some(corrected) = corrected else {
        return eprintln!("The trace has the counts alone.");
    };
    let ratio = corrected / server.estimate;
    assert!((ratio - 1.0).abs() <= CLOSE, "the corrected time is {ratio:.2} of the server's");
}

/// Rules of the router that no packet matches, each of which calls a function.
const RULES: u32 = 200;
/// Levels of the ruleset. Each lacks one part more than the one before it.
const LEVELS: &str = "--set=nft-ruleset=as-found,only-nat,only-tracking,none";
/// The parts, in the order in which the levels lack them.
const PARTS: [PathPart; 3] = [PathPart::Rules, PathPart::Nat, PathPart::Conntrack];

/// Address translation towards `right`, and rules.
fn ruleset() -> String {
    let rules = rules("forward", RULES);
    format!(
        "table ip nat {{\n chain post {{\n  type nat hook postrouting priority 100;\n  \
         oifname \"right\" masquerade\n }}\n}}\n{rules}"
    )
}

/// A cost of each part, with its interval.
struct Costs {
    name: &'static str,
    /// Factor from the figures to the unit in the name.
    scale: f64,
    parts: Vec<Interval>,
    /// Figure of a whole packet with all parts.
    whole: Option<f64>,
}

impl Costs {
    /// By `net --parts`.
    fn by_net(study: &Study) -> Costs {
        let all = part_costs(study);
        let costs = all.first().expect("parts were measured");
        assert!(!costs.passes_by(), "the router did not see the frames: {costs:?}");
        let interval = |part: PathPart| {
            let own = costs.parts.iter().find(|own| own.part == part)?;
            let is_compared = match own.verdict {
                PartVerdict::Costs | PartVerdict::Saves | PartVerdict::NoDifference => true,
                PartVerdict::TooFewBlocks
                | PartVerdict::Lost { .. }
                | PartVerdict::Failed { .. } => false,
            };
            own.cost.interval.filter(|_| is_compared)
        };
        let parts = PARTS.iter().map(|part| {
            interval(*part).unwrap_or_else(|| panic!("no interval of {part}: {costs:?}"))
        });
        let parts = parts.collect();
        Costs { name: "µs of CPU by net", scale: 1e6, parts, whole: costs.whole }
    }

    /// Numbers of functions by a trace: a number without a figure is 0, and its interval has the number of each block.
    fn counts(study: &Study, name: &'static str, metric: Metric) -> Option<Costs> {
        let range = |values: &[f64]| {
            let low = values.iter().copied().reduce(f64::min)?;
            let high = values.iter().copied().reduce(f64::max)?;
            Some(Interval { low, estimate: mean(values)?, high })
        };
        let by_level = |level| by_block(study, level, metric, Some(0.0));
        Costs::by_trace(name, 1.0, by_level, range)
    }

    /// Times by a trace; `None` unless it has them under all levels.
    fn times(study: &Study, name: &'static str, measure: Measure) -> Option<Costs> {
        let by_level = |level| by_block(study, level, Metric::all(measure), None);
        Costs::by_trace(name, 1e6, by_level, |values| t_interval(values, 0.95))
    }

    fn by_trace(
        name: &'static str,
        scale: f64,
        by_level: impl Fn(u16) -> BTreeMap<u32, f64>,
        interval: impl Fn(&[f64]) -> Option<Interval>,
    ) -> Option<Costs> {
        let part = |(with, _): (u16, &PathPart)| {
            let without = by_level(with + 1);
            let with = by_level(with).into_iter();
            let differences: Vec<f64> =
                with.filter_map(|(block, with)| Some(with - without.get(&block)?)).collect();
            interval(&differences)
        };
        let parts = (0..).zip(&PARTS).map(part).collect::<Option<Vec<Interval>>>()?;
        let whole: Vec<f64> = by_level(0).into_values().collect();
        Some(Costs { name, scale, parts, whole: mean(&whole) })
    }

    /// Shares of the whole packet; `None` if it has no figure.
    fn shares(&self) -> Option<Vec<Interval>> {
        let whole = self.whole.filter(|whole| *whole > 0.0)?;
        Some(self.parts.iter().map(|part| scaled(part, 1.0 / whole)).collect())
    }

    /// Which of two parts costs more; `None` if their intervals overlap.
    fn order(&self, a: usize, b: usize) -> Option<Ordering> {
        let (a, b) = (&self.parts[a], &self.parts[b]);
        if a.high < b.low {
            Some(Ordering::Less)
        } else if a.low > b.high {
            Some(Ordering::Greater)
        } else {
            None
        }
    }

    fn print(&self) {
        for (part, interval) in PARTS.iter().zip(&self.parts) {
            eprintln!("{}: {part} {}", self.name, words(&scaled(interval, self.scale)));
        }
    }
}

fn scaled(interval: &Interval, factor: f64) -> Interval {
    let Interval { low, estimate, high } = *interval;
    Interval { low: factor * low, estimate: factor * estimate, high: factor * high }
}

/// "2.10 [1.90 to 2.30]".
fn words(interval: &Interval) -> String {
    format!("{:.2} [{:.2} to {:.2}]", interval.estimate, interval.low, interval.high)
}

/// A figure under a level, block by block.
fn by_block(study: &Study, level: u16, metric: Metric, absent: Option<f64>) -> BTreeMap<u32, f64> {
    let figure = |trial: &Trial| Some((trial.block?, trial.result.value(0, metric).or(absent)?));
    complete(study, 0, level).into_iter().filter_map(figure).collect()
}

/// A router with rules and address translation. A function is no unit of time, so only the order of the parts is compared,
/// and shares where the trace has times.
#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_parts_against_trace() {
    let a = LabFile::new().namespace("a").set("gateway", "r");
    let router = a.machine("r", "256MiB").line(format_args!("forward = true"));
    let b = router.namespace("b").set("gateway", "r");
    let lab = b.link("left", ["a", "r"]).link("right", ["r", "b"]);
    let Some(machines) = up("x", &lab) else { return };
    let beds = &machines.beds;
    beds.on("x/r", &format!("nft -f - <<'END'\n{}END\n", ruleset()));
    let address = "ip -4 -o address show dev right | sed 's/.* inet \\([0-9.]*\\).*/\\1/'";
    let to = format!("--to={}", beds.on("x/b", address).trim());

    let words_of_net = ["net", "lab://x/a", "lab://x/b", "--via=lab://x/r"];
    let parts = ["--parts=rules,conntrack,nat", "--frames=512"];
    // Costs in emulated machines differ by half of a packet's from block to block.
    let length = ["--repeats=24", "--max-time=30min", "--quiet"];
    let ran = beds.program.run(&[&words_of_net[..], &parts, &length].concat());
    eprintln!("{}{}", ran.out, ran.err);
    // Busy machines may fail some of the trials, with exit code 1.
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let net = Costs::by_net(&beds.program.latest());

    let words_of_trace = ["trace", "lab://x/r", "forward", "--from=lab://x/a", &to, LEVELS];
    let length = ["--payload=400", "--repeats=2", "--max-time=15min", "--quiet"];
    eprintln!("{}", beds.program.run(&[&words_of_trace[..], &length].concat()).expect(0).out);
    let study = beds.program.latest();
    let netfilter = Metric::for_kind(block_kind("netfilter").unwrap(), TraceJob::FUNCTIONS);
    let functions = Costs::counts(&study, "functions of netfilter", netfilter);
    let functions = functions.expect("packets were traced under all levels");
    let all = Costs::counts(&study, "functions", Metric::all(TraceJob::FUNCTIONS));
    let untraced = Costs::times(&study, "µs untraced", TraceJob::UNTRACED);
    let corrected = Costs::times(&study, "µs corrected", TraceJob::CORRECTED);
    for costs in [&net, &functions].into_iter().chain(all.iter()).chain(untraced.iter()) {
        costs.print();
    }
    match &corrected {
        Some(corrected) => {
            corrected.print();
            print_shares(&net, corrected);
        }
        None => eprintln!("The trace has no corrected time of a packet under all levels."),
    }

    let (mut agree, mut wrong) = (0, Vec::new());
    for traced in [Some(&functions), corrected.as_ref()].into_iter().flatten() {
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let (by_net, by_trace) = (net.order(a, b), traced.order(a, b));
            match by_net.zip(by_trace) {
                Some((by_net, by_trace)) if by_net == by_trace => agree += 1,
                Some(_) => wrong.push(format!("{} and {} by {}", PARTS[a], PARTS[b], traced.name)),
                None => {}
            }
        }
    }
    eprintln!("{agree} pairs have the same order, {} another one", wrong.len());
    assert!(wrong.is_empty(), "in another order than by net: {wrong:?}");
    assert!(agree > 0, "no pair has an order by both");
}

/// The shares of a packet that the parts have by both, and whether each is within the interval of the other.
fn print_shares(net: &Costs, trace: &Costs) {
    let Some((by_net, by_trace)) = net.shares().zip(trace.shares()) else { return };
    for (part, (net, trace)) in PARTS.iter().zip(by_net.iter().zip(&by_trace)) {
        eprintln!(
            "share of {part}: by net {}, by trace {}; trace within net: {}, net within trace: {}",
            words(net),
            words(trace),
            net.contains(trace.estimate),
            trace.contains(net.estimate)
        );
    }
}
