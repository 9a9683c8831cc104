use super::arguments::{RateChoice, rate};
use super::via_arguments::address;
use super::{BASELINE_SECONDS, checks, iperf3, plan};
use crate::arguments::ProbeArguments;
use crate::command_line::{Arguments, Command};
use clap::Parser;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Bound, Cause, Failure, Flow, HostName, HostRole, Job, Measure, Metric, Plan, Steps, Workload,
};
use std::num::NonZeroU32;

pub(super) fn planned(words: &[&str]) -> Result<Plan, Failure> {
    let words = ["plimsoll", "net"].iter().chain(words);
    let Command::Net(given) = Arguments::parse_from(words).command else { panic!() };
    plan(&given, &HostName::Local, &"ssh://nas".parse().unwrap())
}

#[test]
fn without_options_a_study_takes_about_a_minute() {
    let plan = planned(&["ssh://nas"]).unwrap();
    let names: Vec<String> = plan.workloads.iter().map(|w| w.main().unwrap().job.title()).collect();
    assert_eq!(names, ["TCP out", "TCP in", "TCP both", "requests", "requests"]);
    let seconds: f64 = plan.workloads.iter().map(Workload::seconds).sum();
    let all = seconds * f64::from(ProbeArguments::BLOCKS) + BASELINE_SECONDS;
    assert!((40.0..60.0).contains(&all), "{all} s");
    assert!(!plan.is_remote() && plan.contrasts.is_empty());
    let others: Vec<_> = plan.others().map(|one| (one.host.to_string(), one.role)).collect();
    assert_eq!(others, [("ssh://nas".to_owned(), HostRole::Peer)]);
}

#[test]
fn lists_are_measured_one_by_one() {
    let plan =
        planned(&["ssh://nas", "--job=tcp-out", "--blocks=1KiB,8KiB", "--streams=1,4"]).unwrap();
    assert_eq!(plan.workloads.len(), 4);
    let plan = planned(&["ssh://nas", "--job=udp-in,udp-in", "--payloads=18,1400"]).unwrap();
    assert_eq!(plan.workloads.len(), 2, "the same twice is measured once");
    assert!(plan.workloads.iter().all(|udp| udp.steps.is_some()), "a search");
    for (rate, expected) in [("max", None), ("500", NonZeroU32::new(500))] {
        let plan = planned(&["ssh://nas", "--job=udp-out", "--rate", rate]).unwrap();
        let Job::Datagrams(job) = &plan.workloads[0].parts[0].job else { panic!() };
        assert_eq!((job.rate, &plan.workloads[0].steps), (expected, &None));
    }
    let plan = planned(&["ssh://nas", "--job=tcp-out", "--nagle=on,off"]).unwrap();
    let settings = plan.workloads.iter().map(|tcp| tcp.main().unwrap().job.settings());
    let words = "without Nagle's algorithm".to_owned();
    let named: Vec<bool> = settings.map(|settings| settings.contains(&words)).collect();
    assert_eq!(named, [false, true]);
    let plan = planned(&["ssh://nas", "--job=rrul"]).unwrap();
    let Job::TcpStream(load) = &plan.workloads[0].parts[1].job else { panic!() };
    assert_eq!((load.streams, load.flow), (4, Flow::Both));
}

#[test]
fn of_an_iperf3_server_only_its_own_tests_are_planned() {
    let given = |words: &[&str]| {
        let words = ["plimsoll", "net", "local", "iperf3://nas"].iter().chain(words);
        let Command::Net(given) = Arguments::parse_from(words).command else { panic!() };
        given
    };
    let (local, server) = (HostName::Local, "iperf3://nas".parse::<HostName>().unwrap());
    let plan = plan(&given(&[]), &local, &server).unwrap();
    assert_eq!((plan.workloads.len(), plan.others().count()), (2, 0));
    for (words, expected) in [
        (&["--job=request"][..], "--job request"),
        (&["--job=tcp-out,loaded"], "--job loaded"),
        (&["--port=5202"], "--port"),
        (&["--connect-from=b"], "--connect-from"),
    ] {
        let failure = iperf3::expect_possible(&given(words), &local, &server).unwrap_err();
        assert_eq!((failure.cause, failure.on.contains(expected)), (Cause::Usage, true));
    }
    let elsewhere = "ssh://laptop".parse().unwrap();
    iperf3::expect_possible(&given(&[]), &elsewhere, &server).unwrap();
    let failure = iperf3::expect_possible(&given(&[]), &server, &local).unwrap_err();
    assert!(failure.next.contains("plimsoll net local iperf3://nas"), "{failure}");
    iperf3::expect_possible(&given(&["--job=udp-in,tcp-both"]), &local, &server).unwrap();
}

#[test]
fn options_without_a_job_that_uses_them_are_refused() {
    for (words, option, job) in [
        (&["--streams=2", "--job=request,connect"][..], "--streams", "tcp-out"),
        (&["--socket-buffer=4MiB", "--job=connect"], "--socket-buffer", "tcp-out"),
        (&["--blocks=1KiB", "--job=udp-in,request"], "--blocks", "tcp-out"),
        (&["--nagle=off", "--job=udp-in,connect"], "--nagle", "tcp-out"),
        (&["--congestion=cubic", "--job=udp-in"], "--congestion", "tcp-out"),
        (&["--payloads=18"], "--payloads", "udp-out"),
        (&["--rate=500", "--job=tcp-out"], "--rate", "udp-out"),
        (&["--call=gso", "--job=rrul"], "--call", "udp-out"),
        (&["--loss=1"], "--loss", "udp-out"),
    ] {
        let failure = planned(&[&["ssh://nas"], words].concat()).unwrap_err();
        assert_eq!((failure.cause, &*failure.on), (Cause::Usage, option), "{failure}");
        assert!(failure.next.contains(&format!("Add --job {job}")), "{failure}");
    }
    for rate in ["max", "500"] {
        let words = ["ssh://nas", "--job=udp-in", "--loss=1", "--rate", rate];
        let failure = planned(&words).unwrap_err();
        assert_eq!((failure.cause, &*failure.on), (Cause::Usage, "--loss"), "{failure}");
        assert!(failure.happened.contains("--rate"), "{failure}");
    }
    for words in [
        &["--streams=2", "--job=up"][..],
        &["--streams=2", "--blocks=1KiB", "--congestion=cubic"],
        &["--socket-buffer=4MiB", "--payloads=18", "--rate=max", "--job=tcp-in,udp-out"],
        &["--job=udp-in", "--loss=1"],
        &["--via=ssh://router", "--loss=1"],
    ] {
        planned(&[&["ssh://nas"], words].concat()).unwrap();
    }
}

#[test]
fn options_that_a_study_over_a_router_has_no_use_for_are_refused() {
    let refused = |words: &[&str]| {
        let all = ["plimsoll", "net", "ssh://nas", "--via=ssh://r"].iter().chain(words);
        Arguments::try_parse_from(all).is_err()
    };
    assert!(!refused(&[]) && !refused(&["--parts=rules"]) && !refused(&["--loss=1"]));
    for option in [
        "--job=tcp-out",
        "--blocks=1KiB",
        "--streams=2",
        "--call=gso",
        "--socket-buffer=4MiB",
        "--nagle=off",
        "--congestion=cubic",
    ] {
        assert!(refused(&[option]), "{option}");
    }
    for option in ["--loss=1", "--final=20s", "--latency=5ms", "--connections=4", "--direct=::1"] {
        assert!(refused(&["--parts=rules", option]), "{option}");
    }
}

#[test]
fn each_direction_size_and_number_of_flows_is_searched() {
    let words = ["ssh://nas", "--via=ssh://r", "--frames=512,imix", "--flows=1,1024,1"];
    let plan = planned(&words).unwrap();
    let jobs: Vec<(Flow, bool, u16)> = plan
        .workloads
        .iter()
        .map(|workload| {
            assert!(matches!(workload.steps, Some(Steps::Kept { .. })), "{workload:?}");
            let Job::Forwarding(job) = &workload.parts[0].job else { panic!("{workload:?}") };
            (job.flow, job.imix.is_some(), job.flows)
        })
        .collect();
    let jobs_of =
        |flow| [(flow, false, 1), (flow, false, 1024), (flow, true, 1), (flow, true, 1024)];
    assert_eq!(
        jobs,
        [jobs_of(Flow::Out), jobs_of(Flow::In)].concat(),
        "the same twice is measured once"
    );
    let failure =
        planned(&["ssh://nas", "--via=ssh://r", "--parts=rules", "--flows=1,2"]).unwrap_err();
    assert!(failure.next.contains("number of flows"), "{failure}");
}

#[test]
fn a_quick_search_ends_in_its_minute() {
    let cap = |words: &[&str]| {
        let plan = planned(&[&["ssh://nas", "--via=ssh://r"], words].concat()).unwrap();
        let quick = |workload: &Workload| {
            matches!(workload.steps, Some(Steps::Kept { is_quick: true, .. }))
        };
        (plan.design.cap_seconds, plan.workloads.iter().filter(|one| quick(one)).count())
    };
    assert_eq!(cap(&[]), (2400.0, 0));
    assert_eq!(cap(&["--quick"]), (60.0, 2));
    assert_eq!(cap(&["--quick", "--final=60s"]), (180.0, 2), "each has its minute more");
    assert_eq!(cap(&["--quick", "--max-time=2min"]), (120.0, 2));
    assert_eq!(cap(&["--quick", "--parts=rules"]), (2400.0, 0));
}

#[test]
fn connections_are_opened_alone_or_beside_frames() {
    let jobs = |words: &[&str]| -> Vec<String> {
        let plan = planned(&[&["ssh://nas", "--via=ssh://r"], words].concat()).unwrap();
        let main = |workload: &Workload| workload.main().unwrap().job.kind().to_owned();
        plan.workloads.iter().map(main).collect()
    };
    assert_eq!(jobs(&["--connections=2,64,2"]), ["connect", "connect"]);
    let both = ["--connections=16", "--frames=512", "--direction=in"];
    assert_eq!(jobs(&both), ["forward-in", "connect"]);
    assert_eq!(jobs(&["--connections=16", "--flows=1"]).len(), 5);
    let words = ["ssh://nas", "--via=ssh://r", "--connections=16", "--time=2s"];
    let plan = planned(&words).unwrap();
    let [workload] = &plan.workloads[..] else { panic!("{plan:?}") };
    assert_eq!(workload.seconds(), 2.0);
    assert_eq!(workload.main().unwrap().headline().measure, Measure::CONNECTIONS);
    for option in ["--loss=1", "--final=20s", "--latency=5ms"] {
        let words = ["ssh://nas", "--via=ssh://r", "--connections=16", option];
        let failure = planned(&words).unwrap_err();
        assert!(failure.next.contains("--frames"), "{failure}");
        planned(&[&words[..], &["--frames=512"]].concat()).unwrap();
    }
    let failure = planned(&[&words[..], &["--frames=512"]].concat()).unwrap_err();
    assert_eq!(failure.on, "--time", "a search has its own: {failure}");
}

#[test]
fn parts_of_a_path_are_priced_at_one_rate_of_one_size() {
    let words = ["ssh://nas", "--via=ssh://r", "--parts=rules,qdisc", "--time=2s"];
    let plan = planned(&words).unwrap();
    let [workload] = &plan.workloads[..] else { panic!("{:?}", plan.workloads) };
    let Job::Forwarding(job) = &workload.parts[0].job else { panic!("{workload:?}") };
    assert_eq!((job.frame, job.flow, job.rate, job.is_timed), (Bytes(128), Flow::Out, None, true));
    assert_eq!((&workload.steps, workload.seconds()), (&None, 2.5));
    assert!(plan.contrasts.is_empty(), "parts have verdicts of their own");
    let plan = planned(&[&words[..], &["--rate=500", "--direction=in"]].concat()).unwrap();
    let Job::Forwarding(job) = &plan.workloads[0].parts[0].job else { panic!() };
    assert_eq!((job.rate, job.flow), (NonZeroU32::new(500), Flow::In));
    for (more, expected) in
        [("--rate=max", "below the rate"), ("--direction=out,in", "one direction")]
    {
        let failure = planned(&[&words[..], &[more]].concat()).unwrap_err();
        assert!(failure.happened.contains(expected), "{failure}");
    }
    let search = planned(&["ssh://nas", "--via=ssh://r", "--final=60s"]).unwrap();
    let steps = search.workloads[0].steps.as_ref().unwrap();
    assert!(matches!(steps, Steps::Kept { final_seconds: Some(60.0), .. }), "{steps:?}");
    let search = planned(&["ssh://nas", "--via=ssh://r", "--latency=20ms"]).unwrap();
    let Some(Steps::Kept { accept: Some(accept), .. }) = &search.workloads[0].steps else {
        panic!("{search:?}")
    };
    assert_eq!(*accept, Bound::at_most(Metric::all(Measure::QUEUE_P99), 0.02));
    let failure = planned(&["ssh://nas", "--via=ssh://r", "--time=2s"]).unwrap_err();
    assert!(failure.next.contains("--parts"), "{failure}");
}

#[test]
fn a_link_local_address_needs_the_interface_that_leads_there() {
    assert_eq!(address("fe80::1%br-lan").unwrap().to_string(), "fe80::1%br-lan");
    assert!(address("fe80::1").unwrap_err().contains("fe80::1%eth0"));
    let checked = |host: &str| checks::expect_zones([&HostName::Local, &host.parse().unwrap()]);
    for host in ["ssh://root@[fe80::1%eth0]", "iperf3://[fe80::1%25eth0]:5202", "ssh://nas"] {
        checked(host).unwrap();
    }
    for host in ["ssh://root@[fe80::1]", "iperf3://[fe80::1]:5202"] {
        let failure = checked(host).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.next.contains("[fe80::1%eth0]"), "{failure}");
    }
    let from: HostName = "ssh://laptop".parse().unwrap();
    let found = iperf3::addresses(&from, "fe80::1%lan", None).unwrap();
    assert_eq!(found[0].to_string(), "[fe80::1]:5201", "lan is an interface of the laptop");
    let failure = iperf3::addresses(&HostName::Local, "fe80::1%no-such-one", None).unwrap_err();
    assert!(failure.next.contains("ip link"), "{failure}");
}

#[test]
fn a_rate_that_the_probe_does_not_take_is_refused() {
    let most = NonZeroU32::new(100_000_000).unwrap();
    assert_eq!(rate("100000000"), Ok(RateChoice::Fixed(most)));
    for text in ["100000001", "5000000000", "0", "-1", "1e3"] {
        assert!(rate(text).unwrap_err().contains("from 1 to 100000000"), "{text}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for (words, expected) in [
        (["--payloads=8", "--job=udp-out"], "16 to 65507"),
        (["--blocks=8MiB", "--job=tcp-out"], "4 MiB"),
        (["--streams=100", "--job=tcp-out"], "64 streams"),
        (["--congestion=a b", "--job=tcp-out"], "congestion control"),
        (["--time=10ms", "--job=tcp-out"], "200 ms"),
        (["--time=2h", "--job=tcp-out"], "an hour"),
        (["--socket-buffer=100", "--job=tcp-out"], "1 KiB to 1 GiB"),
    ] {
        let failure = planned(&[&["ssh://nas"][..], &words].concat()).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.happened.contains(expected), "{failure}");
    }
}
