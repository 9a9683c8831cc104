//! Routers whose bottleneck is known by construction, drawn by seed: is the one that `net --via` names the true one? The
//! truth is measured, too: a case is void if twice as much of the tight resource does not bring more.
//!
//! Hosts in namespaces share a kernel, so that the sender does the work of the router. A router whose CPU is tight is a
//! machine.

use super::bottlenecks::in_turn;
use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use crate::support::pair::program;
use crate::support::router::ROUTED;
use plimsoll_explain::{RateLimit, forwarded};
use plimsoll_model::{Measure, Metric, Outcome, Study};
use plimsoll_stats::order::{generator, unit};
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};
use std::fmt;

const SEED: u64 = 37;
const CASES: u64 = 15;
/// Wanted: right at least, wrong at most.
const WANTED: (u32, u32) = (12, 1);
/// Twice as much of the tight resource brings at least so much, or the case is void.
const HELPS: f64 = 0.3;
/// Bytes of the frames.
const FRAME: &str = "--frames=512";

/// The tight resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tight {
    /// A token bucket of the router, with a queue.
    Shaper,
    /// Rules of the router that drop what is beyond a rate: no counter of a queue shows them.
    Policer,
    /// The CPU of the router, a machine of one core, which compares each frame with a thousand rules and more.
    Rules,
    /// The sender: nothing of the router is tight.
    Sender,
}

const KINDS: [Tight; 4] = [Tight::Shaper, Tight::Policer, Tight::Rules, Tight::Sender];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    tight: Tight,
    /// Mbit/s of a shaper, frames/s of a policer, or a number of rules.
    value: f64,
    queue_ms: f64,
}

/// The n-th case of a seed.
fn drawn(seed: u64, number: u64) -> Case {
    let tight = in_turn(&KINDS, seed, number);
    let mut draw = generator(seed, &format!("case {number}"));
    let mut any = |low: f64, high: f64| low * (high / low).powf(unit(&mut draw));
    let value = match tight {
        Tight::Shaper => any(4.0, 40.0),
        Tight::Policer => any(1e3, 1e4),
        Tight::Rules => any(1e3, 4e3),
        Tight::Sender => 0.0,
    };
    Case { tight, value: value.round(), queue_ms: any(5.0, 50.0).round() }
}

impl Case {
    /// Twice as much of the tight resource.
    fn doubled(&self) -> Case {
        let value = if self.tight == Tight::Rules { self.value / 2.0 } else { 2.0 * self.value };
        Case { value, ..self.clone() }
    }

    /// What sets the router, as a line of shell.
    fn line(&self) -> String {
        let Case { value, queue_ms, .. } = self;
        let chain = "chain forward { type filter hook forward priority 0;";
        match self.tight {
            Tight::Shaper => format!(
                "tc qdisc replace dev outer root tbf rate {value}mbit burst 6000 latency {queue_ms}ms"
            ),
            Tight::Policer => format!(
                "nft 'table ip police {{ {chain} limit rate over {value}/second burst 20 packets drop; }}; }}'"
            ),
            Tight::Rules => format!(
                "{{ echo 'table ip many {{ {chain}'; seq {value:.0} | sed 's|.*|udp dport 1 ip saddr 10.9.9.9 \
                 ip id & drop|'; echo '}}; }}'; }} | nft -f -"
            ),
            Tight::Sender => "true".to_owned(),
        }
    }

    /// The study; `None`, with the reason printed, if it has no rate.
    fn measure(&self, labs: &mut Labs) -> Option<Study> {
        let beds = labs.of(self.tight);
        beds.on("line/router", &self.line());
        let hosts = ["net", "lab://line/lan", "lab://line/wan", "--via=lab://line/router"];
        let words = [FRAME, "--direction=out", "--quick", "--json=-"];
        let ran = beds.program.run(&[&hosts[..], &words].concat());
        beds.on("line/router", "nft flush ruleset; tc qdisc del dev outer root 2>&1 || true");
        let study: Option<Study> = plimsoll_record::from_json(&ran.out).ok();
        if study.as_ref().and_then(rate).is_none() {
            let first = study.as_ref().and_then(|study| study.trials.first());
            let outcome = first.map(|trial| &trial.result.outcome);
            println!("{self}: exit code {:?}: {}{outcome:?}", ran.code, ran.err);
            return None;
        }
        study
    }
}

/// The labs, each up once it is needed.
#[derive(Default)]
struct Labs {
    namespaces: Option<Beds>,
    machine: Option<Beds>,
}

impl Labs {
    /// The lab of a case, `line`.
    fn of(&mut self, tight: Tight) -> &Beds {
        let up = |lab: &dyn Fn(&Beds)| {
            let beds = Beds::with_program(program());
            lab(&beds);
            beds
        };
        match tight {
            Tight::Rules => {
                self.machine.get_or_insert_with(|| up(&|beds| beds.up("line", &router())))
            }
            _ => self.namespaces.get_or_insert_with(|| {
                up(&|beds| {
                    let file = beds.file("line", ROUTED);
                    beds.lab(&["up", &file, "--quiet"]).expect(0);
                })
            }),
        }
    }
}

/// The same hosts as in namespaces, with a router that is a machine.
fn router() -> LabFile {
    let lan = LabFile::new().namespace("lan").set("gateway", "router");
    let router = lan.machine("router", "256MiB").line(format_args!("forward = true"));
    let wan = router.namespace("wan").set("gateway", "router");
    wan.link("inner", ["lan", "router"]).link("outer", ["router", "wan"])
}

/// Frames a second that are kept.
fn rate(study: &Study) -> Option<f64> {
    let result = &study.trials.first()?.result;
    let is_complete = result.outcome == Outcome::Complete;
    result.value(0, Metric::all(Measure::FORWARDED)).filter(|_| is_complete)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { value, queue_ms, .. } = self;
        match self.tight {
            Tight::Shaper => write!(f, "shaper, {value} Mbit/s, queue of {queue_ms} ms"),
            Tight::Policer => write!(f, "policer, {value} frames/s"),
            Tight::Rules => write!(f, "{value} rules"),
            Tight::Sender => f.write_str("sender"),
        }
    }
}

/// What a study names; `None` for "cannot tell".
fn named(study: &Study) -> Option<(RateLimit, Option<Tight>)> {
    let limit = forwarded(study).into_iter().next()?.limit;
    let tight = match &limit {
        RateLimit::Queue { .. } => Some(Tight::Shaper),
        RateLimit::NotCpu { .. } => Some(Tight::Policer),
        RateLimit::Core { .. } | RateLimit::CpuQueue { .. } => Some(Tight::Rules),
        RateLimit::Sender => Some(Tight::Sender),
        RateLimit::Link { .. } => None,
        RateLimit::Unknown => return None,
    };
    Some((limit, tight))
}

/// A case that was measured.
#[derive(Serialize, Deserialize)]
struct Row {
    case: Case,
    /// `None` where no rate was found.
    study: Option<Study>,
    /// With the tight resource doubled, over the rate, less one; `None` for the sender.
    gain: Option<f64>,
    load: String,
}

fn measured(labs: &mut Labs, case: Case) -> Row {
    let load = load_average();
    let study = case.measure(labs);
    let kept = study.as_ref().and_then(rate);
    let gain = kept.filter(|_| case.tight != Tight::Sender).map(|kept| {
        let more = case.doubled().measure(labs).as_ref().and_then(rate);
        more.map_or(0.0, |more| more / kept - 1.0)
    });
    Row { case, study, gain, load }
}

#[test]
#[ignore = "takes a quarter of an hour, and a quiet machine: make measure-net"]
fn measure_net_via_bottlenecks() {
    let seed = setting("PLIMSOLL_SEED", SEED);
    if ![Need::Namespaces, Need::Machines].into_iter().all(available) {
        return;
    }
    let mut labs = Labs::default();
    let (mut kept, until) =
        (Kept::<Row>::open(&format!("net-via-bottlenecks-{seed}.jsonl")), Until::now());
    let (mut right, mut wrong, mut unknown, mut void) = (0, 0, 0, 0);
    let wanted = setting("PLIMSOLL_CASES", CASES);
    for number in 0.. {
        if u64::from(right + wrong + unknown) == wanted || void > 15 {
            break;
        }
        if kept.cases.len() <= number {
            if until.is_over() {
                break;
            }
            until_quiet();
            kept.add(measured(&mut labs, drawn(seed, number as u64)));
        }
        let Row { case, study, gain, load } = &kept.cases[number];
        let found = study.as_ref().and_then(named);
        let is_void = study.is_none() || gain.is_some_and(|gain| gain < HELPS);
        let (word, count) = match &found {
            _ if is_void => ("void", &mut void),
            None => ("cannot tell", &mut unknown),
            Some((_, tight)) if *tight == Some(case.tight) => ("right", &mut right),
            Some(_) => ("WRONG", &mut wrong),
        };
        *count += 1;
        let kept = study.as_ref().and_then(rate).unwrap_or(f64::NAN);
        let gain = gain.map_or_else(|| "–".to_owned(), |gain| format!("{:+.0}%", 100.0 * gain));
        let limit = found.map(|(limit, _)| limit);
        println!(
            "{number:2} {case}: {kept:.0} frames/s, doubled {gain}; named {limit:?}: {word}; load {load}"
        );
    }
    let all = right + wrong + unknown;
    println!(
        "seed {seed}: right {}, wrong {}, cannot tell {unknown}, {void} void; wanted of {CASES}: {} right at least, {} \
         wrong at most",
        words(right, all),
        words(wrong, all),
        WANTED.0,
        WANTED.1
    );
}
