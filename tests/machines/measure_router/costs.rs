//! Costs of the parts of a router's path, in CPU time a packet at a fixed rate.

use super::{Bench, FLOWS, LENGTH, NAT, NET, load, microseconds, print_sum, rules};
use crate::support::Ran;
use crate::support::beds::Beds;
use plimsoll_explain::{Difference, part_costs};
use plimsoll_model::Study;

/// Blocks of a study of parts: costs in emulated machines differ by half of a packet's from block to block.
const BLOCKS_OF_PARTS: &str = "--repeats=24";

/// A router whose parts are priced: the name of the study, rules and queueing discipline of the router, and the parts.
pub(super) struct Path<'a> {
    pub(super) name: &'a str,
    pub(super) rules: String,
    pub(super) discipline: Option<&'a str>,
    pub(super) parts: &'a str,
}

impl Path<'_> {
    /// Runs a study of the parts with these options.
    pub(super) fn price(&self, beds: &Beds, options: &[&str]) -> Ran {
        load(beds, &self.rules);
        if let Some(discipline) = self.discipline {
            beds.on("home/r", &format!("tc qdisc replace dev right root {discipline}"));
        }
        let words = [&NET[..], &[self.parts, LENGTH, "--quiet"][..], options].concat();
        let ran = beds.program.run(&words);
        load(beds, "");
        if self.discipline.is_some() {
            beds.on("home/r", "tc qdisc del dev right root");
        }
        ran
    }
}

/// Measures what parts cost in CPU time, at a fixed rate, and prints it.
fn print_parts(bench: &mut Bench, path: &Path<'_>) {
    let study = bench.study(path.name, |beds| path.price(beds, &[BLOCKS_OF_PARTS]));
    print_costs(path.name, &study.expect("a study of parts"));
}

/// Prints what the parts of a study cost.
pub(super) fn print_costs(name: &str, study: &Study) {
    for missing in study.plan.parts.iter().flat_map(|parts| &parts.missing) {
        eprintln!("{name}: {} not measured: {}", missing.part, missing.reason);
    }
    let all = part_costs(study);
    let costs = all.first().expect("parts were measured");
    let words = |difference: &Difference| microseconds(difference.interval);
    for part in &costs.parts {
        eprintln!("{name}: {} {}: {:?}", part.part, words(&part.cost), part.verdict);
    }
    let sum: f64 = costs.parts.iter().filter_map(|part| part.cost.seconds).sum();
    eprintln!(
        "{name}: sum of the chain {:.1} µs, a whole packet {:.1} µs; A/A control {}",
        1e6 * sum,
        1e6 * costs.whole.unwrap_or(f64::NAN),
        words(&costs.control)
    );
    for own in &costs.interactions {
        let [together, interaction] = [own.together, own.interaction]
            .map(|difference| difference.seconds.unwrap_or(f64::NAN));
        eprintln!(
            "{name}: {} and {:?}: with them {}, without them {}, together {}; interaction {}: {:?}",
            own.part,
            own.others,
            words(&own.with_others),
            words(&own.without_others),
            words(&own.together),
            words(&own.interaction),
            own.verdict
        );
        print_sum(
            together + interaction,
            together,
            own.interaction.interval,
            costs.control.interval,
        );
        for one in &own.predicted {
            eprintln!("{name}: without {:?}: {}", one.off, microseconds(one.interval));
        }
    }
    assert!(costs.whole.is_some(), "no trial with all parts is complete");
}

/// The chain adds up by construction; the queueing discipline is also switched off alone, which shows whether it is
/// independent of the parts before it.
#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_parts() {
    let Some(mut bench) = Bench::new() else { return };
    let parts = Path {
        name: "parts",
        rules: rules(200) + NAT,
        discipline: Some("cake bandwidth 200mbit"),
        parts: "--parts=rules,conntrack,nat,qdisc",
    };
    print_parts(&mut bench, &parts);
}

/// What a flowtable spares a router with 200 rules: a cost below 0.
#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_flowtable() {
    let Some(mut bench) = Bench::new() else { return };
    let flowtable = Path {
        name: "flowtable of 200 rules",
        rules: rules(200) + FLOWS,
        discipline: None,
        parts: "--parts=flowtable",
    };
    print_parts(&mut bench, &flowtable);
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_shapers() {
    let Some(mut bench) = Bench::new() else { return };
    for [name, discipline] in [
        ["CAKE at 20 Mbit/s", "cake bandwidth 20mbit"],
        ["CAKE at 60 Mbit/s", "cake bandwidth 60mbit"],
    ] {
        let rules = String::new();
        let discipline = Some(discipline);
        print_parts(&mut bench, &Path { name, rules, discipline, parts: "--parts=qdisc" });
    }
}
