//! The labs that two studies were measured in, and what is set otherwise in the second.

use crate::document::Warning;
use crate::text::printable;
use plimsoll_model::{LabFacts, Study};
use std::collections::BTreeSet;

/// What differs, lab by lab in the order of the studies' hosts.
pub(crate) fn compare(a: &Study, b: &Study) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (a, b) in of(a).zip(of(b)) {
        let differences = differences(a, b);
        if differences.is_empty() {
            continue;
        }
        let (name, other) = (printable(&a.name), printable(&b.name));
        let names = if name == other { name } else { format!("A {name}, B {other}") };
        let differences = printable(&differences.join("; "));
        let text = format!("The lab was another one, or set otherwise ({names}): {differences}");
        warnings.push(Warning { text, advice: None });
    }
    warnings
}

fn of(study: &Study) -> impl Iterator<Item = &LabFacts> {
    let mut seen = BTreeSet::new();
    let labs = study.hosts.iter().filter_map(|host| host.lab.as_ref());
    labs.filter(move |lab| seen.insert(&lab.name))
}

/// "link lan rate: 1Gbit/s, then 100Mbit/s" for each setting.
fn differences(a: &LabFacts, b: &LabFacts) -> Vec<String> {
    let keys: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    let value = |lab: &LabFacts, key: &String| {
        lab.settings.get(key).map_or_else(|| "none".to_owned(), String::clone)
    };
    let change = |key: &String| format!("{key}: {}, then {}", value(a, key), value(b, key));
    keys.into_iter()
        .filter(|key| a.settings.get(*key) != b.settings.get(*key))
        .map(change)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(settings: &[(&str, &str)]) -> LabFacts {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        LabFacts { name: "router".to_owned(), settings: settings.collect() }
    }

    #[test]
    fn what_was_set_otherwise_is_named() {
        let a =
            lab(&[("link lan rate", "1Gbit/s"), ("host nas cores", "1"), ("host nas cpu", "5%")]);
        let b = lab(&[
            ("link lan rate", "100Mbit/s"),
            ("host nas cores", "1"),
            ("link lan mtu", "9000"),
        ]);
        let expected = [
            "host nas cpu: 5%, then none",
            "link lan mtu: none, then 9000",
            "link lan rate: 1Gbit/s, then 100Mbit/s",
        ];
        assert_eq!(differences(&a, &b), expected);
        assert!(differences(&a, &a).is_empty());
    }
}
