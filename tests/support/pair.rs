//! Two hosts of a lab with a link between them, for `plimsoll net`.

use super::beds::Beds;
use super::{Plimsoll, Ran, probes};
use plimsoll_model::{Measure, Metric, Study};
use plimsoll_testkit::Need;

/// On a link that any machine can fill.
pub const PAIR: &str = r#"
[host.a]
kind = "netns"
[host.b]
kind = "netns"
[link.lan]
between = ["a", "b"]
rate = "20Mbit/s"
"#;

pub const ENDS: [&str; 2] = ["lab://pair/a", "lab://pair/b"];

/// The program with its probes.
pub fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().expect("a path in letters"))
}

/// The same on a link without a rate of its own.
pub fn without_rate() -> String {
    PAIR.replace("rate = \"20Mbit/s\"\n", "")
}

/// The lab `pair` of that file, up; `None` where this machine has no namespaces.
pub fn lab(text: &str) -> Option<Beds> {
    lab_named("pair", text)
}

/// A lab of that name and file, up; `None` where this machine has no namespaces.
pub fn lab_named(name: &str, text: &str) -> Option<Beds> {
    let needs = [Need::Namespaces, Need::Nftables, Need::Ping];
    if !needs.into_iter().all(plimsoll_testkit::available) {
        return None;
    }
    let beds = Beds::with_program(program());
    let file = beds.file(name, text);
    beds.lab(&["up", &file, "--quiet"]).expect(0);
    Some(beds)
}

/// `plimsoll net` between the two hosts.
pub fn net(beds: &Beds, words: &[&str]) -> Ran {
    beds.program.run(&[&["net"], &ENDS[..], words].concat())
}

/// The study that a run wrote.
#[track_caller]
pub fn study(ran: &Ran) -> Study {
    plimsoll_record::from_json(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// The figures of the first part of a workload, trial by trial.
pub fn figures(study: &Study, workload: u16, measure: Measure) -> Vec<f64> {
    let own = study.trials.iter().filter(|trial| trial.cell.workload == workload);
    own.filter_map(|trial| trial.result.value(0, Metric::all(measure))).collect()
}
