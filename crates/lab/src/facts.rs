//! What a lab is, in a few settings that can be kept and compared.

use super::state;
use super::vm::images::fingerprint;
use plimsoll_model::{Cause, Failure, LabFacts};
use serde_json::Value;
use std::collections::BTreeMap;

/// Who logs in by which password has no bearing on figures.
const SECRET: [&str; 2] = ["user", "password"];

/// What a lab that is up is now, with what was set since it came up.
///
/// # Errors
/// [`Cause::Usage`] where there is no such lab.
pub fn facts(lab: &str) -> Result<LabFacts, Failure> {
    let (_, bed) = state::find(lab)?;
    let plan = serde_json::to_value(&bed.plan)
        .map_err(|error| Failure::new(Cause::Trial, "describe the lab").on(lab).happened(error))?;
    let mut settings = BTreeMap::new();
    flatten(String::new(), &plan, &mut settings);
    settings.remove("about");
    // Between machines that are emulated a link has a part of the rate that was asked for.
    for name in bed.plan.links.keys() {
        if let Some(shaped) = bed.rates(name) {
            let (asked, shaped) = (settings.get(&format!("link {name} rate")), shaped.to_string());
            if asked.is_some_and(|asked| *asked != shaped) {
                settings.insert(format!("link {name} shaped rate"), shaped);
            }
        }
    }
    if let Some(kvm) = bed.kvm {
        let word = if kvm { "by KVM" } else { "emulated" };
        settings.insert("machines".to_owned(), word.to_owned());
    }
    Ok(LabFacts { name: bed.name, settings })
}

/// Each value by its keys from the top. Rulesets are long, so they are distinguished by a sum.
fn flatten(at: String, value: &Value, settings: &mut BTreeMap<String, String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at} {key}") };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !SECRET.contains(&key.as_str())) {
                match value {
                    Value::String(text) if key == "rules" => {
                        let (lines, sum) = (text.lines().count(), fingerprint(&[text]));
                        settings.insert(below(key), format!("{lines} lines, sum {sum:016x}"));
                    }
                    value => flatten(below(key), value, settings),
                }
            }
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            settings.insert(at, words.join(", "));
        }
        Value::Array(items) => {
            for (number, item) in (1..).zip(items) {
                flatten(below(&number.to_string()), item, settings);
            }
        }
        Value::String(text) => drop(settings.insert(at, text.clone())),
        other => drop(settings.insert(at, other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_listed_in_settings_without_passwords() {
        let plan = serde_json::json!({
            "host": {"r": {"cpu": "20%", "rules": "a\nb", "samba": {"user": "u", "password": "p"}}},
            "link": {"lan": {"between": ["r", "b"], "mtu": 9000, "rate": {"r": "1Mbit/s"}}},
            "list": [{"path": "/a"}, {"path": "/b"}],
        });
        let mut settings = BTreeMap::new();
        flatten(String::new(), &plan, &mut settings);
        let lines: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let rules = format!("host r rules: 2 lines, sum {:016x}", fingerprint(&["a\nb"]));
        assert_eq!(
            lines,
            [
                "host r cpu: 20%",
                &rules,
                "link lan between: r, b",
                "link lan mtu: 9000",
                "link lan rate r: 1Mbit/s",
                "list 1 path: /a",
                "list 2 path: /b",
            ]
        );
    }
}
