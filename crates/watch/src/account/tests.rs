use super::*;
use crate::proc_files::{DiskCounters, InterfaceCounters};
use plimsoll_model::{ConntrackLoad, Frequency, MemoryNow, Moved, Nanos, NfsdLoad, QueueLoad};
use proptest::prelude::*;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// Two cores, so many seconds after the start; the first core runs a user, the second sleeps.
fn sample(seconds: u64) -> Sample {
    let s = seconds as f64;
    let busy = CpuTimes { user: 0.75 * s, idle: 0.25 * s, ..CpuTimes::default() };
    let idle = CpuTimes { idle: 0.5 * s, iowait: 0.5 * s, ..CpuTimes::default() };
    Sample {
        at: Nanos(seconds * SECOND),
        uptime_seconds: Some(1000.0 + s),
        cpu: busy + idle,
        cores: vec![busy, idle],
        run_seconds: Some(0.75 * s),
        memory: Some(MemoryNow {
            total_bytes: 1000,
            available_bytes: 900u64.saturating_sub(100 * seconds),
            cached_bytes: 50,
            dirty_bytes: 10 * seconds,
        }),
        disks: vec![
            DiskCounters {
                name: "sda".into(),
                writes: 10 * seconds,
                written_bytes: 4096 * seconds,
                busy_ms: 500 * seconds,
                ..DiskCounters::default()
            },
            DiskCounters { name: "sdb".into(), ..DiskCounters::default() },
        ],
        interfaces: vec![InterfaceCounters {
            name: "eth0".into(),
            received_bytes: 1500 * seconds,
            received_packets: seconds,
            ..InterfaceCounters::default()
        }],
        tcp_retransmitted: Some(7 * seconds),
        nfsd: Some(NfsdLoad { calls: 5 * seconds, ..NfsdLoad::default() }),
        load_average: Some(2.0 - 0.5 * s),
        watcher_seconds: Some(0.01 * s),
        ..Sample::default()
    }
}

fn nas() -> HostName {
    HostName::by_ssh("nas").unwrap()
}

fn account() -> Account {
    Account::new(&nas(), Hardware::default(), None)
}

#[test]
fn queues_that_are_read_at_the_ends_are_counted_over_the_looks_between() {
    let queue = |discipline: &str, dropped| QueueLoad {
        interface: "eth0".into(),
        discipline: discipline.into(),
        dropped,
        ..QueueLoad::default()
    };
    let end = |seconds: u64, dropped, entries| {
        // Offloaded ones are counted at the end alone.
        let (most_entries, offloaded) = (Some(100), (seconds > 0).then_some(entries));
        let table =
            ConntrackLoad { entries, most_entries, dropped, offloaded, ..Default::default() };
        let queues = vec![queue("tbf", dropped), queue("ingress", 7)];
        Sample { queues, conntrack: Some(table), ..sample(seconds) }
    };
    let mut account = account();
    for sample in [end(0, 5, 90), sample(1), sample(2), end(3, 25, 40)] {
        account.add(&sample);
    }
    let load = account.load().unwrap();
    assert_eq!(load.queues, [queue("tbf", 20)], "idle queues are left out");
    let table = load.conntrack.unwrap();
    assert_eq!((table.entries, table.dropped, table.most_entries), (90, 20, Some(100)));
    assert_eq!(table.offloaded, Some(40));
}

#[test]
fn looks_add_up() {
    let idle = Idle(CpuTimes { user: 0.25, ..CpuTimes::default() });
    let mut account = Account::new(&nas(), Hardware::default(), Some(idle));
    assert_eq!(account.add(&sample(0)), None);
    assert_eq!(account.load(), None, "one sample is no load");
    let look = account.add(&sample(1)).unwrap();
    assert_eq!((look.seconds, look.cpu.user, look.cores_busy[0]), (1.0, 0.75, 0.75));
    account.add(&sample(3)).unwrap();
    let load = account.load().unwrap();
    assert_eq!((&load.host, load.seconds), (&nas(), 3.0));
    assert_eq!(load.cpu.user, 2.25);
    assert_eq!(load.cores_busy, [0.75, 0.0], "iowait is idle");
    assert_eq!(load.caused().0, 2.25 - 0.75);
    assert_eq!(load.run_seconds, Some(2.25));
    let memory = load.memory.unwrap();
    assert_eq!((memory.least_available_bytes, memory.most_dirty_bytes), (600, 30));
    assert_eq!(load.disks.len(), 1, "idle disks are left out");
    let disk = &load.disks[0];
    assert_eq!((disk.writes, disk.written_bytes, disk.busy_share(3.0)), (30, 12_288, 0.5));
    assert_eq!(disk.service_seconds(), Some(0.05));
    assert_eq!(load.interfaces[0].received_bytes, 4500);
    assert_eq!((load.tcp_retransmitted, load.nfsd.unwrap().calls), (Some(21), 15));
    assert_eq!((load.load_average, load.watcher_cpu_seconds), (Some(1.5), Some(0.03)));
    assert_eq!(load.stretches.len(), 2);
    let moved = Moved { disk_written_bytes: 8192, received_bytes: 3000, ..Moved::default() };
    assert_eq!(load.stretches[1].moved, Some(moved));
    assert_eq!(account.flags(), []);
}

/// Reads of a local disk by two threads that sleep after each: of 40 s of two cores /proc/stat had 36.8, and of
/// the CPU time mpstat had 9% more. Flags on what ticks miss count as the kernel does.
#[test]
fn time_that_ticks_lose_counts_as_the_rest_does() {
    let lossy = |seconds: u64| {
        let mut sample = sample(seconds);
        sample.cpu = sample.cpu * 0.9;
        sample
    };
    let load = |of: &dyn Fn(u64) -> Sample| {
        let mut account = account();
        account.add(&of(0));
        account.add(&of(4)).unwrap();
        account.load().unwrap()
    };
    let (whole, found) = (load(&sample), load(&lossy));
    assert!((found.cpu.total() - 8.0).abs() < 1e-6, "{:?}", found.cpu);
    assert!((found.caused().0 / whole.caused().0 - 1.0).abs() < 1e-6, "{:?}", found.cpu);
    // Of counters that come to a tenth of the time nothing of the kind is known.
    let tenth = |seconds: u64| Sample { cpu: sample(seconds).cpu * 0.1, ..sample(seconds) };
    assert!((load(&tenth).cpu.total() - 0.8).abs() < 1e-6);
}

/// What a hypervisor takes for others is no load and no cost of the host; above 2% it is reported.
#[test]
fn stolen_time_is_neither_busy_nor_caused() {
    let with = |seconds: u64, steal: f64| {
        let mut sample = sample(seconds);
        let stolen = CpuTimes { steal, ..CpuTimes::default() };
        sample.cpu = sample.cpu + stolen;
        sample.cores[0] = sample.cores[0] + stolen;
        sample.cores[1].idle -= steal;
        sample.cpu.idle -= steal;
        sample
    };
    let idle = CpuTimes { user: 0.25, steal: 0.5, ..CpuTimes::default() };
    let mut account = Account::new(&nas(), Hardware::default(), Some(Idle(idle)));
    account.add(&with(0, 0.0));
    account.add(&with(4, 0.12)).unwrap();
    assert_eq!(account.flags(), [], "1.5% of two cores");
    account.add(&with(8, 1.6)).unwrap();
    let load = account.load().unwrap();
    assert_eq!((load.cpu.steal, load.cpu.busy().0, load.idle_baseline), (1.6, 6.0, 0.25));
    assert_eq!(load.caused().0, 6.0 - 8.0 * 0.25);
    assert!((load.stolen() - 0.1).abs() < 1e-9 && (load.cpu.total() - 16.0).abs() < 1e-9);
    assert!((load.cores_busy[0] - 6.0 / 9.6).abs() < 1e-9, "{:?}", load.cores_busy);
    assert!(matches!(&account.flags()[..], [Flag::Stolen { host, share }]
        if *host == nas() && (share - 0.1).abs() < 1e-9));
}

#[test]
fn many_looks_become_few_stretches_of_the_same_sum() {
    let mut account = account();
    (0..1000).for_each(|i| drop(account.add(&Sample { memory: None, ..sample(i) })));
    let load = account.load().unwrap();
    assert!(load.stretches.len() <= MOST_STRETCHES);
    let sum: f64 = load.stretches.iter().map(|s| s.cpu.user).sum();
    assert!((sum - load.cpu.user).abs() < 1e-6 && load.seconds == 999.0);
    let bytes: u64 = load.stretches.iter().map(|s| s.moved.unwrap().received_bytes).sum();
    assert_eq!(bytes, 999 * 1500);
}

#[test]
fn counters_of_32_bits_wrap_and_others_begin_anew() {
    let with = |seconds, bytes| {
        let mut sample = sample(seconds);
        sample.interfaces[0].received_bytes = bytes;
        sample
    };
    let mut account = account();
    // 4 GB a wrap: three of them in a trial, one at most between two looks.
    let mut bytes = 0xffff_0000u64;
    for second in 0..4 {
        account.add(&with(second, bytes & 0xffff_ffff));
        bytes += 0x7000_0000;
    }
    assert_eq!(account.load().unwrap().interfaces[0].received_bytes, 3 * 0x7000_0000);
    account.add(&with(4, 17));
    assert_eq!(account.load().unwrap().interfaces[0].received_bytes, 3 * 0x7000_0000);
}

#[test]
fn a_restart_and_impossible_counters_are_left_out_and_reported() {
    let mut account = account();
    account.add(&sample(0));
    account.add(&sample(1)).unwrap();
    let restarted = Sample { uptime_seconds: Some(5.0), ..sample(2) };
    assert_eq!(account.add(&restarted), None);
    assert_eq!(account.flags(), [Flag::HostRestarted { host: nas() }]);
    assert_eq!(account.load().unwrap().seconds, 1.0);

    let mut account = self::account();
    account.add(&sample(0));
    let mut absurd = sample(1);
    absurd.cpu.user = 1e12;
    assert_eq!(account.add(&absurd), None);
    assert_eq!(account.flags(), [Flag::ImpossibleCounters { host: nas() }]);
    assert_eq!(account.load(), None);
}

#[test]
fn a_clock_that_falls_under_load_is_reported_and_one_that_falls_after_it_is_not() {
    let with = |seconds, hertz| Sample {
        frequency: Some(Frequency { lowest_hertz: 6e8, highest_hertz: hertz }),
        celsius: Some(80.0),
        ..sample(seconds)
    };
    let run = |clocks: &[f64]| {
        let mut account = account();
        for (seconds, hertz) in clocks.iter().enumerate() {
            account.add(&with(seconds as u64, *hertz));
        }
        account.flags()
    };
    assert_eq!(run(&[1e9, 2e9, 1.95e9, 2e9, 1e9]), [], "small steps, and the end");
    let flag =
        Flag::Throttled { host: nas(), from_hertz: 2e9, to_hertz: 1.5e9, celsius: Some(80.0) };
    assert_eq!(run(&[1e9, 2e9, 1.7e9, 1.5e9, 1.6e9, 1.6e9]), [flag]);
}

#[test]
fn what_ticks_do_not_see_is_reported_where_the_scheduler_does() {
    let with = |seconds, ran| Sample { run_seconds: Some(ran), ..sample(seconds) };
    let mut account = account();
    account.add(&with(0, 0.0));
    account.add(&with(4, 3.2)).unwrap();
    assert_eq!(account.flags(), [], "within chance");
    account.add(&with(8, 10.0)).unwrap();
    let (by_ticks, by_scheduler) = (0.75, 1.25);
    let flag = Flag::HiddenFromTicks { host: nas(), by_ticks, by_scheduler };
    assert_eq!(account.flags(), [flag]);
}

proptest! {
    /// Whatever another host says, a load is finite, its shares are shares, and nothing panics.
    #[test]
    fn any_counters_make_a_clean_load(
        ats in prop::collection::vec((0u64..u64::MAX / 4, 0u64..1 << 40, any::<u64>(), any::<u64>()), 2..6)
    ) {
        let mut account = account();
        for (at, ticks, x, y) in ats {
            let text = format!("cpu  {ticks} {x} {y}\ncpu0 {x} {ticks} 3\n");
            let disks = format!("8 0 sda {x} 0 {y} {x} {y} 0 {x} 0 {y} {x} {y}\n");
            let files = [
                (crate::proc_files::FileKind::Stat, text.as_str()),
                (crate::proc_files::FileKind::Disks, &disks),
            ];
            let sample = Sample::from_files(100.0, files).unwrap();
            account.add(&sample.taken(Nanos(at), Nanos(at) + Duration::from_millis(1)));
        }
        if let Some(load) = account.load() {
            prop_assert!(load.cpu.total().is_finite() && load.seconds.is_finite());
            prop_assert!(load.cores_busy.iter().all(|b| (0.0..=1.0).contains(b)));
        }
        account.flags();
    }
}
