//! The same for the record of a device.

use super::pseudonyms::{Kind, Pseudonyms};
use super::{walk, words};
use plimsoll_model::{Cause, Device, Failure};
use serde_json::Value;

/// Fields that say what a thing is and never whose: hardware and software have names full of
/// capitals and digits, as serial numbers have.
const HARDWARE: [&str; 24] = [
    "model",
    "vendor",
    "board",
    "soc",
    "compatible",
    "firmware_version",
    "firmware_date",
    "release",
    "machine",
    "init",
    "probe_version",
    "driver",
    "drivers",
    "driver_version",
    "usb_drivers",
    "manufacturer",
    "product",
    "modules",
    "offloads",
    "compiler",
    "flags",
    "scheduler",
    "algorithm",
    "by",
];

/// Shares of smb.conf that every server has.
const COMMON_SHARES: [&str; 4] = ["global", "homes", "printers", "print$"];

/// The record without names, addresses, users, shares, paths and serial numbers. `also` are further
/// words that nobody should read, such as the name of this machine and of its user.
pub fn redact_device(device: &Device, also: &[String]) -> Result<Device, Failure> {
    let trouble = |e: serde_json::Error| {
        let next = "Show it without --redact, and do not publish it.";
        Failure::new(Cause::Trial, "redact the device", &device.id, e, next)
    };
    let mut value = serde_json::to_value(device).map_err(trouble)?;
    let mut pseudonyms = Pseudonyms::default();
    learn(&value, &mut pseudonyms);
    also.iter().for_each(|word| pseudonyms.learn(Kind::Name, word));
    walk_record(&mut value, &mut pseudonyms);
    serde_json::from_value(value).map_err(trouble)
}

/// Learns what the record of a device names.
pub(super) fn learn(device: &Value, pseudonyms: &mut Pseudonyms) {
    let inventory = &device["inventory"];
    pseudonyms.learn(Kind::Host, inventory["kernel"]["host_name"].as_str().unwrap_or_default());
    for path in inventory["paths"].as_array().into_iter().flatten() {
        for key in ["path", "real_path", "mount_point"] {
            pseudonyms.learn(Kind::Path, path[key].as_str().unwrap_or_default());
        }
    }
    let configurations = inventory["smb_server"]["configurations"].as_object();
    for lines in configurations.into_iter().flat_map(|files| files.values()) {
        let lines = lines.as_array().into_iter().flatten().filter_map(Value::as_str);
        let shares = lines.filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
        for share in shares.filter(|share| !COMMON_SHARES.contains(share)) {
            pseudonyms.learn(Kind::Share, share);
        }
    }
}

/// Redacts the record of a device. A host's name stays one that can be read again.
pub(super) fn walk_record(value: &mut Value, pseudonyms: &mut Pseudonyms) {
    let name = value["host"].as_str().unwrap_or_default().to_owned();
    let host = words::redacted(&name, pseudonyms);
    if let Some((_, name)) = name.rsplit_once('@') {
        pseudonyms.learn(Kind::Host, name.split(':').next().unwrap_or_default());
    }
    value["host"] = Value::Null;
    walk_device(value, "", pseudonyms);
    value["host"] = Value::String(host);
}

fn walk_device(value: &mut Value, key: &str, pseudonyms: &mut Pseudonyms) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| walk_device(item, key, pseudonyms));
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut().filter(|(k, _)| !HARDWARE.contains(&k.as_str())) {
                walk_device(field, key, pseudonyms);
            }
        }
        leaf => walk(leaf, key, pseudonyms),
    }
}
