//! Versions of NFS side by side on NFS-Ganesha: what an operation costs the client, what calls in flight bring
//! through a long round trip, and small files whole.

use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::Plimsoll;
use plimsoll_model::{Job, Measure, Metric, Outcome, Study, Trial};
use plimsoll_stats::interval::t_interval;
use plimsoll_testkit::proxy::TcpProxy;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const ROUNDS: u64 = 12;
const VERSIONS: [&str; 3] = ["3", "4.1", "4.2"];
/// Of the path, each way.
const DELAY: Duration = Duration::from_millis(5);
const DEPTHS: [u16; 2] = [1, 32];
/// As the first source document's tree has them on average.
const FILES: u64 = 5000;
const MEAN_BYTES: &str = "11500B";

/// One figure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    round: u64,
    /// What was done, and by what it differs.
    what: String,
    version: String,
    figure: f64,
}

struct Bench {
    program: Plimsoll,
    ganesha: Ganesha,
    far: TcpProxy,
    round: u64,
}

/// What a trial did, in a word, and its bytes per operation or file.
fn work(study: &Study, trial: &Trial) -> (String, f64) {
    let workload = study.plan.workload(trial.cell).expect("the plan has the trial's workload");
    match &workload.parts[0].job {
        Job::Pattern(job) => (job.pattern.to_string(), job.block.0 as f64),
        Job::Copy(job) => {
            let mean = job.dataset.bytes.0 as f64 / job.dataset.files as f64;
            (format!("{:?}", job.transfer), mean)
        }
        other => panic!("{other:?}"),
    }
}

/// Of the client's process.
fn cpu_per_byte(trial: &Trial) -> Option<f64> {
    trial.result.value(0, Metric::all(Measure::CLIENT_CPU_PER_BYTE))
}

impl Bench {
    /// The directory in one version, at a port.
    fn url(&self, port: u16, version: &str) -> String {
        let url = self.ganesha.url("films");
        let path = url.trim_start_matches("nfs://127.0.0.1");
        let mount = self.ganesha.mount_port();
        match version {
            "3" => format!("nfs://127.0.0.1:{port}{path}?vers=3&mountport={mount}"),
            _ => format!("nfs://127.0.0.1:{port}{path}?vers={version}"),
        }
    }

    /// What one run of the program shows: `figure` makes each trial's of its bytes per operation.
    fn cases(
        &self,
        what: &str,
        version: &str,
        words: &[&str],
        figure: impl Fn(&Trial, f64) -> Option<f64>,
    ) -> Vec<Case> {
        let quiet = ["--repeats=1", "--baseline=0s", "--quiet"];
        self.program.run(&[words, &quiet].concat()).expect(0);
        let study = self.program.latest();
        let case = |trial: &Trial| {
            assert_eq!(trial.result.outcome, Outcome::Complete);
            let (name, bytes) = work(&study, trial);
            Case {
                round: self.round,
                what: format!("{name}, {what}"),
                version: version.to_owned(),
                figure: figure(trial, bytes).expect("it is measured"),
            }
        };
        study.trials.iter().map(case).collect()
    }

    /// Microseconds of the client's CPU for an operation.
    fn cost(&self, version: &str) -> Vec<Case> {
        let url = self.url(self.ganesha.nfs_port(), version);
        let words = ["check", &url, "--pattern=random-read,random-write,sequential-read"];
        let more = ["--size=64MiB", "--workers=1", "--depth=8", "--time=1s"];
        self.cases("us of CPU", version, &[&words[..], &more].concat(), |trial, bytes| {
            Some(cpu_per_byte(trial)? * bytes * 1e6)
        })
    }

    /// Operations a second through the long path.
    fn through_the_path(&self, version: &str, depth: u16) -> Vec<Case> {
        let url = self.url(self.far.address().port(), version);
        let depth = format!("--depth={depth}");
        let words = ["check", &url, "--pattern=random-read", "--size=16MiB", "--workers=1", &depth];
        let what = format!("10 ms away, {depth}, IOPS");
        self.cases(&what, version, &[&words[..], &["--time=2s"]].concat(), |trial, _| {
            trial.result.value(0, Metric::all(Measure::IOPS))
        })
    }

    /// Milliseconds of the client's CPU for a small file.
    fn small_files(&self, version: &str) -> Vec<Case> {
        let url = self.url(self.ganesha.nfs_port(), version);
        let (count, mean) = (format!("--count={FILES}"), format!("--mean={MEAN_BYTES}"));
        let words = ["copy", &url, "--dataset=source", &count, &mean];
        let more = ["--only=up,down", "--method=pipelined"];
        self.cases("ms of CPU a file", version, &[&words[..], &more].concat(), |trial, bytes| {
            Some(cpu_per_byte(trial)? * bytes * 1e3)
        })
    }

    /// Everything once, another version first each time.
    fn round(&self) -> Vec<Case> {
        let mut versions = VERSIONS;
        versions.rotate_left(self.round as usize % VERSIONS.len());
        let mut cases = Vec::new();
        for version in versions {
            cases.extend(self.cost(version));
            for depth in DEPTHS {
                cases.extend(self.through_the_path(version, depth));
            }
            cases.extend(self.small_files(version));
        }
        cases
    }
}

/// The mean of logarithms of ratios, with its interval, as a ratio.
fn ratio(pairs: impl Iterator<Item = (f64, f64)>) -> String {
    let logs: Vec<f64> = pairs.map(|(above, below)| (above / below).ln()).collect();
    let Some(found) = t_interval(&logs, 0.95) else { return "-".to_owned() };
    let [low, at, high] = [found.low, found.estimate, found.high].map(f64::exp);
    format!("{at:.2} [{low:.2}-{high:.2}], {} rounds", logs.len())
}

fn show(cases: &[Case]) {
    let mut kinds: Vec<&str> = cases.iter().map(|case| case.what.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let figure = |what: &str, version: &str, round: u64| {
        let mut same = cases.iter().filter(move |case| case.round == round);
        same.find(|case| case.what == what && case.version == version).map(|case| case.figure)
    };
    let rounds = || 0..=cases.iter().map(|case| case.round).max().unwrap_or(0);
    for what in &kinds {
        for version in VERSIONS {
            let mut all: Vec<f64> = rounds().filter_map(|r| figure(what, version, r)).collect();
            all.sort_by(f64::total_cmp);
            let Some(median) = all.get(all.len() / 2) else { continue };
            let pairs =
                rounds().filter_map(|r| Some((figure(what, version, r)?, figure(what, "3", r)?)));
            println!("{what:60} version {version:4} {median:10.3}  to version 3: {}", ratio(pairs));
        }
    }
    let deep = |depth: u16| {
        let words = format!("--depth={depth},");
        kinds.iter().copied().find(|what| what.contains(&words))
    };
    let (Some(one), Some(many)) = (deep(DEPTHS[0]), deep(DEPTHS[1])) else { return };
    for version in VERSIONS {
        let pairs =
            rounds().filter_map(|r| Some((figure(many, version, r)?, figure(one, version, r)?)));
        println!("depth 32 to depth 1 in version {version}: {}, wanted 25", ratio(pairs));
    }
}

#[test]
#[ignore = "takes minutes, and a quiet machine: make measure-nfs"]
fn measure_nfs_versions() {
    let stage = enter_or_skip!(Need::Ganesha);
    let until = Until::now();
    let mut kept = Kept::<Case>::open("nfs-versions.jsonl");
    let ganesha = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, ganesha.nfs_port()));
    let far = TcpProxy::before(server, DELAY).unwrap();
    let mut bench = Bench { program: Plimsoll::new(), ganesha, far, round: 0 };
    // A round that was interrupted was not kept.
    bench.round = kept.cases.iter().map(|case| case.round + 1).max().unwrap_or(0);
    while bench.round < setting("PLIMSOLL_CASES", ROUNDS) && !until.is_over() {
        until_quiet();
        println!("round {}, load average {}", bench.round, load_average());
        bench.round().into_iter().for_each(|case| kept.add(case));
        bench.round += 1;
    }
    show(&kept.cases);
}
