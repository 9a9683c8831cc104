//! In what the work of two studies differs. Figures compare where the same was done: other settings are other
//! work, however alike it is called.

use crate::changes::{Change, clients};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cell, Part, Stability, Study, TargetFacts, Workload};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What settings are called that are not called as in plans.
const NAMES: [(&str, &str); 12] = [
    ("size", "working set"),
    ("block", "block size"),
    ("buffer", "block size"),
    ("way", "direction"),
    ("per_second", "rate"),
    ("rate", "rate"),
    ("bytes", "bytes of all files"),
    ("source", "data"),
    ("seed", "seed of the data"),
    ("layout", "ranges of the workers"),
    ("verify", "--verify"),
    ("drop_caches", "caches dropped before each trial"),
];
/// Settings that are numbers of bytes.
const BYTES: [&str; 5] = ["size", "block", "buffer", "bytes", "gather"];
/// Settings of how storage is driven that change nothing of the work. The page cache is a fact of the targets that
/// it is used on.
const NO_WORK: [&str; 6] =
    ["operation_timeout_seconds", "server_memory", "engine", "cache", "adapt_size", "fit_size"];
/// What a setting has that is switched off, and one that is not there at all.
const OFF: &str = "off";
const NONE: &str = "none";

/// Every difference between the work of two cells; empty where figures of them compare. The length of trials is
/// none.
pub(crate) fn differences(a: &Study, in_a: Cell, b: &Study, in_b: Cell) -> Vec<Change> {
    let (Some(of_a), Some(of_b)) = (a.plan.workload(in_a), b.plan.workload(in_b)) else {
        return Vec::new();
    };
    // What a part of a host is measured with is no setting; what else runs at the same time is one.
    let is_of_host = of_a.subject().is_some_and(|kind| kind.info().has_many_figures);
    if is_of_host && kinds(of_a) == kinds(of_b) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    // Most studies of a subject have the same plan.
    let is_same_plan = of_a.is_same_work(of_b) && a.plan.storage == b.plan.storage;
    if !is_same_plan {
        (before, after) = (settings(of_a), settings(of_b));
        before.extend(storage(a));
        after.extend(storage(b));
    }
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let [before, after] =
            [before.get(name), after.get(name)].map(|value| value.unwrap_or(&Value::Null));
        let key = name.rsplit(['.', ' ']).next().unwrap_or(name);
        // Imported jobs may have files of unknown size.
        let unknown = key == "size" && [before, after].iter().any(|size| size.as_u64() == Some(0));
        if before != after && !unknown {
            let values = [before, after];
            let words = values
                .map(|value| words(key, value, values.iter().any(|value| value.is_boolean())));
            found.push(change(&named(name, key), words));
        }
    }
    let facts = |study: &'_ Study, cell: Cell| {
        study.subjects.get(usize::from(cell.subject)).and_then(|facts| facts.storage().cloned())
    };
    if let (Some(before), Some(after)) = (facts(a, in_a), facts(b, in_b)) {
        found.extend(stability([&before, &after], [of_a, of_b]));
        found.extend(cache([&before, &after]));
        found.extend(file([&before, &after]));
    }
    found
}

/// The kinds of the jobs of a workload.
fn kinds(workload: &Workload) -> Vec<&'static str> {
    workload.parts.iter().map(|part| part.job.kind()).collect()
}

/// Why figures of two cells are not points of one trend: other work, another protocol, or another client. Empty
/// where they are.
pub fn apart(a: &Study, in_a: Cell, b: &Study, in_b: Cell) -> Vec<Change> {
    let mut found = differences(a, in_a, b, in_b);
    found.extend(conditions(a, in_a, b, in_b));
    found
}

/// What else must be the same for a trend, which is of one thing: the protocol and the clients.
pub(crate) fn conditions(a: &Study, in_a: Cell, b: &Study, in_b: Cell) -> Vec<Change> {
    let protocol = |study: &Study, cell: Cell| {
        let facts = study.subjects.get(usize::from(cell.subject));
        facts
            .and_then(|facts| facts.storage())
            .map_or(String::new(), |facts| facts.protocol.to_string())
    };
    let mut found = Vec::new();
    let protocols = [protocol(a, in_a), protocol(b, in_b)];
    if protocols[0] != protocols[1] && protocols.iter().all(|protocol| !protocol.is_empty()) {
        found.push(change("protocol", protocols));
    }
    let clients = [clients(a), clients(b)];
    if clients[0] != clients[1] {
        found.push(change("client", clients));
    }
    found
}

fn change(what: &str, [before, after]: [String; 2]) -> Change {
    Change { what: what.to_owned(), before, after }
}

/// Every setting of a workload, as plans have them. Of clients that do the same the settings of one, and how many
/// they are.
fn settings(workload: &Workload) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let parts = match workload.together() {
        Some(clients) => {
            all.insert("clients".to_owned(), clients.into());
            &workload.parts[..1]
        }
        None => &workload.parts[..],
    };
    for (number, part) in parts.iter().enumerate() {
        // Which host a client is stands in the conditions.
        let part = Part { client: 0, ..part.clone() };
        let under = if number == 0 { String::new() } else { format!("part {} ", number + 1) };
        flat(&under, serde_json::to_value(&part).unwrap_or_default(), &mut all);
        if !part.techniques.is_empty() {
            let techniques: Vec<String> = part.techniques.iter().map(ToString::to_string).collect();
            all.insert(format!("{under}techniques"), techniques.join(", ").into());
        }
    }
    flat("steps.", serde_json::to_value(&workload.steps).unwrap_or_default(), &mut all);
    // Where nothing is written, no write is stable.
    if parts.iter().all(|part| part.job.stability().is_none()) {
        all.retain(|name, _| name != "stability");
    }
    all
}

/// The settings of how storage is driven that are part of the work.
fn storage(study: &Study) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    flat("", serde_json::to_value(&study.plan.storage).unwrap_or_default(), &mut all);
    all.retain(|name, _| !NO_WORK.contains(&name.as_str()));
    all
}

/// The members of an object, and of objects in it, by their names.
fn flat(under: &str, value: Value, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let name = format!("{under}{name}");
                match value {
                    Value::Object(_) => flat(&format!("{name}."), value, all),
                    Value::Null => {}
                    value => {
                        all.insert(name, value);
                    }
                }
            }
        }
        Value::Null => {}
        value => {
            all.insert(under.trim_end_matches('.').to_owned(), value);
        }
    }
}

/// "working set", "part 2 depth".
fn named(name: &str, key: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == key).map(|(_, words)| (*words).to_owned());
    let words = known.unwrap_or_else(|| key.replace('_', " "));
    let under = &name[..name.len() - key.len()];
    (under.replace('.', " ") + &words).trim().to_owned()
}

fn words(key: &str, value: &Value, switch: bool) -> String {
    match value {
        Value::Null if switch => OFF.to_owned(),
        Value::Null => NONE.to_owned(),
        Value::Bool(on) => if *on { "on" } else { OFF }.to_owned(),
        Value::Number(number) => match number.as_u64() {
            Some(bytes) if BYTES.contains(&key) => Bytes(bytes).to_string(),
            _ => number.to_string(),
        },
        Value::String(text) => match (key, text.as_str()) {
            ("stability", "unstable") => "flushed at the end".to_owned(),
            ("stability", "data_sync") => "data of every write stable".to_owned(),
            ("stability", "file_sync") => "every write stable".to_owned(),
            ("data", text) => text.to_owned(),
            (_, text) => text.replace('_', " "),
        },
        value => value.to_string(),
    }
}

/// When what is written is stable, where both workloads leave that to the target.
fn stability([a, b]: [&TargetFacts; 2], workloads: [&Workload; 2]) -> Option<Change> {
    let open = |workload: &&Workload| {
        workload.parts.iter().any(|part| part.job.stability() == Some(Stability::Unstable))
    };
    let differs = a.commits_each_write != b.commits_each_write
        || (a.given == b.given && a.stability != b.stability);
    if !differs || !workloads.iter().all(open) {
        return None;
    }
    let words = [a, b].map(|facts| match facts.commits_each_write {
        true => format!("{}, each write committed", facts.stability),
        false => facts.stability.clone(),
    });
    Some(change("stability of writes", words))
}

/// Whether the page cache takes part, and in the same way.
fn cache([a, b]: [&TargetFacts; 2]) -> Option<Change> {
    let cached = |facts: &TargetFacts| facts.client_cache.contains("page cache");
    let known = [a, b].iter().all(|facts| !facts.client_cache.is_empty());
    (known && a.client_cache != b.client_cache && (cached(a) || cached(b)))
        .then(|| change("client's cache", [a, b].map(|facts| facts.client_cache.clone())))
}

/// The user's own file that is read, where that is another one.
fn file([a, b]: [&TargetFacts; 2]) -> Option<Change> {
    let words = |facts: &TargetFacts| {
        facts.in_place.as_ref().map_or(NONE.to_owned(), |at| format!("{} ({})", at.file, at.size))
    };
    (a.in_place != b.in_place).then(|| change("file that is read", [words(a), words(b)]))
}
