//! From files to sections with the keys of the probe (probe/README.md).

use super::files::Fact::{Link, Text, Times, Truth};
use super::files::{Files, facts, list};
use super::network::{netfilter, nfs_server, nics, smb_server};
use serde_json::{Map, Value, json};

/// Every section that the files tell of.
pub(super) fn sections(files: &Files) -> Vec<Value> {
    let named = |name: &str, mut fields: Map<String, Value>| {
        fields.insert("section".to_owned(), Value::from(name));
        Value::Object(fields)
    };
    vec![
        named("model", model(files)),
        named("kernel", kernel(files)),
        distribution(files),
        cpu(files),
        named("memory", memory(files)),
        json!({"section": "flash", "mtd": list(files, "/sys/class/mtd", |n| !n.ends_with("ro"), &[
            ("label", Text("name")),
            ("type", Text("type")),
            ("size_bytes", Times("size", 1)),
            ("erase_size_bytes", Times("erasesize", 1)),
        ])}),
        json!({"section": "buses", "usb": usb(files)}),
        json!({"section": "wireless",
            "radios": list(files, "/sys/class/ieee80211", |_| true, &[("driver", Link("device/driver"))])}),
        named("nics", nics(files)),
        json!({"section": "disks", "disks": disks(files)}),
        named("netfilter", netfilter(files)),
        named("nfs_server", nfs_server(files)),
        smb_server(files),
    ]
}

fn model(files: &Files) -> Map<String, Value> {
    let mut model = facts(
        files,
        "/sys/class/dmi/id",
        &[
            ("vendor", Text("sys_vendor")),
            ("product", Text("product_name")),
            ("board", Text("board_name")),
            ("firmware_version", Text("bios_version")),
            ("firmware_date", Text("bios_date")),
        ],
    );
    model.extend(facts(
        files,
        "/tmp/sysinfo",
        &[("openwrt_model", Text("model")), ("openwrt_board", Text("board_name"))],
    ));
    model.extend(facts(
        files,
        "/sys/devices/soc0",
        &[
            ("soc_family", Text("family")),
            ("soc", Text("soc_id")),
            ("soc_machine", Text("machine")),
        ],
    ));
    model.extend(facts(files, "/proc/device-tree", &[("device_tree_model", Text("model"))]));
    let compatible: Vec<&str> = files.lines("compatible").collect();
    model.insert("device_tree_compatible".to_owned(), json!(compatible));
    model
}

fn kernel(files: &Files) -> Map<String, Value> {
    let mut kernel = facts(
        files,
        "/proc/sys/kernel",
        &[
            ("name", Text("ostype")),
            ("release", Text("osrelease")),
            ("version", Text("version")),
            ("host_name", Text("hostname")),
        ],
    );
    kernel.extend(facts(
        files,
        "/sys/devices/system/clocksource/clocksource0",
        &[("clock_source", Text("current_clocksource"))],
    ));
    let mut add = |key: &str, value: Option<Value>| {
        kernel.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("machine", files.text("uname -m").map(Value::from));
    let uptime = files.text("/proc/uptime").and_then(|text| text.split('.').next()?.parse().ok());
    add("uptime_seconds", uptime.map(|seconds: u64| Value::from(seconds)));
    kernel
}

/// Lines `KEY=value` and `KEY="value"`, as shells read them.
fn assignments(files: &Files, file: &str) -> Option<Value> {
    files.text(file)?;
    let values = files.lines(file).filter_map(|line| line.split_once('=')).map(|(key, value)| {
        let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = inside('"').or(inside('\'')).unwrap_or(value);
        json!({"key": key, "value": value})
    });
    Some(json!({"file": file, "values": values.collect::<Vec<_>>()}))
}

fn distribution(files: &Files) -> Value {
    let releases =
        ["/etc/os-release", "/usr/lib/os-release", "/etc/openwrt_release", "/etc.defaults/VERSION"];
    let releases = releases.into_iter().filter_map(|file| assignments(files, file));
    json!({
        "section": "distribution",
        "releases": releases.collect::<Vec<_>>(),
        "version": files.text("/etc/version"),
        "debian_version": files.text("/etc/debian_version"),
        "alpine-release": files.text("/etc/alpine-release"),
        "init": files.text("/proc/1/comm"),
    })
}

const CPU: &str = "/sys/devices/system/cpu";

/// The first core stands for all; behind the cores, ARM tells the board.
fn cpu(files: &Files) -> Value {
    let mut cores = 0_u64;
    let mut lines = Vec::new();
    for (key, value) in files.lines("/proc/cpuinfo").filter_map(|line| line.split_once(':')) {
        let (key, value) = (key.trim(), value.trim());
        if key == "processor" && value.starts_with(|c: char| c.is_ascii_digit()) {
            cores += 1;
        } else if cores < 2 || ["Hardware", "Revision", "Model"].contains(&key) {
            lines.push(json!({"key": key, "value": value}));
        }
    }
    let caches = list(
        files,
        &format!("{CPU}/cpu0/cache"),
        |n| n.starts_with("index"),
        &[
            ("level_number", Times("level", 1)),
            ("type", Text("type")),
            ("size", Text("size")),
            ("line_bytes", Times("coherency_line_size", 1)),
            ("ways_count", Times("ways_of_associativity", 1)),
            ("shared_by_cores", Text("shared_cpu_list")),
        ],
    );
    json!({
        "section": "cpu",
        "cores_online": files.text(&format!("{CPU}/online")),
        "cores_present": files.text(&format!("{CPU}/present")),
        "cores_usable_count": Some(cores).filter(|n| *n > 0),
        "simultaneous_multithreading": files.text(&format!("{CPU}/smt/control")),
        "caches": caches.into_iter().map(with_size).collect::<Vec<_>>(),
        "clocks": list(files, &format!("{CPU}/cpufreq"), |n| n.starts_with("policy"), &[
            ("cores", Text("related_cpus")),
            ("driver", Text("scaling_driver")),
            ("governor", Text("scaling_governor")),
            ("least_clock_hertz", Times("cpuinfo_min_freq", 1000)),
            ("most_clock_hertz", Times("cpuinfo_max_freq", 1000)),
            ("clock_hertz", Times("scaling_cur_freq", 1000)),
        ]),
        "cpuinfo": lines,
    })
}

/// The kernel writes sizes of caches as `32K`.
fn with_size(mut cache: Value) -> Value {
    let size = cache.get("size").and_then(Value::as_str).and_then(|size| {
        let digits = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
        let unit = match &size[digits..] {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => return None,
        };
        size[..digits].parse::<u64>().ok()?.checked_mul(unit)
    });
    cache["size_bytes"] = json!(size);
    cache
}

fn memory(files: &Files) -> Map<String, Value> {
    let lines = files.lines("/proc/meminfo").filter_map(|line| line.split_once(':'));
    let known = lines.filter_map(|(name, amount)| {
        let key = match name {
            "MemTotal" => "total_bytes",
            "MemAvailable" => "available_bytes",
            "SwapTotal" => "swap_total_bytes",
            _ => return None,
        };
        let bytes = amount.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)?;
        Some((key.to_owned(), Value::from(bytes)))
    });
    known.collect()
}

fn usb(files: &Files) -> Vec<Value> {
    let mut devices = list(
        files,
        "/sys/bus/usb/devices",
        |_| true,
        &[
            ("speed", Text("speed")),
            ("usb_version", Text("version")),
            ("vendor", Text("idVendor")),
            ("device", Text("idProduct")),
            ("manufacturer", Text("manufacturer")),
            ("product", Text("product")),
        ],
    );
    for device in &mut devices {
        let rate = device.get("speed").and_then(Value::as_str).and_then(megabits);
        device["rate_bits_per_second"] = json!(rate);
    }
    devices
}

/// Megabits a second, perhaps with a decimal point: 1.5.
fn megabits(text: &str) -> Option<u64> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.0..1e6).contains(rate))?;
    Some((rate * 1e6).round() as u64)
}

fn disks(files: &Files) -> Vec<Value> {
    let used = |name: &str| {
        files.number(&format!("/sys/block/{name}/size")).is_some_and(|sectors| sectors > 0)
    };
    list(
        files,
        "/sys/block",
        used,
        &[
            ("size_bytes", Times("size", 512)),
            ("model", Text("device/model")),
            ("vendor", Text("device/vendor")),
            ("mmc_type", Text("device/type")),
            ("rotational", Truth("queue/rotational")),
            ("removable", Truth("removable")),
            ("read_only", Truth("ro")),
            ("scheduler", Text("queue/scheduler")),
            ("write_cache", Text("queue/write_cache")),
            ("requests_count", Times("queue/nr_requests", 1)),
            ("read_ahead_bytes", Times("queue/read_ahead_kb", 1024)),
            ("logical_block_bytes", Times("queue/logical_block_size", 1)),
            ("physical_block_bytes", Times("queue/physical_block_size", 1)),
            ("queue_depth_count", Times("device/queue_depth", 1)),
            ("raid_level", Text("md/level")),
            ("raid_state", Text("md/array_state")),
            ("raid_sync_action", Text("md/sync_action")),
            ("mapped_name", Text("dm/name")),
            ("mapped_kind", Text("dm/uuid")),
            ("usb_rate_bits_per_second", Times("usb_speed", 1_000_000)),
        ],
    )
}
