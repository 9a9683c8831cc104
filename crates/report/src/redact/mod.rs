//! Taking out of a study what says where it was measured and by whom: addresses, host names, users,
//! shares, paths and serial numbers, each replaced by the same made-up name wherever it stands
//! (`host-1`, `path-2`), so that what belongs together still does.
//!
//! It goes over the study as the export writes it, field by field, so that a field that is added to
//! the model later is redacted without anybody thinking of it. What the targets name is looked for
//! in every text; whatever else looks like an address, a path, a name or a serial number is taken out
//! too. Rather too much than too little: read what you publish.

mod device;
mod pseudonyms;
mod text;

use plimsoll_model::{Cause, Failure, HostName, Study};
use pseudonyms::{Kind, Pseudonyms};
use serde_json::Value;

/// The study without names, addresses, users, paths and serial numbers. `also` are further words
/// that nobody should read, such as the name of this machine and of its user.
pub fn redact(study: &Study, also: &[String]) -> Result<Study, Failure> {
    let refused = |e: serde_json::Error| {
        let next = "Show it without --redact, and do not publish it.";
        Failure::new(Cause::Trial, "redact the study").on(&study.id).happened(e).next(next)
    };
    // By way of text, as the store does: what writes and reads a study as text is compiled already.
    let text = serde_json::to_string(study).map_err(refused)?;
    let mut value: Value = serde_json::from_str(&text).map_err(refused)?;
    let mut pseudonyms = Pseudonyms::default();
    for subject in value["plan"]["subjects"].as_array().into_iter().flatten() {
        for (key, kind) in NAMES {
            pseudonyms.learn(kind, subject["target"][key].as_str().unwrap_or_default());
        }
    }
    for subject in value["plan"]["subjects"].as_array_mut().into_iter().flatten() {
        for end in ["from", "to"] {
            // No made-up name is an address.
            let Some(address) = subject.get_mut(end).and_then(|end| end.get_mut("address")) else {
                continue;
            };
            pseudonyms.learn(Kind::Host, address.as_str().unwrap_or_default());
            *address = Value::Null;
        }
    }
    for part in value["plan"]["workloads"].as_array().into_iter().flatten() {
        for part in part["parts"].as_array().into_iter().flatten() {
            for named in [&part["data"], &part["film"]["file"]] {
                pseudonyms.learn(Kind::Path, named.as_str().unwrap_or_default());
            }
        }
    }
    for read in study.subjects.iter().filter_map(|s| s.storage()?.in_place.as_ref()) {
        pseudonyms.learn(Kind::Path, &read.file);
    }
    for host in hosts(study) {
        learn_host(host, &mut pseudonyms);
    }
    for facts in value["subjects"].as_array().into_iter().flatten() {
        device::learn(&facts["device"], &mut pseudonyms);
    }
    also.iter().for_each(|word| pseudonyms.learn(Kind::Name, word));
    relabel(&mut value);
    walk(&mut value, "", &mut pseudonyms);
    Study::from_json(&value.to_string()).map_err(refused)
}

/// Every host that the study names.
fn hosts(study: &Study) -> Vec<&HostName> {
    let plan = &study.plan;
    let mut hosts: Vec<&HostName> = plan.watched.iter().map(|one| &one.host).collect();
    hosts.extend(plan.factors.iter().map(|factor| &factor.host));
    hosts.extend(plan.reboot.iter().map(|reboot| &reboot.host));
    hosts.extend(plan.subjects.iter().flat_map(|subject| subject.hosts()));
    hosts.extend(study.hosts.iter().map(|host| &host.name));
    hosts
}

/// Learns the name of a host, and what it is made of.
fn learn_host(host: &HostName, pseudonyms: &mut Pseudonyms) {
    let made = redacted_host(host.clone(), pseudonyms);
    if made != *host {
        pseudonyms.learn_as(&host.to_string(), made.to_string());
    }
}

/// The host by made-up names of its user and its machine, which are learnt.
fn redacted_host(host: HostName, pseudonyms: &mut Pseudonyms) -> HostName {
    let mut made_up = |kind, name: &str| {
        pseudonyms.learn(kind, name);
        pseudonyms.replace_all(kind, name)
    };
    match host {
        // Where plimsoll ran and the hosts of test beds are called so on every machine.
        HostName::Local | HostName::Lab { .. } => host,
        HostName::Ssh { user, host, port } => {
            let user = user.map(|user| made_up(Kind::User, &user));
            HostName::Ssh { user, host: made_up(Kind::Host, &host), port }
        }
        HostName::Iperf3 { host, port } => {
            HostName::Iperf3 { host: made_up(Kind::Host, &host), port }
        }
    }
}

/// What targets name, by field.
const NAMES: [(&str, Kind); 5] = [
    ("host", Kind::Host),
    ("path", Kind::Path),
    ("share", Kind::Share),
    ("user", Kind::User),
    ("domain", Kind::Domain),
];

/// Fields whose texts are words of the schema, figures or versions and never a user's.
const OWN: [&str; 37] = [
    "kind",
    "subject",
    "job",
    "transfer",
    "arrival",
    "length",
    "steps",
    "over",
    "rule",
    "level",
    "switch",
    "metric",
    "measure",
    "unit",
    "per",
    "direction",
    "flag",
    "cause",
    "pattern",
    "layout",
    "source_port",
    "transport",
    "reads_from",
    "dialect",
    "sign",
    "encrypt",
    "schema",
    "id",
    "version",
    "cpu_model",
    "cpu_accounting",
    "watched_by",
    "role",
    "file_system",
    "flow",
    "call",
    "congestion",
];

/// Words of the schema in fields that hold a user's words elsewhere.
const OWN_WORDS: [&str; 6] =
    ["unstable", "data_sync", "file_sync", "io_uring", "psync", "late_generator"];

/// Names of subjects come from hosts and paths. They are replaced by what the subject is.
fn relabel(study: &mut Value) {
    if let Some(plan) = study["plan"].as_object_mut() {
        plan.remove("labels");
        // Names that the user chose for all studies, also as words of conditions.
        plan.remove("names");
        plan.remove("gate");
        // Lines of shell may name anything.
        let has_commands = plan.remove("commands").is_some();
        if let Some(command) = plan.get_mut("command").filter(|_| has_commands) {
            let text = command.as_str().unwrap_or_default();
            // The option may be inside quotes.
            if let Some((before, _)) = text.split_once("--command") {
                *command = Value::String(format!("{} …", before.trim_end_matches([' ', '\''])));
            }
        }
        if let Some(reboot) = plan.get_mut("reboot").and_then(Value::as_object_mut) {
            reboot.remove("command");
        }
    }
    let kind = |subject: &Value| {
        let kind = subject["target"]["kind"].as_str().or(subject["subject"].as_str());
        kind.unwrap_or("target").to_owned()
    };
    let planned = study["plan"]["subjects"].as_array().into_iter().flatten();
    let kinds: Vec<String> = planned.map(kind).collect();
    let facts = study["subjects"].as_array_mut().into_iter().flatten();
    for (i, facts) in facts.enumerate() {
        facts.as_object_mut().map(|facts| facts.remove("identity"));
        if facts["label"].as_str().is_some_and(|label| !label.is_empty()) {
            let kind = kinds.get(i).map_or("target", String::as_str);
            facts["label"] = Value::String(format!("{kind}-{}", i + 1));
        }
    }
}

fn walk(value: &mut Value, key: &str, pseudonyms: &mut Pseudonyms) {
    match value {
        Value::String(text) if !OWN.contains(&key) && !OWN_WORDS.contains(&text.as_str()) => {
            *text = match key {
                "label" => std::mem::take(text),
                "kernel" => pseudonyms.replace(text),
                "path" | "file" | "directory" | "directories" | "data" => pseudonyms.path(text),
                "name" | "setting" if text.starts_with("sysctl:") => std::mem::take(text),
                // Hosts of labs keep their names.
                "name" if text == "local" || text.starts_with("lab://") => std::mem::take(text),
                "host" => match text.parse() {
                    Ok(host) => redacted_host(host, pseudonyms).to_string(),
                    // The server of a target, by its bare name.
                    Err(_) => pseudonyms.replace_all(Kind::Host, text),
                },
                "user" => pseudonyms.replace_all(Kind::User, text),
                "domain" => pseudonyms.replace_all(Kind::Domain, text),
                "share" => pseudonyms.replace_all(Kind::Share, text),
                _ => text::redacted(text, pseudonyms),
            };
        }
        Value::Number(_) if matches!(key, "uid" | "gid" | "owner") => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, key, pseudonyms)),
        // Of hosts hardware and software are named, as in records of devices.
        Value::Object(_) if key == "device" => device::walk_device(value, "", pseudonyms),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, field)| walk(field, key, pseudonyms));
        }
        _ => {}
    }
}
