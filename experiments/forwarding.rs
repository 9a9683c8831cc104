//! Routers whose rate is known: does the search find it, or say with which words it does not?
//!
//! The router is a namespace between two others, and a token bucket sets its rate. The seed draws the order of the limits.
//! Where the machine could hold the rate, the figure has to be right; where it could not, a word has to say so.

use crate::kept::{Kept, Until, load_average, setting, until_quiet, words};
use crate::support::beds::Beds;
use crate::support::pair::lab_named;
use crate::support::router::ROUTED;
use plimsoll_explain::findings;
use plimsoll_model::{Flag, Measure, Metric, Outcome, RateCaveat, StreamJob, Study};
use plimsoll_stats::interval::{mean, sample_sd};
use plimsoll_stats::order;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::Instant;

/// Bytes of the frames, and of each as the bucket counts it: without its check sequence.
const FRAME: u32 = 512;
const COUNTED: f64 = 508.0;
const PATH: [&str; 6] = [
    "net",
    "lab://via/lan",
    "lab://via/wan",
    "--via=lab://via/router",
    "--quick",
    "--direction=out",
];
/// Searches over all limits.
const SEARCHES: u64 = 20;
/// Wanted: bias and spread of the rate as shares, and the median time of a search in seconds.
const BIAS: f64 = 0.01;
const SPREAD: f64 = 0.007;
const SECONDS: f64 = 25.0;

/// A limit of the router, and what runs beside it.
struct Limit {
    name: &'static str,
    /// Bits per second.
    rate: f64,
    /// What tc(8) says of the bucket beside its rate.
    bucket: &'static str,
    /// A shell script that runs at the router meanwhile.
    beside: Option<&'static str>,
}

const fn limit(name: &'static str, rate: f64, bucket: &'static str) -> Limit {
    Limit { name, rate, bucket, beside: None }
}

/// A short queue, and what runs beside it.
const fn beside(work: &'static str, name: &'static str) -> Limit {
    Limit { beside: Some(work), ..limit(name, 16e6, "burst 4k latency 5ms") }
}

/// One core of the machine is busy, or each of them: then sender and router share a busy one.
const BUSY: &str = "while :; do :; done";
const BUSY_CORES: &str = "for core in $(seq 0 $(($(nproc) - 1))); do taskset -c $core sh -c 'while :; do :; done' & done; wait";
/// For some 10 ms a second, the router drops what it should forward.
const STALLS: &str = "while :; do nft 'table ip stall { chain forward { type filter hook forward priority 0; policy drop; }; }'; \
                      sleep 0.008; nft delete table ip stall; sleep 1; done";
/// The first twenty packets of each flow pass at 400 a second, as in a router whose hardware takes a flow over.
const SLOW_FIRST_PACKETS: &str = "sysctl -w net.netfilter.nf_conntrack_acct=1; \
                                  nft 'table ip firsts { chain forward { type filter hook forward priority 0; \
                                  ct original packets < 20 limit rate over 400/second burst 100 packets drop; }; }'; sleep 600";
/// A router has half of its rate until it has had load for a tenth of a second, and again when it has none.
const CLOCK_RAMP: &str = "last=0 fast=
set_rate() { tc qdisc change dev outer root tbf rate $1 burst 4k latency 5ms; }
set_rate 8mbit
while sleep 0.05; do
    while read -r name _ packets _; do test $name != inner: || now=$packets; done </proc/self/net/dev
    if test $((now - last)) -le 10; then
        test -z \"$fast\" || set_rate 8mbit
        fast=
    elif test -z \"$fast\"; then
        sleep 0.05; set_rate 16mbit; fast=yes
    fi
    last=$now
done";

const LIMITS: [Limit; 10] = [
    limit("queue of 5 ms", 16e6, "burst 4k latency 5ms"),
    limit("queue of 50 ms", 16e6, "burst 4k latency 50ms"),
    limit("credit of 10 ms", 16e6, "burst 20k latency 5ms"),
    limit("credit of 100 ms", 16e6, "burst 200k latency 5ms"),
    limit("near the sender's limit", 2e9, "burst 400k latency 5ms"),
    beside(SLOW_FIRST_PACKETS, "slow first packets"),
    beside(CLOCK_RAMP, "clock ramp"),
    beside(STALLS, "a stall a second"),
    beside(BUSY, "busy loop beside it"),
    beside(BUSY_CORES, "sender and router share a busy core"),
];

/// Payload of such a frame in UDP over IPv4.
const PAYLOAD: u32 = 466;
/// A binary search by RFC 2544, section 26.1: its trials, how far apart its last two rates are as a share, and the rates
/// between which it begins as shares of the true one.
const TRIAL_SECONDS: u64 = 60;
const NARROW: f64 = 0.005;
const BETWEEN: [f64; 2] = [0.1, 2.0];

/// Comparisons of a router with itself, the searches of each, and how many may find a difference.
const COMPARISONS: u64 = 30;
/// A quick study ends in a minute, unless it is told another time.
const BLOCKS: [&str; 2] = ["--repeats=6", "--max-time=10min"];
const FALSE_SHARE: f64 = 0.05;
/// Rules that no packet matches.
const RULES: &str = "table ip idle {\n chain forward {\n  type filter hook forward priority 0;\n  ip saddr 10.9.9.9 drop\n }\n}\n";

/// A search that was done.
#[derive(Serialize, Deserialize)]
struct Case {
    number: u64,
    limit: String,
    /// Rate found, as a share of the true one; `None` without a rate.
    share: Option<f64>,
    /// Words that were said with it.
    words: Vec<String>,
    seconds: f64,
    load: String,
}

#[test]
#[ignore = "takes half an hour, and a quiet machine: make measure-forwarding"]
fn measure_forwarding() {
    let Some(beds) = lab_named("via", ROUTED) else { return };
    let seed = setting("PLIMSOLL_SEED", 37);
    let mut generator = order::generator(seed, "limits");
    let mut kept: Kept<Case> = Kept::open(&format!("forwarding-{seed}.json"));
    let until = Until::now();
    let mut drawn: Vec<usize> = Vec::new();
    while (drawn.len() as u64) < setting("PLIMSOLL_CASES", SEARCHES) {
        drawn.extend(order::shuffled(LIMITS.len(), &mut generator));
    }
    for (number, at) in (0..).zip(&drawn).take(setting("PLIMSOLL_CASES", SEARCHES) as usize) {
        if kept.cases.iter().any(|case| case.number == number) {
            continue;
        }
        if until.is_over() {
            break;
        }
        until_quiet();
        kept.add(case(&beds, number, &LIMITS[*at], seed));
    }
    print(&kept.cases);
}

fn case(beds: &Beds, number: u64, limit: &Limit, seed: u64) -> Case {
    let Limit { name, rate, bucket, beside } = limit;
    let tc = format!("tc qdisc replace dev outer root tbf rate {rate:.0}bit {bucket}");
    beds.on("via/router", &tc);
    if let Some(beside) = beside {
        let start = format!(
            "cat >/run/beside.sh <<'END'\n{beside}\nEND\n\
             setsid timeout 600 sh /run/beside.sh >/dev/null 2>&1 & echo $! >/run/beside"
        );
        beds.on("via/router", &start);
    }
    let seed = format!("--seed={}", seed + number);
    let frames = format!("--frames={FRAME}");
    let begun = Instant::now();
    let ran = beds.program.run(&[&PATH[..], &[&frames, &seed, "--json=-"]].concat());
    let seconds = begun.elapsed().as_secs_f64();
    if beside.is_some() {
        beds.on("via/router", "kill $(cat /run/beside); nft flush ruleset");
    }
    let study: Study = plimsoll_record::from_json(&ran.out).expect("a study");
    let result = &study.trials[0].result;
    let rate = result.value(0, Metric::all(Measure::FORWARDED));
    // The search allows 0.5% of loss, so more is offered than the bucket lets through.
    let truth = limit.rate / 8.0 / COUNTED / (1.0 - 0.005);
    let mut words: Vec<String> = result.flags.iter().filter_map(word).collect();
    if let Outcome::Failed { failure, .. } = &result.outcome {
        words.push(failure.happened.clone());
    }
    let (limit, load) = ((*name).to_owned(), load_average());
    Case { number, limit, share: rate.map(|rate| rate / truth), words, seconds, load }
}

/// A limit by a binary search, and by plimsoll's search with a last trial of the same length.
#[derive(Serialize, Deserialize)]
struct Both {
    limit: String,
    /// Highest rate without loss as a share of the true one, trials, and seconds.
    binary: (f64, u32, f64),
    /// Rate without loss and rate kept as shares of the true ones, words, and seconds.
    own: (Option<f64>, Option<f64>, Vec<String>, f64),
    load: String,
}

/// Share of lost datagrams at so many a second.
fn loss(beds: &Beds, rate: f64) -> f64 {
    let words = [
        "net",
        "lab://via/lan",
        "lab://via/wan",
        "--quick",
        "--job=udp-out",
        &format!("--payloads={PAYLOAD}"),
        &format!("--rate={rate:.0}"),
        &format!("--time={TRIAL_SECONDS}s"),
        "--json=-",
    ];
    let ran = beds.program.run(&words);
    let study: Study = plimsoll_record::from_json(&ran.out).expect("a study");
    study.trials[0].result.value(0, Metric::all(StreamJob::LOSS)).expect("a share")
}

fn both(beds: &Beds, limit: &Limit) -> Both {
    let Limit { name, rate, bucket, .. } = limit;
    beds.on(
        "via/router",
        &format!("tc qdisc replace dev outer root tbf rate {rate:.0}bit {bucket}"),
    );
    let load = load_average();
    let truth = rate / 8.0 / COUNTED;
    let [mut low, mut high] = BETWEEN.map(|share| share * truth);
    let (mut trials, begun) = (0, Instant::now());
    while high - low > NARROW * low {
        let middle = f64::midpoint(low, high);
        trials += 1;
        if loss(beds, middle) == 0.0 { low = middle } else { high = middle }
    }
    let binary = (low / truth, trials, begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let last = [format!("--frames={FRAME}"), format!("--final={TRIAL_SECONDS}s")];
    let ran = beds.program.run(&[&PATH[..], &[&last[0], &last[1], "--json=-"]].concat());
    let seconds = begun.elapsed().as_secs_f64();
    let study: Study = plimsoll_record::from_json(&ran.out).expect("a study");
    let result = &study.trials[0].result;
    let share = |measure, truth: f64| Some(result.value(0, Metric::all(measure))? / truth);
    let without_loss = share(Measure::KEPT_WITHOUT_LOSS, truth);
    let kept = share(Measure::FORWARDED, truth / (1.0 - 0.005));
    let own = (without_loss, kept, result.flags.iter().filter_map(word).collect(), seconds);
    Both { limit: (*name).to_owned(), binary, own, load }
}

#[test]
#[ignore = "takes half an hour, and a quiet machine: make measure-forwarding"]
fn measure_forwarding_next_to_a_binary_search() {
    let Some(beds) = lab_named("via", ROUTED) else { return };
    let mut kept: Kept<Both> = Kept::open("forwarding-binary.jsonl");
    let until = Until::now();
    let count = setting("PLIMSOLL_CASES", 2) as usize;
    for limit in LIMITS.iter().skip(kept.cases.len()).take(count.saturating_sub(kept.cases.len())) {
        if until.is_over() {
            break;
        }
        until_quiet();
        kept.add(both(&beds, limit));
    }
    for Both { limit, binary: (share, trials, seconds), own, load } in &kept.cases {
        let (without_loss, of_loss, words, own_seconds) = own;
        println!(
            "{limit}: by {trials} trials of {TRIAL_SECONDS} s in {seconds:.0} s {share:.4} of the true rate; by plimsoll in \
             {own_seconds:.0} s {without_loss:.4?} without loss and {of_loss:.4?} with 0.5%; {}; load {load}",
            words.join(", ")
        );
    }
}

/// A router that was compared with itself.
#[derive(Serialize, Deserialize)]
struct Same {
    /// Ratio of its rates and its ends; `None` if it has no interval.
    ratio: Option<[f64; 3]>,
    /// Whether one of the two was called faster.
    faster: bool,
    load: String,
}

#[test]
#[ignore = "takes two and a half hours, and a quiet machine: make measure-forwarding-aa"]
fn measure_equal_routers() {
    let Some(beds) = lab_named("via", ROUTED) else { return };
    let seed = setting("PLIMSOLL_SEED", 37);
    let mut kept: Kept<Same> = Kept::open(&format!("forwarding-aa-{seed}.jsonl"));
    let until = Until::now();
    beds.on("via/router", "tc qdisc replace dev outer root tbf rate 16mbit burst 4k latency 5ms");
    let files = ["a", "b"].map(|name| {
        let path = beds.program.home().join(format!("{name}.nft"));
        fs::write(&path, RULES).expect("rules");
        path.display().to_string()
    });
    let set = format!("--set=lab://via/router/nft-ruleset={}", files.join(","));
    let frames = format!("--frames={FRAME}");
    while (kept.cases.len() as u64) < setting("PLIMSOLL_CASES", COMPARISONS) && !until.is_over() {
        until_quiet();
        let seed = format!("--seed={}", seed + kept.cases.len() as u64);
        let words = [&PATH[..], &BLOCKS, &[&set, &frames, &seed, "--json=-"]].concat();
        let ran = beds.program.run(&words);
        let study: Study = plimsoll_record::from_json(&ran.out).expect("a study");
        let found = findings(&study);
        let claim = found.workloads[0].pairs.first().and_then(|pair| pair.claim.as_ref());
        let interval = claim.and_then(|claim| claim.ratio.interval);
        let verdict = claim.and_then(|claim| claim.verdict.as_ref());
        kept.add(Same {
            ratio: interval.map(|own| [own.estimate, own.low, own.high]),
            faster: verdict.is_some_and(|verdict| verdict.faster().is_some()),
            load: load_average(),
        });
    }
    for (number, Same { ratio, faster, load }) in kept.cases.iter().enumerate() {
        println!("{number}: {ratio:.4?}, called faster: {faster}; load {load}");
    }
    let all = kept.cases.len() as u32;
    let count = |is: fn(&Same) -> bool| kept.cases.iter().filter(|case| is(case)).count() as u32;
    let holds = |case: &Same| case.ratio.is_some_and(|[_, low, high]| low <= 1.0 && 1.0 <= high);
    println!(
        "equal routers: the interval holds 1 in {}; called faster: {} (wanted at most {FALSE_SHARE})",
        words(count(holds), all),
        words(count(|case| case.faster), all)
    );
}

fn word(flag: &Flag) -> Option<String> {
    let Flag::KeptRate { caveat, .. } = flag else { return None };
    Some(match caveat {
        RateCaveat::AtLeast => "at least".to_owned(),
        RateCaveat::CannotHold { .. } => "cannot hold".to_owned(),
        RateCaveat::QuietMoments { share } => format!("in quiet moments ({:.0}%)", 100.0 * share),
        RateCaveat::BurstCredit { bytes, .. } => format!("burst credit of {:.0} kB", bytes / 1e3),
        RateCaveat::Collapse { .. } => "overload collapse".to_owned(),
        RateCaveat::Interruptions { .. } => "interruptions".to_owned(),
        RateCaveat::Unfinished { width_ratio } => {
            format!("unfinished ({:.0}%)", 100.0 * width_ratio)
        }
        RateCaveat::Unsteady { loss_ratio, .. } => format!("unsteady ({:.1}%)", 100.0 * loss_ratio),
        RateCaveat::Late { delay_seconds, .. } => format!("late ({:.1} ms)", 1e3 * delay_seconds),
    })
}

fn print(cases: &[Case]) {
    for Case { number, limit, share, words, seconds, load } in cases {
        let share = share.map_or_else(|| "no rate".to_owned(), |share| format!("{share:.4}"));
        println!("{number}: {limit}: {share} in {seconds:.0} s; {}; load {load}", words.join(", "));
    }
    // A rate after a burst credit has to be right, too.
    let is_plain = |case: &&Case| case.words.iter().all(|word| word.starts_with("burst credit"));
    let plain: Vec<f64> = cases.iter().filter(is_plain).filter_map(|case| case.share).collect();
    let wrong = plain.iter().filter(|share| (*share - 1.0).abs() > 3.0 * BIAS).count();
    let mut seconds: Vec<f64> = cases.iter().map(|case| case.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "{} searches, {} of them without a word: mean {:.4} (wanted within {BIAS}), standard deviation {:.4} (wanted at \
         most {SPREAD}), {wrong} wrong without a word (wanted 0); median {:.0} s (wanted at most {SECONDS})",
        cases.len(),
        plain.len(),
        mean(&plain).unwrap_or(f64::NAN),
        sample_sd(&plain).unwrap_or(f64::NAN),
        seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN),
    );
}
