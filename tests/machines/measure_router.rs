//! A router with a kernel of its own, between two hosts in namespaces: what its rules, address translation, flowtable and
//! shaper leave of its rate, whether their costs add up, and combinations predicted from single costs: `make measure-router`.
//!
//! Each study is kept in `PLIMSOLL_KEPT`, so that an interrupted measurement goes on with the next one.

mod combination_costs;
mod costs;
mod own_predictions;
mod rates;

use super::super::kept::{Kept, load_average, until_quiet};
use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use super::super::support::{Plimsoll, Ran, probes};
use super::saved::Machines;
use plimsoll_model::Study;
use plimsoll_stats::interval::Interval;
use plimsoll_testkit::Need;
use serde::{Deserialize, Serialize};

const NET: [&str; 6] = [
    "net",
    "lab://home/a",
    "lab://home/b",
    "--via=lab://home/r",
    "--frames=512",
    "--direction=out",
];
const LENGTH: &str = "--max-time=30min";
/// Share by which a sum may differ from the whole, and a rate from its prediction.
const CLOSE: f64 = 0.15;

/// Address translation towards B.
const NAT: &str = "table ip nat {\n chain post {\n  type nat hook postrouting priority 100;\n  \
                   oifname \"right\" masquerade\n }\n}\n";
/// Flows that pass the rules by, once they are known.
const FLOWS: &str = "table inet passing {\n flowtable known {\n  hook ingress priority 0; \
                     devices = { \"left\", \"right\" };\n }\n chain forwarded {\n  \
                     type filter hook forward priority -1;\n  meta l4proto udp flow add @known\n }\n}\n";
/// No packet comes to it: an A/A control.
const EMPTY: &str = "table ip unused {\n}\n";

/// Rules that every packet is compared with, and that none matches.
pub(super) fn rules(count: u32) -> String {
    let rule = |n: u32| format!("  ip saddr 10.9.{}.{} drop\n", n / 256, n % 256);
    let rules: String = (0..count).map(rule).collect();
    format!(
        "table ip many {{\n chain forwarded {{\n  type filter hook forward priority 0;\n{rules} }}\n}}\n"
    )
}

/// A study that was measured.
#[derive(Serialize, Deserialize)]
struct Case {
    name: String,
    /// Load averages of the machine after it.
    load: String,
    study: Study,
}

/// The router, and what was measured of it.
struct Bench {
    /// Up once a study is missing.
    machines: Option<Machines>,
    kept: Kept<Case>,
}

pub(super) fn up() -> Machines {
    let probes = probes().to_str().expect("letters").to_owned();
    let machines = Machines::with(Plimsoll::new().with("PLIMSOLL_PROBES", &probes));
    let a = LabFile::new().namespace("a").set("gateway", "r");
    let router = a.machine("r", "256MiB").line(format_args!("forward = true"));
    let b = router.namespace("b").set("gateway", "r");
    machines.beds.up("home", &b.link("left", ["a", "r"]).link("right", ["r", "b"]));
    machines
}

/// Makes these rules all that the router has.
pub(super) fn load(beds: &Beds, rules: &str) {
    beds.on("home/r", &format!("nft -f - <<'END'\nflush ruleset\n{rules}END\n"));
}

impl Bench {
    /// `None` where this machine has no machines.
    fn new() -> Option<Bench> {
        let needs = [Need::Machines, Need::Namespaces];
        let is_possible = needs.into_iter().all(plimsoll_testkit::available);
        is_possible.then(|| Bench { machines: None, kept: Kept::open("router-machine.jsonl") })
    }

    /// The study of this name that is kept.
    fn known(&self, name: &str) -> Option<&Study> {
        let case = self.kept.cases.iter().find(|case| case.name == name)?;
        Some(&case.study)
    }

    /// The study of this name, measured if it is not kept; `None` if the program ended without one, with its reason printed.
    fn study(&mut self, name: &str, measure: impl FnOnce(&Beds) -> Ran) -> Option<Study> {
        if self.known(name).is_none() && self.machines.is_some() {
            until_quiet();
        }
        self.study_at_once(name, measure)
    }

    /// The same for studies that are compared: once the router is up and the machine is quiet, one follows the other.
    fn study_at_once(&mut self, name: &str, measure: impl FnOnce(&Beds) -> Ran) -> Option<Study> {
        if let Some(study) = self.known(name) {
            return Some(study.clone());
        }
        if self.machines.is_none() {
            self.machines = Some(up());
            until_quiet();
        }
        let beds = &self.machines.as_ref()?.beds;
        let before = beds.program.exported("latest").map(|study| study.id);
        let ran = measure(beds);
        eprintln!("{name}: exit code {:?}\n{}{}", ran.code, ran.out, ran.err);
        // A router that stalls may fail some of the searches, with exit code 1.
        if !matches!(ran.code, Some(0 | 1)) {
            return None;
        }
        let study = beds.program.exported("latest")?;
        if Some(&study.id) == before.as_ref() {
            return None;
        }
        let (name, load) = (name.to_owned(), load_average());
        self.kept.add(Case { name, load, study: study.clone() });
        Some(study)
    }
}

/// "12.3 µs [11.0 to 13.6]" of seconds.
fn microseconds(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "no interval".to_owned(),
        |Interval { low, estimate, high }| {
            format!("{:.1} µs [{:.1} to {:.1}]", 1e6 * estimate, 1e6 * low, 1e6 * high)
        },
    )
}

/// Whether a sum of costs is the whole; if not, whether the interaction is told from 0 and the A/A control is not.
fn print_sum(sum: f64, whole: f64, interaction: Option<Interval>, control: Option<Interval>) {
    let excludes = |interval: Option<Interval>| interval.is_some_and(|own| !own.contains(0.0));
    let off = sum / whole - 1.0;
    eprintln!(
        "sum of the costs alone {:.1} µs, whole {:.1} µs: {:+.0}%, beyond 15%: {}; the interaction's interval excludes 0: \
         {}; the A/A control's excludes 0: {}",
        1e6 * sum,
        1e6 * whole,
        100.0 * off,
        off.abs() > CLOSE,
        excludes(interaction),
        excludes(control)
    );
}
