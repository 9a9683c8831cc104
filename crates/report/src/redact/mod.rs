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
mod words;

pub use device::redact_device;

use plimsoll_model::{Cause, Failure, HostName, Study};
use pseudonyms::{Kind, Pseudonyms};
use serde_json::Value;

/// The study without names, addresses, users, paths and serial numbers. `also` are further words
/// that nobody should read, such as the name of this machine and of its user.
pub fn redact(study: &Study, also: &[String]) -> Result<Study, Failure> {
    let trouble = |e: serde_json::Error| {
        let next = "Show it without --redact, and do not publish it.";
        Failure::new(Cause::Trial, "redact the study", &study.id, e, next)
    };
    let mut value = serde_json::to_value(study).map_err(trouble)?;
    let mut pseudonyms = Pseudonyms::default();
    for target in value["plan"]["targets"].as_array().into_iter().flatten() {
        for (key, kind) in NAMES {
            pseudonyms.learn(kind, target[key].as_str().unwrap_or_default());
        }
    }
    for read in study.targets.iter().filter_map(|target| target.in_place.as_ref()) {
        pseudonyms.learn(Kind::Path, &read.file);
    }
    let servers = study.plan.hosts.iter().map(|server| server.host.to_string());
    let client = study.plan.on.iter().map(ToString::to_string);
    let watched = study.hosts.iter().map(|host| host.name.clone());
    for name in servers.chain(client).chain(watched) {
        learn_host(&name, &mut pseudonyms);
    }
    also.iter().for_each(|word| pseudonyms.learn(Kind::Name, word));
    relabel(&mut value);
    walk(&mut value, "", &mut pseudonyms);
    serde_json::from_value(value).map_err(trouble)
}

/// Learns the name of a host, and what it is made of.
fn learn_host(name: &str, pseudonyms: &mut Pseudonyms) {
    match name.parse() {
        // Where plimsoll ran and the hosts of test beds are called so on every machine.
        Ok(HostName::Local | HostName::Lab { .. }) => {}
        Ok(HostName::Ssh { user, host, port }) => {
            let user = user.map(|user| {
                pseudonyms.learn(Kind::User, &user);
                pseudonyms.replace_all(Kind::User, &user)
            });
            pseudonyms.learn(Kind::Host, &host);
            let host = pseudonyms.replace_all(Kind::Host, &host);
            pseudonyms.learn_as(name, HostName::Ssh { user, host, port }.to_string());
        }
        Err(_) => pseudonyms.learn(Kind::Host, name),
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
const OWN: [&str; 17] = [
    "kind",
    "flag",
    "cause",
    "pattern",
    "layout",
    "source_port",
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
    "file_system",
];

/// Words of the schema in fields that hold a user's words elsewhere.
const OWN_WORDS: [&str; 4] = ["unstable", "file_sync", "io_uring", "psync"];

/// Names of targets come from hosts and paths. They are replaced by what the target is.
fn relabel(study: &mut Value) {
    let kinds: Vec<String> = study["plan"]["targets"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|target| target["kind"].as_str().unwrap_or("target").to_owned())
        .collect();
    let facts = study["targets"].as_array_mut().into_iter().flatten();
    for (i, facts) in facts.enumerate() {
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
                "path" | "file" | "directory" | "directories" => pseudonyms.path(text),
                "host" | "name" if text == "local" => std::mem::take(text),
                "host" => pseudonyms.replace_all(Kind::Host, text),
                "user" => pseudonyms.replace_all(Kind::User, text),
                "domain" => pseudonyms.replace_all(Kind::Domain, text),
                "share" => pseudonyms.replace_all(Kind::Share, text),
                _ => words::redacted(text, pseudonyms),
            };
        }
        Value::Number(_) if key == "uid" || key == "gid" => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, key, pseudonyms)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, field)| walk(field, key, pseudonyms));
        }
        _ => {}
    }
}
