//! Sustained writes against fio, in the same directory of the same machine of a lab: a plain disk, a
//! server with a large write-back cache, and a disk that falls to a third after 20 s.

use crate::fio::Fio;
use crate::kept::{Kept, Until, load_average, place, setting, words};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{findings, writes};
use plimsoll_model::{Burst, Measure, Metric, Study};
use plimsoll_record::{Store, StudyStore};
use plimsoll_stats::interval::mean;
use plimsoll_testkit::{Need, available};
use serde::{Deserialize, Serialize};

/// A machine that drives the load, with a disk for fio and its libraries.
fn client() -> LabFile {
    LabFile::new().machine("client", "256MiB").disk("tools", "192MiB", "/srv/tools")
}

/// What writes are measured on.
struct Storage {
    name: &'static str,
    /// Its lab, from one that has the client alone.
    lab: fn(LabFile) -> LabFile,
    /// Its directory on the client.
    at: &'static str,
    /// A line of shell that sets it up, and the host for that.
    setup: Option<(&'static str, &'static str)>,
    /// What is written over and over, in MiB: more than a cache holds.
    size: u32,
    /// fio writes for so many seconds before it is measured, without a pause: its figure is what is
    /// sustained once the cache is full, or the burst over.
    ramp: u32,
    /// What is wanted of all pairs.
    wanted: &'static str,
}

static STORAGES: [Storage; 3] = [
    Storage {
        name: "plain",
        lab: |client| client.disk("data", "1GiB", "/srv/data").set("rate", "20MB/s"),
        at: "/srv/data",
        setup: None,
        size: 256,
        ramp: 0,
        wanted: "all sustained and within 5%",
    },
    Storage {
        name: "cache",
        lab: |client| {
            client
                .mount_nfs("/mnt/nfs", "server:/srv/data", "vers=4.2")
                .machine("server", "1GiB")
                .disk("data", "3GiB", "/srv/data")
                .set("rate", "10MB/s")
                .nfsd(8, &["4.2"], "/srv/data", "rw,async,no_root_squash")
                .link("cable", ["client", "server"])
        },
        at: "/mnt/nfs",
        // Some 450 MB come at the speed of the link, then the disk's. What is written over while it is
        // still to be written back costs nothing, so there is more than twice as much.
        setup: Some((
            "server",
            "sysctl -q vm.dirty_background_bytes=400000000 vm.dirty_bytes=500000000",
        )),
        size: 1024,
        ramp: 50,
        wanted: "none sustained that is off by more than 5%",
    },
    Storage {
        name: "throttled",
        lab: |client| {
            let disk = client.disk("data", "1GiB", "/srv/data").set("rate", "10MB/s");
            disk.line(format_args!("burst = {{ rate = \"30MB/s\", seconds = 20 }}"))
        },
        at: "/srv/data",
        setup: None,
        size: 256,
        ramp: 40,
        wanted: "none sustained that is off by more than 5%",
    },
];

const MARGIN: f64 = 0.05;
/// A quarter of the cap is enough to condition in, and two minutes are left to measure. A server whose
/// cache is full may be long about a write.
const STUDY: [&str; 4] =
    ["--pattern=sequential-write", "--max-time=320s", "--timeout=120s", "--quiet"];

/// One study, and one run of fio before or after it.
#[derive(Serialize, Deserialize)]
struct Pair {
    study: Option<String>,
    fio_first: bool,
    /// Sustained, or why a burst's; `None` where the study says neither.
    label: Option<Result<(), Burst>>,
    /// Bytes per second; `None` where no trial succeeded.
    plimsoll: Option<f64>,
    interval: Option<(f64, f64)>,
    /// What conditioning came to.
    steady: Option<f64>,
    fio: f64,
}

impl Pair {
    fn ratio(&self) -> Option<f64> {
        Some(self.plimsoll? / self.fio)
    }

    fn is_near(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio.ln().abs() <= MARGIN.ln_1p())
    }

    fn row(&self) -> String {
        let mb = |rate: f64| format!("{:.2}", rate / 1e6);
        let label = match self.label {
            Some(Ok(())) => "sustained".to_owned(),
            Some(Err(why)) => format!("burst ({why:?})"),
            None => "unresolved".to_owned(),
        };
        format!(
            "{label}: plimsoll {} MB/s [{}] (steady at {}), fio {} ({}), ratio {:.3}",
            self.plimsoll.map_or("none".to_owned(), mb),
            self.interval.map_or("none".to_owned(), |(low, high)| format!(
                "{}–{}",
                mb(low),
                mb(high)
            )),
            self.steady.map_or("none".to_owned(), mb),
            mb(self.fio),
            if self.fio_first { "first" } else { "second" },
            self.ratio().unwrap_or(f64::NAN),
        )
    }
}

impl Storage {
    fn lab(&self) -> String {
        format!("writes-{}", self.name)
    }

    fn client(&self) -> String {
        format!("{}/client", self.lab())
    }

    /// Brings its lab up; fio in it.
    fn bring_up(&self, beds: &Beds) -> Fio {
        beds.up(&self.lab(), &(self.lab)(client()));
        if let Some((host, line)) = self.setup {
            beds.on(&format!("{}/{host}", self.lab()), line);
        }
        Fio::install(beds, &self.client(), self.at, self.size, self.ramp)
    }

    /// A study; `None` where it could not be done, which is shown.
    fn plimsoll(&self, beds: &Beds) -> Option<Study> {
        let db = place(&format!("writes-{}.db", self.name));
        let on = format!("--on=lab://{}", self.client());
        let size = format!("--size={}MiB", self.size);
        let kept = format!("--db={}", db.display());
        let ran = beds.program.run(&[&["check", self.at, &on, &size, &kept], &STUDY[..]].concat());
        // Where a server stalls, a trial may fail.
        if !matches!(ran.code, Some(0 | 1)) {
            println!("{}: {}", self.name, ran.err);
            beds.program.run(&["clean", self.at, &on]);
            return None;
        }
        Some(Store::open(&db).unwrap().load("latest").unwrap())
    }

    fn pair(&self, beds: &Beds, fio: &Fio, fio_first: bool) -> Pair {
        let before = fio_first.then(|| fio.run());
        let study = self.plimsoll(beds);
        let fio = before.unwrap_or_else(|| fio.run());
        let found = study.as_ref().map(findings);
        let cell = found.as_ref().and_then(|found| found.workloads.first()?.cells.first());
        let level = cell.and_then(|cell| cell.levels.get(&Metric::all(Measure::THROUGHPUT)));
        let facts = study.as_ref().and_then(|study| study.subjects.first()?.storage());
        Pair {
            fio_first,
            label: study.as_ref().and_then(|study| Some(writes(study).first()?.sustained)),
            plimsoll: level.map(|level| level.estimate),
            interval: level.and_then(|level| Some((level.interval?.low, level.interval?.high))),
            steady: facts.and_then(|facts| facts.writes.first()?.steady_bytes_per_second),
            fio,
            study: study.map(|study| study.id.0),
        }
    }

    /// All pairs that there is time for; what they come to, in words.
    fn measure(&self, beds: &Beds, until: &Until) -> String {
        let mut kept = Kept::<Pair>::open(&format!("writes-{}.jsonl", self.name));
        let show = |n: usize, pair: &Pair| println!("{} {n}: {}", self.name, pair.row());
        kept.cases.iter().enumerate().for_each(|(n, pair)| show(n + 1, pair));
        let wanted = setting("PLIMSOLL_CASES", 20) as usize;
        if kept.cases.len() < wanted && !until.is_over() {
            let fio = self.bring_up(beds);
            while kept.cases.len() < wanted && !until.is_over() {
                let pair = self.pair(beds, &fio, kept.cases.len().is_multiple_of(2));
                show(kept.cases.len() + 1, &pair);
                kept.add(pair);
            }
            beds.lab(&["down", &self.lab()]).expect(0);
        }
        self.summary(&kept.cases)
    }

    fn summary(&self, pairs: &[Pair]) -> String {
        let count = |holds: &dyn Fn(&Pair) -> bool| {
            words(pairs.iter().filter(|pair| holds(pair)).count() as u32, pairs.len() as u32)
        };
        let sustained = |pair: &Pair| pair.label == Some(Ok(()));
        let spread = |of: &dyn Fn(&Pair) -> Option<f64>| {
            let logs: Vec<f64> = pairs.iter().filter_map(of).map(f64::ln).collect();
            let center = mean(&logs).unwrap_or(f64::NAN);
            let off = logs.iter().map(|log| (log - center).abs()).fold(0.0, f64::max);
            (center.exp(), 100.0 * off.exp_m1())
        };
        let (ratio, (fio, fio_off)) = (spread(&Pair::ratio), spread(&|pair| Some(pair.fio)));
        format!(
            "{}: sustained {}, of all: within 5% {}; sustained and off by more {}; burst {}; unresolved \
             {}. Ratio {:.3} on average, one at most {:.1}% off that; fio {:.2} MB/s, one run at most \
             {fio_off:.1}% off that. Wanted: {}",
            self.name,
            count(&sustained),
            count(&|pair| sustained(pair) && pair.is_near()),
            count(&|pair| sustained(pair) && !pair.is_near()),
            count(&|pair| matches!(pair.label, Some(Err(_)))),
            count(&|pair| pair.label.is_none()),
            ratio.0,
            ratio.1,
            fio / 1e6,
            self.wanted,
        )
    }
}

#[test]
#[ignore = "takes two hours, and a quiet machine: make measure-writes"]
fn measure_writes() {
    if !available(Need::Machines) || !available(Need::Fio) {
        return;
    }
    println!("load average at the beginning: {}", load_average());
    let (beds, until) = (Beds::new(), Until::now());
    // Their disks' rates bound them, not the processor.
    let summaries: Vec<_> = std::thread::scope(|scope| {
        let (beds, until) = (&beds, &until);
        let begin = |storage: &'static Storage| scope.spawn(|| storage.measure(beds, until));
        STORAGES.each_ref().map(begin).map(|thread| thread.join()).into_iter().collect()
    });
    for summary in summaries.iter().flatten() {
        println!("{summary}");
    }
    println!("load average at the end: {}", load_average());
    assert!(summaries.iter().all(Result::is_ok), "one of them failed");
}
