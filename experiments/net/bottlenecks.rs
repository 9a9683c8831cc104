//! Bottlenecks that are known by construction, drawn by seed: is the one that a study names the true one? A case has
//! one resource that is tight; the others have plenty. The truth is measured, too: a case whose goodput does not rise
//! when the tight resource is doubled is void, and so is one in which this machine itself was busy.

use super::{figure, study};
use crate::kept::{Kept, Until, load_average, place, setting, until_quiet, words};
use crate::limits::{BUSY, busy};
use crate::support::beds::Beds;
use crate::support::pair::lab_named;
use crate::support::router::ROUTED;
use plimsoll_explain::{PathBottleneck, PathEnd, path_limits};
use plimsoll_model::{Measure, Study};
use plimsoll_stats::order::{generator, shuffled, unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// The client is A, the server B; what shapes is the router between them, which is not in the study.
pub(super) const HOSTS: [&str; 2] = ["lab://line/wan", "lab://line/lan"];
const SEED: u64 = 36;
const CASES: u64 = 20;
/// Wanted of twenty: right at least, wrong at most.
const WANTED: (u32, u32) = (17, 1);
/// Twice as much of the tight resource brings at least so much, or the case is void.
const HELPS: f64 = 0.3;

/// The tight resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tight {
    /// A link of an end, whose rate the lab knows.
    Link,
    /// A's share of a core.
    Client,
    /// B's share of a core.
    Server,
    /// Socket buffers over a long round trip.
    Window,
    /// A token bucket at the router.
    Shaper,
}

const KINDS: [Tight; 5] = [Tight::Link, Tight::Client, Tight::Server, Tight::Window, Tight::Shaper];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    tight: Tight,
    /// Mbit/s of a link or a shaper, hundredths of a core, or KiB of the socket buffers.
    value: f64,
    /// The link at B instead of A; ms of the shaper's queue; ms of delay in each direction.
    at_b: bool,
    queue_ms: f64,
    delay_ms: f64,
    /// Data from B to A.
    inward: bool,
    streams: u16,
}

/// The kind of the n-th case of a seed: as many in a row as there are kinds have each kind once.
pub(super) fn in_turn<T: Copy>(kinds: &[T], seed: u64, number: u64) -> T {
    let count = kinds.len() as u64;
    let mut order = generator(seed, &format!("kinds {}", number / count));
    kinds[shuffled(kinds.len(), &mut order)[(number % count) as usize]]
}

/// The n-th case of a seed.
fn drawn(seed: u64, number: u64) -> Case {
    let tight = in_turn(&KINDS, seed, number);
    let mut draw = generator(seed, &format!("case {number}"));
    let mut any = |low: f64, high: f64| low * (high / low).powf(unit(&mut draw));
    let value = match tight {
        Tight::Link | Tight::Shaper => any(20.0, 200.0),
        Tight::Client | Tight::Server => any(5.0, 20.0),
        Tight::Window => any(16.0, 64.0),
    };
    Case {
        tight,
        value: value.round(),
        queue_ms: any(5.0, 80.0).round(),
        delay_ms: any(5.0, 20.0).round(),
        at_b: any(1.0, 2.0) > 1.5,
        inward: any(1.0, 2.0) > 1.5,
        streams: if any(1.0, 2.0) > 1.5 && tight != Tight::Window { 4 } else { 1 },
    }
}

impl Case {
    fn doubled(&self) -> Case {
        Case { value: 2.0 * self.value, ..self.clone() }
    }

    /// Sets the lab, measures, and lifts everything again.
    fn measure(&self, beds: &Beds) -> Option<Study> {
        let set = |what: &str, value: String| beds.lab(&["set", "line", what, &value]).expect(0);
        let (value, link) = (self.value, if self.at_b { "inner" } else { "outer" });
        // The router sends to B over one link, and to A over the other.
        let towards = if self.inward { "outer" } else { "inner" };
        match self.tight {
            Tight::Link => drop(set(link, format!("rate={value}Mbit/s"))),
            Tight::Client => drop(set("wan", format!("cpu={value}%"))),
            Tight::Server => drop(set("lan", format!("cpu={value}%"))),
            Tight::Window => delay(beds, self.delay_ms),
            Tight::Shaper => {
                let bucket = format!("rate {value}mbit burst 16k latency {}ms", self.queue_ms);
                beds.on("line/router", &format!("tc qdisc add dev {towards} root tbf {bucket}"));
            }
        }
        let (streams, buffer) =
            (format!("--streams={}", self.streams), format!("--socket-buffer={value}KiB"));
        let job = if self.inward { "--job=tcp-in" } else { "--job=tcp-out" };
        let mut line = vec!["--quick", "--time=2500ms", job, &streams];
        if self.tight == Tight::Window {
            line.push(&buffer);
        }
        let study = study(beds, HOSTS, &line);
        match self.tight {
            Tight::Link => drop(set(link, "rate=none".to_owned())),
            Tight::Client => drop(set("wan", "cpu=none".to_owned())),
            Tight::Server => drop(set("lan", "cpu=none".to_owned())),
            Tight::Window => {
                beds.on("line/router", "kill $(cat /run/delay)");
            }
            Tight::Shaper => {
                beds.on("line/router", &format!("tc qdisc del dev {towards} root"));
            }
        }
        study
    }
}

/// Delays packets at the router, in each direction.
fn delay(beds: &Beds, ms: f64) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/net/delay.py");
    beds.on(
        "line/router",
        &format!(
            "rm -f /run/ready; setsid python3 {program} {ms} outer inner >/run/ready 2>/run/complaint & \
             echo $! >/run/delay; for n in $(seq 200); do [ -s /run/ready ] && exit 0; sleep 0.05; done; \
             cat /run/complaint >&2; exit 1"
        ),
    );
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { value, .. } = self;
        match self.tight {
            Tight::Link if self.at_b => write!(f, "link of B, {value} Mbit/s")?,
            Tight::Link => write!(f, "link of A, {value} Mbit/s")?,
            Tight::Client => write!(f, "client, {value}% of a core")?,
            Tight::Server => write!(f, "server, {value}% of a core")?,
            Tight::Window => write!(f, "buffers of {value} KiB, {} ms each way", self.delay_ms)?,
            Tight::Shaper => write!(f, "shaper, {value} Mbit/s, queue of {} ms", self.queue_ms)?,
        }
        write!(f, ", {}, x{}", if self.inward { "in" } else { "out" }, self.streams)
    }
}

/// The kind of a bottleneck that was named; `None` for "cannot tell".
fn kind(named: &PathBottleneck) -> Result<Tight, Option<String>> {
    let of_end = |end: &PathEnd| match end {
        PathEnd::A => Ok(Tight::Client),
        PathEnd::B => Ok(Tight::Server),
        // No case has a router, or a machine that is short of cores.
        PathEnd::Router => Err(Some("the router".to_owned())),
        PathEnd::Both => Err(Some("a shared core".to_owned())),
    };
    match named {
        PathBottleneck::Link { .. } => Ok(Tight::Link),
        PathBottleneck::Core { end, .. }
        | PathBottleneck::Process { end, .. }
        | PathBottleneck::Quota { end, .. } => of_end(end),
        PathBottleneck::ReceiveWindow { .. } | PathBottleneck::SendBuffer { .. } => {
            Ok(Tight::Window)
        }
        // What is not monitored: its queue grows, or it drops packets.
        PathBottleneck::Queue { .. } | PathBottleneck::Loss { .. } => Ok(Tight::Shaper),
        PathBottleneck::Unknown { .. } => Err(None),
    }
}

/// A case that was measured; its study is kept beside it.
#[derive(Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: Case,
    /// Why it does not count; empty where it does.
    void: String,
    /// Payload bytes per second, and with the tight resource doubled over that, less one.
    goodput: f64,
    gain: f64,
    load: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Void,
    Right,
    Wrong,
    CannotTell,
}

fn measured(beds: &Beds, seed: u64, number: u64) -> Row {
    let case = drawn(seed, number);
    let mut row = Row {
        seed,
        number,
        case,
        void: String::new(),
        goodput: 0.0,
        gain: 0.0,
        load: load_average(),
    };
    let Some(study) = row.case.measure(beds) else {
        return Row { void: "no complete trial".to_owned(), ..row };
    };
    fs::write(row.place(), serde_json::to_string(&study).expect("JSON")).expect("it is kept");
    row.goodput = figure(&study, Measure::THROUGHPUT).unwrap_or(f64::NAN);
    let busy = busy(&study);
    if busy > BUSY {
        row.void = format!("this machine was {:.0}% busy", 100.0 * busy);
        return row;
    }
    let more = row.case.doubled().measure(beds);
    let more = more.and_then(|more| figure(&more, Measure::THROUGHPUT)).unwrap_or(f64::NAN);
    row.gain = more / row.goodput - 1.0;
    if row.gain.is_nan() || row.gain < HELPS {
        row.void = "twice as much does not help".to_owned();
    }
    row
}

impl Row {
    fn place(&self) -> PathBuf {
        place(&format!("net-bottleneck-{}-{}.json", self.seed, self.number))
    }

    /// What is named today, and whether that is right.
    fn judged(&self) -> (String, Judgement) {
        let text = fs::read_to_string(self.place()).unwrap_or_default();
        let study: Option<Study> = serde_json::from_str(&text).ok();
        let limits = study.as_ref().and_then(|study| path_limits(study).into_iter().next());
        let named = limits.map_or(Err(None), |limits| kind(&limits.bottleneck));
        let judgement = match &named {
            _ if !self.void.is_empty() => Judgement::Void,
            Ok(tight) if *tight == self.case.tight => Judgement::Right,
            Err(None) => Judgement::CannotTell,
            _ => Judgement::Wrong,
        };
        let words = match named {
            Ok(tight) => format!("{tight:?}"),
            Err(other) => other.unwrap_or_else(|| "cannot tell".to_owned()),
        };
        (words, judgement)
    }
}

#[test]
#[ignore = "takes five minutes, and a quiet machine: make measure-net"]
fn measure_net_bottlenecks() {
    let seed = setting("PLIMSOLL_SEED", SEED);
    let Some(beds) = lab_named("line", ROUTED) else { return };
    let (mut kept, until) = (Kept::<Row>::open("net-bottlenecks.json"), Until::now());
    let (mut counts, mut voids, mut number) = ([0; 3], 0, 0);
    let wanted = setting("PLIMSOLL_CASES", CASES);
    while u64::from(counts.iter().sum::<u32>()) < wanted {
        let is_it = |row: &Row| (row.seed, row.number) == (seed, number);
        if !kept.cases.iter().any(is_it) {
            // A bed that makes void cases only is not worth the time.
            if until.is_over() || voids > wanted {
                break;
            }
            until_quiet();
            kept.add(measured(&beds, seed, number));
        }
        let row = kept.cases.iter().find(|row| is_it(row)).expect("it is kept");
        let (named, judgement) = row.judged();
        let word = match judgement {
            Judgement::Void => &row.void,
            Judgement::Right => "right",
            Judgement::Wrong => "WRONG",
            Judgement::CannotTell => "cannot tell",
        };
        println!(
            "{number:2} {}: {:.1} Mbit/s, doubled {:+.0}%; named {named}: {word}; load {}",
            row.case,
            8e-6 * row.goodput,
            100.0 * row.gain,
            row.load
        );
        match judgement {
            Judgement::Void => voids += 1,
            Judgement::Right => counts[0] += 1,
            Judgement::Wrong => counts[1] += 1,
            Judgement::CannotTell => counts[2] += 1,
        }
        number += 1;
    }
    let [right, wrong, unknown] = counts;
    let all = right + wrong + unknown;
    println!(
        "seed {seed}: right {}, wrong {}, cannot tell {unknown}, {voids} void; wanted of 20: {} right at least, {} wrong at most",
        words(right, all),
        words(wrong, all),
        WANTED.0,
        WANTED.1
    );
}
