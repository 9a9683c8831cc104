//! Results of network tools. The samples were written for these tests.

use super::file::unpacked;
use super::tests::{close, file, left_out, one};
use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::{Measure, Metric, OpKind, Origin, Outcome, StreamJob};
use proptest::prelude::*;
use std::io::Write;

const IPERF3: &str = r#"{"start": {"connected": [{"local_host": "192.0.2.5", "remote_host": "192.0.2.7"}],
 "version": "iperf 3.12", "timestamp": {"timesecs": 1760000000},
 "test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072, "duration": 10, "reverse": 0}},
 "intervals": [{"sum": {"seconds": 1.0001, "bytes": 100}}, {"sum": {"seconds": 1, "bytes": 300}}],
 "end": {"streams": [{"sender": {"min_rtt": 200}}, {"sender": {"min_rtt": 180}}], "sum_sent": {"retransmits": 7},
  "sum_received": {"seconds": 10, "bytes": 1250000000, "bits_per_second": 1000000000},
  "cpu_utilization_percent": {"host_total": 50, "remote_total": 100}}}
"#;

const IPERF3_UDP: &str = r#"{"start": {"connected": [{"local_host": "192.0.2.5", "remote_host": "192.0.2.7"}],
 "version": "iperf 3.1.3", "test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1448, "duration": 10, "reverse": 1}},
 "intervals": [],
 "end": {"sum": {"seconds": 10, "bytes": 14480000, "bits_per_second": 11584000, "jitter_ms": 0.5,
  "lost_packets": 100, "packets": 10000, "lost_percent": 1}}}
"#;

#[test]
fn runs_of_iperf3_become_paths() {
    let study = one(IPERF3).unwrap();
    assert_eq!(study.origin, Origin::Imported { tool: "iperf3-3.12".into() });
    assert_eq!(study.started_unix_seconds, 1_760_000_000);
    assert_eq!(study.subjects[0].given(), "192.0.2.5 to 192.0.2.7");
    let main = study.plan.workloads[0].main().unwrap();
    assert_eq!(main.job.kind(), "tcp-out");
    assert_eq!(main.settings(), "block size 128 KiB, 2 streams");
    assert_eq!(value(&study, 0, Measure::THROUGHPUT), 125e6);
    assert!((value(&study, 0, Measure::NEAR_CPU_PER_BYTE) / 4e-9 - 1.0).abs() < 1e-9);
    assert!((value(&study, 0, Measure::FAR_CPU_PER_BYTE) / 8e-9 - 1.0).abs() < 1e-9);
    assert!((value(&study, 0, Measure::FLOW_RTT_LEAST) / 180e-6 - 1.0).abs() < 1e-9);
    let series = &study.trials[0].result.parts[0].series;
    assert_eq!((series.window_seconds, series.total().bytes), (1.0, 400));
    let run = study.trials[0].imported.as_ref().unwrap();
    assert!(run.notes[0].contains("7 segments"), "{run:?}");

    // Another one in the same file, in the words of an old version.
    let study = one(&format!("{IPERF3}{IPERF3_UDP}")).unwrap();
    assert_eq!((study.trials.len(), study.subjects.len()), (2, 1));
    assert_eq!(study.plan.workloads[1].main().unwrap().job.kind(), "udp-in");
    assert_eq!(study.trials[1].imported.as_ref().unwrap().line, 8);
    assert!((value(&study, 1, Measure::THROUGHPUT) / (1_448_000.0 * 0.99) - 1.0).abs() < 1e-9);
    assert!((value(&study, 1, StreamJob::LOSS) - 0.01).abs() < 1e-12);
    assert_eq!(value(&study, 1, Measure::JITTER), 0.0005);

    // As a stream of events.
    let whole: serde_json::Value = serde_json::from_str(IPERF3).unwrap();
    let mut lines = format!("{{\"event\": \"start\", \"data\": {}}}\n", whole["start"]);
    for interval in whole["intervals"].as_array().unwrap() {
        lines.push_str(&format!("{{\"event\": \"interval\", \"data\": {interval}}}\n"));
    }
    lines.push_str(&format!("{{\"event\": \"end\", \"data\": {}}}\n", whole["end"]));
    let streamed = one(&lines).unwrap();
    assert_eq!(value(&streamed, 0, Measure::THROUGHPUT), 125e6);
    assert_eq!(streamed.trials[0].result.parts[0].series.total().bytes, 400);

    // A run that failed, and one that was cut off.
    let failed = IPERF3.replacen("\"end\"", "\"error\": \"the server is busy\", \"end\"", 1);
    assert!(matches!(one(&failed).unwrap().trials[0].result.outcome, Outcome::Failed { .. }));
    let cut = one(&IPERF3[..600]).unwrap_err();
    assert!(cut.next.contains("iperf3 --json"), "{cut}");
}

/// A figure of the first part of a trial.
#[track_caller]
pub(super) fn value(study: &Study, trial: usize, measure: Measure) -> f64 {
    part_value(study, trial, 0, measure)
}

#[track_caller]
pub(super) fn part_value(study: &Study, trial: usize, part: u16, measure: Measure) -> f64 {
    let value = study.trials[trial].result.value(part, Metric::all(measure));
    value.unwrap_or_else(|| panic!("no {measure} in {:?}", study.trials[trial].result))
}

pub(super) fn jobs(study: &Study, trial: usize) -> Vec<(&'static str, String)> {
    let parts = &study.plan.workload(study.trials[trial].cell).unwrap().parts;
    parts.iter().map(|part| (part.job.kind(), part.settings())).collect()
}

pub(super) fn notes(study: &Study, trial: usize) -> String {
    study.trials[trial].imported.as_ref().unwrap().notes.join("; ")
}

const KEYVAL: &str = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : demo
NETPERF_INTERIM_RESULT[0]=800.00
NETPERF_UNITS[0]=10^6bits/s
NETPERF_INTERVAL[0]=1.000
NETPERF_ENDING[0]=1760000001.000
NETPERF_INTERIM_RESULT[1]=960.00
NETPERF_UNITS[1]=10^6bits/s
NETPERF_INTERVAL[1]=1.000
NETPERF_ENDING[1]=1760000002.000
THROUGHPUT=880.00
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=2.00
LOCAL_SEND_SIZE=16384
LOCAL_CPU_UTIL=25.00
LOCAL_SD=1.024
REMOTE_CPU_UTIL=-1.00
REMOTE_SD=-1.000
SD_UNITS=usec/KB
LOCAL_TRANSPORT_RETRANS=12
LOCAL_CONG_CONTROL=cubic
COMMAND_LINE=\"netperf -H 192.0.2.7 -k all\"
";

const CSV: &str = "\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to nas () port 0 AF_INET : first burst 0
Throughput,Throughput Units,Elapsed Time (sec),50th Percentile Latency Microseconds,99th Percentile Latency \
Microseconds,Minimum Latency Microseconds,Maximum Latency Microseconds,Mean Latency Microseconds,Request Size \
Bytes,Response Size Bytes,Command Line
2500.00,Trans/s,10.00,380,910,200,5000,399.50,64,1024,\"netperf -t TCP_RR -- -r 64,1024 -o all\"
";

const COLUMNS: &str = "\
OMNI Receive TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET
Remote      Throughput Throughput  Elapsed Remote        Local
Send                   Units       Time    Congestion    NODELAY
Size                               (sec)   Control
                                           Algorithm
131072      117.50     MBytes/s    10.00   bbr           0
";

/// As above, from a copy without the empty lines of the headings.
const SHORT_COLUMNS: &str = "\
OMNI Send|Recv TEST from 192.0.2.5 (192.0.2.5) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : first burst 3
Protocol Transaction Initial
         Rate        Burst
         Tran/s      Requests
UDP      8000.000    3
";

const OLD_TABLE: &str = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00     941.20
";

#[test]
fn every_form_of_netperf_gives_its_figures() {
    let study = one(KEYVAL).unwrap();
    assert_eq!(study.origin, Origin::Imported { tool: "netperf".into() });
    assert_eq!(study.started_unix_seconds, 1_760_000_000);
    assert_eq!(study.subjects[0].given(), "client to 192.0.2.7");
    assert_eq!(jobs(&study, 0), [("tcp-out", "block size 16 KiB, 1 stream".to_owned())]);
    close(value(&study, 0, Measure::THROUGHPUT), 110e6);
    close(value(&study, 0, Measure::MACHINE_CPU_PER_BYTE), 1e-9);
    let far = Metric::all(Measure::SERVER_CPU_PER_BYTE);
    assert_eq!(study.trials[0].result.value(0, far), None, "netperf prints -1 for unknown");
    let series = &study.trials[0].result.parts[0].series;
    let bytes: Vec<u64> = series.windows().map(|window| window.bytes()).collect();
    assert_eq!((series.window_seconds, bytes), (1.0, vec![100_000_000, 120_000_000]));
    assert!(series.kinds.contains_key(&OpKind::SEND));
    let said = notes(&study, 0);
    for part in ["12 segments", "cubic", "client's whole machine", "25%"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let study = one(CSV).unwrap();
    let settings = "1 connection, requests of 64 B, answers of 1 KiB, one after the other";
    assert_eq!(jobs(&study, 0), [("request", settings.to_owned())]);
    assert_eq!(value(&study, 0, Measure::REQUESTS), 2500.0);
    close(value(&study, 0, Measure::LATENCY_MEAN), 399.5e-6);
    close(value(&study, 0, Measure::LATENCY_P50), 380e-6);
    close(value(&study, 0, Measure::LATENCY_P99), 910e-6);
    close(value(&study, 0, Measure::LATENCY_MAX), 5e-3);
    assert_eq!(study.trials[0].result.parts[0].ops[&OpKind::REQUEST].count, 25_000);
    // netperf was not asked for the smallest latency: a summary would have to invent it.
    let least = CSV.replace("Minimum Latency Microseconds,", "").replace("910,200,", "910,");
    let study = one(&least).unwrap();
    assert!(study.trials[0].result.parts[0].ops.is_empty());
    close(value(&study, 0, Measure::LATENCY_P99), 910e-6);
    close(value(&study, 0, Measure::LATENCY_MAX), 5e-3);

    let study = one(COLUMNS).unwrap();
    assert_eq!(jobs(&study, 0), [("tcp-in", "block size 128 KiB, 1 stream".to_owned())]);
    close(value(&study, 0, Measure::THROUGHPUT), 117.5 * 1_048_576.0);
    assert!(notes(&study, 0).contains("bbr"), "{}", notes(&study, 0));

    let study = one(SHORT_COLUMNS).unwrap();
    assert_eq!(study.subjects[0].given(), "192.0.2.5 to 192.0.2.7 (UDP)");
    assert_eq!(value(&study, 0, Measure::REQUESTS), 8000.0);
    close(value(&study, 0, Measure::LATENCY_MEAN), 4.0 / 8000.0);

    let study = one(OLD_TABLE).unwrap();
    close(value(&study, 0, Measure::THROUGHPUT), 117.65e6);
    assert_eq!(jobs(&study, 0), [("tcp-out", "block size 16 KiB, 1 stream".to_owned())]);
    assert_eq!(study.trials[0].imported.as_ref().unwrap().runtime_seconds, 10.0);

    // All in one file, with text around them.
    let all = format!("$ netperf\n{KEYVAL}\n{CSV}{COLUMNS}\n{SHORT_COLUMNS}{OLD_TABLE}done\n");
    let study = one(&all).unwrap();
    assert_eq!(study.trials.len(), 5);
    let lines: Vec<u64> = study.trials.iter().map(|t| t.imported.as_ref().unwrap().line).collect();
    assert_eq!(lines, [2, 24, 27, 34, 39]);
}

#[test]
fn datagrams_of_netperf_have_what_arrived_and_what_was_lost() {
    let udp = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to b () port 0 AF_INET\n\
        THROUGHPUT=600.00\nTHROUGHPUT_UNITS=10^6bits/s\nLOCAL_SEND_THROUGHPUT=800.00\n\
        REMOTE_RECV_THROUGHPUT=600.00\nLOCAL_SEND_SIZE=1000\nELAPSED_TIME=10.01\n";
    let study = one(udp).unwrap();
    assert_eq!(jobs(&study, 0)[0].0, "udp-out");
    close(value(&study, 0, Measure::THROUGHPUT), 75e6);
    close(value(&study, 0, StreamJob::LOSS), 0.25);
    close(value(&study, 0, Measure::PACKETS), 75_000.0);
    // Connections, and runs without the line that names them.
    let more = "MIGRATED TCP Connect/Request/Response TEST from 0.0.0.0 () port 0 AF_INET to b () port 0 AF_INET\n\
        TRANSACTION_RATE=500.000\nELAPSED_TIME=10.00\nREQUEST_SIZE=1\n";
    let study = one(more).unwrap();
    assert_eq!(jobs(&study, 0)[0].0, "connect");
    assert_eq!(value(&study, 0, Measure::CONNECTIONS), 500.0);
    let bare = "DIRECTION=Receive\nPROTOCOL=TCP\nDEST_ADDR=b\nTHROUGHPUT=8.00\nTHROUGHPUT_UNITS=10^9bits/s\n";
    let study = one(&bare.repeat(2)).unwrap();
    assert_eq!((study.trials.len(), jobs(&study, 1)[0].0), (2, "tcp-in"));
    assert_eq!(study.subjects[0].given(), "client to b");
    assert_eq!(value(&study, 0, Measure::THROUGHPUT), 1e9);
}

#[test]
fn what_netperf_does_not_say_is_not_made_up() {
    let banner = KEYVAL.lines().next().unwrap();
    for (text, part) in [
        (format!("{banner}\nTHROUGHPUT=941.00\n"), "does not name the unit"),
        (format!("{banner}\nTHROUGHPUT=9.00\nTHROUGHPUT_UNITS=10^0bits/s\n"), "'10^0bits/s'"),
        ("THROUGHPUT=9.00\nTHROUGHPUT_UNITS=10^6bits/s\n".into(), "direction is unknown"),
        (KEYVAL.replacen("TCP STREAM", "SCTP STREAM", 1), "expected TCP or UDP"),
        (format!("{banner}\n{KEYVAL}"), "no figure that can be imported"),
        (KEYVAL.replacen("192.0.2.7", "-oProxyCommand=id", 1), "is not a host"),
        (format!("{banner}\nestablish control: are you sure there is a netserver?\n"), "netperf"),
    ] {
        let reasons = left_out(&text);
        let [reason] = &reasons[..] else { panic!("{reasons:?}") };
        assert!(reason.contains(part), "{part:?} is not in {reason}");
    }
}

/// Two servers, streams both ways, round trips of ping and of netperf, and figures that flent computes.
const FLENT: &str = r#"{"version": 4, "metadata": {"NAME": "rrul_be", "TITLE": "cake", "NOTE": null, "HOST": "b",
 "HOSTS": ["b"], "LOCAL_HOST": "a", "LENGTH": 4, "STEP_SIZE": 1.0, "T0": "2025-10-09T08:53:20.000000Z",
 "TIME": "2025-10-09T08:53:19Z", "FLENT_VERSION": "2.1.1", "FAILED_RUNNERS": 0, "SERIES_META": {
  "TCP upload BE": {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner", "MEAN_VALUE": 40.0},
  "TCP upload BE2": {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner"},
  "TCP download BE": {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner", "MEAN_VALUE": 80.0},
  "TCP download BE2": {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner", "MEAN_VALUE": 160.0},
  "TCP upload sum": {"UNITS": "Mbits/s", "RUNNER": "SumRunner", "MEAN_VALUE": 64.0},
  "Ping (ms) ICMP": {"UNITS": "ms", "RUNNER": "PingRunner"},
  "Ping (ms) UDP BE": {"UNITS": "ms", "RUNNER": "NetperfDemoRunner", "MEAN_VALUE": 300.0}}},
 "x_values": [0, 1, 2, 3, 4, 5],
 "results": {
  "TCP upload BE": [null, 40, 40, 40, 40, null], "TCP upload BE2": [null, 8, 16, 24, 32, null],
  "TCP download BE": [null, 80, 80, 80, 80, null], "TCP download BE2": [null, 160, 160, 160, 160, null],
  "TCP upload sum": [null, 48, 56, 64, 72, null], "TCP upload BE::tcp_rtt": [1, 2, 3, 4, 5, 6],
  "Ping (ms) ICMP": [10, 20, 30, 40, 50, 60], "Ping (ms) UDP BE": [5, 6, 7, 8, 9, 10],
  "qdisc_stats_r::dropped": [0, 1, 2, 3, 4, 5]},
 "raw_values": {
  "TCP upload BE": [{"t": 1.0, "val": 41, "dur": 1}, {"t": 1.1, "tcp_rtt": 31.0, "tcp_cwnd": 10},
   {"t": 2.1, "tcp_rtt": 35.5, "tcp_cwnd": null}, {"t": 3.1, "tcp_rtt": 42.0}],
  "Ping (ms) ICMP": [{"seq": 1.0, "t": 0.1, "val": 12.0}, {"seq": 2, "t": 1.1, "val": 30.0},
   {"seq": 4, "t": 3.1, "val": 48.0}],
  "Ping (ms) UDP BE": [{"t": 0.5, "val": 300.0, "dur": 1.0}]}}
"#;

#[test]
fn a_test_of_flent_has_goodput_both_ways_and_round_trips_under_load() {
    let study = one(FLENT).unwrap();
    assert_eq!(study.origin, Origin::Imported { tool: "flent-2.1.1".into() });
    assert_eq!(study.started_unix_seconds, 1_760_000_000);
    assert_eq!(study.subjects[0].given(), "a to b");
    assert_eq!(
        jobs(&study, 0),
        [
            ("request", "1 connection, 1 a second each".to_owned()),
            ("tcp-both", "2 streams each way".to_owned())
        ]
    );
    // Means that netperf printed, and the mean of the values where it printed none.
    close(part_value(&study, 0, 1, Measure::GOODPUT_OUT), (40.0 + 20.0) * 1e6 / 8.0);
    close(part_value(&study, 0, 1, Measure::GOODPUT_IN), 240e6 / 8.0);
    close(part_value(&study, 0, 1, Measure::THROUGHPUT), 300e6 / 8.0);
    close(part_value(&study, 0, 1, Measure::FLOW_RTT_LEAST), 0.031);
    close(part_value(&study, 0, 1, Measure::FLOW_RTT_P50), 0.0355);
    close(part_value(&study, 0, 1, Measure::FLOW_RTT_MAX), 0.042);
    let series = &study.trials[0].result.parts[1].series;
    assert_eq!((series.window_seconds, series.len()), (1.0, 4), "from the first byte to the last");
    assert_eq!(series.kinds[&OpKind::SEND].bytes, [6_000_000, 7_000_000, 8_000_000, 9_000_000]);
    assert_eq!(series.kinds[&OpKind::RECEIVE].bytes, [30_000_000; 4]);
    // Single round trips count; three of them support no quantile. One of four was not answered.
    close(value(&study, 0, Measure::LATENCY_MEAN), 0.030);
    close(value(&study, 0, Measure::LATENCY_MAX), 0.048);
    close(value(&study, 0, Measure::UNANSWERED), 0.25);
    assert_eq!(study.trials[0].result.value(0, Metric::all(Measure::LATENCY_P50)), None);
    let said = notes(&study, 0);
    for part in [
        "round trips: Ping (ms) ICMP",
        "which are not imported: Ping (ms) UDP BE",
        "qdisc_stats_r",
        "cake",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(!said.contains("tcp_rtt") && !said.contains("sum"), "{said}");

    // Without single round trips the means of intervals are all there is.
    let averaged = FLENT.replace("\"seq\"", "\"n\"");
    let study = one(&averaged).unwrap();
    // In the steps in which the streams had values.
    let mean = (20 + 30 + 40 + 50 + 6 + 7 + 8 + 9) as f64 / 8.0 / 1e3;
    close(value(&study, 0, Measure::LATENCY_MEAN), mean);
    assert!(notes(&study, 0).contains("means of intervals"), "{}", notes(&study, 0));

    // Round trips before and after the streams are not under load.
    let longer = FLENT.replace(
        "{\"t\": 1.0, \"val\": 41, \"dur\": 1}",
        "{\"t\": 1.0, \"val\": 41}, {\"t\": 3.0, \"val\": 41}",
    );
    let study = one(&longer).unwrap();
    close(value(&study, 0, Measure::LATENCY_MEAN), 0.030);
    close(value(&study, 0, Measure::LATENCY_MAX), 0.030);
    close(value(&study, 0, Measure::UNANSWERED), 0.0);

    // A way alone, as in the file versions that name no tools.
    let old = r#"{"version": 1, "metadata": {"NAME": "tcp_download", "HOST": "b", "LENGTH": 2},
        "x_values": [0.0, 0.5], "results": {"TCP download": [8.0, 24.0], "TCP download avg": [8.0, 24.0]}}"#;
    let study = one(old).unwrap();
    assert_eq!(jobs(&study, 0), [("tcp-in", "1 stream".to_owned())]);
    close(value(&study, 0, Measure::THROUGHPUT), 2e6);
    assert_eq!(study.subjects[0].given(), "client to b");
}

#[test]
fn a_test_with_several_servers_is_a_run_for_each() {
    let text = FLENT
        .replace("\"HOSTS\": [\"b\"]", "\"HOSTS\": [\"b\", \"c\", null]")
        .replace("TCP upload BE2\"", "TCP upload c\"")
        .replace("TCP download BE2\"", "TCP download c\"");
    let study = one(&text).unwrap();
    let given: Vec<&str> = study.subjects.iter().map(|subject| subject.given()).collect();
    assert_eq!(given, ["a to b", "a to c"]);
    close(part_value(&study, 0, 1, Measure::GOODPUT_OUT), 5e6);
    assert_eq!(jobs(&study, 1), [("tcp-both", "1 stream each way".to_owned())]);
    close(value(&study, 1, Measure::GOODPUT_IN), 20e6);
    assert!(notes(&study, 1).contains("paths to: b"), "{}", notes(&study, 1));
}

#[test]
fn files_of_flent_that_cannot_be_read_are_refused_with_the_reason() {
    for (from, to, part) in [
        ("\"version\": 4", "\"version\": 5", "version 5"),
        ("\"version\": 4", "\"version\": \"x\"", "line 1, column"),
        ("\"HOST\": \"b\",\n \"HOSTS\": [\"b\"],", "\"HOSTS\": [],", "name the server"),
        ("\"LOCAL_HOST\": \"a\"", "\"LOCAL_HOST\": \"-x\"", "is not a host"),
        ("\"results\": {", "\"results\": [{", "line"),
    ] {
        let changed = FLENT.replacen(from, to, 1);
        assert_ne!(changed, FLENT, "{from}");
        let reasons = left_out(&changed);
        let [reason] = &reasons[..] else { panic!("{part}: {reasons:?}") };
        assert!(reason.contains(part), "{part:?} is not in {reason}");
    }
    let other = r#"{"version": 4, "metadata": {"NAME": "http", "HOST": "b"}, "x_values": [0],
        "results": {"HTTP latency": [1.0]}}"#;
    assert!(left_out(other)[0].contains("'http' has neither"), "{:?}", left_out(other));
    let silent = r#"{"version": 4, "metadata": {"HOST": "b"}, "x_values": [0], "results": {"TCP upload": [null]}}"#;
    assert!(left_out(silent)[0].contains("has a value"), "{:?}", left_out(silent));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_unpacked_up_to_a_limit() {
    let packed = gzip(FLENT.as_bytes());
    let read = |bytes: &[u8]| ImportFile::from_bytes("x.flent.gz".into(), bytes.to_vec(), 0);
    assert_eq!(read(&packed).unwrap().text, FLENT);
    // Two members one after the other are one content.
    assert_eq!(read(&[gzip(b"ab"), gzip(b"c")].concat()).unwrap().text, "abc");
    for length in [3, 12, packed.len() / 2, packed.len() - 1] {
        let failure = read(&packed[..length]).unwrap_err();
        assert!(failure.happened.contains("gzip cannot unpack it"), "{length}: {failure}");
        assert!(failure.on.contains("x.flent.gz"), "{failure}");
    }
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    assert!(read(&damaged).is_err());
    // A small file with much content: nothing beyond the limit is kept.
    let bomb = gzip(&vec![b' '; 1 << 20]);
    assert!(bomb.len() < 20_000);
    let malformed = unpacked(&bomb, 1000).unwrap_err().in_file("bomb");
    assert!(malformed.happened.contains("more than 1 kB"), "{malformed}");
    assert_eq!(unpacked(&bomb, 1 << 20).unwrap().len(), 1 << 20);
}

#[test]
fn all_network_tools_of_one_import_are_one_study() {
    let files = [file("a.json", IPERF3), file("b.txt", KEYVAL), file("c.flent.gz", FLENT)];
    let imports = import(&files, &ImportOptions::default()).unwrap();
    assert_eq!(imports.studies.len(), 1);
    let study = &imports.studies[0];
    assert_eq!((study.trials.len(), study.subjects.len()), (3, 3));
    assert_eq!(study.origin, Origin::Imported { tool: "iperf3-3.12, netperf, flent-2.1.1".into() });
    let options = ImportOptions { labels: vec!["wan".into()], ..ImportOptions::default() };
    let study = &import(&files, &options).unwrap().studies[0];
    assert_eq!((study.subjects.len(), study.subjects[0].given()), (1, "wan"));
    assert!(crate::to_json(study).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_results_of_network_tools_are_read_or_refused(
        which in 0usize..8, at in any::<prop::sample::Index>(), bytes in "\\PC{0,3}", cut: bool,
    ) {
        let text = [IPERF3, IPERF3_UDP, KEYVAL, CSV, COLUMNS, SHORT_COLUMNS, OLD_TABLE, FLENT][which];
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let rest = if cut { "" } else { text.get(at + 1..).unwrap_or_default() };
        if let Ok(study) = one(&format!("{}{bytes}{rest}", &text[..at])) {
            prop_assert!(crate::to_json(&study).is_ok());
        }
    }

    /// Bytes of intervals are neither lost nor made, however long the intervals are.
    #[test]
    fn intervals_become_windows_with_all_their_bytes(
        intervals in prop::collection::vec((0.01f64..3.0, 0u32..1_000_000), 1..40),
    ) {
        let all: Vec<paths::Interval> = intervals
            .iter()
            .map(|(seconds, bytes)| paths::Interval { seconds: *seconds, bytes: f64::from(*bytes) })
            .collect();
        let series = paths::series(OpKind::SEND, &all);
        let sum: u64 = intervals.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        // Each window is rounded to whole bytes.
        prop_assert!(series.total().bytes.abs_diff(sum) <= 1 + series.len() as u64);
    }
}
