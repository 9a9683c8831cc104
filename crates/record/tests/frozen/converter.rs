//! Changes of the format since the exports were frozen.

use serde_json::{Value, json};

/// A frozen export in today's format.
pub fn converted(mut study: Value) -> Value {
    assert_eq!(study["schema"], "plimsoll/2");
    study["schema"] = "plimsoll/1".into();
    // Stein's two-stage rule is gone. Its first blocks are measured whatever the figures say.
    let rule = &mut study["plan"]["rule"];
    if rule["kind"] == "stein" {
        *rule = json!({"kind": "fixed", "blocks": rule["pilot"]});
    }
    // Flags that nothing raised any more are gone.
    let flags = study["flags"].as_array_mut().expect("flags");
    flags.retain(|flag| flag["flag"] != "page_cache" && flag["flag"] != "server_restarted");
    // A search has a list of bounds.
    for workload in study["plan"]["workloads"].as_array_mut().expect("workloads") {
        if workload["steps"]["steps"] == "search" {
            let accept = &mut workload["steps"]["accept"];
            *accept = json!([accept.take()]);
        }
    }
    // Measures say how the figures of several clients become one.
    for info in study.get_mut("measures").and_then(Value::as_array_mut).into_iter().flatten() {
        let combine = match info["measure"].as_str() {
            Some("elapsed_seconds" | "longest_gap_seconds" | "flush_seconds") => "max",
            Some("files_per_second" | "entries_per_second" | "operations_in_flight") => {
                "sum_of_rates"
            }
            Some("client_cpu_seconds_per_operation" | "client_cpu_seconds_per_byte") => {
                "weighted_mean"
            }
            _ => continue,
        };
        info["combine"] = combine.into();
    }
    study
}

/// A frozen table in today's words: settings say "block size 4 KiB" instead of "4 KiB blocks", and one figure "was"
/// disturbed.
pub fn converted_table(csv: &str) -> String {
    let mut pieces: Vec<&str> = csv.split(" blocks,").collect();
    let last = pieces.pop().expect("text");
    let converted = |piece: &str| {
        let size = piece.rmatch_indices(['"', ' ']).nth(1).expect("a number and a unit").0 + 1;
        format!("{}block size {},", &piece[..size], &piece[size..])
    };
    let table = pieces.into_iter().map(converted).collect::<String>() + last;
    table.replace("\"1 of 5 figures were disturbed", "\"1 of 5 figures was disturbed")
}
