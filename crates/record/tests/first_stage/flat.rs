//! What a record holds, by the names that the first stage gave it. The one place of these tests that
//! knows the types of the model: where they change, this says where each figure has gone.

use plimsoll_model::{Device, Study, Workload};
use serde::Serialize;
use serde_json::{Value, json};

/// A figure of a trial: the words of its trial, its name and its value.
pub struct Row {
    /// Number of the trial, label of its target, words of its work, block and outcome.
    pub place: String,
    /// Name of the figure, with its unit.
    pub metric: String,
    /// The value.
    pub value: Value,
}

/// Every figure of a study's trials, in their order: what each yielded, and the counts and latencies
/// of its operations.
pub fn rows(study: &Study) -> Vec<Row> {
    let mut rows = Vec::new();
    for trial in &study.trials {
        let label = &study.targets[trial.cell.target].label;
        let block = trial.block.map_or("-".to_owned(), |block| block.to_string());
        let number = trial.number;
        let outcome = word(&value(&trial.result.outcome)["kind"]);
        let work = work(&trial.cell.workload);
        let place = format!("trial {number}\t{label}\t{work}\tblock {block}\t{outcome}");
        let mut add =
            |metric: String, value| rows.push(Row { place: place.clone(), metric, value });
        add("started_seconds".into(), json!(trial.started_seconds));
        for (metric, figure) in &trial.result.quantities {
            add(metric.to_string(), json!(figure));
        }
        for (kind, stats) in &trial.result.ops {
            add(format!("{kind} count"), json!(stats.count));
            add(format!("{kind} bytes"), json!(stats.bytes));
            for (error, count) in &stats.errors {
                add(format!("{kind} errors {}", word(error)), json!(count));
            }
            let client = ("client_latency", Some(&stats.client_latency));
            for (name, latency) in [client, ("rpc_latency", stats.rpc_latency.as_ref())] {
                let Some(latency) = latency else { continue };
                let mut add = |part: &str, seconds: f64| {
                    add(format!("{kind} {name} {part}"), json!(seconds));
                };
                add("mean_seconds", latency.mean_seconds);
                add("min_seconds", latency.min_seconds);
                add("max_seconds", latency.max_seconds);
                if let Some(deviation) = latency.standard_deviation_seconds {
                    add("standard_deviation_seconds", deviation);
                }
                for (quantile, seconds) in &latency.quantiles_seconds {
                    add(&format!("quantile {quantile}"), *seconds);
                }
            }
        }
    }
    rows
}

fn work(work: &Workload) -> String {
    let verify = if work.verify { " verify" } else { "" };
    format!(
        "{} block={} size={} workers={} depth={} {} {}{verify}",
        word(work.pattern),
        work.block.0,
        work.size.0,
        work.workers,
        work.depth,
        word(work.layout),
        word(work.stability),
    )
}

/// The whole study as schema plimsoll/1 laid it out, without the schema's name.
pub fn study(study: &Study) -> Value {
    let plan = &study.plan;
    let trials = study.trials.iter().map(|trial| {
        json!({
            "number": trial.number,
            "block": trial.block,
            "cell": { "target": trial.cell.target, "workload": trial.cell.workload },
            "started_seconds": trial.started_seconds,
            "outcome": trial.result.outcome,
            "quantities": trial.result.quantities,
            "ops": trial.result.ops,
            "series": trial.result.series,
            "flags": trial.result.flags,
            "loads": trial.loads,
            "mount": trial.mount,
            "imported": trial.imported,
        })
    });
    json!({
        "id": study.id,
        "started_unix_seconds": study.started_unix_seconds,
        "origin": study.origin,
        "plan": {
            "targets": plan.targets,
            "workloads": plan.workloads,
            "trial_seconds": plan.trial_seconds,
            "warm_up_seconds": plan.warm_up_seconds,
            "rule": plan.rule,
            "cap_seconds": plan.cap_seconds,
            "baseline_seconds": plan.baseline_seconds,
            "margin": plan.margin,
            "confidence": plan.confidence,
            "operation_timeout_seconds": plan.operation_timeout_seconds,
            "seed": plan.seed,
            "server_memory": plan.server_memory,
            "on": plan.on,
            "hosts": plan.hosts,
            "engine": plan.engine,
            "adapt_size": plan.adapt_size,
            "fit_size": plan.fit_size,
            "command": plan.command,
        },
        "targets": study.targets,
        "hosts": study.hosts,
        "flags": study.flags,
        "trials": trials.collect::<Vec<_>>(),
        "ended": study.ended,
    })
}

/// A whole record of a device as schema plimsoll-device/1 laid it out.
pub fn device(device: &Device) -> Value {
    value(device)
}

fn value(part: impl Serialize) -> Value {
    serde_json::to_value(part).expect("a part of a record is JSON")
}

fn word(part: impl Serialize) -> String {
    value(part).as_str().expect("a word").to_owned()
}
