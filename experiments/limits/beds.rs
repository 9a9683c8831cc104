//! The labs, and cases drawn for them.

use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_model::Study;
use plimsoll_stats::order::generator;
use plimsoll_testkit::Need;
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which lab, and with it which candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bed {
    /// The rate of the link in Mbit/s, and of the server's and the client's processors hundredths of a core.
    Namespaces,
    /// The link's delay in ms each way, the disk's latency in ms, or of sequential reads its rate in MB/s; and
    /// the server's threads. 0 where there is none.
    Machines,
}

fn namespaces() -> LabFile {
    let server = LabFile::new().namespace("server").set("cpu", "50%").ganesha("256MiB");
    let client = server.namespace("client").set("cpu", "50%");
    client.link("cable", ["server", "client"]).set("rate", "400Mbit/s")
}

fn machines() -> LabFile {
    LabFile::new()
        .machine("server", "384MiB")
        .disk("data", "256MiB", "/srv/data")
        .nfsd(8, &["3"], "/srv/data", "rw,async,no_root_squash,insecure")
        .machine("client", "384MiB")
        .link("cable", ["server", "client"])
}

impl Bed {
    pub fn lab(self) -> LabFile {
        match self {
            Bed::Namespaces => namespaces(),
            Bed::Machines => machines(),
        }
    }

    pub fn needs(self) -> &'static [Need] {
        match self {
            Bed::Namespaces => &[Need::Namespaces, Need::Ganesha],
            Bed::Machines => &[Need::Machines],
        }
    }

    pub fn candidates(self) -> [&'static str; 3] {
        match self {
            Bed::Namespaces => ["link", "server", "client"],
            Bed::Machines => ["round trips", "disk", "threads"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub bed: Bed,
    /// Of the candidates, in their units.
    pub values: [f64; 3],
    pub pattern: Pattern,
    pub workers: u16,
    pub hidden: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    SequentialRead,
    RandomRead,
    RandomWrite,
}

const PATTERNS: [Pattern; 3] = [Pattern::SequentialRead, Pattern::RandomRead, Pattern::RandomWrite];

/// The n-th case of a seed.
pub fn drawn(seed: u64, number: u64, bed: Bed, hidden: bool) -> Case {
    let mut draw = match bed {
        Bed::Namespaces => generator(seed, &format!("limit {number} {hidden}")),
        Bed::Machines => generator(seed, &format!("limit of machines {number}")),
    };
    let mut uniform = || f64::from(draw.next_u32()) / f64::from(u32::MAX);
    match bed {
        Bed::Namespaces => in_namespaces(&mut uniform, hidden),
        Bed::Machines => in_machines(&mut uniform),
    }
}

fn between(low: f64, high: f64, uniform: f64) -> f64 {
    low * (high / low).powf(uniform)
}

/// Two candidates have plenty, or one in four times one of them; the third is tight.
fn in_namespaces(uniform: &mut dyn FnMut() -> f64, hidden: bool) -> Case {
    let mut any = |low: f64, high: f64| between(low, high, uniform());
    let tight = [any(20.0, 120.0), any(2.0, 6.0), any(2.0, 6.0)];
    let plenty = [any(300.0, 480.0), any(35.0, 50.0), any(35.0, 50.0)];
    let which = if hidden { 1 } else { (uniform() * 3.0) as usize % 3 };
    let second = if !hidden && uniform() < 0.25 { (which + 1) % 3 } else { which };
    let pick = |n: usize| if n == which || n == second { tight[n] } else { plenty[n] };
    Case {
        bed: Bed::Namespaces,
        values: [pick(0).round(), pick(1).round(), pick(2).round()],
        pattern: PATTERNS[(uniform() * 3.0) as usize % 3],
        workers: if uniform() < 0.3 { 1 } else { 4 },
        hidden,
    }
}

/// The same. Threads that are too few are only felt where they wait for a disk, and a disk only where it is read.
fn in_machines(uniform: &mut dyn FnMut() -> f64) -> Case {
    let mut any = |low: f64, high: f64| between(low, high, uniform()).round();
    let (delay, latency, rate) = (any(6.0, 25.0), any(12.0, 40.0), any(1.0, 4.0));
    let which = (uniform() * 3.0) as usize % 3;
    let both = which < 2 && uniform() < 0.25;
    let pattern = match which {
        0 if !both => PATTERNS[(uniform() * 3.0) as usize % 3],
        0 | 1 => PATTERNS[(uniform() * 2.0) as usize % 2],
        _ => Pattern::RandomRead,
    };
    let disk = if pattern == Pattern::SequentialRead { rate } else { latency };
    Case {
        bed: Bed::Machines,
        values: [
            if which == 0 || both { delay } else { 0.0 },
            if which > 0 || both { disk } else { 0.0 },
            if which == 2 { 1.0 } else { 8.0 },
        ],
        pattern,
        workers: if which < 2 && uniform() < 0.3 { 1 } else { 4 },
        hidden: false,
    }
}

/// A value of `lab set`.
fn or_none(value: f64, unit: &str) -> String {
    if value > 0.0 { format!("{value}{unit}") } else { "none".to_owned() }
}

/// Tight processors as times those that are drawn, and links that have plenty.
const LARGER: f64 = 2.5;
/// In hundredths of a core.
const WHOLE_CORE: f64 = 100.0;

impl Case {
    /// Whether a candidate is short; machines have those alone that are.
    pub fn is_tight(&self, which: usize) -> bool {
        const LEAST_PLENTY: [f64; 3] = [300.0, 35.0, 35.0];
        self.bed == Bed::Machines || self.values[which] < LEAST_PLENTY[which]
    }

    /// The same with processors of 5 to 15% of a core where they are tight. With 2 to 4%, a processor works for a
    /// millisecond of each 25 to 50, and two studies of the same lab differ by up to 30%.
    pub fn with_larger_quotas(mut self) -> Case {
        if self.bed == Bed::Namespaces {
            for which in 0..self.values.len() {
                let is_processor = which > 0;
                if is_processor == self.is_tight(which) {
                    self.values[which] = (LARGER * self.values[which]).round();
                }
            }
        }
        self
    }

    /// Twice as much of one candidate: of what is a delay, half as long.
    pub fn doubled(self, which: usize) -> Case {
        self.faster(which, 2.0)
    }

    /// So many times as much of one candidate, of a processor at most a whole core: of what is a delay, shorter by
    /// this factor.
    pub fn faster(mut self, which: usize, factor: f64) -> Case {
        let value = &mut self.values[which];
        match (self.bed, which) {
            // Delays of a lab are whole microseconds.
            (Bed::Machines, 0) => *value = (1e3 * *value / factor).round() / 1e3,
            (Bed::Machines, 1) if self.pattern != Pattern::SequentialRead => {
                *value = (*value / factor).round();
            }
            (Bed::Machines, 2) => *value = (*value * factor).round(),
            (Bed::Namespaces, 1 | 2) => *value = (*value * factor).min(WHOLE_CORE),
            _ => *value *= factor,
        }
        self
    }

    /// Sets the lab.
    fn set(&self, beds: &Beds) {
        let set = |what: &str, value: String| beds.lab(&["set", "bed", what, &value]).expect(0);
        let [first, second, third] = self.values;
        match self.bed {
            Bed::Namespaces => {
                set("cable", format!("rate={first}Mbit/s"));
                set("server", format!("cpu={second}%"));
                set("client", format!("cpu={third}%"));
            }
            Bed::Machines => {
                let is_rate = self.pattern == Pattern::SequentialRead;
                let (latency, rate) = if is_rate { (0.0, second) } else { (second, 0.0) };
                set("cable", format!("delay={}", or_none((1e3 * first).round(), "us")));
                set("server/data", format!("latency={}", or_none(latency, "ms")));
                set("server/data", format!("rate={}", or_none(rate, "MB/s")));
                beds.on("bed/server", &format!("echo {third} >/proc/fs/nfsd/threads"));
            }
        }
    }

    /// Sets the lab, measures, and what came of it.
    pub fn measure(&self, beds: &Beds, explain: bool) -> Study {
        self.set(beds);
        let (url, size, extra) = match self.bed {
            Bed::Namespaces => ("nfs://server/srv/data", "--size=16MiB", None),
            Bed::Machines => {
                ("nfs://server/srv/data?uid=0&gid=0", "--size=8MiB", Some("--drop-caches"))
            }
        };
        let (pattern, workers) = (format!("--pattern={}", self.name()), self.workers);
        let workers = format!("--workers={workers}");
        let mut line = vec!["check", url, "--on=lab://bed/client", &pattern, &workers, size];
        line.extend(["--repeats=4", "--time=1s", "--quiet", "--baseline=1s", "--max-time=3m"]);
        line.extend(extra);
        if self.bed == Bed::Machines && self.pattern == Pattern::SequentialRead {
            line.push("--block=64KiB");
        }
        if !self.hidden {
            line.push("--host=lab://bed/server");
        }
        if explain {
            line.push("--explain");
        }
        let ran = beds.program.run(&line);
        assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.err);
        beds.program.latest()
    }

    fn name(&self) -> &'static str {
        match self.pattern {
            Pattern::SequentialRead => "sequential-read",
            Pattern::RandomRead => "random-read",
            Pattern::RandomWrite => "random-write",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.bed.candidates().into_iter().zip(self.values) {
            write!(f, "{name} {value}, ")?;
        }
        write!(f, "{} x{}", self.name(), self.workers)
    }
}
