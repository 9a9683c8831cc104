//! What a host says, before it is believed: bounded, and rid of what cannot be true.

use plimsoll_model::device::{MOST_ENTRIES, MOST_LETTERS};
use serde_json::{Map, Value};

/// Deepest nesting that a section may have.
const DEEPEST: usize = 8;
/// Most remarks that are kept.
const MOST_REMARKS: usize = 32;
/// Most letters of something that is quoted in a remark.
const QUOTED: usize = 60;

/// Keys that end like an amount and hold text: the kernel writes several numbers there.
const TEXTS: [&str; 3] =
    ["tcp_receive_memory_bytes", "tcp_send_memory_bytes", "pool_threads_count"];

/// The largest amounts that are believed, by the unit at the end of the key. Far above what there
/// is, far below where arithmetic with them overflows.
const MOST: [(&str, u64); 10] = [
    ("rounds_per_second", 1_000_000_000_000),
    ("bytes_per_second", 100_000_000_000_000),
    ("bits_per_second", 100_000_000_000_000),
    ("_per_second", 1_000_000_000_000),
    ("_hertz", 1_000_000_000_000),
    ("_bytes", 1 << 62),
    ("_ns", 1 << 60),
    ("_ps", 1 << 60),
    ("_seconds", 1 << 40),
    ("_us", 1 << 40),
];
const MOST_OTHERWISE: u64 = 1 << 53;
const UNITS: [&str; 6] = ["_count", "_number", "_packets", "_bits", "_hertz", "_bytes"];

/// What was left out of what the host said, as remarks.
#[derive(Clone, Debug, Default)]
pub struct Odd {
    remarks: Vec<String>,
    more: u64,
}

impl Odd {
    /// Adds a remark; beyond some they are only counted.
    pub fn add(&mut self, remark: String) {
        match self.remarks.contains(&remark) {
            true => {}
            false if self.remarks.len() < MOST_REMARKS => self.remarks.push(remark),
            false => self.more += 1,
        }
    }

    /// Adds the remarks of another measurement.
    pub(super) fn append(&mut self, other: Odd) {
        other.remarks.into_iter().for_each(|remark| self.add(remark));
        self.more += other.more;
    }

    /// The remarks.
    pub fn into_remarks(mut self) -> Vec<String> {
        if self.more > 0 {
            self.remarks.push(format!("and {} more remarks of this kind", self.more));
        }
        self.remarks
    }
}

/// The section with at most [`MOST_ENTRIES`] entries a list, [`MOST_LETTERS`] letters a text, and
/// without numbers that cannot be. What was left out is remarked upon.
pub fn clean(section: Value, odd: &mut Odd) -> Map<String, Value> {
    let name = match section.get("section").and_then(Value::as_str) {
        Some(name) => quoted(name),
        None => "a section without a name".to_owned(),
    };
    match value(section, &name, "", 0, odd) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn value(from: Value, place: &str, key: &str, depth: usize, odd: &mut Odd) -> Option<Value> {
    if depth > DEEPEST {
        odd.add(format!("{place}: nested too deeply"));
        return None;
    }
    match from {
        Value::Null => None,
        Value::Bool(truth) => Some(Value::Bool(truth)),
        Value::Number(number) => {
            let said = number.as_u64().filter(|n| *n <= most(key));
            if said.is_none() {
                odd.add(format!("{place} cannot be {}", quoted(&number.to_string())));
            }
            said.map(Value::from)
        }
        Value::String(text) => text_of(text, place, key, odd),
        Value::Array(items) => {
            if items.len() > MOST_ENTRIES {
                let more = items.len() - MOST_ENTRIES;
                odd.add(format!("{place}: {more} more entries were left out"));
            }
            let kept = items.into_iter().take(MOST_ENTRIES).enumerate();
            let kept = kept
                .filter_map(|(i, item)| value(item, &format!("{place}[{i}]"), key, depth + 1, odd));
            Some(Value::Array(kept.collect()))
        }
        Value::Object(fields) => Some(Value::Object(object(fields, place, depth, odd))),
    }
}

fn object(
    fields: Map<String, Value>,
    place: &str,
    depth: usize,
    odd: &mut Odd,
) -> Map<String, Value> {
    if fields.len() > MOST_ENTRIES {
        odd.add(format!("{place}: {} more fields were left out", fields.len() - MOST_ENTRIES));
    }
    let mut kept = Map::new();
    for (key, field) in fields.into_iter().take(MOST_ENTRIES) {
        let inside = format!("{place}.{}", quoted(&key));
        if key == "cut" && field == Value::Bool(true) {
            odd.add(format!("{place}: the host truncated it"));
        }
        if let (Some(list), Some(1..)) = (key.strip_suffix("_omitted_count"), field.as_u64()) {
            odd.add(format!("{place}.{}: {field} more entries did not fit", quoted(list)));
        }
        if let Some(field) = value(field, &inside, &key, depth + 1, odd) {
            kept.insert(key.chars().take(MOST_LETTERS).collect(), field);
        }
    }
    kept
}

/// An empty text says nothing. A text in the place of an amount is none.
fn text_of(text: String, place: &str, key: &str, odd: &mut Odd) -> Option<Value> {
    let amount = UNITS.iter().chain(MOST.iter().map(|(unit, _)| unit)).any(|u| key.ends_with(u));
    if amount && !TEXTS.contains(&key) {
        odd.add(format!("{place} cannot be '{}'", quoted(&text)));
        return None;
    }
    // The kernel separates columns by tabs, which the probe's reader takes for control characters.
    let text = text.replace(['\t', '\u{fffd}'], " ");
    let letters = text.chars().count();
    if letters > MOST_LETTERS {
        odd.add(format!("{place}: a text of {letters} characters was truncated"));
        return Some(Value::String(text.chars().take(MOST_LETTERS).collect()));
    }
    (!text.is_empty()).then_some(Value::String(text))
}

fn most(key: &str) -> u64 {
    MOST.iter().find(|(unit, _)| key.ends_with(unit)).map_or(MOST_OTHERWISE, |(_, most)| *most)
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cleaned(section: Value) -> (Value, Vec<String>) {
        let mut odd = Odd::default();
        let kept = clean(section, &mut odd);
        (Value::Object(kept), odd.into_remarks())
    }

    #[test]
    fn what_is_possible_stays_as_it_is() {
        let section = json!({
            "section": "nics",
            "nics": [{"name": "eth0", "mtu_bytes": 1500, "bridge": false, "offloads": ["rx-gro"]}],
            "tcp_receive_memory_bytes": "4096 131072 33554432",
        });
        assert_eq!(cleaned(section.clone()), (section, vec![]));
    }

    #[test]
    fn what_cannot_be_is_left_out_and_remarked_upon() {
        let (kept, remarks) = cleaned(json!({
            "section": "cpu_core",
            "rounds_per_second": -5,
            "elapsed_ns": 1.5,
            "cpu_ns": 18_446_744_073_709_551_615_u64,
            "rounds_count": "NaN",
            "clock_hertz": 1_000_000_000,
            "nothing": null,
            "empty": "",
        }));
        assert_eq!(kept, json!({"section": "cpu_core", "clock_hertz": 1_000_000_000}));
        // Keys come sorted.
        assert_eq!(
            remarks,
            [
                "cpu_core.cpu_ns cannot be 18446744073709551615",
                "cpu_core.elapsed_ns cannot be 1.5",
                "cpu_core.rounds_count cannot be 'NaN'",
                "cpu_core.rounds_per_second cannot be -5",
            ]
        );
    }

    #[test]
    fn much_is_bounded() {
        let nics = vec![json!({"mtu_bytes": -1}); 1_000_000];
        let name = "x".repeat(5000);
        let (kept, remarks) = cleaned(json!({"section": "nics", "name": name, "nics": nics}));
        assert_eq!(kept["nics"].as_array().unwrap().len(), MOST_ENTRIES);
        assert_eq!(kept["name"].as_str().unwrap().len(), MOST_LETTERS);
        assert_eq!(remarks.len(), MOST_REMARKS + 1);
        assert_eq!(remarks[0], "nics.name: a text of 5000 characters was truncated");
        assert_eq!(remarks[1], "nics.nics: 999744 more entries were left out");
        assert_eq!(remarks[MOST_REMARKS], "and 226 more remarks of this kind");
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(cleaned(json!({"section": "x", "deep": deep})).1.len(), 1);
        assert_eq!(cleaned(json!([1, 2])).0, json!({}));
    }

    #[test]
    fn what_the_probe_left_out_is_reported() {
        let section = json!({"section": "buses", "pci": [], "pci_omitted_count": 12, "cut": true});
        let said = cleaned(section).1;
        assert_eq!(
            said,
            [
                "buses: the host truncated it",
                "buses.pci: 12 more entries did not \
        fit"
            ]
        );
    }
}
