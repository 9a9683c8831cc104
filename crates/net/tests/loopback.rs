//! Paths on the loopback device, with the real probe at both ends.

#[path = "../../reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, ConnectJob, DatagramCall, DatagramsJob, Flag, Flow, ForwardingJob, HostName, Job,
    Length, Measure, Metric, OpKind, Outcome, PartResult, PointResult, RequestJob, StreamJob,
    SubjectFacts, SubjectRunner, TcpStreamJob,
};
use plimsoll_net::{Addresses, End, Ends, PathRunner, Side};
use plimsoll_reach::probe::Placed;
use plimsoll_testkit::points::Loads;
use probe_support::{local, processes_with, programs, soon};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{failure, value};

/// A path from this machine to itself.
struct Bench {
    runner: PathRunner,
    stop: Arc<AtomicBool>,
    /// Where the probes lie.
    directories: [String; 2],
    trial: u32,
}

/// How the ends find each other.
struct Way {
    a: &'static str,
    b: &'static str,
    opener: Side,
    port: u16,
}

const PLAIN: Way = Way { a: "127.0.0.1", b: "127.0.0.1", opener: Side::A, port: 0 };

impl Bench {
    fn new(way: Way) -> Bench {
        let mut bench = Bench::unattached(way);
        let same = Flag::SameMachine { host: HostName::Local };
        assert_eq!(bench.runner.attach(0).unwrap(), [same]);
        bench
    }

    fn unattached(way: Way) -> Bench {
        let end = || {
            let placed = Placed::place(local(), &programs(), None).unwrap();
            let directory = placed.directory().to_owned();
            (End { name: HostName::Local, placed }, directory)
        };
        let ((a, at_a), (b, at_b)) = (end(), end());
        let addresses = Addresses { a: way.a.parse().unwrap(), b: way.b.parse().unwrap() };
        let ends = Ends { a, b, addresses, translated: None, opener: way.opener, port: way.port };
        let stop = Arc::new(AtomicBool::new(false));
        let mut last = 0;
        let token = Box::new(move || {
            last += 1;
            [last; 16]
        });
        let runner = PathRunner::new("local to local".into(), ends, stop.clone(), token);
        Bench { runner, stop, directories: [at_a, at_b], trial: 0 }
    }

    fn point(&mut self, parts: Vec<Job>, seconds: f64, observer: &mut Loads) -> PointResult {
        self.trial += 1;
        let length = Length::For { seconds, warm_up_seconds: 0.1 };
        support::point(&mut self.runner, self.trial, parts, length, observer)
    }

    #[track_caller]
    fn complete(&mut self, parts: Vec<Job>) -> Vec<PartResult> {
        let mut observer = Loads::default();
        let count = parts.len();
        let result = self.point(parts, 0.5, &mut observer);
        support::parts(result, &observer, count)
    }

    /// Fails unless nothing of it is left on the hosts.
    #[track_caller]
    fn leaves_nothing(mut self) {
        assert_eq!(self.runner.close(), []);
        for directory in &self.directories {
            assert!(!std::path::Path::new(directory).exists(), "{directory}");
            soon("its processes are gone", || processes_with(directory).is_empty());
        }
    }
}

#[test]
fn tcp_goes_in_each_direction_and_is_counted_where_it_arrives() {
    let mut bench = Bench::new(PLAIN);
    for (flow, kinds) in [
        (Flow::Out, vec![OpKind::SEND]),
        (Flow::In, vec![OpKind::RECEIVE]),
        (Flow::Both, vec![OpKind::SEND, OpKind::RECEIVE]),
    ] {
        let job = TcpStreamJob { streams: 2, ..TcpStreamJob::new(flow) };
        let result = bench.complete(vec![job.into()]).remove(0);
        assert!(value(&result, Measure::THROUGHPUT) > 1e6, "{result:?}");
        for measure in [Measure::NEAR_CPU_PER_BYTE, Measure::FAR_CPU_PER_BYTE] {
            assert!(value(&result, measure) > 0.0, "{measure}");
        }
        for share in [Measure::NEAR_BUSIEST, Measure::RETRANSMITTED, Measure::WINDOW_LIMITED] {
            assert!((0.0..=1.5).contains(&value(&result, share)), "{share}: {result:?}");
        }
        let moved: Vec<OpKind> = result
            .series
            .kinds
            .iter()
            .filter(|(_, column)| column.bytes.iter().sum::<u64>() > 0)
            .map(|(kind, _)| *kind)
            .collect();
        assert_eq!(moved, kinds);
        let both = result.quantities.contains_key(&Metric::all(Measure::GOODPUT_OUT));
        assert_eq!(both, flow == Flow::Both);
        assert!(result.answered_seconds.unwrap() >= 0.5, "{result:?}");
    }
    bench.leaves_nothing();
}

#[test]
fn datagrams_requests_and_connections_have_figures_of_their_own() {
    let mut bench = Bench::new(PLAIN);
    let job = DatagramsJob {
        rate: std::num::NonZeroU32::new(2000),
        call: DatagramCall::Mmsg,
        ..DatagramsJob::new(Flow::Out)
    };
    let result = bench.complete(vec![job.into()]).remove(0);
    assert!(value(&result, Measure::PACKETS) > 0.0);
    assert!((0.0..=1.0).contains(&value(&result, StreamJob::LOSS)), "{result:?}");
    assert!(value(&result, Measure::JITTER) >= 0.0);

    for (job, kind, rate) in [
        (Job::from(RequestJob::new()), OpKind::REQUEST, Measure::REQUESTS),
        (Job::from(ConnectJob { streams: 1 }), OpKind::CONNECT, Measure::CONNECTIONS),
    ] {
        let result = bench.complete(vec![job]).remove(0);
        assert!(value(&result, rate) > 0.0, "{result:?}");
        let least = result.ops[&kind].client_latency.min_seconds;
        assert!(least > 0.0 && least <= value(&result, Measure::LATENCY_MEAN), "{result:?}");
        assert_eq!(value(&result, Measure::UNANSWERED), 0.0);
    }
    bench.leaves_nothing();
}

#[test]
fn frames_of_many_flows_are_counted_by_segments() {
    let mut bench = Bench::new(PLAIN);
    for (flow, flows) in [(Flow::Out, 16), (Flow::In, 16), (Flow::Both, 16), (Flow::Both, 1024)] {
        let rate = std::num::NonZeroU32::new(1000);
        let job = ForwardingJob { rate, flows, ..ForwardingJob::new(flow, Bytes(128)) };
        let result = bench.complete(vec![job.into()]).remove(0);
        // Of 0.4 s as many as the sender was punctual for; all of its segments are 0.1 s and end with the trial.
        assert!(value(&result, Measure::HELD) <= 0.5, "{result:?}");
        assert!(value(&result, Measure::ALL_SENT) >= 400.0, "{result:?}");
        assert!((0.0..=1.0).contains(&value(&result, Measure::VOID)), "{result:?}");
        assert_eq!(value(&result, Measure::COUNTED_LOST), 0.0, "{result:?}");
        assert!(value(&result, Measure::QUEUE_P50) >= 0.0);
    }
    // As many as the sender can: no segments.
    let job = ForwardingJob::new(Flow::Out, Bytes(1518));
    let result = bench.complete(vec![job.into()]).remove(0);
    assert!(value(&result, Measure::OFFERED_FRAMES) > 1000.0, "{result:?}");
    assert!(!result.quantities.contains_key(&Metric::all(Measure::COUNTED)));
    bench.leaves_nothing();
}

#[test]
fn requests_run_while_streams_do() {
    let mut bench = Bench::new(PLAIN);
    let load = TcpStreamJob::new(Flow::Both);
    let results = bench.complete(vec![RequestJob::sparse().into(), load.into()]);
    assert!(value(&results[0], Measure::LATENCY_MEAN) > 0.0);
    assert!(value(&results[1], Measure::GOODPUT_IN) > 0.0);
    bench.leaves_nothing();
}

#[test]
fn connections_may_be_opened_from_the_other_end() {
    let mut bench = Bench::new(Way { opener: Side::B, ..PLAIN });
    let out = bench.complete(vec![TcpStreamJob::new(Flow::Out).into()]).remove(0);
    // The direction of the data stays the same.
    assert!(out.series.kinds[&OpKind::SEND].bytes.iter().sum::<u64>() > 0);
    assert!(value(&bench.complete(vec![RequestJob::new().into()])[0], Measure::REQUESTS) > 0.0);
    let connections = bench.complete(vec![ConnectJob { streams: 1 }.into()]).remove(0);
    assert!(value(&connections, Measure::CONNECTIONS) > 0.0);
    let facts = bench.runner.facts();
    let SubjectFacts::Path(facts) = &facts[0] else { panic!("{facts:?}") };
    assert!(facts.notes[0].contains("opened from B"), "{facts:?}");
    bench.leaves_nothing();
}

#[test]
fn a_port_in_use_is_named_with_another_way() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut bench = Bench::unattached(Way { port, ..PLAIN });
    let failure = bench.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.happened.contains("in use"), "{failure}");
    assert!(
        failure.next.contains(&port.to_string()) && failure.next.contains("--port"),
        "{failure}"
    );
    drop(taken);
    bench.runner.attach(0).unwrap();
    bench.complete(vec![TcpStreamJob::new(Flow::Out).into()]);
    bench.leaves_nothing();
}

/// The advice was to choose another port.
#[test]
fn a_congestion_control_that_is_not_there_is_no_matter_of_ports() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut bench = Bench::new(Way { port, ..PLAIN });
    let congestion = Some("carrier-pigeon".to_owned());
    let job = TcpStreamJob { congestion, ..TcpStreamJob::new(Flow::Out) };
    let failure = failure(bench.point(vec![job.into()], 0.3, &mut Loads::default()));
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.next.contains("--congestion") && !failure.next.contains("port"), "{failure}");
    bench.leaves_nothing();
}

#[test]
fn a_peer_with_another_address_is_not_let_in() {
    // Connections come from 127.0.0.1.
    let mut bench = Bench::unattached(Way { a: "127.0.0.9", ..PLAIN });
    let failure = bench.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
    for words in ["--address", "firewall", "--connect-from b", "127.0.0.9"] {
        assert!(failure.next.contains(words), "{words} in {failure}");
    }
    bench.leaves_nothing();
}

#[test]
fn a_request_to_stop_ends_the_load_at_both_ends() {
    let mut bench = Bench::new(PLAIN);
    let (stop, directories) = (bench.stop.clone(), bench.directories.clone());
    let idle = processes_with(&directories[0]).len();
    let watcher = std::thread::spawn(move || {
        // The trial and its stream.
        soon("the load runs", || processes_with(&directories[0]).len() >= idle + 2);
        stop.store(true, Ordering::Relaxed);
    });
    let parts = vec![TcpStreamJob::new(Flow::Out).into()];
    let result = bench.point(parts, 600.0, &mut Loads::default());
    watcher.join().unwrap();
    assert_eq!(result.outcome, Outcome::Stopped);
    bench.leaves_nothing();
}

/// It was waited for until the end of the trial.
#[test]
fn a_host_that_hangs_does_not_hold_up_a_request_to_stop() {
    let mut bench = Bench::new(PLAIN);
    let (stop, directory) = (bench.stop.clone(), bench.directories[1].clone());
    let idle = processes_with(&directory).len();
    let watcher = std::thread::spawn(move || {
        soon("the load runs", || processes_with(&directory).len() >= idle + 2);
        for number in processes_with(&format!("{directory}/plimsoll-probe")) {
            let _ = kill(Pid::from_raw(number.cast_signed()), Signal::SIGSTOP);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let parts = vec![TcpStreamJob::new(Flow::Out).into()];
    let result = bench.point(parts, 600.0, &mut Loads::default());
    watcher.join().unwrap();
    assert_eq!(result.outcome, Outcome::Stopped);
    bench.leaves_nothing();
}

/// It was a low rate without a word of the stop.
#[test]
fn tcp_that_stops_in_mid_trial_is_a_stall() {
    let mut bench = Bench::new(PLAIN);
    let directory = bench.directories[0].clone();
    let idle = processes_with(&directory).len();
    let sender = std::thread::spawn(move || {
        let signal = |signal| {
            for number in processes_with(&format!("{directory}/plimsoll-probe")) {
                let _ = kill(Pid::from_raw(number.cast_signed()), signal);
            }
        };
        soon("the load runs", || processes_with(&directory).len() >= idle + 2);
        // The connections are up, and bytes have arrived.
        std::thread::sleep(Duration::from_millis(500));
        signal(Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(1800));
        signal(Signal::SIGCONT);
    });
    let mut observer = Loads::default();
    let result = bench.point(vec![TcpStreamJob::new(Flow::Out).into()], 4.0, &mut observer);
    sender.join().unwrap();
    let [Flag::LongGap { seconds }] = result.flags[..] else { panic!("{:?}", result.flags) };
    let part = support::parts(result, &observer, 1).remove(0);
    assert!(seconds >= 1.0 && !part.stalls.is_empty(), "{part:?}");
    let stalled: f64 = part.stalls.iter().map(|stall| stall.seconds).sum();
    let answered = part.answered_seconds.unwrap();
    assert!(answered > 0.0 && answered + stalled >= 4.0, "{part:?}");
    bench.leaves_nothing();
}

#[test]
fn a_peer_that_is_killed_fails_its_trial_and_the_next_one_runs() {
    let mut bench = Bench::new(PLAIN);
    let directories = bench.directories.clone();
    let idle = processes_with(&directories[1]).len();
    let watcher = std::thread::spawn(move || {
        soon("the load runs", || processes_with(&directories[1]).len() >= idle + 2);
        // One that is killed takes others with it.
        for number in processes_with(&format!("{}/plimsoll-probe", directories[1])) {
            let _ = kill(Pid::from_raw(number.cast_signed()), Signal::SIGKILL);
        }
    });
    let parts = vec![TcpStreamJob::new(Flow::Out).into()];
    let failure = failure(bench.point(parts, 30.0, &mut Loads::default()));
    watcher.join().unwrap();
    assert!(!failure.happened.is_empty(), "{failure}");
    bench.complete(vec![TcpStreamJob::new(Flow::Out).into()]);
    bench.leaves_nothing();
}

#[test]
fn what_is_not_done_to_a_path_fails_before_any_load() {
    let mut bench = Bench::new(PLAIN);
    let mut observer = Loads::default();
    let job = StreamJob { connections: 1, rate: None };
    let failure = failure(bench.point(vec![job.into()], 0.3, &mut observer));
    assert_eq!((failure.cause, observer.begun), (Cause::Usage, 0));
    bench.leaves_nothing();
}
