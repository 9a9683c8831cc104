//! What `plimsoll ops` and a client make of a server whose costs are known: the cost of an operation and of a
//! byte, and quantiles of response times where the server stands still at times, of operations that arrive at
//! times of their own beside those of a closed loop.

use crate::kept::{load_average, until_quiet};
use crate::support::Plimsoll;
use plimsoll_explain::transfers;
use plimsoll_nfs::nfs3::{FileHandle, Nfs3, Pipeline, ReadArguments, Request};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_stats::fit::costs::Kind;
use plimsoll_testkit::responder::{Costs, Responder, Stalls, null};
use plimsoll_transport::{Completion, Exchange, PipelineOptions, SourcePort, SystemClock};
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

/// Runs whose median counts.
const RUNS: usize = 20;
/// What a call of the server costs, and a byte in seconds: far above those of this machine, whose own come on
/// top.
const COSTS: Costs = Costs { operation: Duration::from_millis(4), byte: 50e-9, stalls: None };
/// How far what is found may be from it, as a share.
const OFF_BY: f64 = 0.05;

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "takes minutes, and a quiet machine: make measure-ops"]
fn measure_ops_costs() {
    let server = Responder::start_with(COSTS).unwrap();
    let (program, url) = (Plimsoll::new(), server.url());
    // Each write is stable by itself: a flush at the end would be charged to the writes before it.
    let words = ["ops", &url, "--only=blocks", "--size=16MiB", "--stability=filesync"];
    let length = ["--time=250ms", "--repeats=3", "--baseline=0s", "--quiet"];
    let mut found: [(Vec<f64>, Vec<f64>); 2] = Default::default();
    for run in 0..RUNS {
        until_quiet();
        program.run(&[&words[..], &length].concat()).expect(0);
        let all = transfers(&program.latest());
        assert_eq!(all.len(), 2, "reads and writes");
        for (transfers, (operations, bytes)) in all.iter().zip(&mut found) {
            let cost = |kind| transfers.cost(kind).expect("the model fits").value;
            operations.push(cost(Kind::Operation) / COSTS.operation.as_secs_f64());
            bytes.push(COSTS.byte / cost(Kind::Byte));
            println!(
                "run {run:2} {:18} α {:.4}, 1/β {:.4} of the truth, load average {}",
                transfers.title,
                operations[run],
                bytes[run],
                load_average()
            );
        }
    }
    for (way, (operations, bytes)) in ["reads", "writes"].into_iter().zip(found) {
        let (operation, byte) = (median(operations), median(bytes));
        println!("{way}: median of {RUNS}: α {operation:.4}, 1/β {byte:.4} of the truth");
        for of_truth in [operation, byte] {
            assert!((of_truth - 1.0).abs() <= OFF_BY, "{way}: {of_truth} of the truth");
        }
    }
}

/// Calls that are due at times of their own, or each when the one before has ended.
#[derive(Clone, Copy)]
enum Arrivals {
    Paced(Duration),
    Closed,
}

/// Most calls that wait at once, which is more than there are.
const DEPTH: u16 = 256;
/// The end of a wait that is spun rather than slept.
const SPUN: Duration = Duration::from_micros(150);

struct Times {
    begun: Instant,
    /// When each call was due, by its tag.
    due: [Duration; DEPTH as usize],
    free: Vec<u32>,
    /// Seconds from then until its reply.
    seconds: Vec<f64>,
}

impl Exchange<Nfs3> for Times {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        &[]
    }
    fn complete(
        &mut self,
        completion: Completion<plimsoll_nfs::nfs3::Done<'_>, plimsoll_nfs::Error>,
    ) {
        completion.result.expect("the server answers everything");
        let due = self.due[completion.tag as usize];
        self.seconds.push((Duration::from_nanos(completion.done) - due).as_secs_f64());
        self.free.push(completion.tag);
    }
}

/// Response times of reads for so long, sorted.
fn response_times(pipeline: &mut Pipeline, arrivals: Arrivals, length: Duration) -> Vec<f64> {
    let mut with = Times {
        begun: Instant::now(),
        due: [Duration::ZERO; DEPTH as usize],
        free: (0..DEPTH.into()).collect(),
        seconds: Vec::new(),
    };
    let file = FileHandle::new(&[1; 32]).expect("short enough");
    let read = Request::Read(ReadArguments { file, offset: 0, count: 512 });
    let mut number = 0;
    loop {
        let now = with.begun.elapsed();
        let due = match arrivals {
            Arrivals::Paced(interval) => interval * number,
            Arrivals::Closed if pipeline.in_flight() == 0 => now,
            Arrivals::Closed => Duration::MAX,
        };
        let more = now < length;
        if more && due <= now {
            let tag = with.free.pop().expect("fewer wait than there is space for");
            with.due[tag as usize] = due;
            pipeline.submit(tag, read).expect("a free tag is a free slot");
            number += 1;
        } else if more && pipeline.in_flight() == 0 {
            std::thread::sleep(due.saturating_sub(now).saturating_sub(SPUN));
        } else if pipeline.in_flight() == 0 {
            break;
        }
        let until = if more { due.saturating_sub(SPUN) } else { Duration::MAX };
        let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        pipeline.reap(until, &mut with).expect("the server is in this program");
    }
    with.seconds.sort_by(f64::total_cmp);
    with.seconds
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share) as usize).min(sorted.len() - 1)]
}

#[test]
#[ignore = "takes five minutes, and a quiet machine: make measure-ops"]
fn measure_ops_paced() {
    let stalls = Stalls { length: Duration::from_secs(1), every: Duration::from_secs(10) };
    // Long beside what this machine takes to wake up who waits.
    let operation = Duration::from_millis(20);
    let costs = Costs { operation, stalls: Some(stalls), ..Costs::FREE };
    // The tenth part of a period is no multiple of it, so arrivals fall at another time of each stall.
    let interval = Duration::from_micros(101_424);
    let quantiles = [0.5, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995];
    let mut missed = Vec::new();
    until_quiet();
    for (arrivals, periods) in [(Arrivals::Paced(interval), 24), (Arrivals::Closed, 6)] {
        // The first stall begins with the server: whole periods are measured.
        let address = null::serve(null::nfs3, costs).unwrap();
        let free = SystemClock::no_deadline();
        let limit = Duration::from_secs(5);
        let ip = [address.ip()];
        let port = address.port();
        let socket = plimsoll_transport::connect(&ip, port, SourcePort::Any, limit, &free).unwrap();
        let depth = NonZeroU16::new(DEPTH).expect("not zero");
        let options = PipelineOptions { depth, read_most: 512, write_most: 512 };
        let caller = Credential::Sys(AuthSys::caller(None, None));
        let mut pipeline = Nfs3::pipeline(socket, &caller, options);
        let times = response_times(&mut pipeline, arrivals, periods * stalls.every);
        let alone = operation.as_secs_f64();
        for share in quantiles {
            let found = quantile(&times, share);
            let expected = match arrivals {
                Arrivals::Paced(interval) => stalls.quantile(operation, interval, share),
                // One in some 450 meets a stall.
                Arrivals::Closed => alone,
            };
            let name = match arrivals {
                Arrivals::Paced(_) => "paced",
                Arrivals::Closed => "closed",
            };
            println!(
                "{name:6} {:5.1}%: {:8.2} ms, by calculation {:8.2} ms: {:.4}",
                share * 100.0,
                found * 1e3,
                expected * 1e3,
                found / expected
            );
            if (found / expected - 1.0).abs() > 0.02 {
                missed.push(format!("{name}, {share}"));
            }
        }
    }
    assert!(missed.is_empty(), "further than 2% off: {missed:?}");
}
