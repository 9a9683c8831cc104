//! Rates that a router keeps, by search: under each setting, of rules and address translation together, and of four
//! combinations predicted from the costs of their parts.

use super::{Bench, CLOSE, EMPTY, FLOWS, LENGTH, NAT, NET, load, microseconds, print_sum, rules};
use crate::support::Ran;
use crate::support::beds::Beds;
use plimsoll_explain::{CellFindings, Claim, Findings, Level, findings, forwarded};
use plimsoll_model::{Flag, Measure, Metric, Outcome, Study, Trial};
use plimsoll_report::rates_compared;
use plimsoll_stats::interval::t_interval;
use std::collections::BTreeMap;
use std::fs;

/// Searches of each level, each at most 26 s long.
const REPEATS: &str = "--repeats=6";

impl Bench {
    /// Searches under several rulesets; an empty one is the level without rules.
    fn by_rules(&mut self, name: &str, rulesets: &[(&'static str, String)]) -> Option<Compared> {
        let study = self.study(name, |beds| {
            let value = |(level, text): &(&'static str, String)| {
                if text.is_empty() {
                    return "none".to_owned();
                }
                let file = format!("{}.nft", level.replace(' ', "-"));
                let path = beds.program.home().join(file);
                fs::write(&path, text).expect("a ruleset");
                path.display().to_string()
            };
            let values: Vec<String> = rulesets.iter().map(value).collect();
            searches(beds, "nft-ruleset", &values.join(","))
        })?;
        let levels = rulesets.iter().map(|(level, _)| *level).collect();
        Some(Compared::new(name, levels, study))
    }

    /// Searches under several levels of a setting, with these rules.
    fn by_setting(
        &mut self,
        name: &str,
        setting: &str,
        levels: &[&'static str],
        rules: &str,
    ) -> Option<Compared> {
        let study = self.study(name, |beds| {
            load(beds, rules);
            let ran = searches(beds, setting, &levels.join(","));
            load(beds, "");
            ran
        })?;
        Some(Compared::new(name, levels.to_vec(), study))
    }

    fn of_rules(&mut self) -> Option<Compared> {
        let levels = [
            ("none", String::new()),
            ("50 rules", rules(50)),
            ("200 rules", rules(200)),
            ("1000 rules", rules(1000)),
            ("NAT", NAT.to_owned()),
        ];
        self.by_rules("rules", &levels)
    }

    fn of_flowtable(&mut self) -> Option<Compared> {
        self.by_setting("flowtable", "flowtable", &["off", "software"], "")
    }

    fn of_cake(&mut self) -> Option<Compared> {
        let levels = [
            "as-found",
            "cake bandwidth 20mbit",
            "cake bandwidth 60mbit",
            "cake bandwidth 200mbit",
        ];
        self.by_setting("cake", "qdisc:right", &levels, "")
    }
}

fn searches(beds: &Beds, setting: &str, values: &str) -> Ran {
    let set = format!("--set=lab://home/r/{setting}={values}");
    let words: [&str; 5] = [&set, "--quick", REPEATS, LENGTH, "--quiet"];
    beds.program.run(&[&NET[..], &words].concat())
}

/// A study of searches under several levels, of which the first is the one that the others are compared with.
struct Compared {
    name: String,
    levels: Vec<&'static str>,
    study: Study,
    found: Findings,
}

impl Compared {
    fn new(name: &str, levels: Vec<&'static str>, study: Study) -> Compared {
        let found = findings(&study);
        let compared = Compared { name: name.to_owned(), levels, study, found };
        compared.print();
        compared
    }

    fn cell(&self, level: usize) -> Option<&CellFindings> {
        let cells = &self.found.workloads.first()?.cells;
        cells.iter().find(|cell| usize::from(cell.cell.setting) == level)
    }

    fn figure(&self, level: usize, measure: Measure) -> Option<&Level> {
        self.cell(level)?.levels.get(&Metric::all(measure))
    }

    /// Seconds between two packets at the rate that is kept.
    fn seconds(&self, level: usize) -> Option<f64> {
        Some(1.0 / self.figure(level, Measure::FORWARDED)?.estimate)
    }

    /// The same beyond those of the first level.
    fn more_seconds(&self, level: usize) -> Option<f64> {
        Some(self.seconds(level)? - self.seconds(0)?)
    }

    /// Levels without a complete search.
    fn missing(&self) -> Vec<String> {
        let is_missing = |level: &usize| self.cell(*level).is_none_or(|cell| cell.complete == 0);
        let missing = (0..self.levels.len()).filter(is_missing);
        missing.map(|level| format!("{}: {}", self.name, self.levels[level])).collect()
    }

    /// The complete searches under a level.
    fn trials(&self, level: usize) -> impl Iterator<Item = &Trial> {
        let is_own = move |trial: &&Trial| {
            usize::from(trial.cell.setting) == level && trial.result.outcome == Outcome::Complete
        };
        self.study.trials.iter().filter(is_own)
    }

    /// Seconds between two packets in each block.
    fn by_block(&self, level: usize) -> BTreeMap<u32, f64> {
        let seconds = |trial: &Trial| {
            let rate = trial.result.value(0, Metric::all(Measure::FORWARDED))?;
            Some((trial.block?, 1.0 / rate))
        };
        self.trials(level).filter_map(seconds).collect()
    }

    fn print(&self) {
        let routers = forwarded(&self.study);
        for (number, level) in self.levels.iter().enumerate() {
            let Some(cell) = self.cell(number) else {
                eprintln!("{}: {level}: not measured", self.name);
                continue;
            };
            let shown =
                |measure| self.figure(number, measure).map_or_else(|| "none".to_owned(), rate);
            let mut pairs =
                self.found.workloads.first().map(|own| &own.pairs).into_iter().flatten();
            let own = pairs.find(|pair| pair.contrast.of.cell == cell.cell);
            let claim = own.and_then(|pair| pair.claim.as_ref()).map(compared);
            let limit = routers.iter().find(|router| router.cell == cell.cell);
            eprintln!(
                "{}: {level}: {} searches, {} failed; kept/s with 0.5% loss {}, without loss {}, at overload {}; \
                 {:.1} µs a packet; against {}: {}; limit {:?}; words {:?}",
                self.name,
                cell.complete,
                cell.failed,
                shown(Measure::FORWARDED),
                shown(Measure::KEPT_WITHOUT_LOSS),
                shown(Measure::OVERLOADED),
                1e6 * self.seconds(number).unwrap_or(f64::NAN),
                self.levels[0],
                claim.unwrap_or_else(|| "–".to_owned()),
                limit.map(|router| &router.limit),
                self.words(number),
            );
        }
    }

    /// The words that rates need, with the number of searches.
    fn words(&self, level: usize) -> BTreeMap<String, u32> {
        let mut words = BTreeMap::new();
        for flag in self.trials(level).flat_map(|trial| &trial.result.flags) {
            if let Flag::KeptRate { caveat, .. } = flag {
                let text = format!("{caveat:?}");
                let word = text.split_whitespace().next().unwrap_or_default().to_owned();
                *words.entry(word).or_default() += 1;
            }
        }
        words
    }
}

/// "9086 [8900 to 9300] in 6".
fn rate(level: &Level) -> String {
    let ends = level
        .interval
        .map_or_else(String::new, |ends| format!(" [{:.0} to {:.0}]", ends.low, ends.high));
    format!("{:.0}{ends} in {}", level.estimate, level.trials)
}

/// "0.64 [0.60 to 0.69], ≥ 31% fewer", packets a second.
fn compared(claim: &Claim) -> String {
    let ends = claim
        .ratio
        .interval
        .map_or_else(String::new, |ends| format!(" [{:.2} to {:.2}]", ends.low, ends.high));
    format!("{:.2}{ends}, {}", claim.ratio.estimate, rates_compared(claim))
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_rates() {
    let Some(mut bench) = Bench::new() else { return };
    let rules = bench.of_rules().expect("a study of rulesets");
    let others = [bench.of_flowtable(), bench.of_cake()];
    let all = others.iter().flatten().chain([&rules]);
    let missing: Vec<String> = all.flat_map(Compared::missing).collect();
    assert!(missing.is_empty(), "no rate was found: {missing:?}");
}

/// Rules and address translation, each alone and both together, by the time between two packets at the rate that is kept.
#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_sums() {
    let Some(mut bench) = Bench::new() else { return };
    let levels = [
        ("none", String::new()),
        ("no rules again", EMPTY.to_owned()),
        ("200 rules", rules(200)),
        ("NAT", NAT.to_owned()),
        ("200 rules and NAT", rules(200) + NAT),
    ];
    let sums = bench.by_rules("sums", &levels).expect("a study of rulesets");
    let [none, again, rules, nat, both] = [0, 1, 2, 3, 4].map(|level| sums.by_block(level));
    // Of the blocks in which all five have a rate.
    let of_block = |(block, none): (&u32, &f64)| {
        let [again, rules, nat, both] =
            [&again, &rules, &nat, &both].map(|own| own.get(block).map(|seconds| seconds - none));
        Some([again?, rules?, nat?, both?])
    };
    let blocks: Vec<[f64; 4]> = none.iter().filter_map(of_block).collect();
    let interval =
        |of: fn(&[f64; 4]) -> f64| t_interval(&blocks.iter().map(of).collect::<Vec<f64>>(), 0.95);
    let control = interval(|own| own[0]);
    let [rules, nat] = [interval(|own| own[1]), interval(|own| own[2])];
    let (sum, whole) = (interval(|own| own[1] + own[2]), interval(|own| own[3]));
    // As the program has it: by as much the costs alone exceed the whole.
    let interaction = interval(|own| own[1] + own[2] - own[3]);
    eprintln!(
        "sums: {} blocks; rules {}, NAT {}, both {}; interaction {}; A/A control {}",
        blocks.len(),
        microseconds(rules),
        microseconds(nat),
        microseconds(whole),
        microseconds(interaction),
        microseconds(control)
    );
    if let Some((sum, whole)) = sum.zip(whole) {
        print_sum(sum.estimate, whole.estimate, interaction, control);
    }
    assert!(sums.missing().is_empty(), "no rate was found: {:?}", sums.missing());
}

/// Rates of four combinations, predicted from the costs that each part has alone. Packets of known flows pass the rules by,
/// so rules and a flowtable together cost as much as the flowtable.
#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_combinations() {
    let Some(mut bench) = Bench::new() else { return };
    let single = bench.of_rules().expect("a study of rulesets");
    let (flowtable, cake) = (bench.of_flowtable(), bench.of_cake());
    let [by_50, by_1000, by_nat] = [1, 3, 4].map(|level| single.more_seconds(level));
    let by_flowtable = flowtable.as_ref().and_then(|own| own.more_seconds(1));
    let by_cake = cake.as_ref().and_then(|own| own.more_seconds(3));
    let none = single.seconds(0);
    let sum = |costs: &[Option<f64>]| -> Option<f64> { costs.iter().copied().sum() };
    let predicted = [
        ("50 rules and NAT", sum(&[none, by_50, by_nat])),
        ("1000 rules and NAT", sum(&[none, by_1000, by_nat])),
        ("1000 rules and a flowtable", sum(&[none, by_flowtable])),
        ("50 rules and CAKE at 200 Mbit/s", sum(&[none, by_50, by_cake])),
    ];
    for (name, seconds) in &predicted {
        eprintln!("combinations: {name}: predicted {:.0}/s", 1.0 / seconds.unwrap_or(f64::NAN));
    }

    let levels = [
        ("none", String::new()),
        (predicted[0].0, rules(50) + NAT),
        (predicted[1].0, rules(1000) + NAT),
        (predicted[2].0, rules(1000) + FLOWS),
    ];
    let of_rules = bench.by_rules("combinations", &levels);
    let under_cake = ["as-found", "cake bandwidth 200mbit"];
    let of_cake = bench.by_setting("rules-and-cake", "qdisc:right", &under_cake, &rules(50));
    let measured = [
        (of_rules.as_ref(), 1),
        (of_rules.as_ref(), 2),
        (of_rules.as_ref(), 3),
        (of_cake.as_ref(), 1),
    ];
    let mut close = 0;
    for ((name, seconds), (study, level)) in predicted.iter().zip(measured) {
        let found = study.and_then(|study| study.figure(level, Measure::FORWARDED));
        let Some((seconds, found)) = seconds.zip(found) else {
            eprintln!("combinations: {name}: no rate to compare");
            continue;
        };
        let ratio = 1.0 / seconds / found.estimate;
        let is_close = (ratio - 1.0).abs() <= CLOSE;
        close += u32::from(is_close);
        eprintln!(
            "combinations: {name}: predicted {:.0}/s, measured {}/s: {ratio:.2}, within 15%: {is_close}",
            1.0 / seconds,
            rate(found)
        );
    }
    let again = of_rules.as_ref().and_then(|own| own.seconds(0)).zip(none);
    let drift = again.map_or(f64::NAN, |(again, before)| before / again);
    eprintln!(
        "combinations: {close} of {} within 15%; the rate without rules is {drift:.2} of the former one",
        predicted.len()
    );
    let all = [of_rules, of_cake];
    assert!(all.iter().all(Option::is_some), "a combination was not measured");
    let missing: Vec<String> = all.iter().flatten().flat_map(Compared::missing).collect();
    assert!(missing.is_empty(), "no rate was found: {missing:?}");
}
