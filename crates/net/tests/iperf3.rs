//! Paths to iperf3 servers on the loopback device: the real program, and servers that are none or go wrong.

#[path = "../../reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use plimsoll_model::{
    Cause, DatagramsJob, Failure, Flag, Flow, HostName, Job, Length, Measure, Metric, Outcome,
    PartResult, PointResult, StreamJob, SubjectFacts, SubjectRunner, TcpStreamJob,
};
use plimsoll_net::{End, Iperf3Runner};
use plimsoll_reach::probe::Placed;
use plimsoll_testkit::iperf3::Iperf3;
use plimsoll_testkit::points::Loads;
use plimsoll_testkit::{Need, available, thorough};
use probe_support::{local, processes_with, programs, soon};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{failure, value};

/// A server; `None` where there is no iperf3.
fn server() -> Option<Iperf3> {
    available(Need::Iperf3).then(|| Iperf3::start().unwrap())
}

/// What a server printed of each test.
fn tests(server: &Iperf3) -> Vec<Value> {
    let text = server.output();
    let all = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    // The last one may not be whole yet.
    all.map_while(Result::ok).collect()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A path from this machine to a server.
struct Bench {
    runner: Iperf3Runner,
    stop: Arc<AtomicBool>,
    /// Where the probe lies.
    directory: String,
    trial: u32,
}

impl Bench {
    fn new(address: SocketAddr) -> Bench {
        Bench::from(HostName::Local, address)
    }

    /// The same with A by this name: unless it is this machine's, the probe carries all connections.
    fn from(name: HostName, address: SocketAddr) -> Bench {
        let placed = Placed::place(local(), &programs(), None).unwrap();
        let directory = placed.directory().to_owned();
        let near = End { name, placed };
        let stop = Arc::new(AtomicBool::new(false));
        let mut last = 0;
        let token = Box::new(move || {
            last += 1;
            [last; 16]
        });
        let name = HostName::Iperf3 { host: "127.0.0.1".into(), port: Some(address.port()) };
        let given = format!("local to {name}");
        let runner = Iperf3Runner::new(given, near, name, vec![address], stop.clone(), token);
        Bench { runner, stop, directory, trial: 0 }
    }

    fn point(&mut self, job: Job, seconds: f64, observer: &mut Loads) -> PointResult {
        self.trial += 1;
        let length = Length::For { seconds, warm_up_seconds: 0.2 };
        support::point(&mut self.runner, self.trial, vec![job], length, observer)
    }

    #[track_caller]
    fn complete(&mut self, job: Job) -> PartResult {
        let mut observer = Loads::default();
        let result = self.point(job, 1.0, &mut observer);
        support::parts(result, &observer, 1).remove(0)
    }

    #[track_caller]
    fn leaves_nothing(mut self) {
        assert_eq!(self.runner.close(), []);
        assert!(!std::path::Path::new(&self.directory).exists());
        soon("its processes are gone", || processes_with(&self.directory).is_empty());
    }
}

/// Payload bytes in the output of a server, of each direction: one of the two sums is 0.
fn bytes(test: &Value) -> f64 {
    let largest = |sums: [&str; 2]| {
        let sums = sums.iter().filter_map(|sum| test["end"][sum]["bytes"].as_f64());
        sums.fold(0.0, f64::max)
    };
    let back = ["sum_sent_bidir_reverse", "sum_received_bidir_reverse"];
    largest(["sum_sent", "sum_received"]) + largest(back)
}

#[track_caller]
fn within_a_hundredth(own: f64, other: f64) {
    assert!(own > 1e4 && (own / other - 1.0).abs() < 0.01, "{own} here, {other} there");
}

#[test]
fn both_ends_count_the_same_in_both_directions() {
    let Some(server) = server() else { return };
    let mut bench = Bench::new(server.address());
    let host = format!("iperf3://{}", server.address()).parse().unwrap();
    assert_eq!(bench.runner.attach(0).unwrap(), [Flag::SameMachine { host }]);
    let tcp = |flow, streams| Job::from(TcpStreamJob { streams, ..TcpStreamJob::new(flow) });
    let udp = |flow, streams| {
        let rate = NonZeroU32::new(2000);
        Job::from(DatagramsJob { streams, rate, ..DatagramsJob::new(flow) })
    };
    let jobs = [
        tcp(Flow::Out, 1),
        tcp(Flow::In, 1),
        tcp(Flow::Out, 3),
        tcp(Flow::In, 3),
        tcp(Flow::Both, 1),
        tcp(Flow::Both, 2),
        udp(Flow::Out, 1),
        udp(Flow::In, 1),
        udp(Flow::Out, 3),
        udp(Flow::In, 3),
    ];
    // The first test was that of the first contact.
    for (number, job) in jobs.into_iter().enumerate() {
        let title = format!("{job:?}");
        let result = bench.complete(job);
        let totals = bench.runner.totals().unwrap_or_else(|| panic!("{title}"));
        within_a_hundredth(totals.own as f64, totals.server as f64);
        soon("the server has printed the test", || tests(&server).len() == number + 2);
        let printed = bytes(&tests(&server)[number + 1]);
        println!("{title}: {} bytes here, {printed} in the server's report", totals.own);
        within_a_hundredth(totals.own as f64, printed);
        if title.contains("flow: Both") {
            assert!(value(&result, Measure::GOODPUT_OUT) > 1e5, "{title}: {result:?}");
            assert!(value(&result, Measure::GOODPUT_IN) > 1e5, "{title}: {result:?}");
        }
        assert!(value(&result, Measure::THROUGHPUT) > 1e5, "{title}: {result:?}");
        assert!(value(&result, Measure::NEAR_CPU_PER_BYTE) > 0.0, "{title}");
        assert!(value(&result, Measure::FAR_CPU_PER_BYTE) > 0.0, "{title}");
        let far = result.quantities.get(&Metric::all(Measure::FAR_BUSIEST));
        let is_one = title.contains("streams: 1,") && !title.contains("flow: Both");
        assert_eq!(far.is_some(), is_one, "{title}");
    }
    let facts = bench.runner.facts();
    let [SubjectFacts::Path(path)] = facts.as_slice() else { panic!("{facts:?}") };
    assert!(path.notes[0].contains("B is an iperf3 server"), "{path:?}");
    bench.leaves_nothing();
}

#[test]
fn figures_that_the_server_does_not_report_are_unknown() {
    let Some(server) = server() else { return };
    let mut bench = Bench::new(server.address());
    bench.runner.attach(0).unwrap();
    let known =
        |result: &PartResult, measure| result.quantities.contains_key(&Metric::all(measure));
    let out = bench.complete(TcpStreamJob::new(Flow::Out).into());
    assert!(known(&out, Measure::FLOW_RTT_P50) && known(&out, Measure::RETRANSMITTED));
    let windows = out.series.windows().filter(|window| window.bytes() > 0).count();
    assert!(windows >= 5, "{out:?}");
    let back = bench.complete(TcpStreamJob::new(Flow::In).into());
    for measure in [Measure::FLOW_RTT_P50, Measure::RETRANSMITTED, Measure::WINDOW_LIMITED] {
        assert!(!known(&back, measure), "{measure}: {back:?}");
    }
    let rate = NonZeroU32::new(1000);
    let udp = |flow| Job::from(DatagramsJob { rate, ..DatagramsJob::new(flow) });
    let out = bench.complete(udp(Flow::Out));
    assert!(known(&out, StreamJob::LOSS) && known(&out, Measure::JITTER));
    assert!(!known(&out, Measure::REORDERED) && !known(&out, Measure::SOCKET_DROPPED));
    let back = bench.complete(udp(Flow::In));
    assert!(known(&back, Measure::REORDERED) && known(&back, StreamJob::OFFERED));
    let packets = value(&back, Measure::PACKETS);
    assert!((500.0..1500.0).contains(&packets), "{packets}");
    bench.leaves_nothing();
}

#[test]
fn a_server_with_another_client_is_busy_and_then_free() {
    let Some(server) = server() else { return };
    let mut client = server.client(&["-t", "60", "-b", "1M"]).unwrap();
    soon("the test of the other client runs", || server.connections() >= 4);
    let mut bench = Bench::new(server.address());
    let failure = bench.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
    assert!(failure.happened.contains("busy"), "{failure}");
    bench.leaves_nothing();
    client.kill().unwrap();
    client.wait().unwrap();
    soon("the server is free", || server.is_free());
    let mut bench = Bench::new(server.address());
    bench.runner.attach(0).unwrap();
    bench.leaves_nothing();
}

#[test]
fn the_probe_of_another_host_carries_the_control_connection() {
    let Some(mut server) = server() else { return };
    let mut bench = Bench::from("ssh://laptop".parse().unwrap(), server.address());
    bench.runner.attach(0).unwrap();
    for flow in [Flow::Out, Flow::In] {
        let result = bench.complete(TcpStreamJob::new(flow).into());
        let totals = bench.runner.totals().unwrap();
        within_a_hundredth(totals.own as f64, totals.server as f64);
        assert!(value(&result, Measure::THROUGHPUT) > 1e5, "{result:?}");
    }
    server.kill().unwrap();
    let mut bench_without = Bench::from("ssh://laptop".parse().unwrap(), server.address());
    let failure = bench_without.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.next.contains("iperf3 -s"), "{failure}");
    bench_without.leaves_nothing();
    bench.leaves_nothing();
}

#[test]
fn a_server_that_dies_fails_its_test() {
    let Some(mut server) = server() else { return };
    for flow in [Flow::In, Flow::Out] {
        let mut bench = Bench::new(server.address());
        bench.runner.attach(0).unwrap();
        let watcher = std::thread::spawn(move || {
            soon("the test runs", || server.connections() >= 4);
            server.kill().unwrap();
        });
        let result = bench.point(TcpStreamJob::new(flow).into(), 60.0, &mut Loads::default());
        watcher.join().unwrap();
        let failure = failure(result);
        assert!(failure.happened.contains("closed the control connection"), "{failure}");
        bench.leaves_nothing();
        server = Iperf3::start().unwrap();
    }
}

#[test]
fn a_request_to_stop_leaves_the_server_free() {
    let Some(server) = server() else { return };
    let mut bench = Bench::new(server.address());
    bench.runner.attach(0).unwrap();
    let stop = bench.stop.clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            soon("the test runs", || server.connections() >= 4);
            stop.store(true, Ordering::Relaxed);
        });
        let job = TcpStreamJob::new(Flow::In);
        let result = bench.point(job.into(), 600.0, &mut Loads::default());
        assert_eq!(result.outcome, Outcome::Stopped);
    });
    bench.leaves_nothing();
    soon("the server is free", || server.is_free());
    let mut bench = Bench::new(server.address());
    bench.runner.attach(0).unwrap();
    bench.leaves_nothing();
}

/// The failure of a first contact with a server that does this with its connections.
fn contact(serve: impl Fn(TcpStream) + Send + 'static) -> Failure {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    let mut bench = Bench::new(address);
    let failure = bench.runner.attach(0).unwrap_err();
    bench.leaves_nothing();
    failure
}

/// Says the bytes, and listens until the client leaves.
fn saying(bytes: &'static [u8]) -> impl Fn(TcpStream) + Send + 'static {
    move |mut stream| {
        let _ = stream.write_all(bytes);
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

#[test]
fn servers_that_refuse_are_told_apart() {
    for (bytes, cause, words) in [
        (&b"\xff"[..], Cause::Unreachable, "busy"),
        (b"\x09\xfe\x00\x00\x00\x8e", Cause::Authentication, "requires authentication"),
        (b"\x09\xfe\x00\x00\x00\x25\x00\x00\x00\x00", Cause::Trial, "limit of the time"),
        (b"\x09\xfe\x00\x00\x03\xe7\x00\x00\x00\x00", Cause::Trial, "error 999"),
        (b"\x09\x0b", Cause::Trial, "stopped during the test"),
        (b"\x09\x0e", Cause::Trial, "out of order"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Cause::Unreachable, "answered \"SSH-2.0-OpenSSH_9.2\\r\\n\""),
        (b"\x1b[2J", Cause::Unreachable, "answered \"\\x1b[2J\""),
    ] {
        let failure = contact(saying(bytes));
        assert_eq!(failure.cause, cause, "{failure}");
        assert!(failure.happened.contains(words), "{words} in {failure}");
        assert!(failure.on.contains("iperf3://127.0.0.1:") && !failure.next.is_empty());
    }
}

#[test]
fn other_servers_are_named_by_their_answer() {
    // It waits for the end of the request first.
    let failure = contact(|mut stream| {
        let mut got = Vec::new();
        let mut buffer = [0; 64];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            got.extend_from_slice(&buffer[..count]);
            if got.ends_with(b"\r\n\r\n") {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
                return;
            }
        }
    });
    assert!(failure.happened.contains("HTTP/1.1 400 Bad Request"), "{failure}");
    let failure = contact(drop);
    assert!(failure.happened.contains("without a word"), "{failure}");
    let failure = contact(saying(b""));
    assert!(failure.happened.contains("iperf 2"), "{failure}");
    let mut bench = Bench::new(SocketAddr::from(([127, 0, 0, 1], free_port())));
    let failure = bench.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
    assert!(failure.happened.contains("nothing listens"), "{failure}");
    bench.leaves_nothing();
}

/// The real program, with a pair of keys and a list of users.
#[test]
fn a_server_that_requires_authentication_says_so() {
    let printed = |program: &str, words: &[&str]| {
        let output = std::process::Command::new(program).args(words).output();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let features = printed("iperf3", &["--version"]).unwrap_or_default();
    let is_built_with_it = String::from_utf8_lossy(&features).contains("authentication");
    let place = tempfile::tempdir().unwrap();
    let [key, users] = ["key.pem", "users.csv"].map(|name| place.path().join(name));
    let (key, users) = (key.to_str().unwrap(), users.to_str().unwrap());
    let made = printed("openssl", &["genrsa", "-traditional", "-out", key, "2048"]);
    if !is_built_with_it || made.is_none() {
        return;
    }
    std::fs::write(users, "jane,0000\n").unwrap();
    let words = ["--rsa-private-key-path", key, "--authorized-users-path", users];
    let server = Iperf3::start_with(&words).unwrap();
    let mut bench = Bench::new(server.address());
    let failure = bench.runner.attach(0).unwrap_err();
    assert_eq!(failure.cause, Cause::Authentication, "{failure}");
    assert!(failure.happened.contains("requires authentication"), "{failure}");
    assert!(failure.next.contains("cannot log in"), "{failure}");
    bench.leaves_nothing();
}

/// It knows no test in both directions: after the streams that it receives, it is busy for everybody.
#[test]
fn a_server_that_only_receives_is_named_as_an_old_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        control.write_all(&[9]).unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        let mut length = [0; 4];
        control.read_exact(&mut length).unwrap();
        let mut parameters = vec![0; u32::from_be_bytes(length) as usize];
        control.read_exact(&mut parameters).unwrap();
        assert!(String::from_utf8(parameters).unwrap().contains("\"bidirectional\":true"));
        control.write_all(&[10]).unwrap();
        let (mut received, _) = listener.accept().unwrap();
        control.write_all(&[1, 2]).unwrap();
        std::thread::spawn(move || std::io::copy(&mut received, &mut std::io::sink()));
        let (mut refused, _) = listener.accept().unwrap();
        refused.write_all(&[0xff]).unwrap();
        drop(refused);
        let mut word = [0];
        control.read_exact(&mut word).unwrap();
        control.write_all(&[13]).unwrap();
        let _ = control.read_to_end(&mut Vec::new());
    });
    let job = TcpStreamJob::new(Flow::Both);
    let failure = failure(bench.point(job.into(), 0.5, &mut Loads::default()));
    assert!(failure.happened.contains("before 3.7"), "{failure}");
    assert!(failure.next.contains("tcp-out,tcp-in"), "{failure}");
    bench.leaves_nothing();
}

#[test]
fn servers_that_stop_half_way_fail_the_test() {
    // It takes the parameters and leaves, as old versions do if they require authentication.
    let failure = contact(|mut stream| {
        let _ = stream.write_all(&[9]);
        let _ = stream.read(&mut [0; 64]);
        let mut length = [0; 4];
        let _ = stream.read_exact(&mut length);
    });
    assert!(failure.happened.contains("after the parameters"), "{failure}");
    assert!(failure.next.contains("authentication"), "{failure}");
    // It never starts the test, which the client waits for.
    if thorough::has_time(10) {
        let failure = contact(saying(&[9, 10]));
        assert!(failure.happened.contains("did not start the test"), "{failure}");
    }
    // It starts, and is gone.
    let failure = contact(|mut stream| {
        let _ = stream.write_all(&[9, 10, 1, 2]);
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.read(&mut [0; 1024]);
    });
    assert!(failure.happened.contains("closed the control connection"), "{failure}");
    // Results without an end.
    let failure = contact(saying(b"\x09\x0a\x01\x02\x0d\xff\xff\xff\xff"));
    assert!(failure.happened.contains("its results have"), "{failure}");
}
