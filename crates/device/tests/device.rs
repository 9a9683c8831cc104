//! Devices measured from canned sections and a scripted shell: records are exact, and what goes
//! wrong in one part leaves the others alone.

mod device_support;

use device_support::shells::ByShell;
use device_support::{Canned, Runner, Script, host, lost, measured};
use plimsoll_model::device::{Algorithm, CryptoMeans, Part, ReadBy};
use plimsoll_model::{Cause, Device, Failure, Flag, Metric, Outcome, PointResult, SubjectRunner};
use plimsoll_testkit::Need;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const ROUTER: &str = include_str!("device/router.jsonl");
const NAS: &str = include_str!("device/nas.jsonl");
const VM: &str = include_str!("device/vm.jsonl");
const COREMARK: &str = include_str!("device/coremark.txt");
const SHELL: &str = include_str!("device/shell.txt");

const LOG: &str = "[    0.000000] Clocks: CPU:560.000MHz, DDR:450.000MHz, AHB:225.000MHz, \
                   Ref:40.000MHz\n";

/// Compares with the device of a golden study, which other crates show too.
#[track_caller]
fn assert_golden(device: &Device, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/golden").join(name);
    let study: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let golden: Device = serde_json::from_value(study["subjects"][0]["device"].clone()).unwrap();
    assert_eq!(*device, golden);
}

fn router() -> Script {
    Script::default()
        .with("for t in coremark;", "coremark=/usr/bin/coremark\n")
        .with("/usr/bin/coremark", &format!("plimsoll-pid 4711\n{COREMARK}"))
        .with("dmesg", LOG)
}

fn no_probe() -> Failure {
    let next = "`make probes` builds them all.";
    let happened = "there is no probe for mips here; there are none at all";
    Failure::new(Cause::Usage, "find the probe's program for the host")
        .on("mips")
        .happened(happened)
        .next(next)
}

#[test]
fn a_router_is_measured_by_the_probe_and_its_own_coremark() {
    let probe = Canned::new(ROUTER);
    let (device, points) = measured(router(), Ok(&probe), Some("/mnt/sda1/films"));
    assert_golden(&device, "device-router.json");
    assert!(device.is_complete(), "{:?}", device.parts);
    assert_eq!(points.len(), 4);
    assert!(points.iter().all(|point| point.outcome == Outcome::Complete), "{points:?}");
    // Each part has its figures, by the names that records have.
    let figures = device.measured();
    let value = |point: &PointResult, figure: &plimsoll_model::device::Measured| {
        point.value(0, Metric::all(figure.info().unwrap().measure)) == Some(figure.value)
    };
    assert!(figures.iter().all(|figure| points.iter().any(|point| value(point, figure))));
    let all = points.iter().map(|point| point.parts[0].quantities.len()).sum::<usize>();
    assert_eq!(all, figures.len());
    let mark = &device.cpu.as_ref().unwrap().coremark[0];
    assert_eq!((mark.iterations_per_second, mark.cores()), (1345.714843, 1));
    assert_eq!(device.inventory.as_ref().unwrap().clock(), Some((560_000_000, "the kernel's log")));
}

#[test]
fn a_nas_is_measured_by_the_programs_it_has() {
    let openssl = |name: &str, rate: u64| {
        let times = "plimsoll-uptimes 10.00 11.00\n0m0.00s 0m0.00s\n0m0.96s 0m0.02s\n";
        format!("+H:16384\n+F:25:{name}:{rate}.00\n{times}")
    };
    let table = |bits: u64, rate: &str| format!("    aes-xts {bits}b {rate} MiB/s 300.0 MiB/s\n");
    let shell = Script::default()
        .with(
            "for t in cryptsetup openssl",
            "cryptsetup=/usr/bin/cryptsetup\nopenssl=/bin/openssl\n",
        )
        .with("-s 256", &table(256, "310.5"))
        .with("-s 512", &table(512, "270.0"))
        .with("openssl'\\'' version", "OpenSSL 1.1.1w  11 Sep 2023\n")
        .with("-evp aes-128-gcm", &openssl("aes-128-gcm", 402_000_000))
        .with("-evp aes-256-gcm", &openssl("aes-256-gcm", 340_000_000))
        .failing("-evp chacha20-poly1305", "speed: chacha20-poly1305 is an unknown cipher")
        .with("-evp sha256", &openssl("sha256", 450_000_000));
    let probe = Canned::new(NAS);
    let (device, _) = measured(shell, Ok(&probe), None);
    assert_golden(&device, "device-nas.json");
    assert!(device.is_complete(), "{:?}", device.parts);
    let crypto = device.crypto.as_ref().unwrap();
    let by = |a: Algorithm| {
        let figure = crypto.algorithms.iter().find(|figure| figure.algorithm == a).unwrap();
        (figure.means.clone(), figure.bytes_per_second)
    };
    assert_eq!(by(Algorithm::Aes128Xts), (CryptoMeans::Cryptsetup, 325_582_848));
    let openssl = CryptoMeans::Openssl { version: "1.1.1w".to_owned() };
    assert_eq!(by(Algorithm::Aes128Gcm), (openssl, 402_000_000));
    assert_eq!(by(Algorithm::Chacha20Poly1305), (CryptoMeans::Portable, 79_000_000));
    // Three runs of a second each, 98% of it on a core.
    let gcm = &crypto.algorithms[0];
    assert_eq!((gcm.elapsed_ns, gcm.cpu_ns), (Some(3_000_000_000), Some(2_940_000_000)));
    assert_eq!(gcm.slowest_bytes_per_second, Some(402_000_000));
    let inventory = device.inventory.unwrap();
    assert_eq!(inventory.cpu.unwrap().model.as_deref(), Some("ARM Cortex-A53"));
    assert_eq!(inventory.distribution.unwrap().name.as_deref(), Some("Synology DSM 7.2.2-72806"));
}

/// What the probe prints on a machine of today.
#[test]
fn a_virtual_machine_is_read_as_the_probe_prints_it() {
    let probe = Canned::new(VM);
    let (device, _) = measured(Script::default(), Ok(&probe), Some("/srv/disk"));
    assert_golden(&device, "device-vm.json");
    assert!(device.is_complete(), "{:?}", device.parts);
    assert_eq!(device.odd, Vec::<String>::new());
}

#[test]
fn without_a_probe_the_shell_tells_what_it_can_and_the_rest_is_reported_missing() {
    let shell = router()
        .with("@@plimsoll %s", SHELL)
        .with(
            "mountinfo",
            "@@plimsoll mounts\n22 1 8:1 / /mnt/sda1 rw,noatime - ext4 /dev/sda1 rw\n\n\
             @@plimsoll df 0\nFilesystem 1024-blocks Used Available Capacity Mounted on\n\
             /dev/sda1 1922728752 943718400 881346064 52% /mnt/sda1\n",
        )
        .with("grep -c '^processor'", "1\n");
    let (device, _) = measured(shell, Err(no_probe()), None);
    let inventory = device.inventory.as_ref().unwrap();
    assert_eq!(inventory.read_by, Some(ReadBy::Shell));
    assert_golden(&device, "device-shell.json");
    // CoreMark needs no probe.
    assert_eq!(device.cpu.as_ref().unwrap().coremark.len(), 1);
    assert_eq!((&device.memory, &device.crypto), (&None, &None));
    let complete: Vec<(Part, bool)> = device.parts.iter().map(|p| (p.part, p.complete)).collect();
    assert_eq!(
        complete,
        [(Part::Inventory, true), (Part::Cpu, false), (Part::Memory, false), (Part::Crypto, false)]
    );
    assert!(!device.is_complete());
    assert_eq!(device.parts[2].failures, [no_probe()]);
}

/// What the kernel's own file says, read at once; the shell's words in one line.
fn of_kernel(path: &str) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&text).trim().to_owned())
}

/// The shells of small systems got the first digit of each number of /proc/sys.
#[test]
fn every_shell_reads_the_numbers_of_the_kernels_own_files() {
    let mut shells = vec!["/bin/sh"];
    shells.extend(plimsoll_testkit::available(Need::Busybox).then_some("busybox ash"));
    let there = |shell: &&str| std::path::Path::new(shell).exists();
    shells.extend(["/bin/dash", "/bin/bash"].iter().filter(|shell| there(shell)));
    for shell in shells {
        let by_shell = Arc::new(ByShell::new(shell));
        let mut runner = Runner::new(vec![host("local", by_shell.clone(), Err(no_probe()), None)]);
        runner.runner.attach(0).unwrap();
        let inventory = runner.device(0).inventory.unwrap();
        let network = inventory.network.unwrap();
        // Tabs are spaces in a record.
        let [receive, send] = ["tcp_rmem", "tcp_wmem"].map(|name| {
            let said = of_kernel(&format!("/proc/sys/net/ipv4/{name}")).unwrap();
            let numbers: Vec<&str> = said.split_whitespace().collect();
            assert_eq!(numbers.len(), 3, "{said}");
            Some(numbers.join(" "))
        });
        assert_eq!(network.tcp_receive_memory_bytes, receive, "{shell}");
        assert_eq!(network.tcp_send_memory_bytes, send, "{shell}");
        let most = of_kernel("/proc/sys/net/netfilter/nf_conntrack_max");
        let most = most.map(|most| most.parse::<u64>().unwrap());
        let netfilter = inventory.netfilter.unwrap_or_default();
        assert_eq!(netfilter.most_conntrack_entries_count, most, "{shell}");

        // Every file of /proc/sys that it printed, not those three alone.
        let printed = by_shell.printed.lock().unwrap().clone();
        let mut lines = printed.lines();
        let mut files = 0;
        while let Some(line) = lines.next() {
            let Some(path) = line.strip_prefix("@@plimsoll ") else { continue };
            // How many connections are tracked changes from one look to the next.
            if path.starts_with("/proc/sys/") && !path.ends_with("nf_conntrack_count") {
                assert_eq!(lines.next().map(str::to_owned), of_kernel(path), "{shell}: {path}");
                files += 1;
            }
        }
        assert!(files >= 8, "{shell}: {files} files of /proc/sys in\n{printed}");
    }
}

#[test]
fn a_failed_part_keeps_what_it_has_and_leaves_the_others_alone() {
    let killed =
        Failure::new(Cause::Trial, "measure with the probe (memory)").on("box").happened("killed");
    let probe = Canned { fails: Some(("memory", killed.clone())), ..Canned::new(ROUTER) };
    let (device, points) = measured(router(), Ok(&probe), Some("/mnt/sda1/films"));
    let failed: Vec<&Outcome> = points.iter().map(|point| &point.outcome).collect();
    let phase = "measure".to_owned();
    let of_memory = Outcome::Failed { phase, failure: killed.clone() };
    let complete = &Outcome::Complete;
    assert_eq!(failed, [complete, &of_memory, complete, complete]);
    assert!(!points[1].parts[0].quantities.is_empty(), "what it has is kept");
    assert!(!device.is_complete());
    assert_eq!(device.memory.as_ref().unwrap().streams.len(), 1);
    let failed: Vec<_> = device.parts.iter().filter(|part| !part.complete).collect();
    assert_eq!((failed.len(), failed[0].part), (1, Part::Memory));
    assert_eq!(failed[0].failures, [killed]);
    assert!(device.disk.is_some());
}

#[test]
fn a_lost_connection_ends_the_rest() {
    let probe = Canned { fails: Some(("cpu", lost())), ..Canned::new(ROUTER) };
    let (device, points) = measured(router(), Ok(&probe), Some("/mnt/sda1/films"));
    let cause = |point: &PointResult| match &point.outcome {
        Outcome::Failed { failure, .. } => Some(failure.cause),
        _ => None,
    };
    // No host is left: that ends a study.
    assert!(points.iter().all(|point| cause(point) == Some(Cause::Unreachable)), "{points:?}");
    assert_eq!(device.parts.len(), 5);
    let reached: Vec<bool> = device.parts.iter().map(|part| part.complete).collect();
    assert_eq!(reached, [true, false, false, false, false]);
    assert!(device.parts[2..].iter().all(|part| part.failures == [lost()]));
    // The inventory twice, then the processor, and no verb after that.
    assert_eq!(probe.calls.load(Ordering::Relaxed), 3);
    assert_eq!((device.memory, device.disk), (None, None));
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let probe = Canned { stops_in: Some("memory"), ..Canned::new(ROUTER) };
    let (device, points) = measured(router(), Ok(&probe), None);
    let outcomes: Vec<&Outcome> = points.iter().map(|point| &point.outcome).collect();
    assert_eq!(outcomes, [&Outcome::Complete, &Outcome::Stopped]);
    assert_eq!(device.parts.len(), 3);
    assert!(device.cpu.is_some() && device.memory.is_some() && device.crypto.is_none());
    let last = &device.parts[2];
    assert!(!last.complete && last.failures.is_empty(), "{last:?}");
}

/// The others are measured on: a lost host's parts are failed trials, not the end of the study.
#[test]
fn a_host_that_is_lost_leaves_the_others() {
    let gone = Canned { fails: Some(("cpu", lost())), ..Canned::new(ROUTER) };
    let there = Canned::new(NAS);
    let hosts = vec![
        host("ssh://root@box", Arc::new(router()), Ok(&gone), None),
        host("ssh://root@nas", Arc::new(Script::default()), Ok(&there), None),
    ];
    let mut runner = Runner::new(hosts);
    for subject in 0..2 {
        assert_eq!(runner.runner.attach(subject), Ok(Vec::new()));
    }
    for part in [Part::Cpu, Part::Memory] {
        let Outcome::Failed { failure, .. } = runner.point(0, part).outcome else { panic!() };
        assert_eq!((failure.cause, failure.happened), (Cause::Trial, lost().happened));
        assert_eq!(runner.point(1, part).outcome, Outcome::Complete);
    }
    let facts = runner.runner.facts();
    let given: Vec<&str> = facts.iter().map(|facts| facts.given()).collect();
    assert_eq!(given, ["ssh://root@box", "ssh://root@nas"]);
    assert_eq!(runner.runner.close(), Vec::<Flag>::new());
    let removed = [&gone, &there].map(|probe| probe.removed.load(Ordering::Relaxed));
    assert_eq!(removed, [true, true]);
}

/// What is shown is the last whole measurement; how a part went is reported of all of them.
#[test]
fn a_part_is_measured_anew_in_each_block() {
    let probe = Canned::new(ROUTER);
    let mut runner = Runner::new(vec![host("local", Arc::new(router()), Ok(&probe), None)]);
    runner.runner.attach(0).unwrap();
    let first = runner.point(0, Part::Memory);
    let calls = probe.calls.load(Ordering::Relaxed);
    let again = runner.point(0, Part::Memory);
    assert_eq!(probe.calls.load(Ordering::Relaxed), calls + 1);
    assert_eq!((first.outcome, &first.parts), (again.outcome, &again.parts));
    let device = runner.device(0);
    assert_eq!(device.parts.iter().filter(|part| part.part == Part::Memory).count(), 1);
    // A block that was stopped takes nothing from what is known.
    runner.stop.store(true, Ordering::Relaxed);
    assert_eq!(runner.point(0, Part::Memory).outcome, Outcome::Stopped);
    assert_eq!(runner.device(0).memory, device.memory);
    assert!(!runner.device(0).is_complete());
}

#[test]
fn a_hostile_host_is_bounded_and_reported() {
    let nics: Vec<_> =
        (0..3000).map(|i| serde_json::json!({"name": format!("\u{1b}[2Jeth{i}")})).collect();
    let lines = [
        serde_json::json!({"section": "nics", "nics": nics}),
        serde_json::json!({"section": "nics", "nics": []}),
        serde_json::json!({"section": "memory", "total_bytes": -1, "available_bytes": "NaN"}),
        serde_json::json!({"section": "kernel", "uptime_seconds": 1.5e300, "release": ["x"]}),
        serde_json::json!({"section": "disks", "disks": {"not": "a list"}}),
        serde_json::json!({"section": "surprise", "x": 1}),
        serde_json::json!({"nothing": true}),
        serde_json::json!([1, 2, 3]),
        serde_json::json!({"section": "cpu_core", "core_number": 0, "rounds_per_second": u64::MAX}),
        serde_json::json!({"section": "cpu_all", "rounds_per_second": 5, "wrong_rounds_count": 3}),
        serde_json::json!({"section": "memory_stream", "place": "memory", "verified": false}),
        serde_json::json!({"section": "crypto_algorithm", "algorithm": "rot13", "bytes_per_second": 1}),
    ];
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let probe = Canned::new(&lines.join("\n"));
    let (device, _) = measured(Script::default(), Ok(&probe), None);
    let inventory = device.inventory.as_ref().unwrap();
    assert_eq!(inventory.network.as_ref().unwrap().nics.len(), 256);
    assert_eq!(inventory.memory.as_ref().unwrap().total_bytes, None);
    assert_eq!(inventory.kernel.as_ref().unwrap().release, None);
    let odd = device.odd.join("\n");
    for part in [
        "nics.nics: 2744 more entries were left out",
        "the section nics was received twice",
        "memory.total_bytes cannot be -1",
        "memory.available_bytes cannot be 'NaN'",
        "kernel.uptime_seconds cannot be 1.5e+300",
        "cpu_core.rounds_per_second cannot be 18446744073709551615",
        "crypto_algorithm: some fields are missing",
    ] {
        assert!(odd.contains(part), "{part} in\n{odd}");
    }
    let happened = |part: usize| device.parts[part].failures[0].happened.clone();
    assert_eq!(happened(1), "3 results were wrong");
    assert_eq!(happened(2), "1 measurement(s) left wrong content");
    assert!(happened(3).starts_with("no figure for AES-128-GCM"), "{}", happened(3));
}

#[test]
fn a_coremark_that_is_broken_is_reported_and_the_rounds_remain() {
    let shell = Script::default()
        .with("for t in coremark;", "coremark=/usr/bin/coremark\n")
        .failing("/usr/bin/coremark", "Segmentation fault");
    let (device, _) = measured(shell, Ok(&Canned::new(ROUTER)), None);
    let cpu = device.cpu.unwrap();
    assert!(cpu.coremark.is_empty() && cpu.cores.len() == 1);
    assert_eq!(device.parts[1].failures[0].happened, "Segmentation fault");
}
