//! What a record holds, by the names that the first stage gave it. The one place of these tests that
//! knows the types of the model: where they change, this says where each figure has gone.

use plimsoll_model::{Job, Length, Metric, OpKind, Origin, Part, PartResult, Series, Study, Trial};
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
        let label = study.subjects[usize::from(trial.cell.subject)].label();
        let block = trial.block.map_or("-".to_owned(), |block| block.to_string());
        let number = trial.number;
        let outcome = word(&value(&trial.result.outcome)["kind"]);
        let work = work(part(study, trial));
        let place = format!("trial {number}\t{label}\t{work}\tblock {block}\t{outcome}");
        let mut add =
            |metric: String, value| rows.push(Row { place: place.clone(), metric, value });
        add("started_seconds".into(), json!(trial.started_seconds));
        let Some(result) = result(trial) else { continue };
        for (metric, figure) in &result.quantities {
            add(metric.to_string(), json!(figure));
        }
        for (kind, stats) in &result.ops {
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

/// The first stage had one part and one result, and neither factors nor points.
fn result(trial: &Trial) -> Option<&PartResult> {
    assert!(trial.result.parts.len() <= 1 && trial.points.is_empty() && trial.cell.setting == 0);
    trial.result.main()
}

fn part<'a>(study: &'a Study, trial: &Trial) -> &'a Part {
    only(&study.plan.workload(trial.cell).expect("it is planned").parts)
}

fn only(parts: &[Part]) -> &Part {
    let [part] = parts else { panic!("{} parts", parts.len()) };
    part
}

fn work(part: &Part) -> String {
    let Job::Pattern(job) = &part.job else { panic!("no pattern") };
    let verify = if job.verify { " verify" } else { "" };
    format!(
        "{} block={} size={} workers={} depth={} {} {}{verify}",
        word(job.pattern),
        job.block.0,
        job.size.0,
        part.workers,
        part.depth(),
        word(job.layout),
        word(job.stability),
    )
}

fn workload(part: &Part) -> Value {
    let Job::Pattern(job) = &part.job else { panic!("no pattern") };
    let mut workload = value(job);
    workload["workers"] = json!(part.workers);
    workload["depth"] = json!(part.depth());
    workload
}

fn windows(series: &Series) -> Value {
    let window = |window: plimsoll_model::Window| {
        let (read, write) = (window.count(OpKind::READ), window.count(OpKind::WRITE));
        assert_eq!(window.operations(), read.operations + write.operations);
        let mut row = json!({
            "read_ops": read.operations,
            "read_bytes": read.bytes,
            "write_ops": write.operations,
            "write_bytes": write.bytes,
        });
        if window.in_flight_ns > 0 {
            row["in_flight_ns"] = json!(window.in_flight_ns);
        }
        row
    };
    let windows: Vec<Value> = series.windows().map(window).collect();
    json!({"window_seconds": series.window_seconds, "windows": windows})
}

/// The whole study as schema plimsoll/1 laid it out, without the schema's name.
pub fn study(study: &Study) -> Value {
    let plan = &study.plan;
    let (design, storage) = (&plan.design, &plan.storage);
    let lengths = plan.workloads.iter().map(|workload| match workload.length {
        Length::For { seconds, warm_up_seconds } => (seconds, warm_up_seconds),
        Length::UntilDone { .. } => panic!("no length"),
    });
    let mut lengths: Vec<(f64, f64)> = lengths.collect();
    lengths.dedup();
    let [(seconds, warm_up_seconds)] = lengths[..] else { panic!("{lengths:?}") };
    let hosts = plan.hosts.iter().map(|host| {
        let mut watched = value(host);
        let fields = watched.as_object_mut().expect("fields");
        if let Some(subject) = fields.remove("subject") {
            fields.insert("target".to_owned(), subject);
        }
        watched
    });
    // Imported runs had targets among the facts alone.
    let imported = matches!(study.origin, plimsoll_model::Origin::Imported { .. });
    let targets = plan.subjects.iter().filter(|_| !imported).map(|s| s.target().expect("storage"));
    let trials = study.trials.iter().map(|trial| {
        let nothing = PartResult::default();
        let result = result(trial).unwrap_or(&nothing);
        json!({
            "number": trial.number,
            "block": trial.block,
            "cell": { "target": trial.cell.subject, "workload": workload(part(study, trial)) },
            "started_seconds": trial.started_seconds,
            "outcome": trial.result.outcome,
            "quantities": result.quantities,
            "ops": result.ops,
            "series": windows(&result.series),
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
            "targets": targets.collect::<Vec<_>>(),
            "workloads": plan.workloads.iter().map(|w| workload(only(&w.parts))).collect::<Vec<_>>(),
            "trial_seconds": seconds,
            "warm_up_seconds": warm_up_seconds,
            "rule": design.rule,
            "cap_seconds": design.cap_seconds,
            "baseline_seconds": design.baseline_seconds,
            "margin": design.margin,
            "confidence": design.confidence,
            "operation_timeout_seconds": storage.operation_timeout_seconds,
            "seed": design.seed,
            "server_memory": storage.server_memory,
            "on": plan.clients.first(),
            "hosts": hosts.collect::<Vec<_>>(),
            "engine": storage.engine,
            "adapt_size": storage.adapt_size,
            "fit_size": storage.fit_size,
            "command": plan.command,
        },
        "targets": study.subjects.iter().map(|s| s.storage().expect("storage")).collect::<Vec<_>>(),
        "hosts": study.hosts,
        "flags": study.flags,
        "trials": trials.collect::<Vec<_>>(),
        "ended": study.ended,
    })
}

/// A whole record of a device as schema plimsoll-device/1 laid it out.
pub fn device(study: &Study) -> Value {
    let Origin::Measured { version } = &study.origin else { panic!("measured") };
    let Job::Device(job) = study.plan.workloads[0].parts[0].job else { panic!("a device's job") };
    let mut all = value(&study.subjects[0].host().expect("a host").device);
    for (field, part) in [
        ("schema", "plimsoll-device/1".into()),
        ("id", value(&study.id)),
        ("started_unix_seconds", study.started_unix_seconds.into()),
        ("version", version.as_str().into()),
        ("command", study.plan.command.as_str().into()),
        ("host", study.plan.subjects[0].to_string().into()),
        ("quick", job.quick.into()),
        ("ended", value(&study.ended)),
    ] {
        assert!(all.as_object_mut().expect("an object").insert(field.to_owned(), part).is_none());
    }
    all
}

/// The figures of a device as the table that the first stage wrote of them.
pub fn figures(study: &Study) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let header = [
        "device",
        "started_unix_seconds",
        "host",
        "part",
        "figure",
        "value",
        "unit",
        "measured_by",
        "cpu_share",
    ];
    table.write_record(header).expect("a table");
    let device = &study.subjects[0].host().expect("a host").device;
    for figure in device.measured() {
        let measure = figure.info().expect("a name").measure;
        let of_part = |trial: &&Trial| {
            let workload = study.plan.workload(trial.cell).expect("a workload");
            workload.parts[0].job.kind() == figure.part.name()
        };
        let trial = study.trials.iter().find(of_part).expect("a trial of the part");
        let cells = [
            study.id.0.clone(),
            study.started_unix_seconds.to_string(),
            study.plan.subjects[0].to_string(),
            figure.part.to_string(),
            figure.figure.clone(),
            trial.result.value(0, Metric::all(measure)).expect("the figure").to_string(),
            figure.quantity.unit().to_owned(),
            figure.by.to_owned(),
            figure.cpu_share.map_or(String::new(), |share| format!("{share:.3}")),
        ];
        table.write_record(cells).expect("a row");
    }
    String::from_utf8(table.into_inner().expect("a table")).expect("text")
}

fn value(part: impl Serialize) -> Value {
    serde_json::to_value(part).expect("a part of a record is JSON")
}

fn word(part: impl Serialize) -> String {
    value(part).as_str().expect("a word").to_owned()
}
