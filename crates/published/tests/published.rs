//! What published tables say, and that nothing is said without its figure or of figures that cannot be.

use plimsoll_published::jonfk2024::{self, Limit};
use plimsoll_published::puskas2017::{self, Change, transfers};
use plimsoll_published::rtems2012::{self, reads};
use plimsoll_published::{Contradiction, Impossible, Model, kofler2011};
use plimsoll_references::{Row, Table, table, tables};
use plimsoll_stats::fit::costs::{Cell, CostKind, fit};
use plimsoll_stats::fit::{Adequacy, Estimate, Rule};
use std::path::Path;

/// All tables, one of them with other text in places; each is there.
fn altered(name: &str, changes: &[(&str, &str)]) -> Vec<Table> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../references");
    let mut text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from} in {name}");
        text = text.replace(from, to);
    }
    let other = Table::parse(name, "", &text).unwrap();
    tables().iter().map(|table| if table.name == name { &other } else { table }).cloned().collect()
}

fn without(name: &str) -> Vec<Table> {
    assert!(table(name).is_some());
    tables().iter().filter(|table| table.name != name).cloned().collect()
}

fn near(value: f64, published: f64, apart: f64) -> bool {
    (value / published - 1.0).abs() < apart
}

fn says(found: &[Contradiction]) -> Vec<Impossible> {
    found.iter().map(|found| found.says).collect()
}

#[test]
fn nothing_published_contradicts_itself() {
    assert_eq!(puskas2017::contradictions(tables()), []);
    assert_eq!(rtems2012::contradictions(tables()), []);
    assert_eq!(jonfk2024::contradictions(tables()), []);
    assert_eq!(kofler2011::contradictions(tables()), []);
}

#[test]
fn seven_costs_explain_every_time_of_puskas2017_within_6_percent() {
    let found = transfers(tables()).unwrap();
    assert_eq!((found.times.len(), found.model.parameters()), (32, 7));
    for (kind, group, seconds, apart) in [
        (CostKind::File, 0, 27.6e-3, 0.01),
        (CostKind::File, 1, 12.9e-3, 0.01),
        (CostKind::Operation, 0, 1.08e-3, 0.01),
        (CostKind::Byte, 0, 1.0 / 10.0e6, 0.01),
        (CostKind::File, 2, 2.6e-3, 0.01),
        (CostKind::Operation, 1, 0.15e-3, 0.06),
        (CostKind::Byte, 1, 1.0 / 7.7e6, 0.01),
    ] {
        let cost = found.model.cost(kind, group).unwrap();
        assert!(near(cost.value, seconds, apart), "{kind:?} {group}: {cost:?}");
        let interval = cost.interval.expect("there are more times than costs");
        assert!(interval.contains(cost.value) && interval.low < interval.high);
    }
    assert!(found.model.fits() && found.model.is_tested());
    assert!(found.model.largest_error() < 0.06);
    for time in &found.times {
        // The times are not what the fit was shown, but what the table has.
        assert_eq!(time.seconds, time.row.number("elapsed_s").unwrap() + 0.5);
        assert!(near(time.by_model.unwrap(), time.seconds, 0.06), "{:?}", time.row);
    }
    // Nothing was repeated: it can be off by more than noise without that being known.
    let cells: Vec<Cell> =
        rows("puskas2017_transfer").iter().filter_map(puskas2017::cell).collect();
    assert_eq!(fit(&cells).unwrap().fit().adequacy(), Adequacy::Unknown);
}

fn rows(name: &str) -> &'static [Row] {
    table(name).unwrap().rows()
}

/// The same as the product has it: from 16 times, of the other 16.
#[test]
fn pictures_and_music_of_puskas2017_are_predicted_from_the_rest_within_9_percent() {
    let left_out = transfers(tables()).unwrap().left_out.unwrap();
    assert!(left_out < 0.09, "{left_out}");
    let is_left_out = |row: &&Row| row.is("dataset", "Pictures") || row.is("dataset", "Music");
    let (unseen, seen): (Vec<&Row>, Vec<&Row>) =
        rows("puskas2017_transfer").iter().partition(is_left_out);
    assert_eq!((unseen.len(), seen.len()), (16, 16));
    let cell = |row: &Row| puskas2017::cell(row).unwrap();
    let model = Model::fitted(&seen.into_iter().map(cell).collect::<Vec<_>>()).unwrap();
    let off = |row: &Row| {
        let cell = cell(row);
        model.seconds(&cell).unwrap() / cell.seconds[0].unwrap() - 1.0
    };
    let largest = unseen.into_iter().map(|row| off(row).abs()).fold(0.0, f64::max);
    assert_eq!(left_out, largest);
    // Without what was to be predicted there is no prediction.
    let movies = tables().iter().cloned().map(|table| table.with("dataset", "Movies"));
    assert_eq!(transfers(&movies.collect::<Vec<_>>()).unwrap().left_out, None);
}

/// `async` halves what a file costs, by more than the intervals are wide, and does nothing for a byte.
#[test]
fn async_of_puskas2017_is_cheaper_for_files_alone() {
    let found = transfers(tables()).unwrap();
    let files = found.per_file_up().unwrap();
    assert!(
        files.shows() && near(files.after.value / files.before.value, 0.467, 0.01),
        "{files:?}"
    );
    let bytes = found.per_byte_up().unwrap();
    assert!(!bytes.shows() && near(bytes.after.value, bytes.before.value, 0.01), "{bytes:?}");
    let blocks = found.blocks();
    let [up, down] = &blocks[..] else { panic!("{blocks:?}") };
    assert_eq!((up.bytes, up.seconds), ([16_384.0, 32_768.0], [153.5, 122.5]));
    assert!(near(up.operations[0], 2.0 * up.operations[1], 1e-4), "{up:?}");
    assert!(near(up.by_model, 31.0, 0.02), "{up:?}");
    assert!(up.name.contains("upload") && down.name.contains("download"));
}

#[test]
fn changes_show_where_their_intervals_are_apart() {
    let estimate = |value: f64, half: f64| Estimate {
        value,
        interval: plimsoll_stats::interval::Interval::around(value, half),
    };
    let shows = |before, after| Change { before, after }.shows();
    assert!(shows(estimate(1.0, 0.1), estimate(2.0, 0.1)));
    assert!(shows(estimate(2.0, 0.1), estimate(1.0, 0.1)));
    assert!(!shows(estimate(1.0, 0.6), estimate(2.0, 0.6)));
    assert!(!shows(Estimate { value: 1.0, interval: None }, estimate(2.0, 0.1)));
}

/// With the rows of one block size alone an operation is half a file and its part of a byte; times of
/// that size can be predicted, others cannot.
#[test]
fn one_block_size_of_puskas2017_does_not_separate_operations() {
    const RULE: Rule = Rule::Fixed(0.95);
    let cell = |row: &Row| puskas2017::cell(row).unwrap();
    let (known, others): (Vec<&Row>, Vec<&Row>) =
        rows("puskas2017_transfer").iter().partition(|row| row.is("block_size_B", "16384"));
    let cells: Vec<Cell> = known.iter().map(|row| cell(row)).collect();
    let model = Model::fitted(&cells).unwrap();
    for group in 0..2 {
        assert_eq!(model.cost(CostKind::Operation, group), None);
        assert_eq!(model.cost(CostKind::Byte, group), None);
    }
    let sums = fit(&cells).unwrap().identified(RULE);
    let per_byte: Vec<_> = sums.iter().filter(|(sum, _)| sum[0].0.0 == CostKind::Byte).collect();
    assert_eq!(per_byte.len(), 2);
    for (sum, _) in per_byte {
        assert_eq!((sum.len(), sum[1].0.0), (2, CostKind::Operation));
        assert!(near(sum[1].1, 1.0 / 16_384.0, 0.01), "{sum:?}");
    }
    assert!(model.largest_error() < 0.06, "{}", model.largest_error());
    for row in others {
        // A source file is one block of either size.
        let same = row.is("dataset", "linux-4.9");
        assert_eq!(model.seconds(&cell(row)).is_some(), same, "{row:?}");
    }
}

/// A time that is far off leaves a model that does not fit: no cost, nothing bought.
#[test]
fn transfers_that_do_not_fit_have_no_costs() {
    let row = "32768,Music,11,39644094.91,upload,sync,7585962,57";
    let tables = altered("puskas2017_transfer", &[(row, &row.replace(",57", ",571"))]);
    let found = transfers(&tables).unwrap();
    assert!(!found.model.fits() && found.model.largest_error() > 0.5);
    assert_eq!((found.per_file_up(), found.blocks().len()), (None, 0));
    assert_eq!(found.model.cost(CostKind::Byte, 0), None);
    // And the time is not that of its rate.
    let [Contradiction { row, says: Impossible::TimeAndRate { published, .. } }] =
        &puskas2017::contradictions(&tables)[..]
    else {
        panic!("{:?}", puskas2017::contradictions(&tables))
    };
    assert_eq!((row.as_str(), *published), ("Music, upload, sync, 32768", 571.5));
}

/// Waiting with I/O outstanding is not busy.
#[test]
fn the_cpu_of_puskas2017_is_the_limit_of_downloads_of_large_files() {
    let loads = puskas2017::loads(tables());
    assert_eq!(loads.len(), 9);
    let busy: Vec<f64> = loads.iter().map(puskas2017::Load::busy).collect();
    assert_eq!(busy, [71.0, 70.0, 51.0, 60.0, 87.0, 88.0, 65.0, 66.0, 9.0]);
    let limits: Vec<&str> =
        loads.iter().filter(|load| load.is_limit()).map(|load| load.name.as_str()).collect();
    assert_eq!(limits, ["large files to client, sync", "large files to client, async"]);
    assert_eq!(loads[4].classes, [("system", 59.0), ("softirq", 28.0)]);
    assert_eq!((loads[4].waiting, loads[4].idle), (11.0, 0.0));
    assert_eq!(puskas2017::loads(&without("puskas2017_cpu_load")), []);
    let row = "large files to NFS,sync,0,43,0,0,26,0,28";
    let more = altered("puskas2017_cpu_load", &[(row, &row.replace(",26,", ",62,"))]);
    let found = puskas2017::contradictions(&more);
    assert_eq!(says(&found), [Impossible::OverAll { published: 133.0 }]);
}

#[test]
fn link_and_bus_of_puskas2017_are_far_from_full() {
    let shares = puskas2017::shares(tables());
    let [("link", link), ("bus of the disk", bus)] = shares[..] else { panic!("{shares:?}") };
    assert!(near(link, 7_708_694.0 * 8.0 / 1e9, 1e-9) && near(bus, link * 1000.0 / 480.0, 1e-9));
    assert_eq!(puskas2017::shares(&without("puskas2017_setup")), []);
    let slow = altered("puskas2017_setup", &[("link,1,Gbit/s", "link,60,Mbit/s")]);
    let found = puskas2017::contradictions(&slow);
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(found.iter().all(|found| matches!(found.says, Impossible::OverTheLink { .. })));
}

/// One reader gives the costs; the rates of two and three lie between those of rounds, in which its code
/// reads, and of an open pipeline.
#[test]
fn one_reader_of_rtems2012_predicts_two_and_three_within_7_percent() {
    let found = reads(tables()).unwrap();
    assert!(near(found.operation.value, 0.252e-3, 0.01), "{:?}", found.operation);
    assert!(near(1.0 / found.byte.value, 9.97e6, 0.01), "{:?}", found.byte);
    let intervals = (found.operation.interval, found.byte.interval);
    assert_eq!(intervals, (None, None), "two times, two costs");
    assert_eq!(found.readers.len(), 2);
    for (readers, (count, in_rounds, open)) in
        found.readers.iter().zip([(2, 8.65e6, 9.62e6), (3, 9.05e6, 9.93e6)])
    {
        assert_eq!(readers.count, count);
        assert!(near(readers.rounds, readers.measured, 0.07), "{readers:?}");
        assert!(near(readers.rounds, in_rounds, 0.002) && near(readers.open, open, 0.002));
        assert!(readers.rounds < readers.measured && readers.measured < readers.open);
    }
    assert!(near(found.in_blocks(8192.0), 7.63e6, 0.001));
    assert!(near(found.in_blocks(65_536.0), 9.60e6, 0.001));
    let (blocks, rate) = found.ahead().unwrap();
    assert_eq!(blocks, 2);
    assert!(near(rate, 9.97e6, 0.001));
    assert!(near(found.link.unwrap(), 0.798, 0.001));
    let written = rtems2012::written(tables());
    assert_eq!(
        written.iter().map(|(_, rate)| rate.round()).collect::<Vec<_>>(),
        [2_380_952.0, 25e6]
    );
}

#[test]
fn nothing_of_rtems2012_follows_from_what_is_missing() {
    assert!(reads(&without("rtems2012_nfsread")).is_none());
    assert!(reads(&without("rtems2012_setup")).is_none());
    let one_time = altered("rtems2012_nfsread", &[("1,1024,3.46,2.89\n", "")]);
    assert!(reads(&one_time).is_none(), "one time does not separate two costs");
    assert_eq!(rtems2012::written(&without("rtems2012_write")), []);
    let faster = altered("rtems2012_nfsread", &[("3,8192,1.04,9.6", "3,8192,0.40,25.0")]);
    let found = rtems2012::contradictions(&faster);
    assert_eq!(says(&found), [Impossible::OverTheLink { published: 200e6, link: 100e6 }]);
    let wrong = altered("rtems2012_nfsread", &[("1,8192,1.31,7.63", "1,8192,1.41,7.63")]);
    assert_eq!(rtems2012::contradictions(&wrong).len(), 1);
}

/// A call and its bytes are no model of what the TLWR sends: two costs miss the times of three block sizes by
/// more than a tenth. Of two block sizes they cannot be wrong, so they say nothing.
#[test]
fn two_costs_do_not_describe_the_tlwr_of_kofler2011() {
    let senders = kofler2011::senders(tables());
    let platform = |name: &str| senders.iter().find(|sender| sender.platform == name).unwrap();
    let tlwr = platform("TLWR").model.as_ref().unwrap();
    assert_eq!(platform("TLWR").points.len(), 3);
    assert!(tlwr.is_tested() && !tlwr.fits(), "{}", tlwr.largest_error());
    assert!(tlwr.largest_error() > 0.1);
    assert_eq!((tlwr.cost(CostKind::File, 0), tlwr.cost(CostKind::Byte, 0)), (None, None));
    for other in ["RSPRO", "WRT54"] {
        assert!(!platform(other).model.as_ref().unwrap().is_tested(), "{other}");
    }
    assert_eq!(senders.len(), 3);
}

/// Figures 1 and 2 are drawings: only the points of the text are known.
#[test]
fn the_points_of_both_figures_of_kofler2011() {
    let point_counts = |scenario: &str| {
        let all = kofler2011::sent(tables(), scenario).into_iter();
        all.map(|sent| (sent.platform, sent.points.len())).collect::<Vec<_>>()
    };
    let named = |counts: [usize; 3]| {
        let names = ["RSPRO", "TLWR", "WRT54"].map(str::to_owned);
        names.into_iter().zip(counts).collect::<Vec<_>>()
    };
    assert_eq!(point_counts("tcp_out"), named([2, 3, 2]));
    assert_eq!(point_counts("udp_out"), named([1, 1, 1]));
    let udp = &kofler2011::sent(tables(), "udp_out")[0];
    assert_eq!(udp.points, [(1450.0, 418e6)]);
    assert_eq!(point_counts("sctp_out"), []);
}

#[test]
fn the_points_of_figures_3_and_4_of_kofler2011() {
    let routed = kofler2011::routed(tables());
    let rates = |has_netfilter: bool| {
        let own = routed.iter().filter(|one| one.has_netfilter == has_netfilter);
        own.map(|one| (one.platform.as_str(), one.bits_per_second / 1e6)).collect::<Vec<_>>()
    };
    assert_eq!(rates(true), [("RSPRO", 430.0), ("TLWR", 270.0), ("WRT54", 70.0)]);
    assert_eq!(rates(false), [("RSPRO", 600.0), ("TLWR", 355.0), ("WRT54", 95.0)]);
    let gains = kofler2011::payload_gains(tables());
    let gains: Vec<_> =
        gains.iter().map(|gain| (gain.payload.as_str(), gain.bytes, gain.percent)).collect();
    let expected = [("400 B", 400.0, (53.0, 80.0)), ("near the MTU", 1450.0, (39.0, 50.0))];
    assert_eq!(gains, expected);
    assert_eq!(kofler2011::payload_gains(&without("kofler2011_netfilter_gain")), []);
    assert_eq!(kofler2011::routed(&without("kofler2011_network")), []);
}

#[test]
fn platforms_of_kofler2011_are_confounded_and_kernels_are_not() {
    let confounded = kofler2011::confounded(tables());
    assert_eq!(confounded.len(), 3);
    let two = confounded.iter().find(|two| two.platforms == ["TLWR", "RSPRO"]).unwrap();
    // Both have the same processor core, on the same bus, with the same Ethernet.
    assert_eq!((two.differ.len(), two.of), (7, 10), "{two:?}");
    assert!(!two.differ.contains(&"cpu".to_owned()));
    let gains = kofler2011::gains(tables());
    let percent: Vec<f64> = gains.iter().map(|gain| gain.percent.round()).collect();
    assert_eq!(percent, [40.0, 31.0, 36.0]);
    assert!(gains.iter().all(|gain| gain.published == Some(gain.percent.round())), "{gains:?}");
    let full: Vec<Option<f64>> = gains.iter().map(|gain| gain.full_link).collect();
    assert_eq!(full, [None, None, Some(0.95)]);
    assert_eq!(kofler2011::exact_gains(tables()), Some((28.0, 40.0)));
    assert_eq!(kofler2011::typical_gain(tables()), Some(50.0));
    // Two that differ in one thing alone are a comparison.
    let platforms = "# kofler2011\nplatform,cpu,clock_MHz,stream_copy_MB_per_s\nTLWR,24Kc,400,1\n\
                     RSPRO,24Kc,720,2\n";
    let mut alike = without("kofler2011_platforms");
    alike.push(Table::parse("kofler2011_platforms", "", platforms).unwrap());
    assert_eq!(kofler2011::confounded(&alike), []);
    assert_eq!(kofler2011::confounded(&without("kofler2011_platforms")), []);
    let other = altered(
        "kofler2011_netfilter_gain",
        &[("udp_route,TLWR,,31,yes", "udp_route,TLWR,,45,yes")],
    );
    let found = kofler2011::contradictions(&other);
    assert!(matches!(says(&found)[..], [Impossible::Gain { published: 45.0, .. }]), "{found:?}");
    let over =
        altered("kofler2011_network", &[("udp_route,WRT54,,no,95,", "udp_route,WRT54,,no,105,")]);
    let over = says(&kofler2011::contradictions(&over));
    assert_eq!(over[0], Impossible::OverTheLink { published: 105e6, link: 100e6 });
}

#[test]
fn one_copy_is_no_limit_of_the_senders_of_kofler2011() {
    let sends = kofler2011::sends(tables());
    let names: Vec<&str> = sends.iter().map(|sends| sends.platform.as_str()).collect();
    assert_eq!(names, ["RSPRO", "TLWR", "WRT54", "PC"]);
    assert!(near(sends[0].copy.unwrap(), 363.0 / 8.0 / 381.0, 1e-9));
    assert_eq!(sends[0].link, Some(0.363));
    assert_eq!((sends[3].link, sends[3].copy), (None, None), "nothing is known of the PC's");
}

/// Random operations are many times what the disks can do; sequential ones fill the link, but for headers.
#[test]
fn the_limits_of_jonfk2024() {
    let disks = jonfk2024::disks(tables()).unwrap();
    assert!(near(disks.half_rotation(), 4.17e-3, 0.001));
    assert!(near(disks.without_seeks(), 240.0, 1e-9));
    let [slow, fast] = disks.with_seeks();
    assert!((120.0..200.0).contains(&slow) && (120.0..200.0).contains(&fast) && slow < fast);
    let patterns = jonfk2024::patterns(tables());
    assert_eq!(patterns.len(), 10);
    for pattern in &patterns {
        match pattern.limit {
            Limit::Link { payload, wire } => {
                assert!(pattern.row.name().starts_with("sequential"), "{pattern:?}");
                assert!(
                    (0.9..0.9415).contains(&payload) && (0.95..1.0).contains(&wire),
                    "{pattern:?}"
                );
            }
            Limit::NotDisks { times } => {
                assert!(!pattern.row.name().starts_with("sequential"), "{pattern:?}");
                assert!(near(times, pattern.row.per_second / 480.0, 1e-9) && times > 6.0);
            }
            Limit::Unknown => panic!("{pattern:?}"),
        }
        // Four jobs in a closed loop. Of a mixture there are the writes alone.
        let in_flight = if pattern.row.is_whole() { 4.0 } else { 2.0 };
        assert!(near(
            pattern.in_flight.unwrap(),
            in_flight,
            if pattern.row.is_whole() { 0.05 } else { 0.1 }
        ));
    }
    assert!(near(jonfk2024::file_in_memory(tables()).unwrap(), 9.31, 0.001));
    assert!(near(jonfk2024::client_cores(tables()).unwrap(), 0.4664, 1e-9));
    assert_eq!(jonfk2024::unmeasured(tables()), ["the disks", "the server's CPU"]);
}

#[test]
fn nothing_of_jonfk2024_follows_from_what_is_missing() {
    let limits = |tables: &[Table]| -> Vec<Limit> {
        jonfk2024::patterns(tables).iter().map(|pattern| pattern.limit).collect()
    };
    let unknown = limits(&without("jonfk2024_setup"));
    assert_eq!(unknown, [Limit::Unknown; 10]);
    // Flash can do what disks that turn cannot.
    let flash = altered("jonfk2024_setup", &[("speed of a disk,7200,rpm\n", "")]);
    assert_eq!(jonfk2024::disks(&flash), None);
    assert_eq!(limits(&flash).iter().filter(|limit| **limit == Limit::Unknown).count(), 6);
    // What the disks can do is no sign of memory.
    let slow = altered(
        "jonfk2024_fio",
        &[("random_read,NFS,7334,28.70,541.17", "random_read,NFS,450,1.76,8889")],
    );
    assert_eq!(limits(&slow)[4], Limit::Unknown);
    // On a faster link nothing is full.
    let fast = altered("jonfk2024_setup", &[("server,1,Gbit/s", "server,2.5,Gbit/s")]);
    assert_eq!(limits(&fast)[..4], [Limit::Unknown; 4]);
    // More than it can carry is no full link.
    let over = altered("jonfk2024_fio", &[("NFS,110,111.00,36091", "NFS,130,131.00,30769")]);
    assert_eq!(limits(&over)[0], Limit::Unknown);
    let found = jonfk2024::contradictions(&over);
    let [Contradiction { row, says: Impossible::OverTheLink { published, link } }] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!(row, "sequential read, NFS");
    assert!(published > link && near(*link, 1e9 * 1448.0 / 1538.0, 1e-9), "{found:?}");
    let idle = altered("jonfk2024_setup", &[("jobs,4,", "jobs,2,")]);
    let found = jonfk2024::contradictions(&idle);
    assert_eq!(found.len(), 8, "all but the mixtures: {found:?}");
    assert!(found.iter().all(|found| matches!(found.says, Impossible::InFlight { jobs: 2.0, .. })));
}

/// Figure 5 has no numbers: its findings are words, and no figure is made of them.
#[test]
fn one_send_of_kofler2011_in_words() {
    const TABLE: &str = "kofler2011_kernel_path";
    let found = kofler2011::kernel_path(tables()).unwrap();
    assert_eq!((found.functions.as_str(), found.netfilter.as_str()), ("about 200", "nearly half"));
    let grows: Vec<&str> = found.blocks.iter().filter(|b| b.1).map(|b| b.0.as_str()).collect();
    assert_eq!(grows, ["buffer handling", "driver"]);
    assert!(found.largest.starts_with(grows[0]));
    // Each block of the figure has functions.
    let blocks = ["socket API", "user copies", "UDP", "routing", "bridge", "driver"];
    let known: Vec<&str> = blocks.iter().filter_map(|b| kofler2011::building_block(b)).collect();
    assert!(found.blocks.iter().all(|(name, _)| known.contains(&name.as_str())), "{known:?}");
    assert_eq!(kofler2011::building_block("netfilter"), None);
    assert_eq!(kofler2011::kernel_path(&without(TABLE)), None);
    let missing = altered(TABLE, &[("share of them in netfilter", "share of them")]);
    assert_eq!(kofler2011::kernel_path(&missing), None);
}
