use super::*;
use plimsoll_model::DiskFacts;
use proptest::prelude::*;

const STAT: &str = "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 60 0 30 400 20 5 5 0 0 0\n\
                    cpu1 40 0 20 400 20 0 0 0 0 0\nintr 1 2 3\nctxt 5\n";

#[test]
fn stat_in_seconds() {
    let (all, cores) = parse_stat(STAT, 100.0).unwrap();
    assert_eq!(all.user, 1.0);
    assert!((all.busy().0 - 1.6).abs() < 1e-12, "iowait is idle time");
    assert_eq!(cores.len(), 2);
    assert_eq!(cores[1].system, 0.2);
}

#[test]
fn an_old_kernel_without_steal() {
    let (all, _) = parse_stat("cpu  1 2 3 4\n", 1.0).unwrap();
    assert_eq!((all.idle, all.steal), (4.0, 0.0));
    assert!(parse_stat("nothing here", 100.0).is_none());
    assert!(parse_stat("cpu  1 x 3 4\n", 100.0).is_none());
}

/// Field 7 after the name, since version 15; Documentation/scheduler/sched-stats.rst.
#[test]
fn the_schedulers_own_time() {
    let text = "version 17\ntimestamp 4\ncpu0 0 0 0 0 0 0 1500000000 7 9\ndomain0 SMT 3 1 2\n\
                cpu1 0 0 0 0 0 0 500000000 7 9\n";
    assert_eq!(parse_run_seconds(text), Some(2.0));
    assert_eq!(parse_run_seconds("version 14\ncpu0 0 0 0 0 0 0 1 2 3\n"), None);
    assert_eq!(parse_run_seconds("version 15\ncpu0 0 0\ncpu1 0 0 0 0 0 0 1 2 3\n"), None);
    assert_eq!(parse_run_seconds("1250000000\n"), Some(1.25), "cpuacct.usage");
}

#[test]
fn interfaces_and_retransmissions() {
    let text = "Inter-|   Receive                |  Transmit\n face |bytes packets errs drop\n\
                \x20   lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n\
                \x20 eth0:1000 9 1 2 0 0 0 0 234 8 3 4 0 0 0 0\n  bad: 1 2\n";
    let all = parse_interfaces(text);
    let names: Vec<_> = all.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["lo", "eth0"]);
    let eth0 = &all[1];
    assert_eq!((eth0.received_bytes, eth0.sent_bytes), (1000, 234));
    assert_eq!((eth0.received_packets, eth0.sent_packets), (9, 8));
    assert_eq!((eth0.errors, eth0.drops), (4, 6));
    let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 42 0\n";
    assert_eq!(parse_retransmitted(snmp), Some(42));
    assert_eq!(parse_retransmitted("Tcp: RetransSegs\n"), None);
}

#[test]
fn disks_in_bytes() {
    let line = "   8       0 sda 6000 10 500000 1000 900 20 7000 300 3 800 1300 1 0 8 0 2 5";
    let old = "   8       1 sda1 600 5000 70 900";
    let disks = parse_disks(&format!("{line}\n{old}\nnonsense"));
    let sda = DiskCounters {
        name: "sda".into(),
        reads: 6000,
        read_bytes: 500_000 * 512,
        writes: 900,
        written_bytes: 7000 * 512,
        in_flight: 3,
        busy_ms: 800,
        in_flight_ms: 1300,
    };
    assert_eq!(disks, [sda]);
}

#[test]
fn memory_with_and_without_an_estimate() {
    let text = "MemTotal:  24576 kB\nMemFree: 100 kB\nBuffers: 10 kB\nCached: 50 kB\nDirty: 7 kB\n";
    let memory = parse_memory(text).unwrap();
    assert_eq!((memory.total_bytes, memory.available_bytes), (24576 * 1024, 160 * 1024));
    assert_eq!((memory.cached_bytes, memory.dirty_bytes), (60 * 1024, 7 * 1024));
    let memory = parse_memory(&format!("{text}MemAvailable: 200 kB\nWriteback: 1 kB\n")).unwrap();
    assert_eq!((memory.available_bytes, memory.dirty_bytes), (200 * 1024, 8 * 1024));
    assert_eq!(parse_memory("Cached: 5 kB\n"), None);
    assert_eq!(parse_memory("MemTotal: 18446744073709551615 kB\n"), None);
}

#[test]
fn nfsd_softirqs_raid_and_sensors() {
    let text = "rc 0 10 20\nfh 0 0 0 0 0\nio 4096 8192\nth 8 0\nnet 30 0 30 2\nrpc 30 0 0 0 0\n";
    let nfsd = parse_nfsd(text).unwrap();
    assert_eq!((nfsd.calls, nfsd.read_bytes, nfsd.written_bytes), (30, 4096, 8192));
    assert_eq!(nfsd.threads, Some(8));
    let text = "      CPU0  CPU1\n  HI:  1 2\n  NET_TX:  3 4\n  NET_RX:  10  20\n";
    let softirqs = cpu::parse_softirqs(text);
    assert_eq!(softirqs, Some(Softirqs { net_rx: 30, net_tx: 7 }));
    let text = "0000000a 00000001 00000002 00000000\n00000014 00000000 00000001 00000000\n";
    assert_eq!(parse_softnet(text), Some(Softnet { processed: 30, dropped: 1, squeezed: 3 }));
    assert_eq!(parse_softnet("0000000a 00000001\n"), None);
    assert_eq!(parse_softnet(""), None);
    let text = "Personalities : [raid1]\nmd1 : active raid1 sdb1[1] sda1[0]\n      976630 blocks\n      \
                [=>...................]  resync =  5.9% (57664/976630) finish=4.2min speed=1K/sec\n";
    assert_eq!(parse_raid(text).as_deref(), Some("md1: resync at 5.9%"));
    assert_eq!(parse_raid("Personalities :\nunused devices: <none>\n"), None);
    assert_eq!((parse_hertz("1200000\n"), parse_hertz("0\n")), (Some(1.2e9), None));
    assert_eq!(parse_celsius("48500\n"), Some(48.5));
    assert_eq!(parse_celsius("-274000\n"), None);
}

#[test]
fn processes_with_any_name() {
    let text = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 250 50 3 4 20 0 1 0 5\n8 (short) S\n";
    let processes = parse_processes(text, 100.0);
    let process = ProcessTime { id: 7, name: "a) b".into(), seconds: 3.0, kernel: false };
    assert_eq!(processes, [process]);
    // As Linux 6.1 has them.
    let kernel = "15 (rcu_preempt) I 2 0 0 0 -1 2129984 0 0 0 0 0 40 0 0 -2 0 1 0 7 0 0\n";
    let [thread] = &parse_processes(kernel, 100.0)[..] else { panic!("one line") };
    assert!(thread.kernel && thread.name == "rcu_preempt", "{thread:?}");
    assert_eq!(processes::parse_watcher(text.lines().next().unwrap(), 100.0), Some(3.07));
}

#[test]
fn model_and_accounting() {
    let mips = "system type\t: Atheros AR9344\ncpu model\t\t: MIPS 74Kc V4.12\n";
    assert_eq!(parse_cpu_model(mips).as_deref(), Some("MIPS 74Kc V4.12"));
    let rates = parse_link_rates("eth0 1000\nwlan0 -1\neth1 4294967295000\neth2\neth3 2500\n");
    let known = [("eth0".to_owned(), 1_000_000_000), ("eth3".to_owned(), 2_500_000_000)];
    assert_eq!(rates, known.into());
    let disks = parse_disk_facts("sda 1 32\nnvme0n1 0\nusb 0 1 \nsr0 2\nvdb\n\nx 0 0\n");
    let disk = |rotational, queue_depth| DiskFacts { rotational, queue_depth };
    let known = [
        ("sda", disk(true, Some(32))),
        ("nvme0n1", disk(false, None)),
        ("usb", disk(false, Some(1))),
        ("x", disk(false, None)),
    ];
    assert_eq!(disks, known.map(|(name, facts)| (name.to_owned(), facts)).into());
    let accounting = |config: &str, nohz| cpu_accounting(config, nohz);
    let general = "CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\n";
    assert_eq!(accounting("", ""), "unknown");
    assert_eq!(accounting("CONFIG_TICK_CPU_ACCOUNTING=y\n", ""), "ticks");
    assert_eq!(accounting(general, "(null)\n"), "ticks", "it falls back to ticks");
    assert_eq!(accounting(general, "1-3\n"), "ticks, precise on cores without a tick");
    assert_eq!(
        accounting(&format!("{general}CONFIG_CONTEXT_TRACKING_USER_FORCE=y\n"), ""),
        "precise"
    );
    assert_eq!(accounting("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", ""), "precise");
    let irq = format!("{general}CONFIG_IRQ_TIME_ACCOUNTING=y\n");
    assert_eq!(accounting(&irq, ""), "ticks, interrupts measured");
}

#[test]
fn real_devices_and_those_that_look_like_it() {
    let known = Hardware::from_paths("/sys/block/sda/device /sys/class/net/*/device x/y");
    assert_eq!(known.disks, ["sda"]);
    assert!(known.is_disk("sda", [].into_iter()) && !known.is_disk("md0", [].into_iter()));
    let unknown = Hardware::from_paths("/sys/block/*/device /sys/class/net/*/device");
    assert_eq!(unknown, Hardware::default());
    let all = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "md0", "dm-0", "vdb", "mmcblk0", "sdaa"];
    let disks: Vec<_> =
        all.into_iter().filter(|name| unknown.is_disk(name, all.into_iter())).collect();
    assert_eq!(disks, ["sda", "nvme0n1", "vdb", "mmcblk0", "sdaa"]);
    assert!(unknown.is_interface("veth0") && !unknown.is_interface("lo"));
}

#[test]
fn a_sample_of_many_files() {
    let files = [
        (FileKind::Uptime, "120.50 200.00\n"),
        (FileKind::Stat, STAT),
        (FileKind::Frequency, "1200000\n"),
        (FileKind::Frequency, "800000\n"),
        (FileKind::Temperature, "41000\n"),
        (FileKind::Temperature, "57000\n"),
        (FileKind::LoadAverage, "0.52 0.58 0.59 1/467 1234\n"),
        (FileKind::ConntrackMost, "262144\n"),
        (FileKind::Conntrack, "entries insert_failed drop early_drop\n1f 0 0 0\n"),
        (FileKind::Offloaded, "     16 192.0.2.1 10.0.0.2 HW_\n"),
        (FileKind::Watcher, "9 (sh) S 1 9 9 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 5\n"),
        (FileKind::Watcher, "8 (sshd) S 1 8 8 0 -1 0 0 0 0 0 10 0 0 0 20 0 1 0 5\n"),
    ];
    let sample = Sample::from_files(100.0, files).unwrap();
    assert_eq!((sample.uptime_seconds, sample.load_average), (Some(120.5), Some(0.52)));
    let frequency = sample.frequency.unwrap();
    assert_eq!((frequency.lowest_hertz, frequency.highest_hertz), (8e8, 1.2e9));
    assert_eq!((sample.celsius, sample.watcher_seconds), (Some(57.0), Some(0.2)));
    let connections = sample.conntrack.unwrap();
    assert_eq!((connections.entries, connections.most_entries), (31, Some(262_144)));
    assert_eq!((connections.offloaded, connections.offloaded_in_hardware), (Some(16), true));
    assert!(Sample::from_files(100.0, [(FileKind::LoadAverage, "1 1 1")]).is_none());
    let sample = sample.taken(Nanos(1_000), Nanos(1_400));
    assert_eq!((sample.at, sample.within), (Nanos(1_200), Duration::from_nanos(200)));
}

/// This machine's own files are understood.
#[test]
fn the_files_of_this_kernel() {
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    assert!(parse_stat(&text("/proc/stat"), 100.0).unwrap().0.total() > 0.0);
    assert!(parse_memory(&text("/proc/meminfo")).unwrap().available_bytes > 0);
    assert!(parse_interfaces(&text("/proc/net/dev")).iter().any(|i| i.name == "lo"));
    assert!(cpu::parse_softirqs(&text("/proc/softirqs")).is_some());
    assert!(parse_retransmitted(&text("/proc/net/snmp")).is_some());
    assert!(parse_softnet(&text("/proc/net/softnet_stat")).unwrap().processed > 0);
    assert!(!parse_disks(&text("/proc/diskstats")).is_empty());
}

#[test]
fn pressure_of_memory() {
    let text = "some avg10=0.00 avg60=0.10 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
    assert_eq!(parse_pressure(text), Some(2.5));
    assert_eq!(parse_pressure("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"), None);
    assert_eq!(parse_pressure("some total=x"), None);
}

const KINDS: [FileKind; 20] = [
    FileKind::Uptime,
    FileKind::Stat,
    FileKind::Scheduler,
    FileKind::Memory,
    FileKind::Disks,
    FileKind::Interfaces,
    FileKind::Snmp,
    FileKind::Softirqs,
    FileKind::Softnet,
    FileKind::Conntrack,
    FileKind::ConntrackMost,
    FileKind::Queues,
    FileKind::LoadAverage,
    FileKind::Nfsd,
    FileKind::Frequency,
    FileKind::Temperature,
    FileKind::Raid,
    FileKind::Pressure,
    FileKind::Watcher,
    FileKind::Processes,
];

proptest! {
    #[test]
    fn garbage_is_refused_without_panic(
        text in "((cpu[0-9]*|Tcp:|io|rpc|  NET_RX:|sda|md0 :|[0-9]{1,20}|\\(x\\)|=|%|resync =|qdisc|dev|root|dropped|marks|entries|[a-z:]*)[ \n]){0,30}"
    ) {
        for kind in KINDS {
            let _ = Sample::from_files(100.0, [(FileKind::Stat, STAT), (kind, &text)]);
        }
        let _ = (parse_cpu_model(&text), parse_link_rates(&text), parse_disk_facts(&text), cpu_accounting(&text, &text), Hardware::from_paths(&text));
    }
}
