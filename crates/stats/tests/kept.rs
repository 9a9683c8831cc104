//! The search of the highest rate that is kept, on scripted routers. Bias and spread are those that the rules of the
//! method are known to reach; each search has a seed of its own.

mod kept {
    pub mod bed;
}

use kept::bed::{Bed, CAPACITY, searched, segments, settings};
use plimsoll_stats::kept::{
    Caveat, Found, Purpose, QUICK_SECONDS, Search, Segment, Settings, count,
};
use plimsoll_stats::order;

const SEARCHES: u64 = 12;
/// The rate at which 0.5% are lost, as a share of the capacity.
const LITTLE_LOSS: f64 = 1.005;

/// What came of the searches, as shares of the capacity.
struct All {
    found: Vec<Found>,
    seconds: f64,
    longest: f64,
}

impl All {
    fn new(bed: &Bed) -> All {
        All::with_length(bed, false)
    }

    fn quick(bed: &Bed) -> All {
        All::with_length(bed, true)
    }

    fn with_length(bed: &Bed, is_quick: bool) -> All {
        let all: Vec<(Found, f64)> =
            (0..SEARCHES).map(|seed| searched(bed, seed, is_quick)).collect();
        let seconds = all.iter().map(|(_, seconds)| seconds).sum::<f64>() / all.len() as f64;
        let longest = all.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        All { found: all.into_iter().map(|(found, _)| found).collect(), seconds, longest }
    }

    /// Mean and standard deviation of the rate of a goal.
    fn rates(&self, goal: usize) -> (f64, f64) {
        let rates = self.found.iter().map(|found| match goal {
            0 => found.rate().expect("a rate") / CAPACITY,
            goal => found.kept[goal].middle().expect("a rate") / CAPACITY,
        });
        let rates: Vec<f64> = rates.collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        (mean, (squares / rates.len() as f64).sqrt())
    }

    #[track_caller]
    fn are_near(&self, goal: usize, truth: f64, bias: f64, spread: f64) {
        let (mean, sd) = self.rates(goal);
        let text =
            format!("mean {mean:.4}, sd {sd:.4}, {:.0} s: {:?}", self.seconds, self.found[0]);
        assert!((mean / truth - 1.0).abs() <= bias && sd <= spread, "{text}");
    }

    fn with(&self, is_meant: impl Fn(&Caveat) -> bool) -> usize {
        self.found.iter().filter(|found| found.caveats.iter().any(&is_meant)).count()
    }
}

#[test]
fn a_quiet_router_is_found_without_bias() {
    let all = All::new(&Bed::default());
    all.are_near(0, LITTLE_LOSS, 0.01, 0.007);
    all.are_near(1, 1.0, 0.01, 0.007);
    assert_eq!(all.with(|_| true), 0, "{:?}", all.found[0]);
    assert!(all.seconds < 45.0, "{} s, the long trials included", all.seconds);
    // Not all on one grid.
    let mut values: Vec<u64> = all.found.iter().map(|found| found.rate().unwrap() as u64).collect();
    values.dedup();
    assert_eq!(values.len(), SEARCHES as usize);
}

/// A queue of 25 ms takes for a second what is 2.5% too much: only its growth shows.
#[test]
fn a_long_queue_does_not_hide_what_is_too_much() {
    let all = All::new(&Bed { queue: 1000.0, ..Bed::default() });
    all.are_near(0, LITTLE_LOSS, 0.01, 0.007);
    all.are_near(1, 1.0, 0.01, 0.007);
    let all = All::new(&Bed { queue: 2000.0, ..Bed::default() });
    all.are_near(0, LITTLE_LOSS, 0.01, 0.007);
}

/// A flow table that forwards 20% until it is filled, and a clock at half until it rises.
#[test]
fn slow_first_packets_are_in_the_lead_in() {
    for slow in [(30, 0.2), (100, 0.5)] {
        let all = All::new(&Bed { slow, ..Bed::default() });
        all.are_near(0, LITTLE_LOSS, 0.01, 0.007);
        all.are_near(1, 1.0, 0.01, 0.007);
    }
}

#[test]
fn a_late_sender_is_no_loss_of_the_router() {
    for (late, spread) in [(2.0, 0.007), (4.0, 0.007)] {
        let all = All::new(&Bed { late, ..Bed::default() });
        all.are_near(0, LITTLE_LOSS, 0.01, spread);
        // More than a fifth of the segments do not count.
        let said = all.with(|caveat| matches!(caveat, Caveat::QuietMoments { .. }));
        assert!(said >= 11, "{said} at {late}: {:?}", all.found[0]);
    }
    // Eight times a second: a rate with these words, or none.
    let all = All::new(&Bed { late: 8.0, ..Bed::default() });
    for found in &all.found {
        let honest = |caveat: &Caveat| {
            matches!(caveat, Caveat::QuietMoments { .. } | Caveat::CannotHold { .. })
        };
        assert!(found.caveats.iter().any(honest), "{found:?}");
    }
    // Always: no rate.
    let all = All::new(&Bed { late: 200.0, ..Bed::default() });
    for found in &all.found {
        assert_eq!(found.rate(), None, "{found:?}");
        assert!(
            matches!(found.caveats[..], [Caveat::CannotHold { void_ratio }] if void_ratio > 0.9),
            "{found:?}"
        );
    }
}

/// Credit lets too much through in each trial of a second; the long trial uses it up.
#[test]
fn credit_is_told_from_capacity() {
    let all = All::new(&Bed { credit: 0.01 * CAPACITY, ..Bed::default() });
    all.are_near(0, 1.0, 0.01, 0.007);
    for ms in [50.0, 100.0] {
        let credit = ms / 1000.0 * CAPACITY;
        let all = All::new(&Bed { credit, ..Bed::default() });
        all.are_near(0, 1.0, 0.01, 0.007);
        for found in &all.found {
            let told = found.caveats.iter().find_map(|caveat| match caveat {
                Caveat::BurstCredit { packets, plateau } => Some((*packets, *plateau)),
                _ => None,
            });
            let (packets, plateau) = told.unwrap_or_else(|| panic!("{ms} ms: {found:?}"));
            assert!((packets / credit - 1.0).abs() < 0.2, "{packets} of {credit}");
            assert!((plateau / CAPACITY - 1.0).abs() < 0.01, "{plateau}");
        }
    }
}

#[test]
fn a_router_that_stalls_keeps_the_rate_with_little_loss() {
    let all = All::new(&Bed { stalls: 1.0, ..Bed::default() });
    let (mean, sd) = all.rates(0);
    assert!((0.95..1.01).contains(&mean) && sd < 0.05, "{mean} {sd}");
}

/// Without a queue, each stall loses frames at any rate.
#[test]
fn interruptions_are_told_from_capacity() {
    let all = All::new(&Bed { stalls: 2.0, queue: 16.0, ..Bed::default() });
    for found in &all.found {
        let is_capacity = |rate: f64| (rate / CAPACITY - 1.0).abs() < 0.1;
        match found.caveats[..] {
            [Caveat::Interruptions { plateau }] => assert!(is_capacity(plateau), "{found:?}"),
            _ => assert!(found.rate().is_some_and(is_capacity), "{found:?}"),
        }
    }
}

#[test]
fn the_limit_of_the_sender_is_at_least() {
    let all = All::new(&Bed { sends: 30_000.0, ..Bed::default() });
    assert_eq!(all.with(|caveat| *caveat == Caveat::AtLeast), SEARCHES as usize);
    let (mean, _) = all.rates(0);
    assert!((0.72..0.76).contains(&mean), "{mean}");
}

/// Other work takes the sender's processor for most of the time. It has been seen to send more than twice as much, and a
/// rate that is not kept has been found: that is no limit of the sender.
#[test]
fn a_sender_without_a_processor_is_not_the_limit() {
    let mut found = 0;
    for late in [4.0, 8.0] {
        let all = All::quick(&Bed { late, ..Bed::default() });
        for one in &all.found {
            let is_bounded = one.kept[0].lower.is_some() && one.kept[0].upper.is_some();
            found += usize::from(is_bounded);
            assert!(!is_bounded || !one.caveats.contains(&Caveat::AtLeast), "{late}: {one:?}");
        }
    }
    assert!(found > 0, "no search found both bounds");
}

#[test]
fn a_router_that_collapses_at_overload_is_named() {
    let all = All::new(&Bed { collapses_to: 0.5, ..Bed::default() });
    let is_collapse = |caveat: &Caveat| matches!(caveat, Caveat::Collapse { plateau } if *plateau < 0.7 * CAPACITY);
    let told = all.with(is_collapse);
    // Where the long trial collapsed, too, there is another word.
    assert!(told >= 8 && all.with(|_| true) == SEARCHES as usize, "{told}: {:?}", all.found);
    all.are_near(1, 1.0, 0.01, 0.007);
}

/// Router and sender on one busy machine: the rate of the quiet moments, said so, or the whole truth.
#[test]
fn never_a_wrong_figure_without_a_word() {
    for lates in [0.0, 3.0, 8.0] {
        let all = All::new(&Bed { busy: (0.4, lates), ..Bed::default() });
        for found in &all.found {
            let Some(rate) = found.rate() else { continue };
            let rate = rate / CAPACITY;
            let is_quiet = (rate - 1.0).abs() < 0.015;
            let is_busy = (rate - 0.85).abs() < 0.015;
            assert!(is_quiet || is_busy || !found.caveats.is_empty(), "{lates}: {found:?}");
        }
    }
}

/// A search that is measured once, in a study of a minute.
#[test]
fn a_quick_search_is_as_right_and_ends_in_time() {
    let queue = |queue: f64| Bed { queue, ..Bed::default() };
    for bed in [
        Bed::default(),
        queue(1000.0),
        queue(2000.0),
        Bed { slow: (30, 0.2), ..Bed::default() },
        Bed { slow: (100, 0.5), ..Bed::default() },
    ] {
        let all = All::quick(&bed);
        all.are_near(0, LITTLE_LOSS, 0.01, 0.007);
        assert_eq!(all.with(|_| true), 0, "{:?}", all.found);
        assert!(all.longest <= QUICK_SECONDS, "{} s", all.longest);
    }
    for ms in [10.0, 20.0, 50.0, 100.0] {
        let all = All::quick(&Bed { credit: ms / 1000.0 * CAPACITY, ..Bed::default() });
        all.are_near(0, 1.0, 0.01, 0.007);
        let told = all.with(|caveat| matches!(caveat, Caveat::BurstCredit { .. }));
        assert!(ms < 50.0 || told == SEARCHES as usize, "{ms} ms: {:?}", all.found);
    }
}

/// However late the sender is: with a rate and its words, or without a rate.
#[test]
fn a_quick_search_with_a_late_sender_ends_in_time_and_says_so() {
    for late in [2.0, 4.0, 8.0, 20.0, 200.0] {
        let all = All::quick(&Bed { late, ..Bed::default() });
        // The confirming trial may begin at the last moment.
        assert!(all.longest <= QUICK_SECONDS + 8.0, "{late}: {} s", all.longest);
        for found in &all.found {
            let right = found.rate().is_some_and(|rate| (rate / CAPACITY - 1.0).abs() < 0.015);
            assert!(right || !found.caveats.is_empty(), "{late}: {found:?}");
        }
    }
}

/// What the sender can send is less than the router forwards, and it is late at each rate near that.
#[test]
fn near_its_own_limit_a_search_does_not_wait_for_the_sender() {
    for is_quick in [true, false] {
        let mut seconds = Vec::new();
        for seed in 0..SEARCHES {
            let (found, spent) = searched_near_the_limit(is_quick, seed);
            let [.., kept] = [found.kept[0]];
            assert!(found.caveats.contains(&Caveat::AtLeast), "{found:?}");
            assert!(kept.lower.is_some_and(|lower| lower > 20_000.0), "{found:?}");
            seconds.push(spent);
        }
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        let most = if is_quick { QUICK_SECONDS } else { 60.0 };
        assert!(longest <= most, "{longest} s");
    }
}

/// A sender that sends 40,000 packets a second without a schedule, and keeps up a schedule of 30,000.
fn searched_near_the_limit(is_quick: bool, seed: u64) -> (Found, f64) {
    const SENDS: f64 = 40_000.0;
    const KEEPS_UP: f64 = 30_000.0;
    let phase = order::unit(&mut order::generator(seed, "phase"));
    let mut search = Search::new(settings(is_quick, phase));
    let mut spent = 0.0;
    while let Some(trial) = search.next() {
        let is_top = trial.purpose == Purpose::Top;
        let is_late = !is_top && trial.rate > KEEPS_UP;
        let sent = if is_late { KEEPS_UP } else { trial.rate.min(SENDS) };
        let late_seconds = if is_late { 0.01 } else { 0.0 };
        let segment =
            Segment { sent: sent / 10.0, received: sent / 10.0, late_seconds, delay_seconds: None };
        let seconds = if is_late { trial.most_seconds } else { trial.seconds };
        let whole = vec![segment; segments(trial.lead_seconds + seconds)];
        spent += trial.lead_seconds + seconds + 0.3;
        search.take(&trial, count(&whole, trial.lead_seconds), sent, sent, spent);
    }
    (search.found(), spent)
}

/// A router that loses at every rate has none.
#[test]
fn a_path_that_loses_everything_has_no_rate() {
    let mut search = Search::new(settings(false, 0.5));
    while let Some(trial) = search.next() {
        let lost = Segment { sent: trial.rate / 10.0, ..Segment::default() };
        search.take(&trial, count(&[lost; 30], trial.lead_seconds), trial.rate, 0.0, 0.0);
    }
    let found = search.found();
    assert_eq!((found.rate(), found.kept[0].lower), (None, None));
    assert!(found.kept[0].upper.is_some_and(|upper| upper < 103.0), "{found:?}");
}

/// The length that was chosen is that of one trial, at the rate found.
#[test]
fn one_trial_confirms_the_rate_for_as_long_as_was_chosen() {
    let mut search = Search::new(Settings {
        goals: vec![0.0],
        start: Some(1000.0),
        confirm_seconds: 60.0,
        ..settings(false, 0.5)
    });
    let mut confirmed = Vec::new();
    while let Some(trial) = search.next() {
        let received = trial.rate.min(1000.0) / 10.0;
        let segment = Segment { sent: trial.rate / 10.0, received, ..Segment::default() };
        let segments = ((trial.lead_seconds + trial.seconds) * 10.0).round() as usize;
        let seen = count(&vec![segment; segments], trial.lead_seconds);
        if trial.purpose == Purpose::Confirm {
            confirmed.push((trial.seconds, trial.rate, seen.seconds));
        }
        search.take(&trial, seen, trial.rate, 10.0 * received, 0.0);
    }
    let [(wanted, rate, counted)] = confirmed[..] else { panic!("{confirmed:?}") };
    assert_eq!((wanted, counted), (60.0, 60.0));
    assert_eq!(Some(rate), search.found().kept[0].lower);
}
