//! Results of the versions and modes of iperf3, reduced to what is read. Figures are those of published results where
//! a comment says so.

use crate::import::path_tests::{jobs, notes, part_value, value};
use crate::import::tests::{close, left_out, one};
use plimsoll_model::{Measure, Metric, OpKind, Outcome, StreamJob, Study};
use serde_json::{Value, json};

/// A document: its settings, where it is from, the intervals and the end.
fn document(test: Value, is_server: bool, intervals: Value, end: Value) -> Value {
    let mut start = json!({"version": "iperf 3.21", "timestamp": {"timesecs": 1_760_000_000}, "test_start": test});
    let (from, to) = ("192.0.2.5", "192.0.2.7");
    match is_server {
        true => {
            start["connected"] = json!([{"local_host": to, "remote_host": from}]);
            start["accepted_connection"] = json!({"host": from, "port": 38018});
        }
        false => {
            start["connected"] = json!([{"local_host": from, "remote_host": to}]);
            start["connecting_to"] = json!({"host": to, "port": 5201});
        }
    }
    json!({"start": start, "intervals": intervals, "end": end})
}

fn tcp(more: Value) -> Value {
    with(
        json!({"protocol": "TCP", "num_streams": 2, "blksize": 131_072, "duration": 1, "reverse": 0}),
        more,
    )
}

fn udp(more: Value) -> Value {
    with(
        json!({"protocol": "UDP", "num_streams": 2, "blksize": 1200, "duration": 1, "reverse": 0}),
        more,
    )
}

fn with(mut all: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    all
}

fn is_known(study: &Study, measure: Measure) -> bool {
    study.trials[0].result.value(0, Metric::all(measure)).is_some()
}

/// A sum of bytes in a second.
fn sum(bytes: u64) -> Value {
    json!({"seconds": 1.0, "bytes": bytes, "bits_per_second": bytes * 8})
}

#[test]
fn the_servers_output_is_of_the_same_path_and_lacks_the_clients_counts() {
    // 3.21, --reverse: the server sent, and has zeros for what the client received.
    let end = json!({
        "streams": [{"sender": {"min_rtt": 22, "mean_rtt": 24, "max_rtt": 30, "sender": true},
            "receiver": {"bytes": 0, "sender": true}}],
        "sum_sent": {"seconds": 1.001113, "bytes": 1_048_576, "bits_per_second": 8_379_281.859, "retransmits": 3},
        "sum_received": {"seconds": 1.001113, "bytes": 0, "bits_per_second": 0},
        "cpu_utilization_percent": {"host_total": 50, "remote_total": 0}});
    let text = document(tcp(json!({"reverse": 1})), true, json!([]), end).to_string();
    let study = one(&text).unwrap();
    assert_eq!(
        study.subjects[0].given(),
        "192.0.2.5 to 192.0.2.7",
        "from the client to the server"
    );
    assert_eq!(jobs(&study, 0)[0].0, "tcp-in");
    close(value(&study, 0, Measure::THROUGHPUT), 8_379_281.859 / 8.0);
    assert!(!is_known(&study, Measure::NEAR_CPU_PER_BYTE), "the server does not have it");
    close(value(&study, 0, Measure::FAR_CPU_PER_BYTE), 0.5 * 1.001113 / 1_048_576.0);
    close(value(&study, 0, Measure::FLOW_RTT_MEAN), 24e-6);
    close(value(&study, 0, Measure::FLOW_RTT_MAX), 30e-6);
    let said = notes(&study, 0);
    for part in ["output of the server", "as sent", "3 segments were sent again"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }

    // Datagrams to the server are counted there; 3.21 has no rate in their sum.
    let end = json!({"sum": {"seconds": 1.0, "bytes": 0, "bits_per_second": 0, "jitter_ms": 0.02, "lost_packets": 4, "packets": 834},
        "sum_received": {"seconds": 1.0, "bytes": 996_000, "bits_per_second": 7_968_000}});
    let intervals = json!([{"sum": sum(600_000)}, {"sum": sum(396_000)}]);
    let whole = document(udp(json!({})), true, intervals, end);
    let study = one(&whole.to_string()).unwrap();
    close(value(&study, 0, Measure::THROUGHPUT), 996e3);
    close(value(&study, 0, StreamJob::LOSS), 4.0 / 834.0);
    close(value(&study, 0, Measure::PACKETS), 830.0);
    close(value(&study, 0, Measure::JITTER), 20e-6);
    // Before 3.10 there is no other sum: the server's own intervals are left.
    let mut old = whole;
    old["end"].as_object_mut().unwrap().remove("sum_received");
    let study = one(&old.to_string()).unwrap();
    close(value(&study, 0, Measure::THROUGHPUT), 498e3);

    // 3.6: without the connections, and what arrived of datagrams at the client is not known.
    let end = json!({"sum": {"seconds": 10, "bytes": 1_311_888, "bits_per_second": 1_049_510.4, "jitter_ms": 0,
        "lost_packets": 0, "packets": 906, "lost_percent": 0}});
    let mut old = document(udp(json!({"reverse": 1})), true, json!([]), end);
    old["start"].as_object_mut().unwrap().remove("connected");
    let reasons = left_out(&old.to_string());
    assert!(reasons[0].contains("does not say what arrived"), "{reasons:?}");
    assert!(reasons[0].contains("Import the output of the client"), "{reasons:?}");
}

/// Both directions at once, of 100 and 300 bytes a second, as 3.13 and later say it.
fn both_ways() -> Value {
    let stream = |bytes: u64, sent: bool, rtt: u32| {
        let part = with(sum(bytes), json!({"sender": sent}));
        json!({"sender": with(part.clone(), json!({"min_rtt": rtt, "retransmits": bytes / 100})), "receiver": part})
    };
    let interval = json!({"streams": [with(sum(100), json!({"sender": true})), with(sum(300), json!({"sender": false}))],
        "sum": sum(100), "sum_bidir_reverse": sum(300)});
    let end = json!({"streams": [stream(100, true, 17), stream(300, false, 6)],
        "sum_sent": with(sum(100), json!({"retransmits": 1})), "sum_received": sum(100),
        "sum_sent_bidir_reverse": with(sum(300), json!({"retransmits": 3})), "sum_received_bidir_reverse": sum(300),
        "cpu_utilization_percent": {"host_total": 50, "remote_total": 100}});
    document(tcp(json!({"bidir": 1, "num_streams": 1})), false, json!([interval]), end)
}

#[test]
fn both_directions_have_their_own_figures_in_every_version() {
    let new = both_ways().to_string();
    // 3.7 to 3.10 write each key of the sums twice and do not say that data went both ways.
    let old = new.replace("_bidir_reverse", "").replace("\"bidir\":1,", "");
    assert_ne!(new, old);
    for text in [new, old] {
        let study = one(&text).unwrap();
        assert_eq!(
            jobs(&study, 0),
            [("tcp-both", "block size 128 KiB, 1 stream each way".to_owned())]
        );
        close(value(&study, 0, Measure::GOODPUT_OUT), 100.0);
        close(value(&study, 0, Measure::GOODPUT_IN), 300.0);
        close(value(&study, 0, Measure::THROUGHPUT), 400.0);
        // Of a byte in either direction.
        close(value(&study, 0, Measure::NEAR_CPU_PER_BYTE), 0.5 / 400.0);
        close(value(&study, 0, Measure::FAR_CPU_PER_BYTE), 1.0 / 400.0);
        let series = &study.trials[0].result.parts[0].series;
        assert_eq!(series.kinds[&OpKind::SEND].bytes, [100]);
        assert_eq!(series.kinds[&OpKind::RECEIVE].bytes, [300]);
        let said = notes(&study, 0);
        assert!(said.contains("1 segments were sent again out"), "{said}");
        assert!(said.contains("3 segments were sent again in"), "{said}");
    }
}

#[test]
fn datagrams_both_ways_count_together() {
    let sums = |packets: u64, lost: u64, jitter: f64| {
        with(
            sum(packets * 1200),
            json!({"packets": packets, "lost_packets": lost, "jitter_ms": jitter}),
        )
    };
    let end = json!({"sum": sums(1000, 10, 0.5), "sum_sent": sums(1000, 0, 0.0), "sum_received": sums(990, 10, 0.5),
        "sum_bidir_reverse": sums(3000, 0, 0.1), "sum_received_bidir_reverse": sums(3000, 0, 0.1)});
    let text = document(udp(json!({"bidir": 1})), false, json!([]), end).to_string();
    let study = one(&text).unwrap();
    close(value(&study, 0, Measure::GOODPUT_OUT), 990.0 * 1200.0);
    close(value(&study, 0, Measure::GOODPUT_IN), 3000.0 * 1200.0);
    close(value(&study, 0, StreamJob::LOSS), 10.0 / 4000.0);
    close(value(&study, 0, Measure::PACKETS), 3990.0);
    close(value(&study, 0, Measure::JITTER), 0.5e-3);
}

#[test]
fn seconds_that_the_user_left_out_are_not_among_the_intervals() {
    // 3.19.1, --omit 1.
    let intervals = json!([{"sum": with(sum(1_048_576), json!({"omitted": true}))},
        {"sum": with(sum(524_288), json!({"omitted": false}))}]);
    let end = json!({"sum_sent": sum(524_288), "sum_received": sum(524_288)});
    let study = one(&document(tcp(json!({"omit": 1})), false, intervals, end).to_string()).unwrap();
    assert_eq!(study.trials[0].result.parts[0].series.total().bytes, 524_288);
    assert!(notes(&study, 0).contains("the first 1 s are left out"), "{}", notes(&study, 0));
}

#[test]
fn a_rate_that_was_asked_for_is_said() {
    let end = json!({"sum_sent": sum(1000), "sum_received": sum(1000)});
    let study =
        one(&document(tcp(json!({"target_bitrate": 4_000_000})), false, json!([]), end.clone())
            .to_string())
        .unwrap();
    let flags: Vec<String> = study.flags.iter().map(|flag| flag.message()).collect();
    let [flag] = &flags[..] else { panic!("{flags:?}") };
    assert!(flag.contains("rate-limited") && flag.contains("4 Mbit/s for each stream"), "{flag}");
    // As fast as it can: nothing to say.
    let study =
        one(&document(tcp(json!({"target_bitrate": 0})), false, json!([]), end).to_string())
            .unwrap();
    assert!(study.flags.is_empty());
    // Datagrams always have a rate.
    let end = json!({"sum": with(sum(500_400), json!({"packets": 417, "lost_packets": 0}))});
    let known = document(udp(json!({"target_bitrate": 4_000_000})), false, json!([]), end.clone());
    let study = one(&known.to_string()).unwrap();
    assert!(jobs(&study, 0)[0].1.ends_with("417 datagrams a second each"), "{:?}", jobs(&study, 0));
    let study = one(&document(udp(json!({})), false, json!([]), end).to_string()).unwrap();
    assert!(notes(&study, 0).contains("asked for is not known"), "{}", notes(&study, 0));
}

#[test]
fn a_test_of_so_many_bytes_has_the_length_that_it_took() {
    // 3.9, -n 10K.
    let end = json!({"sum_sent": {"seconds": 0.323972, "bytes": 265_608, "bits_per_second": 6_558_789.0},
        "sum_received": {"seconds": 0.5, "bytes": 265_608, "bits_per_second": 4_249_728.0}});
    let test = tcp(json!({"duration": 0, "bytes": 10_240}));
    let study = one(&document(test, false, json!([]), end).to_string()).unwrap();
    assert_eq!(study.trials[0].imported.as_ref().unwrap().runtime_seconds, 0.5);
    close(value(&study, 0, Measure::THROUGHPUT), 4_249_728.0 / 8.0);
    assert!(notes(&study, 0).contains("until 10 KiB were sent"), "{}", notes(&study, 0));
}

#[test]
fn more_datagrams_lost_than_sent_are_no_loss() {
    // 3.12 with --omit can report a loss of 180%.
    let end = json!({"sum": with(sum(1000), json!({"packets": 100, "lost_packets": 180, "lost_percent": 180.0})),
        "sum_received": sum(800)});
    let study = one(&document(udp(json!({})), false, json!([]), end).to_string()).unwrap();
    assert!(!is_known(&study, StreamJob::LOSS) && !is_known(&study, Measure::PACKETS));
    close(value(&study, 0, Measure::THROUGHPUT), 800.0);
}

#[test]
fn errors_say_what_happened_to_the_run() {
    // 3.0.11, without a route to the host.
    let refused = json!({"start": {"connected": [], "version": "iperf 3.0.11", "system_info": "Linux"},
        "intervals": [], "end": {}, "error": "error - unable to connect to server: No route to host"});
    for text in [
        refused.to_string(),
        // The same as a stream, of 3.18.
        format!(
            "{}\n{}\n{}\n",
            json!({"event": "start", "data": refused["start"]}),
            json!({"event": "error", "data": refused["error"]}),
            json!({"event": "end", "data": {}})
        ),
    ] {
        let reasons = left_out(&text);
        assert!(reasons[0].contains("failed before its test began"), "{reasons:?}");
        assert!(reasons[0].contains("No route to host"), "{reasons:?}");
        assert!(reasons[0].contains("Run iperf3 again"), "{reasons:?}");
    }
    // A server that went away during the test: the stream has its error.
    let whole = both_ways();
    let stream = format!(
        "{}\n{}\n{}\n{}\n",
        json!({"event": "start", "data": whole["start"]}),
        json!({"event": "interval", "data": whole["intervals"][0]}),
        json!({"event": "error", "data": "the server has terminated"}),
        json!({"event": "end", "data": {}})
    );
    let study = one(&stream).unwrap();
    let outcome = &study.trials[0].result.outcome;
    assert!(
        matches!(outcome, Outcome::Failed { failure, .. } if failure.happened.contains("terminated")),
        "{outcome:?}"
    );
    // One that was stopped has neither an end nor an error.
    let stopped = stream.lines().take(2).collect::<Vec<_>>().join("\n");
    assert!(left_out(&stopped)[0].contains("ends before the test did"), "{:?}", left_out(&stopped));
    // Nothing arrived.
    let nothing = document(
        tcp(json!({})),
        false,
        json!([]),
        json!({"sum_sent": sum(0), "sum_received": sum(0)}),
    );
    let study = one(&nothing.to_string()).unwrap();
    assert!(
        matches!(&study.trials[0].result.outcome, Outcome::Failed { failure, .. } if failure.happened == "nothing arrived")
    );
    let sctp = document(
        tcp(json!({"protocol": "SCTP"})),
        false,
        json!([]),
        json!({"sum_received": sum(1)}),
    );
    assert!(left_out(&sctp.to_string())[0].contains("expected TCP or UDP"));
}

#[test]
fn a_run_that_is_written_twice_counts_once() {
    let mut whole = both_ways();
    whole["start"]["cookie"] = "x4".into();
    let pretty = serde_json::to_string_pretty(&whole).unwrap();
    // 3.17 wrote the document twice; --json-stream-full-output has it after the events.
    let events = format!(
        "{}\n{}\n{}\n",
        json!({"event": "start", "data": whole["start"]}),
        json!({"event": "interval", "data": whole["intervals"][0]}),
        json!({"event": "end", "data": whole["end"]})
    );
    for text in [format!("{pretty}\n{pretty}\n"), format!("{events}{pretty}\n")] {
        let study = one(&text).unwrap();
        assert_eq!(study.trials.len(), 1);
        close(value(&study, 0, Measure::THROUGHPUT), 400.0);
    }
    let mut other = whole.clone();
    other["start"]["cookie"] = "x5".into();
    // An array, as jq --slurp makes it.
    let study = one(&json!([whole, other, whole]).to_string()).unwrap();
    assert_eq!(study.trials.len(), 2);
}

#[test]
fn text_around_documents_is_skipped_and_a_broken_one_does_not_keep_the_others_out() {
    let pretty = serde_json::to_string_pretty(&both_ways()).unwrap();
    let text = format!(
        "$ iperf3 -c b -J\nwarning: \"-f\" is ignored with JSON output\n[ ID] Interval\n{pretty}\ndone\n"
    );
    let study = one(&text).unwrap();
    assert_eq!(study.trials[0].imported.as_ref().unwrap().line, 4);
    close(value(&study, 0, Measure::THROUGHPUT), 400.0);
    let cut = &pretty[..pretty.len() / 2];
    let reasons = left_out(&format!("{pretty}\n{cut}"));
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(reason.contains("ends within a document"), "{reason}");
    assert_eq!(one(&format!("{pretty}\n{cut}")).unwrap().trials.len(), 1);
    assert_eq!(one(&format!("{{\"start\": [}}\n{pretty}\n")).unwrap().trials.len(), 1);
}

#[test]
fn figures_that_json_does_not_have_are_unknown() {
    // 3.0.11: a second without a datagram has a loss of 0 of 0.
    let end = json!({"sum": with(sum(8250), json!({"packets": 33, "lost_packets": 0, "lost_percent": 0.25}))});
    let text = document(udp(json!({})), false, json!([{"sum": sum(8250)}]), end).to_string();
    let text = text.replace("0.25", "-nan");
    let study = one(&text).unwrap();
    close(value(&study, 0, Measure::THROUGHPUT), 8250.0);
    close(value(&study, 0, StreamJob::LOSS), 0.0);
    // 3.1.2 has a blank in place of the sign of an exponent.
    let spaced = text.replace("66000", "6.6e 04");
    assert_ne!(spaced, text);
    close(value(&one(&spaced).unwrap(), 0, Measure::THROUGHPUT), 8250.0);
}

#[test]
fn hostile_figures_are_unknown() {
    let text = both_ways().to_string();
    for hostile in ["-1", "1e308", "\"300\"", "null", "[300]", "{}", "true"] {
        let changed = text.replace("\"bytes\":300", &format!("\"bytes\":{hostile}"));
        let changed =
            changed.replace("\"bits_per_second\":2400", &format!("\"bits_per_second\":{hostile}"));
        assert_ne!(changed, text);
        let study = one(&changed).unwrap();
        assert!(crate::to_json(&study).is_ok());
        close(value(&study, 0, Measure::GOODPUT_OUT), 100.0);
        assert!(!is_known(&study, Measure::GOODPUT_IN), "{hostile}");
        assert!(!is_known(&study, Measure::THROUGHPUT), "{hostile}: half of it is unknown");
    }
    for hostile in ["-1", "1e308", "100000000000000000", "18446744073709551616", "\"1\"", "[]"] {
        for key in ["timesecs\":1760000000", "duration\":1", "num_streams\":1", "blksize\":131072"]
        {
            let (name, _) = key.split_once(':').unwrap();
            let changed = text.replace(&format!("\"{key}"), &format!("\"{name}:{hostile}"));
            assert_ne!(changed, text, "{key}");
            let study = one(&changed).unwrap();
            assert!(crate::to_json(&study).is_ok(), "{key} {hostile}");
            let expected = if name.starts_with("timesecs") { 1_700_000_000 } else { 1_760_000_000 };
            assert_eq!(
                study.started_unix_seconds, expected,
                "the date of the file in place of none"
            );
            close(part_value(&study, 0, 0, Measure::THROUGHPUT), 400.0);
        }
    }
    // A number that is too large for JSON, and one that is nested too deep.
    let large = text.replace("\"bytes\":300", "\"bytes\":1e999");
    assert!(left_out(&large)[0].contains("out of range"), "{:?}", left_out(&large));
    let deep = format!(
        "{{\"start\": {}{}, \"intervals\": [], \"end\": {{}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(left_out(&deep)[0].contains("recursion limit"), "{:?}", left_out(&deep));
    // The keys alone make no result.
    let keys = "the keys \"start\", \"intervals\" and \"end\"\n";
    assert!(left_out(keys)[0].contains("nothing in it can be imported"), "{:?}", left_out(keys));
}
