//! The older tables of netperf. Their figures are those of published outputs; the names are of these tests.

use crate::import::path_tests::{jobs, notes, value};
use crate::import::tests::{close, left_out, one};
use plimsoll_model::{Measure, StreamJob};

/// From the test suite of an operating system, with what its script prints around it.
const ALL_TESTS: &str = "\
====== netperf UDP_STREAM begin ======
Starting netserver with host '127.0.0.1' port '12865' and family AF_UNSPEC
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0) port 0 AF_INET
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

 212992    1000   1.00         3442      0      27.50
 32000           1.00         3428             27.39

====== netperf UDP_STREAM end: success ======
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0) port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 32000  32000   1000    1.00       79.75
MIGRATED UDP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0) port 0 AF_INET : first burst 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

32000  32000  64       64      1.00     2070.62
32000  32000
MIGRATED TCP Connect/Request/Response TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0) port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

32000  32000  64       64      1.00      390.53
32000  32000
";

#[test]
fn older_tables_of_datagrams_have_what_was_sent_and_what_arrived() {
    let study = one(ALL_TESTS).unwrap();
    assert_eq!(study.trials.len(), 4);
    let kinds: Vec<&str> = (0..4).map(|trial| jobs(&study, trial)[0].0).collect();
    assert_eq!(kinds, ["udp-out", "tcp-out", "request", "connect"]);
    assert_eq!(jobs(&study, 0)[0].1, "1 kB payload, 1 stream, one datagram a call");
    // The goodput is what arrived: 27.39, not 27.50.
    close(value(&study, 0, Measure::THROUGHPUT), 27.39e6 / 8.0);
    close(value(&study, 0, StreamJob::LOSS), 1.0 - 3428.0 / 3442.0);
    close(value(&study, 0, Measure::PACKETS), 27.39e6 / 8.0 / 1000.0);
    close(value(&study, 1, Measure::THROUGHPUT), 79.75e6 / 8.0);
    close(value(&study, 2, Measure::REQUESTS), 2070.62);
    close(value(&study, 3, Measure::CONNECTIONS), 390.53);
}

/// Of a measurement with -c -C on two routers.
const WITH_CPU: &str = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.8 (192.0.2.8) port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

 87380  16384  16384    10.07         4.21   29.00    1.00     565.055  19.390
MIGRATED TCP REQUEST/RESPONSE TEST from ::0 (::) port 0 AF_INET6 to b () port 0 AF_INET6 : first burst 0 : cpu bind
Local /Remote
Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem
Send   Recv   Size    Size   Time    Rate     local  remote local   remote
bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr

262144 540000 70000   70000  10.00   6591.45  0.86   1.34   62.490  97.446
262144 540000
";

#[test]
fn older_tables_have_the_cpu_of_both_machines() {
    let study = one(WITH_CPU).unwrap();
    close(value(&study, 0, Measure::THROUGHPUT), 4.21e6 / 8.0);
    close(value(&study, 0, Measure::MACHINE_CPU_PER_BYTE), 565.055e-6 / 1024.0);
    close(value(&study, 0, Measure::SERVER_CPU_PER_BYTE), 19.39e-6 / 1024.0);
    assert!(notes(&study, 0).contains("client's whole machine, other work included: 29"));
    assert_eq!(study.subjects[1].given(), "client to b");
    close(value(&study, 1, Measure::REQUESTS), 6591.45);
    close(value(&study, 1, Measure::MACHINE_CPU_PER_OP), 62.49e-6);
    close(value(&study, 1, Measure::SERVER_CPU_PER_OP), 97.446e-6);
    // What netperf did not measure is -1, and a broken counter is negative.
    let broken = WITH_CPU
        .replace("29.00    1.00     565.055  19.390", "-2934.86   -1.00   -401.008  -1.000");
    let study = one(&broken).unwrap();
    assert!(!study.trials[0].result.parts[0].quantities.keys().any(|metric| {
        [Measure::MACHINE_CPU_PER_BYTE, Measure::SERVER_CPU_PER_BYTE].contains(&metric.measure)
    }));
    close(value(&study, 0, Measure::THROUGHPUT), 4.21e6 / 8.0);
}

#[test]
fn units_with_a_blank_and_messages_of_the_server_are_read() {
    let text = "\
MIGRATED TCP MAERTS TEST from (null) (0.0.0.0) port 0 AF_INET to (null) () port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Recv     Send     Recv    Send
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    MBytes  /s  % S      % S      us/KB   us/KB

 87380 131072 131072    10.01      46.91     40.20    25.28    5.482   3.448
";
    let study = one(text).unwrap();
    // A name that the resolver did not have is no host.
    assert_eq!(study.subjects[0].given(), "client to server");
    assert_eq!(jobs(&study, 0), [("tcp-in", "block size 128 KiB, 1 stream".to_owned())]);
    close(value(&study, 0, Measure::THROUGHPUT), 46.91 * 1_048_576.0);
}

#[test]
fn sizes_and_bursts_of_requests_are_as_netperf_said() {
    // Selected figures alone: the sizes were not among them.
    let selected = "\
MIGRATED TCP REQUEST/RESPONSE TEST from 192.0.2.4 () port 0 AF_INET to 192.0.2.6 () port 0 AF_INET : first burst 0
Minimum      Maximum      Mean         99th         Stddev       Throughput Throughput
Latency      Latency      Latency      Percentile   Latency                 Units
Microseconds Microseconds Microseconds Latency      Microseconds
                                       Microseconds
4            227          8.94         28           1.68         60085.02   Trans/s
";
    let study = one(selected).unwrap();
    assert_eq!(jobs(&study, 0), [("request", "1 connection, one after the other".to_owned())]);
    close(value(&study, 0, Measure::LATENCY_MEAN), 8.94e-6);
    close(value(&study, 0, Measure::LATENCY_P99), 28e-6);
    // With three more requests in flight, a transaction takes four times as long as the rate alone says.
    let burst = ALL_TESTS.replace("first burst 0", "first burst 3");
    let study = one(&burst).unwrap();
    close(value(&study, 2, Measure::LATENCY_MEAN), 4.0 / 2070.62);
    assert!(notes(&study, 2).contains("4 requests in flight"), "{}", notes(&study, 2));
}

#[test]
fn tables_that_are_cut_or_hostile_are_left_out() {
    for (from, to) in [
        (" 32000           1.00         3428             27.39\n", ""),
        ("27.39\n", "nan\n"),
        ("10^6bits/sec", "10^7bits/sec"),
    ] {
        let changed = ALL_TESTS.replacen(from, to, 1);
        assert_ne!(changed, ALL_TESTS);
        let reasons = left_out(&changed);
        assert_eq!(reasons.len(), 1, "{from}: {reasons:?}");
        assert!(reasons[0].contains("line 3"), "{from}: {reasons:?}");
    }
}

#[test]
fn interim_results_that_cannot_be_are_left_out() {
    let text = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to b () port 0 AF_INET : demo
NETPERF_INTERIM_RESULT[0]=800.00
NETPERF_UNITS[0]=10^6bits/s
NETPERF_INTERVAL[0]=1e308
NETPERF_ENDING[0]=1e300
NETPERF_INTERIM_RESULT[1]=800.00
NETPERF_UNITS[1]=10^6bits/s
NETPERF_INTERVAL[1]=1.000
NETPERF_ENDING[1]=1e300
THROUGHPUT=880.00
THROUGHPUT_UNITS=10^6bits/s
";
    let study = one(text).unwrap();
    assert!(crate::to_json(&study).is_ok());
    assert_eq!(study.started_unix_seconds, 1_700_000_000, "the date of the file");
    assert_eq!(study.trials[0].result.parts[0].series.total().bytes, 100_000_000);
}
