//! `explain` of a router's path: what sets the rate, in the words of the answer, the figures behind it, and what would help.

use super::causes::shaped;
use super::{ROUTER, load, routed, with_rules};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_report::{Document, Style};

const NOTHING_SEEN: &str = "no host, link or disk was monitored";

/// What `explain` answers, in one line.
pub(super) fn explained(study: &Study) -> String {
    one_line(&Document::explaining(study, &[]).screen(&Style { width: 160, colour: false }))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_has(said: &str, words: &[&str]) {
    for words in words {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(
        !said.contains('\u{1}') && !said.contains('\u{2}') && !said.contains('\u{3}'),
        "{said}"
    );
}

/// The same router at rates that one of its cores does not take.
fn full() -> Study {
    let mut study = shaped();
    for trial in &mut study.trials {
        trial.loads.retain(|load| load.host != *ROUTER);
        trial.loads.push(load(417_000));
        for point in &mut trial.points {
            let sent = point.parts[0].quantities[&Metric::all(Measure::ALL_SENT)];
            let quiet = HostLoad { queues: Vec::new(), conntrack: None, ..load(sent as u64) };
            point.loads = vec![quiet];
        }
        let off = 1.0 + 0.002 * (f64::from(trial.block.unwrap()) - 1.0);
        let figures = &mut trial.result.parts[0].quantities;
        for (measure, seconds) in [
            (Measure::MACHINE_CPU_PER_OP, 2e-6),
            (Measure::SERVER_CPU_PER_OP, 3e-6),
            (Measure::ROUTER_CPU_PER_PACKET, 24.7e-6),
        ] {
            figures.insert(Metric::all(measure), seconds * off);
        }
    }
    study
}

/// "No host, link or disk was monitored" was said of a study whose answer names the shaper.
#[test]
fn a_shaper_is_the_bottleneck_in_the_words_of_the_answer() {
    let study = shaped();
    let said = explained(&study);
    assert_has(
        &said,
        &[
            "The shaper on eth1 of R (tbf), not the CPU, sets the rate (out 128, out 1518, in 128 and in 1518): it dropped \
             97% of the frames lost over all rates; the kernel takes 4% of the busiest core.",
            // Kept, soft interrupts, core; lossy, lost, core, drops by softnet and by the queue.
            "out 1518 39.8 k 4% 4% 60.0 k 33% 4% 0% 32% shaper",
            "Lossy: the lowest rate above it that lost at least 1%. Lost and drops: shares of the frames sent at the lossy rate.",
            "A higher rate of the shaper helps. A faster CPU of R does not.",
            "A: ssh://lan. B: ssh://wan. R: ssh://root@router.",
        ],
    );
    assert!(!said.contains(NOTHING_SEEN) && !said.contains("packet-steering"), "{said}");
    let text = Document::explaining(&study, &[]).text(&Style { width: 100, colour: false });
    assert_has(&one_line(&text), &["R at each offered rate.", "Out 128:", "In 1518:"]);
}

#[test]
fn a_full_core_is_named_with_what_a_packet_costs_and_with_idle_cores() {
    let mut study = full();
    let said = explained(&study);
    assert_has(
        &said,
        &[
            "A core of R sets the rate (out 128, out 1518, in 128 and in 1518): the kernel takes 98% of the busiest core, \
             soft interrupts 98%.",
            "out 1518 39.8 k 98% 98% 60.0 k 33% 94% 0% – R core 98%",
            "out 1518 2.00 µs ±1% 3.00 µs ±1% 24.7 µs ±1%",
            "CPU at A and B: all busy time of the host above idle. At R: its kernel above idle.",
            "spreads the flows over the cores of R, of which the next one is 0% busy.",
            "Spread the packets: plimsoll net ssh://lan ssh://wan --via ssh://root@router --set \
             ssh://root@router/packet-steering=off,all",
        ],
    );
    // One flow goes over one core.
    for workload in &mut study.plan.workloads {
        let Job::Forwarding(job) = &mut workload.parts[0].job else { panic!() };
        job.flows = 1;
    }
    let said = explained(&study);
    assert_has(&said, &["Less CPU time a packet helps: plimsoll net --parts shows"]);
    assert!(!said.contains("packet-steering"), "{said}");
}

#[test]
fn a_sender_that_sets_the_rate_is_named_with_its_utilisation() {
    let mut study = routed();
    for trial in &mut study.trials {
        let (workload, frame) = ("out".to_owned(), Bytes(128));
        let caveat = RateCaveat::AtLeast;
        trial.result.flags.push(Flag::KeptRate { workload, frame, caveat });
        let figures = &mut trial.result.parts[0].quantities;
        figures.insert(Metric::all(Measure::NEAR_BUSIEST), 0.97);
    }
    // B sends what goes in.
    assert_has(
        &explained(&study),
        &[
            "The sender, not R, sets the rate (out 128 and out 1518): R keeps at least that. The busiest core or process of \
             the sender is 97% busy.",
            "The sender, not R, sets the rate (in 128 and in 1518): R keeps at least that.",
            "out 128 ≥ 39.8 k 98% 98% – – – – – sender",
            "Only a faster sender shows how much more R keeps.",
        ],
    );
}

#[test]
fn settings_of_a_router_are_explained_one_by_one() {
    let study = with_rules(None);
    let words = "A core of R sets the rate (out 128 with A and out 128 with B): the kernel takes 94% of the busiest core";
    assert_has(&explained(&study), &[words, "out 128 A 39.8 k", "out 128 B 29.8 k", "rules.nft"]);
    let narrow = Document::explaining(&study, &[]).screen(&super::SCREEN);
    // Commands are never broken.
    let mut lines = narrow.lines().filter(|line| !line.contains(": plimsoll "));
    assert!(lines.all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn other_limits_of_a_router_have_a_sentence_each() {
    let mut study = shaped();
    for point in study.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        point.loads.iter_mut().for_each(|load| load.queues.clear());
    }
    let words = "A shaper or a link, not the CPU, sets the rate (out 128, out 1518, in 128 and in 1518): the busiest core of \
                 R is 4% busy.";
    let advice = "A faster CPU of R does not help: look for a shaper, a policer or a slower link";
    assert_has(&explained(&study), &[words, advice]);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.cores_busy = vec![0.8, 0.1];
    }
    let words = "No bottleneck was found (out 128, out 1518, in 128 and in 1518): the busiest core of R is 84% busy";
    assert_has(&explained(&study), &[words]);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.interfaces
            .iter_mut()
            .for_each(|one| (one.received_packets, one.sent_packets) = (9, 9));
    }
    for point in study.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        point.loads.clear();
    }
    let said = explained(&study);
    assert_has(&said, &["The interfaces of R did not see the frames (out 128,", "not at R"]);
    assert!(!said.contains("No bottleneck was found"), "{said}");
}

#[test]
fn nothing_is_said_of_a_router_that_was_not_monitored() {
    let mut study = routed();
    study.trials.iter_mut().for_each(|trial| trial.loads.retain(|load| load.host != *ROUTER));
    let said = explained(&study);
    let words =
        "The bottleneck is not known (out 128, out 1518, in 128 and in 1518): R was not monitored.";
    assert_has(&said, &[words]);
    assert!(!said.contains(NOTHING_SEEN), "{said}");
    study.trials.iter_mut().for_each(|trial| trial.loads.clear());
    let said = explained(&study);
    assert!(said.contains(NOTHING_SEEN) && !said.contains("R was not"), "{said}");
    study.trials.iter_mut().for_each(|trial| trial.result.outcome = Outcome::Stopped);
    let said = explained(&study);
    assert!(said.contains("No trial ran to its end") && !said.contains(NOTHING_SEEN), "{said}");
}
