//! `plimsoll net A B --via R` end to end, where the sender must not be late: a router between two hosts, in namespaces.
//! Nothing runs beside this target, so what needs no such quiet is in `net_routed`.

mod support;

#[path = "net_via/published.rs"]
mod published;
#[path = "net_via/translated.rs"]
mod translated;

use plimsoll_model::{Flag, Measure, Metric, Outcome, RateCaveat, Trial};
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::pair::study;
use support::unwrapped;
use support::via::{BESIDE, ROUTER, address, lab, lab_with, net, rules};

/// The load of another test would make the sender of a search late, and what it measures then does not count: the
/// search would take minutes.
fn alone() -> MutexGuard<'static, ()> {
    static SEARCHES: Mutex<()> = Mutex::new(());
    SEARCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frames per second that a token bucket of this rate lets through, as the kernel counts them: without their check
/// sequence.
fn frames_per_second(bits: f64, frame: f64) -> f64 {
    bits / 8.0 / (frame - 4.0)
}

/// A bucket on the router's link to the wan lets 8 Mbit/s through, and 6 kB at once. The search was not told.
#[test]
fn the_rate_of_a_bucket_is_found_or_honestly_not() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    beds.on("via/router", "tc qdisc replace dev outer root tbf rate 8mbit burst 6000 latency 10ms");
    // A short trial confirms the rate.
    let words = [ROUTER, "--quick", "--frames=512", "--direction=out", "--final=4s", "--json=-"];
    let ran = net(&beds, &words);
    let whole = study(&ran);
    let trial = &whole.trials[0];
    let truth = frames_per_second(8e6, 512.0);
    match &trial.result.outcome {
        Outcome::Complete => {
            let rate = trial.result.value(0, Metric::all(Measure::FORWARDED)).expect("a rate");
            let words = trial.result.flags.iter().any(|flag| {
                !matches!(flag, Flag::KeptRate { caveat: RateCaveat::BurstCredit { .. }, .. })
                    && matches!(flag, Flag::KeptRate { .. })
            });
            assert!(
                words || (rate / truth - 1.0).abs() < 0.04,
                "{rate} of {truth}: {:?}",
                trial.result.flags
            );
            // Overload has a plateau.
            if let Some(plateau) = trial.result.value(0, Metric::all(Measure::OVERLOADED)) {
                assert!((plateau / truth - 1.0).abs() < 0.1, "{plateau} of {truth}");
            }
            // The router saw the frames.
            let load = trial.loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
            let sent = trial.result.value(0, Metric::all(Measure::ALL_SENT)).unwrap();
            let seen = load.interfaces.iter().map(|one| one.received_packets).max().unwrap();
            assert!(seen as f64 >= 0.9 * sent, "{seen} of {sent}");
        }
        Outcome::Failed { failure, .. } => {
            assert!(failure.happened.contains("cannot hold the rate"), "{failure}");
        }
        Outcome::Stopped | Outcome::Void { .. } => panic!("{ran:?}"),
    }
    assert!(trial.points.len() > 5, "{} points", trial.points.len());
    // As many as the sender can come first: the bucket drops most of them, and says so.
    let top = &trial.points[0];
    let figure = |measure| top.parts[0].quantities[&Metric::all(measure)];
    let arrived = figure(Measure::PACKETS) / figure(Measure::OFFERED_FRAMES);
    let lost = figure(Measure::ALL_SENT) * (1.0 - arrived);
    let load = top.loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
    let bucket = load.queues.iter().find(|queue| queue.interface == "outer");
    let bucket = bucket.unwrap_or_else(|| panic!("{load:?}"));
    assert!(bucket.discipline == "tbf" && bucket.overlimits > 100, "{bucket:?}");
    assert!(bucket.dropped as f64 >= 0.5 * lost, "{bucket:?} of {lost}");
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    let is_found = trial.result.outcome == Outcome::Complete;
    let words: &[&str] = match is_found {
        true => &["out 512", "R: lab://via/router", "kept/s", "soft"],
        false => &["cannot hold the rate"],
    };
    for words in words {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    assert!(!shown.contains("not at R"), "{shown}");
    // Unless other work keeps the kernel busy.
    let is_busy = ["R core", "none found"].iter().any(|words| shown.contains(words));
    let sentence = "The shaper on outer of R (tbf), not the CPU, sets the rate (out 512)";
    assert!(!is_found || is_busy || unwrapped(&shown).contains(sentence), "{shown}");
    let details = beds.program.run(&["show", "--details"]).expect(0).out;
    assert!(!is_found || details.contains("offered/s"), "{details}");
    let explained = unwrapped(&beds.program.run(&["explain", "latest"]).expect(0).out);
    assert!(!is_found || is_busy || explained.contains(sentence), "{explained}");
    assert!(!is_found || explained.contains("CPU a packet"), "{explained}");
    assert!(!explained.contains("was monitored"), "{explained}");
    let page = beds.program.home().join("page.html");
    beds.program.run(&["report", "--output", page.to_str().unwrap()]).expect(0);
}

/// The first rate that was found, of a trial that found one; fails unless the sender's machine was too busy.
#[track_caller]
fn rate(trial: &Trial) -> Option<f64> {
    match &trial.result.outcome {
        Outcome::Complete => trial.result.value(0, Metric::all(Measure::FORWARDED)),
        Outcome::Failed { failure, .. } => {
            assert!(failure.happened.contains("cannot hold the rate"), "{failure}");
            None
        }
        Outcome::Stopped | Outcome::Void { .. } => panic!("{trial:?}"),
    }
}

/// Whether a rate comes with words that a busy machine or credit gives it.
fn has_words(trial: &Trial) -> bool {
    trial.result.flags.iter().any(|flag| matches!(flag, Flag::KeptRate { .. }))
}

/// A bucket on either link of the router; the worse way counts.
#[test]
fn a_mix_of_frames_goes_both_ways_at_once() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    let set = "tc qdisc replace dev outer root tbf rate 8mbit burst 12000 latency 10ms
        tc qdisc replace dev inner root tbf rate 6mbit burst 12000 latency 10ms";
    beds.on("via/router", set);
    let words =
        [ROUTER, "--repeats=1", "--frames=imix", "--direction=both", "--final=2s", "--json=-"];
    let whole = study(&net(&beds, &words));
    let [trial] = &whole.trials[..] else { panic!("{whole:?}") };
    // The bucket counts whole packets, of 354 bytes on average.
    let truth = frames_per_second(6e6, 354.0);
    if let Some(rate) = rate(trial) {
        assert!(has_words(trial) || (rate / truth - 1.0).abs() < 0.06, "{rate} of {truth}");
    }
    // As many go in as out, at any rate.
    let top = &trial.points[0];
    let sent = top.parts[0].quantities[&Metric::all(Measure::ALL_SENT)];
    let load = top.loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
    for name in ["outer", "inner"] {
        let one = load.interfaces.iter().find(|one| one.name == name).unwrap();
        let received = one.received_packets as f64 / sent;
        assert!((0.3..0.7).contains(&received), "{one:?} of {sent}");
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(rate(trial).is_none() || shown.contains("both imix"), "{shown}");
    assert!(shown.lines().count() <= 24, "{shown}");
}

/// Without the router the sender's own limit is found, which a bucket on the router does not change.
#[test]
fn the_direct_path_is_measured_beside_the_one_over_the_router() {
    let Some(beds) = lab_with(BESIDE) else { return };
    let _alone = alone();
    beds.on("via/router", "tc qdisc replace dev outer root tbf rate 8mbit burst 6000 latency 10ms");
    let of_wan = |link: &str| address(&beds, "wan", link);
    let (through, beside) =
        (format!("--address={}", of_wan("outer")), format!("--direct={}", of_wan("beside")));
    let words = [
        ROUTER,
        "--quick",
        "--frames=512",
        "--direction=out",
        "--final=1s",
        "--loss=0.5",
        &through,
        &beside,
        "--json=-",
    ];
    let whole = study(&net(&beds, &words));
    assert_eq!(
        (whole.plan.subjects.len(), whole.trials.len()),
        (2, 2),
        "{:?}",
        whole.plan.subjects
    );
    let labels: Vec<&str> = whole.subjects.iter().map(|facts| facts.label()).collect();
    assert_eq!(labels, ["lan to wan via router", "lan to wan"]);
    let trial_of =
        |subject| whole.trials.iter().find(|trial| trial.cell.subject == subject).unwrap();
    let truth = frames_per_second(8e6, 512.0);
    let carried = |trial: &Trial| {
        let points = trial.points.iter().flat_map(|point| &point.parts);
        let rates = points.map(|part| part.quantities[&Metric::all(Measure::PACKETS)]);
        rates.fold(0.0, f64::max)
    };
    assert!(carried(trial_of(0)) < 1.5 * truth, "{} of {truth}", carried(trial_of(0)));
    assert!(carried(trial_of(1)) > 2.0 * truth, "{} of {truth}", carried(trial_of(1)));
    rate(trial_of(0));
    rate(trial_of(1));
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.contains("lan to wan"), "{shown}");
}

#[test]
fn frames_of_ipv6_are_forwarded_if_they_have_room_for_its_headers() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    for (host, commands) in [
        (
            "router",
            "sysctl -q -w net.ipv6.conf.all.forwarding=1
            ip addr add fd00:1::1/64 dev inner nodad; ip addr add fd00:2::1/64 dev outer nodad
            tc qdisc replace dev outer root tbf rate 2mbit burst 6000 latency 10ms",
        ),
        ("lan", "ip addr add fd00:1::2/64 dev inner nodad; ip -6 route add default via fd00:1::1"),
        ("wan", "ip addr add fd00:2::2/64 dev outer nodad; ip -6 route add default via fd00:2::1"),
    ] {
        beds.on(&format!("via/{host}"), commands);
    }
    let of_size = |frames: &'static str| {
        let path = [ROUTER, "--quick", "--direction=out", "--final=1s", "--address=fd00:2::2"];
        net(&beds, &[&path[..], &[frames, "--json=-"]].concat())
    };
    // Before anything is measured, whatever the other sizes are.
    for (short, words) in
        [("--frames=128,64", "frames of 64 bytes"), ("--frames=imix", "a mix of frames")]
    {
        let ran = of_size(short).expect(2);
        for words in [words, "no room for the headers of IPv6", "--frames of 82 bytes"] {
            assert!(ran.err.contains(words), "{words} in {}", ran.err);
        }
        assert!(ran.out.is_empty(), "{ran:?}");
    }
    for tunnel in ["wireguard=off,to-router", "pppoe=off,on"] {
        let set = format!("--set=lab://via/router/{tunnel}");
        let words = [ROUTER, "--quick", "--frames=128", "--address=fd00:2::2", &set];
        let ran = net(&beds, &words).expect(2);
        for words in ["is for IPv4", "from fd00:1::2 to fd00:2::2", "--address-a ADDRESS"] {
            assert!(ran.err.contains(words), "{words} in {}", ran.err);
        }
    }
    let whole = study(&of_size("--frames=128"));
    let trial = &whole.trials[0];
    let truth = frames_per_second(2e6, 128.0);
    if let Some(rate) = rate(trial) {
        assert!(has_words(trial) || (rate / truth - 1.0).abs() < 0.06, "{rate} of {truth}");
    }
    let load = trial.points[0].loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
    let bucket = load.queues.iter().find(|queue| queue.interface == "outer");
    assert!(bucket.is_some_and(|bucket| bucket.dropped > 0), "{load:?}");
}

/// A bucket with a long queue, which a rate above its own fills.
#[test]
fn the_delay_at_a_kept_rate_is_bounded() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    let set = "tc qdisc replace dev outer root tbf rate 8mbit burst 6000 latency 300ms";
    beds.on("via/router", set);
    let words = [
        ROUTER,
        "--quick",
        "--frames=512",
        "--direction=out",
        "--latency=5ms",
        "--final=2s",
        "--json=-",
    ];
    let whole = study(&net(&beds, &words));
    let trial = &whole.trials[0];
    let kept = trial.points.iter().filter(|point| point.accepted == Some(true));
    for point in kept {
        let figure = |measure| point.parts[0].quantities.get(&Metric::all(measure)).copied();
        let delay = figure(Measure::QUEUE_P99).or(figure(Measure::QUEUE_MOST));
        assert!(delay.is_some_and(|delay| delay <= 0.005), "{point:?}");
    }
    // The long queue was seen at the highest rate.
    let top = &trial.points[0].parts[0].quantities[&Metric::all(Measure::QUEUE_MOST)];
    assert!(*top > 0.005, "{top}");
    let is_failed = matches!(&trial.result.outcome, Outcome::Failed { failure, .. }
        if failure.happened.contains("cannot hold the rate") || failure.happened.contains("delay"));
    assert!(is_failed || trial.result.outcome == Outcome::Complete, "{:?}", trial.result.outcome);
}

/// R is beside the path, and the path takes no frame of that length: one search shows both.
#[test]
fn a_router_beside_the_path_did_not_see_the_frames_which_were_made_shorter() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    beds.on(
        "via/router",
        "ip link set dev outer mtu 1280; tc qdisc replace dev outer root tbf rate 8mbit burst 6000 latency 10ms",
    );
    let words =
        ["--via=lab://via/aside", "--quick", "--frames=1518", "--direction=out", "--loss=0"];
    let whole = study(&net(&beds, &[&words[..], &["--json=-"]].concat()));
    let trial = &whole.trials[0];
    let fitted = trial
        .result
        .flags
        .iter()
        .any(|flag| matches!(flag, Flag::FrameCapped { path_mtu, .. } if path_mtu.0 == 1280));
    let failed = matches!(&trial.result.outcome, Outcome::Failed { failure, .. }
        if failure.happened.contains("cannot hold the rate"));
    assert!(fitted || failed, "{:?}", trial.result);
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    assert!(failed || shown.contains("or do not go through R"), "{shown}");
}

/// The route leads over R first. Then both ends send to the same addresses over the link between them.
#[test]
fn a_router_whose_counters_stand_still_while_frames_arrive_did_not_forward_them() {
    let Some(beds) = lab_with(BESIDE) else { return };
    let _alone = alone();
    beds.on(
        "via/router",
        "tc qdisc replace dev outer root tbf rate 80mbit burst 12kb latency 10ms",
    );
    let [lan, wan] =
        [("lan", "inner"), ("wan", "outer")].map(|(host, link)| address(&beds, host, link));
    let (at_a, at_b) = (format!("--address-a={lan}"), format!("--address={wan}"));
    let words = [ROUTER, &at_a, &at_b, "--parts=qdisc", "--quick", "--time=200ms", "--rate=500"];
    // Of each complete trial, frames that arrived and the share of the frames that an interface of R counted.
    let measured = || {
        let whole = study(&net(&beds, &[&words[..], &["--json=-"]].concat()));
        let complete = whole.trials.iter().filter(|one| one.result.outcome == Outcome::Complete);
        let counted = complete.map(|trial| {
            let figure = |measure| trial.result.value(0, Metric::all(measure)).expect("a figure");
            let load = trial.loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
            let packets = load.interfaces.iter().map(|one| one.received_packets + one.sent_packets);
            let most = packets.max().unwrap_or_default();
            (figure(Measure::PACKETS), most as f64 / figure(Measure::ALL_SENT))
        });
        (counted.collect::<Vec<_>>(), unwrapped(&beds.program.run(&["show"]).expect(0).out))
    };
    let sentence = "did not count the frames: these are offloaded, or do not go through R";
    let (through, shown) = measured();
    assert!(through.iter().all(|(_, share)| *share >= 0.9), "{through:?}");
    assert!(!shown.contains(sentence), "{shown}");
    for (host, to, from, other) in [("lan", &wan, &lan, "wan"), ("wan", &lan, &wan, "lan")] {
        let via = address(&beds, other, "beside");
        beds.on(&format!("via/{host}"), &format!("ip route add {to}/32 via {via} src {from}"));
    }
    let (around, shown) = measured();
    assert!(around.iter().all(|(arrived, share)| *arrived > 0.0 && *share < 0.5), "{around:?}");
    // A busy machine may complete no trial.
    assert!(around.is_empty() || shown.contains(sentence), "{shown}");
}

/// Five parts of a path are named. Four are there, and each is switched off after the others and put back.
#[test]
fn the_parts_of_a_path_are_switched_off_one_after_the_other() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    let set = format!(
        "nft -f - <<'END'\n{}\nEND\ntc qdisc replace dev outer root tbf rate 1gbit burst 125kb latency 50ms",
        rules()
    );
    beds.on("via/router", &set);
    let state = || beds.on("via/router", "nft list ruleset; tc qdisc show dev outer");
    let before = state();
    let parts = "--parts=rules,conntrack,nat,qdisc,offload";
    let words = [ROUTER, parts, "--repeats=2", "--time=500ms", "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    assert_eq!(state(), before, "the router is as it was");
    let priced = whole.plan.parts.as_ref().expect("parts");
    let names: Vec<String> = priced.priced.iter().map(|one| one.part.to_string()).collect();
    assert_eq!(names, ["rules", "nat", "conntrack", "qdisc"], "{priced:?}");
    let missing: Vec<String> = priced.missing.iter().map(|one| one.part.to_string()).collect();
    assert_eq!(missing, ["offload"], "{priced:?}");
    // As found twice, each part without, and the queue discipline alone without.
    let settings = priced.settings();
    assert_eq!((settings.len(), whole.trials.len()), (7, 14));
    let rate = whole.plan.workloads[0].parts[0].job.parameters();
    assert!(rate.iter().any(|(name, _)| *name == "rate_per_second"), "a rate was chosen: {rate:?}");
    let mut complete = 0;
    for trial in &whole.trials {
        assert!(settings.contains(&trial.cell.setting));
        if trial.result.outcome == Outcome::Complete {
            let cost = trial.result.value(0, Metric::all(Measure::ROUTER_CPU_PER_PACKET));
            assert!(cost.is_some_and(f64::is_finite), "{:?}", trial.result.parts);
            complete += 1;
        }
    }
    // A busy machine may fail some of them, which the study survives.
    assert!(
        complete >= 7,
        "{complete} of 14: {:?}",
        whole.trials.last().map(|t| &t.result.outcome)
    );
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    for words in ["rules", "A/A control", "frames a second", "offload: not measured"] {
        assert!(unwrapped(&shown).contains(words), "{words} in\n{shown}");
    }
    beds.program.run(&["show", "--details"]).expect(0);
    // Nothing is there to be switched off.
    beds.on("via/router", "nft flush ruleset; tc qdisc del dev outer root");
    let ran = net(&beds, &[ROUTER, "--parts=rules,flowtable,qdisc"]).expect(2);
    for words in ["rules: R has none", "no rule of R adds flows", "a plain queue (noqueue)"] {
        assert!(ran.err.contains(words), "{words} in {}", ran.err);
    }
}

/// 64 flows are opened at once, of which a policer lets twenty packets pass.
#[test]
fn flows_are_opened_through_a_policer_with_a_small_burst() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    let chain = "chain forward { type filter hook forward priority 0; \
                 limit rate over 3000/second burst 20 packets drop; }";
    beds.on("via/router", &format!("nft 'table ip police {{ {chain}; }}'"));
    let words = [ROUTER, "--quick", "--frames=512", "--direction=out", "--json=-"];
    let whole = study(&net(&beds, &words));
    // The sender's machine may have been too busy.
    if let Some(rate) = rate(&whole.trials[0]) {
        assert!((rate / 3000.0 - 1.0).abs() < 0.1 || has_words(&whole.trials[0]), "{rate}");
    }
}
