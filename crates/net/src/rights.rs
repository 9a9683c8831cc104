//! What root would add at an end, from what the probe says of its host. Pure: no input or output.

use crate::ends::Side;
use plimsoll_model::units::Bytes;
use serde_json::Value;

/// Congestion controls that are named, and letters of each.
const MOST_NAMES: usize = 8;
const MOST_LETTERS: usize = 16;

/// A sentence for the ends that lack the same rights; none of an end that lacks nothing.
pub(crate) fn root_adds(ends: &[(Side, Value)]) -> Vec<String> {
    let mut found: Vec<(Vec<Side>, Vec<String>)> = Vec::new();
    for (side, facts) in ends {
        let additions = additions(facts);
        match found.iter_mut().find(|(_, known)| *known == additions) {
            Some((sides, _)) => sides.push(*side),
            None if additions.is_empty() => {}
            None => found.push((vec![*side], additions)),
        }
    }
    let sentence = |(sides, additions): (Vec<Side>, Vec<String>)| {
        let sides: Vec<String> = sides.iter().map(Side::to_string).collect();
        format!("Root rights at {} would add {}", sides.join(" and "), listed(&additions))
    };
    found.into_iter().map(sentence).collect()
}

/// "a, b and c".
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn additions(facts: &Value) -> Vec<String> {
    let lacks = |key: &str| facts.get(key).and_then(Value::as_bool) == Some(false);
    let mut all = Vec::new();
    if lacks("realtime_allowed") {
        all.push("real-time priority (SCHED_FIFO)".to_owned());
    }
    if lacks("forced_buffers_allowed") {
        let limits = ["largest_send_buffer_bytes", "largest_receive_buffer_bytes"];
        let limit = limits.iter().filter_map(|key| facts.get(key).and_then(Value::as_u64)).min();
        all.push(match limit {
            Some(bytes) => format!("socket buffers above {}", Bytes(bytes)),
            None => "larger socket buffers".to_owned(),
        });
        let controls = forbidden(facts);
        if !controls.is_empty() {
            all.push(format!("congestion control by {}", listed(&controls)));
        }
        all.push("settings (--set)".to_owned());
    }
    all
}

/// Congestion controls of the kernel that only root may choose.
fn forbidden(facts: &Value) -> Vec<String> {
    let names = |key: &str| {
        let text = facts.get(key).and_then(Value::as_str).unwrap_or_default();
        text.split_whitespace().map(|name| name.chars().take(MOST_LETTERS).collect::<String>())
    };
    let allowed: Vec<String> = names("congestion_allowed").collect();
    let all = names("congestion_available").filter(|name| !allowed.contains(name));
    all.take(MOST_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_end_without_root_is_named_with_what_it_lacks() {
        let root = json!({"realtime_allowed": true, "forced_buffers_allowed": true,
            "largest_send_buffer_bytes": 212_992, "congestion_available": "cubic bbr",
            "congestion_allowed": "cubic"});
        let contained = json!({"realtime_allowed": false, "forced_buffers_allowed": true});
        let user = json!({"realtime_allowed": false, "forced_buffers_allowed": false,
            "largest_send_buffer_bytes": 425_984, "largest_receive_buffer_bytes": 212_992,
            "congestion_available": "reno cubic bbr", "congestion_allowed": "reno cubic"});
        let sentences =
            |a: &Value, b: &Value| root_adds(&[(Side::A, a.clone()), (Side::B, b.clone())]);
        assert_eq!(sentences(&root, &root), [""; 0]);
        let lacks = "would add real-time priority (SCHED_FIFO), socket buffers above 208 KiB, \
                     congestion control by bbr and settings (--set)";
        assert_eq!(sentences(&root, &user), [format!("Root rights at B {lacks}")]);
        assert_eq!(sentences(&user, &user), [format!("Root rights at A and B {lacks}")]);
        let both = sentences(&contained, &user);
        assert_eq!(both[0], "Root rights at A would add real-time priority (SCHED_FIFO)");
        assert_eq!(both.len(), 2);
        // A probe that says nothing.
        assert_eq!(sentences(&json!({}), &json!(null)), [""; 0]);
        let wordless = json!({"forced_buffers_allowed": false});
        let [sentence] = &sentences(&root, &wordless)[..] else { panic!() };
        assert!(sentence.ends_with("would add larger socket buffers and settings (--set)"));
    }
}
