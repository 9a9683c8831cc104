//! The same for what is known of a host that was measured by itself.

use super::pseudonyms::{Kind, Pseudonyms};
use super::walk;
use serde_json::Value;
use std::net::IpAddr;

/// Fields that say what a thing is and never whose: hardware and software have names full of
/// capitals and digits, as serial numbers have.
const HARDWARE: [&str; 27] = [
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
    "interrupts",
    "queues",
    "queue_disciplines",
];

/// Shares of smb.conf that every server has.
const COMMON_SHARES: [&str; 4] = ["global", "homes", "printers", "print$"];

/// Learns what the facts of a host name.
pub(super) fn learn(device: &Value, pseudonyms: &mut Pseudonyms) {
    let inventory = &device["inventory"];
    pseudonyms.learn(Kind::Host, inventory["kernel"]["host_name"].as_str().unwrap_or_default());
    for nic in inventory["network"]["nics"].as_array().into_iter().flatten() {
        for address in nic["addresses"].as_array().into_iter().flatten() {
            let address = address.as_str().unwrap_or_default();
            let address = address.split('/').next().unwrap_or_default();
            // Every host has the loopback's.
            if address.parse::<IpAddr>().is_ok_and(|address| !address.is_loopback()) {
                pseudonyms.learn(Kind::Address, address);
            }
        }
    }
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

/// Redacts what is known of a host by itself.
pub(super) fn walk_device(value: &mut Value, key: &str, pseudonyms: &mut Pseudonyms) {
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
